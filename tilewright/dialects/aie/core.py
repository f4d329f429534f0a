"""Cores and their code, and the terminator all bodies of the dialect share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, IndexType, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    IRDLOperation,
    base,
    operand_def,
    opt_prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.device import TileType
from tilewright.dialects._ods import i32_attr, op_definition
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.dialects.aie.lookup import device_model
from tilewright.ir.constraints import described

INDEX = IndexType()
STRINGS: AttrConstraint[ArrayAttr[StringAttr]] = described(ArrayAttr.constr(base(StringAttr)), "string array attribute")


@op_definition
class EndOp(IRDLOperation):
    """The end of a body."""

    name = "aie.end"

    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


@op_definition
class CoreOp(TileElement):
    """The program of one core."""

    name = "aie.core"

    tile = operand_def(INDEX)
    stack_size = opt_prop_def(i32_attr(minimum=1))  # bytes
    link_with = opt_prop_def(StringAttr)  # older way to say link_files, for one file
    link_files = opt_prop_def(STRINGS)  # inputs of the core's final link
    link_merge_files = opt_prop_def(STRINGS)  # LLVM modules merged into the core's before code generation
    elf_file = opt_prop_def(StringAttr)  # what to load; the body is empty then
    dynamic_objfifo_lowering = opt_prop_def(BoolAttr)
    emit_parameter_sync_preamble = opt_prop_def(BoolAttr)
    body = region_def()
    result = result_def(INDEX)

    assembly_format = "`(` $tile `)` $body attr-dict"

    def __init__(self, tile: SSAValue, body: Region | None = None, stack_bytes: int | None = None):
        stack_size = None if stack_bytes is None else IntegerAttr(stack_bytes, IntegerType(32))
        super().__init__(
            operands=[tile],
            result_types=[INDEX],
            properties={"stack_size": stack_size},
            regions=[Region(Block([EndOp()])) if body is None else body],
        )

    @property
    def stack_bytes(self) -> int:
        """What is reserved for the stack: as asked for, or the device's default."""
        if self.stack_size is not None:
            return self.stack_size.value.data
        return device_model(self).default_stack_bytes

    @property
    def is_empty(self) -> bool:
        """Whether the body is nothing but its end."""
        ops = [*self.body.ops] if len(self.body.blocks) == 1 else []
        return len(ops) == 1 and isinstance(ops[0], EndOp)

    def verify_(self) -> None:
        self.require_tile("core tile", TileType.CoreTile)
        if not self.body.blocks:
            raise VerifyException("should have non-empty body")
        # the file is loaded in place of what the body would become
        if self.elf_file is not None and not self.is_empty:
            raise VerifyException(
                "When `elf_file` attribute is specified, core body must be empty (consist of exactly one `aie.end` op)."
            )
        self._verify_link_files()
        # stack and buffers share the memory of the tile
        memory_bytes = device_model(self).local_memory_bytes
        if self.stack_bytes >= memory_bytes:
            raise VerifyException(
                f"stack_size {self.stack_bytes} leaves no local memory for this tile's buffers "
                f"({memory_bytes} bytes total)"
            )

    def _verify_link_files(self) -> None:
        for name, files in (("link_files", self.link_files), ("link_merge_files", self.link_merge_files)):
            if self.link_with is not None and files is not None:
                raise VerifyException(
                    f"cannot specify both 'link_with' (deprecated) and '{name}' on the same core; "
                    "run aie-assign-core-link-files to migrate"
                )
        linked = set(self.link_files or ())  # in both, its symbols would be defined twice
        for file in self.link_merge_files or ():
            if file in linked:
                raise VerifyException(
                    f"artifact '{file.data}' appears in both 'link_files' and 'link_merge_files'; "
                    "an artifact must be either merged or linked, not both"
                )


@op_definition
class DebugOp(IRDLOperation):
    """Show a value while simulating."""

    name = "aie.debug"

    arg = operand_def(AnyAttr())

    assembly_format = "`(` $arg `:` type($arg) `)` attr-dict"

    def __init__(self, arg: SSAValue):
        super().__init__(operands=[arg])


OPS: Sequence[type[IRDLOperation]] = [EndOp, CoreOp, DebugOp]
