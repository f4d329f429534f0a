"""Meaning of scalar instructions: results from operands, by the key in the instruction's row.

A meaning takes the values of operands by their letters, and those of registers that are always used by their names:
whole numbers without a sign for scalar registers, bytes for vectors and accumulators, the m, dn, dj, dc of a modifier
as a tuple. It gives the values that are written, by the same names. Sources: the AI Engine-ML intrinsics guide
(UG1583), and how llvm-aie uses an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tilewright.errors import Error

Values: TypeAlias = Mapping[str, Any]
Results: TypeAlias = dict[str, Any]
Meaning: TypeAlias = Callable[[Values], Results]
Maker: TypeAlias = Callable[..., Meaning]
WORD = (1 << 32) - 1
ADDRESS = (1 << 20) - 1
SIGN = 1 << 31
MAKERS = dict[str, Maker]()


class UnknownMeaningError(Error):
    """An instruction that can be decoded, and whose meaning is not known here."""


def define(*names: str) -> Callable[[Maker], Maker]:
    """Add what makes a meaning of the parameters behind its name."""

    def add(make: Maker) -> Maker:
        for name in names:
            MAKERS[name] = make
        return make

    return add


def meaning_of(key: tuple[str, ...]) -> Meaning:
    """The meaning that a row names."""
    # vectors need NumPy, which only programs with vectors load
    from tilewright.isa import vector_meaning

    name, *parameters = key
    make = MAKERS.get(name) or vector_meaning.MAKERS.get(name)
    if make is None:
        raise UnknownMeaningError(f"the meaning of `{' '.join(key)}` is not known")
    return make(*parameters)


def _conversion(kind: str, types: tuple[str, ...]) -> Meaning:
    """What a load or store does to the data that it moves."""
    return meaning_of((f"v{kind}", *types))


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def second(values: Values) -> int:
    """The right operand: a register, or a constant with its sign."""
    return values["b"] if "b" in values else values["i"] & WORD


def _with_carry(total: int) -> Results:
    return {"d": total & WORD, "srCarry": total >> 32 & 1}


@define("add")
def _add(kind: str = "") -> Meaning:
    if kind == "nc":
        return lambda v: {"d": (v["a"] + v["i"]) & WORD}
    return lambda v: _with_carry(v["a"] + second(v))


# A subtraction that borrows leaves 1.
CARRYING: dict[str, Callable[[int, int, int], int]] = {
    "adc": lambda a, b, carry: a + b + carry,
    "sub": lambda a, b, _: a - b,
    "sbc": lambda a, b, carry: a - b - carry,
}


def _carrying(compute: Callable[[int, int, int], int]) -> Maker:
    return lambda: lambda v: _with_carry(compute(v["a"], v["b"], v.get("srCarry", 0)))


def _shift_left(value: int, amount: int) -> int:
    """A shift to the left, or to the right for a negative amount."""
    if amount >= 0:
        return value << amount & WORD if amount < 32 else 0
    return (value >> min(-amount, 32)) & WORD


def _leading_zeros(value: int) -> int:
    return 32 - value.bit_length()


def _same_as_sign(value: int) -> int:
    """How many bits from the top on are as the sign."""
    return _leading_zeros(value ^ WORD if value & SIGN else value)


BINARY: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "mul": lambda a, b: a * b & WORD,
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "ge": lambda a, b: int(signed(a) >= signed(b)),
    "geu": lambda a, b: int(a >= b),
    "lt": lambda a, b: int(signed(a) < signed(b)),
    "ltu": lambda a, b: int(a < b),
    "ashl": lambda a, b: _shift_left(signed(a), signed(b)),
    "lshl": lambda a, b: _shift_left(a, signed(b)),
}
UNARY: dict[str, Callable[[int], int]] = {
    "eqz": lambda a: int(a == 0),
    "nez": lambda a: int(a != 0),
    "clz": _leading_zeros,
    "clb": _same_as_sign,
    "extend s8": lambda a: signed(a, 8) & WORD,
    "extend s16": lambda a: signed(a, 16) & WORD,
    "extend u8": lambda a: a & 0xFF,
    "extend u16": lambda a: a & 0xFFFF,
}


def _binary(compute: Callable[[int, int], int]) -> Maker:
    return lambda: lambda v: {"d": compute(v["a"], v["b"])}


def _unary(compute: Callable[[int], int]) -> Maker:
    return lambda: lambda v: {"d": compute(v["a"])}


MAKERS.update({name: _binary(compute) for name, compute in BINARY.items()})
MAKERS.update({name: _unary(compute) for name, compute in UNARY.items() if " " not in name})
MAKERS.update({name: _carrying(compute) for name, compute in CARRYING.items()})


@define("extend")
def _extend(kind: str) -> Meaning:
    return _unary(UNARY[f"extend {kind}"])()


@define("abs")
def _abs() -> Meaning:
    return lambda v: {"d": abs(signed(v["a"])) & WORD, "srCarry": v["a"] >> 31}


@define("sel")
def _sel(condition: str) -> Meaning:
    wants_zero = condition == "eqz"
    return lambda v: {"d": v["a"] if (v["r27"] == 0) == wants_zero else v["b"]}


@define("divs")
def _division_step() -> Meaning:
    """One bit of a quotient: r31 has the dividend, which the quotient replaces in 32 steps; d has the remainder."""

    def step(v: Values) -> Results:
        rest = (v["a"] << 1 | v["r31"] >> 31) & WORD
        fits = rest >= v["b"]
        return {"d": rest - v["b"] if fits else rest, "r31": (v["r31"] << 1 & WORD) | fits}

    return step


@define("move")
def _move() -> Meaning:
    return lambda v: {"d": v["a"] if "a" in v else v["i"] & WORD}


@define("stream_read")
def _stream_read(*_: str) -> Meaning:
    return lambda v: {"d": v["word"], "srSS0": v["moved"]}


@define("stream_write")
def _stream_write(*_: str) -> Meaning:
    return lambda v: {"srMS0": v["moved"]}


@define("cascade_read")
def _cascade_read(half: str = "") -> Meaning:
    if half:
        raise UnknownMeaningError(f"the meaning of `vmov.{half}` from the cascade is not known")
    return lambda v: {"d": v["word"]}


@define("cascade_write")
def _cascade_write() -> Meaning:
    return lambda v: {}


@define("nop", "done", "event", "acq", "rel", "padd")
def _no_result(*_: str) -> Meaning:
    """Registers are left alone, but for pointers; the core itself does the rest."""
    return lambda v: {}


@define("j", "jl", "jz", "jnz", "ret")
def _jump() -> Meaning:
    return lambda v: {}


@define("jnzd")
def _jump_and_decrement() -> Meaning:
    return lambda v: _with_carry(v["a"] - 1)


JUMPS: dict[str, Callable[[Values], bool]] = {
    "j": lambda v: True,
    "jl": lambda v: True,
    "ret": lambda v: True,
    "jz": lambda v: v["a"] == 0,
    "jnz": lambda v: v["a"] != 0,
    # compared before it is decremented
    "jnzd": lambda v: v["a"] != 0,
}
"""Whether a jump is taken."""


@define("load")
def _load(kind: str, *types: str) -> Meaning:
    if kind in ("s8", "s16"):
        return lambda v: {"d": int.from_bytes(v["memory"], "little", signed=True) & WORD}
    if kind in ("u8", "u16", "32", "tm"):
        return lambda v: {"d": int.from_bytes(v["memory"], "little")}
    if kind in ("128", "256"):
        return lambda v: {"d": v["memory"]}
    inner = _conversion(kind, types)
    return lambda v: inner({**v, "a": v["memory"]})


@define("store")
def _store(kind: str, *types: str) -> Meaning:
    if kind in STORED_BYTES and STORED_BYTES[kind] <= 4:
        size = STORED_BYTES[kind]
        return lambda v: {"memory": (v["a"] & ((1 << 8 * size) - 1)).to_bytes(size, "little")}
    if kind in STORED_BYTES:
        return lambda v: {"memory": v["a"][: STORED_BYTES[kind]]}
    inner = _conversion(kind, types)

    def store(v: Values) -> Results:
        made = inner(v)
        return {"memory": made.pop("d"), **made}

    return store


STORED_BYTES = {"s8": 1, "s16": 2, "32": 4, "tm": 4, "128": 16, "256": 32}
LOADED_BYTES = STORED_BYTES | {"u8": 1, "u16": 2}
VECTOR_BYTES = 32
"""Of memory, for loads and stores that convert what they move."""


def access_bytes(key: tuple[str, ...]) -> int:
    """How much memory a load or store touches."""
    return LOADED_BYTES.get(key[1], VECTOR_BYTES)
