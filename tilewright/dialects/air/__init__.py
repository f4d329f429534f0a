"""The `air` dialect: where work runs, how data moves between levels of memory, and what waits for what."""

from xdsl.ir import Dialect

from tilewright.dialects.air import addressing, channels, execution, levels, memcpy, types

OPERATIONS = [levels, memcpy, channels, execution, addressing]

AIR = Dialect("air", [op for module in OPERATIONS for op in module.OPS], types.ATTRS)
