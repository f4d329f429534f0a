"""Locks: where they are, and their use by cores and descriptors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.device import Arch, LockAction, LockBlocking
from tilewright.dialects._ods import enum_to_attr, enum_value, i32_attr, op_definition
from tilewright.dialects._older import constant_before
from tilewright.dialects._syntax import parse_enum, print_attributes, split_attributes
from tilewright.dialects.aie.accessibility import verify_users_reach
from tilewright.dialects.aie.attributes import LOCK_ACTION, LOCK_BLOCKING
from tilewright.dialects.aie.core import INDEX
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.dialects.aie.lookup import ancestors, arith_constant, device_model, is_device_body

DMA_BODIES = ("aie.mem", "aie.memtile_dma", "aie.shim_dma")
OTHER_BODIES = ("aie.core", "func.func", "aiex.dma_configure_task")


@op_definition
class LockOp(TileElement):
    """A lock of a tile."""

    name = "aie.lock"

    tile = operand_def(INDEX)
    lock_id = opt_prop_def(i32_attr(minimum=0), prop_name="lockID")
    init = opt_prop_def(i32_attr())
    sym_name = opt_prop_def(StringAttr)
    result = result_def(INDEX)

    assembly_format = "`(` $tile (`,` $lockID^)? `)` attr-dict"

    def __init__(
        self, tile: SSAValue, lock_id: int | None = None, init: int | None = None, sym_name: str | None = None
    ):
        super().__init__(
            operands=[tile],
            result_types=[INDEX],
            properties={
                "lockID": None if lock_id is None else IntegerAttr(lock_id, i32),
                "init": None if init is None else IntegerAttr(init, i32),
                "sym_name": None if sym_name is None else StringAttr(sym_name),
            },
        )

    @property
    def number(self) -> int | None:
        """The lock's id within its tile, once it has one."""
        return None if self.lock_id is None else self.lock_id.value.data

    def result_names(self) -> Sequence[str | None]:
        return super().result_names() if self.sym_name is None else [self.sym_name.data]

    def verify_(self) -> None:
        verify_users_reach(self)
        if self.number is None:  # a pass assigns it
            return
        tile = self.tile_like
        if tile is None:
            raise VerifyException("tile operand must implement TileLike interface")
        if self.number >= tile.resources.locks:
            raise VerifyException(f"lock assigned invalid id (maximum is {tile.resources.locks - 1})")


@op_definition
class UseLockOp(IRDLOperation):
    """Wait for a lock, or change it."""

    name = "aie.use_lock"

    lock = operand_def(INDEX)
    value = operand_def(i32)
    action = prop_def(LOCK_ACTION)
    blocking = opt_prop_def(LOCK_BLOCKING)
    acq_en = opt_prop_def(BoolAttr, default_value=BoolAttr.from_bool(True))

    def __init__(self, lock: SSAValue, action: LockAction, value: SSAValue, blocking: LockBlocking | None = None):
        super().__init__(
            operands=[lock, value],
            properties={
                "action": enum_to_attr(action),
                "blocking": None if blocking is None else enum_to_attr(blocking),
            },
        )

    @property
    def lock_action(self) -> LockAction:
        return enum_value(LockAction, self.action)

    @property
    def is_acquire(self) -> bool:
        return self.lock_action is not LockAction.Release

    @property
    def lock_op(self) -> LockOp | None:
        owner = self.lock.owner
        return owner if isinstance(owner, LockOp) else None

    @property
    def constant(self) -> int | None:
        """The lock value where an `arith.constant` gives it."""
        constant = arith_constant(self.value)
        return constant.value.data if isinstance(constant, IntegerAttr) else None

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_punctuation("(")
        lock = parser.parse_operand(INDEX)
        parser.parse_punctuation(",")
        properties: dict[str, Attribute] = {"action": enum_to_attr(parse_enum(parser, LockAction, "action"))}
        value = _parse_lock_value(parser)
        if value is None or parser.parse_optional_punctuation(",") is not None:
            properties["blocking"] = enum_to_attr(parse_enum(parser, LockBlocking, "blocking"))
        parser.parse_punctuation(")")
        more, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        value = value if value is not None else constant_before(parser, 1)
        return cls.create(operands=[lock, value], properties=properties | more, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_ssa_value(self.lock)
        printer.print_string(f", {self.lock_action}, ")
        printer.print_ssa_value(self.value)
        if self.blocking is not None:
            printer.print_string(f", {enum_value(LockBlocking, self.blocking)}")
        printer.print_string(")")
        print_attributes(printer, self, elided=("action", "blocking"))

    def verify_(self) -> None:
        if is_device_body(self.parent_op()):
            raise VerifyException("must be used in a core or memory operation.")
        device = device_model(self)
        if device.arch is Arch.AIE1 and self.lock_action is LockAction.AcquireGreaterEqual:
            raise VerifyException("AcquireGreaterEqual is not supported in AIE1.")
        # by name: the file of the DMAs imports this one
        around = [op.name for op in ancestors(self)]
        if any(name in DMA_BODIES for name in around):
            self._verify_in_dma(device.arch)
        elif not any(name in OTHER_BODIES for name in around):
            raise VerifyException(
                "expects some parent op to be one of AIE::device, AIE::core, func::func, AIE::mem, AIE::shimDMA, or "
                "AIEX::dma_configure_task"
            )

    def _verify_in_dma(self, arch: Arch) -> None:
        if self.constant is None:
            raise VerifyException(
                "lock value in a DMA/BD block must be a compile-time constant (defined by an arith.constant)."
            )
        block = self.parent_block()
        uses = [op for op in block.ops if isinstance(op, UseLockOp)] if block is not None else []
        if arch is Arch.AIE1 and _differ(use.lock_op.number for use in uses if use.lock_op is not None):
            raise VerifyException("used in a DMA block that have multiple locks.")
        # a descriptor has one value to acquire with and one to release with
        if any(_differ(use.constant for use in uses if use.is_acquire is acquiring) for acquiring in (True, False)):
            raise VerifyException("acquires/releases the lock in a DMA block from/to multiple states.")
        # only the DMA of a core tile is bound to its own tile: those of mem tiles reach their neighbours
        memory = next((op for op in ancestors(self) if op.name == "aie.mem"), None)
        lock = self.lock_op
        if memory is not None and lock is not None and lock.tile is not memory.operands[0]:
            raise VerifyException("can only access a lock in the same tile")


def _differ(numbers: Iterable[int | None]) -> bool:
    """Whether two of the known numbers are different."""
    return len({number for number in numbers if number is not None}) > 1


def _parse_lock_value(parser: Parser) -> SSAValue | None:
    """`, %value`. Older programs write an integer, or nothing for 1: None if what follows is not a value."""
    if parser.parse_optional_punctuation(",") is None:
        return constant_before(parser, 1)
    if (operand := parser.parse_optional_unresolved_operand()) is not None:
        return parser.resolve_operand(operand, i32)
    integer = parser.parse_optional_integer(allow_boolean=False)
    return None if integer is None else constant_before(parser, integer)


OPS: Sequence[type[IRDLOperation]] = [LockOp, UseLockOp]
