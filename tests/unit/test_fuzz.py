"""Damaged programs end in success or in diagnostics: never another exception, never a hang.

300 mutations of the shipped programs by default, more with `make fuzz N=20000` or TILEWRIGHT_FUZZ=20000. Each has its
own number: TILEWRIGHT_FUZZ_SEED=1234 runs that one alone and prints its program.
"""

from __future__ import annotations

import os
import random
import re
import signal
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.split_input import split_input
from tilewright.ir.verifier import verify

ROOT = Path(__file__).parents[2]
CASES = int(os.environ.get("TILEWRIGHT_FUZZ", "300"))
SECONDS_PER_CASE = 20
BATCHES = 10
TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^]?[\w.$-]+|\s+|.', re.DOTALL)
ODD_TOKENS = [
    *["", "{", "}", "(", ")", "<", ">", "[", "]", '"', "%", "@", "#", "!", "^", "->", ":", "=", "?", "*", "-1", "0x"],
    *["1e999", "99999999999999999999", "\0", "é", "// -----", "loc(", "dense<", "affine_map<", "!aie.", "#aie."],
]
PROPERTY = re.compile(r"(\w+) = ([^,<>{}()\[\]]+|[#!\w.]*<[^<>]*>|\[[^\[\]]*\])(, |(?=}))")
ODD_VALUES = [
    *["0 : i32", "-1 : i64", "2147483647 : i32", "1 : i1", "7 : i8", "1.5 : f32", '"text"', "unit", "@a", "@a::@b"],
    *["[]", '["text"]', "[1]", "{}", "i32", "() -> ()", "array<i32>", "array<i64: 1, 2>", "dense<1> : tensor<2xi32>"],
    *["#aie.packet_info<pkt_type = 1, pkt_id = 2>", "memref<4xi32>", "affine_map<(d0) -> (d0)>"],
]


@cache
def seeds() -> list[str]:
    """Every program in the tests and demos, one entry for each part of a split file."""
    paths = [*ROOT.glob("tests/filecheck/**/*.mlir"), *ROOT.glob("tilewright/demos/*.mlir")]
    texts = (path.read_text(encoding="utf-8") for path in sorted(paths))
    return [part for text in texts for _, part in split_input(text) if part.strip()]


def flip_bytes(text: str, rng: random.Random) -> str:
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data.decode(errors="replace")


def truncate(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def delete_tokens(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    at = rng.randrange(len(tokens))
    del tokens[at : at + rng.randint(1, 3)]
    return "".join(tokens)


def duplicate_tokens(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    at = rng.randrange(len(tokens))
    end = at + rng.randint(1, 12)
    return "".join(tokens[:end] + tokens[at:])


def swap_tokens(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    a, b = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[a], tokens[b] = tokens[b], tokens[a]
    return "".join(tokens)


def replace_token(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    others = TOKEN.findall(rng.choice(seeds()))
    tokens[rng.randrange(len(tokens))] = rng.choice(ODD_TOKENS + [rng.choice(others)] * 20)
    return "".join(tokens)


def nest(text: str, rng: random.Random) -> str:
    opening, closing = rng.choice([("module {\n", "}\n"), ("(", ")"), ("[", "]"), ('"a.b"() ({\n', "}) : () -> ()\n")])
    depth = rng.choice([2, 30, 300, 3000])
    at = 0 if opening.endswith("\n") else rng.randrange(len(text))
    end = len(text) if opening.endswith("\n") else rng.randrange(at, len(text))
    return text[:at] + opening * depth + text[at:end] + closing * depth + text[end:]


def break_property(text: str, rng: random.Random) -> str:
    """The generic form with a property missing, of another kind or of another size."""
    generic = generic_form(text)
    if generic is None or not (found := list(PROPERTY.finditer(generic))):
        return text
    entry = rng.choice(found)
    value = rng.choice(["", rng.choice(ODD_VALUES), rng.choice(found)[2]])
    return generic[: entry.start()] + (f"{entry[1]} = {value}{entry[3]}" if value else "") + generic[entry.end() :]


@cache
def generic_form(text: str) -> str | None:
    try:
        return module_text(parse_source(make_context(allow_unregistered=True), text, "seed.mlir"), generic=True)
    except DiagnosedError:
        return None


def splice(text: str, rng: random.Random) -> str:
    other = rng.choice(seeds())
    return text[: rng.randrange(len(text))] + other[rng.randrange(len(other)) :]


MUTATIONS: list[Callable[[str, random.Random], str]] = [
    *[flip_bytes, truncate, delete_tokens, duplicate_tokens, swap_tokens, replace_token, nest, splice],
    break_property,
]


def damaged(number: int) -> str:
    rng = random.Random(number)
    text = rng.choice(seeds())
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        text = rng.choice(MUTATIONS)(text, rng) or text
    return text


@contextmanager
def time_limit(seconds: int) -> Generator[None]:
    def stop(signum: int, frame: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def read_and_print(text: str) -> None:
    """What `tilewright opt` does with a program."""
    try:
        module = parse_source(make_context(allow_unregistered=len(text) % 2 == 0), text, "damaged.mlir")
        if not verify(module):
            module_text(module)
            module_text(module, generic=True)
    except RecursionError:
        pass
    except DiagnosedError as error:
        if not isinstance(error.__cause__, None | ParseError | VerifyException | RecursionError):
            raise error.__cause__ from None  # the message is Python's, not ours


def fault(number: int) -> str | None:
    """What went wrong with one damaged program, if anything did."""
    try:
        with time_limit(SECONDS_PER_CASE):
            read_and_print(damaged(number))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"seed {number}: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    return None


@pytest.mark.parametrize("batch", range(BATCHES))
def test_damaged_programs(batch: int) -> None:
    if "TILEWRIGHT_FUZZ_SEED" in os.environ:
        number = int(os.environ["TILEWRIGHT_FUZZ_SEED"])
        print(damaged(number))
        read_and_print(damaged(number))
        return
    faults = [found for number in range(batch, CASES, BATCHES) if (found := fault(number))]
    assert not faults, "\n".join([f"{len(faults)} faults", *faults[:20]])
