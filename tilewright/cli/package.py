"""Put a design into a container that XRT loads, or make one of the files on the way there.

tilewright package design.py -o design.xclbin
tilewright package design.py -o design.xclbin --core-elf 0,2=core.elf    with machine code that you compiled
tilewright package design.py -o design.xclbin --host                     and programs that run it
tilewright package design.py -o design.elf                               for XRT without an xclbin (npu2)

Where cores have no machine code, the package is for the simulator alone and says so: what it needs is in a section that
XRT leaves alone (--no-design leaves it out). The steps: `package cdo`, `pdi`, `xclbin` and `elf`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tilewright.cli.errors import CommandLineError, InputError, LocatedError, show_diagnostics
from tilewright.cli.files import (
    design_arguments,
    print_written,
    read_bytes,
    read_design,
    read_text,
    write_atomically,
    write_folder,
)
from tilewright.cli.parsers import Settings, Tool, arguments, switch, tools, value, values
from tilewright.ir.escapes import visible

if TYPE_CHECKING:
    from tilewright.containers import Container
    from tilewright.containers.embedded_design import EmbeddedDesign
    from tilewright.containers.packaging import KernelNames
    from tilewright.containers.pdi import Pdi
    from tilewright.containers.xclbin import Xclbin
    from tilewright.device import TileId
    from tilewright.dialects.aie.tiles import DeviceOp
    from tilewright.driver.compiled_design import Design
    from tilewright.driver.device_images import DeviceImage
    from tilewright.driver.sources import Source

DESIGN = "design"
"""The tool that is meant where none is named."""
ELF_SUFFIX = ".elf"
_PLACE = re.compile(r"(\d{1,3}),(\d{1,3})=(.+)", re.ASCII | re.DOTALL)
_KERNEL_ID = re.compile(r"0[xX][0-9a-fA-F]{1,3}|\d{1,4}", re.ASCII)

JSON = switch("print the names of the files for machines, and which cores have no machine code")
OUTPUT = value("FILE", "where it goes", required=True, dest="output")
DEVICE: dict[str, Settings] = {"--device": value("NAME", "which device of the design (default: the first)")}
CODE: dict[str, Settings] = {
    "--core-elf": values("COL,ROW=FILE", "machine code of a core; or a folder with files such as main_core_0_2.elf"),
    "--elf": values("COL,ROW=FILE", "the same"),
    "--peano": value("DIR", "the compiler for cores (default: $PEANO_INSTALL_DIR)"),
}
KERNEL: dict[str, Settings] = {
    "--xclbin-kernel-name": value("NAME", "the kernel that hosts ask for (default: MLIR_AIE)", default="MLIR_AIE"),
    "--xclbin-instance-name": value("NAME", "its instance (default: MLIRAIE)", default="MLIRAIE"),
    "--xclbin-kernel-id": value("ID", "the number by which its image is found (default: 0x901)", default="0x901"),
    "--xclbin-input": value("FILE", "a package that gets this design as one more kernel"),
}
TOOLS = {
    DESIGN: Tool(
        "a design as an xclbin or a full ELF file; also without this word",
        arguments(
            {
                **design_arguments(),
                "-o": OUTPUT,
                **DEVICE,
                "--sequence": value("NAME", "which runtime sequence (default: the first)"),
                **CODE,
                **KERNEL,
                "--no-design": switch("only what mlir-aie's packages have: no section for the simulator"),
                "--insts": value("FILE", "also write the instructions of the sequence"),
                "--host": switch("also write programs that run the package with XRT, in C++ and Python"),
                "--json": JSON,
            }
        ),
        __doc__,
    ),
    "cdo": Tool(
        "the CDO files that configure a design's device",
        arguments(
            {
                **design_arguments(),
                "-o": value("DIR", "where they go", required=True, dest="output"),
                **DEVICE,
                **CODE,
                "--json": JSON,
            }
        ),
    ),
    "pdi": Tool(
        "a PDI out of CDO files, as bootgen makes it",
        arguments(
            {
                "files": value("CDO", "in their order: elfs, init, enable", nargs="+"),
                "-o": OUTPUT,
                "--json": JSON,
            }
        ),
    ),
    "xclbin": Tool(
        "an xclbin out of mlir-aie's three JSON files and the PDIs that they name, as xclbinutil makes it",
        arguments(
            {
                "--partition": value("JSON", "the AIE partition with its PDIs", required=True),
                "--kernels": value("JSON", "the kernels", required=True),
                "--memory": value("JSON", "the memories (needed unless --input is given)"),
                "--input": value("FILE", "an xclbin that gets the kernels and the first PDI besides its own"),
                "-o": OUTPUT,
                "--json": JSON,
            }
        ),
    ),
    "elf": Tool(
        "a full ELF file out of a configuration, or one with instructions, as aiebu-asm makes them",
        arguments(
            {
                "--config": value("JSON", "kernels with their PDIs and control codes (aiebu-asm -t aie2_config -j)"),
                "--insts": value("FILE", "control code alone, for use beside an xclbin (aiebu-asm -t aie2txn -c)"),
                "--control-packets": value("FILE", "with --insts: the control packets that it sends (-p)"),
                "--buffers": value("JSON", "with --insts: which argument these are (-j)"),
                "-o": OUTPUT,
                "--json": JSON,
            }
        ),
    ),
}
add_arguments = tools(TOOLS)


def with_tool(words: list[str]) -> list[str]:
    """A command line that names its tool."""
    return words if words[:1] and (words[0] in TOOLS or words[0] in ("-h", "--help")) else [DESIGN, *words]


def run(args: Namespace) -> int | None:
    return RUN[args.tool](args)


def package_design(args: Namespace) -> int:
    from tilewright.driver.compiled_design import compile_source
    from tilewright.ir.diagnostics import collect

    kernel, base = kernel_names(args), _base(args)
    source = read_design(args)
    with collect() as found:
        design = compile_source(source)
    show_diagnostics(found, source.texts)
    with located(source):
        return package(design, args, kernel, base)


def package(design: Design, args: Namespace, kernel: KernelNames, base: Xclbin | None) -> int:
    """Write the package of a compiled design, and what is asked for besides."""
    output = Path(args.output)
    is_elf = output.suffix == ELF_SUFFIX
    if is_elf and (args.host or base is not None):
        raise CommandLineError("--host and --xclbin-input are for an xclbin, not for an ELF file")
    image = image_of(design, args.device if args.device is not None else design.device_of(args.sequence), args)
    missing = without_code(image)
    if missing and args.no_design:
        raise InputError(
            f"{_listed(missing)} no machine code, and with --no-design there is nothing else that could run: "
            "name ELF files with --core-elf"
        )
    files = {output: full_elf_file(design, image, args) if is_elf else xclbin_file(design, image, args, kernel, base)}
    if args.insts is not None or args.host:
        sequence = design.operation(args.sequence)
        if scalars := design.scalars(args.sequence):
            names = ", ".join(scalars)
            raise CommandLineError(
                f"--insts and --host: the words of the sequence depend on {names}; "
                "`tilewright compile` makes functions that give them"
            )
        words = design.txn(args.sequence).astype("<u4").tobytes()
        files[Path(args.insts) if args.insts is not None else output.with_suffix(".insts.bin")] = words
        if args.host:
            from tilewright.driver.host_examples import host_programs

            files.setdefault(output.with_suffix(".insts.bin"), words)
            for name, text in host_programs(output.stem, kernel.name, sequence).items():
                files[output.with_name(name)] = text.encode()
    # the package last: it is there only if all else is
    for path, data in reversed(files.items()):
        write_atomically(path, data)
    _report([*files], missing, args.json)
    return 0


def image_of(design: Design, device: str | None, args: Namespace) -> DeviceImage:
    """The image of a device, with the machine code that there is for its cores."""
    from tilewright.driver.device_images import DeviceImage

    op = design.device(device)
    return DeviceImage(op, core_programs(op, args))


def xclbin_file(design: Design, image: DeviceImage, args: Namespace, kernel: KernelNames, base: Xclbin | None) -> bytes:
    embedded = None if args.no_design else _embedded(design, image)
    sequence = args.sequence or ""
    return image.xclbin(kernel, sequence=sequence, design=embedded, base=base, timestamp=creation_time()).write()


def full_elf_file(design: Design, image: DeviceImage, args: Namespace) -> bytes:
    from tilewright.driver.device_images import full_elf

    name = image.device.sym_name.data
    if scalars := design.scalars(args.sequence):
        raise InputError(
            f"an ELF file has the words of a sequence, which here depend on {', '.join(scalars)}: make an xclbin, "
            "and the words for each value with the functions of `tilewright compile`"
        )
    # sequences may load any device
    images = [image if device == name else image_of(design, device, args) for device in design.devices]
    embedded = None if args.no_design else _embedded(design, image)
    return full_elf(images, sequence=args.sequence or "", design=embedded).write()


def _embedded(design: Design, image: DeviceImage) -> EmbeddedDesign:
    from tilewright.driver.packaged_design import packaged_design

    return packaged_design(design, image.device.sym_name.data, image.programs, image.uuid)


def core_programs(device: DeviceOp, args: Namespace) -> dict[TileId, bytes]:
    """Machine code by core: from the files that are named, from those that the design names, and from Peano."""
    from tilewright.dialects.aie.core import CoreOp
    from tilewright.driver.core_programs import CompileOptions, core_elfs

    given, folders = core_elf_arguments([*args.core_elf, *args.elf])
    directory = Path(args.design).parent
    places = [core.place for core in device.body.ops if isinstance(core, CoreOp)]
    if unknown := [place for place in given if place not in places]:
        raise CommandLineError(f"--core-elf: there is no core ({unknown[0].column}, {unknown[0].row})")
    options = CompileOptions(search=[directory], say=lambda text: print(visible(text), file=sys.stderr))
    return dict(core_elfs(device, given, folders, directory, args.peano, options).elfs)


def core_elf_arguments(words: Sequence[str]) -> tuple[dict[TileId, Path], list[Path]]:
    """Files by core, and folders, of `--core-elf`."""
    from tilewright.device import TileId

    given, folders = dict[TileId, Path](), list[Path]()
    for word in words:
        found = _PLACE.fullmatch(word)
        if found is not None:
            given[TileId(int(found[1]), int(found[2]))] = Path(found[3])
        elif Path(word).is_dir():
            folders.append(Path(word))
        else:
            raise CommandLineError(f"--core-elf: '{word}' is neither COL,ROW=FILE nor a folder")
    return given, folders


def kernel_names(args: Namespace) -> KernelNames:
    from tilewright.containers.packaging import KernelNames

    if not _KERNEL_ID.fullmatch(args.xclbin_kernel_id) or int(args.xclbin_kernel_id, 0) > 0xFFF:
        raise CommandLineError(f"--xclbin-kernel-id: '{args.xclbin_kernel_id}' is no number from 0 to 0xfff")
    return KernelNames(args.xclbin_kernel_name, args.xclbin_instance_name, args.xclbin_kernel_id)


def _base(args: Namespace) -> Xclbin | None:
    from tilewright.containers import Xclbin

    return None if args.xclbin_input is None else read_kind(args.xclbin_input, Xclbin, "xclbin")


def creation_time() -> int:
    """Seconds for the header of a file; of a build that is to be repeated, those that it says."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(given) if given.isascii() and given.isdigit() and int(given) < 1 << 63 else int(time.time())


def package_cdo(args: Namespace) -> None:
    from tilewright.driver.compiled_design import design_of
    from tilewright.passes.pipelines import DESIGN_LOWERING, pipeline_of

    source = read_design(args)
    with located(source):
        # sequences are no part of what configures a device
        design = design_of(source, pipeline_of(DESIGN_LOWERING))
        image = image_of(design, args.device, args)
        files = {name: cdo.write() for name, cdo in image.cdos.items()}
    written = write_folder(Path(args.output), files)
    _report(written, without_code(image), args.json)


def package_pdi(args: Namespace) -> None:
    from tilewright.containers import Cdo
    from tilewright.containers.pdi import pdi_from_cdos

    cdos = [read_kind(file, Cdo, "CDO file") for file in args.files]
    _write(args, pdi_from_cdos(cdos).write)


def package_xclbin(args: Namespace) -> None:
    from tilewright.containers import Xclbin
    from tilewright.containers.packaging import extended_xclbin, xclbin_from_parts

    if args.memory is None and args.input is None:
        raise CommandLineError("package xclbin: --memory says which memories there are; only --input makes up for it")
    partition, kernels = _json(args.partition), _json(args.kernels)
    folder, label = Path(args.partition).parent, Path(args.partition).stem

    def pdi(name: str) -> Pdi:
        from tilewright.containers import Pdi

        # as tools wrote them, absolute or from here; where the files were moved together, beside the JSON file
        places = [Path(name), folder / name, folder / Path(name).name]
        return read_kind(str(next((it for it in places if it.is_file()), places[0])), Pdi, "PDI")

    def make() -> bytes:
        time = creation_time()
        if args.input is not None:
            base = read_kind(args.input, Xclbin, "xclbin")
            return extended_xclbin(base, partition, kernels, pdi, timestamp=time, label=label).write()
        labels = Path(args.memory).stem, label
        return xclbin_from_parts(partition, kernels, _json(args.memory), pdi, timestamp=time, labels=labels).write()

    _write(args, make, args.partition)


def package_elf(args: Namespace) -> None:
    from tilewright.containers.control_elf import config_elf, config_kernels, instructions_elf

    if (args.config is None) == (args.insts is None):
        raise CommandLineError("package elf: one of --config JSON and --insts FILE")
    if args.insts is not None:
        packets = read_bytes(args.control_packets) if args.control_packets is not None else b""
        buffers = _json(args.buffers) if args.buffers is not None else {}
        _write(args, lambda: instructions_elf(read_bytes(args.insts), packets, buffers).write(), args.insts)
        return
    config, folder = _json(args.config), Path(args.config).parent

    def read(name: str) -> bytes:
        places = [Path(name), folder / name, folder / Path(name).name]
        return read_bytes(str(next((it for it in places if it.is_file()), places[0])))

    _write(args, lambda: config_elf(config_kernels(config, read)).write(), args.config)


RUN: dict[str, Callable[[Namespace], int | None]] = {
    DESIGN: package_design,
    "cdo": package_cdo,
    "pdi": package_pdi,
    "xclbin": package_xclbin,
    "elf": package_elf,
}


def read_kind(file: str, kind: type[Any], name: str) -> Any:
    """A container of one kind; errors name the file, and what it is if it is another one."""
    from tilewright.cli.inspect import headline, read_container

    found: Container = read_container(file, read_bytes(file))
    if not isinstance(found, kind):
        raise LocatedError(f"{file}: error: no {name}: it is {headline(found)}")
    return found


def _json(file: str) -> dict[str, Any]:
    try:
        found: object = json.loads(read_text(file))
    except (ValueError, RecursionError) as error:
        place = f":{error.lineno}:{error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error) or "too deep"
        raise LocatedError(f"{file}{place}: error: no JSON: {reason}") from None
    if not isinstance(found, dict):
        raise LocatedError(f"{file}: error: no object of JSON")
    return cast("dict[str, Any]", found)


def _write(args: Namespace, make: Callable[[], bytes], file: str | None = None) -> None:
    """Write what is made of parts; what is wrong with them is an error of the file that names them."""
    from tilewright.containers import ContainerError

    try:
        data = make()
    except ContainerError as error:
        raise LocatedError(str(error.with_file(file or args.files[0]))) from None
    write_atomically(Path(args.output), data)
    print_written([Path(args.output)], args.json)


class located:
    """Errors about the contents of a package are errors of the design; diagnostics quote its lines."""

    def __init__(self, source: Source):
        self.source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from tilewright.containers import ContainerError
        from tilewright.ir.diagnostics import DiagnosedError

        if isinstance(error, DiagnosedError):
            error.sources.update(self.source.texts)
        elif isinstance(error, ContainerError):
            raise InputError(str(error)) from None


def _listed(places: Sequence[TileId]) -> str:
    names = ", ".join(f"({place.column}, {place.row})" for place in places)
    return f"core {names} has" if len(places) == 1 else f"cores {names} have"


def _report(written: Sequence[Path], missing: Sequence[TileId], as_json: bool) -> None:
    if as_json:
        cores = [list(place) for place in missing]
        document = {"files": [str(path) for path in written], "cores_without_code": cores}
        print(json.dumps(document | {"simulator_only": bool(missing)}))
        return
    print_written(written, as_json)
    _say_missing(missing)


def say_missing(image: DeviceImage) -> None:
    """Say which cores have no machine code."""
    _say_missing(without_code(image))


def _say_missing(missing: Sequence[TileId]) -> None:
    if missing:
        print(f"{_listed(missing)} no machine code: this is for the simulator alone", file=sys.stderr)


def without_code(image: DeviceImage) -> list[TileId]:
    return [core.place for core in image.cores_without_code if core.place is not None]
