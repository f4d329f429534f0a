"""Names of C++ variables that say what they are: taken from the program, or from what a value is used for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import BlockArgument, SSAValue

from tilewright.dialects.emitc import calls, control, operators, variables
from tilewright.dialects.emitc.functions import FuncOp
from tilewright.dialects.emitc.types import ArrayType

_RESERVED = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return
short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
std aie_runtime NULL INT32_MIN INT64_MIN
"""
LONGEST_SUBJECT = 24
RESERVED = frozenset(_RESERVED.split())

# What the functions of the header call their parameters, after the stream.
PARAMETERS = {
    "aie_runtime::txn_append_write32": ("address", "value"),
    "aie_runtime::txn_append_maskwrite32": ("address", "value", "mask"),
    "aie_runtime::txn_append_maskpoll": ("address", "value", "mask"),
    "aie_runtime::txn_append_sync": ("column", "row", "direction", "channel", "columns", "rows"),
    "aie_runtime::txn_append_address_patch": ("address", "argument", "offset"),
    "aie_runtime::bd_pool_push": ("bd",),
    "aie_runtime::bd_pool_push_last": ("bd",),
}


class CppNames:
    """Gives each value of a function a name that nothing else in it has."""

    def __init__(self, function: FuncOp):
        # Verbatim text is not renamed, so a variable must not take a name that it mentions.
        self._taken = set(RESERVED) | set(_mentioned(function))

    def unique(self, wanted: str) -> str:
        return unique_name(wanted, self._taken)

    def of(self, value: SSAValue) -> str:
        return self.unique(identifier(value.name_hint or "") or _by_use(value))


def unique_name(wanted: str, taken: set[str]) -> str:
    """A name that is not taken, which it is from then on: the one that is wanted, or that with a number behind it."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def identifier(text: str) -> str:
    """The text with what C++ names cannot have replaced; nothing if there is no letter in it."""
    cleaned = re.sub(r"_{2,}", "_", re.sub(r"\W", "_", text, flags=re.ASCII)).strip("_")
    if not re.search(r"[A-Za-z]", cleaned):
        return ""
    return f"v_{cleaned}" if cleaned[0].isdigit() else cleaned


def _mentioned(function: FuncOp) -> Iterator[str]:
    """Names in texts that are not ours to choose."""
    for op in function.walk():
        if isinstance(op, calls.VerbatimOp | variables.LiteralOp):
            yield from re.findall(r"[A-Za-z_]\w*", op.value.data, re.ASCII)


def _by_comment(op: calls.VerbatimOp) -> str | None:
    """A name from what a reader is told about a check, if that is a few words."""
    match op.attributes.get(calls.COMMENT):
        case StringAttr(data=text) if len(text) <= LONGEST_SUBJECT:
            return identifier(text) or None
        case _:
            return None


def _by_use(value: SSAValue) -> str:
    if isinstance(value, BlockArgument):
        return f"arg{value.index}"
    if isinstance(value.type, ArrayType):
        return "words"
    for use in value.uses:
        match use.operation:
            case calls.CallOpaqueOp() as call if call.callee.data in PARAMETERS and use.index:
                return PARAMETERS[call.callee.data][use.index - 1]
            case control.ForOp():
                return ("start", "end", "step")[use.index]
            case operators.AddOp() as sum if _by_use(sum.result) == "address":
                return "base"
            case calls.VerbatimOp() as check if (name := _by_comment(check)) is not None:
                return name
            case _:
                pass
    if isinstance(value.owner, operators.CmpOp | operators.LogicalAndOp | operators.LogicalOrOp):
        return "condition"
    return "value"
