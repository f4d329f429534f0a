"""Parsers of commands that say what was likely meant where a flag or a tool is mistyped."""

from __future__ import annotations

from argparse import (
    Action,
    ArgumentError,
    ArgumentParser,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple, NoReturn, TypeAlias

Settings: TypeAlias = Mapping[str, Any]
"""What argparse has to know of an argument."""
AddArguments: TypeAlias = Callable[[ArgumentParser], None]
"""The function that a command or a tool declares its arguments with."""
UNRECOGNIZED = "unrecognized arguments: "
"""What argparse says of words that it has no use for."""


class CommandParser(ArgumentParser):
    """A parser whose complaints name the nearest thing that there is."""

    def error(self, message: str) -> NoReturn:
        # argparse has no hook for it, only this text
        unknown = message.partition(UNRECOGNIZED)[2].split()
        super().error(message + (did_you_mean(unknown[0], self._flags()) if unknown else ""))

    def _flags(self) -> Iterator[str]:
        yield from self._option_string_actions
        # a flag of a tool may stand before the tool's name
        for tools in tools_of(self):
            for tool in tools.choices.values():
                yield from tool._option_string_actions

    # tools and choices are checked here, before argparse words its complaint
    def _check_value(self, action: Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except ArgumentError as error:
            error.message += did_you_mean(str(value), map(str, action.choices or ()))
            raise


def tools_of(parser: ArgumentParser) -> list[_SubParsersAction[ArgumentParser]]:
    """What a parser has in place of an argument: tools with parsers of their own."""
    return [action for action in parser._actions if isinstance(action, _SubParsersAction)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question behind a complaint about a word, if anything that is known looks like it."""
    near = get_close_matches(word.partition("=")[0], [*known], n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def parser_of(command: str) -> CommandParser:
    """The parser of a command whose arguments are declared by its module."""
    module = import_module(f"tilewright.cli.{command}")
    parser = CommandParser(
        f"tilewright {command}", description=module.__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    module.add_arguments(parser)
    return parser


def switch(help: str) -> Settings:
    """A flag that is there or not."""
    return {"action": "store_true", "help": help}


def value(metavar: str, help: str | None = None, **settings: Any) -> Settings:
    """An argument, or a flag with one behind it."""
    return {"metavar": metavar, "help": help, **settings}


def values(metavar: str, help: str) -> Settings:
    """A flag with an argument behind it that may be given again and again."""
    return value(metavar, help, action="append", default=[])


HEAP_SIZE = value("BYTES", "symmetric heap of each rank (default: 256 MiB)", type=int)
GUARD_QUEUES = switch("wait for room in a DMA channel's queue before pushes that it could drop")
LOAD_EXPANSIONS = {
    "--expand-load-pdis": switch("reconfigure by register writes instead of device images"),
    "--load-pdi-to-ctrl-pkt": switch("reconfigure by control packets that shim DMAs send, instead of device images"),
}
SECTION = value("NAME", "which control code of an ELF file (default: the only one)")


def arguments(table: Mapping[str, Settings]) -> AddArguments:
    """What declares these arguments, each by its flag or its name."""

    def add(parser: ArgumentParser) -> None:
        for name, settings in table.items():
            parser.add_argument(name, **settings)

    return add


class Tool(NamedTuple):
    """One of the tools that a command consists of."""

    summary: str
    add_arguments: AddArguments
    description: str | None = None


def tools(table: Mapping[str, Tool]) -> AddArguments:
    """What declares the tools of a command; `args.tool` is the name of the one that is called."""

    def add(parser: ArgumentParser) -> None:
        group = parser.add_subparsers(dest="tool", required=True, metavar="TOOL")
        for name, tool in table.items():
            # a tool's description has paragraphs and examples, as that of its command
            about: dict[str, Any] = {"description": tool.description, "formatter_class": parser.formatter_class}
            tool.add_arguments(group.add_parser(name, help=tool.summary, **about))

    return add
