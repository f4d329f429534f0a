"""Floating-point literals as MLIR writes them: `1.000000e+00` where that is exact, else all digits, else the bits."""

from __future__ import annotations

from math import copysign, frexp, isfinite
from struct import pack, unpack

from xdsl.dialects.builtin import AnyFloat, Float64Type, Float80Type, Float128Type

PRECISION_BITS = {
    "f16": 11,
    "bf16": 8,
    "tf32": 11,
    "f32": 24,
    "f64": 53,
    "f80": 64,
    "f128": 113,
    "f8E5M2": 3,
    "f8E5M2FNUZ": 3,
    "f8E4M3": 4,
    "f8E4M3FN": 4,
    "f8E4M3FNUZ": 4,
    "f8E4M3B11FNUZ": 4,
    "f8E3M4": 5,
    "f8E8M0FNU": 1,
    "f6E2M3FN": 4,
    "f6E3M2FN": 3,
    "f4E2M1FN": 2,
}
"""Significant bits of each type, the implicit one included."""

SHORT_DIGITS = 6
MAX_ZERO_PADDING = 3


def float_text(value: float, type: AnyFloat) -> str:
    """The literal for a value of `type`, without the type."""
    # No decimal literal stands for them.
    if not isfinite(value):
        return hex_text(value, type)
    if value == 0.0:
        return "-0.000000e+00" if copysign(1.0, value) < 0 else "0.000000e+00"
    text = _short_form(value)
    if _reads_back(text, value, type):
        return text
    text = _long_form(value, type)
    # A large integer value: without a dot it would be read as an integer.
    return text if "." in text else hex_text(value, type)


def hex_text(value: float, type: AnyFloat) -> str:
    """The bits of `value`, for what has no exact decimal literal: infinities, NaNs and large integers."""
    if isinstance(type, Float80Type | Float128Type):
        return f"0x{_wide_bits(value, type):X}"
    return f"0x{int.from_bytes(type.pack((value,)), 'little'):X}"


def _wide_bits(value: float, type: Float80Type | Float128Type) -> int:
    """The bits of a double in a wider format, which xDSL does not encode; both have 15 bits of exponent."""
    (bits,) = unpack("<Q", pack("<d", value))
    sign, exponent, fraction = bits >> 63, bits >> 52 & 0x7FF, bits & (1 << 52) - 1
    exponent = 0x7FFF if exponent == 0x7FF else exponent - 0x3FF + 0x3FFF
    if isinstance(type, Float80Type):
        return sign << 79 | exponent << 64 | 1 << 63 | fraction << 11
    return sign << 127 | exponent << 112 | fraction << 60


def _reads_back(text: str, value: float, type: AnyFloat) -> bool:
    """Whether the literal stands for exactly this value of the type."""
    if isinstance(type, Float64Type):
        return float(text) == value
    if isinstance(type, Float80Type | Float128Type):
        from fractions import Fraction

        ulp = Fraction(2) ** (frexp(value)[1] - PRECISION_BITS[type.name])
        return abs(Fraction(text) - Fraction(value)) * 2 < ulp
    return type.unpack(type.pack((float(text),)), 1)[0] == value


def _digits(value: float, count: int) -> tuple[str, str, int]:
    """Sign, up to `count` significant digits without trailing zeros, and the power of ten of the last of them.

    LLVM first drops whole digits from the exact integer, estimating its length from the number of bits, and only rounds
    (half up) what is still too long: the last digit is at times cut off where rounding would raise it.
    """
    numerator, denominator = abs(value).as_integer_ratio()
    exponent = -(denominator.bit_length() - 1)
    integer = numerator * 5**-exponent
    # 196 / 59 is LLVM's approximation of the binary logarithm of 10.
    surplus_bits = integer.bit_length() - (count * 196 + 58) // 59
    droppable = max(surplus_bits, 0) * 59 // 196
    integer //= 10**droppable
    exponent += droppable
    digits = str(integer)
    surplus = len(digits) - count
    if surplus > 0:
        digits = str((integer // 10 ** (surplus - 1) + 5) // 10)
        exponent += surplus
    stripped = digits.rstrip("0")
    return "-" if value < 0 else "", stripped, exponent + len(digits) - len(stripped)


def _short_form(value: float) -> str:
    """Scientific, six significant digits and then a zero, as printing with a fixed precision of six gives in LLVM."""
    sign, digits, exponent = _digits(value, SHORT_DIGITS)
    exponent += len(digits) - 1
    return f"{sign}{digits[0]}.{digits[1:]:0<{SHORT_DIGITS}}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def _long_form(value: float, type: AnyFloat) -> str:
    """As many digits as tell any two values of the type apart, without exponent while few zeros are needed."""
    precision = 2 + PRECISION_BITS[type.name] * 59 // 196  # Steele and White's bound, in LLVM's integer arithmetic
    sign, digits, exponent = _digits(value, precision)
    count = len(digits)
    leading = exponent + count - 1
    if exponent >= 0:
        scientific = exponent > MAX_ZERO_PADDING or count + exponent > precision
    else:
        scientific = -leading > MAX_ZERO_PADDING
    if scientific:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{'-' if leading < 0 else '+'}{abs(leading)}"
    if exponent >= 0:
        return f"{sign}{digits}{'0' * exponent}"
    if leading >= 0:
        return f"{sign}{digits[: leading + 1]}.{digits[leading + 1 :]}"
    return f"{sign}0.{'0' * (-leading - 1)}{digits}"
