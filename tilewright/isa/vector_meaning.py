"""Meaning of vector instructions, over the bytes of registers.

Types in keys: `s16` is a signed element of 16 bits, `d16` one whose sign a control register says, `16` one whose sign
does not matter. Source: the AI Engine-ML intrinsics guide (UG1583).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tilewright.isa.meaning import MAKERS, Definition, Maker, Results, Values, define
from tilewright.isa.numbers import Data, Flag, Lanes, Numbers, Word

REGISTER = 64
"""Bytes of an x register."""


class LaneType(NamedTuple):
    """A type in a key: the bits, and where its sign is said."""

    bits: int
    sign: str
    """`s` for always, `d` for the control register, nothing where it does not matter."""

    @classmethod
    def of(cls, text: str) -> LaneType:
        return cls(int(text.lstrip("sd")), text[0] if text[0] in "sd" else "")

    def read(self, n: Numbers, data: Data, control: Word, wide: int = 0) -> Lanes:
        """The elements with their signs, in lanes of more bits."""
        lanes = n.cast(n.lanes(data, self.bits, self.sign == "s"), wide or (64 if self.bits >= 32 else 32), True)
        return with_sign(n, lanes, self.bits, control) if self.sign == "d" else lanes


def with_sign(n: Numbers, lanes: Lanes, bits: int, is_signed: Word) -> Lanes:
    """Lanes of more bits, whose lowest have a sign if the word is not 0."""
    sign = n.choose(is_signed != 0, 1 << (bits - 1), 0)
    return (lanes ^ sign) - sign


def as_data(n: Numbers, lanes: Lanes, bits: int) -> Data:
    """The lowest bits of each lane."""
    return n.nibbles(n.cast(lanes, 8, False)) if bits == 4 else n.data(n.cast(lanes, bits, False))


# ---- lanes of two vectors ---------------------------------------------------------------------------------------


ARITHMETIC: dict[str, Callable[[Lanes, Lanes], Lanes]] = {"vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b}


def _arithmetic(compute: Callable[[Lanes, Lanes], Lanes]) -> Maker:
    def make(text: str) -> Definition:
        bits = int(text)
        return lambda n, v: {"d": n.data(compute(n.lanes(v["a"], bits, False), n.lanes(v["b"], bits, False)))}

    return make


MAKERS.update({name: _arithmetic(compute) for name, compute in ARITHMETIC.items()})


@define("vaddsub")
def _vaddsub(text: str) -> Definition:
    bits = int(text)

    def compute(n: Numbers, v: Values) -> Results:
        a, b = n.lanes(v["a"], bits, False), n.lanes(v["b"], bits, False)
        return {"d": n.data(n.choose(n.flags(v["s"], REGISTER * 8 // bits), a - b, a + b))}

    return compute


@define("vsel")
def _vsel(text: str) -> Definition:
    bits = int(text)

    def compute(n: Numbers, v: Values) -> Results:
        a, b = n.lanes(v["a"], bits, False), n.lanes(v["b"], bits, False)
        return {"d": n.data(n.choose(n.flags(v["s"], REGISTER * 8 // bits), b, a))}

    return compute


@define("vband")
def _vband() -> Definition:
    return lambda n, v: {"d": n.data(n.lanes(v["a"], 8, False) & n.lanes(v["b"], 8, False))}


@define("vbor")
def _vbor() -> Definition:
    return lambda n, v: {"d": n.data(n.lanes(v["a"], 8, False) | n.lanes(v["b"], 8, False))}


def _largest(n: Numbers, a: Lanes, b: Lanes) -> Lanes:
    return n.choose(a < b, b, a)


def _smallest(n: Numbers, a: Lanes, b: Lanes) -> Lanes:
    return n.choose(a < b, a, b)


Combine = Callable[[Numbers, Lanes, Lanes], Lanes]
COMPARISONS: dict[str, tuple[Combine | None, Callable[[Lanes, Lanes], Flag]]] = {
    "vlt": (None, lambda a, b: a < b),
    "vge": (None, lambda a, b: a >= b),
    "vmax_lt": (_largest, lambda a, b: a < b),
    "vmin_ge": (_smallest, lambda a, b: a >= b),
    "vmaxdiff_lt": (lambda n, a, b: n.choose(a < b, 0, a - b), lambda a, b: a < b),
    "vsub_lt": (lambda n, a, b: a - b, lambda a, b: a < b),
    "vsub_ge": (lambda n, a, b: a - b, lambda a, b: a >= b),
}
"""What a lane becomes, if anything, and the bit that it gives."""


def _comparison(result: Combine | None, test: Callable[[Lanes, Lanes], Flag]) -> Maker:
    def make(text: str) -> Definition:
        if text == "bf16":
            return _float_comparison(result is not None, test)
        element = LaneType.of(text)

        def compute(n: Numbers, v: Values) -> Results:
            sign = v.get("crVaddSign", 1)
            a, b = element.read(n, v["a"], sign), element.read(n, v["b"], sign)
            made: Results = {"c": n.mask(test(a, b))}
            return made if result is None else made | {"d": as_data(n, result(n, a, b), element.bits)}

        return compute

    return make


def _float_comparison(gives_lane: bool, test: Callable[[Lanes, Lanes], Flag]) -> Definition:
    """Of bf16, which are in the order of whole numbers once those below zero are turned around; zeros are equal.

    What is no number is not less than another, as on a device.
    """
    is_less = test(0, 1)

    def compute(n: Numbers, v: Values) -> Results:
        a, b = (n.cast(n.lanes(v[name], 16, False), 32, True) for name in ("a", "b"))
        flag = test(_in_order(n, a), _in_order(n, b))
        if is_less:
            flag = flag & ((a & 0x7FFF) <= BF16_INFINITY) & ((b & 0x7FFF) <= BF16_INFINITY)
        made: Results = {"c": n.mask(flag)}
        return made | {"d": as_data(n, n.choose(flag, b, a), 16)} if gives_lane else made

    return compute


BF16_INFINITY = 0x7F80


def _in_order(n: Numbers, bits: Lanes) -> Lanes:
    magnitude = bits & 0x7FFF
    return n.choose(bits > 0x7FFF, 0 - magnitude, magnitude)


MAKERS.update({name: _comparison(*parts) for name, parts in COMPARISONS.items()})
UNARY: dict[str, tuple[Callable[[Numbers, Lanes], Lanes] | None, Callable[[Lanes], Flag]]] = {
    "veqz": (None, lambda a: a == 0),
    "vabs_gtz": (lambda n, a: n.choose(a < 0, 0 - a, a), lambda a: a > 0),
    "vneg_gtz": (lambda n, a: 0 - a, lambda a: a > 0),
    "vbneg_ltz": (lambda n, a: a ^ -1, lambda a: a < 0),
}


def _unary(result: Callable[[Numbers, Lanes], Lanes] | None, test: Callable[[Lanes], Flag]) -> Maker:
    def make(text: str) -> Definition:
        element = LaneType.of(text)

        def compute(n: Numbers, v: Values) -> Results:
            # `veqz` calls its operand the second
            a = element.read(n, v["a"] if "a" in v else v["b"], v.get("crVaddSign", 1))
            made: Results = {"c": n.mask(test(a))}
            return made if result is None else made | {"d": as_data(n, result(n, a), element.bits)}

        return compute

    return make


MAKERS.update({name: _unary(*parts) for name, parts in UNARY.items()})


# ---- elements and order -------------------------------------------------------------------------------------------


def _copies(n: Numbers, word: Word, bits: int) -> Data:
    return n.data(n.fill(word, bits, REGISTER * 8 // bits))


@define("vbcst")
def _vbcst(text: str) -> Definition:
    bits = int(text)
    return lambda n, v: {"d": _copies(n, v["a"], bits)}


def _element(n: Numbers, data: Data, bits: int, index: Word) -> Word:
    """An element by its number, which counts around the register."""
    return n.word(n.window(data, (index * (bits // 8)) & (REGISTER - 1), bits // 8))


@define("vextbcst")
def _vextbcst(text: str) -> Definition:
    bits = int(text)
    return lambda n, v: {"d": _copies(n, _element(n, v["a"], bits, v["n"]), bits)}


@define("vextract")
def _vextract(text: str) -> Definition:
    element = LaneType.of(text)

    def compute(n: Numbers, v: Values) -> Results:
        found = _element(n, v["a"], element.bits, v["n"])
        if element.bits == 64:
            return {"d": found}
        is_signed = v.get("crVaddSign", 1) if element.sign == "d" else 1
        return {"d": with_sign(n, found, element.bits, is_signed) & 0xFFFFFFFF}

    return compute


@define("vinsert")
def _vinsert(text: str) -> Definition:
    size = int(text) // 8

    def compute(n: Numbers, v: Values) -> Results:
        return {"d": n.replaced(v["a"], (v["r29"] * size) & (REGISTER - 1), n.word_data(v["b"], size))}

    return compute


@define("vpush")
def _vpush(side: str, text: str) -> Definition:
    size = int(text) // 8
    if side == "lo":
        return lambda n, v: {"d": n.join(n.word_data(v["a"], size), n.part(v["b"], 0, REGISTER - size))}
    return lambda n, v: {"d": n.join(n.part(v["a"], size, REGISTER - size), n.word_data(v["b"], size))}


@define("vshift")
def _vshift(kind: str = "") -> Definition:
    return _shift_and_align if kind else _shift_bytes


def _shift_bytes(n: Numbers, v: Values) -> Results:
    """64 bytes of both registers from one on; there are zeros behind them."""
    return {"d": _behind(n, n.join(v["a"], v["b"]), 2 * REGISTER, v["s"])}


def _behind(n: Numbers, data: Data, size: int, start: Word) -> Data:
    return n.window(n.join(data, n.zeros(REGISTER)), n.choose(start < size, start, size), REGISTER)


FURTHEST_STEP = 6
"""A register has 2 ** 6 bytes."""


def _shift_and_align(n: Numbers, v: Values) -> Results:
    """The second register from a byte on, or'ed with the first, which goes by 2 ** step bytes (UG1583: shiftx).

    In which direction that one goes is not said. Without a step it is a shift as all others.
    """
    step = v["q"]
    n.refuse_if((step > 0) & (step < FURTHEST_STEP), "a shift that aligns with the step", step)
    alone = _behind(n, v["b"], REGISTER, v["s"])
    return {"d": n.choose(step == 0, _shift_bytes(n, v)["d"], alone)}


class Transpose(NamedTuple):
    """A shuffle: elements of so many bytes as rows and columns, and which half of the result is taken."""

    size: int
    rows: int
    columns: int
    half: int = 0

    def sources(self) -> list[int]:
        """The byte of both operands that each byte of the result comes from."""
        block = self.size * self.rows * self.columns
        return [self.source(byte, block) for byte in range(self.half * REGISTER, (self.half + 1) * REGISTER)]

    def source(self, byte: int, block: int) -> int:
        matrix, inside = divmod(byte, block)
        at, part = divmod(inside, self.size)
        column, row = divmod(at, self.rows)
        return matrix * block + (row * self.columns + column) * self.size + part


def _halves(bits: int, rows: int, columns: int) -> list[Transpose]:
    return [Transpose(bits // 8, rows, columns, half) for half in (0, 1)]


def _whole(bits: int, rows: int, columns: int) -> list[Transpose]:
    return [Transpose(bits // 8, rows, columns)]


FLIP = 38
"""The mode that changes neighbours of 16 bits."""
SHUFFLES: list[Transpose] = [
    *_halves(8, 64, 2), *_halves(16, 32, 2), *_halves(32, 16, 2), *_halves(64, 8, 2), *_halves(128, 4, 2),
    *_halves(256, 2, 2), *_halves(128, 2, 4), *_halves(64, 2, 8), *_halves(32, 2, 16), *_halves(16, 2, 32),
    *_halves(8, 2, 64), *_halves(512, 1, 2), *_halves(16, 16, 4), *_halves(16, 4, 16), *_whole(16, 8, 4),
    *_whole(16, 4, 8), *_halves(32, 8, 4), *_halves(32, 4, 8), *_whole(32, 4, 4), *_whole(8, 8, 8), *_whole(8, 16, 4),
    *_whole(8, 4, 16), *_whole(16, 1, 2), *_whole(16, 4, 4), *_whole(16, 4, 2), *_whole(16, 2, 4), *_whole(16, 8, 2),
    *_whole(16, 2, 8), *_whole(16, 16, 2), *_whole(16, 2, 16), *_whole(8, 8, 4), *_whole(8, 4, 8),
]  # fmt: skip
"""By the number in the mode's register."""


def _orders() -> list[list[int]]:
    orders = [it.sources() for it in SHUFFLES]
    orders[FLIP] = [byte ^ 2 for byte in range(REGISTER)]
    return orders


ORDERS = _orders()
"""The bytes of both operands that a mode takes."""


def shuffled(n: Numbers, a: Data, b: Data, mode: Word) -> Data:
    """Six bits of the mode count; of modes that are none a device gives the first byte, and zeros."""
    number = mode & 63
    is_known = number < len(ORDERS)
    first = n.join(n.part(a, 0, 1), n.zeros(REGISTER - 1))
    return n.choose(is_known, n.arranged(n.join(a, b), ORDERS, n.choose(is_known, number, 0)), first)


@define("vshuffle")
def _vshuffle() -> Definition:
    return lambda n, v: {"d": shuffled(n, v["a"], v["b"], v["m"])}


@define("vbcstshfl")
def _broadcast_and_shuffle(text: str) -> Definition:
    """A shuffle of a register of copies with zeros."""
    bits = int(text)

    def compute(n: Numbers, v: Values) -> Results:
        copies = _copies(n, v["a"], bits)
        return {"d": shuffled(n, copies, n.zeros(REGISTER), v["r29"])}

    return compute


@define("vmove")
def _vmove() -> Definition:
    return lambda n, v: {"d": v["a"]}


@define("vclr")
def _vclr() -> Definition:
    return lambda n, v: {"d": n.zeros(2 * REGISTER)}
