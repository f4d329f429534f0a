"""Instructions to the firmware itself: device images, preemption, the scratchpad it shares with the host."""

from __future__ import annotations

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, IntegerAttr, SymbolRefAttr, i32
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import enum_to_attr, enum_value, i32_attr, op_definition, unsigned_attr
from tilewright.dialects.aie.lookup import parent_of_type
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.ir.diagnostics import VerifyError

from .attributes import EXPAND_MODE, STATE_TABLE_FUNCTION, UI8, UI32, UI64, StateTableFunction
from .instructions import Placed

STATE_TABLE_ENTRIES = 32  # words in the command processor's memory
STATE_TABLE_BYTES = 4 * STATE_TABLE_ENTRIES

PROGRAMS = "tilewright.programs"
"""Attribute of a load: the device whose cores' programs are in the image, besides what configures the loaded device."""


@op_definition
class NpuPreemptOp(IRDLOperation):
    """The stream may be interrupted here: 0 not, 1 saving mem tiles, 2 all tiles, 3 registers as well."""

    name = "aiex.npu.preempt"

    level = prop_def(unsigned_attr(8))

    assembly_format = "attr-dict"


@op_definition
class NpuLoadPdiOp(IRDLOperation):
    """Load a device image. Address and size are filled in when the image is placed."""

    name = "aiex.npu.load_pdi"

    device_ref = opt_prop_def(FlatSymbolRefAttrConstr)
    id = opt_prop_def(i32_attr(), IntegerAttr(0, i32))  # of the device, counted from 1 in the module
    size = opt_prop_def(i32_attr(), IntegerAttr(0, i32))
    address = opt_prop_def(unsigned_attr(64), IntegerAttr(0, UI64))
    expand_mode = opt_prop_def(EXPAND_MODE)

    assembly_format = "attr-dict"

    def __init__(self, device: str, expand_mode: Attribute | None = None):
        super().__init__(properties={"device_ref": SymbolRefAttr(device), "expand_mode": expand_mode})

    @property
    def programs(self) -> str | None:
        """The device whose cores' programs are loaded as well, where that is another one."""
        device = self.attributes.get(PROGRAMS)
        return device.root_reference.data if isinstance(device, SymbolRefAttr) else None

    @property
    def image(self) -> tuple[object, ...]:
        """What distinguishes one image from another."""
        return self.device_ref, self.id, self.size, self.address


@op_definition
class NpuCreateScratchpadOp(IRDLOperation):
    """Have the host allocate a scratchpad, and copy it into the command processor's memory."""

    name = "aiex.npu.create_scratchpad"

    size = prop_def(unsigned_attr(32))
    usage_type = opt_prop_def(unsigned_attr(8), IntegerAttr(0, UI8))

    assembly_format = "attr-dict"

    def __init__(self, size_bytes: int):
        super().__init__(properties={"size": IntegerAttr(size_bytes, UI32)})

    def verify_(self) -> None:
        size, usage = self.size.value.data, self.usage_type.value.data
        if usage != 0:
            raise VerifyException(f"usage_type must be 0 (got {usage}); other layouts are not supported.")
        if size == 0:
            raise VerifyException("size must be greater than 0.")
        if size % 4 != 0:
            raise VerifyException(f"size ({size}) must be a multiple of 4 bytes.")
        if size > STATE_TABLE_BYTES:
            raise VerifyException(f"size ({size} bytes) exceeds maximum scratchpad size of {STATE_TABLE_BYTES} bytes.")
        first = self._first_in_sequence()  # the error is at all but this one
        if first is not self:
            raise VerifyError(
                f"only one '{self.name}' is allowed per runtime sequence", (first, f"previous '{self.name}' here")
            )
        self._verify_uses(size)

    def _verify_uses(self, size: int) -> None:
        """Entries that are read exist. Checked from here, for all at once: a sequence may read thousands."""
        entries = size // 4
        for use in self.parent.ops if self.parent else ():
            if isinstance(use, NpuUpdateFromScratchpadOp) and use.state_table_idx.value.data >= entries:
                raise VerifyError(
                    f"state_table_idx {use.state_table_idx.value.data} is out of bounds for scratchpad of size {size} "
                    f"bytes ({entries} entries) created by {self.name}.",
                    at=use,
                )

    def _first_in_sequence(self) -> NpuCreateScratchpadOp:
        sequence = parent_of_type(self, RuntimeSequenceOp)
        if sequence is None:
            return self
        return next(op for op in sequence.walk() if isinstance(op, NpuCreateScratchpadOp))


@op_definition
class NpuUpdateFromScratchpadOp(Placed):
    """Add a value computed from a scratchpad entry to the 48 bits of a register pair."""

    name = "aiex.npu.update_from_scratchpad"

    state_table_idx = prop_def(unsigned_attr(8))
    func = prop_def(STATE_TABLE_FUNCTION, enum_to_attr(StateTableFunction.incr))
    func_arg = opt_prop_def(unsigned_attr(32), IntegerAttr(0, UI32))
    address = prop_def(unsigned_attr(32))

    assembly_format = "(`<` $func^ `>`)? attr-dict"

    def __init__(self, function: StateTableFunction, argument: int, *, state_table_idx: int, address: int):
        super().__init__(
            properties={
                "func": enum_to_attr(function),
                "func_arg": IntegerAttr(argument, UI32),
                "state_table_idx": IntegerAttr(state_table_idx, UI8),
                "address": IntegerAttr(address, UI32),
            }
        )

    @property
    def function(self) -> StateTableFunction:
        return enum_value(StateTableFunction, self.func)

    def verify_(self) -> None:
        index = self.state_table_idx.value.data
        if index >= STATE_TABLE_ENTRIES:
            raise VerifyException(
                f"state_table_idx {index} exceeds maximum StateTable index ({STATE_TABLE_ENTRIES - 1})."
            )


OPS = [NpuPreemptOp, NpuLoadPdiOp, NpuCreateScratchpadOp, NpuUpdateFromScratchpadOp]
