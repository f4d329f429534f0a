"""Parameters that the host passes to cores and descriptors through the firmware's scratchpad."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    Float32Type,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import BaseAttr, IRDLOperation, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import ParentOp, enum_value, op_definition, unsigned_attr
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.interfaces import SkipAccessibilityCheck, Target
from tilewright.dialects.aie.lookup import lookup_symbol, parent_of_type

from .attributes import PARAMETER_KIND, ParameterKind


@op_definition
class ScratchpadParameterOp(IRDLOperation):
    """A parameter of the whole module: the scratchpad is shared by all devices in it."""

    name = "aiex.scratchpad_parameter"

    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(BaseAttr(TypeAttribute))  # what cores read; the host passes words
    state_table_idx = opt_prop_def(unsigned_attr(8))
    kind = opt_prop_def(PARAMETER_KIND)

    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name `:` $type attr-dict"

    def __init__(self, name: str, type: TypeAttribute):
        super().__init__(properties={"sym_name": StringAttr(name), "type": type})

    @property
    def usage(self) -> ParameterKind | None:
        return None if self.kind is None else enum_value(ParameterKind, self.kind)


@op_definition
class ReadScratchpadParameterOp(IRDLOperation):
    """The value of a parameter, read by a core."""

    name = "aiex.read_scratchpad_parameter"

    parameter = prop_def(FlatSymbolRefAttrConstr)
    buffer = opt_prop_def(FlatSymbolRefAttrConstr)  # where the lowering puts the value for the core
    result = result_def()

    assembly_format = "$parameter `:` type($result) attr-dict"

    def __init__(self, parameter: str, type: Attribute):
        super().__init__(properties={"parameter": SymbolRefAttr(parameter)}, result_types=[type])

    @property
    def declaration(self) -> ScratchpadParameterOp | None:
        module = parent_of_type(self, ModuleOp)
        found = lookup_symbol(module, self.parameter) if module is not None else None
        return found if isinstance(found, ScratchpadParameterOp) else None

    def verify_(self) -> None:
        if parent_of_type(self, Target) is None:
            raise VerifyException("must be inside an aie.device")
        if parent_of_type(self, CoreOp) is None:
            raise VerifyException("must be inside an aie.core")
        if self.declaration is None:
            raise VerifyException(
                f"references unknown parameter '{self.parameter.root_reference.data}' "
                "(aiex.scratchpad_parameter ops are declared at module scope)"
            )
        if isinstance(self.result.type, Float32Type):
            raise VerifyException(
                "f32 parameters are not supported: the scratchpad encoding zeroes the top 2 bits, which clobbers the "
                "sign bit and top exponent bit of an f32. Use bf16 or an integer type up to i32 instead."
            )


@op_definition
class SyncScratchpadParametersFromHostOp(IRDLOperation):
    """Cores get the values of their parameters here."""

    name = "aiex.sync_scratchpad_parameters_from_host"

    traits = traits_def(ParentOp("aie.runtime_sequence"), SkipAccessibilityCheck())
    assembly_format = "attr-dict"


OPS = [ScratchpadParameterOp, ReadScratchpadParameterOp, SyncScratchpadParametersFromHostOp]
