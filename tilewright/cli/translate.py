"""Write programs in other forms: TXN words, C++, JSON."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tilewright.cli.files import write_atomically, write_folder, write_text
from tilewright.cli.programs import InputPart, work_on_parts
from tilewright.cli.translate_arguments import TranslateArguments, help_text, parse_arguments
from tilewright.device import TileId
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.driver.translations import device_in, find_device, sequence_in
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import fail, showing_operations
from tilewright.ir.pass_manager import Pipeline, run_pipeline
from tilewright.ir.verifier import operation_text
from tilewright.support.output_files import FileNames

if TYPE_CHECKING:
    from tilewright.passes.control.configuration.writes import Write

Output: TypeAlias = "str | bytes"
Translation: TypeAlias = "Callable[[Context, ModuleOp, TranslateArguments], Output]"

# the older spelling lowers, and a sequence that another one runs has to be in it first
BEFORE_LOWERING = ("aie-materialize-runtime-sequences",)


def run_command(argv: list[str]) -> int:
    arguments = parse_arguments(argv)
    if arguments.help:
        print(help_text())
        return 0
    ctx = make_context(arguments.allow_unregistered)
    results, failed = work_on_parts(arguments, partial(_translate, ctx, arguments), "")
    # nothing is written of an input that has errors anywhere
    if not failed:
        _write(arguments, results)
    return 1 if failed else 0


def _translate(ctx: Context, arguments: TranslateArguments, part: InputPart) -> Output:
    module = part.read(ctx)
    assert arguments.translation is not None
    with nullcontext() if arguments.verify_diagnostics else showing_operations(operation_text):
        return TRANSLATE[arguments.translation](ctx, module, arguments)


def _write(arguments: TranslateArguments, results: list[Output]) -> None:
    texts = [result for result in results if isinstance(result, str)]
    if len(texts) == len(results):
        write_text(arguments.output, f"{arguments.output_split_marker}\n".join(texts))
        return
    data = b"".join(result for result in results if isinstance(result, bytes))
    if arguments.output == "-":
        sys.stdout.flush()  # text that was printed goes first
        sys.stdout.buffer.write(data)
    else:
        write_atomically(Path(arguments.output), data)


def to_binary(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen.static_words import static_words
    from tilewright.codegen.txn_words import TxnEmitter

    device = device_in(module, arguments.device_name)
    sequence = sequence_in(device, arguments.sequence_name)
    stream = static_words(sequence, TxnEmitter(device, fold_ddr_offsets=arguments.fold_ddr_offsets))
    if arguments.location_map or arguments.show_locations:
        from tilewright.codegen.location_map import location_map_json, location_table

        if arguments.location_map:
            write_text(arguments.location_map, location_map_json(stream.entries, device.model, arguments.device_name))
        if arguments.show_locations:
            table = location_table(stream.entries, device.model)
            # on stdout the table takes the place of the words
            if arguments.output == "-":
                return table
            write_text("-", table)
    return words_output(stream.words, arguments)


def words_output(words: list[int], arguments: TranslateArguments) -> Output:
    if arguments.output_binary:
        return struct.pack(f"<{len(words)}I", *words)
    return "".join(f"{word:08X}\n" for word in words)


def control_packets(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.dialects.aiex.control_packets import control_packet_words

    device = device_in(module, arguments.device_name)
    return words_output(control_packet_words(device, sequence_in(device, arguments.sequence_name)), arguments)


def to_cpp(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.passes.cpp.convert_aiex_to_emitc import ConvertAIEXToEmitCPass
    from tilewright.passes.pipelines import guarded

    convert = ConvertAIEXToEmitCPass(
        fold_ddr_addr_offset=arguments.fold_ddr_offsets,
        upstream_text=arguments.upstream_text,
        keep_buffers=arguments.keep_buffers,
    )
    run_pipeline(ctx, module, guarded(Pipeline(steps=[convert])))
    return emitc_to_cpp(ctx, module, arguments)


def lowered_to_cpp(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.passes.cpp.convert_aiex_to_emitc import ConvertAIEXToEmitCPass
    from tilewright.passes.cpp.convert_aiex_to_emitc.builder import StyleName
    from tilewright.passes.pipelines import FULL_GUARDS, GUARD_INSTRUCTIONS, NPU_DMA_LOWERING, passes_of, with_options

    order = NPU_DMA_LOWERING
    if not arguments.upstream_text:
        order = (GUARD_INSTRUCTIONS, *with_options(order, FULL_GUARDS))
    lowering = Pipeline(steps=[*passes_of(BEFORE_LOWERING), Pipeline(DeviceOp.name, [*passes_of(order)])])
    # a list: the passes change what is walked; nested modules are lowered by themselves
    for part in [op for op in module.walk() if isinstance(op, ModuleOp)]:
        if _has_more_to_lower(part):
            run_pipeline(ctx, part, lowering)
    convert = ConvertAIEXToEmitCPass(
        StyleName.DRAFT,
        arguments.fold_ddr_offsets,
        arguments.function_name,
        arguments.upstream_text,
        arguments.keep_buffers,
    )
    run_pipeline(ctx, module, Pipeline(steps=[convert]))
    return emitc_to_cpp(ctx, module, arguments)


def _has_more_to_lower(module: ModuleOp) -> bool:
    """Whether a sequence in the module is more than instructions, control flow and arithmetic."""
    from tilewright.passes.cpp.convert_aiex_to_emitc.instructions import is_instruction

    sequences = [op for op in module.walk() if isinstance(op, RuntimeSequenceOp)]
    inside = (op for sequence in sequences for op in sequence.walk() if op is not sequence)
    return any(op.name.startswith(("aie.", "aiex.")) and not is_instruction(op) for op in inside)


def emitc_to_cpp(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen.cpp_printer import print_cpp

    return print_cpp(module)


def configuration_files(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    """Write the files into the working directory. Returns what they are and, if asked for, what is in them."""
    from tilewright.containers.cdo import cdo_of, listing

    device = device_in(module, arguments.device_name)
    directory = Path(arguments.work_directory or Path.cwd())
    lines, files = list[str](), dict[str, bytes]()
    for name, writes in _cdo_parts(device, directory, arguments):
        cdo = cdo_of(write.operation for write in writes)
        files[name] = cdo.write(is_big_endian=arguments.big_endian)
        lines += [f"Generating: {directory / name}", *(listing(cdo) if arguments.cdo_listing else ())]
    write_folder(directory, files)
    return "".join(f"{line}\n" for line in lines)


def _cdo_parts(device: DeviceOp, directory: Path, arguments: TranslateArguments) -> Iterator[tuple[str, list[Write]]]:
    """Names of files, and what goes into each: programs, everything else, what starts the cores."""
    from tilewright.passes.control.configuration import configuration_of

    found = configuration_of(device, directory)
    prefix = FileNames().stem(f"{device.sym_name.data}_aie_cdo", "_enable.bin")
    start = found.start if arguments.cdo_start_cores else []
    if arguments.cdo_unified:
        yield f"{prefix}.bin", [*found.programs, *found.settings, *start]
        return
    yield f"{prefix}_elfs.bin", found.programs
    yield f"{prefix}_init.bin", found.settings
    if arguments.cdo_start_cores:
        yield f"{prefix}_enable.bin", start


def control_code(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen.cert_assembly import cert_assembly

    assembly = cert_assembly(device_in(module, arguments.device_name))
    directory = Path() if arguments.output == "-" else Path(arguments.output).parent
    write_folder(directory, {f"{name}.asm": text.encode() for name, text in assembly.sections.items()})
    return assembly.text


def routes_json(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen.flows_json import flows_to_json

    return flows_to_json(device_in(module, arguments.device_name))


def memory_map(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen.linker_files import memory_map_text

    return memory_map_text(device_in(module, arguments.device_name))


def core_list(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen.linker_files import core_list_text

    return core_list_text(device_in(module, arguments.device_name))


def tile_of(arguments: TranslateArguments) -> TileId:
    return TileId(int(arguments.tile_column), int(arguments.tile_row))


def linker_script(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen import linker_files

    return linker_files.linker_script(device_in(module, arguments.device_name), tile_of(arguments))


def core_to_llvmir(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen.linker_files import core_at
    from tilewright.driver.core_programs import core_ir

    device = device_in(module, arguments.device_name)
    return core_ir(device, core_at(device, tile_of(arguments)))


def bcf(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.codegen import linker_files

    return linker_files.bcf(device_in(module, arguments.device_name), tile_of(arguments))


def target_architecture(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    from tilewright.device import Arch

    device = find_device(module, arguments.device_name)
    # upstream's tool takes a module without a device for AIE1, which it calls AIE
    arch = device.model.arch if device is not None else Arch.AIE1
    return "AIE\n" if arch is Arch.AIE1 else f"{arch.name}\n"


def shim_allocations(ctx: Context, module: ModuleOp, arguments: TranslateArguments) -> Output:
    import json

    from tilewright.dialects.aie.flows import ShimDmaAllocationOp
    from tilewright.dialects.aie.lookup import tile_of

    allocations: dict[str, dict[str, int]] = {}
    for op in device_in(module, arguments.device_name).body.ops:
        if not isinstance(op, ShimDmaAllocationOp):
            continue
        tile = tile_of(op.tile)
        if tile is None or tile.place is None or not tile.is_placed:
            fail(op, "shim DMA allocation must reference a valid TileOp")
        allocations[op.sym_name.data] = {
            "channelDir": int(op.direction),
            "channelIndex": op.channel,
            "col": tile.place.column,
        }
    return json.dumps(allocations, indent=2, sort_keys=True) + "\n"


TRANSLATE: dict[str, Translation] = {
    "aie-cert-to-asm": control_code,
    "aie-ctrlpkt-to-bin": control_packets,
    "aie-generate-bcf": bcf,
    "aie-generate-cdo": configuration_files,
    "aie-generate-corelist": core_list,
    "aie-flows-to-json": routes_json,
    "aie-generate-json": shim_allocations,
    "aie-core-to-llvmir": core_to_llvmir,
    "aie-generate-ldscript": linker_script,
    "aie-generate-mmap": memory_map,
    "aie-generate-target-arch": target_architecture,
    "aie-generate-txn-cpp": lowered_to_cpp,
    "aie-npu-to-binary": to_binary,
    "aie-npu-to-cpp": to_cpp,
    "mlir-to-cpp": emitc_to_cpp,
}
