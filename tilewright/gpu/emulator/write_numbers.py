"""Instructions on numbers as Python expressions, for single numbers and for NumPy arrays.

Lanes are systems of numbers for the definitions in `dialects.arith.meaning`: their values are operands of instructions
and texts of expressions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilewright.dialects.arith.meaning import FLOAT_MEANING, MEANING, PREDICATES, Floats, Integers
from tilewright.gpu.emulator.order import is_uniform
from tilewright.gpu.emulator.program import I1, Computed, Constant, Expression, Instruction, Kind, number_constant

if TYPE_CHECKING:
    from tilewright.gpu.emulator.write import Writer

Write = Callable[["Writer", Instruction], str]
"""The expression of an instruction's result."""


def unsigned(w: Writer, operand: Computed) -> str:
    """A value without its sign."""
    kind, text = operand.kind, w.text(operand)
    if kind.bits == 1:
        return text
    if isinstance(operand, Constant) and not kind.shape:
        return repr(operand.value & mask(kind))
    return f"{text}.view(U{kind.bits})" if w.is_array(operand) else f"({text} & {mask(kind)})"


def mask(kind: Kind) -> int:
    return (1 << kind.bits) - 1


def _made_of(text: str, *operands: Computed, kind: Kind | None = None) -> Expression:
    """An expression of the kind of its first operand, unless another is said."""
    return Expression(kind or operands[0].kind, text, all(map(is_uniform, operands)))


def _condition(text: str, *operands: Computed) -> Expression:
    return _made_of(text, *operands, kind=I1.with_shape(operands[0].kind.shape))


class LaneIntegers(Integers[Computed]):
    """Numbers with a sign, as registers have them; NumPy's arrays wrap by themselves."""

    def __init__(self, w: Writer, instruction: Instruction):
        self.w, self.instruction = w, instruction

    def constant(self, number: int, like: Computed) -> Computed:
        return number_constant(like.kind.element, number)

    def infix(self, operator: str, a: Computed, b: Computed) -> Expression:
        return _made_of(f"{self.w.text(a)} {operator} {self.w.text(b)}", a, b)

    def call(self, function: str, a: Computed, b: Computed, signed: bool) -> Expression:
        if signed:
            return _made_of(f"{function}({self.w.text(a)}, {self.w.text(b)})", a, b)
        return self._signed_again(_made_of(f"{function}({unsigned(self.w, a)}, {unsigned(self.w, b)})", a, b))

    def _signed_again(self, found: Expression) -> Expression:
        """The result of an unsigned operation, or one of Python's integers, in the range of its kind."""
        text, bits = found.text, found.kind.bits
        return _made_of(f"({text}).view(I{bits})" if self.w.is_array(found) else f"wrap{bits}({text})", found)

    def combine(self, operator: str, a: Computed, b: Computed) -> Computed:
        found = self.infix(operator, a, b)
        return found if operator in "&|^" or self.w.is_array(found) else self._signed_again(found)

    def divide(self, operator: str, a: Computed, b: Computed, signed: bool) -> Computed:
        # unsigned powers of two need no division
        power = b.value if isinstance(b, Constant) and not b.kind.shape and b.value > 0 else 0
        if signed or power.bit_count() != 1:
            return self.call(f"{'div' if operator == '/' else 'rem'}{'s' if signed else 'u'}", a, b, signed)
        if operator == "%":
            return self.combine("&", a, self.constant(power - 1, a))
        shift = power.bit_length() - 1
        return self._signed_again(_made_of(f"{unsigned(self.w, a)} >> {shift}", a)) if shift else a

    def divide_rounded(self, a: Computed, b: Computed, up: bool, signed: bool) -> Computed:
        return self.call(f"{'ceil' if up else 'floor'}div{'s' if signed else 'u'}", a, b, signed)

    def shift(self, operator: str, a: Computed, b: Computed, signed: bool) -> Computed:
        fills = operator == ">>" and not signed
        if self.w.is_array(a) or self.w.is_array(b):
            if not fills:
                return self.infix(operator, a, b)
            return self._signed_again(_made_of(f"{unsigned(self.w, a)} >> {unsigned(self.w, b)}", a, b))
        name, value = ("shru", unsigned(self.w, a)) if fills else ("shrs" if signed else "shl", self.w.text(a))
        return _made_of(f"{name}({value}, {unsigned(self.w, b)}, {a.kind.bits})", a, b)

    def compare(self, operator: str, a: Computed, b: Computed, signed: bool | None) -> Computed:
        left, right = (unsigned(self.w, x) if signed is False else self.w.text(x) for x in (a, b))
        return _condition(f"{left} {operator} {right}", a, b)

    def select(self, condition: Computed, a: Computed, b: Computed) -> Computed:
        w = self.w
        if w.is_array(condition):
            text = f"np.where({w.text(condition)}, {w.typed(a)}, {w.typed(b)})"
        elif w.is_array(a) or w.is_array(b):
            text = f"({w.spread(a)} if {w.text(condition)} else {w.spread(b)})"
        else:
            text = f"({w.text(a)} if {w.text(condition)} else {w.text(b)})"
        return _made_of(text, a, b, condition)

    def where_divisible(
        self, a: Computed, b: Computed, signed: bool, compute: Callable[[Computed, Computed], Computed]
    ) -> Computed:
        """Stops before a division of which MLIR does not say what it gives, in lanes that are active."""
        if not isinstance(b, Constant) or b.kind.shape or b.value in (0, -1):
            sides, bits = f"{self.w.text(a)}, {self.w.text(b)}", a.kind.bits if signed else None
            self.w.line(f"g.check_division({sides}, m, {self.w.site(self.instruction)}, {bits})")
        return compute(a, b)

    def where_shiftable(
        self, a: Computed, b: Computed, signed: bool, compute: Callable[[Computed, Computed], Computed]
    ) -> Computed:
        # NumPy and the functions for single numbers shift out all bits
        return compute(a, b)

    def extreme(self, operator: str, a: Computed, b: Computed, signed: bool) -> Computed:
        name = "max" if operator == ">" else "min"
        return self.call(f"np.{name}imum" if self.w.is_array(a) or self.w.is_array(b) else name, a, b, signed)


class LaneBits(LaneIntegers):
    """Single bits, which NumPy has as truth values: no numbers that have a sign or can be divided."""

    def combine(self, operator: str, a: Computed, b: Computed) -> Computed:
        # modulo 2: NumPy's + of truth values is `or`, and it has no -
        return self.infix({"+": "^", "-": "^", "*": "&"}.get(operator, operator), a, b)

    def divide(self, operator: str, a: Computed, b: Computed, signed: bool) -> Computed:
        # the divisor is set, so that nothing remains
        return self.infix("&" if operator == "/" else ">", a, b)

    def divide_rounded(self, a: Computed, b: Computed, up: bool, signed: bool) -> Computed:
        return self.divide("/", a, b, signed)

    def shift(self, operator: str, a: Computed, b: Computed, signed: bool) -> Computed:
        # by 0, or out of the bit
        return self.infix(">", a, b)

    def compare(self, operator: str, a: Computed, b: Computed, signed: bool | None) -> Computed:
        # with a sign, a bit that is set is -1
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="} if signed else {}
        return super().compare(mirrored.get(operator, operator), a, b, signed)

    def extreme(self, operator: str, a: Computed, b: Computed, signed: bool) -> Computed:
        return self.infix("|" if (operator == ">") != signed else "&", a, b)


_EXTREMES = {(">", False): "maximumf", ("<", False): "minimumf", (">", True): "np.fmax", ("<", True): "np.fmin"}
_ORDERED = {
    **{operator: f"{{0}} {operator} {{1}}" for operator in ("==", ">", ">=", "<", "<=")},
    "!=": "({0} < {1}) | ({0} > {1})",
    "ord": "({0} == {0}) & ({1} == {1})",
}
_OPPOSITES = {"==": "!=", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_UNORDERED = {
    **{operator: f"~({_ORDERED[opposite]})" for operator, opposite in _OPPOSITES.items()},
    "!=": "{0} != {1}",
    "uno": "({0} != {0}) | ({1} != {1})",
}


class LaneFloats(Floats[Computed]):
    """Numbers of NumPy's types, single ones too: Python's have 64 bits."""

    def __init__(self, w: Writer, instruction: Instruction):
        self.w, self.instruction = w, instruction

    def combine(self, operator: str, a: Computed, b: Computed) -> Computed:
        left, right = self.w.text(a), self.w.text(b)
        return _made_of(f"np.fmod({left}, {right})" if operator == "%" else f"{left} {operator} {right}", a, b)

    def negate(self, a: Computed) -> Computed:
        return _made_of(f"-{self.w.text(a)}", a)

    def extreme(self, operator: str, a: Computed, b: Computed, numbers: bool) -> Computed:
        return _made_of(f"{_EXTREMES[operator, numbers]}({self.w.text(a)}, {self.w.text(b)})", a, b)

    def compare(self, operator: str, a: Computed, b: Computed, ordered: bool) -> Computed:
        text = (_ORDERED if ordered else _UNORDERED)[operator].format(self.w.text(a), self.w.text(b))
        return _condition(text if self.w.is_array(a) or self.w.is_array(b) else f"bool({text})", a, b)

    def truth(self, answer: bool, like: Computed) -> Computed:
        text = f"np.full_like({self.w.text(like)}, {answer}, dtype=bool)"
        return _condition(text if self.w.makes_array(self.instruction) else str(answer), like)


def _written(w: Writer, result: Computed) -> str:
    return result.text if isinstance(result, Expression) else w.text(result)


def _integers(meaning: Callable[[Any, Any, Any], Computed]) -> Write:
    def write(w: Writer, i: Instruction) -> str:
        system = LaneBits if i.ins[0].kind.bits == 1 else LaneIntegers
        return _written(w, meaning(system(w, i), *i.ins))

    return write


def _comparison(predicate: int) -> Write:
    return _integers(lambda n, a, b: n.cmpi(predicate, a, b))


def _floats(meaning: Callable[..., Computed]) -> Write:
    return lambda w, i: _written(w, meaning(LaneFloats(w, i), *i.ins))


def _cmpf(w: Writer, i: Instruction) -> str:
    return _written(w, LaneFloats(w, i).cmpf(i.extra["predicate"], *i.ins))


def _modulo(n: LaneIntegers, a: Computed, b: Computed) -> Computed:
    """The remainder of affine expressions, never below 0."""
    return n.where_divisible(a, b, False, lambda a, b: n.call("modulo", a, b, signed=True))


def _place(w: Writer, i: Instruction) -> str:
    return f"place({', '.join(map(w.text, i.ins))})"


def _select(w: Writer, i: Instruction) -> str:
    return _written(w, LaneIntegers(w, i).select(*i.ins))


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
    **{name: _integers(meaning) for name, meaning in MEANING.items()},
    **{name: _comparison(predicate) for predicate, name in enumerate(PREDICATES)},
    **{name: _floats(meaning) for name, meaning in FLOAT_MEANING.items()},
    "arith.negf": _floats(LaneFloats.negate),
    "arith.cmpf": _cmpf,
    "modulo": _integers(_modulo),
    "place": _place,
    "select": _select,
    "resize": _resize,
    "tofloat": _bool_to_float,
    "toint": _to_int,
    "fpcast": _float_cast,
    "bitcast": _bitcast,
    "math": _math,
    "mulhigh": _mulhigh,
}
