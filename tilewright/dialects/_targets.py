"""Attributes that say which processor a kernel is compiled for: `#rocdl.target<chip = "gfx942">` and the like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class TargetAttr(ParametrizedAttribute):
    """Fields by name, in the order of `DEFAULTS`; those that hold their default are not written."""

    entries: DictionaryAttr  # without defaults, so that equal targets are equal attributes

    DEFAULTS: ClassVar[Mapping[str, Attribute | type[Attribute]]]
    """For each field its default, or the kind of attribute it is if it may be absent."""

    @classmethod
    def of(cls, **fields: Attribute) -> Self:
        return cls.new([DictionaryAttr({k: v for k, v in fields.items() if cls.DEFAULTS[k] != v})])

    def field(self, name: str) -> Attribute | None:
        """What a field holds; None if it is absent."""
        found = self.entries.data.get(name, self.DEFAULTS[name])
        return None if isinstance(found, type) else found

    @property
    def chip(self) -> str:
        found = self.field("chip")
        return found.data if isinstance(found, StringAttr) else ""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        fields: dict[str, Attribute] = {}

        def parse_field() -> None:
            position = parser.pos
            name = parser.parse_identifier()
            if name not in cls.DEFAULTS or name in fields:
                parser.raise_error(f"duplicate or unknown struct parameter name: {name}", position)
            parser.parse_punctuation("=")
            fields[name] = _parse_value(parser, cls.DEFAULTS[name])

        if parser.parse_optional_punctuation("<") is not None:  # all fields have defaults, or may be absent
            parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_field)
            parser.parse_punctuation(">")
        return cls.of(**fields).parameters

    def print_parameters(self, printer: Printer) -> None:
        written = [(name, self.entries.data[name]) for name in self.DEFAULTS if name in self.entries.data]
        if not written:
            return
        with printer.in_angle_brackets():
            for number, (name, value) in enumerate(written):
                printer.print_string(f"{', ' if number else ''}{name} = ")
                _print_value(printer, value)


_READERS: dict[type[Attribute], Callable[[AttrParser], Attribute]] = {
    IntAttr: lambda parser: IntAttr(parser.parse_integer()),
    # the only integers with a type among the fields are truth values
    IntegerAttr: lambda parser: BoolAttr.from_bool(parser.parse_boolean()),
}


def _parse_value(parser: AttrParser, default: Attribute | type[Attribute]) -> Attribute:
    kind = default if isinstance(default, type) else type(default)
    reader = _READERS.get(kind)
    return parser.parse_attribute() if reader is None else reader(parser)


def _print_value(printer: Printer, value: Attribute) -> None:
    match value:
        case IntAttr():
            printer.print_string(str(value.data))
        case IntegerAttr():
            printer.print_string("true" if value.value.data else "false")
        case _:
            printer.print_attribute(value)
