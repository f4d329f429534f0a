"""Reading what a command is given and writing what it makes; `-` is stdin or stdout."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from tilewright.cli.errors import CommandLineError, InputError
from tilewright.ir.limits import MOST_SOURCE_BYTES
from tilewright.support.output_files import write_file, write_files

if TYPE_CHECKING:
    from tilewright.driver.sources import Source
    from tilewright.passes.host_programs import HostOptions


def read_bytes(path: str) -> bytes:
    try:
        with nullcontext(_stdin()) if path == "-" else open(path, "rb") as file:
            data = file.read(MOST_SOURCE_BYTES + 1)  # a device may have no end
    except (OSError, ValueError) as error:
        raise InputError(f"cannot open input file '{path}': {_reason(error)}") from error
    if len(data) > MOST_SOURCE_BYTES:
        raise InputError(f"input file '{path}' has more than {MOST_SOURCE_BYTES} bytes")
    return data


def _stdin() -> BinaryIO:
    # Python has None for what the caller closed
    if sys.stdin is None:
        raise ValueError("standard input is closed")
    return sys.stdin.buffer


def read_text(path: str) -> str:
    """The text of a file. Bytes that are no UTF-8 become surrogates, for the reader of the text to complain about."""
    return read_bytes(path).removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")


def write_text(path: str, text: str) -> None:
    data = text.encode(errors="surrogateescape")
    if path != "-":
        write_atomically(Path(path), data)
    # bytes, not text: surrogates stand for bytes of the input, whatever the terminal's encoding
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        sys.stdout.write(text)


def write_atomically(path: Path, data: bytes) -> None:
    """Write all of `data` or nothing: a file appears, or is replaced, only when it is complete."""
    try:
        write_file(path, data)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot open output file '{path}': {_reason(error)}") from error


def write_folder(directory: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write all files into a folder, which is made, or none of them."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return write_files(directory, files)
    except (OSError, ValueError) as error:
        raise cannot_write(directory, error) from error


def print_written(written: Iterable[Path], as_json: bool) -> None:
    """Say which files a command has made."""
    if as_json:
        print(json.dumps({"files": [str(path) for path in written]}))
    for path in () if as_json else written:
        print(f"{path}  {path.stat().st_size} bytes")


def cannot_write(directory: str | Path, error: Exception) -> InputError:
    """The error for a folder that files cannot be written to; names the file if it is a single one's fault."""
    return InputError(f"cannot write to '{getattr(error, 'filename', None) or directory}': {_reason(error)}")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def design_arguments(**positional: Any) -> dict[str, Any]:
    """The arguments that `read_design` reads, for a table of a command's arguments."""
    return {
        "design": {
            "metavar": "DESIGN",
            "help": "a program in MLIR, or a .py file that defines one",
            **positional,
        },
        "--entry": {
            "metavar": "NAME",
            "help": "of a .py file: the program, or the function that makes it (default: the only one)",
        },
    }


def load_expansion(args: Namespace) -> Literal["write32", "ctrlpkt"] | None:
    """What --expand-load-pdis and --load-pdi-to-ctrl-pkt say."""
    if args.expand_load_pdis and args.load_pdi_to_ctrl_pkt:
        raise CommandLineError("--expand-load-pdis and --load-pdi-to-ctrl-pkt exclude each other")
    return "write32" if args.expand_load_pdis else "ctrlpkt" if args.load_pdi_to_ctrl_pkt else None


def host_arguments() -> dict[str, Any]:
    """The arguments that `host_options` reads: flags of mlir-air's compiler driver."""
    bytes_ = {"metavar": "BYTES", "type": int, "default": 0}
    return {
        "--air-runtime-loop-tiling-sizes": {
            "metavar": "N",
            "action": "append",
            "default": [],
            "help": "of AIR host code: how many iterations of a loop of transfers to start before waiting for them; "
            "once for each loop from the outside (default: what takes the least time)",
        },
        "--trace-size": {**bytes_, "help": "of AIR host code: bytes for traces; 0 starts none (default)"},
        "--trace-offset": {**bytes_, "help": "of AIR host code: where traces begin in the third argument"},
    }


def host_options(args: Namespace) -> HostOptions:
    """What is asked of the host code of an AIR program."""
    from tilewright.passes.host_programs import HostOptions

    words = [word for text in args.air_runtime_loop_tiling_sizes for word in text.split(",")]
    sizes = tuple(int(word) for word in words if word.isdecimal())
    if len(sizes) < len(words) or (0 in sizes and len(sizes) > 1):
        raise CommandLineError("--air-runtime-loop-tiling-sizes takes numbers of iterations, or one 0 for no tiles")
    return HostOptions(sizes, args.trace_size, args.trace_offset)


def read_design(args: Namespace) -> Source:
    """What DESIGN and --entry say."""
    from tilewright.cli.programs import source_name
    from tilewright.driver.sources import PYTHON_SUFFIX, TextSource

    if Path(args.design).suffix != PYTHON_SUFFIX:
        if args.entry is not None:
            raise CommandLineError(f"--entry is for files of Python; {args.design} is none")
        return TextSource(read_text(args.design), source_name(args.design))
    from tilewright.iron.scripts import load_script

    # before anything of it is run, and in the words for other files
    if not Path(args.design).is_file():
        raise InputError(f"cannot open input file '{args.design}': No such file or directory")
    return load_script(Path(args.design), args.entry)
