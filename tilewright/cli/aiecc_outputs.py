"""Outputs of the driver that are made here: which stage each is made from, and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from tilewright.cli.aiecc_stages import ADDRESSED, LOWERED, PHYSICAL, Stages
from tilewright.cli.files import read_bytes, write_folder
from tilewright.cli.package import creation_time, read_kind
from tilewright.cli.translate import configuration_files, lowered_to_cpp
from tilewright.cli.translate_arguments import TranslateArguments
from tilewright.codegen.location_map import location_map_json
from tilewright.codegen.static_words import StaticWords, static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.containers.control_elf import instructions_elf
from tilewright.containers.embedded_design import EmbeddedDesign
from tilewright.containers.packaging import KernelNames, packet_buffers
from tilewright.containers.xclbin import Xclbin
from tilewright.device import TileId
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp, scalar_arguments
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.blockwrite_data import words_to_bytes
from tilewright.dialects.aiex.control_packets import control_packet_words
from tilewright.dialects.aiex.scratchpad import ScratchpadParameterOp
from tilewright.driver.compiled_design import Design, devices_in, sequences_in
from tilewright.driver.core_programs import core_name
from tilewright.driver.device_images import DeviceImage, full_elf, full_elf_files
from tilewright.driver.packaged_design import packaged_design
from tilewright.driver.translations import sequence_in
from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, Severity, emit_diagnostic, fail
from tilewright.ir.pass_manager import Pass, Pipeline, run_pipeline
from tilewright.native.peano import has_peano
from tilewright.passes.control.convert_aie_to_transaction import ConvertAieToTransactionPass
from tilewright.passes.pipelines import passes_of
from tilewright.passes.sequence.lower_scratchpad_parameters import parameters_text
from tilewright.rewrite.pass_bases import ops_of
from tilewright.support.output_files import FileNames
from tilewright.support.structure import ContainerError


class Item(NamedTuple):
    """A file of an output: what it is made from, and how. A maker that gives nothing has written it itself."""

    path: Path
    op: Operation
    make: Callable[[], bytes | None]


class DriverOutput(NamedTuple):
    """An output that was asked for: the stage that it is made from, and its files in what that stage makes."""

    name: str
    stage: str
    items: Callable[[ModuleOp], Iterator[Item]]


def place(stages: Stages, template: str, *names: str) -> Path:
    """The file of an output: names take the places of numbers in braces, and make no paths."""
    stems = {f"{{{number}}}": FileNames().stem(name) for number, name in enumerate(names)}
    # at once: a name may itself have braces
    file = re.sub(r"\{\d+\}", lambda found: stems.get(found[0], found[0]), template)
    return Path(stages.arguments.output_dir) / file


def text_of(stage: str, directory: Path, text: Callable[[ModuleOp], bytes]) -> DriverOutput:
    """What a stage makes, as text."""

    def items(module: ModuleOp) -> Iterator[Item]:
        yield Item(directory / stage, module, partial(text, module))

    return DriverOutput(stage, stage, items)


def packets_are_instructions(stages: Stages) -> bool:
    """Older drivers wrote the words that send control packets in place of those of the sequence."""
    arguments = stages.arguments
    return arguments.is_old and {"ctrlpkt", "npu-insts"} <= {*arguments.asked}


def _instructions_path(stages: Stages, device: str, sequence: str) -> Path:
    arguments = stages.arguments
    template = arguments.npu_insts_name or ("{0}_{1}.bin" if arguments.is_old else "insts_{0}.bin")
    # older drivers had two numbers
    if arguments.is_old or "{1}" in template:
        return place(stages, template, device, sequence)
    return place(stages, template, f"{device}_{sequence}")


def _device(sequence: RuntimeSequenceOp) -> DeviceOp:
    device = sequence.parent_op()
    assert isinstance(device, DeviceOp), "sequences are looked for in devices"
    return device


def _key(sequence: RuntimeSequenceOp) -> tuple[str, str]:
    return _device(sequence).sym_name.data, sequence.sym_name.data


def static_stream(stages: Stages, sequence: RuntimeSequenceOp) -> StaticWords:
    """The words of a sequence; where its scalars are in them, the error says what to ask for instead."""
    emitter = TxnEmitter(_device(sequence), fold_ddr_offsets=stages.arguments.fold_ddr_offsets)
    try:
        return static_words(sequence, emitter)
    except DiagnosedError as error:
        if scalar_arguments(sequence):
            remedy = "--get-txn-cpp writes a C++ header that makes the words for any values of its scalars"
            error.diagnostics[-1].note(sequence.location, remedy)
        raise


def _with_addresses(stages: Stages) -> Iterator[DriverOutput]:
    yield text_of(ADDRESSED, Path(stages.arguments.output_dir), partial(stages.text, ADDRESSED))


def _parameters(stages: Stages) -> Iterator[DriverOutput]:
    def items(module: ModuleOp) -> Iterator[Item]:
        found = ops_of(module.walk(), ScratchpadParameterOp)
        yield Item(place(stages, "params.txt"), module, lambda: parameters_text(found).encode())

    yield DriverOutput("params.txt", ADDRESSED, items)


def _instructions(stages: Stages) -> Iterator[DriverOutput]:
    def words(sequence: RuntimeSequenceOp) -> bytes:
        return words_to_bytes(static_stream(stages, sequence).words)

    def items(module: ModuleOp) -> Iterator[Item]:
        for sequence in stages.sequences(module):
            path = _instructions_path(stages, *_key(sequence))
            yield Item(path, sequence, partial(words, sequence))

    if not packets_are_instructions(stages):
        yield DriverOutput("insts_{0}.bin", LOWERED, items)


def _location_maps(stages: Stages) -> Iterator[DriverOutput]:
    def location_map(sequence: RuntimeSequenceOp, binary: str) -> bytes:
        device = _device(sequence)
        entries = static_stream(stages, sequence).entries
        return location_map_json(entries, device.model, device.sym_name.data, binary).encode()

    def items(module: ModuleOp) -> Iterator[Item]:
        for sequence in stages.sequences(module):
            binary = _instructions_path(stages, *_key(sequence))
            path = binary.with_name(f"{binary.name}.locmap.json")
            yield Item(path, sequence, partial(location_map, sequence, binary.name))

    yield DriverOutput("insts_{0}.bin.locmap.json", LOWERED, items)


def _cpp(stages: Stages) -> Iterator[DriverOutput]:
    template = stages.arguments.txn_cpp_name
    # sequences that run others have these in them, and the rest is lowered as `translate` does it
    stage = next(name for name in ("npu_expanded.mlir", "npu_materialized.mlir", PHYSICAL) if name in stages.before)

    def header(module: ModuleOp, devices: Sequence[str]) -> bytes:
        copy = module.clone()
        chosen = {*stages.sequences(copy)}
        for device in devices_in(copy):
            for sequence in sequences_in(device):
                if sequence not in chosen or device.sym_name.data not in devices:
                    Rewriter.erase_op(sequence)
        text = lowered_to_cpp(stages.ctx, copy, TranslateArguments(fold_ddr_offsets=stages.arguments.fold_ddr_offsets))
        assert isinstance(text, str)
        return text.encode()

    def items(module: ModuleOp) -> Iterator[Item]:
        names = list(dict.fromkeys(_key(sequence)[0] for sequence in stages.sequences(module)))
        # one header for all devices, unless its name says which
        groups = [[name] for name in names] if "{0}" in template else [names] if names else []
        for group in groups:
            yield Item(place(stages, template, group[0]), module, partial(header, module, group))

    yield DriverOutput(template, stage, items)


def _configured(stages: Stages, module: ModuleOp, device: DeviceOp, *order: str) -> ModuleOp:
    """A copy of a program in which a sequence of the device configures it, after some more passes."""
    copy, name = module.clone(), device.sym_name.data
    stages.load_programs(copy)
    load = not stages.arguments.without_programs
    first: list[Pass] = [ConvertAieToTransactionPass(device_name=name, load_elfs=load)]
    run_pipeline(stages.ctx, copy, Pipeline(steps=[Pipeline(DeviceOp.name, [*first, *passes_of(order)])]))
    return copy


def _transactions(stages: Stages) -> Iterator[DriverOutput]:
    template = stages.arguments.txn_name

    def transaction(module: ModuleOp, device: DeviceOp) -> bytes:
        return stages.text(LOWERED, _configured(stages, module, device))

    def items(module: ModuleOp) -> Iterator[Item]:
        for device in stages.devices(module):
            path = place(stages, template, device.sym_name.data)
            yield Item(path, device, partial(transaction, module, device))

    yield DriverOutput(template, LOWERED, items)


def _packets(stages: Stages) -> Iterator[DriverOutput]:
    arguments = stages.arguments
    # a full ELF file has them in it
    if arguments.load_pdi_to_ctrl_pkt and "full-elf" in arguments.asked:
        return

    def packets(module: ModuleOp, device: DeviceOp) -> bytes:
        return words_to_bytes(control_packet_words(*lowered(module, device)))

    def sending(module: ModuleOp, device: DeviceOp) -> bytes:
        owner, sequence = sent(module, device)
        return words_to_bytes(
            static_words(sequence, TxnEmitter(owner, fold_ddr_offsets=arguments.fold_ddr_offsets)).words
        )

    def sent(module: ModuleOp, device: DeviceOp) -> tuple[DeviceOp, RuntimeSequenceOp]:
        return lowered(module, device, "aie-ctrl-packet-to-dma", "aie-dma-to-npu")

    def lowered(module: ModuleOp, device: DeviceOp, *order: str) -> tuple[DeviceOp, RuntimeSequenceOp]:
        copy = _configured(stages, module, device, "aie-txn-to-ctrl-packet", "aie-legalize-ctrl-packet", *order)
        found = next(each for each in devices_in(copy) if each.sym_name == device.sym_name)
        return found, sequence_in(found, "")

    def sending_path(device: str) -> Path:
        if packets_are_instructions(stages):
            return _instructions_path(stages, device, "seq")
        return place(stages, arguments.ctrlpkt_dma_seq_name, device)

    def items(
        make: Callable[[ModuleOp, DeviceOp], bytes], path: Callable[[str], Path], module: ModuleOp
    ) -> Iterator[Item]:
        for device in stages.devices(module):
            yield Item(path(device.sym_name.data), device, partial(make, module, device))

    def elf(module: ModuleOp, device: DeviceOp) -> bytes:
        data, (_, sequence) = packets(module, device), sent(module, device)
        # the buffer that packets are sent from comes behind all others
        buffers = packet_buffers(len(sequence.body.block.args) - 1, len(data))
        if arguments.dump_intermediates:
            name = f"ctrlpkt_extbuf_{FileNames().stem(device.sym_name.data)}.json"
            write_folder(arguments.work_directory, {name: json.dumps(buffers, indent=2, sort_keys=True).encode()})
        with _explained(device):
            return instructions_elf(sending(module, device), data, buffers).write()

    packets_path = partial(place, stages, arguments.ctrlpkt_name)
    yield DriverOutput(arguments.ctrlpkt_name, stages.configured, partial(items, packets, packets_path))
    yield DriverOutput(arguments.ctrlpkt_dma_seq_name, stages.configured, partial(items, sending, sending_path))
    # older drivers made it only when it was asked for
    if "elf" in arguments.asked or not arguments.is_old:
        name = arguments.elf_name if "elf" in arguments.asked else arguments.ctrlpkt_elf_name
        yield DriverOutput(name, stages.configured, partial(items, elf, partial(place, stages, name)))


def _cdo_files(stages: Stages) -> Iterator[DriverOutput]:
    arguments = stages.arguments

    def write(module: ModuleOp, device: str, directory: Path) -> None:
        given = TranslateArguments(device_name=device, work_directory=str(directory))
        configuration_files(stages.ctx, module, given)

    def items(module: ModuleOp) -> Iterator[Item]:
        for device in stages.devices(module):
            name = device.sym_name.data
            # older drivers left them among the intermediate files
            folder = arguments.work_directory if arguments.is_old else place(stages, "cdo_{0}", name)
            shown = folder / f"{name}_aie_cdo_*.bin"
            yield Item(shown, device, partial(write, module, name, folder))

    yield DriverOutput("cdo_{0}", stages.configured, items)


def _image(stages: Stages, device: DeviceOp) -> DeviceImage:
    files = {} if stages.arguments.without_programs else stages.programs(device)
    return DeviceImage(device, {place: read_bytes(str(path)) for place, path in files.items()})


@contextmanager
def _explained(where: Operation) -> Generator[None]:
    """What a container cannot hold is an error of the device or sequence that it is made from."""
    try:
        yield
    except ContainerError as error:
        fail(where, str(error))


def _device_images(stages: Stages) -> Iterator[DriverOutput]:
    def pdi(device: DeviceOp) -> bytes:
        with _explained(device):
            return _image(stages, device).pdi.write()

    def items(module: ModuleOp) -> Iterator[Item]:
        for device in stages.devices(module):
            yield Item(place(stages, stages.arguments.pdi_name, device.sym_name.data), device, partial(pdi, device))

    yield DriverOutput("{0}.pdi", stages.configured, items)


def _containers(stages: Stages) -> Iterator[DriverOutput]:
    arguments = stages.arguments

    def xclbin(module: ModuleOp, device: DeviceOp, path: Path) -> bytes:
        kernel = KernelNames(arguments.xclbin_kernel_name, arguments.xclbin_instance_name, arguments.xclbin_kernel_id)
        base = read_kind(arguments.xclbin_input, Xclbin, "xclbin") if arguments.xclbin_input else None
        image = _image(stages, device)
        with _explained(device):
            if arguments.dump_intermediates:
                write_folder(arguments.work_directory, _documents(stages, image, kernel))
            design = _embedded(stages, module, image, path)
            made = image.xclbin(
                kernel, sequence=arguments.sequence_name, design=design, base=base, timestamp=creation_time()
            )
            return made.write()

    def items(module: ModuleOp) -> Iterator[Item]:
        for device in _packaged(stages, module):
            path = place(stages, arguments.xclbin_name, device.sym_name.data)
            yield Item(path, device, partial(xclbin, module, device, path))

    yield DriverOutput("aie.xclbin", LOWERED, items)


def _documents(stages: Stages, image: DeviceImage, kernel: KernelNames) -> dict[str, bytes]:
    """The files that upstream's driver hands to xclbinutil, under its names."""
    folder, stem = stages.arguments.work_directory.absolute(), image.file_stem
    made = image.documents(kernel, stages.arguments.sequence_name, folder)
    texts = {"memTopology": made.memory, "kernels": made.kernels, "partition": made.partition}
    files = {f"{name}_{stem}.json": json.dumps(it, indent=2, sort_keys=True).encode() for name, it in texts.items()}
    return files | {f"{stem}.pdi": image.pdi.write()}


def _packaged(stages: Stages, module: ModuleOp) -> list[DeviceOp]:
    """The devices that get a container: all, or the one that sequences run on where its name can only be one's."""
    devices = stages.devices(module)
    with_sequences = [device for device in devices if sequences_in(device)]
    if "{0}" in stages.arguments.xclbin_name or len(devices) == 1:
        return devices
    named = [device for device in devices if device.sym_name.data == stages.arguments.device_name]
    return named or (with_sequences if len(with_sequences) == 1 else devices)


def _embedded(stages: Stages, module: ModuleOp, image: DeviceImage, path: Path) -> EmbeddedDesign | None:
    """What the simulator needs of a design; that cores have no machine code is said."""
    missing = image.cores_without_code
    if missing:
        cores = ", ".join(f"({core.place.column}, {core.place.row})" for core in missing if core.place is not None)
        only = "is for the simulator alone" if not stages.arguments.no_design else "does nothing there"
        text = f"no machine code for {f'core {cores}' if len(missing) == 1 else f'cores {cores}'}: '{path}' {only}"
        remedy = "name their programs with --core-elf COL,ROW=FILE, or the compiler with --peano"
        warning = Diagnostic(Severity.WARNING, text, missing[0].location)
        emit_diagnostic(warning.note(missing[0].location, remedy))
    if stages.arguments.no_design:
        return None
    return packaged_design(Design(module), image.device.sym_name.data, image.programs, image.uuid)


def _full_elf(stages: Stages) -> Iterator[DriverOutput]:
    path = place(stages, stages.arguments.full_elf_name)

    def elf(module: ModuleOp) -> bytes:
        images = [_image(stages, device) for device in stages.devices(module)]
        main = next((image for image in images if sequences_in(image.device)), images[0])
        with _explained(main.device):
            if stages.arguments.dump_intermediates:
                folder = stages.arguments.work_directory
                write_folder(folder, full_elf_files(images, folder.absolute(), stages.arguments.sequence_name))
            design = _embedded(stages, module, main, path)
            return full_elf(images, sequence=stages.arguments.sequence_name, design=design).write()

    def items(module: ModuleOp) -> Iterator[Item]:
        yield Item(path, module, partial(elf, module))

    yield DriverOutput("aie.elf", LOWERED, items)


def _instruction_elfs(stages: Stages) -> Iterator[DriverOutput]:
    arguments = stages.arguments

    def elf(sequence: RuntimeSequenceOp) -> bytes:
        with _explained(sequence):
            return instructions_elf(words_to_bytes(static_stream(stages, sequence).words)).write()

    def items(module: ModuleOp) -> Iterator[Item]:
        for sequence in stages.sequences(module):
            yield Item(place(stages, arguments.elf_name, "_".join(_key(sequence))), sequence, partial(elf, sequence))

    # with control packets, the file of that name sends them
    if "ctrlpkt" not in arguments.asked:
        yield DriverOutput("design.elf", LOWERED, items)


def _core_programs(stages: Stages) -> Iterator[DriverOutput]:
    def items(module: ModuleOp) -> Iterator[Item]:
        for device in stages.devices(module):
            for core in ops_of(device.body.ops, CoreOp):
                if core.place is not None and core.elf_file is None:
                    stem = f"elfs_{core_name(device, core.place)}"
                    path = place(stages, f"{stem}/{stem}.elf")
                    yield Item(path, core, partial(program, device, core.place))

    def program(device: DeviceOp, where: TileId) -> bytes:
        return stages.programs(device)[where].read_bytes()

    if has_peano(stages.arguments.peano) and not stages.arguments.without_programs:
        yield DriverOutput("elfs_{0}.elf", PHYSICAL, items)


MAKERS: dict[str, Callable[[Stages], Iterator[DriverOutput]]] = {
    "npu-insts": _instructions,
    "locmap": _location_maps,
    "txn-cpp": _cpp,
    "input-with-addresses": _with_addresses,
    "scratchpad-parameters": _parameters,
    "txn": _transactions,
    "ctrlpkt": _packets,
    "cdo": _cdo_files,
    "core-elfs": _core_programs,
    "elf": _instruction_elfs,
    "pdi": _device_images,
    "xclbin": _containers,
    "full-elf": _full_elf,
}
