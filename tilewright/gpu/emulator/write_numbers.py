"""Instructions on numbers as Python expressions, for single numbers and for NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tilewright.dialects.arith.meaning import COMPARISONS, PREDICATES
from tilewright.gpu.emulator.program import Constant, Instruction, Kind, Operand

if TYPE_CHECKING:
    from tilewright.gpu.emulator.write import Writer

Write = Callable[["Writer", Instruction], str]
"""The expression of an instruction's result."""

_WRAPPING = {"add": "+", "sub": "-", "mul": "*"}
_BITWISE = {"and": "&", "or": "|", "xor": "^"}
_ON_BITS = {
    # modulo 2: NumPy's + of truth values is `or`, and it has no -
    "add": "^",
    "sub": "^",
    "mul": "&",
    **_BITWISE,
    "maxu": "|",
    "minu": "&",
    "maxs": "&",
    "mins": "|",  # with a sign, a bit that is set is -1
    **dict.fromkeys(("divs", "divu", "floordivs", "ceildivs", "ceildivu"), "&"),  # the divisor is set
    **dict.fromkeys(("rems", "remu", "shl", "shrs", "shru"), ">"),  # nothing remains; a shift is by 0
}
_COMPARISONS = dict(zip(PREDICATES, COMPARISONS, strict=True))
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FLOATS = {"fadd": "{} + {}", "fsub": "{} - {}", "fmul": "{} * {}", "fdiv": "{} / {}", "frem": "np.fmod({}, {})"}
_EXTREMES = {"fmaximum": "maximumf", "fminimum": "minimumf", "fmaxnum": "np.fmax", "fminnum": "np.fmin"}
_ORDERED = (
    "{0} == {1}",
    "{0} > {1}",
    "{0} >= {1}",
    "{0} < {1}",
    "{0} <= {1}",
    "({0} < {1}) | ({0} > {1})",
    "({0} == {0}) & ({1} == {1})",
)
_UNORDERED = (
    "~(({0} < {1}) | ({0} > {1}))",
    "~({0} <= {1})",
    "~({0} < {1})",
    "~({0} >= {1})",
    "~({0} > {1})",
    "{0} != {1}",
    "({0} != {0}) | ({1} != {1})",
)


def unsigned(w: Writer, operand: Operand) -> str:
    """A value without its sign."""
    kind, text = operand.kind, w.text(operand)
    if kind.bits == 1:
        return text
    if isinstance(operand, Constant) and not kind.shape:
        return repr(operand.value & mask(kind))
    return f"{text}.view(U{kind.bits})" if w.is_array(operand) else f"({text} & {mask(kind)})"


def mask(kind: Kind) -> int:
    return (1 << kind.bits) - 1


def signed_again(w: Writer, instruction: Instruction, text: str) -> str:
    """The result of an unsigned operation in a register."""
    kind = instruction.outs[0].kind
    if kind.bits == 1:
        return text
    return f"({text}).view(I{kind.bits})" if w.makes_array(instruction) else f"wrap{kind.bits}({text})"


def _arithmetic(w: Writer, i: Instruction) -> str:
    if text := _on_bits(w, i):
        return text
    a, b = map(w.text, i.ins)
    text = f"{a} {(_WRAPPING | _BITWISE)[i.name]} {b}"
    return text if w.makes_array(i) or i.name in _BITWISE else f"wrap{i.outs[0].kind.bits}({text})"


def _on_bits(w: Writer, i: Instruction) -> str | None:
    """An operation on single bits, which NumPy has as truth values: no numbers that have a sign or can be divided."""
    if i.outs[0].kind.bits > 1:
        return None
    a, b = map(w.text, i.ins)
    return f"{a} {_ON_BITS[i.name]} {b}"


def _division(w: Writer, i: Instruction) -> str:
    _check_division(w, i, signed=i.name != "modulo")
    return _on_bits(w, i) or f"{i.name}({', '.join(map(w.text, i.ins))})"


def _check_division(w: Writer, i: Instruction, signed: bool) -> None:
    """Stop before a division of which MLIR does not say what it gives, in lanes that are active."""
    a, b = i.ins
    if not isinstance(b, Constant) or b.kind.shape or b.value in (0, -1):
        w.line(f"g.check_division({w.text(a)}, {w.text(b)}, m, {w.site(i)}, {a.kind.bits if signed else None})")


def _unsigned_division(w: Writer, i: Instruction) -> str:
    a, b = i.ins
    if isinstance(b, Constant) and not b.kind.shape and b.kind.bits > 1 and b.value > 0 and b.value.bit_count() == 1:
        if i.name == "remu":
            return f"{w.text(a)} & {b.value - 1}"
        if i.name == "divu":
            shift = b.value.bit_length() - 1
            return w.text(a) if shift == 0 else signed_again(w, i, f"{unsigned(w, a)} >> {shift}")
    _check_division(w, i, signed=False)
    return _on_bits(w, i) or signed_again(w, i, f"{i.name}({unsigned(w, a)}, {unsigned(w, b)})")


def _place(w: Writer, i: Instruction) -> str:
    return f"place({', '.join(map(w.text, i.ins))})"


def _shift(w: Writer, i: Instruction) -> str:
    a, b = i.ins
    if text := _on_bits(w, i):
        return text
    if not w.makes_array(i):
        value = unsigned(w, a) if i.name == "shru" else w.text(a)
        return f"{i.name}({value}, {unsigned(w, b)}, {i.outs[0].kind.bits})"
    if i.name == "shru":
        return signed_again(w, i, f"{unsigned(w, a)} >> {unsigned(w, b)}")
    return f"{w.text(a)} {'>>' if i.name == 'shrs' else '<<'} {w.text(b)}"


def _extreme(w: Writer, i: Instruction) -> str:
    if text := _on_bits(w, i):
        return text
    sides = [unsigned(w, x) if i.name.endswith("u") else w.text(x) for x in i.ins]
    name = i.name[:3]
    text = f"np.{name}imum({', '.join(sides)})" if w.makes_array(i) else f"{name}({', '.join(sides)})"
    return signed_again(w, i, text) if i.name.endswith("u") else text


def _compare(w: Writer, i: Instruction) -> str:
    operator, signed = _COMPARISONS[i.name]
    if signed and i.ins[0].kind.bits == 1:  # a bit that is set is -1
        operator = _MIRRORED[operator]
    a, b = (unsigned(w, x) if signed is False else w.text(x) for x in i.ins)
    return f"{a} {operator} {b}"


def _fcmp(w: Writer, i: Instruction) -> str:
    predicate, (a, b) = int(i.extra["predicate"]), map(w.text, i.ins)
    table = ("", *_ORDERED, *_UNORDERED, "")
    template = table[predicate]
    if not template:
        return str(predicate != 0) if not w.makes_array(i) else f"np.full_like({a}, {predicate != 0}, dtype=bool)"
    text = template.format(a, b)
    return text if w.makes_array(i) else f"bool({text})"


def _float(w: Writer, i: Instruction) -> str:
    return _FLOATS[i.name].format(*map(w.text, i.ins))


def _float_extreme(w: Writer, i: Instruction) -> str:
    return f"{_EXTREMES[i.name]}({', '.join(map(w.text, i.ins))})"


def _fneg(w: Writer, i: Instruction) -> str:
    return f"-{w.text(i.ins[0])}"


def _select(w: Writer, i: Instruction) -> str:
    condition, yes, no = i.ins
    if w.is_array(condition):
        return f"np.where({w.text(condition)}, {w.typed(yes)}, {w.typed(no)})"
    if w.is_array(yes) or w.is_array(no):
        return f"({w.spread(yes)} if {w.text(condition)} else {w.spread(no)})"
    return f"({w.text(yes)} if {w.text(condition)} else {w.text(no)})"


def _resize(w: Writer, i: Instruction) -> str:
    (a,), source, target, signed = i.ins, i.ins[0].kind, i.outs[0].kind, i.extra["signed"]
    text = w.text(a)
    if not w.is_array(a):
        if source.bits == 1:
            return f"-int({text})" if signed else f"int({text})"
        number = text if signed or target.bits < source.bits else f"({text} & {mask(source)})"
        return f"bool({text} & 1)" if target.bits == 1 else f"wrap{target.bits}({number})"
    if target.bits == 1:
        return f"({text} & 1).astype(bool)"
    if source.bits == 1:
        return f"{'-' if signed else ''}{text}.astype(I{target.bits})"
    if signed or target.bits < source.bits:
        return f"{text}.astype(I{target.bits})"
    return f"{text}.view(U{source.bits}).astype(I{target.bits})"


def _to_float(w: Writer, i: Instruction) -> str:
    a, name = i.ins[0], w.dtype(i.outs[0].kind)
    if i.extra["signed"]:
        # NumPy negates no truth values
        text = w.text(a) if a.kind.bits > 1 else f"-({w.text(a)} * 1)"
    else:
        text = unsigned(w, a)
    return f"{text}.astype({name})" if w.is_array(a) and a.kind.bits > 1 else f"{name}.type({text})"


def _bool_to_float(w: Writer, i: Instruction) -> str:
    a = i.ins[0]
    if w.is_array(a) and a.kind.bits == 1:
        sign = "-" if i.extra["signed"] else ""
        return f"{sign}{w.text(a)}.astype({w.dtype(i.outs[0].kind)})"
    return _to_float(w, i)


def _to_int(w: Writer, i: Instruction) -> str:
    kind = i.outs[0].kind
    text = f"to_integer({w.text(i.ins[0])}, {w.dtype(kind)}, {kind.bits}, {i.extra['signed']})"
    return text if w.makes_array(i) else f"{text}.item()"


def _float_cast(w: Writer, i: Instruction) -> str:
    name = w.dtype(i.outs[0].kind)
    return f"{w.text(i.ins[0])}.astype({name})" if w.makes_array(i) else f"{name}.type({w.text(i.ins[0])})"


def _bitcast(w: Writer, i: Instruction) -> str:
    return f"bitcast({w.text(i.ins[0])}, {w.dtype(i.outs[0].kind)}, {w.dtype(i.ins[0].kind)})"


def _math(w: Writer, i: Instruction) -> str:
    values = ", ".join(map(w.text, i.ins))
    return f"call_math({i.extra['function']!r}, {w.dtype(i.outs[0].kind)}, {not w.makes_array(i)}, {values})"


def _mulhigh(w: Writer, i: Instruction) -> str:
    return f"mulhigh({w.text(i.ins[0])}, {w.text(i.ins[1])}, {i.outs[0].kind.bits}, {i.extra['signed']})"


NUMBERS: dict[str, Write] = {
    **dict.fromkeys((*_WRAPPING, *_BITWISE), _arithmetic),
    **dict.fromkeys(("divs", "rems", "floordivs", "ceildivs", "modulo"), _division),
    **dict.fromkeys(("divu", "remu", "ceildivu"), _unsigned_division),
    **dict.fromkeys(("shl", "shrs", "shru"), _shift),
    **dict.fromkeys(("mins", "maxs", "minu", "maxu"), _extreme),
    **dict.fromkeys(PREDICATES, _compare),
    **dict.fromkeys(_FLOATS, _float),
    **dict.fromkeys(_EXTREMES, _float_extreme),
    "place": _place,
    "fcmp": _fcmp,
    "fneg": _fneg,
    "select": _select,
    "resize": _resize,
    "tofloat": _bool_to_float,
    "toint": _to_int,
    "fpcast": _float_cast,
    "bitcast": _bitcast,
    "math": _math,
    "mulhigh": _mulhigh,
}
