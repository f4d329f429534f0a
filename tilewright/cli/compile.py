"""Compile a design: its runtime sequences, lowered once for all sizes.

Writes into DIR: design.mlir (the lowered program), design.json (a manifest of names, types and addresses), and for each
runtime sequence NAME.h (a C++ function that makes its TXN words) and, unless it takes scalars, NAME.insts.bin.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from tilewright.cli.errors import InputError


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("design", metavar="DESIGN", help="a program in MLIR")
    parser.add_argument("-o", dest="directory", metavar="DIR", required=True, help="where the files go")
    parser.add_argument("--json", action="store_true", help="print the names of the files for machines")


def run(args: Namespace) -> int:
    from tilewright.artifacts import write_design
    from tilewright.cli.files import read_text
    from tilewright.cli.programs import source_name
    from tilewright.design import compile_text

    design = compile_text(read_text(args.design), source_name(args.design))
    try:
        written = write_design(design, args.directory)
    except OSError as error:
        raise InputError(f"cannot write to '{args.directory}': {error.strerror or error}") from error
    if args.json:
        print(json.dumps({"files": [str(path) for path in written]}))
        return 0
    for path in written:
        print(f"{path}  {path.stat().st_size} bytes")
    return 0
