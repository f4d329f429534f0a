"""The `aiex` dialect: runtime sequences, from DMA tasks down to the instructions of the NPU's command processor."""

from xdsl.ir import Dialect

from . import attributes, cert, configure, control, firmware, instructions, memcpy, scratchpad, tasks, tokens, write_bd

MODULES = (instructions, write_bd, memcpy, tasks, control, scratchpad, firmware, configure, tokens, cert)

AIEX = Dialect("aiex", [op for module in MODULES for op in module.OPS], attributes.ATTRS)
