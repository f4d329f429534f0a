"""Where in the host's memory the traces of a runtime sequence go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FixedBitwidthType, MemRefType, i8
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aie.trace_config import TraceHostConfigOp, TraceStartConfigOp
from tilewright.ir.diagnostics import fail


@dataclass(frozen=True)
class HostBuffer:
    """The part of a sequence's host buffers that its traces are written to, for each channel that writes them."""

    sequence: RuntimeSequenceOp
    config: TraceHostConfigOp
    argument: int  # counts buffers: numbers among the arguments are not handed over as such
    offset_bytes: int

    @property
    def channel_bytes(self) -> int:
        return self.config.buffer_size.value.data

    @property
    def egress_column(self) -> int:
        return self.config.egress_shim_col.value.data

    def claim(self, channels: int) -> None:
        """Make room for what so many channels write, and forget the request for it."""
        if not self.config.reuse_output_buffer.value.data:
            self.sequence.add_argument(MemRefType(i8, [channels * self.channel_bytes]), "trace")
        Rewriter.erase_op(self.config)


def host_buffers(device: DeviceOp) -> list[HostBuffer]:
    """One for every sequence that has traces."""
    sequences = [op for op in device.body.ops if isinstance(op, RuntimeSequenceOp)]
    if not sequences:
        fail(device, "aie.trace ops found but no runtime_sequence defined")
    tracing = [sequence for sequence in sequences if _config(sequence) or _starts_traces(sequence)] or sequences[:1]
    buffers = [_buffer_of(sequence) for sequence in tracing]
    for buffer in buffers[1:]:
        if buffer.egress_column != buffers[0].egress_column:
            fail(
                buffer.config,
                f"egress_shim_col {buffer.egress_column} differs from that of another runtime_sequence; the device has "
                "one route for its traces",
                (buffers[0].config, f"here it is {buffers[0].egress_column}"),
            )
    return buffers


def _config(sequence: RuntimeSequenceOp) -> TraceHostConfigOp | None:
    return next((op for op in sequence.body.block.ops if isinstance(op, TraceHostConfigOp)), None)


def _starts_traces(sequence: RuntimeSequenceOp) -> bool:
    return any(isinstance(op, TraceStartConfigOp) for op in sequence.body.block.ops)


def _buffer_of(sequence: RuntimeSequenceOp) -> HostBuffer:
    config = _config(sequence)
    if config is None:
        fail(
            sequence,
            "runtime_sequence with traces requires aie.trace.host_config",
            (
                sequence,
                "add `aie.trace.host_config {buffer_size = BYTES : i32}` before its first aie.trace.start_config",
            ),
        )
    types = sequence.body.block.arg_types
    count = sum(isinstance(type, MemRefType) for type in types)
    if not config.reuse_output_buffer.value.data:
        return HostBuffer(sequence, config, count, 0)
    if not types:
        fail(
            sequence,
            "trace.host_config reuse_output_buffer requires the runtime_sequence to have at least one argument to "
            "reuse",
        )
    if count < len(types):
        fail(
            sequence,
            "trace.host_config reuse_output_buffer=true cannot be used with a dynamic (runtime-sized) "
            "runtime_sequence: the trace offset would be computed from the last tensor's maximum static size, not its "
            "runtime transfer size, so trace data would be written past the output buffer. Use a separate trace buffer "
            "instead (reuse_output_buffer=false)",
        )
    return HostBuffer(sequence, config, count - 1, _size_bytes(sequence, types[-1]))


def _size_bytes(sequence: RuntimeSequenceOp, buffer: Attribute) -> int:
    if isinstance(buffer, MemRefType) and buffer.has_static_shape():
        element = cast("MemRefType[Attribute]", buffer).element_type
        if isinstance(element, FixedBitwidthType):
            return buffer.element_count() * (element.bitwidth // 8)
    fail(sequence, "trace.host_config reuse_output_buffer needs a last argument whose size is known")
