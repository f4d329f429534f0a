"""The `aiex` dialect: runtime sequences, from DMA tasks down to the instructions of the NPU's command processor."""

from xdsl.ir import Dialect

from . import (
    attributes,
    bd_chains,
    cert,
    configure,
    control,
    early_instructions,
    firmware,
    guards,
    instructions,
    memcpy,
    operation,
    queue,
    scratchpad,
    tasks,
    token_memcpy,
    tokens,
    write_bd,
)

MODULES = (
    instructions,
    operation,
    queue,
    guards,
    write_bd,
    memcpy,
    early_instructions,
    tasks,
    bd_chains,
    control,
    scratchpad,
    firmware,
    configure,
    token_memcpy,
    tokens,
    cert,
)

AIEX = Dialect("aiex", [op for module in MODULES for op in module.OPS], attributes.ATTRS)
