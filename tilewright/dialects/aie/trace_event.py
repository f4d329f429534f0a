"""The attribute that names a trace event."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tilewright.device import Arch, TileType


@irdl_attr_definition
class TraceEventAttr(ParametrizedAttribute):
    """`<"NAME">`, checked when it becomes a number, or `<CoreEventAIE2::NAME>`, checked at once."""

    name = "aie.trace_event"
    value: Attribute

    @property
    def text(self) -> str:
        return self.value.data if isinstance(self.value, StringAttr) else ""

    @property
    def event_name(self) -> str:
        """The name without the vocabulary it is from."""
        vocabulary, _, name = self.text.partition("::")
        return name or vocabulary  # without a separator all of it is the name

    def is_known_to(self, arch: Arch, tile_type: TileType) -> bool:
        """Whether a tile can raise it; any tile may raise an event that does not say whose it is."""
        if not isinstance(self.value, StringAttr):
            return False
        vocabulary, separator, _ = self.text.partition("::")
        if not separator:
            return True
        from tilewright.device import events  # long tables: most programs trace nothing

        modules = [module for module in events.MODULES[tile_type] if module in events.EVENTS[arch]]
        return vocabulary in {events.vocabulary(arch, module) for module in modules}

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [parse_event(parser)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            print_event(printer, self.value)


def parse_event(parser: AttrParser) -> StringAttr:
    """`"NAME"` or `Vocabulary::NAME`."""
    text = parser.parse_optional_str_literal()
    if text is not None:
        return StringAttr(text)
    start = parser.pos
    vocabulary = parser.parse_optional_identifier()
    if vocabulary is None:
        parser.raise_error("expected string or enum event")
    # MLIR has a token for one colon only
    if parser.parse_optional_punctuation(":") is None or parser.parse_optional_punctuation(":") is None:
        parser.raise_error("expected '::' after enum type name", start)
    name = parser.parse_optional_identifier()
    if name is None:
        parser.raise_error("expected enum case name")
    from tilewright.device.events import VOCABULARIES

    if vocabulary not in VOCABULARIES:
        parser.raise_error(f"unknown event enum type: {vocabulary}", start)
    if name not in VOCABULARIES[vocabulary]:
        parser.raise_error(f"unknown {vocabulary} value: {name}", start)
    return StringAttr(f"{vocabulary}::{name}")


def print_event(printer: Printer, event: Attribute) -> None:
    """A number, or the text of an event: in quotes unless it says whose event it is."""
    match event:
        case IntegerAttr():
            printer.print_string(str(event.value.data))
        case StringAttr():
            printer.print_string(event.data if "::" in event.data else f'"{event.data}"')
        case _:
            printer.print_attribute(event)


ATTRS = [TraceEventAttr]
