"""Damage to texts and bytes. Every function takes what it damages and a source of chance, and gives something new."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w.$-]+|\s+|.', re.DOTALL)
NUMBER = re.compile(r"(?<![\w.%@#!^])-?\d+(?![\w.])|(?<=[<x])\d+(?=x)")
USE = re.compile(r"[%@^][\w$-]+(?:#\d+)?(?![\w$:]|\s*=|: )")
STATEMENT = re.compile(r"\s*[a-z]\w+(\.\w+)*[^{}]*({[^{}]*}[^{}]*)?$")
ODD_TOKENS = [
    *["", "{", "}", "(", ")", "<", ">", "[", "]", '"', "%", "@", "#", "!", "^", "->", ":", "=", "?", "*", "-1", "0x"],
    *[
        "1e999",
        "99999999999999999999",
        "\0",
        "é",
        "\u202e",
        "// -----",
        "loc(",
        "dense<",
        "affine_map<",
        "!aie.",
        "#aie.",
    ],
]
ODD_NUMBERS = [
    *(0, 1, -1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 63, 64, 255, 256, 1000, 1023, 1024, 4096, 65535, 65536, 100_000),
    *(2**20, 2**20 + 1, 2**30, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 10**9, 10**12, 2**62, 2**63 - 1, 2**63, 2**64),
    *(-(2**31), -(2**63), 10**23, 10**40),
]  # fmt: skip
PROPERTY = re.compile(r"(\w+) = ([^,<>{}()\[\]]+|[#!\w.]*<[^<>]*>|\[[^\[\]]*\])(, |(?=}))")
ODD_VALUES = [
    *["0 : i32", "-1 : i64", "2147483647 : i32", "1 : i1", "7 : i8", "1.5 : f32", '"text"', "unit", "@a", "@a::@b"],
    *["[]", '["text"]', "[1]", "{}", "i32", "() -> ()", "array<i32>", "array<i64: 1, 2>", "dense<1> : tensor<2xi32>"],
    *["#aie.packet_info<pkt_type = 1, pkt_id = 2>", "memref<4xi32>", "affine_map<(d0) -> (d0)>"],
]
NESTS = [("module {\n", "}\n"), ("(", ")"), ("[", "]"), ("<", ">"), ('"a.b"() ({\n', "}) : () -> ()\n")]
Texts = Sequence[str]


@lru_cache(maxsize=2000)
def tokens_of(text: str) -> tuple[str, ...]:
    return tuple(TOKEN.findall(text))


def flip_bytes(text: str, random: Random, others: Texts) -> str:
    return damaged_bytes(text.encode(errors="surrogateescape"), random, 4).decode(errors="surrogateescape")


def truncate(text: str, random: Random, others: Texts) -> str:
    return text[: random.randrange(len(text))]


def delete_tokens(text: str, random: Random, others: Texts) -> str:
    tokens = tokens_of(text)
    at = random.randrange(len(tokens))
    return "".join(tokens[:at] + tokens[at + random.randint(1, 3) :])


def duplicate_tokens(text: str, random: Random, others: Texts) -> str:
    tokens = tokens_of(text)
    at = random.randrange(len(tokens))
    return "".join(tokens[: at + random.randint(1, 12)] + tokens[at:])


def swap_tokens(text: str, random: Random, others: Texts) -> str:
    tokens = [*tokens_of(text)]
    a, b = random.randrange(len(tokens)), random.randrange(len(tokens))
    tokens[a], tokens[b] = tokens[b], tokens[a]
    return "".join(tokens)


def replace_token(text: str, random: Random, others: Texts) -> str:
    tokens = [*tokens_of(text)]
    odd = random.random() < 0.5
    tokens[random.randrange(len(tokens))] = random.choice(ODD_TOKENS if odd else tokens_of(random.choice(others)))
    return "".join(tokens)


def replace_numbers(text: str, random: Random, others: Texts) -> str:
    """Some numbers changed: mostly to one that is near or stands elsewhere in the text, else to an extreme."""
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    for match in sorted(random.sample(found, min(len(found), random.choice((1, 1, 2, 5)))), key=lambda it: -it.start()):
        near = int(match[0]) + random.choice((-1, 1, 2, 4)) if len(match[0]) < 40 else 0
        value = random.choice((near, random.choice(found)[0], random.choice(ODD_NUMBERS)))
        text = f"{text[: match.start()]}{value}{text[match.end() :]}"
    return text


def change_size(text: str, random: Random, others: Texts) -> str:
    """One number changed wherever it stands, so that types that agreed still do."""
    found = NUMBER.findall(text)
    if not found:
        return text
    old = random.choice(found)
    new = str(random.choice((*found, *ODD_NUMBERS[:25], 2 * int(old) if len(old) < 40 else 0)))
    return NUMBER.sub(lambda match: new if match[0] == old else match[0], text)


def swap_lines(text: str, random: Random, others: Texts) -> str:
    lines = text.split("\n")
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def repeat_line(text: str, random: Random, others: Texts) -> str:
    lines = text.split("\n")
    source = random.choice(others).split("\n") if random.random() < 0.3 else lines
    lines.insert(random.randrange(len(lines)), random.choice(source))
    return "\n".join(lines)


def delete_line(text: str, random: Random, others: Texts) -> str:
    lines = text.split("\n")
    del lines[random.randrange(len(lines))]
    return "\n".join(lines)


def change_statement(text: str, random: Random, others: Texts) -> str:
    """A line that neither defines a value nor opens a region is missing, elsewhere, or there twice."""
    lines = text.split("\n")
    found = [at for at, line in enumerate(lines) if STATEMENT.match(line)]
    if not found:
        return text
    at, to = random.choice(found), random.choice(found)
    line = lines[at]
    if random.random() < 0.7:
        del lines[at]
    if random.random() < 0.7:
        lines.insert(min(to, len(lines)), line)
    return "\n".join(lines)


def rename(text: str, random: Random, others: Texts) -> str:
    """One name used for another of the same kind."""
    found = list(USE.finditer(text))
    if not found:
        return text
    old = random.choice(found)
    new = random.choice([match[0] for match in found if match[0][0] == old[0][0]])
    return text[: old.start()] + new + text[old.end() :]


def nest(text: str, random: Random, others: Texts) -> str:
    opening, closing = random.choice(NESTS)
    depth = random.choice([2, 30, 300, 3000])
    at = 0 if opening.endswith("\n") else random.randrange(len(text))
    end = len(text) if opening.endswith("\n") else random.randrange(at, len(text))
    return text[:at] + opening * depth + text[at:end] + closing * depth + text[end:]


def break_property(text: str, random: Random, others: Texts) -> str:
    """The generic form with a property missing, of another kind or of another size."""
    generic = generic_form(text)
    if generic is None or not (found := list(PROPERTY.finditer(generic))):
        return text
    entry = random.choice(found)
    value = random.choice(["", random.choice(ODD_VALUES), random.choice(found)[2]])
    return generic[: entry.start()] + (f"{entry[1]} = {value}{entry[3]}" if value else "") + generic[entry.end() :]


@lru_cache(maxsize=2000)
def generic_form(text: str) -> str | None:
    try:
        return module_text(parse_source(make_context(allow_unregistered=True), text, "seed.mlir"), generic=True)
    except (DiagnosedError, RecursionError):
        return None


def splice(text: str, random: Random, others: Texts) -> str:
    other = random.choice(others)
    return text[: random.randrange(len(text))] + other[random.randrange(len(other)) :]


MUTATIONS: list[Callable[[str, Random, Texts], str]] = [
    *[flip_bytes, truncate, delete_tokens, duplicate_tokens, swap_tokens, replace_token, nest, splice, break_property],
    *[replace_numbers, replace_numbers, swap_lines, repeat_line, delete_line, rename, change_size, change_statement],
]
GENTLE: list[Callable[[str, Random, Texts], str]] = [
    *[replace_numbers, change_size, rename, change_statement] * 3,
    *[swap_lines, repeat_line, break_property],
]
"""Mutations after which a program often still reads."""


def damaged_text(texts: Texts, random: Random, gentle: float = 0.0) -> str:
    """One of the texts, damaged once or a few times; `gentle` is how often only what a reader may let pass."""
    text = random.choice(texts)
    kinds, times = (GENTLE, (1, 1, 2)) if random.random() < gentle else (MUTATIONS, (1, 1, 1, 2, 4))
    for _ in range(random.choice(times)):
        text = random.choice(kinds)(text, random, texts) or text
    return text


def damaged_bytes(data: bytes, random: Random, most: int = 6) -> bytes:
    """Bits flipped, bytes and words set to extremes, pieces missing, repeated or moved."""
    found = bytearray(data)
    for _ in range(random.randint(1, most)):
        if not found:
            break
        at = random.randrange(len(found))
        match random.randrange(7):
            case 0 | 1:
                found[at] ^= 1 << random.randrange(8)
            case 2:
                found[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 3:
                value = random.choice((0, 1, 4, 16, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF, len(found)))
                found[at & ~3 : (at & ~3) + 4] = value.to_bytes(4, "little")
            case 4:
                del found[at : at + random.choice((1, 4, 8, 64))]
            case 5:
                found[at:at] = found[at : at + random.choice((1, 4, 8, 64))]
            case _:
                if random.random() < 0.3:
                    del found[at:]
    return bytes(found)


def damaged_words(data: bytes, random: Random) -> bytes:
    """The same with some words replaced by numbers that offsets, counts and sizes should not be."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(0, len(data), 4)
        number = random.choice((*ODD_NUMBERS, at, len(data), int.from_bytes(data[at : at + 4], "little") + 1))
        changed[at : at + 4] = (number & 0xFFFFFFFF).to_bytes(4, "little")
    return bytes(changed)


def spliced(left: bytes, right: bytes, random: Random) -> bytes:
    return left[: random.randrange(len(left) + 1) & ~3] + right[random.randrange(len(right) + 1) & ~3 :]
