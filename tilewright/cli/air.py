"""AIR programs for GPUs: run them, host code included, or compile them.

tilewright air run FILE --ranks 2
tilewright air run FILE --entry add --arg random:1 --arg arange --arg zeros --out results
tilewright air compile FILE --target gfx942 -o DIR
tilewright air compile FILE --emit mlir --after air-to-rocdl
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tilewright.cli import air_compile, air_run


def add_arguments(parser: ArgumentParser) -> None:
    tools = parser.add_subparsers(dest="tool", required=True, metavar="TOOL")
    for name, module, summary in (
        ("run", air_run, "run a program on an emulated or a real GPU, one process for each rank"),
        ("compile", air_compile, "lower a program: kernels for a GPU, and the host's module"),
    ):
        tool = tools.add_parser(name, help=summary, description=module.__doc__)
        tool.formatter_class = parser.formatter_class
        module.add_arguments(tool)
        tool.set_defaults(run_tool=module.run)


def run(args: Namespace) -> int:
    return args.run_tool(args)
