"""What `tilewright opt --help` prints: the dialects, options and passes that it knows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import fill, wrap

from tilewright import __version__
from tilewright.cli.mlir_flags import Flag
from tilewright.cli.opt_arguments import FLAGS, PROGRAM
from tilewright.ir.context import dialect_table
from tilewright.ir.pass_options import Option, options_of
from tilewright.passes import PASSES, find_pass

COLUMN, WIDTH = 44, 110


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
    assert pass_type is not None
    about = sys.modules[pass_type.__module__].__doc__ or ""
    yield from _rows(f"--{name}", about.strip().split("\n")[0].rstrip("."))
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
