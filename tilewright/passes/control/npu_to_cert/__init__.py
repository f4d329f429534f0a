"""Makes control code for the microcontrollers of columns of the sequences of a device.

Devices that it loads become sections of it: what their sequences called `configure` do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, UnknownLoc
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.cert import CertJobOp, CertPageOp, CertSectionOp
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.dialects.aiex.firmware import NpuLoadPdiOp
from tilewright.dialects.aiex.queue import NpuAddressPatchOp
from tilewright.ir.diagnostics import emit_warning, fail
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.passes.control.cert_chains import merge_chains
from tilewright.passes.control.npu_to_cert.address_patches import AddressPatchToCert
from tilewright.passes.control.npu_to_cert.instructions import instruction_patterns
from tilewright.rewrite.driver import Config, rewrite
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.legalization import convert
from tilewright.rewrite.sequence_inlining import InlineRun

CONFIGURE = "configure"
"""The sequence with which a device is set up; control code has it as its first job."""
DROP_DEAD = Config(top_down=False, remove_dead=True)


@dataclass(frozen=True)
class NpuToCertPass(Pass):
    name = "aie-npu-to-cert"

    device_name: str = field(default="main", metadata={"help": "the device to make control code for"})

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        devices = [child for child in op.ops if isinstance(child, DeviceOp)]
        main = next((device for device in devices if device.sym_name.data == self.device_name), None)
        if main is None:
            fail(op, f'no device found matching --device-name "{self.device_name}"')
        _lower(main, {device.sym_name.data: device for device in devices})
        for device in devices:
            if device is not main:
                Rewriter.erase_op(device)


def _lower(device: DeviceOp, devices: dict[str, DeviceOp]) -> None:
    sections = _add_sections(device, devices)
    sequences = [op for op in device.body.ops if isinstance(op, RuntimeSequenceOp)]
    _inline_runs(device, sequences)
    _make_jobs(device, sequences, sections)
    convert(device, {NpuAddressPatchOp: AddressPatchToCert(device)})
    convert(device, instruction_patterns(device))
    rewrite(device, config=DROP_DEAD)
    merge_chains(device)
    for job in [op for op in device.walk() if isinstance(op, CertJobOp)]:
        _drop_unused_arguments(job.body.block)


def _add_sections(device: DeviceOp, devices: dict[str, DeviceOp]) -> dict[RuntimeSequenceOp, str]:
    """Sequences that set up the devices that are loaded, each to become the section of that name."""
    loads = [op for op in device.walk() if isinstance(op, ConfigureOp | NpuLoadPdiOp)]
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
    symbol = SymbolRefAttr(loaded.sym_name)
    configure = ConfigureOp.create(properties={"symbol": symbol}, regions=[Region(Block(runs))])
    sequence = RuntimeSequenceOp()
    sequence.body.block.add_op(configure)
    for op in sequence.walk():
        op.location = load.location
    end = device.body.last_op
    assert end is not None
    Rewriter.insert_op(sequence, InsertPoint.before(end))
    return sequence


def _inline_runs(device: DeviceOp, sequences: Sequence[RuntimeSequenceOp]) -> None:
    for run in [op for op in device.walk() if isinstance(op, RunOp)]:
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
    numbers = [op.number for op in device.walk() if isinstance(op, CertJobOp)]
    for sequence in sequences:
        _dissolve_configures(sequence, load=sequence not in sections)
    for sequence, name in sections.items():
        numbers.append(max(numbers, default=0) + 1)
        _replace(sequence, CertSectionOp(name, [_page(sequence, numbers[-1])]))
    for sequence in sequences:
        if sequence not in sections:
            numbers.append(1 if sequence.sym_name.data == CONFIGURE else max(numbers, default=1) + 1)
            _replace(sequence, _page(sequence, numbers[-1]))


def _dissolve_configures(sequence: RuntimeSequenceOp, *, load: bool) -> None:
    """Put what runs on a configuration behind the instruction that loads it."""
    for configure in [op for op in sequence.body.ops if isinstance(op, ConfigureOp)]:
        if load:
            Emitter.before(configure).insert(NpuLoadPdiOp(configure.symbol.string_value()))
        for op in configure.inside:
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(configure))
        Rewriter.erase_op(configure)


def _page(sequence: RuntimeSequenceOp, number: int) -> CertPageOp:
    """A page with what a sequence does as its only job."""
    return CertPageOp([CertJobOp(number, sequence.detach_region(sequence.body))])


def _replace(sequence: RuntimeSequenceOp, replacement: Operation) -> None:
    for op in replacement.walk():
        if isinstance(op.location, UnknownLoc):
            op.location = sequence.location
    Rewriter.insert_op(replacement, InsertPoint.before(sequence))
    Rewriter.erase_op(sequence)


def _drop_unused_arguments(block: Block) -> None:
    for argument in reversed(block.args):
        if not argument.uses:
            block.erase_arg(argument)
