"""Random designs, lowered all the way: nothing overlaps, nothing is lost, every route arrives; or an error says why.

What descriptors and locks are is read from the words of the configuration, as the hardware would.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate, pairwise

import pytest
from hypothesis import HealthCheck, event, given, settings
from random_designs import RandomDesign, random_designs

from tilewright.device import DeviceModel, DmaDirection, TileId, TileType, WireBundle
from tilewright.device.bd import BD_LAYOUTS
from tilewright.device.dma_registers import (
    ChannelId,
    ChannelRegister,
    ChannelRegisterRole,
    DescriptorWord,
    dma_register,
)
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.driver.compiled_design import devices_in
from tilewright.driver.device_configuration import configuration_stream
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import run_pipeline
from tilewright.passes.design.create_pathfinder_flows.nets import Request, requests_of
from tilewright.passes.design.create_pathfinder_flows.switch_settings import check_routes, read_settings
from tilewright.passes.pipelines import PLACEMENT, RESOURCES, ROUTING, pipeline_of
from tilewright.txn import Opcode, decode

SHORT = 60
EXAMPLES = int(os.environ.get("TILEWRIGHT_RANDOM_DESIGNS", SHORT))
"""How many designs; a longer run has others each time."""
RESOURCE_WORDS = "channel", "memory", "BD", "lock", "routing", "packet", "buffer descriptor"
Fields = dict[str, int]


class Lowered:
    """A design with everything assigned, and the registers that its configuration writes."""

    def __init__(self, text: str):
        ctx = make_context()
        module = parse_source(ctx, text, "random.mlir")
        run_pipeline(ctx, module, pipeline_of([*PLACEMENT, *RESOURCES]))
        (self.device,) = devices_in(module)
        self.requests: list[Request] = requests_of(self.device)
        run_pipeline(ctx, module, pipeline_of(ROUTING))
        self.model: DeviceModel = self.device.model
        self.bds: dict[tuple[TileId, int], Fields] = {}
        self.tasks: dict[ChannelId, Fields] = {}
        self._read(self.device)

    def _read(self, device: DeviceOp) -> None:
        words = defaultdict[tuple[TileId, int], dict[int, int]](dict)
        for address, value in _writes(device):
            match dma_register(self.model, address):
                case DescriptorWord(tile, bd, word):
                    words[tile, bd][word] = value
                case ChannelRegister(channel, ChannelRegisterRole.QUEUE):
                    assert channel not in self.tasks, f"{channel} is started twice"
                    self.tasks[channel] = self.model.registers(*channel.tile).queue.decode([value])
                case _:
                    pass
        for (tile, bd), parts in words.items():
            self.bds[tile, bd] = BD_LAYOUTS[self.model.tile_type(*tile)].decode([parts[n] for n in sorted(parts)])

    def ring(self, channel: ChannelId) -> list[int]:
        """The descriptors that a channel goes through, once around."""
        found, at = list[int](), self.tasks[channel]["start_bd_id"]
        while at not in found:
            found.append(at)
            bd = self.bds[channel.tile, at]
            if not bd["use_next_bd"]:
                break
            at = bd["next_bd"]
        return found


def _writes(device: DeviceOp) -> Iterator[tuple[int, int]]:
    for op in decode(configuration_stream(device).words).operations:
        if op.opcode == Opcode.BLOCKWRITE:
            yield from ((op.address + 4 * n, int(word)) for n, word in enumerate(op.payload))
        else:
            yield op.address, op.value


@settings(max_examples=EXAMPLES, derandomize=EXAMPLES <= SHORT, suppress_health_check=[HealthCheck.too_slow])
@given(random_designs())
def test_a_random_design_is_lowered_soundly_or_refused(design: RandomDesign) -> None:
    text = design.text()
    try:
        lowered = Lowered(text)
    except DiagnosedError as error:
        check_refusal(error)
        return
    event("lowered")
    check_locks(lowered)
    check_buffers(lowered)
    check_descriptors(lowered)
    assert check_routes(read_settings(lowered.device), lowered.model, lowered.requests) == []
    check_conservation(lowered, design)


def check_refusal(error: DiagnosedError) -> None:
    """One error that has a place and names what ran out."""
    first = error.diagnostics[0]
    text = str(error)
    event("refused: " + next((word for word in RESOURCE_WORDS if word in text), "?"))
    assert file_position(first.location) is not None, text
    assert any(word in text for word in RESOURCE_WORDS), text


def check_locks(lowered: Lowered) -> None:
    used = Counter[tuple[TileId | None, int]]()
    for op in lowered.device.walk():
        if isinstance(op, LockOp):
            assert op.lock_id is not None and op.place is not None
            assert 0 <= op.lock_id.value.data < lowered.model.num_locks(*op.place)
            used[op.place, op.lock_id.value.data] += 1
    assert all(count == 1 for count in used.values()), used


def check_buffers(lowered: Lowered) -> None:
    """Buffers of a tile lie in its memory, above the stack of its core, one beside the other."""
    spans = defaultdict[TileId, list[tuple[int, int]]](list)
    for op in lowered.device.walk():
        if isinstance(op, BufferOp):
            assert op.address is not None and op.place is not None
            spans[op.place].append((op.address.value.data, op.address.value.data + op.size_bytes))
        elif isinstance(op, CoreOp) and op.place is not None:
            spans[op.place].append((0, op.stack_bytes))
    for place, found in spans.items():
        ordered = sorted(found)
        assert ordered[-1][1] <= lowered.model.tile_resources(*place).data_memory_bytes
        assert all(end <= start for (_, end), (start, _) in pairwise(ordered)), (place, ordered)


def check_descriptors(lowered: Lowered) -> None:
    """Every channel goes round valid descriptors that it can reach and that it shares with no other channel."""
    owners = dict[tuple[TileId, int], ChannelId]()
    for channel in lowered.tasks:
        for bd in lowered.ring(channel):
            assert lowered.model.is_bd_channel_accessible(*channel.tile, bd, channel.number)
            assert lowered.bds[channel.tile, bd]["valid_bd"] and lowered.bds[channel.tile, bd]["lock_acq_enable"]
            assert owners.setdefault((channel.tile, bd), channel) == channel, f"BD {bd} of {channel.tile} has two users"


def check_conservation(lowered: Lowered, design: RandomDesign) -> None:
    """Both ends of every flow move whole elements of a fifo between their tiles."""
    for request in lowered.requests:
        source, dest = request.source, request.dest
        if WireBundle.DMA not in (source.port.bundle, dest.port.bundle):
            continue
        elements = {f.words for f in design.fifos if f.producer == source.tile and dest.tile in f.consumers}
        sent = lengths(lowered, ChannelId(source.tile, DmaDirection.MM2S, source.port.channel))
        received = lengths(lowered, ChannelId(dest.tile, DmaDirection.S2MM, dest.port.channel))
        assert any(_moves(sent, words) and _moves(received, words) for words in elements), (request, sent, received)


def lengths(lowered: Lowered, channel: ChannelId) -> list[int] | None:
    """Words that each descriptor of a channel moves; None for a channel that the sequence drives."""
    if channel not in lowered.tasks:
        return None
    return [lowered.bds[channel.tile, bd]["buffer_length"] for bd in lowered.ring(channel)]


def _moves(lengths: list[int] | None, element: int) -> bool:
    """Whether descriptors, one after the other, end with each element that they have begun."""
    if lengths is None:
        return True
    ends = set(accumulate(lengths))
    return ends.issuperset(range(element, sum(lengths) + 1, element)) and sum(lengths) % element == 0


@pytest.mark.parametrize("kind", [TileType.CoreTile, TileType.MemTile])
def test_exhaustion_names_the_resource(kind: TileType) -> None:
    row = 2 if kind is TileType.CoreTile else 1
    fifos = "\n".join(
        f"aie.objectfifo @f{n}(%shim, {{%tile}}, 2 : i32) {{via_DMA = true}} : !aie.objectfifo<memref<8xi32>>"
        for n in range(8)
    )
    text = f"aie.device(npu1) {{\n%shim = aie.tile(0, 0)\n%tile = aie.tile(0, {row})\n{fifos}\n}}\n"
    with pytest.raises(DiagnosedError, match="DMA channel"):
        Lowered(text)
