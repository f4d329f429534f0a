"""Runtime sequences: the controller's instructions, transfers by descriptor number, and chains of descriptors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region

from tilewright.dialects.aie.sequence import BdChainOp as BdChain
from tilewright.dialects.aie.sequence import RuntimeSequenceOp as RuntimeSequence
from tilewright.dialects.aiex import configure as configure_ops
from tilewright.dialects.aiex import control, firmware, queue, scratchpad
from tilewright.dialects.aiex import instructions as ops
from tilewright.dialects.aiex.memcpy import NpuDmaMemcpyNdOp, NpuDmaWaitOp
from tilewright.dialects.aiex.write_bd import FIELD_NAMES, NpuWriteBdOp
from tilewright.iron.builders.handles import OpView, value_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.module import Module
from tilewright.iron.builders.operations import build, builder, call_body, fill, new_block, region_op
from tilewright.iron.builders.scalars import as_i32
from tilewright.iron.builders.types import as_list, convert_type
from tilewright.iron.placed.dma import bds, pattern_of, split_mixed, tap_pattern

DIMENSIONS = 4  # three of the descriptor, and its repetition


class RuntimeSequenceOp(OpView):
    """What the controller does when the host calls it."""

    OP = RuntimeSequence

    def __init__(self, *, sym_name: str | None = None, loc: Any = None, ip: Any = None):
        super().__init__(build(RuntimeSequence, regions=[Region()], sym_name=sym_name, loc=loc, ip=ip))


def runtime_sequence(
    *inputs: Any, sym_name: str | None = None, context: Any = None
) -> Callable[[Callable[..., Any]], RuntimeSequenceOp]:
    """Write the sequence: `@runtime_sequence(types)` on a function whose parameters are its arguments.

    Array types are the host's buffers. Scalar types are numbers that the host gives when it runs the sequence. The
    function's name is the sequence's, and its parameters' names are the arguments'.
    """

    def decorate(body: Callable[..., Any]) -> RuntimeSequenceOp:
        view = RuntimeSequenceOp(sym_name=body.__name__ if sym_name is None else sym_name)
        fill(view.op.regions[0], body, [convert_type(type) for type in inputs])
        return view

    return decorate


class BDChainOp(OpView):
    """A chain of descriptors with open ends."""

    OP = BdChain


def bd_chain(*inputs: Any) -> Callable[[Callable[..., Any]], BDChainOp]:
    """Write a chain that sequences start with their buffers; the function takes the blocks, then the arguments."""

    def decorate(body: Callable[..., Any]) -> BDChainOp:
        view = BDChainOp(build(BdChain, regions=[Region()], sym_name=body.__name__))
        block = new_block(view.op.regions[0], [convert_type(type) for type in inputs])
        with bds(view) as blocks:
            call_body(body, blocks, *map(value_of, block.args))
        return view

    return decorate


def _configure(symbol: Any, *, expand_mode: Any = None, loc: Any = None, ip: Any = None) -> OpView:
    fields = {"symbol": symbol, "expand_mode": expand_mode}
    return OpView(build(configure_ops.ConfigureOp, regions=[Region()], loc=loc, ip=ip, **fields))


configure = region_op(_configure, name="configure")
run = builder(configure_ops.RunOp, "runtime_sequence_symbol args")
npu_load_pdi = builder(firmware.NpuLoadPdiOp, optional="device_ref id size address expand_mode")
npu_preempt = builder(firmware.NpuPreemptOp, "level")
npu_create_scratchpad = builder(firmware.NpuCreateScratchpadOp, "size", optional="usage_type")
scratchpad_parameter = builder(scratchpad.ScratchpadParameterOp, "sym_name type_=type", optional="state_table_idx kind")
sync_scratchpad_parameters_from_host = builder(scratchpad.SyncScratchpadParametersFromHostOp)


def read_scratchpad_parameter(name: str, result_type: Any) -> Any:
    """The value of a scratchpad parameter, inside a core."""
    op = build(scratchpad.ReadScratchpadParameterOp, results=[convert_type(result_type)], parameter=name)
    return value_of(op.results[0])


class NpuDmaMemcpyNd(OpView):
    """Sets up descriptor `bd_id` and starts a transfer between a host buffer and an object FIFO.

    Offsets, sizes and strides have four dimensions, outermost first, in elements; each may be a value of the sequence.
    A `tap` gives them instead. `dynamic_sizes` take the places of sizes, except for those that are None. `issue_token`
    lets `dma_wait` and `npu_sync` wait for it.
    """

    OP = NpuDmaMemcpyNdOp

    def __init__(
        self,
        metadata: Any,
        bd_id: int,
        mem: Any,
        tap: Any = None,
        offsets: Sequence[Any] | None = None,
        sizes: Sequence[Any] | None = None,
        strides: Sequence[Any] | None = None,
        issue_token: bool | None = None,
        burst_length: int = 0,
        packet: Any = None,
        offset_parameter: Any = None,
        *,
        dynamic_sizes: Sequence[Any] | None = None,
    ):
        if tap is not None:
            if not (offsets is None and sizes is None and strides is None):
                refuse(
                    "NpuDmaMemcpyNd can take either a TileAccessPattern OR (sizes and/or strides and/or offsets), but "
                    "not both."
                )
            pattern = tap_pattern(tap)
            # the offset of a pattern counts elements, as the innermost dimension does
            offsets, sizes, strides = [0, 0, 0, pattern.offset], pattern.sizes, pattern.strides
        if dynamic_sizes is not None:
            sizes = pattern_of("npu_dma_memcpy_nd", None, None, sizes, strides, dynamic_sizes).sizes
        lists = {
            "offsets": [0] * DIMENSIONS if offsets is None else as_list(offsets, "offsets"),
            "sizes": [0] * DIMENSIONS if sizes is None else as_list(sizes, "sizes"),
            "strides": [0, 0, 0, 1] if strides is None else as_list(strides, "strides"),
        }
        fields: dict[str, Any] = {}
        for name, values in lists.items():
            if len(values) != DIMENSIONS:
                refuse(f"npu_dma_memcpy_nd takes {DIMENSIONS} {name}, outermost first, not {len(values)}")
            fields[name], fields[f"static_{name}"] = split_mixed(values)
        op = build(
            NpuDmaMemcpyNdOp,
            memref=mem,
            metadata=metadata,
            id=bd_id,
            issue_token=issue_token,
            burst_length=burst_length,
            packet=packet,
            offset_parameter=offset_parameter,
            **fields,
        )
        super().__init__(op)


npu_dma_memcpy_nd = NpuDmaMemcpyNd  # upstream has both names


def npu_write32(
    address: Any, value: Any, buffer: Any = None, column: int | None = None, row: int | None = None, **kwargs: Any
) -> OpView:
    """Write a register, or a word of a buffer."""
    place = {"buffer": buffer, "column": column, "row": row}
    return OpView(build(ops.NpuWrite32Op, address=as_i32(address), value=as_i32(value), **place, **kwargs))


def npu_maskwrite32(
    address: Any,
    value: Any,
    mask: Any,
    buffer: Any = None,
    column: int | None = None,
    row: int | None = None,
    **kwargs: Any,
) -> OpView:
    """Write the bits of a register that the mask has."""
    values = {"address": as_i32(address), "value": as_i32(value), "mask": as_i32(mask)}
    return OpView(build(ops.NpuMaskWrite32Op, **values, buffer=buffer, column=column, row=row, **kwargs))


def npu_sync(
    column: Any, row: Any, direction: Any, channel: Any, column_num: Any = 1, row_num: Any = 1, **kwargs: Any
) -> OpView:
    """Wait for completion tokens of a channel."""
    numbers = {"column": column, "row": row, "direction": direction, "channel": channel}
    numbers |= {"column_num": column_num, "row_num": row_num}
    return OpView(build(ops.NpuSyncOp, **{name: as_i32(value) for name, value in numbers.items()}, **kwargs))


def npu_write32_dynamic(
    dyn_address: Any, dyn_value: Any, *, buffer: Any = None, column: int | None = None, row: int | None = None
) -> OpView:
    """`npu_write32`, under the name that it had when only this one took values of the sequence."""
    return npu_write32(dyn_address, dyn_value, buffer, column, row)


def npu_maskwrite32_dynamic(
    dyn_address: Any,
    dyn_value: Any,
    dyn_mask: Any,
    *,
    buffer: Any = None,
    column: int | None = None,
    row: int | None = None,
) -> OpView:
    """`npu_maskwrite32`, under the name that it had when only this one took values of the sequence."""
    return npu_maskwrite32(dyn_address, dyn_value, dyn_mask, buffer, column, row)


def npu_sync_dynamic(
    dyn_column: Any, dyn_row: Any, dyn_direction: Any, dyn_channel: Any, dyn_column_num: Any, dyn_row_num: Any
) -> OpView:
    """`npu_sync`, under the name that it had when only this one took values of the sequence."""
    return npu_sync(dyn_column, dyn_row, dyn_direction, dyn_channel, dyn_column_num, dyn_row_num)


def npu_address_patch(addr: int, arg_idx: int, arg_plus: Any, addr_val: Any = None, **kwargs: Any) -> OpView:
    """Put the address of an argument, plus an offset in bytes, in a descriptor."""
    register = () if addr_val is None else (as_i32(addr_val),)
    fields = {"addr": addr, "arg_idx": arg_idx, "arg_plus": as_i32(arg_plus), "values": register}
    return OpView(build(queue.NpuAddressPatchOp, **fields, **kwargs))


def npu_rtp_write(buffer: Any, index: int, value: Any, **kwargs: Any) -> OpView:
    """Write a runtime parameter."""
    return OpView(build(ops.NpuWriteRTPOp, buffer=buffer, index=index, value=as_i32(value), **kwargs))


def npu_push_queue(
    column: int,
    row: int,
    direction: Any,
    channel: int,
    issue_token: bool,
    repeat_count: Any,
    bd_id: Any,
    **kwargs: Any,
) -> OpView:
    """Give a channel's task queue a descriptor to start with."""
    place = {"column": column, "row": row, "direction": direction, "channel": channel, "issue_token": issue_token}
    task = {"repeat_count": as_i32(repeat_count), "bd_id": as_i32(bd_id)}
    return OpView(build(queue.NpuPushQueueOp, **place, **task, **kwargs))


npu_blockwrite = builder(ops.NpuBlockWriteOp, "address data", optional="buffer column row")
npu_dma_wait = builder(NpuDmaWaitOp, "symbol")
control_packet = builder(control.NpuControlPacketOp, "address opcode stream_id", optional="length data")
set_lock = builder(control.SetLockOp, "lock value")
dma_channel_reset = builder(control.DmaChannelResetOp, "tile direction channel")
dma_channel_reset_for = builder(control.DmaChannelResetForOp, "objfifo")
core_reset = builder(control.CoreResetOp, "tile")

# upstream's function has the fields in the order of the definition
_OPTIONAL_FIELDS = ("burst_length", "d3_stride")
npu_writebd = builder(
    NpuWriteBdOp,
    " ".join(name for name in FIELD_NAMES if name not in _OPTIONAL_FIELDS),
    optional=" ".join(_OPTIONAL_FIELDS),
)


def set_lock_value(lock: Any, value: int) -> OpView:
    """Set a lock from the runtime sequence."""
    return set_lock(lock, value)


def dma_wait(*args: Any) -> None:
    """Wait for the transfers of these object FIFOs or allocations, in order."""
    if not args:
        refuse("dma_wait must receive at least one dma_meta information to wait for")
    for fifo in args:
        npu_dma_wait(fifo)


def translate_npu_to_binary(module: Any, device_name: str = "", sequence_name: str = "") -> list[int]:
    """The TXN words of a runtime sequence that passes have lowered to register writes."""
    from tilewright.driver.translations import npu_words

    return npu_words(_module(module), device_name, sequence_name)


def generate_control_packets(module: Any, device_name: str = "") -> list[int]:
    """The words of the control packets in a runtime sequence."""
    from tilewright.driver.translations import packet_words

    return packet_words(_module(module), device_name)


def _module(given: Any) -> ModuleOp:
    op = given.op if isinstance(given, Module | OpView) else given
    if not isinstance(op, ModuleOp):
        refuse(f"expected a module, not {given!r}")
    return op
