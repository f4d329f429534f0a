"""Makes control code for the microcontrollers of columns of the sequences of a device.

Devices that it loads become sections of it: what their sequences called `configure` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, UnknownLoc
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import DmaDirection
from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.device.packets import CERT_ACTORS, cert_tile
from tilewright.dialects.aie.lookup import constant_value, device_model, lookup_symbol, symbol_name
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.blockwrite_data import DataGlobalRef, make_data_global, words_to_bytes
from tilewright.dialects.aiex.cert import (
    CertApplyOffset57Op,
    CertJobOp,
    CertLoadPdiOp,
    CertMaskWrite32Op,
    CertPageOp,
    CertSectionOp,
    CertUcDmaBdOp,
    CertUcDmaWriteDesSyncOp,
    CertWaitTCTSOp,
    CertWrite32Op,
)
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.instructions import (
    NpuBlockWriteOp,
    NpuMaskPollOp,
    NpuMaskWrite32Op,
    NpuSyncOp,
    NpuWrite32Op,
    Placed,
)
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.dialects.aiex.resolution import TILE_OFFSET, absolute_address, block_words
from tilewright.dialects.memref.buffers import GetGlobalOp, GlobalOp
from tilewright.ir.diagnostics import emit_warning, fail, fail_op
from tilewright.ir.symbols import FreeNames, unchanging_symbols
from tilewright.ir.traversal import all_operations
from tilewright.passes.control.cert_chains import PAGE_BYTES, ChainMaker, merge_chains
from tilewright.rewrite.driver import Config, rewrite
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.legalization import convert
from tilewright.rewrite.pass_bases import ModulePass, append_to, ops_of
from tilewright.rewrite.sequence_inlining import InlineRun, dissolve

CONFIGURE = "configure"
"""The sequence with which a device is set up; control code has it as its first job."""
DROP_DEAD = Config(top_down=False, remove_dead=True)


@dataclass(frozen=True)
class NpuToCertPass(ModulePass):
    name = "aie-npu-to-cert"

    device_name: str = field(default="main", metadata={"help": "the device to make control code for"})

    def apply_to(self, module: ModuleOp) -> None:
        devices = ops_of(module.ops, DeviceOp)
        main = next((device for device in devices if device.sym_name.data == self.device_name), None)
        if main is None:
            fail(module, f'no device found matching --device-name "{self.device_name}"')
        _lower(main, {device.sym_name.data: device for device in devices})
        for device in devices:
            if device is not main:
                Rewriter.erase_op(device)


def _lower(device: DeviceOp, devices: dict[str, DeviceOp]) -> None:
    sections = _add_sections(device, devices)
    sequences = ops_of(device.body.ops, RuntimeSequenceOp)
    _inline_runs(device, sequences)
    _make_jobs(device, sequences, sections)
    # Patches look for the block write before them, so these are still to be lowered then.
    convert(device, {NpuAddressPatchOp: AddressPatchToCert(device)})
    convert(
        device,
        {
            NpuBlockWriteOp: BlockWriteToCert(device),
            NpuMaskPollOp: RefuseMaskPoll(),
            NpuMaskWrite32Op: MaskWrite32ToCert(),
            NpuWrite32Op: Write32ToCert(),
            NpuSyncOp: SyncToCert(),
            NpuLoadPdiOp: LoadPdiToCert(device),
        },
    )
    rewrite(device, config=DROP_DEAD)
    merge_chains(device)
    for job in ops_of(all_operations(device), CertJobOp):
        # From the last on, so that the positions of those to come stay as they are.
        for argument in reversed(job.body.block.args):
            if not argument.uses:
                job.body.block.erase_arg(argument)


def _add_sections(device: DeviceOp, devices: dict[str, DeviceOp]) -> dict[RuntimeSequenceOp, str]:
    """Sequences that set up the devices that are loaded, each to become the section of that name."""
    loads = [op for op in all_operations(device) if isinstance(op, ConfigureOp | NpuLoadPdiOp)]
    sections: dict[RuntimeSequenceOp, str] = {}
    for load in loads:
        reference = load.symbol if isinstance(load, ConfigureOp) else load.device_ref
        name = reference.string_value() if reference is not None else ""
        if name in devices and name not in sections.values() and device.lookup(name) is None:
            sections[_run_configure(device, devices[name], load)] = name
    return sections


def _run_configure(device: DeviceOp, loaded: DeviceOp, load: Operation) -> RuntimeSequenceOp:
    runs = [RunOp(CONFIGURE, [])] if isinstance(loaded.lookup(CONFIGURE), RuntimeSequenceOp) else []
    if not runs:
        text = f"loading '{loaded.sym_name.data}' does nothing: it has no runtime sequence '{CONFIGURE}'"
        emit_warning(load, text).note(loaded, "--convert-aie-to-transaction adds one")
    properties = {"symbol": SymbolRefAttr(loaded.sym_name)}
    sequence = RuntimeSequenceOp()
    sequence.body.block.add_op(ConfigureOp.create(properties=properties, regions=[Region(Block(runs))]))
    append_to(device.body, sequence, load.location)
    return sequence


def _inline_runs(device: DeviceOp, sequences: Sequence[RuntimeSequenceOp]) -> None:
    for run in ops_of(all_operations(device), RunOp):
        callee = run.sequence
        expected = len(callee.body.block.args) if callee is not None else len(run.args)
        if len(run.args) != expected:
            fail(
                run,
                f"number of run op arguments ({len(run.args)}) does not match number of callee runtime sequence "
                f"arguments ({expected})",
            )
    if sequences:
        with unchanging_symbols():  # of what is looked up: callees, and what they refer to
            rewrite(device, InlineRun(device, sequences[0]), config=DROP_DEAD)


def _make_jobs(
    device: DeviceOp, sequences: Sequence[RuntimeSequenceOp], sections: dict[RuntimeSequenceOp, str]
) -> None:
    numbers = [job.number for job in ops_of(all_operations(device), CertJobOp)]
    for sequence in sequences:
        _dissolve_configures(sequence, load=sequence not in sections)
    for sequence, name in sections.items():
        numbers.append(max(numbers, default=0) + 1)
        _replace(sequence, CertSectionOp(name, [_page(sequence, numbers[-1])]))
    for sequence in sequences:
        if sequence not in sections:
            # Control code begins with job 1, which sets the device up.
            numbers.append(1 if sequence.sym_name.data == CONFIGURE else max(numbers, default=1) + 1)
            _replace(sequence, _page(sequence, numbers[-1]))


def _dissolve_configures(sequence: RuntimeSequenceOp, *, load: bool) -> None:
    """Put what runs on a configuration behind the instruction that loads it."""
    for configure in ops_of(sequence.body.ops, ConfigureOp):
        if load:
            Emitter.before(configure).insert(NpuLoadPdiOp(configure.symbol.string_value()))
        dissolve(configure)


def _page(sequence: RuntimeSequenceOp, number: int) -> CertPageOp:
    """A page with what a sequence does as its only job."""
    return CertPageOp([CertJobOp(number, sequence.detach_region(sequence.body))])


def _replace(sequence: RuntimeSequenceOp, replacement: Operation) -> None:
    for op in replacement.walk():
        if isinstance(op.location, UnknownLoc):
            op.location = sequence.location
    Rewriter.insert_op(replacement, InsertPoint.before(sequence))
    Rewriter.erase_op(sequence)


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


class RefuseMaskPoll(RewritePattern):
    """The dialect of control code has no instruction that polls."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NpuMaskPollOp, rewriter: PatternRewriter) -> None:
        fail_op(op, "cannot be made control code, which has no polls", (op, "wait for a token with aiex.npu.sync"))


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
        loads = ops_of(all_operations(device), CertLoadPdiOp)
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
        # A chain and its data must be in one page.
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
        created = make_data_global(unique, words_to_bytes(words))
        rewriter.insert(created, InsertPoint.before(self.globals[original]))
        self.globals[unique] = created
        return unique


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
        argument = op.number("arg_idx")
        if op.addr_val is not None or not isinstance(argument, int):
            fail_op(op, "cannot lower to cert.apply_offset_57 with a runtime register or argument")
        block = _block_before(op)
        source = block.data.owner if block is not None else None
        if block is None or not isinstance(source, GetGlobalOp):
            fail_op(op, "needs a blockwrite of the descriptor at this address right before it")
        if offset:
            source = self._with_offset(block, source, offset, rewriter)
        patch = CertApplyOffset57Op(source.name_.string_value(), 1, argument)
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
        unique = self.names.numbered(f"{source.name_.string_value()}_at_{offset}_")
        original = lookup_symbol(block, source.name_)
        assert original is not None, "its words have been read"
        data = make_data_global(unique, words_to_bytes(words))
        rewriter.insert(data, InsertPoint.after(original))
        moved = DataGlobalRef.of(data).read()
        rewriter.insert(moved, InsertPoint.before(block))
        block.operands = [moved.memref]
        return moved


def _block_before(op: NpuAddressPatchOp) -> NpuBlockWriteOp | None:
    """The last block write before a patch, if it writes the descriptor that is patched."""
    # Lowered transfers write the descriptor first and patch it right after.
    previous: Operation | None = op.prev_op
    while previous is not None and not isinstance(previous, NpuBlockWriteOp):
        previous = previous.prev_op
    if previous is None:
        return None
    address = absolute_address(previous, previous.address.value.data) + WORD_BYTES * _address_word(previous)
    return previous if address == op.addr.value.data else None


def _address_word(block: NpuBlockWriteOp) -> int:
    """Which word of a descriptor holds its address."""
    model = device_model(block)
    place, _ = model.locate(absolute_address(block, block.address.value.data))
    return model.registers(*place).bd_address_word
