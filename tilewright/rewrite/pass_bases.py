"""Bases of passes on devices and on modules, and what most of them do: find operations of a kind, append new ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Block, Operation

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.create import insert_operation
from tilewright.ir.pass_manager import Pass
from tilewright.ir.traversal import ops_of as ops_of

OpT = TypeVar("OpT", bound=Operation)


class DevicePass(Pass):
    """A pass that runs on each device by itself, whatever the dialects in the context."""

    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        self.apply_to(op)

    @abstractmethod
    def apply_to(self, device: DeviceOp) -> None: ...


class ModulePass(Pass):
    """A pass that runs on whole modules."""

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        self.apply_to(op)

    @abstractmethod
    def apply_to(self, module: ModuleOp) -> None: ...


def located(op: OpT, location: LocationAttr) -> OpT:
    """A new operation; it and all in it come from one place in the source."""
    for new in op.walk():
        new.location = location
    return op


def append_to(block: Block, op: Operation, location: LocationAttr) -> None:
    """Put a new operation, located so, before the terminator of a block."""
    assert block.last_op is not None, "the verifier requires a terminator"
    insert_operation(located(op, location), before=block.last_op)
