"""Attributes and locations: each is put into text once, and some of them get aliases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.ir import (
    Attribute,
    Data,
    OpaqueSyntaxAttribute,
    Operation,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    TypeAttribute,
)

from tilewright.ir.aliases import Aliases, AliasNamer, alias_namer
from tilewright.ir.print_attributes import (
    AttributeText,
    dialect_symbol_text,
    dictionary_text,
    keyword_text,
    text_function,
)
from tilewright.ir.print_text import TextPrinter


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
        if self._depths and self._depths.get(key, 0) > self._depth:
            self._depth = self._depths[key]
        return text

    def _new_text(self, attribute: Attribute) -> str:
        cls = type(attribute)
        try:
            function, namer = self._text_functions[cls]
        except KeyError:
            function, namer = self._text_functions[cls] = text_function(cls), alias_namer(cls)
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
            texts, self._texts, self._deferring = self._texts, self._deferrable_texts, True
            try:
                text = self.attribute_text(location)
            finally:
                self._texts, self._deferring = texts, False
        return f" {text}" if text.startswith("loc(") else f" loc({text})"
