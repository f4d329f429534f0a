"""AIR programs for GPUs: run them, host code included, or compile them.

tilewright air run FILE --ranks 2
tilewright air run FILE --entry add --arg random:1 --arg arange --arg zeros --out results
tilewright air compile FILE --target gfx942 -o DIR
tilewright air compile FILE --emit mlir --after air-to-rocdl
"""

from __future__ import annotations

from argparse import Namespace

from tilewright.cli import air_compile, air_run
from tilewright.cli.parsers import Tool, tools

add_arguments = tools(
    {
        "run": Tool(
            "run a program on an emulated or a real GPU, one process for each rank",
            air_run.add_arguments,
            air_run.__doc__,
        ),
        "compile": Tool(
            "lower a program: kernels for a GPU, and the host's module", air_compile.add_arguments, air_compile.__doc__
        ),
    }
)


def run(args: Namespace) -> int:
    return {"run": air_run.run, "compile": air_compile.run}[args.tool](args)
