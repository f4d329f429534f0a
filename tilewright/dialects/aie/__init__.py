"""The `aie` dialect: a device's tiles, what runs on them, and how data moves between them."""

from xdsl.ir import Dialect

from tilewright.dialects.aie import (
    attributes,
    buffers,
    cascade,
    core,
    dma,
    dma_bd,
    flows,
    locks,
    objectfifo,
    objectfifo_pools,
    objectfifo_storage,
    objectfifo_types,
    objectfifo_uses,
    sequence,
    switchbox,
    tiles,
    trace,
    trace_config,
    trace_event,
)

OPERATIONS = [
    core,
    tiles,
    buffers,
    locks,
    dma,
    dma_bd,
    flows,
    switchbox,
    cascade,
    objectfifo,
    objectfifo_pools,
    objectfifo_storage,
    objectfifo_uses,
    sequence,
    trace,
    trace_config,
]
# modules and not lists of classes: an operation joins in its own file
ATTRIBUTES = [attributes, objectfifo_pools, objectfifo_types, trace_event]

AIE = Dialect(
    "aie",
    [op for module in OPERATIONS for op in module.OPS],
    [attr for module in ATTRIBUTES for attr in module.ATTRS],
)
