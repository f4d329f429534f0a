"""The command line of `tilewright opt`, in the manner of MLIR's tools: `-flag` or `--flag`, and passes as flags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tilewright.cli.errors import UsageError
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.pass_manager import Pipeline, build_pipeline, make_pass
from tilewright.ir.pass_options import BOOLEANS
from tilewright.ir.pipeline_text import parse_pipeline
from tilewright.ir.split_input import DEFAULT_MARKER
from tilewright.passes import PASSES, find_pass

PROGRAM = "tilewright opt"
ALL = "*"


@dataclass
class Arguments:
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


@dataclass(frozen=True)
class Flag:
    """One option: the field of `Arguments` that it sets, and what for."""

    field: str
    help: str
    value: str = ""
    """What it takes, in brackets if it can do without; a flag that takes nothing is true or false."""
    implied: Any = True
    """What the field becomes where no value is given."""
    choices: tuple[str, ...] = ()


FLAGS = {
    "o": Flag("output", "write the result to this file, whole or not at all", "FILE"),
    "pass-pipeline": Flag("pipeline_text", "the passes as text: builtin.module(aie.device(canonicalize),cse)", "TEXT"),
    "split-input-file": Flag(
        "split_marker", f"treat what is between lines {DEFAULT_MARKER!r} separately", "[MARKER]", DEFAULT_MARKER
    ),
    "output-split-marker": Flag("output_split_marker", "what to write between separate results", "TEXT"),
    "verify-diagnostics": Flag(
        "verify_diagnostics",
        "compare what is reported with comments like expected-error@+1 {{text}}",
        "[all|only-expected]",
        "all",
        ("all", "only-expected"),
    ),
    "verify-roundtrip": Flag("verify_roundtrip", "check that printing the program and reading it gives it back"),
    "verify-each": Flag("verify_each", "check the program after each pass (on unless set to false)"),
    "allow-unregistered-dialect": Flag("allow_unregistered", "accept unknown operations in generic form"),
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
"""Options other than passes; any other `--mlir-...` is accepted and has no effect."""


def parse_arguments(argv: list[str]) -> Arguments:
    """Read a command line; raises `UsageError` for what makes no sense."""
    arguments = Arguments()
    inputs, unknown = list[str](), list[str]()
    pending = iter(argv)
    try:
        for argument in pending:
            name, equals, value = argument.lstrip("-").partition("=")
            if argument == "-" or not argument.startswith("-"):
                inputs.append(argument)
            elif name in FLAGS:
                _set_flag(arguments, name, value if equals else None, pending)
            elif (pass_type := find_pass(name)) is not None:
                arguments.pipeline.add(make_pass(pass_type, value))
            elif not name.startswith("mlir-"):
                unknown.append(argument)
        _complain(inputs, unknown)
        if arguments.pipeline_text is not None:
            if arguments.pipeline.steps:
                raise UsageError("'-pass-pipeline' option can't be used with individual pass options")
            arguments.pipeline = build_pipeline(parse_pipeline(arguments.pipeline_text), find_pass)
    except DiagnosedError as error:
        raise UsageError(f"{PROGRAM}: error: {error.diagnostics[0].text}") from error
    arguments.input = inputs[0] if inputs else "-"
    return arguments


def _set_flag(arguments: Arguments, name: str, value: str | None, following: Iterator[str]) -> None:
    flag = FLAGS[name]
    if value is None and flag.value and not flag.value.startswith("["):
        value = next(following, None)
        if value is None:
            raise UsageError(f"{PROGRAM}: for the {_dashed(name)} option: requires a value!")
    if flag.choices and value is not None and value not in flag.choices:
        raise UsageError(f"{PROGRAM}: for the {_dashed(name)} option: Cannot find option named '{value}'!")
    if not flag.value and value not in BOOLEANS:
        why = f"'{value}' is invalid value for boolean argument! Try 0 or 1"
        raise UsageError(f"{PROGRAM}: for the {_dashed(name)} option: {why}")
    if value is None:
        setattr(arguments, flag.field, flag.implied)
    elif flag.value:
        setattr(arguments, flag.field, value)
    elif BOOLEANS[value] or isinstance(flag.implied, bool):
        setattr(arguments, flag.field, flag.implied if BOOLEANS[value] else False)


def _complain(inputs: list[str], unknown: list[str]) -> None:
    if unknown:
        raise UsageError("\n".join(line for argument in unknown for line in _unknown_text(argument)))
    if len(inputs) > 1:
        raise UsageError(
            f"{PROGRAM}: Too many positional arguments specified!\n"
            f"Can specify at most 1 positional arguments: See: {PROGRAM} --help"
        )


def _unknown_text(argument: str) -> Iterator[str]:
    from difflib import get_close_matches

    yield f"{PROGRAM}: Unknown command line argument '{argument}'.  Try: '{PROGRAM} --help'"
    name, equals, value = argument.lstrip("-").partition("=")
    for near in get_close_matches(name, [*FLAGS, *PASSES], n=1):
        yield f"{PROGRAM}: Did you mean '{_dashed(near)}{equals}{value}'?"


def _dashed(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"
