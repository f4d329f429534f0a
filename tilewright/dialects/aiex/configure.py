"""Running the sequences of other devices: load a configuration, then call what is defined in it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, region_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.traits import NoTerminator

from tilewright.dialects._ods import ParentOp, op_definition
from tilewright.dialects.aie.interfaces import Target
from tilewright.dialects.aie.lookup import lookup_symbol, parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp, parse_runtime_sequence
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import VerifyError

from .attributes import EXPAND_MODE


@op_definition
class ConfigureOp(IRDLOperation):
    """Load the configuration of a device: its programs, switches and buffers. The body runs on it."""

    name = "aiex.configure"

    symbol = prop_def(FlatSymbolRefAttrConstr)
    expand_mode = opt_prop_def(EXPAND_MODE)
    body = region_def()

    traits = traits_def(ParentOp("aie.runtime_sequence"), NoTerminator())
    assembly_format = "$symbol $body attr-dict"

    @property
    def inside(self) -> list[Operation]:
        """The operations of the body, which has no block if it is written `{}`."""
        return [op for block in self.body.blocks for op in block.ops]

    def find_device(self) -> DeviceOp:
        """The device that is configured; raises what is wrong with the reference."""
        module = parent_of_type(self, ModuleOp)
        if module is None:
            raise VerifyError("aiex.configure must be inside of a module", bare=True)
        found = lookup_symbol(module, self.symbol)  # devices are the module's, not the own device's, symbols
        if found is None:
            raise VerifyError(f"No such device: '{self.symbol}'", bare=True)
        if not isinstance(found, DeviceOp):
            raise VerifyError(f"Not a device: '{self.symbol}'", bare=True)
        return found

    def verify_(self) -> None:
        configured = self.find_device()
        own = parent_of_type(self, Target)
        if own is not None and own.model is not configured.model:
            raise VerifyError(f"Device types do not match: '{own.model}' vs. '{configured.model}'", bare=True)


@op_definition
class RunOp(IRDLOperation):
    """Execute a sequence of the configured device."""

    name = "aiex.run"

    runtime_sequence_symbol = prop_def(FlatSymbolRefAttrConstr)
    args = var_operand_def()

    traits = traits_def(ParentOp("aiex.configure"))
    assembly_format = "$runtime_sequence_symbol `(` $args `)` `:` `(` type($args) `)` attr-dict"

    def __init__(self, sequence: str, args: Sequence[SSAValue]):
        super().__init__(operands=[args], properties={"runtime_sequence_symbol": SymbolRefAttr(sequence)})

    @property
    def sequence(self) -> RuntimeSequenceOp | None:
        """What is executed, if it exists."""
        configure = parent_of_type(self, ConfigureOp)
        found = lookup_symbol(configure.find_device(), self.runtime_sequence_symbol) if configure else None
        return found if isinstance(found, RuntimeSequenceOp) else None


@op_definition
class OlderRuntimeSequenceOp(IRDLOperation):
    """The name that `aie.runtime_sequence` once had, for reading."""

    name = "aiex.runtime_sequence"  # nothing of this class exists: reading it makes the other

    @classmethod
    def parse(cls, parser: Parser) -> RuntimeSequenceOp:
        return parse_runtime_sequence(parser)


OPS = [ConfigureOp, RunOp, OlderRuntimeSequenceOp]
