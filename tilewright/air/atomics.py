"""Atomic accesses to elements of arrays, each with an order and with a scope in which it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, i1, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from tilewright.air.arrays import Array, stored_number
from tilewright.air.dtypes import value_type
from tilewright.air.trace import current
from tilewright.dialects import llvm, scf
from tilewright.dialects import memref as ops
from tilewright.dialects._llvm_memory import AtomicBinOp, Ordering
from tilewright.dialects._syntax import INDEX
from tilewright.iron.builders.arithmetic import is_unsigned, signless, with_sign
from tilewright.iron.builders.control import yield_
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import is_float_type, is_integer, is_list

ORDERS = {
    "relaxed": "monotonic",
    "acquire": "acquire",
    "release": "release",
    "acq_rel": "acq_rel",
    "seq_cst": "seq_cst",
}
SCOPES = {"system": "", "device": "agent", "block": "workgroup", "wave": "wavefront"}
"""Who takes part, and the name that LLVM has for it."""
_KINDS = {"add": "add", "sub": "sub", "and": "_and", "or": "_or", "xor": "_xor", "exchange": "xchg"}


def _order(order: str, allowed: tuple[str, ...] = tuple(ORDERS)) -> IntegerAttr[Any]:
    if order not in allowed:
        refuse(f"there is no order {order!r} here", (None, f"there are {', '.join(allowed)}"))
    return IntegerAttr(Ordering[ORDERS[order]], i64)


def _scope(scope: str) -> dict[str, Any]:
    if scope not in SCOPES:
        refuse(f"there is no scope {scope!r}", (None, f"there are {', '.join(SCOPES)}"))
    return {"syncscope": SCOPES[scope]} if SCOPES[scope] else {}


def address(array: Any, index: Any) -> SSAValue:
    """The address of an element."""
    if not isinstance(array, Array):
        refuse(f"atomic accesses are to elements of arrays, not to {array!r}")
    if not current().is_kernel:
        refuse("atomic accesses are for kernels", (None, "write them in a launch"))
    keys = list(index) if is_list(index) else [index]
    if len(keys) != array.ndim:
        refuse(f"an array of {array.ndim} dimensions takes as many indices, not {len(keys)}")
    place: Any = None
    for key, stride in zip(keys, array.strides, strict=True):
        step = as_index(key) if is_integer(stride) and stride == 1 else as_index(key) * stride
        place = step if place is None else place + step
    start = ScalarValue(build(ops.ExtractAlignedPointerAsIndexOp, results=[INDEX], source=array).results[0])
    bytes = start if place is None else start + place * array.dtype.itemsize
    number = bytes.astype(i64).ssa
    return build(llvm.IntToPtrOp, results=[llvm.LLVMPointerType()], input=number).results[0]


def _alignment(array: Array) -> IntegerAttr[Any]:
    return IntegerAttr(array.dtype.itemsize, i64)


def _element(array: Array) -> Any:
    return cast("MemRefType[Any]", ssa_of(array).type).element_type


def atomic_load(array: Any, index: Any, order: str = "acquire", scope: str = "system") -> ScalarValue:
    """The element of an `array` at an `index`, as others have stored it, in this `order` and `scope`."""
    place = address(array, index)
    loaded = build(
        llvm.LoadOp,
        results=[_element(array)],
        ptr=place,
        ordering=_order(order, ("relaxed", "acquire", "seq_cst")),
        alignment=_alignment(array),
        **_scope(scope),
    )
    return ScalarValue(with_sign(loaded.results[0], value_type(array.dtype)))


def atomic_store(array: Any, index: Any, value: Any, order: str = "release", scope: str = "system") -> None:
    """Store a `value` at an `index` of an `array`, for others to load, in this `order` and `scope`."""
    place = address(array, index)
    build(
        llvm.StoreOp,
        value=signless(stored_number(value, array.dtype)),
        ptr=place,
        ordering=_order(order, ("relaxed", "release", "seq_cst")),
        alignment=_alignment(array),
        **_scope(scope),
    )


def _is_several(array: Any, index: Any) -> bool:
    """Whether an index is of a part of an array, or of elements at tiles of indices."""
    from tilewright.air.tiles import Elementwise  # it imports this module

    keys = index if is_list(index) else [index]
    return isinstance(array, Array) and any(isinstance(key, slice | Elementwise) for key in keys)


def _update(kind: str) -> Callable[..., ScalarValue]:
    def update(array: Any, index: Any, value: Any, order: str = "acq_rel", scope: str = "device") -> Any:
        if _is_several(array, index):
            from tilewright.air.scattered import spots  # it imports this module

            for keys, number in spots(array[tuple(index) if is_list(index) else index], value):
                update(array, keys, number, order, scope)
            return None
        place = address(array, index)
        wanted = value_type(array.dtype)
        name = _KINDS.get(kind, kind)
        if is_float_type(wanted) and kind in ("add", "sub", "max", "min"):
            name = f"f{kind}"
        elif is_unsigned(wanted) and kind in ("max", "min"):
            name = f"u{kind}"
        done = build(
            llvm.AtomicRMWOp,
            results=[_element(array)],
            ptr=place,
            val=signless(stored_number(value, array.dtype)),
            bin_op=IntegerAttr(AtomicBinOp[name], i64),
            ordering=_order(order),
            **_scope(scope),
        )
        return ScalarValue(with_sign(done.res, wanted))

    update.__name__ = update.__qualname__ = f"atomic_{kind}"
    update.__doc__ = (
        f"Replace the element of an `array` at an `index` by its `{kind}` with a `value`, in one step, in this `order` "
        "and `scope`; gives what was there. With slices or tiles in the index it does so with all of these elements, "
        "and a tile of values or one, and gives nothing."
    )
    return update


atomic_add = _update("add")
atomic_sub = _update("sub")
atomic_and = _update("and")
atomic_or = _update("or")
atomic_xor = _update("xor")
atomic_max = _update("max")
atomic_min = _update("min")
atomic_exchange = _update("exchange")


def atomic_cas(
    array: Any, index: Any, expected: Any, value: Any, order: str = "acq_rel", scope: str = "device"
) -> ScalarValue:
    """Store a `value` at an `index` of an `array` where the `expected` one is, in one step; gives what was there.

    It holds in this `order` and `scope`.
    """
    place = address(array, index)
    # a value that is only looked at releases nothing
    failure = {"release": "relaxed", "acq_rel": "acquire"}.get(order, order)
    element = _element(array)
    both = llvm.LLVMStructType.from_type_list([element, i1])
    done = build(
        llvm.AtomicCmpXchgOp,
        results=[both],
        ptr=place,
        cmp=signless(stored_number(expected, array.dtype)),
        val=signless(stored_number(value, array.dtype)),
        success_ordering=_order(order),
        failure_ordering=_order(failure),
        **_scope(scope),
    )
    first = DenseArrayBase.from_list(i64, [0])
    found = build(llvm.ExtractValueOp, results=[element], container=done.res, position=first).res
    return ScalarValue(with_sign(found, value_type(array.dtype)))


def fence(order: str = "acq_rel", scope: str = "system") -> None:
    """Keep accesses before and after in this `order`, for all in `scope`."""
    build(llvm.FenceOp, ordering=_order(order, ("acquire", "release", "acq_rel", "seq_cst")), **_scope(scope))


def atomic_wait(
    array: Any,
    index: Any,
    condition: Callable[[ScalarValue], ScalarValue],
    order: str = "acquire",
    scope: str = "system",
) -> ScalarValue:
    """The element of an `array` at an `index` as soon as a `condition` holds of it, in this `order` and `scope`."""

    def ask() -> tuple[ScalarValue, list[SSAValue]]:
        seen = atomic_load(array, index, order, scope)
        return condition(seen), [signless(seen.ssa)]

    (found,) = _wait(ask, [_element(array)])
    return ScalarValue(with_sign(found, value_type(array.dtype)))


def wait_until(condition: Callable[[], ScalarValue]) -> None:
    """Ask for a `condition` again and again, until it holds; it loads what others store."""
    _wait(lambda: (condition(), []), [])


def _wait(ask: Callable[[], tuple[ScalarValue, list[SSAValue]]], types: Sequence[Attribute]) -> Sequence[SSAValue]:
    """Ask for a condition until it holds; gives the values, of these types, that come with it then."""
    before, after = Block(), Block(arg_types=types)
    loop = build(scf.WhileOp, results=types, regions=[Region(before), Region(after)], arguments=[])
    with InsertionPoint(before):
        found, values = ask()
        if not isinstance(found, ScalarValue) or found.type != i1:
            refuse(
                "a wait ends with a comparison", (None, "such as `air.wait_until(lambda: air.atomic_load(f, 0) == 1)`")
            )
        build(scf.ConditionOp, condition=~found, args=values)
    with InsertionPoint(after):
        yield_([])
    return loop.results
