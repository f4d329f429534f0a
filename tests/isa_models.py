"""Instructions of AIE2 by models of their own: NumPy and whole numbers, from AMD's guides (UG1583, AM020) and silicon.

Nothing of `tilewright.isa.meaning` is used here. A class of instructions makes cases: a bundle, registers and memory
before, and what is expected after. `python tests/isa_models.py --cases 100000` runs as many of each class.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tilewright import isa
from tilewright.isa.core import FlatMemory, MachineCore

MASK = 2**32 - 1
MEMORY = 0x70000
"""Where cases have their data."""
SETTLED = 12
"""Bundles behind the last one after which all is written."""
SPECIAL = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


@dataclass
class ModelCase:
    """What is run, and what comes of it."""

    text: str
    before: dict[str, Any]
    after: dict[str, Any]
    memory: bytes = b""
    stored: bytes = b""
    """What memory has in the end, where that is expected."""
    bundles: int = 1


@dataclass
class ModelClass:
    """Instructions of a kind."""

    name: str
    make: Callable[[Random], ModelCase]
    wrong: list[str] = field(default_factory=list[str])


CLASSES = list[ModelClass]()
DATA = FlatMemory()


def model(make: Callable[[Random], ModelCase]) -> Callable[[Random], ModelCase]:
    CLASSES.append(ModelClass(make.__name__, make))
    return make


@cache
def assembled(text: str) -> bytes:
    return isa.assemble(text + "\n" + "nop\n" * (SETTLED + 4))


def difference(case: ModelCase) -> str | None:
    """How a core differs from a case; None if it does not."""
    DATA.store(MEMORY, case.memory)
    core = MachineCore(assembled(case.text), DATA)
    for name, value in case.before.items():
        core.set_register(name, value)
    for _ in range(case.bundles + SETTLED):
        core.step()
    for name, value in case.after.items():
        if (found := core.register(name)) != value:
            return f"{case.text}: {name} is {shown(found)}, expected {shown(value)}, before {case.before}"
    if case.stored and (found := DATA.load(MEMORY, len(case.stored))) != case.stored:
        return f"{case.text}: memory is {found.hex()}, expected {case.stored.hex()}, before {case.before}"
    return None


def shown(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


# ---- numbers ------------------------------------------------------------------------------------------------------


def word(random: Random) -> int:
    return random.choice(SPECIAL) if random.random() < 0.3 else random.getrandbits(32)


def wide(random: Random, size: int = 64) -> bytes:
    """Bytes of a vector; often with elements at the ends of their ranges."""
    data = bytearray(random.randbytes(size))
    for at in range(0, size, 4):
        if random.random() < 0.2:
            data[at : at + 4] = random.choice((0, MASK, 0x80808080, 0x7F7F7F7F, 0x80008000, 0x7FFF7FFF)).to_bytes(
                4, "big"
            )
    return bytes(data[:size])


def to_signed(value: int, bits: int = 32) -> int:
    value %= 2**bits
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def elements(data: bytes, bits: int, signed: bool = True) -> list[int]:
    """Whole numbers of a register, the first in its lowest bits."""
    whole = int.from_bytes(data, "little")
    found = [whole >> at & (2**bits - 1) for at in range(0, 8 * len(data), bits)]
    return [to_signed(it, bits) for it in found] if signed else found


def packed(values: list[int], bits: int) -> bytes:
    """The register of whole numbers, each cut to its bits."""
    whole = sum((value % 2**bits) << (bits * at) for at, value in enumerate(values))
    return whole.to_bytes(len(values) * bits // 8, "little")


def flags(values: list[bool]) -> int:
    return sum(bool(value) << at for at, value in enumerate(values))


# ---- scalar instructions --------------------------------------------------------------------------------------------

BINARY: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "mul": lambda a, b: a * b,
}
COMPARISONS: dict[str, Callable[[int, int], bool | np.bool_]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: np.int32(to_signed(a)) < np.int32(to_signed(b)),
    "ge": lambda a, b: np.int32(to_signed(a)) >= np.int32(to_signed(b)),
    "ltu": lambda a, b: np.uint32(a) < np.uint32(b),
    "geu": lambda a, b: np.uint32(a) >= np.uint32(b),
}


@model
def scalar_arithmetic(random: Random) -> ModelCase:
    a, b, carry = word(random), word(random), random.getrandbits(1)
    before, immediate = {"r1": a, "r2": b, "srCarry": carry}, random.randrange(-64, 64)
    kind = random.choice(["add", "adc", "sub", "sbc", "immediate", "nc", *BINARY])
    if kind in BINARY:
        return ModelCase(f"{kind} r0, r1, r2", before, {"r0": BINARY[kind](a, b) & MASK})
    totals = {
        "add": a + b,
        "adc": a + b + carry,
        "sub": a - b,
        "sbc": a - b - carry,
        "immediate": a + immediate % 2**32,
    }
    if kind == "nc":
        immediate //= 2  # it has a bit less
        return ModelCase(f"add.nc r0, r1, #{immediate}", before, {"r0": (a + immediate) & MASK, "srCarry": carry})
    text = f"add r0, r1, #{immediate}" if kind == "immediate" else f"{kind} r0, r1, r2"
    # what does not fit goes to the carry: of a difference it is the borrow
    return ModelCase(text, before, {"r0": totals[kind] & MASK, "srCarry": int(not 0 <= totals[kind] <= MASK)})


@model
def scalar_comparisons(random: Random) -> ModelCase:
    a = word(random)
    b = a if random.random() < 0.2 else word(random)
    kind = random.choice([*COMPARISONS, "eqz", "nez", "sel.eqz", "sel.nez"])
    before = {"r1": a, "r2": b, "r27": random.choice((0, 1, b))}
    if kind in COMPARISONS:
        return ModelCase(f"{kind} r0, r1, r2", before, {"r0": int(COMPARISONS[kind](a, b))})
    if kind in ("eqz", "nez"):
        return ModelCase(f"{kind} r0, r1", before, {"r0": int((a == 0) == (kind == "eqz"))})
    is_first = (before["r27"] == 0) == (kind == "sel.eqz")
    return ModelCase(f"{kind} r0, r1, r2, r27", before, {"r0": a if is_first else b})


@model
def scalar_bits(random: Random) -> ModelCase:
    a, amount = word(random), random.choice((to_signed(word(random)), random.randrange(-31, 32)))
    kind = random.choice(["ashl", "lshl", "clz", "clb", "extend.s8", "extend.u8", "extend.s16", "extend.u16", "abs"])
    before = {"r1": a, "r2": amount % 2**32}
    if kind in ("ashl", "lshl"):
        value = to_signed(a) if kind == "ashl" else a
        # to the left, or to the right for a negative amount, of which the lowest five bits count
        result = value * 2 ** (amount % 32) if amount >= 0 else value // 2 ** (-amount % 32)
        return ModelCase(f"{kind} r0, r1, r2", before, {"r0": result & MASK})
    text = f"{a:032b}"
    results = {
        "clz": len(text) - len(text.lstrip("0")),
        "clb": len(text) - len(text.lstrip(text[0])),
        "abs": abs(to_signed(a)) & MASK,
    }
    if kind.startswith("extend"):
        bits = int(kind[8:])
        part = a % 2**bits
        results[kind] = (to_signed(part, bits) if kind[7] == "s" else part) & MASK
    return ModelCase(f"{kind} r0, r1", before, {"r0": results[kind]})


# ---- addresses and memory ------------------------------------------------------------------------------------------


def walk(dimensions: list[tuple[int, int]], last: int, counts: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Steps of a pointer and counts after each: so many more in each dimension, then the next one's; `last` ends."""
    while True:
        for at, (size, step) in enumerate(dimensions):
            if counts[at] < size:
                counts = [0] * at + [counts[at] + 1] + counts[at + 1 :]
                yield step, counts
                break
        else:
            counts = [0] * len(dimensions)
            yield last, counts


@model
def addressing(random: Random) -> ModelCase:
    kind = random.choice(["padda", "paddb", "padds"]) + random.choice([".2d", ".3d", ""])
    pointer, number = random.getrandbits(20), random.randrange(4)
    steps = [random.choice((0, 4, 32, 64, random.getrandbits(20))) for _ in range(3)]
    sizes = [random.randrange(4) for _ in range(2)]
    counts = [random.randrange(size + 1) for size in sizes]
    before = {"p1": pointer, f"m{number}": steps[0]}
    before |= {f"dn{number}": sizes[0], f"dj{number}": steps[1], f"dc{number}": counts[0]}
    upper = number + 4
    before |= {f"dn{upper}": sizes[1], f"dj{upper}": steps[2], f"dc{upper}": counts[1]}
    bundles = random.randrange(1, 5)
    after = dict(before)
    if not kind.endswith("d"):
        name = f"m{number}"
        after["p1"] = (pointer + bundles * steps[0]) % 2**20
    else:
        name, depth = f"d{number}", 1 if kind.endswith("2d") else 2
        dimensions = [(sizes[0], steps[1]), (sizes[1], steps[2])][:depth]
        path = walk(dimensions, steps[0], counts[:depth])
        for _ in range(bundles):
            step, found = next(path)
            after["p1"] = (after["p1"] + step) % 2**20
        after |= dict(zip((f"dc{number}", f"dc{upper}"), found, strict=False))
    return ModelCase("\n".join([f"{kind} [p1], {name}"] * bundles), before, after, bundles=bundles)


SCALAR_LOADS = {"lda.s8": 1, "lda.u8": 1, "lda.s16": 2, "lda.u16": 2, "lda": 4}
VECTOR_LOADS = {"vlda wl1": 32, "vlda wh1": 32, "vldb wl1": 32, "vlda amll1": 32, "vlda amhh1": 32, "lda q1": 16}


@model
def loads(random: Random) -> ModelCase:
    memory, kind = wide(random, 128), random.choice([*SCALAR_LOADS, *VECTOR_LOADS])
    size = SCALAR_LOADS.get(kind) or VECTOR_LOADS[kind]
    at, move = size * random.randrange(128 // size), random.choice((-1, 0, 1))
    text = f"{kind} r0, [p0], m0" if kind in SCALAR_LOADS else f"{kind}, [p0], m0"
    data, register = memory[at : at + size], "r0" if kind in SCALAR_LOADS else kind.split()[1]
    value: Any = data
    if kind in SCALAR_LOADS:
        value = int.from_bytes(data, "little", signed=".s" in kind) & MASK
    before = {"p0": MEMORY + at, "m0": move * size % 2**20}
    return ModelCase(text, before, {register: value, "p0": MEMORY + at + move * size}, memory)


SCALAR_STORES = {"st.s8": 1, "st.s16": 2, "st": 4}
VECTOR_STORES = {"vst wl1": 32, "vst wh1": 32, "vst amlh1": 32, "st q1": 16}


@model
def stores(random: Random) -> ModelCase:
    memory, kind = wide(random, 64), random.choice([*SCALAR_STORES, *VECTOR_STORES])
    size = SCALAR_STORES.get(kind) or VECTOR_STORES[kind]
    at, data = size * random.randrange(64 // size), wide(random, size)
    is_scalar = kind in SCALAR_STORES
    text = f"{kind} r0, [p0], m0" if is_scalar else f"{kind}, [p0], m0"
    extra = random.getrandbits(32 - 8 * size) << 8 * size if is_scalar and size < 4 else 0
    value: Any = int.from_bytes(data, "little") | extra if is_scalar else data
    before = {"p0": MEMORY + at, "m0": size, "r0" if is_scalar else kind.split()[1]: value}
    stored = memory[:at] + data + memory[at + size :]
    return ModelCase(text, before, {"p0": MEMORY + at + size}, memory, stored)


# ---- vectors --------------------------------------------------------------------------------------------------------


def lane_type(random: Random) -> tuple[str, int, bool, int]:
    """How it is written, its bits, whether it is signed, and the control register that says so."""
    bits, dynamic, sign = random.choice((8, 16, 32)), random.random() < 0.5, random.getrandbits(1)
    return f"{'d' if dynamic else 's'}{bits}", bits, bool(sign) if dynamic else True, sign


@model
def vector_sums(random: Random) -> ModelCase:
    bits, a, b = random.choice((8, 16, 32)), wide(random), wide(random)
    kind = random.choice(("vadd", "vsub", "vaddsub", "vsel", "vband", "vbor"))
    xs, ys, mask = elements(a, bits), elements(b, bits), random.getrandbits(64)
    before = {"x2": a, "x4": b, "r17": mask >> 32, "r16": mask & MASK}
    chosen = [mask >> at & 1 for at in range(len(xs))]
    results = {
        "vadd": [x + y for x, y in zip(xs, ys, strict=True)],
        "vsub": [x - y for x, y in zip(xs, ys, strict=True)],
        "vaddsub": [x - y if c else x + y for x, y, c in zip(xs, ys, chosen, strict=True)],
        "vsel": [y if c else x for x, y, c in zip(xs, ys, chosen, strict=True)],
        "vband": [x & y for x, y in zip(xs, ys, strict=True)],
        "vbor": [x | y for x, y in zip(xs, ys, strict=True)],
    }
    selector = ", r17:r16" if bits == 8 else ", r16"
    text = f"{kind}.{bits} x0, x2, x4{selector if kind in ('vsel', 'vaddsub') else ''}"
    if kind in ("vband", "vbor"):
        text = f"{kind} x0, x2, x4"
    return ModelCase(text, before, {"x0": packed(results[kind], bits)})


@model
def vector_comparisons(random: Random) -> ModelCase:
    text, bits, signed, sign = lane_type(random)
    a = wide(random)
    b = bytes(x if random.random() < 0.4 else y for x, y in zip(a, wide(random), strict=True))
    xs, ys = elements(a, bits, signed), elements(b, bits, signed)
    kind = random.choice(("vlt", "vge", "vmax_lt", "vmin_ge", "vmaxdiff_lt", "vsub_lt", "vsub_ge"))
    pairs = [*zip(xs, ys, strict=True)]
    mask = flags([x < y if kind.endswith("lt") else x >= y for x, y in pairs])
    register = "r17:r16" if bits == 8 else "r16"
    after = {"r17:r16": mask} if bits == 8 else {"r16": mask}
    before = {"x2": a, "x4": b, "crVaddSign": sign}
    if kind in ("vlt", "vge"):
        return ModelCase(f"{kind}.{text} {register}, x2, x4", before, after)
    results = {
        "vmax_lt": [max(x, y) for x, y in pairs],
        "vmin_ge": [min(x, y) for x, y in pairs],
        "vmaxdiff_lt": [max(x - y, 0) for x, y in pairs],
    }
    values = results.get(kind, [x - y for x, y in pairs])
    return ModelCase(f"{kind}.{text} x0, {register}, x2, x4", before, after | {"x0": packed(values, bits)})


def bf16(bits: int) -> float:
    return float(np.array([bits << 16], np.uint32).view(np.float32)[0])


@model
def bf16_comparisons(random: Random) -> ModelCase:
    kind = random.choice(("vlt", "vge", "vmax_lt", "vmin_ge"))
    special = (0, 0x8000, 0x7F80, 0xFF80, 1, 0x8001)
    xs = [random.choice(special) if random.random() < 0.2 else random.getrandbits(16) for _ in range(32)]
    ys = [x if random.random() < 0.3 else random.getrandbits(16) for x in xs]
    if not kind.endswith("lt"):  # no device said what is not less than no number
        xs, ys = ([it & 0xFF7F if (it & 0x7FFF) > 0x7F80 else it for it in side] for side in (xs, ys))
    less = [bf16(x) < bf16(y) for x, y in zip(xs, ys, strict=True)]
    chosen = less if kind.endswith("lt") else [not it for it in less]
    before, after = {"x2": packed(xs, 16), "x4": packed(ys, 16)}, {"r16": flags(chosen)}
    if kind in ("vlt", "vge"):
        return ModelCase(f"{kind}.bf16 r16, x2, x4", before, after)
    lanes = [y if it else x for x, y, it in zip(xs, ys, chosen, strict=True)]
    return ModelCase(f"{kind}.bf16 x0, r16, x2, x4", before, after | {"x0": packed(lanes, 16)})


@model
def vector_elements(random: Random) -> ModelCase:
    bits, a, value = random.choice((8, 16, 32)), wide(random), word(random)
    count = 512 // bits
    index, xs = random.randrange(count), elements(a, bits, signed=False)
    kind = random.choice(("vbcst", "vextract", "vinsert", "vpush.lo", "vpush.hi", "vextbcst", "vshift", "align"))
    before = {"x2": a, "r1": value, "r29": index, "r16": index}
    if kind == "vbcst":
        return ModelCase(f"vbcst.{bits} x0, r1", before, {"x0": packed([value] * count, bits)})
    if kind == "vextract":
        sign = random.choice(("s", "d"))
        before["crVaddSign"] = control = random.getrandbits(1)
        found = to_signed(xs[index], bits) if sign == "s" or control else xs[index]
        return ModelCase(f"vextract.{sign}{bits} r0, x2, r16", before, {"r0": found & MASK})
    if kind == "vinsert":
        return ModelCase(
            f"vinsert.{bits} x0, x2, r29, r1", before, {"x0": packed([*xs[:index], value, *xs[index + 1 :]], bits)}
        )
    if kind == "vpush.lo":
        return ModelCase(f"vpush.lo.{bits} x0, r1, x2", before, {"x0": packed([value, *xs[:-1]], bits)})
    if kind == "vpush.hi":
        return ModelCase(f"vpush.hi.{bits} x0, x2, r1", before, {"x0": packed([*xs[1:], value], bits)})
    if kind == "vextbcst":
        return ModelCase(f"vextbcst.{bits} x0, x2, r16", before, {"x0": packed([xs[index]] * count, bits)})
    b, shift = wide(random), random.choice((random.randrange(140), word(random)))
    before |= {"x4": b, "r1": shift}
    step = random.choice((0, 6, 7, word(random) | 64))
    if kind == "vshift" or step == 0:
        text = "vshift x0, x2, x4, r1" if kind == "vshift" else "vshift.align x0, x2, s0, x4, r1"
        return ModelCase(text, before, {"x0": (a + b)[shift:][:64].ljust(64, b"\0")})
    # the first operand goes by 64 bytes and more, so that nothing of it is left
    return ModelCase("vshift.align x0, x2, s0, x4, r1", before | {"s0": step}, {"x0": b[shift:].ljust(64, b"\0")})


def transposed(data: bytes, bits: int, rows: int, columns: int) -> bytes:
    """Matrices of rows and columns that follow each other, each of them transposed."""
    array = np.frombuffer(data, np.uint8).reshape(-1, rows, columns, bits // 8)
    return array.transpose(0, 2, 1, 3).tobytes()


TWO_REGISTERS = [
    (8, 64, 2), (16, 32, 2), (32, 16, 2), (64, 8, 2), (128, 4, 2), (256, 2, 2), (128, 2, 4), (64, 2, 8), (32, 2, 16),
    (16, 2, 32), (8, 2, 64), (512, 1, 2), (16, 16, 4), (16, 4, 16), None, (32, 8, 4), (32, 4, 8),
]  # fmt: skip
"""Shapes of the modes in pairs, lo and hi, from 0 on, but for two modes in between: `T16_16x4_lo` is a mode's name."""
ONE_REGISTER = {
    28: (16, 8, 4), 29: (16, 4, 8), 34: (32, 4, 4), 35: (8, 8, 8), 36: (8, 16, 4), 37: (8, 4, 16), 39: (16, 4, 4),
    40: (16, 4, 2), 41: (16, 2, 4), 42: (16, 8, 2), 43: (16, 2, 8), 44: (16, 16, 2), 45: (16, 2, 16), 46: (8, 8, 4),
    47: (8, 4, 8),
}  # fmt: skip
FLIP = 38
"""`T16_1x2_flip`: neighbours change places."""


@model
def shuffles(random: Random) -> ModelCase:
    a, b, mode = wide(random), wide(random), random.randrange(48)
    if mode == FLIP:
        found = np.frombuffer(a, np.uint16).reshape(-1, 2)[:, ::-1].tobytes()
    elif mode in ONE_REGISTER:
        found = transposed(a, *ONE_REGISTER[mode])
    else:
        shape = TWO_REGISTERS[mode // 2]
        assert shape is not None
        found = transposed(a + b, *shape)[64 * (mode % 2) :][:64]
    return ModelCase("vshuffle x0, x2, x4, r1", {"x2": a, "x4": b, "r1": mode}, {"x0": found})


# ---- widths ---------------------------------------------------------------------------------------------------------


def rounded(value: int, shift: int, mode: int) -> int:
    """A whole number over a power of two, as a whole number. Ties are told by the distance of twice the value."""
    floor, rest = divmod(value, 2**shift)
    if not rest or mode == 0:
        return floor
    if mode in (1, 2, 3):
        up = {1: True, 2: value < 0, 3: value > 0}[mode]
        return floor + up
    if 2 * rest != 2**shift:
        return floor + (2 * rest > 2**shift)
    return {
        8: floor,
        9: floor + 1,
        10: floor + 1 if value < 0 else floor,
        11: floor if value < 0 else floor + 1,
        12: floor + floor % 2,
        13: floor + 1 - floor % 2,
    }[mode]


def limited(value: int, bits: int, signed: bool, saturation: int) -> int:
    """0 wraps, 1 keeps to the range, 3 to one that is as large on both sides."""
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    if saturation == 3 and signed:
        low = -high
    return value % 2**bits if saturation == 0 else min(max(value, low), high)


ROUNDINGS = (0, 1, 2, 3, 8, 9, 10, 11, 12, 13)
SATURATIONS = (0, 1, 3)
SRS = {
    "vsrs.d8.s32": ("wl0", "cm1", 8, 32), "vsrs.s8.s32": ("wl0", "cm1", 8, 32), "vsrs.d16.s32": ("wl0", "bml1", 16, 32),
    "vsrs.s16.s32": ("wl0", "bml1", 16, 32), "vsrs.d16.s64": ("wl0", "cm1", 16, 64),
    "vsrs.s32.s64": ("x0", "cm1", 32, 64), "vsrs.d32.s64": ("x0", "cm1", 32, 64),
    "vsrs.s16.s64": ("wl0", "cm1", 16, 64),
}  # fmt: skip


@model
def shift_round_saturate(random: Random) -> ModelCase:
    kind = random.choice([*SRS])
    target, source, bits, wider = SRS[kind]
    control, saturation, mode = random.getrandbits(1), random.choice(SATURATIONS), random.choice(ROUNDINGS)
    shift = random.randrange(wider - 4 if wider == 32 else 60)
    data = wide(random, 64 if source.startswith("b") else 128)
    if random.random() < 0.5:  # ties and small numbers
        half = 2 ** max(shift - 1, 0)
        count = 8 * len(data) // wider
        data = packed([random.randrange(-9, 10) * half + random.choice((0, 0, 1, -1)) for _ in range(count)], wider)
    signed = bool(control) if ".d" in kind else True
    values = [limited(rounded(it, shift, mode), bits, signed, saturation) for it in elements(data, wider)]
    before = {source: data, "s1": shift, "crRnd": mode, "crSat": saturation, "crSRSSign": control}
    return ModelCase(f"{kind} {target}, {source}, s1", before, {target: packed(values, bits)})


UPS = {
    "vups.s32.s16": [("wl2", "bml0", 16, 32), ("x2", "cm0", 16, 32)], "vups.s32.d16": [("wl2", "bml0", 16, 32)],
    "vups.s32.d8": [("wl2", "cm0", 8, 32)], "vups.s32.s8": [("wl2", "cm0", 8, 32)],
    "vups.s64.d16": [("wl2", "cm0", 16, 64)], "vups.s64.s32": [("x2", "cm0", 32, 64)],
    "vups.s64.d32": [("x2", "cm0", 32, 64)],
}  # fmt: skip


@model
def upshifts(random: Random) -> ModelCase:
    kind = random.choice([*UPS])
    source, target, bits, wider = random.choice(UPS[kind])
    control, saturation, shift = random.getrandbits(1), random.getrandbits(1), random.randrange(wider - bits + 6)
    data = wide(random, 32 if source[0] == "w" else 64)
    signed = bool(control) if ".d" in kind else True
    values = [limited(it << shift, wider, True, saturation) for it in elements(data, bits, signed)]
    before = {source: data, "s1": shift, "crSat": saturation, "crUPSSign": control}
    return ModelCase(f"{kind} {target}, {source}, s1", before, {target: packed(values, wider)})


@model
def packs(random: Random) -> ModelCase:
    narrow, wider = random.choice(((4, 8), (8, 16)))
    control, saturation, letter = random.getrandbits(1), random.choice(SATURATIONS), random.choice(("s", "d"))
    signed = bool(control) if letter == "d" else True
    if random.random() < 0.5:
        data = wide(random)
        values = [limited(it, narrow, signed, saturation) for it in elements(data, wider)]
        before = {"x2": data, "crSat": saturation, "crPackSign": control}
        return ModelCase(f"vpack.{letter}{narrow}.{letter}{wider} wl0, x2", before, {"wl0": packed(values, narrow)})
    data = wide(random, 32)
    before = {"wl2": data, "crUnpackSign": control}
    found = packed(elements(data, narrow, signed), wider)
    return ModelCase(f"vunpack.{letter}{wider}.{letter}{narrow} x0, wl2", before, {"x0": found})


# ---- products -------------------------------------------------------------------------------------------------------

PRODUCTS = {
    (0, 0, 0): (8, 4, 32, 4, 16, 8), (0, 1, 0): (8, 8, 32, 4, 8, 8), (0, 2, 0): (16, 8, 32, 4, 4, 8),
    (0, 3, 0): (16, 16, 32, 4, 2, 8), (1, 0, 0): (32, 16, 64, 4, 2, 4), (1, 2, 0): (16, 8, 64, 2, 8, 8),
    (1, 2, 1): (16, 8, 64, 4, 8, 4), (1, 3, 0): (16, 16, 64, 2, 4, 8), (1, 3, 1): (16, 16, 64, 4, 4, 4),
}  # fmt: skip
"""Matrices by amode, bmode and variant: bits of both operands and of sums, rows, inner size, columns."""
LANES = {(0, 1, 1): (8, 32, 32, 2), (0, 3, 1): (16, 32, 32, 1), (1, 3, 2): (16, 64, 16, 2)}
"""Products lane by lane: bits of elements and sums, lanes, and how many of each are added, lanes closest together."""
SIGNS = {
    "vmul": (0, 0, 1), "vnegmul": (0, 0, -1), "vmac": (1, 0, 1), "vmsc": (1, 0, -1), "vnegmac": (-1, 0, -1),
    "vnegmsc": (-1, 0, 1), "vaddmac": (1, 1, 1), "vaddmsc": (1, 1, -1), "vsubmac": (1, -1, 1), "vsubmsc": (1, -1, -1),
}  # fmt: skip
"""Of the first accumulator, of the second, and of the product."""


PARTS = {
    (0, 1, 0): [[0, 2, 0, 2, 1, 3, 1, 3], [4, 6, 4, 6, 5, 7, 5, 7]], (0, 1, 1): [[0, 0], [4, 4]],
    (0, 2, 0): [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5], [6, 6, 7, 7]], (0, 3, 0): [[0, 1], [2, 3], [4, 5], [6, 7]],
    (1, 2, 0): [[0, 0, 1, 1, 2, 2, 3, 3], [4, 4, 5, 5, 6, 6, 7, 7]],
    (1, 2, 1): [[0, 0, 1, 1, 2, 2, 3, 3], [4, 4, 5, 5, 6, 6, 7, 7]],
    (1, 3, 0): [[0, 1, 2, 3], [4, 5, 6, 7]], (1, 3, 1): [[0, 1, 2, 3], [4, 5, 6, 7]], (1, 3, 2): [[0, 1], [4, 5]],
}  # fmt: skip
"""Bits of the configuration's upper half that subtract the terms of a sum; lanes have these rows in turn (silicon)."""


def subtracted(mode: tuple[int, int, int], parts: int, lane: int, term: int) -> int:
    rows = PARTS.get(mode)
    return -1 if rows is not None and parts >> rows[lane % len(rows)][term] & 1 else 1


def product(
    mode: tuple[int, int, int], a: bytes, b: bytes, signs: tuple[bool, bool], parts: int
) -> tuple[list[int], int]:
    """Sums of a product, and their bits."""
    if mode in LANES:
        bits, wider, lanes, depth = LANES[mode]
        xs = np.array(elements(a, bits, signs[0]), object)[: lanes * depth].reshape(depth, lanes)
        ys = np.array(elements(b, bits, signs[1]), object)[: lanes * depth].reshape(depth, lanes)
        factors = [[subtracted(mode, parts, lane, term) for lane in range(lanes)] for term in range(depth)]
        return [*(xs * ys * np.array(factors, object)).sum(axis=0)], wider
    bits_x, bits_y, wider, rows, inner, columns = PRODUCTS[mode]
    x = np.array(elements(a, bits_x, signs[0]), object)[: rows * inner].reshape(rows, inner)
    y = np.array(elements(b, bits_y, signs[1]), object)[: inner * columns].reshape(inner, columns)
    if not parts:
        return [*(x @ y).reshape(-1)], wider
    return [
        sum(subtracted(mode, parts, row * columns + column, k) * x[row, k] * y[k, column] for k in range(inner))
        for row in range(rows)
        for column in range(columns)
    ], wider


@dataclass
class Accumulation:
    """What a configuration and an instruction make of a product and two accumulators, beside the mode."""

    kind: str
    e: bytes
    f: bytes
    zeroes: int
    shifts: int
    subtracts: tuple[int, int, int]

    @classmethod
    def some(cls, random: Random) -> Accumulation:
        bits = [random.getrandbits(1) for _ in range(5)]
        kind = random.choice([*SIGNS])
        return cls(kind, wide(random, 128), wide(random, 128), bits[0], bits[1], (bits[2], bits[3], bits[4]))

    def word(self, mode: tuple[int, int, int], signs: tuple[bool, bool], parts: int) -> int:
        product, first, second = self.subtracts
        amode, bmode, variant = mode
        return (
            self.zeroes | amode << 1 | bmode << 3 | variant << 5 | signs[1] << 8 | signs[0] << 9 | self.shifts << 10
            | product << 11 | first << 12 | second << 13 | parts << 16
        )  # fmt: skip

    def case(self, sums: list[int], wider: int, word: int, operands: str, before: dict[str, Any]) -> ModelCase:
        """An instruction with these operands; lanes that have no sum get 0."""
        first, second, sign = SIGNS[self.kind]
        flip = [1 - 2 * it for it in self.subtracts]
        sums = sums + [0] * (1024 // wider - len(sums))
        found = [
            sign * flip[0] * it
            # the lowest bit of the configuration leaves the first accumulator out
            + first * flip[1] * (not self.zeroes) * (x << 16 * self.shifts)
            + second * flip[2] * y
            for it, x, y in zip(sums, elements(self.e, wider), elements(self.f, wider), strict=True)
        ]
        registers = "cm1, cm1, cm2, " if second else "cm0, cm1, " if first else "cm0, "
        before |= {"cm1": self.e, "cm2": self.f, "r1": word}
        text = f"{self.kind} {registers}{operands}, r1"
        return ModelCase(text, before, {"cm1" if second else "cm0": packed(found, wider)})


@model
def integer_products(random: Random) -> ModelCase:
    mode, rest = random.choice([*PRODUCTS, *LANES]), Accumulation.some(random)
    a, b = wide(random), wide(random)
    signs = (bool(random.getrandbits(1)), bool(random.getrandbits(1)))
    parts = random.choice((0, random.getrandbits(16))) if mode in PARTS else 0
    sums, wider = product(mode, a, b, signs, parts)
    if mode[:2] == (1, 3) and random.random() < 0.3:
        mode = (1, 1, mode[2])  # the same (silicon)
    return rest.case(sums, wider, rest.word(mode, signs, parts), "x2, x4", {"x2": a, "x4": b})


CONJUGATES = {0x0A: (1, 1), 0xA0: (-1, 1), 0x50: (1, -1), 0xFA: (-1, -1)}
"""Signs of the imaginary parts of both operands, by the name of the mask in `aiev2_core.h`."""


@model
def complex_products(random: Random) -> ModelCase:
    """Of numbers with parts of 16 bits, two and two added, or of 32 bits and 16."""
    a, b, rest = wide(random), wide(random), Accumulation.some(random)
    parts, mode = random.choice([*CONJUGATES]), random.choice(((1, 3, 4), (1, 0, 1)))
    first, second = CONJUGATES[parts]
    bits = 16 if mode == (1, 3, 4) else 32
    xs, ys = elements(a, bits), elements(b, 16)
    sums = [0] * 16
    for at in range(16 if bits == 16 else 8):
        xr, xi, yr, yi = xs[2 * at], first * xs[2 * at + 1], ys[2 * at], second * ys[2 * at + 1]
        lane = 2 * (at % 8)
        sums[lane] += xr * yr - xi * yi
        sums[lane + 1] += xr * yi + xi * yr
    return rest.case(sums, 64, rest.word(mode, (True, True), parts), "x2, x4", {"x2": a, "x4": b})


SPARSE = {(1, 2, 2): (16, 8, 64, 2, 16, 8), (1, 3, 5): (16, 16, 64, 2, 8, 8), (0, 1, 5): (8, 8, 32, 4, 16, 8)}
"""As `PRODUCTS`; of each four elements of a column of the second operand two at most are there."""


def stored(mask: int, column: int, inner: int, columns: int) -> list[tuple[int, int]]:
    """Elements of a column that are there, and the number of the place that each lies in.

    A bit of the mask is a byte of the whole operand (UG1583); which place is silicon's answer.
    """
    size = 128 // (columns * inner)
    bits = mask >> column * inner * size
    found = list[tuple[int, int]]()
    for group in range(inner // 4):
        there = [k for k in range(4) if bits >> (4 * group + k) * size & (2**size - 1)]
        places = {0: [], 1: [0 if there and there[0] < 2 else 1], 2: [0, 1]}.get(len(there))
        if places is not None:
            found += [(4 * group + k, 2 * group + place) for k, place in zip(there, places, strict=True)]
    return found


def sparse_mask(random: Random) -> int:
    """Bits for bytes, of which few are set now and then."""
    return random.getrandbits(128) & random.getrandbits(128) & random.choice((random.getrandbits(128), 2**128 - 1))


@model
def sparse_products(random: Random) -> ModelCase:
    mode, rest, mask = random.choice([*SPARSE]), Accumulation.some(random), sparse_mask(random)
    bits_x, bits_y, wider, rows, inner, columns = SPARSE[mode]
    signs = (bool(random.getrandbits(1)), bool(random.getrandbits(1)))
    parts = 0 if mode[0] == 0 else random.choice((0, random.getrandbits(16)))
    is_wide = random.random() < 0.5
    a, b = wide(random, 128 if is_wide else 64), wide(random)
    xs, ys = elements(a, bits_x, signs[0]), elements(b, bits_y, signs[1])
    each = 1 if bits_y == 16 else 2  # places that share a bit of the parts
    sums = list[int]()
    for row in range(rows):
        for column in range(columns):
            total = 0
            for k, place in stored(mask, column, inner, columns):
                bit = 4 * (column % 2) + place // each
                total += (-1) ** (parts >> bit & 1) * xs[row * inner + k] * ys[place * columns + column]
            sums.append(total)
    operands = "y2, qx1" if is_wide else "x6, qx1"
    before = {"y2" if is_wide else "x6": a, "x1": b, "q1": mask.to_bytes(16, "little")}
    return rest.case(sums, wider, rest.word(mode, signs, parts), operands, before)


@model
def fractions_of_bf16(random: Random) -> ModelCase:
    """What instructions for integers make of bf16: 14 bits of products of the lowest bytes (silicon)."""
    rest, parts = Accumulation.some(random), random.getrandbits(16)
    mode = (random.choice((2, 3)), random.randrange(4), random.choice((0, 1, 2)))
    is_sparse, is_wide, mask = mode[2] == 2, random.random() < 0.5, sparse_mask(random)
    a, b = wide(random, 128 if is_sparse and is_wide else 64), wide(random)
    xs, ys = ([it & 0xFF for it in elements(side, 16, False)] for side in (a.ljust(128, b"\0"), b))

    def term(lane: int, place: int, x: int, y: int) -> int:
        return (-1) ** (parts >> 4 * (lane % 2) + place % 4 & 1) * to_signed(x * y, 14)

    sums = list[int]()
    for lane in range(16):
        row, column = divmod(lane, 4)
        if mode[2] == 1:
            found = [term(lane, k, xs[lane + 16 * k], ys[lane + 16 * k]) for k in range(2)]
        elif mode[2] == 0:
            found = [term(lane, k, xs[8 * row + k], ys[4 * k + column]) for k in range(8)]
        else:
            pairs = stored(mask, column, 16, 4)
            found = [term(lane, place, xs[16 * row + k], ys[4 * place + column]) for k, place in pairs]
        sums.append(sum(found))
    word = rest.word(mode, (bool(random.getrandbits(1)), bool(random.getrandbits(1))), parts)
    if not is_sparse:
        return rest.case(sums, 32, word, "x6, x1", {"x6": a, "x1": b})
    before = {"y2" if is_wide else "x6": a, "x1": b, "q1": mask.to_bytes(16, "little")}
    return rest.case(sums, 32, word, "y2, qx1" if is_wide else "x6, qx1", before)


@model
def empty_products(random: Random) -> ModelCase:
    """Modes that no intrinsic has, and those for sparse operands without one: accumulators alone (silicon)."""
    rest = Accumulation.some(random)
    used = {*PRODUCTS, *LANES, (0, 1, 2), (0, 1, 3), (0, 1, 4), (0, 2, 1), (1, 0, 1), (1, 3, 3), (1, 3, 4)}
    used |= {(1, 1, mode[2]) for mode in used if mode[:2] == (1, 3)}
    used |= {(amode, bmode, variant) for amode in (2, 3) for bmode in range(4) for variant in (0, 1)}
    modes = [(amode, bmode, variant) for amode in range(4) for bmode in range(4) for variant in range(8)]
    mode = random.choice([it for it in modes if it not in used])
    word = rest.word(mode, (bool(random.getrandbits(1)), bool(random.getrandbits(1))), random.getrandbits(16))
    before = {"x2": wide(random), "x4": wide(random)}
    return rest.case([], 64 if mode[0] == 1 else 32, word, "x2, x4", before)


# ---- floats ---------------------------------------------------------------------------------------------------------


class Scaled(NamedTuple):
    """A number, and the exponent that it is brought to the largest of: in units of 2 ** (exponent - 277)."""

    value: Fraction
    exponent: int


def scaled_bf16_product(x: int, y: int) -> Scaled:
    """Of two bf16 that are numbers; those below the least exponent are 0."""
    exponents = [it >> 7 & 255 for it in (x, y)]
    if 0 in exponents:
        return Scaled(Fraction(0), 0)
    return Scaled(Fraction(bf16(x)) * Fraction(bf16(y)), sum(exponents))


def scaled_float(bits: int) -> Scaled:
    """Of an accumulator's lane, numbers below the least exponent too."""
    value = Fraction(float(np.array([bits], np.uint32).view(np.float32)[0]))
    return Scaled(value, max(bits >> 23 & 255, 1) + 127 if value else 0)


def float_sum(terms: list[Scaled]) -> int:
    """The bits of a sum: each term to the unit of the largest exponent, and the sum once more, to the nearest even."""
    largest = max(it.exponent for it in terms)
    unit = Fraction(2) ** (largest - 277)
    exact = sum(round(it.value / unit) for it in terms)
    with np.errstate(over="ignore"):
        # a number of at most 29 bits, which Python's floats have exactly
        rounded = np.float32(float(exact) * 2.0**-30) if exact else np.float32(0)
    sign = 0x80000000 if exact < 0 else 0
    bits = int(rounded.view(np.uint32)) & 0x7FFFFFFF
    exponent = (bits >> 23) + 30 + largest - 277
    if not exact or exponent <= 0:
        return sign
    return sign | (0x7F800000 if exponent >= 255 else (exponent << 23 | bits & 0x7FFFFF))


FLOAT_SIGNS = {"vmul.f": (0, 0, 1), "vnegmul.f": (0, 0, -1), "vmac.f": (1, 0, 1), "vmsc.f": (1, 0, -1),
               "vaddmac.f": (1, 1, 1), "vaddmsc.f": (1, 1, -1)}  # fmt: skip
SUM_SIGNS = {"vadd.f": (1, 1), "vsub.f": (1, -1), "vnegadd.f": (-1, -1), "vnegsub.f": (-1, 1)}


def some_floats(random: Random, count: int, bits: int) -> list[int]:
    """Numbers, most of them near to each other."""
    middle, digits = random.randrange(1, 254), 7 if bits == 16 else 23
    found = list[int]()
    for _ in range(count):
        exponent = min(max(middle + random.randrange(-12, 13), 0), 254)
        found.append(random.getrandbits(1) << (bits - 1) | exponent << digits | random.getrandbits(digits))
    return [random.choice((0, it & 0x8000FFFF, it)) if random.random() < 0.2 else it for it in found]


@model
def float_products(random: Random) -> ModelCase:
    """Of bf16, dense and sparse, and sums of floats."""
    e, f = some_floats(random, 16, 32), some_floats(random, 16, 32)
    zeroes, shifts, flips = random.getrandbits(1), random.random() < 0.2, [random.getrandbits(1) for _ in range(3)]
    firsts = [0 if zeroes else (it << 16 * shifts) & MASK for it in e]
    if any((it >> 23 & 255) == 255 for it in firsts):
        firsts, shifts = [0 if zeroes else it for it in e], False
    before = {"bml1": packed(e, 32), "bml2": packed(f, 32)}
    word = zeroes | shifts << 10 | flips[0] << 11 | flips[1] << 12 | flips[2] << 13

    def signed(term: Scaled, sign: int, flip: int) -> Scaled:
        return Scaled(-term.value if (sign < 0) != bool(flip) else term.value, term.exponent)

    if random.random() < 0.3:
        kind = random.choice([*SUM_SIGNS])
        first, second = SUM_SIGNS[kind]
        sums = [
            float_sum([signed(scaled_float(x), first, flips[1]), signed(scaled_float(y), second, flips[2])])
            for x, y in zip(firsts, f, strict=True)
        ]
        return ModelCase(f"{kind} bml0, bml1, bml2, r1", before | {"r1": word | 2 << 1}, {"bml0": packed(sums, 32)})
    kind, variant, parts = random.choice([*FLOAT_SIGNS]), random.randrange(3), random.getrandbits(16)
    first, second, sign = FLOAT_SIGNS[kind]
    xs, ys, mask = some_floats(random, 64, 16), some_floats(random, 32, 16), sparse_mask(random)
    sums = list[int]()
    for lane in range(16):
        row, column = divmod(lane, 4)
        pairs = {
            0: [(8 * row + k, 4 * k + column, k) for k in range(8)],
            1: [(lane + 16 * k, lane + 16 * k, k) for k in range(2)],
            2: [(16 * row + k, 4 * place + column, place) for k, place in stored(mask, column, 16, 4)],
        }[variant]
        terms = [
            signed(scaled_bf16_product(xs[x], ys[y]), sign, flips[0] ^ (parts >> 4 * (lane % 2) + place % 4 & 1))
            for x, y, place in pairs
        ]
        terms += [signed(scaled_float(firsts[lane]), first, flips[1])] * abs(first)
        terms += [signed(scaled_float(f[lane]), second, flips[2])] * abs(second)
        sums.append(float_sum(terms or [Scaled(Fraction(0), 0)]))
    word |= 2 << 1 | 3 << 3 | variant << 5 | parts << 16
    before |= {"r1": word, "x1": packed(ys, 16), "q1": mask.to_bytes(16, "little")}
    before["y2" if variant == 2 else "x6"] = packed(xs, 16)[: 128 if variant == 2 else 64]
    operands = "y2, qx1" if variant == 2 else "x6, x1"
    registers = "bml1, bml1, bml2, " if second else "bml0, bml1, " if first else "bml0, "
    return ModelCase(f"{kind} {registers}{operands}, r1", before, {"bml1" if second else "bml0": packed(sums, 32)})


# ---- running --------------------------------------------------------------------------------------------------------


def wrong_of(kind: ModelClass, cases: int, seed: int = 0) -> Iterator[str]:
    """What is wrong in so many cases of a class."""
    random = Random(f"{kind.name} {seed}")
    for _ in range(cases):
        if (found := difference(kind.make(random))) is not None:
            yield found


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("classes", nargs="*", help=f"default: all, {', '.join(it.name for it in CLASSES)}")
    args = parser.parse_args()
    total = 0
    for kind in CLASSES:
        if not args.classes or kind.name in args.classes:
            start = time.perf_counter()
            found = [*wrong_of(kind, args.cases, args.seed)]
            total += len(found)
            print(
                f"{kind.name:24}{args.cases:9,} cases{len(found):7,} wrong{time.perf_counter() - start:8.1f} s",
                flush=True,
            )
            print("".join(f"  {it:.400}\n" for it in found[:3]), end="", flush=True)
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
