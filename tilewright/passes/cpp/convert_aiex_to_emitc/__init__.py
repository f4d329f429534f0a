"""Turn each runtime sequence into a C++ function that makes its TXN words, as `emitc` operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.emitc.calls import VerbatimOp
from tilewright.dialects.emitc.functions import FuncOp, IncludeOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.passes.cpp.convert_aiex_to_emitc.sequence import SequenceConversion
from tilewright.passes.cpp.convert_aiex_to_emitc.style import STYLES, Style, StyleName

HEADER = "aie/Runtime/TxnEncoding.h"
STANDARD_HEADERS = ("cstdint", "vector", "optional")


@dataclass(frozen=True)
class ConvertAIEXToEmitCPass(Pass):
    name = "convert-aiex-to-emitc"

    style: StyleName = field(default=StyleName.UPSTREAM, metadata={"help": "what the code looks like"})
    fold_ddr_addr_offset: bool = field(
        default=True, metadata={"help": "translate addresses of host buffers after the fifth, as the binary does"}
    )
    function_name: str = field(
        default="", metadata={"help": "what the functions are called; {device} and {sequence} stand for their names"}
    )

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        sequences = [nested for nested in op.walk() if isinstance(nested, RuntimeSequenceOp)]
        if not sequences:
            return
        style = STYLES[self.style]
        if self.function_name:
            style = replace(style, function=self.function_name)
        owners = [_device_of(sequence) for sequence in sequences]
        pairs = [(device.sym_name.data, op.sym_name.data) for device, op in zip(owners, sequences, strict=True)]
        styles = [replace(style, function=name) for name in style.function_names(pairs)]
        with unchanging_symbols():
            made = [self._convert(*parts) for parts in zip(sequences, owners, styles, strict=True)]
        if all(made):
            _replace_contents(op, [function for functions in made for function in functions], style)

    def _convert(self, sequence: RuntimeSequenceOp, device: DeviceOp, style: Style) -> Sequence[FuncOp]:
        """The functions for a sequence; none if there was an error."""
        return SequenceConversion(sequence, device, style, fold_ddr_offsets=self.fold_ddr_addr_offset).run()


def _device_of(sequence: RuntimeSequenceOp) -> DeviceOp:
    device = parent_of_type(sequence, DeviceOp)
    if device is None:
        fail_op(sequence, "must be nested inside an aie.device")
    return device


def _replace_contents(module: ModuleOp, functions: Sequence[FuncOp], style: Style) -> None:
    """What is not C++ goes; the header comes first."""
    block = module.body.block
    for old in reversed(list(block.ops)):
        if not isinstance(old, FuncOp | IncludeOp):
            Rewriter.erase_op(old, safe_erase=False)
    block.add_ops(functions)
    names = sorted(STANDARD_HEADERS) if style.readable else [*STANDARD_HEADERS, "utility"]  # for std::move
    includes = [IncludeOp(HEADER), *(IncludeOp(name, standard=True) for name in names)]
    before, after = ([VerbatimOp(line) for line in lines] for lines in style.pragmas)
    for new in (*includes, *before, *after):
        new.location = module.location
    Rewriter.insert_op([*includes, *before], InsertPoint.at_start(block))
    block.add_ops(after)
