"""Meaning of scalar instructions: results from operands, by the key in the instruction's row.

A meaning takes a system of numbers (`numbers`) and the values of operands by their letters, and those of registers that
are always used by their names: words for scalar registers, data for vectors and accumulators, the m, dn, dj, dc of a
modifier as a tuple. It gives the values that are written, by the same names. Sources: the AI Engine-ML intrinsics guide
(UG1583), and how llvm-aie uses an instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, TypeAlias

from tilewright.isa.numbers import PLAIN, Flag, Numbers, UnknownMeaningError, Word, signed

Values: TypeAlias = Mapping[str, Any]
Results: TypeAlias = dict[str, Any]
Meaning: TypeAlias = Callable[[Values], Results]
Definition: TypeAlias = Callable[[Numbers, Values], Results]
Maker: TypeAlias = Callable[..., Definition]
WORD = (1 << 32) - 1
ADDRESS = (1 << 20) - 1
SIGN = 1 << 31
MAKERS = dict[str, Maker]()


def define(*names: str) -> Callable[[Maker], Maker]:
    """Add what makes a meaning of the parameters behind its name."""

    def add(make: Maker) -> Maker:
        for name in names:
            MAKERS[name] = make
        return make

    return add


@lru_cache(None)
def definition_of(key: tuple[str, ...]) -> Definition:
    """The meaning that a row names, in any system of numbers."""
    # they define themselves when they are first needed
    for module in ("vector_meaning", "width_meaning", "product_meaning", "float_meaning"):
        import_module(f"tilewright.isa.{module}")
    name, *parameters = key
    if name not in MAKERS:
        raise UnknownMeaningError(f"the meaning of `{' '.join(key)}` is not known")
    return MAKERS[name](*parameters)


def meaning_of(key: tuple[str, ...]) -> Meaning:
    """The meaning that a row names, in Python's numbers."""
    return partial(definition_of(key), PLAIN)


def second(values: Values) -> Word:
    """The right operand: a register, or a constant with its sign."""
    return values["b"] if "b" in values else values["i"] & WORD


def _with_carry(total: Word) -> Results:
    return {"d": total & WORD, "srCarry": total >> 32 & 1}


@define("add")
def _add(kind: str = "") -> Definition:
    if kind == "nc":
        return lambda n, v: {"d": (v["a"] + v["i"]) & WORD}
    return lambda n, v: _with_carry(v["a"] + second(v))


# A subtraction that borrows leaves 1.
CARRYING: dict[str, Callable[[Word, Word, Word], Word]] = {
    "adc": lambda a, b, carry: a + b + carry,
    "sub": lambda a, b, _: a - b,
    "sbc": lambda a, b, carry: a - b - carry,
}


def _carrying(compute: Callable[[Word, Word, Word], Word]) -> Maker:
    return lambda: lambda n, v: _with_carry(compute(v["a"], v["b"], v.get("srCarry", 0)))


def _shift_left(n: Numbers, value: Word, amount: Word) -> Word:
    """A shift to the left, or to the right for a negative amount; five bits of it count, as on a device."""
    left = n.choose(amount < 0, 0, amount & 31)
    right = n.choose(amount < 0, (0 - amount) & 31, 0)
    return (value << left >> right) & WORD


def _same_as_sign(n: Numbers, value: Word) -> Word:
    """How many bits from the top on are as the sign."""
    return n.leading_zeros(n.choose((value & SIGN) != 0, value ^ WORD, value))


def _flag(test: Callable[[Word, Word], Flag]) -> Callable[[Numbers, Word, Word], Word]:
    return lambda n, a, b: n.choose(test(a, b), 1, 0)


BINARY: dict[str, Callable[[Numbers, Word, Word], Word]] = {
    "and": lambda n, a, b: a & b,
    "or": lambda n, a, b: a | b,
    "xor": lambda n, a, b: a ^ b,
    "mul": lambda n, a, b: a * b & WORD,
    "eq": _flag(lambda a, b: a == b),
    "ne": _flag(lambda a, b: a != b),
    "ge": _flag(lambda a, b: signed(a) >= signed(b)),
    "geu": _flag(lambda a, b: a >= b),
    "lt": _flag(lambda a, b: signed(a) < signed(b)),
    "ltu": _flag(lambda a, b: a < b),
    "ashl": lambda n, a, b: _shift_left(n, signed(a), signed(b)),
    "lshl": lambda n, a, b: _shift_left(n, a, signed(b)),
}
UNARY: dict[str, Callable[[Numbers, Word], Word]] = {
    "eqz": lambda n, a: n.choose(a == 0, 1, 0),
    "nez": lambda n, a: n.choose(a != 0, 1, 0),
    "clz": lambda n, a: n.leading_zeros(a),
    "clb": _same_as_sign,
    "extend s8": lambda n, a: signed(a, 8) & WORD,
    "extend s16": lambda n, a: signed(a, 16) & WORD,
    "extend u8": lambda n, a: a & 0xFF,
    "extend u16": lambda n, a: a & 0xFFFF,
}


def _binary(compute: Callable[[Numbers, Word, Word], Word]) -> Maker:
    return lambda: lambda n, v: {"d": compute(n, v["a"], v["b"])}


def _unary(compute: Callable[[Numbers, Word], Word]) -> Maker:
    return lambda: lambda n, v: {"d": compute(n, v["a"])}


MAKERS.update({name: _binary(compute) for name, compute in BINARY.items()})
MAKERS.update({name: _unary(compute) for name, compute in UNARY.items() if " " not in name})
MAKERS.update({name: _carrying(compute) for name, compute in CARRYING.items()})


@define("extend")
def _extend(kind: str) -> Definition:
    return _unary(UNARY[f"extend {kind}"])()


@define("abs")
def _abs() -> Definition:
    return lambda n, v: {
        "d": n.choose((v["a"] & SIGN) != 0, 0 - v["a"], v["a"]) & WORD,
        "srCarry": v["a"] >> 31,
    }


@define("sel")
def _sel(condition: str) -> Definition:
    first, other = ("a", "b") if condition == "eqz" else ("b", "a")
    return lambda n, v: {"d": n.choose(v["r27"] == 0, v[first], v[other])}


@define("divs")
def _division_step() -> Definition:
    """One bit of a quotient: r31 has the dividend, which the quotient replaces in 32 steps; d has the remainder."""

    def step(n: Numbers, v: Values) -> Results:
        rest = (v["a"] << 1 | v["r31"] >> 31) & WORD
        fits = rest >= v["b"]
        return {"d": n.choose(fits, rest - v["b"], rest), "r31": (v["r31"] << 1 & WORD) | n.choose(fits, 1, 0)}

    return step


@define("move")
def _move() -> Definition:
    return lambda n, v: {"d": v["a"] if "a" in v else v["i"] & WORD}


@define("stream_read")
def _stream_read(*_: str) -> Definition:
    return lambda n, v: {"d": v["word"], "srSS0": v["moved"]}


@define("stream_write")
def _stream_write(*_: str) -> Definition:
    return lambda n, v: {"srMS0": v["moved"]}


@define("cascade_read")
def _cascade_read(half: str = "") -> Definition:
    if half:
        raise UnknownMeaningError(f"the meaning of `vmov.{half}` from the cascade is not known")
    return lambda n, v: {"d": v["word"]}


@define("cascade_write")
def _cascade_write() -> Definition:
    return lambda n, v: {}


@define("nop", "done", "event", "acq", "rel", "padd")
def _no_result(*_: str) -> Definition:
    """Registers are left alone, but for pointers; the core itself does the rest."""
    return lambda n, v: {}


@define("j", "jl", "jz", "jnz", "ret")
def _jump() -> Definition:
    return lambda n, v: {}


@define("jnzd")
def _jump_and_decrement() -> Definition:
    return lambda n, v: _with_carry(v["a"] - 1)


JUMPS: dict[str, Callable[[Values], Flag]] = {
    "j": lambda v: True,
    "jl": lambda v: True,
    "ret": lambda v: True,
    "jz": lambda v: v["a"] == 0,
    "jnz": lambda v: v["a"] != 0,
    # compared before it is decremented
    "jnzd": lambda v: v["a"] != 0,
}
"""Whether a jump is taken."""


# ---- memory -------------------------------------------------------------------------------------------------------


@define("load")
def _load(kind: str, *types: str) -> Definition:
    if kind in ("s8", "s16"):
        return lambda n, v: {"d": signed(n.word(v["memory"]), int(kind[1:])) & WORD}
    if kind in ("u8", "u16", "32", "tm"):
        return lambda n, v: {"d": n.word(v["memory"])}
    if kind in ("128", "256"):
        return lambda n, v: {"d": v["memory"]}
    inner = definition_of((f"v{kind}", *types))
    return lambda n, v: inner(n, {**v, "a": v["memory"]})


@define("store")
def _store(kind: str, *types: str) -> Definition:
    size = STORED_BYTES.get(kind)
    if size is not None and size <= 4:
        return lambda n, v: {"memory": n.word_data(v["a"], size)}
    if size is not None:
        return lambda n, v: {"memory": n.part(v["a"], 0, size)}
    inner = definition_of((f"v{kind}", *types))

    def store(n: Numbers, v: Values) -> Results:
        made = inner(n, v)
        return {"memory": made.pop("d"), **made}

    return store


STORED_BYTES = {"s8": 1, "s16": 2, "32": 4, "tm": 4, "128": 16, "256": 32}
LOADED_BYTES = STORED_BYTES | {"u8": 1, "u16": 2}
VECTOR_BYTES = 32
"""Of memory, for loads and stores that convert what they move."""


def access_bytes(key: tuple[str, ...]) -> int:
    """How much memory a load or store touches."""
    return LOADED_BYTES.get(key[1], VECTOR_BYTES)


COUNT_OF = (3, 7)
"""Where a modifier's counts stand among its parts."""


def next_place(n: Numbers, modifier: tuple[Word, ...]) -> tuple[Word, dict[int, Word]]:
    """The step of a pointer that walks a matrix, and the counts after it, by their place in the modifier."""
    m, dn, dj, dc, *upper = modifier
    goes_on = dc < dn
    counts = {COUNT_OF[0]: n.choose(goes_on, dc + 1, 0)}
    if not upper:
        return n.choose(goes_on, dj, m), counts
    _, size, step, count = upper
    next_row = count < size
    counts[COUNT_OF[1]] = n.choose(goes_on, count, n.choose(next_row, count + 1, 0))
    return n.choose(goes_on, dj, n.choose(next_row, step, m)), counts
