"""The design that a command is given: MLIR, or Python that defines a program."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import InputError, UsageError

if TYPE_CHECKING:
    from tilewright.driver.sources import Source


def add_design_arguments(parser: ArgumentParser, **positional: Any) -> None:
    parser.add_argument(
        "design", metavar="DESIGN", help="a program in MLIR, or a .py file that defines one", **positional
    )
    parser.add_argument(
        "--entry",
        metavar="NAME",
        help="of a .py file: the program, or the function that makes it (default: the only one)",
    )


def read_design(args: Namespace) -> Source:
    """What DESIGN and --entry say."""
    from tilewright.cli.files import read_text
    from tilewright.cli.programs import source_name
    from tilewright.driver.sources import PYTHON_SUFFIX, TextSource

    if Path(args.design).suffix != PYTHON_SUFFIX:
        if args.entry is not None:
            raise UsageError(f"--entry is for files of Python; {args.design} is none")
        return TextSource(read_text(args.design), source_name(args.design))
    from tilewright.iron.scripts import load_script

    if not Path(args.design).is_file():
        raise InputError(f"cannot open input file '{args.design}': No such file or directory")
    return load_script(Path(args.design), args.entry)
