"""Addresses of host buffers in descriptors, which the microcontroller adds to what it is about to write."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.dialects.aie.lookup import device_model, lookup_symbol
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.block_data import DataName, data_global, word_bytes
from tilewright.dialects.aiex.cert import CertApplyOffset57Op
from tilewright.dialects.aiex.instructions import NpuBlockWriteOp
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.dialects.aiex.resolution import absolute_address, block_words
from tilewright.dialects.memref.buffers import GetGlobalOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.symbols import FreeNames
from tilewright.passes.control.npu_to_cert.instructions import known_numbers


class AddressPatchToCert(RewritePattern):
    """The address of an argument is added to the words of a descriptor before they are written.

    What is to be added to it besides is in the words already, or put there.
    """

    def __init__(self, device: DeviceOp):
        self.names = FreeNames.beside(device.body)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuAddressPatchOp, rewriter: PatternRewriter) -> None:
        complaint = "cannot lower to cert.apply_offset_57 with a non-constant offset"
        (offset,) = known_numbers(op, [op.arg_plus], complaint)
        block = _block_before(op)
        source = block.data.owner if block is not None else None
        if block is None or not isinstance(source, GetGlobalOp):
            fail_op(op, "needs a blockwrite of the descriptor at this address right before it")
        if offset:
            source = self._with_offset(block, source, offset, rewriter)
        patch = CertApplyOffset57Op(source.name_.string_value(), 1, op.arg_idx.value.data)
        rewriter.insert(patch, InsertPoint.before(block))
        rewriter.erase(op)

    def _with_offset(
        self, block: NpuBlockWriteOp, source: GetGlobalOp, offset: int, rewriter: PatternRewriter
    ) -> GetGlobalOp:
        """Let a block write words in which the address of the descriptor is so much larger."""
        words = [word & WORD_MASK for word in block_words(block)]
        number = _address_word(block)
        words[number] += offset
        if words[number] > WORD_MASK:
            fail_op(block, f"has an address of {words[number]:#x} in its descriptor, which has 32 bits of it")
        name = source.name_.string_value()
        unique = self.names.numbered(f"{name}_at_{offset}_")
        original = lookup_symbol(block, source.name_)
        assert original is not None, "its words have been read"
        data = data_global(unique, word_bytes(words))
        rewriter.insert(data, InsertPoint.after(original))
        moved = DataName.of(data).read()
        rewriter.insert(moved, InsertPoint.before(block))
        block.operands = [moved.memref]
        return moved


def _block_before(op: NpuAddressPatchOp) -> NpuBlockWriteOp | None:
    """The last block write before a patch, if it writes the descriptor that is patched."""
    previous: Operation | None = op.prev_op
    while previous is not None and not isinstance(previous, NpuBlockWriteOp):
        previous = previous.prev_op
    if previous is None:
        return None
    address = absolute_address(previous, previous.address.value.data)
    patched = op.addr.value.data
    return previous if address + WORD_BYTES * _address_word(previous) == patched else None


def _address_word(block: NpuBlockWriteOp) -> int:
    """Which word of a descriptor holds its address."""
    model = device_model(block)
    place, _ = model.locate(absolute_address(block, block.address.value.data))
    return model.registers(*place).bd_address_word
