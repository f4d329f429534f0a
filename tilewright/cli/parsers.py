"""Parsers of commands that say what was likely meant where a flag or a tool is mistyped."""

from __future__ import annotations

from argparse import (
    Action,
    ArgumentError,
    ArgumentParser,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

UNRECOGNIZED = "unrecognized arguments: "
"""What argparse says of words that it has no use for."""


class CommandParser(ArgumentParser):
    """A parser whose complaints name the nearest thing that there is."""

    def error(self, message: str) -> NoReturn:
        unknown = message.partition(UNRECOGNIZED)[2].split()
        super().error(message + (did_you_mean(unknown[0], self._flags()) if unknown else ""))

    def _flags(self) -> Iterator[str]:
        yield from self._option_string_actions
        for tools in tools_of(self):
            for tool in tools.choices.values():
                yield from tool._option_string_actions

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
