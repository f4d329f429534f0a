"""Say where the parts of this installation are."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from pathlib import Path

import tilewright


def add_arguments(parser: ArgumentParser) -> None:
    # one of them, which a table of arguments cannot say
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--include", action="store_true", help="the folder to give to a C++ compiler with -I")
    what.add_argument("--cmake", action="store_true", help="the folder that CMake's find_package wants: tilewright_DIR")
    what.add_argument(
        "--xrt", action="store_true", help="a folder that stands in for XRT: headers, library, CMake files, setup.sh"
    )
    what.add_argument("--xrt-flags", action="store_true", help="what a C++ compiler is told to build a program for it")
    what.add_argument("--version", action="store_true", help="the version of tilewright")


def run(args: Namespace) -> None:
    if args.xrt or args.xrt_flags:
        from tilewright.xrt.installation import xrt_flags, xrt_folder

        print(xrt_folder() if args.xrt else shlex.join(xrt_flags()))
        return
    package = Path(tilewright.__file__).parent
    print(tilewright.__version__ if args.version else package / ("cmake" if args.cmake else "include"))
