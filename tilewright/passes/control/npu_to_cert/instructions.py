"""Instructions of the NPU's command processor as those of a column's microcontroller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from tilewright.device import DmaDirection
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.device.packets import CERT_ACTORS, cert_tile
from tilewright.dialects.aie.lookup import constant_value, device_model, symbol_name
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.block_data import data_global, word_bytes
from tilewright.dialects.aiex.cert import (
    CertLoadPdiOp,
    CertMaskWrite32Op,
    CertUcDmaBdOp,
    CertUcDmaWriteDesSyncOp,
    CertWaitTCTSOp,
    CertWrite32Op,
)
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.instructions import NpuBlockWriteOp, NpuMaskWrite32Op, NpuSyncOp, NpuWrite32Op, Placed
from tilewright.dialects.aiex.resolution import TILE_OFFSET, absolute_address, block_words
from tilewright.dialects.memref.buffers import GetGlobalOp, GlobalOp
from tilewright.ir.diagnostics import emit_warning, fail, fail_op
from tilewright.ir.symbols import FreeNames
from tilewright.passes.control.cert_chains import PAGE_BYTES, ChainMaker


def known_numbers(op: Operation, values: Sequence[SSAValue], complaint: str) -> list[int]:
    """Words that are known when compiling, as they must be: control code has no arithmetic."""
    numbers = [constant_value(value) for value in values]
    known = [number & WORD_MASK for number in numbers if number is not None]
    if len(known) < len(numbers):
        fail_op(op, complaint, (op, "only sequences without arguments that are numbers can be made control code"))
    return known


def _address(op: Placed, offset: int) -> int:
    address = absolute_address(op, offset)
    if op.column is not None and op.row is not None:
        column, row = op.column.value.data, op.row.value.data
        wanted, written = device_model(op).tile_address(column, row), offset & ~TILE_OFFSET
        if written not in (0, wanted):
            emit_warning(
                op,
                f"address upper bits (0x{written:X}) don't match row={row} col={column} computed bits (0x{wanted:X})",
            )
    return address


class Write32ToCert(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuWrite32Op, rewriter: PatternRewriter) -> None:
        complaint = "cannot lower to cert.write32 with non-constant address or value"
        address, value = known_numbers(op, (op.address, op.value), complaint)
        rewriter.replace(op, CertWrite32Op(_address(op, address), value))


class MaskWrite32ToCert(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuMaskWrite32Op, rewriter: PatternRewriter) -> None:
        complaint = "cannot lower to cert.maskwrite32 with non-constant address, mask, or value"
        address, mask, value = known_numbers(op, (op.address, op.mask, op.value), complaint)
        rewriter.replace(op, CertMaskWrite32Op(_address(op, address), mask, value))


class SyncToCert(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuSyncOp, rewriter: PatternRewriter) -> None:
        complaint = "cannot lower to cert.wait_tcts with non-constant sync parameters"
        values = (op.column, op.row, op.direction, op.channel)
        column, row, direction, channel = known_numbers(op, values, complaint)
        way = DmaDirection.S2MM if direction == DmaDirection.S2MM else DmaDirection.MM2S
        actors = CERT_ACTORS[device_model(op).tile_type(column, row)][way]
        if channel >= len(actors):
            text = f"invalid DMA channel {channel} for {way} direction in NpuSyncToCertWaitTCTS conversion"
            fail(op, text, (op, f"such a tile has {len(actors)} of them"))
        rewriter.replace(op, CertWaitTCTSOp(cert_tile(column, row), actors[channel], 1))


class LoadPdiToCert(RewritePattern):
    """Images have numbers by which the firmware knows that one is loaded already."""

    def __init__(self, device: DeviceOp):
        loads = [op for op in device.walk() if isinstance(op, CertLoadPdiOp)]
        self.numbers = {op.symbol.string_value(): op.pdi_id.value.data for op in loads}

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuLoadPdiOp, rewriter: PatternRewriter) -> None:
        if op.device_ref is None:
            fail_op(op, "names no device, so there is no section to load; give it a `device_ref`")
        name = op.device_ref.string_value()
        number = self.numbers.setdefault(name, max(self.numbers.values(), default=0) + 1)
        rewriter.replace(op, CertLoadPdiOp(number, name))


class BlockWriteToCert(RewritePattern):
    """A block becomes a chain that the microcontroller's DMA plays; one that fits no page becomes several."""

    def __init__(self, device: DeviceOp):
        self.globals = {name: op for op in device.body.ops if isinstance(op, GlobalOp) and (name := symbol_name(op))}
        self.names = FreeNames.beside(device.body)
        self.chains = ChainMaker(device)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuBlockWriteOp, rewriter: PatternRewriter) -> None:
        source = op.data.owner
        if not isinstance(source, GetGlobalOp):
            fail(op, "Only MemRefs from memref.get_global are supported")
        address, name = absolute_address(op, op.address.value.data), source.name_.string_value()
        for part, words in self._parts(op, name, block_words(op), rewriter):
            chain = self.chains.make(CertUcDmaBdOp(part, address, len(words)), op)
            rewriter.insert(CertUcDmaWriteDesSyncOp(chain))
            address += WORD_BYTES * len(words)
        rewriter.erase(op)

    def _parts(
        self, op: NpuBlockWriteOp, name: str, words: list[int], rewriter: PatternRewriter
    ) -> list[tuple[str, list[int]]]:
        """Globals with the words of a block: its own, or halves of it as long as they are too big."""
        if WORD_BYTES * len(words) < PAGE_BYTES:
            return [(name, words)]
        middle = len(words) // 2
        halves = [
            (self._add_global(name, f"{name}_split_{number}", half, rewriter), half)
            for number, half in enumerate((words[:middle], words[middle:]))
        ]
        return [part for half, content in halves for part in self._parts(op, half, content, rewriter)]

    def _add_global(self, original: str, name: str, words: list[int], rewriter: PatternRewriter) -> str:
        unique = self.names.like(name)
        created = data_global(unique, word_bytes(words))
        rewriter.insert(created, InsertPoint.before(self.globals[original]))
        self.globals[unique] = created
        return unique


def instruction_patterns(device: DeviceOp) -> Mapping[type[Operation], RewritePattern]:
    return {
        NpuBlockWriteOp: BlockWriteToCert(device),
        NpuMaskWrite32Op: MaskWrite32ToCert(),
        NpuWrite32Op: Write32ToCert(),
        NpuSyncOp: SyncToCert(),
        NpuLoadPdiOp: LoadPdiToCert(device),
    }
