"""The configuration of a device as CDO files: one for programs, one for everything else, one that starts the cores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tilewright.cli.files import write_folder
from tilewright.cli.translate_arguments import Arguments
from tilewright.codegen.cdo import Cdo
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.passes.control.configuration import configuration_of
from tilewright.passes.control.configuration.writes import Write
from tilewright.support.output_files import FileNames


def write_cdo_files(device: DeviceOp, arguments: Arguments) -> str:
    """Write the files into the working directory. Returns what they are and, if asked for, what is in them."""
    directory = Path(arguments.work_directory or Path.cwd())
    lines, files = list[str](), dict[str, bytes]()
    for name, writes in _parts(device, directory, arguments):
        cdo = Cdo.of(write.operation for write in writes)
        files[name] = cdo.to_bytes(arguments.big_endian)
        lines += [f"Generating: {directory / name}", *(cdo.listing if arguments.cdo_listing else ())]
    write_folder(directory, files)
    return "".join(f"{line}\n" for line in lines)


def _parts(device: DeviceOp, directory: Path, arguments: Arguments) -> Iterator[tuple[str, list[Write]]]:
    """Names of files, and what goes into each."""
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
