"""Meaning of vector instructions, over bytes of registers as NumPy reads them.

Types in keys: `s16` is a signed element of 16 bits, `d16` one whose sign a control register says, `16` one whose sign
does not matter. Sources: the AI Engine-ML intrinsics guide (UG1583) for what operations do; the layout of a product's
configuration is that of `aiev2_vmult.h` in llvm-aie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.isa.meaning import Maker, Meaning, Results, UnknownMeaningError, Values

Lanes: TypeAlias = NDArray[Any]
MAKERS = dict[str, Maker]()
REGISTER = 64
"""Bytes of an x register."""
SATURATE, SYMMETRIC = 1, 3


def define(*names: str) -> Callable[[Maker], Maker]:
    def add(make: Maker) -> Maker:
        for name in names:
            MAKERS[name] = make
        return make

    return add


def lanes(data: bytes, bits: int, is_signed: bool) -> Lanes:
    """Elements of bytes; those of 4 bits as bytes of their own."""
    if bits == 4:
        pairs = np.frombuffer(data, np.uint8)
        low = np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(-1).astype(np.int8)
        return np.where(low > 7, low - 16, low).astype(np.int8) if is_signed else low
    return np.frombuffer(data, np.dtype(f"<{'i' if is_signed else 'u'}{bits // 8}"))


class LaneType(NamedTuple):
    """A type in a key: the bits, and where its sign is said."""

    bits: int
    sign: str
    """`s` for always, `d` for the control register, nothing where it does not matter."""

    @classmethod
    def of(cls, text: str) -> LaneType:
        return cls(int(text.lstrip("sd")), text[0] if text[0] in "sd" else "")

    def read(self, data: bytes, control: int) -> Lanes:
        return lanes(data, self.bits, self.is_signed(control))

    def is_signed(self, control: int) -> bool:
        return self.sign == "s" or (self.sign == "d" and bool(control))


def as_bytes(values: Lanes, bits: int) -> bytes:
    """Elements as the bytes of a register, cut to their bits."""
    if bits == 4:
        halves = (values.astype(np.uint8) & 15).reshape(-1, 2)
        return (halves[:, 0] | halves[:, 1] << 4).astype(np.uint8).tobytes()
    return values.astype(np.int64).astype(np.dtype(f"<i{bits // 8}")).tobytes()


def as_mask(flags: Lanes) -> int:
    """A bit for each lane, the first lowest."""
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


# ---- lanes of two vectors ---------------------------------------------------------------------------------------


ARITHMETIC: dict[str, Callable[[Lanes, Lanes], Lanes]] = {"vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b}


def _arithmetic(compute: Callable[[Lanes, Lanes], Lanes]) -> Maker:
    def make(text: str) -> Meaning:
        bits = int(text)
        return lambda v: {"d": as_bytes(compute(lanes(v["a"], bits, False), lanes(v["b"], bits, False)), bits)}

    return make


MAKERS.update({name: _arithmetic(compute) for name, compute in ARITHMETIC.items()})


@define("vaddsub")
def _vaddsub(text: str) -> Meaning:
    bits = int(text)

    def compute(v: Values) -> Results:
        a, b = lanes(v["a"], bits, False), lanes(v["b"], bits, False)
        return {"d": as_bytes(np.where(_chosen(v["s"], len(a)), a - b, a + b), bits)}

    return compute


def _chosen(mask: int, count: int) -> Lanes:
    data = np.frombuffer(mask.to_bytes(8, "little"), np.uint8)
    return np.unpackbits(data, bitorder="little")[:count].astype(bool)


@define("vsel")
def _vsel(text: str) -> Meaning:
    bits = int(text)

    def compute(v: Values) -> Results:
        a, b = lanes(v["a"], bits, False), lanes(v["b"], bits, False)
        return {"d": np.where(_chosen(v["s"], len(a)), b, a).tobytes()}

    return compute


@define("vband")
def _vband() -> Meaning:
    return lambda v: {"d": (lanes(v["a"], 8, False) & lanes(v["b"], 8, False)).tobytes()}


@define("vbor")
def _vbor() -> Meaning:
    return lambda v: {"d": (lanes(v["a"], 8, False) | lanes(v["b"], 8, False)).tobytes()}


COMPARISONS: dict[str, tuple[Callable[[Lanes, Lanes], Lanes] | None, Callable[[Lanes, Lanes], Lanes]]] = {
    "vlt": (None, np.less),
    "vge": (None, np.greater_equal),
    "vmax_lt": (np.maximum, np.less),
    "vmin_ge": (np.minimum, np.greater_equal),
    "vmaxdiff_lt": (lambda a, b: np.maximum(a - b, 0), np.less),
    "vsub_lt": (lambda a, b: a - b, np.less),
    "vsub_ge": (lambda a, b: a - b, np.greater_equal),
}
"""What a lane becomes, if anything, and the bit that it gives."""


def _comparison(result: Callable[[Lanes, Lanes], Lanes] | None, test: Callable[[Lanes, Lanes], Lanes]) -> Maker:
    def make(text: str) -> Meaning:
        if text == "bf16":
            raise UnknownMeaningError("comparisons of bf16 are not known")
        element = LaneType.of(text)

        def compute(v: Values) -> Results:
            sign = v.get("crVaddSign", 1)
            a, b = element.read(v["a"], sign).astype(np.int64), element.read(v["b"], sign).astype(np.int64)
            made: Results = {"c": as_mask(test(a, b))}
            return made if result is None else made | {"d": as_bytes(result(a, b), element.bits)}

        return compute

    return make


MAKERS.update({name: _comparison(*parts) for name, parts in COMPARISONS.items()})
UNARY: dict[str, tuple[Callable[[Lanes], Lanes] | None, Callable[[Lanes], Lanes]]] = {
    "veqz": (None, lambda a: a == 0),
    "vabs_gtz": (np.abs, lambda a: a > 0),
    "vneg_gtz": (np.negative, lambda a: a > 0),
    "vbneg_ltz": (np.invert, lambda a: a < 0),
}


def _unary(result: Callable[[Lanes], Lanes] | None, test: Callable[[Lanes], Lanes]) -> Maker:
    def make(text: str) -> Meaning:
        element = LaneType.of(text)

        def compute(v: Values) -> Results:
            # `veqz` calls its operand the second
            a = element.read(v["a"] if "a" in v else v["b"], v.get("crVaddSign", 1)).astype(np.int64)
            made: Results = {"c": as_mask(test(a))}
            return made if result is None else made | {"d": as_bytes(result(a), element.bits)}

        return compute

    return make


MAKERS.update({name: _unary(*parts) for name, parts in UNARY.items()})


# ---- elements and order -------------------------------------------------------------------------------------------


def _scalar(value: int, bits: int) -> bytes:
    return (value & ((1 << bits) - 1)).to_bytes(bits // 8, "little")


@define("vbcst")
def _vbcst(text: str) -> Meaning:
    bits = int(text)
    return lambda v: {"d": _scalar(v["a"], bits) * (REGISTER * 8 // bits)}


def _element(data: bytes, bits: int, index: int) -> bytes:
    """An element by its number, which counts around the register."""
    size = bits // 8
    at = index * size % len(data)
    return data[at : at + size]


@define("vextbcst")
def _vextbcst(text: str) -> Meaning:
    bits = int(text)
    return lambda v: {"d": _element(v["a"], bits, v["n"]) * (REGISTER * 8 // bits)}


@define("vextract")
def _vextract(text: str) -> Meaning:
    element = LaneType.of(text)

    def compute(v: Values) -> Results:
        found = _element(v["a"], element.bits, v["n"])
        is_signed = element.is_signed(v.get("crVaddSign", 1))
        return {"d": int.from_bytes(found, "little", signed=is_signed) & ((1 << max(32, element.bits)) - 1)}

    return compute


@define("vinsert")
def _vinsert(text: str) -> Meaning:
    bits = int(text)

    def compute(v: Values) -> Results:
        made, at = bytearray(v["a"]), v["r29"] * (bits // 8) % REGISTER
        made[at : at + bits // 8] = _scalar(v["b"], bits)
        return {"d": bytes(made)}

    return compute


@define("vpush")
def _vpush(side: str, text: str) -> Meaning:
    bits = int(text)
    if side == "lo":
        return lambda v: {"d": _scalar(v["a"], bits) + v["b"][: -(bits // 8)]}
    return lambda v: {"d": v["a"][bits // 8 :] + _scalar(v["b"], bits)}


@define("vshift")
def _vshift(kind: str = "") -> Meaning:
    if kind:
        raise UnknownMeaningError("the meaning of `vshift.align` is not known")

    def compute(v: Values) -> Results:
        at = v["s"] & (REGISTER - 1)
        return {"d": (v["a"] + v["b"])[at : at + REGISTER]}

    return compute


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


@define("vshuffle")
def _vshuffle() -> Meaning:
    sources = np.array([it.sources() for it in SHUFFLES])
    sources[FLIP] = np.arange(REGISTER) ^ 2

    def compute(v: Values) -> Results:
        if v["m"] >= len(SHUFFLES):
            raise UnknownMeaningError(f"shuffle mode {v['m']} is not known")
        return {"d": np.frombuffer(v["a"] + v["b"], np.uint8)[sources[v["m"]]].tobytes()}

    return compute


@define("vmove")
def _vmove() -> Meaning:
    return lambda v: {"d": v["a"]}


@define("vclr")
def _vclr() -> Meaning:
    return lambda v: {"d": bytes(4 * VECTOR_LIMIT)}


VECTOR_LIMIT = 32
"""Bytes of the smallest part of an accumulator; four are a whole one, and a smaller one takes the first of them."""


# ---- widths -------------------------------------------------------------------------------------------------------


def _limits(bits: int, is_signed: bool, saturation: int) -> tuple[int, int]:
    if not is_signed:
        return 0, (1 << bits) - 1
    top = (1 << (bits - 1)) - 1
    return (-top if saturation == SYMMETRIC else -top - 1), top


def _is_odd(values: Lanes) -> Lanes:
    return (values & 1).astype(bool)


# Whether a value whose bits behind the point are `rest` (of `half` * 2) is rounded up from its floor.
ROUNDINGS: dict[int, Callable[[Lanes, Lanes, int], Lanes]] = {
    0: lambda floor, rest, half: rest < 0,
    1: lambda floor, rest, half: rest > 0,
    2: lambda floor, rest, half: (rest > 0) & (floor < 0),
    3: lambda floor, rest, half: (rest > 0) & (floor >= 0),
    8: lambda floor, rest, half: rest > half,
    9: lambda floor, rest, half: rest >= half,
    10: lambda floor, rest, half: (rest > half) | ((rest == half) & (floor < 0)),
    11: lambda floor, rest, half: (rest > half) | ((rest == half) & (floor >= 0)),
    12: lambda floor, rest, half: (rest > half) | ((rest == half) & _is_odd(floor)),
    13: lambda floor, rest, half: (rest > half) | ((rest == half) & ~_is_odd(floor)),
}
"""By crRnd: floor, ceiling, towards zero, away from zero, and to the nearest with ties to minus infinity, plus
infinity, zero, away from zero, even, odd."""


def shift_amount(value: int) -> int:
    """Of six bits, -4 to 59."""
    value &= 63
    return value - 64 if value >= 60 else value


@define("vsrs", "vsrsm")
def _vsrs(narrow: str, wide: str) -> Meaning:
    to, element = LaneType.of(narrow), LaneType.of(wide)

    def compute(v: Values) -> Results:
        shift = shift_amount(v["s"])
        values = lanes(v["a"], element.bits, True).astype(object if element.bits == 64 else np.int64)
        if shift <= 0:
            rounded = values << -shift
        else:
            floor, rest = values >> shift, values & ((1 << shift) - 1)
            up = ROUNDINGS.get(v["crRnd"])
            if up is None:
                raise UnknownMeaningError(f"rounding mode {v['crRnd']} is not known")
            rounded = floor + up(floor, rest, 1 << (shift - 1))
        return _narrowed(rounded, to, v["crSat"], to.is_signed(v.get("crSRSSign", 1))) | {"srSRS_of": 0}

    return compute


def _narrowed(values: Lanes, to: LaneType, saturation: int, is_signed: bool) -> Results:
    if saturation & SATURATE:
        values = np.clip(values, *_limits(to.bits, is_signed, saturation))
    else:
        values = values & ((1 << to.bits) - 1)
    wrapped = values.astype(object) & ((1 << to.bits) - 1)
    if to.bits == 4:
        return {"d": as_bytes(wrapped.astype(np.int64), 4)}
    return {"d": wrapped.astype(np.uint64).astype(np.dtype(f"<u{to.bits // 8}")).tobytes()}


@define("vups")
def _vups(wide: str, narrow: str) -> Meaning:
    to, element = LaneType.of(wide), LaneType.of(narrow)

    def compute(v: Values) -> Results:
        shift = v["s"] & 63
        values = element.read(v["a"], v.get("crUPSSign", 1)).astype(object)
        if v["crSat"] & SATURATE:
            low, high = _limits(to.bits, True, v["crSat"])
            values = np.clip(values, low >> shift, high >> shift)
        made = (values << shift) & ((1 << to.bits) - 1)
        return {"d": made.astype(np.uint64).astype(np.dtype(f"<u{to.bits // 8}")).tobytes(), "srUPS_of": 0}

    return compute


@define("vunpack")
def _vunpack(wide: str, narrow: str) -> Meaning:
    to, element = LaneType.of(wide), LaneType.of(narrow)
    return lambda v: {"d": as_bytes(element.read(v["a"], v.get("crUnpackSign", 1)), to.bits)}


@define("vpack")
def _vpack(narrow: str, wide: str) -> Meaning:
    to, element = LaneType.of(narrow), LaneType.of(wide)

    def compute(v: Values) -> Results:
        is_signed = to.is_signed(v.get("crPackSign", 1))
        values = lanes(v["a"], element.bits, True).astype(np.int64)
        return _narrowed(values, to, v["crSat"], is_signed)

    return compute


# Whether a number of 32 bits whose lowest 16 are `rest` is rounded away from zero on its way to bf16.
_HALF = 1 << 15
FLOAT_ROUNDINGS: dict[int, Callable[[Lanes, Lanes, Lanes], Lanes]] = {
    0: lambda rest, is_negative, is_odd: (rest > 0) & is_negative,
    1: lambda rest, is_negative, is_odd: (rest > 0) & ~is_negative,
    2: lambda rest, is_negative, is_odd: rest < 0,
    3: lambda rest, is_negative, is_odd: rest > 0,
    8: lambda rest, is_negative, is_odd: (rest > _HALF) | ((rest == _HALF) & is_negative),
    9: lambda rest, is_negative, is_odd: (rest > _HALF) | ((rest == _HALF) & ~is_negative),
    10: lambda rest, is_negative, is_odd: rest > _HALF,
    11: lambda rest, is_negative, is_odd: rest >= _HALF,
    12: lambda rest, is_negative, is_odd: (rest > _HALF) | ((rest == _HALF) & is_odd),
    13: lambda rest, is_negative, is_odd: (rest > _HALF) | ((rest == _HALF) & ~is_odd),
}
"""By crRnd, as `ROUNDINGS`."""
QUIET_NAN = 0x7FC0


@define("vconv")
def _vconv(to: str, of: str) -> Meaning:
    if to == "fp32":
        return lambda v: {"d": (lanes(v["a"], 16, False).astype(np.uint32) << 16).tobytes()}
    return _to_bf16


def _to_bf16(v: Values) -> Results:
    bits = lanes(v["a"], 32, False).astype(np.int64)
    away = FLOAT_ROUNDINGS.get(v["crRnd"])
    if away is None:
        raise UnknownMeaningError(f"rounding mode {v['crRnd']} is not known")
    kept = bits >> 16
    made = kept + away(bits & 0xFFFF, (bits >> 31).astype(bool), _is_odd(kept))
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return {"d": as_bytes(np.where(is_nan, kept & 0x8000 | QUIET_NAN, made), 16), "srF2FFlags": 0}


# ---- products -----------------------------------------------------------------------------------------------------


class ProductMode(NamedTuple):
    """A shape of a product: bits of elements and of sums; in each channel rows x inner times inner x columns."""

    bits_x: int
    bits_y: int
    bits_sum: int
    rows: int
    inner: int
    columns: int
    channels: int = 1
    is_convolution: bool = False
    """Row r takes elements r to r + inner - 1 of the first operand."""


PRODUCTS: dict[tuple[int, int, int], ProductMode] = {
    (0, 0, 0): ProductMode(8, 4, 32, 4, 16, 8),
    (0, 1, 0): ProductMode(8, 8, 32, 4, 8, 8),
    (0, 1, 1): ProductMode(8, 8, 32, 1, 2, 1, 32),
    (0, 1, 2): ProductMode(8, 8, 32, 4, 4, 1, 8, True),
    (0, 1, 3): ProductMode(8, 8, 32, 8, 8, 1, 4, True),
    (0, 1, 4): ProductMode(8, 8, 32, 32, 8, 1, 1, True),
    (0, 2, 0): ProductMode(16, 8, 32, 4, 4, 8),
    (0, 2, 1): ProductMode(16, 8, 32, 4, 4, 4, 2),
    (0, 3, 0): ProductMode(16, 16, 32, 4, 2, 8),
    (0, 3, 1): ProductMode(16, 16, 32, 1, 1, 1, 32),
    (1, 0, 0): ProductMode(32, 16, 64, 4, 2, 4),
    (1, 2, 0): ProductMode(16, 8, 64, 2, 8, 8),
    (1, 2, 1): ProductMode(16, 8, 64, 4, 8, 4),
    (1, 3, 0): ProductMode(16, 16, 64, 2, 4, 8),
    (1, 3, 1): ProductMode(16, 16, 64, 4, 4, 4),
    (1, 3, 2): ProductMode(16, 16, 64, 1, 2, 1, 16),
    (1, 3, 3): ProductMode(16, 16, 64, 16, 4, 1, 1, True),
}
"""By amode, bmode and variant of the configuration."""


class ProductConfiguration(NamedTuple):
    """The fields of the register that says what a product is."""

    zeroes: bool
    mode: tuple[int, int, int]
    is_y_signed: bool
    is_x_signed: bool
    rest: int
    """Bits for shifted and subtracted parts."""

    @classmethod
    def of(cls, word: int) -> ProductConfiguration:
        mode = (word >> 1 & 3, word >> 3 & 3, word >> 5 & 7)
        return cls(bool(word & 1), mode, bool(word >> 8 & 1), bool(word >> 9 & 1), word >> 10)


def _sums(mode: ProductMode, x: Lanes, y: Lanes) -> Lanes:
    """The products of one instruction, a sum for each lane of the accumulator; channels lie closest together."""
    c = mode.channels
    if mode.is_convolution:
        first = x[: (mode.rows + mode.inner - 1) * c].reshape(-1, c)
        rows = np.stack([first[at : at + mode.inner] for at in range(mode.rows)])
        return np.einsum("ric,ic->rc", rows, y[: mode.inner * c].reshape(mode.inner, c)).reshape(-1)
    a = x[: mode.rows * mode.inner * c].reshape(mode.rows, mode.inner, c)
    b = y[: mode.inner * mode.columns * c].reshape(mode.inner, mode.columns, c)
    return np.einsum("ric,ijc->rjc", a, b).reshape(-1)


def _signs(name: str) -> tuple[int, int, int]:
    """Of the first accumulator, the second, and the product."""
    first = -1 if name.startswith("neg") else 1
    other = -1 if name.startswith("sub") else 1
    product = -1 if name.endswith("msc") or name == "negmul" else 1
    return first, other, product


@define("product")
def _product(name: str, kind: str, number: str = "") -> Meaning:
    if kind != "dense" or number:
        raise UnknownMeaningError(f"products with {'floats' if number else 'sparse operands'} are not known")
    sign, other_sign, product_sign = _signs(name)

    def compute(v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])
        mode = PRODUCTS.get(what.mode)
        if mode is None or what.rest:
            raise UnknownMeaningError(f"a product with the configuration {v['c']:#x} is not known")
        x = lanes(v["a"], mode.bits_x, what.is_x_signed).astype(np.int64)
        y = lanes(v["b"], mode.bits_y, what.is_y_signed).astype(np.int64)
        total = product_sign * _sums(mode, x, y)
        if "e" in v and not what.zeroes:
            total = total + sign * lanes(v["e"], mode.bits_sum, True).astype(np.int64)
        if "f" in v:
            total = total + other_sign * lanes(v["f"], mode.bits_sum, True).astype(np.int64)
        made = as_bytes(total, mode.bits_sum)
        return {"e" if "f" in v else "d": made}

    return compute


@define("acc")
def _accumulators(name: str, number: str = "") -> Meaning:
    if number:
        raise UnknownMeaningError("sums of floats are not known")
    sign = -1 if name.startswith("neg") else 1
    other_sign = -1 if name.endswith("sub") else 1

    def compute(v: Values) -> Results:
        what = ProductConfiguration.of(v["c"])
        bits = 64 if what.mode[0] == 1 else 32
        if what.rest:
            raise UnknownMeaningError(f"a sum with the configuration {v['c']:#x} is not known")
        total = sign * lanes(v["e"], bits, True).astype(np.int64) * (not what.zeroes)
        if "f" in v:
            total = total + other_sign * lanes(v["f"], bits, True).astype(np.int64)
        return {"d": as_bytes(total, bits)}

    return compute


@define("load4")
def _load4(*_: str) -> Meaning:
    return lambda v: {"d": v["memory"]}


LOOKUPS = 4
ODD_BANK = 0x10
"""Of four lookups the second and the fourth go to the other half of a row of 256 bits."""


def lookup_addresses(bits: int, half: str, pointers: bytes) -> list[int]:
    """Where four lookups read 64 bits each; an entry is aligned to twice its size."""
    found = lanes(pointers, 32, False)[LOOKUPS * (half == "hi") :][:LOOKUPS]
    aligned = [int(it) & ~(bits // 4 - 1) for it in found]
    return [at | ODD_BANK if number % 2 else at for number, at in enumerate(aligned)]
