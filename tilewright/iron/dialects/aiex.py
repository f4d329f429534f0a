"""The `aiex` dialect for Python programs: runtime sequences, DMA tasks, instructions of the controller."""

import numpy as np

from tilewright.device import LockAction
from tilewright.iron.builders.types import v8bfp16ebs8, v16bfp16ebs16
from tilewright.iron.dialects import aie
from tilewright.iron.extras import types as T
from tilewright.iron.extras.dialects import arith
from tilewright.iron.placed.buffers import (
    npu_write_rtp,
)
from tilewright.iron.placed.descriptors import (
    dma_bd,
)
from tilewright.iron.placed.dma import (
    DMAChannelDir,
    bds,
)
from tilewright.iron.placed.instructions import (
    control_packet,
    core_reset,
    dma_channel_reset,
    dma_channel_reset_for,
    dma_wait,
    npu_address_patch,
    npu_blockwrite,
    npu_dma_wait,
    npu_maskwrite32,
    npu_push_queue,
    npu_rtp_write,
    npu_sync,
    npu_write32,
    npu_writebd,
    set_lock,
    set_lock_value,
)
from tilewright.iron.placed.memcpy import (
    NpuDmaMemcpyNd,
    npu_dma_memcpy_nd,
)
from tilewright.iron.placed.sequence import (
    BDChainOp,
    RuntimeSequenceOp,
    bd_chain,
    configure,
    npu_create_scratchpad,
    npu_load_pdi,
    npu_preempt,
    read_scratchpad_parameter,
    run,
    runtime_sequence,
    scratchpad_parameter,
    sync_scratchpad_parameters_from_host,
)
from tilewright.iron.placed.tasks import (
    DMAConfigureTaskForOp,
    DMAConfigureTaskOp,
    dma_await_task,
    dma_configure_task,
    dma_configure_task_for,
    dma_free_task,
    dma_start_bd_chain,
    dma_start_bd_chain_for,
    dma_start_task,
    shim_dma_bd,
    shim_dma_single_bd_task,
)
from tilewright.iron.placed.tiles import (
    EndOp,
    TileOp,
)

__all__ = [
    "BDChainOp",
    "DMAChannelDir",
    "DMAConfigureTaskForOp",
    "DMAConfigureTaskOp",
    "EndOp",
    "LockAction",
    "NpuDmaMemcpyNd",
    "RuntimeSequenceOp",
    "T",
    "TileOp",
    "aie",
    "arith",
    "bd_chain",
    "bds",
    "configure",
    "control_packet",
    "core_reset",
    "dma_await_task",
    "dma_bd",
    "dma_channel_reset",
    "dma_channel_reset_for",
    "dma_configure_task",
    "dma_configure_task_for",
    "dma_free_task",
    "dma_start_bd_chain",
    "dma_start_bd_chain_for",
    "dma_start_task",
    "dma_wait",
    "np",
    "npu_address_patch",
    "npu_blockwrite",
    "npu_create_scratchpad",
    "npu_dma_memcpy_nd",
    "npu_dma_wait",
    "npu_load_pdi",
    "npu_maskwrite32",
    "npu_preempt",
    "npu_push_queue",
    "npu_rtp_write",
    "npu_sync",
    "npu_write32",
    "npu_write_rtp",
    "npu_writebd",
    "read_scratchpad_parameter",
    "run",
    "runtime_sequence",
    "scratchpad_parameter",
    "set_lock",
    "set_lock_value",
    "shim_dma_bd",
    "shim_dma_single_bd_task",
    "sync_scratchpad_parameters_from_host",
    "v8bfp16ebs8",
    "v16bfp16ebs16",
]
