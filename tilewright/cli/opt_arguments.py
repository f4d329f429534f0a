"""Command line of `tilewright opt`, where passes are flags, too, and what `--help` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from textwrap import fill, wrap

from tilewright import __version__
from tilewright.cli.errors import CommandLineError
from tilewright.cli.mlir_flags import OUTPUT, PART_FLAGS, UNREGISTERED, CommandLine, Flag
from tilewright.ir.context import dialect_table
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.pass_manager import Pipeline, build_pipeline, make_pass
from tilewright.ir.pass_options import Option, options_of
from tilewright.ir.pipeline_text import parse_pipeline
from tilewright.ir.split_input import DEFAULT_MARKER
from tilewright.passes import PASSES, find_pass

PROGRAM = "tilewright opt"
ALL = "*"
COLUMN, WIDTH = 44, 110  # where the help of a flag begins, and where lines end


@dataclass
class OptArguments:
    """What the command line asks for."""

    input: str = "-"
    output: str = "-"
    pipeline: Pipeline = field(default_factory=Pipeline)
    pipeline_text: str | None = None
    split_marker: str | None = None
    output_split_marker: str = DEFAULT_MARKER
    verify_diagnostics: str | None = None
    verify_roundtrip: bool = False
    verify_each: bool = True
    allow_unregistered: bool = False
    generic: bool = False
    debug_info: bool = False
    local_scope: bool = False
    op_on_diagnostic: bool | None = None
    """Whether to show the operation that a diagnostic is about; None: where it is not what the input says."""
    print_before: str = ""
    print_after: str = ""
    dump_pipeline: bool = False
    only_print: str | None = None
    """`help`, `version`, `dialects` or `passes`: print that and do nothing else."""


FLAGS = {
    "o": OUTPUT,
    "pass-pipeline": Flag("pipeline_text", "the passes as text: builtin.module(aie.device(canonicalize),cse)", "TEXT"),
    **PART_FLAGS,
    "verify-roundtrip": Flag("verify_roundtrip", "check that printing the program and reading it gives it back"),
    "verify-each": Flag("verify_each", "check the program after each pass (on unless set to false)"),
    "allow-unregistered-dialect": UNREGISTERED,
    "mlir-print-op-generic": Flag("generic", "print operations in generic form"),
    "mlir-print-debuginfo": Flag("debug_info", "print locations"),
    "mlir-print-local-scope": Flag("local_scope", "print without aliases"),
    "mlir-print-op-on-diagnostic": Flag("op_on_diagnostic", "show the operation that a diagnostic is about"),
    "mlir-print-ir-before": Flag("print_before", "print the program before these passes", "PASS,..."),
    "mlir-print-ir-after": Flag("print_after", "print the program after these passes", "PASS,..."),
    "mlir-print-ir-before-all": Flag("print_before", "print the program before each pass", implied=ALL),
    "mlir-print-ir-after-all": Flag("print_after", "print the program after each pass", implied=ALL),
    "dump-pass-pipeline": Flag("dump_pipeline", "print the pipeline that is run"),
    "show-dialects": Flag("only_print", "print the names of the dialects", implied="dialects"),
    "list-passes": Flag("only_print", "print the names of the passes", implied="passes"),
    "version": Flag("only_print", "print the version", implied="version"),
    "help": Flag("only_print", "print this text", implied="help"),
    "h": Flag("only_print", "the same", implied="help"),
}
"""Options other than passes."""
COMMAND_LINE = CommandLine(PROGRAM, FLAGS, PASSES)


def parse_arguments(argv: list[str]) -> OptArguments:
    """Read a command line; raises `CommandLineError` for what makes no sense."""
    arguments = OptArguments()
    try:
        arguments.input = COMMAND_LINE.read(argv, arguments, partial(_add_pass, arguments.pipeline)).input
        if arguments.pipeline_text is not None:
            # the order of both together would be anyone's guess
            if arguments.pipeline.steps:
                raise CommandLineError("'-pass-pipeline' option can't be used with individual pass options")
            arguments.pipeline = build_pipeline(parse_pipeline(arguments.pipeline_text), find_pass)
    except DiagnosedError as error:
        raise CommandLineError(f"{PROGRAM}: error: {error.diagnostics[0].text}") from error
    return arguments


def _add_pass(pipeline: Pipeline, name: str, options: str) -> bool:
    """Add the pass of that name, if there is one."""
    pass_type = find_pass(name)
    if pass_type is not None:
        pipeline.add(make_pass(pass_type, options))
    return pass_type is not None


def print_about(subject: str) -> None:
    """Print `help`, the `version`, or the names of the `dialects` or `passes`, one a line."""
    match subject:
        case "dialects":
            print("\n".join(sorted(dialect_table())))
        case "version":
            print(f"tilewright {__version__}")
        case "passes":
            print("\n".join(sorted(PASSES)))
        case _:
            print("\n".join(_help()))


def _help() -> Iterator[str]:
    yield f"USAGE: {PROGRAM} [options] [passes] [FILE]\n"
    yield "Reads a program from FILE or stdin, checks it, runs the passes in the order given and prints the result.\n"
    yield fill(f"Available Dialects: {', '.join(sorted(dialect_table()))}", WIDTH, subsequent_indent="  ")
    yield "\nOPTIONS:\n"
    for name, flag in FLAGS.items():
        yield from _rows(_spelling(name, flag), flag.help)
    yield "\nPASSES, as `--name`, `--name=option=value` or `--name='option=value other=value'`:\n"
    for name in sorted(PASSES):
        yield from _pass_rows(name)


def _pass_rows(name: str) -> Iterator[str]:
    pass_type = find_pass(name)
    assert pass_type is not None  # it is in the registry
    # the first line of the module's docstring is the help, see docs/layout.md
    yield from _rows(f"--{name}", (sys.modules[pass_type.__module__].__doc__ or "").strip().split("\n")[0].rstrip("."))
    for option in options_of(pass_type):
        yield from _rows(f"  {option.name}=<{option.placeholder}>", _option_help(option))


def _option_help(option: Option) -> str:
    if option.default is None or option.default in ("", ()):
        return option.help
    default = str(option.default).lower() if isinstance(option.default, bool) else option.default
    return f"{option.help} (default: {default})".strip()


def _spelling(name: str, flag: Flag) -> str:
    if len(name) == 1:
        return f"-{name} {flag.value}".rstrip()
    if flag.value.startswith("["):
        return f"--{name}[=<{flag.value[1:-1]}>]"
    return f"--{name}=<{flag.value}>" if flag.value else f"--{name}"


def _rows(left: str, right: str) -> Iterator[str]:
    """`left` and, behind it or below it, the text `right` in a column."""
    lines = wrap(right, WIDTH - COLUMN - 5)
    if len(left) > COLUMN and lines:
        yield f"  {left}"
        left = ""
    yield f"  {left:{COLUMN}} - {lines[0]}" if lines else f"  {left}"
    for line in lines[1:]:
        yield f"  {'':{COLUMN}}   {line}"
