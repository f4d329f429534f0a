"""What `tilewright opt --help` prints: the dialects, options and passes that it knows."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.cli.opt_arguments import FLAGS, PROGRAM, Flag
from tilewright.ir.context import dialect_table
from tilewright.ir.pass_options import options_of
from tilewright.passes import PASSES, find_pass

COLUMN = 46


def print_about(subject: str) -> None:
    """Print `help`, or the names of the `dialects` or `passes`, one a line."""
    match subject:
        case "dialects":
            print("\n".join(sorted(dialect_table())))
        case "passes":
            print("\n".join(sorted(PASSES)))
        case _:
            print("\n".join(_help()))


def _help() -> Iterator[str]:
    yield f"USAGE: {PROGRAM} [options] [passes] [FILE]\n"
    yield "Reads a program from FILE or stdin, checks it, runs the passes in the order given and prints the result.\n"
    yield f"Available Dialects: {', '.join(sorted(dialect_table()))}\n"
    yield "OPTIONS:\n"
    for name, flag in FLAGS.items():
        yield _row(_spelling(name, flag), flag.help)
    yield "\nPASSES, as `--name`, `--name=option=value` or `--name='option=value other=value'`:\n"
    for name in sorted(PASSES):
        yield from _pass_rows(name)


def _pass_rows(name: str) -> Iterator[str]:
    pass_type = find_pass(name)
    assert pass_type is not None
    yield _row(f"--{name}", (pass_type.__doc__ or "").strip().split("\n")[0].rstrip("."))
    for option in options_of(pass_type):
        default = "" if option.default in (None, "", ()) else f" (default: {_shown(option.default)})"
        yield _row(f"  {option.name}=<{option.placeholder}>", f"  {option.help}{default}")


def _shown(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)


def _spelling(name: str, flag: Flag) -> str:
    if len(name) == 1:
        return f"-{name} {flag.value}".rstrip()
    if flag.value.startswith("["):
        return f"--{name}[=<{flag.value[1:-1]}>]"
    return f"--{name}=<{flag.value}>" if flag.value else f"--{name}"


def _row(left: str, right: str) -> str:
    return f"  {left:{COLUMN}} - {right}".rstrip(" -")
