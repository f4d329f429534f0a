"""Command lines in the manner of MLIR's tools: `-flag` or `--flag`, with `=value` or the value behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from tilewright.cli.errors import CommandLineError
from tilewright.ir.pass_options import BOOLEANS
from tilewright.ir.split_input import DEFAULT_MARKER


@dataclass(frozen=True)
class Flag:
    """One option: the field of the arguments that it sets, and what for."""

    field: str
    help: str
    value: str = ""
    """What it takes, in brackets if it can do without; a flag that takes nothing is true or false."""
    implied: Any = True
    """What the field becomes where no value is given."""
    choices: tuple[str, ...] = ()
    is_list: bool = False
    """Whether it may be given again and again, and all values count."""


OUTPUT = Flag("output", "write the result to this file, whole or not at all", "FILE")
UNREGISTERED = Flag("allow_unregistered", "accept unknown operations in generic form")
PART_FLAGS = {
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
}
"""About inputs that are programs one after the other; `programs` does what they ask for."""


class Given(NamedTuple):
    """What a command line has besides the flags that were set: the input, and the names of all flags in order."""

    input: str
    names: list[str]


@dataclass(frozen=True)
class CommandLine:
    """The flags of a tool. Any other `--mlir-...` is accepted and has no effect."""

    program: str
    flags: Mapping[str, Flag]
    other_names: Iterable[str] = ()
    """Of what else is written like a flag."""

    def read(self, argv: Iterable[str], arguments: object, take_other: Callable[[str, str], bool]) -> Given:
        """Set the fields of `arguments`. `take_other` is given the name and the value of what is no flag."""
        inputs, unknown, names = list[str](), list[str](), list[str]()
        pending = iter(argv)
        for argument in pending:
            # LLVM's command lines take one dash or two
            name, equals, value = argument.lstrip("-").partition("=")
            if argument == "-" or not argument.startswith("-"):
                inputs.append(argument)
            elif name in self.flags:
                names.append(name)
                self._set(arguments, name, value if equals else None, pending)
            # drop-in for MLIR's tools, whose printing flags we need not have
            elif not take_other(name, value) and not name.startswith("mlir-"):
                unknown.append(argument)
        if unknown:
            raise CommandLineError("\n".join(line for argument in unknown for line in self._unknown_text(argument)))
        if len(inputs) > 1:
            raise CommandLineError(
                f"{self.program}: Too many positional arguments specified!\n"
                f"Can specify at most 1 positional arguments: See: {self.program} --help"
            )
        return Given(inputs[0] if inputs else "-", names)

    def _set(self, arguments: object, name: str, value: str | None, following: Iterator[str]) -> None:
        flag = self.flags[name]
        if flag.value:
            value = self._value(name, flag, value, following)
            if flag.is_list and value is not None:
                getattr(arguments, flag.field).append(value)
                return
            setattr(arguments, flag.field, flag.implied if value is None else value)
        # the texts of these complaints are LLVM's
        elif value not in BOOLEANS:
            self._fail(name, f"'{value}' is invalid value for boolean argument! Try 0 or 1")
        elif BOOLEANS[value]:
            setattr(arguments, flag.field, flag.implied)
        elif isinstance(flag.implied, bool):
            setattr(arguments, flag.field, False)
        # `--flag=false` takes back what this flag set, not what another one did
        elif getattr(arguments, flag.field) == flag.implied:
            setattr(arguments, flag.field, getattr(type(arguments)(), flag.field))

    def _value(self, name: str, flag: Flag, value: str | None, following: Iterator[str]) -> str | None:
        if value is None and not flag.value.startswith("["):
            value = next(following, None)
            if value is None:
                self._fail(name, "requires a value!")
        if flag.choices and value is not None and value not in flag.choices:
            self._fail(name, f"Cannot find option named '{value}'!")
        return value

    def _fail(self, name: str, why: str) -> NoReturn:
        raise CommandLineError(f"{self.program}: for the {dashed(name)} option: {why}")

    def _unknown_text(self, argument: str) -> Iterator[str]:
        from difflib import get_close_matches

        yield f"{self.program}: Unknown command line argument '{argument}'.  Try: '{self.program} --help'"
        name, equals, value = argument.lstrip("-").partition("=")
        for near in get_close_matches(name, [*self.flags, *self.other_names], n=1):
            yield f"{self.program}: Did you mean '{dashed(near)}{equals}{value}'?"


def dashed(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"
