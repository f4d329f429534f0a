"""Printing of text, attributes and locations: each is put into text once, and some of them get aliases."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, Protocol, TypeVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    AnyFloat,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IndexType,
    IntegerType,
    NameLoc,
    TupleType,
    UnknownLoc,
)
from xdsl.ir import (
    Attribute,
    Data,
    OpaqueSyntaxAttribute,
    Operation,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    TypeAttribute,
)
from xdsl.printer import Printer as XDSLPrinter

from tilewright.ir.print_attributes import (
    AttributeText,
    bytes_text,
    dialect_symbol_text,
    dictionary_text,
    dimensions_text,
    integer_text,
    keyword_text,
    string_text,
    symbol_text,
    text_function,
)
from tilewright.ir.print_floats import float_text

MAX_PLAIN_TUPLE = 16
"""Tuples with more elements are given an alias."""

_ALIAS_NAMES: dict[type[Attribute], str] = {
    AffineMapAttr: "map",
    AffineSetAttr: "set",
    TupleType: "tuple",
    UnknownLoc: "loc",
    FileLineColLoc: "loc",
    NameLoc: "loc",
    CallSiteLoc: "loc",
    FusedLoc: "loc",
}

_MARK = re.compile("\0(\\d+)\0")


AliasNamer = Callable[[Any], str | None]


def alias_namer(cls: type[Attribute]) -> AliasNamer | None:
    """What names the aliases of a class of attributes, where they have any; ours do it with a method `alias_name`."""
    # Attributes of our dialects know best; those of xDSL are in the table.
    if (method := getattr(cls, "alias_name", None)) is not None:
        return method
    name = next((_ALIAS_NAMES[base] for base in cls.__mro__ if base in _ALIAS_NAMES), None)
    if name == "tuple":
        return lambda type: name if len(type.types) > MAX_PLAIN_TUPLE else None
    return (lambda attribute: name) if name else None


@dataclass
class Alias:
    name: str
    definition: str
    sigil: str
    depth: int
    """One more than the depth of what the definition refers to: definitions come before their uses."""
    deferrable: bool
    """Only locations of operations refer to it, which MLIR's reader resolves when it has read everything."""
    visited: bool
    """Whether a place that asks for aliases mentions it; other places use one that exists and else write it out."""


class Aliases:
    """The aliases that one print needs, in the order of their first mention."""

    def __init__(self) -> None:
        self._aliases: list[Alias] = []
        self._numbers: dict[tuple[str, str], int] = {}

    def __bool__(self) -> bool:
        return bool(self._aliases)

    def mark(
        self, attribute: Attribute, name: str, definition: str, depth: int, *, deferrable: bool, visit: bool
    ) -> str:
        """Record a mention; what comes back stands for the name in printed text."""
        number = self._numbers.setdefault((name, definition), len(self._aliases))
        if number == len(self._aliases):
            sigil = "!" if isinstance(attribute, TypeAttribute) else "#"
            self._aliases.append(Alias(name, definition, sigil, depth, deferrable, visit))
        elif visit and not self._aliases[number].visited:
            # the first mention that counts decides on the order, so the alias moves to the end
            old = self._aliases[number]
            self._numbers[name, definition] = len(self._aliases)
            self._aliases.append(Alias(name, definition, old.sigil, depth, deferrable, True))
            number = len(self._aliases) - 1
        if not deferrable and visit:
            self._forbid_deferring(number)
        return f"\0{number}\0"

    def _forbid_deferring(self, number: int) -> None:
        alias = self._aliases[number]
        if alias.deferrable:
            # What it refers to has to be defined before it, so that cannot be deferred either.
            alias.deferrable = False
            for child in _MARK.findall(alias.definition):
                self._forbid_deferring(int(child))

    def resolved(self, text: str) -> tuple[str, str, str]:
        """Definitions to print in front, the text with names in it, and definitions to print behind."""
        visited = [(number, alias) for number, alias in enumerate(self._aliases) if alias.visited]
        # The sort is stable: among equals the first mention comes first.
        visited.sort(key=lambda numbered: _order(numbered[1]))
        names = _unique_names([alias for _, alias in visited])
        by_number = {number: name for (number, _), name in zip(visited, names, strict=True)}

        def spell(mark: re.Match[str]) -> str:
            number = int(mark[1])
            # Mentioned only where MLIR looks for no aliases: written out, unless one exists by now.
            if number not in by_number:
                alias = self._aliases[number]
                current = self._numbers[alias.name, alias.definition]
                by_number[number] = by_number.get(current) or _MARK.sub(spell, alias.definition)
            return by_number[number]

        front = back = ""
        for (_, alias), name in zip(visited, names, strict=True):
            line = f"{name} = {_MARK.sub(spell, alias.definition)}\n"
            if alias.deferrable:
                back += line
            else:
                front += line
        return front, _MARK.sub(spell, text), back


def _order(alias: Alias) -> tuple[int, bool, str]:
    # MLIR's order: what others refer to first, types before attributes, then by name.
    return alias.depth, alias.sigil == "#", alias.name


def _unique_names(aliases: list[Alias]) -> list[str]:
    """`#map`, `#map1` ...; a name that ends in a digit keeps its number apart with an underscore."""
    used: set[str] = set()
    counts: dict[str, int] = {}
    names: list[str] = []
    for alias in aliases:
        name = alias.name
        # Else `#map1` could be the second `map` or the first `map1`.
        stem = f"{name}_" if name[-1].isdigit() else name
        while name in used:
            counts[stem] = counts.get(stem, 0) + 1
            name = f"{stem}{counts[stem]}"
        used.add(name)
        names.append(alias.sigil + name)
    return names


T = TypeVar("T")


class Sink(Protocol):
    def append(self, text: str, /) -> None: ...


class _StreamSink:
    """Where text goes that is printed outside of any operation: directly to the stream."""

    def __init__(self, stream: IO[str] | None):
        self._stream = stream

    def append(self, text: str, /) -> None:
        (self._stream or sys.stdout).write(text)


class _Delimited:
    """Text printed on entering and on leaving; cheaper than a generator."""

    __slots__ = ("_end", "_printer", "_start")

    def __init__(self, printer: TextPrinter, start: str, end: str):
        self._printer, self._start, self._end = printer, start, end

    def __enter__(self) -> None:
        self._printer._out.append(self._start)

    def __exit__(self, *exception: object) -> None:
        self._printer._out.append(self._end)


@dataclass(eq=False, repr=False)
class TextPrinter(XDSLPrinter):
    """Prints strings, numbers and lists."""

    def __post_init__(self) -> None:
        self._out: Sink = _StreamSink(self.stream)

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            indent = self._indent if indent is None else indent
            text = text.replace("\n", "\n" + " " * (indent * self.indent_num_spaces))
        self._out.append(text)

    def _print_new_line(self, indent: int | None = None, print_message: bool = True) -> None:
        indent = self._indent if indent is None else indent
        self._out.append("\n" + " " * (indent * self.indent_num_spaces))

    def print_list(self, elems: Iterable[T], print_fn: Callable[[T], Any], delimiter: str = ", ") -> None:
        out = self._out
        first = True
        for element in elems:
            if first:
                first = False
            else:
                out.append(delimiter)
            print_fn(element)

    def delimited(self, start: str, end: str) -> Any:
        return _Delimited(self, start, end)

    def in_angle_brackets(self) -> Any:
        return _Delimited(self, "<", ">")

    def in_braces(self) -> Any:
        return _Delimited(self, "{", "}")

    def in_parens(self) -> Any:
        return _Delimited(self, "(", ")")

    def in_square_brackets(self) -> Any:
        return _Delimited(self, "[", "]")

    def print_string_literal(self, string: str) -> None:
        self._out.append(string_text(string))

    def print_bytes_literal(self, bytestring: bytes) -> None:
        self._out.append(bytes_text(bytestring))

    def print_identifier_or_string_literal(self, string: str) -> None:
        self._out.append(keyword_text(string))

    def print_symbol_name(self, sym_name: str) -> None:
        self._out.append(symbol_text(sym_name))

    def print_float(self, value: float, type: AnyFloat) -> None:
        self._out.append(float_text(value, type))

    def print_int(self, value: int, type: IntegerType | IndexType | None = None) -> None:
        self._out.append(str(value) if type is None else integer_text(value, type))

    def print_dimension_list(self, dims: Sequence[int]) -> None:
        # Without the `x` before an element type, which does not follow here.
        self._out.append(dimensions_text(dims)[:-1])

    @contextmanager
    def _captured(self) -> Generator[list[str]]:
        """Collect what is printed in a list instead."""
        outer, pieces = self._out, list[str]()
        self._out = pieces
        try:
            yield pieces
        finally:
            self._out = outer


@dataclass(eq=False, repr=False)
class AliasingPrinter(TextPrinter):
    """Prints attributes, types and locations."""

    use_aliases: bool = field(default=False, kw_only=True)
    """Print names such as `#map` for some attributes; only `print_module` writes out what they stand for."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._aliases = Aliases()
        self._texts: dict[int, str] = {}
        """The text of an attribute, by its `id`."""
        self._deferrable_texts: dict[int, str] = {}
        """The same for what only locations of operations mention."""
        self._kept: list[Attribute] = []
        self._deferring = False
        self._visiting = True
        self._depth = 0
        self._depths: dict[int, int] = {}
        """How many levels of attributes with aliases lie inside an attribute, where there are any."""
        self._text_functions: dict[type[Attribute], tuple[AttributeText | None, AliasNamer | None]] = {}
        self._used_resources: dict[str, dict[str, None]] = {}

    def print_attribute(self, attribute: Attribute) -> None:
        self._out.append(self.attribute_text(attribute))

    def attribute_text(self, attribute: Attribute) -> str:
        """The text of an attribute or type, which may be the mark of an alias."""
        key = id(attribute)
        text = self._texts.get(key)
        if text is None:
            return self._new_text(attribute)
        # The depth of what contains it, also when its text is known already.
        if self._depths and self._depths.get(key, 0) > self._depth:
            self._depth = self._depths[key]
        return text

    def _new_text(self, attribute: Attribute) -> str:
        cls = type(attribute)
        try:
            function, namer = self._text_functions[cls]
        except KeyError:
            function, namer = self._text_functions[cls] = text_function(cls), alias_namer(cls)
        # What is printed inside raises it.
        outer_depth, self._depth = self._depth, 0
        text = function(self, attribute) if function else self._dialect_attribute_text(attribute)
        depth = self._depth + 1 if self._depth else 0
        if namer is not None and self.use_aliases and (name := namer(attribute)) is not None:
            depth = depth or 1
            text = self._aliases.mark(attribute, name, text, depth, deferrable=self._deferring, visit=self._visiting)
        key = id(attribute)
        if depth:
            self._depths[key] = depth
        self._depth = max(outer_depth, depth)
        self._texts[key] = text
        self._kept.append(attribute)  # or another attribute could come to have the same id
        return text

    def _dialect_attribute_text(self, attribute: Attribute) -> str:
        with self._captured() as pieces:
            # Builtin attributes have no `#dialect.name` before them.
            if (print_builtin := getattr(attribute, "print_builtin", None)) is not None:
                print_builtin(self)
                return "".join(pieces)
            if isinstance(attribute, Data):
                attribute.print_parameter(self)
            elif isinstance(attribute, ParametrizedAttribute):
                attribute.print_parameters(self)
        sigil = "!" if isinstance(attribute, TypeAttribute) else "#"
        if not isinstance(attribute, OpaqueSyntaxAttribute):
            return f"{sigil}{attribute.name}{''.join(pieces)}"
        dialect, _, name = attribute.name.partition(".")
        space = " " if isinstance(attribute, SpacedOpaqueSyntaxAttribute) else ""
        return dialect_symbol_text(sigil, dialect, name + space + "".join(pieces))

    def print_attr_dict(self, attr_dict: Mapping[str, Attribute]) -> None:
        self._out.append(dictionary_text(self, attr_dict))

    def print_op_attributes(
        self,
        attributes: Mapping[str, Attribute],
        *,
        reserved_attr_names: Iterable[str] = (),
        print_keyword: bool = False,
    ) -> bool:
        if not attributes:
            return False
        if reserved_attr_names:
            reserved = set(reserved_attr_names)
            attributes = {name: value for name, value in attributes.items() if name not in reserved}
            if not attributes:
                return False
        self._out.append(f"{' attributes' if print_keyword else ''} {dictionary_text(self, attributes)}")
        return True

    def _unvisited_text(self, attributes: Mapping[str, Attribute]) -> str:
        """A dictionary in a place for which MLIR makes no aliases, though it uses those that there are."""
        # With an empty table of texts: the marks in the full one would count as visits.
        texts, self._texts, self._visiting = self._texts, {}, False
        try:
            return dictionary_text(self, attributes)
        finally:
            self._texts, self._visiting = texts, True

    def print_resource_handle(self, dialect: str, handle: str) -> None:
        self.use_resource(dialect, handle)
        self._out.append(keyword_text(handle))

    def use_resource(self, dialect: str, handle: str) -> None:
        """Note that the resource has to be written out behind the program."""
        self._used_resources.setdefault(dialect, {})[handle] = None

    def _operation_location(self, op: Operation) -> str:
        """` loc(...)` for behind the operation. Asked for before it prints: that is the order of `#loc` numbers."""
        location = op.location
        text = self._deferrable_texts.get(id(location))
        if text is None:
            # A table apart: the same location mentioned elsewhere must be defined in front.
            texts, self._texts, self._deferring = self._texts, self._deferrable_texts, True
            try:
                text = self.attribute_text(location)
            finally:
                self._texts, self._deferring = texts, False
        return f" {text}" if text.startswith("loc(") else f" loc({text})"
