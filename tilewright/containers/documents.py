"""Texts inside of containers: XML and JSON as the vendor's tools write them, as trees that write the same text again.

Boost's property trees have pairs of names and values in order, in which a name may come again; all values are strings,
and an empty tree is an empty one. What is written in another way stays a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias, cast

from tilewright.support.structure import Json, Opaque, Span

DEEPEST = 64
"""Levels of a text that is read as a tree."""


class Pairs(list[tuple[str, "Tree"]]):
    """The names and values of an object, in order."""

    def get(self, name: str) -> Tree | None:
        return next((value for key, value in self if key == name), None)


Tree: TypeAlias = "str | Pairs | list[Any]"


@dataclass
class Element:
    """An element of XML with what is in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    children: list[Element] = field(default_factory=list["Element"])
    text: str = ""
    """Instead of children."""

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            yield from child.walk()

    def named(self, name: str) -> Iterator[Element]:
        return (element for element in self.walk() if element.name == name)


class Writing(Enum):
    """How a text is written."""

    PROPERTY_TREE = "Boost's JSON on one line"
    INDENTED_PROPERTY_TREE = "the same, of older versions, with blanks before the end of arrays"
    JSON = "JSON, indented by a blank a level"
    XML = "XML, indented by two blanks a level"
    OTHER = "text"


@dataclass
class Document:
    """A text: its tree and how that is written, or the text itself."""

    writing: Writing
    tree: Any
    ending: str = "\n"

    @classmethod
    def read(cls, span: Span) -> Document:
        """Whatever a text is: what is not written as expected stays as it is."""
        source = span.data.decode("latin-1")
        body = source.rstrip("\n")
        ending = source[len(body) :]
        for writing, (parse, _) in _FORMS.items():
            try:
                made = cls(writing, parse(body), ending)
                if made.write() == span.data:
                    return made
            except (ValueError, RecursionError):
                continue
        return cls(Writing.OTHER, body, ending)

    def write(self) -> bytes:
        body = self.tree if self.writing is Writing.OTHER else _FORMS[self.writing][1](self.tree)
        return (body + self.ending).encode("latin-1")

    def to_json(self) -> Json:
        if self.writing is Writing.OTHER:
            return {"text": self.tree}
        return _element_json(self.tree) if self.writing is Writing.XML else plain(self.tree)

    def opaque(self) -> Iterator[Opaque]:
        if self.writing is Writing.OTHER and self.tree:
            yield Opaque("text", len(self.tree))


def plain(tree: Any) -> Json:
    """A property tree as lists and dictionaries; of a name that comes again, all values."""
    if isinstance(tree, Pairs):
        found = dict[str, Json]()
        for name, value in tree:
            if name in found:
                before = found[name]
                found[name] = [*before, plain(value)] if isinstance(before, list) else [before, plain(value)]
            else:
                found[name] = plain(value)
        return found
    return [plain(value) for value in cast("list[Any]", tree)] if isinstance(tree, list) else tree


def _element_json(element: Element) -> Json:
    found: dict[str, Json] = {"element": element.name}
    if element.attributes:
        found["attributes"] = element.attributes
    if element.children:
        found["children"] = [_element_json(child) for child in element.children]
    return found | ({"text": element.text} if element.text else {})


def _read_tree(source: str) -> Any:
    return json.loads(source, object_pairs_hook=Pairs)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(r'["\\/\x00-\x1f]')


def quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda it: _ESCAPES.get(it[0]) or f"\\u{ord(it[0]):04X}", text) + '"'


def property_text(tree: Any, *, is_indented: bool = False, depth: int = 0) -> str:
    """A property tree as Boost writes it without line breaks."""
    if isinstance(tree, str):
        return quoted(tree)
    if not isinstance(tree, list) or depth > DEEPEST:
        raise ValueError("no property tree")
    if isinstance(tree, Pairs):
        parts = (
            f"{quoted(name)}:{property_text(value, is_indented=is_indented, depth=depth + 1)}" for name, value in tree
        )
        return "{" + ",".join(parts) + "}"
    values = cast("list[Any]", tree)
    inside = ",".join(property_text(value, is_indented=is_indented, depth=depth + 1) for value in values)
    return "[" + inside + (" " * 4 * depth if is_indented else "") + "]"


def _indented_property_text(tree: Any) -> str:
    return property_text(tree, is_indented=True)


def _indented_json(tree: Any) -> str:
    return json.dumps(tree, indent=1, ensure_ascii=False)


DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
_TAG = re.compile(r'\s*<(?:(/)([\w.:-]+)\s*|([\w.:-]+)((?:\s+[\w.:-]+="[^"<]*")*)\s*(/?))>')
_ATTRIBUTE = re.compile(r'([\w.:-]+)="([^"<]*)"')


def _read_xml(source: str) -> Element:
    """One element of a text with its content; ValueError for anything but elements, attributes and texts."""
    if not source.startswith(DECLARATION):
        raise ValueError("no XML declaration")
    top = Element("")
    path, at = [top], len(DECLARATION)
    while found := _TAG.match(source, at):
        at = found.end()
        if found[1]:
            if path.pop().name != found[2] or not path:
                raise ValueError("an element that does not begin")
            continue
        element = Element(found[3], dict(_ATTRIBUTE.findall(found[4])))
        path[-1].children.append(element)
        if not found[5]:
            path.append(element)
            end = source.find("<", at)
            if end >= 0 and source.startswith(f"</{element.name}>", end):
                element.text, at = source[at:end], end
        if len(path) > DEEPEST:
            raise ValueError("too deep")
    if at != len(source) or len(path) != 1 or len(top.children) != 1:
        raise ValueError("no XML element")
    return top.children[0]


def _xml_text(element: Element) -> str:
    return DECLARATION + "\n".join(_xml_lines(element, 0))


def _xml_lines(element: Element, depth: int) -> Iterator[str]:
    blanks = "  " * depth
    attributes = "".join(f' {name}="{value}"' for name, value in element.attributes.items())
    if element.children:
        yield f"{blanks}<{element.name}{attributes}>"
        for child in element.children:
            yield from _xml_lines(child, depth + 1)
        yield f"{blanks}</{element.name}>"
    elif element.text:
        yield f"{blanks}<{element.name}{attributes}>{element.text}</{element.name}>"
    else:
        yield f"{blanks}<{element.name}{attributes}/>"


_FORMS: dict[Writing, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    Writing.PROPERTY_TREE: (_read_tree, property_text),
    Writing.INDENTED_PROPERTY_TREE: (_read_tree, _indented_property_text),
    Writing.JSON: (json.loads, _indented_json),
    Writing.XML: (_read_xml, _xml_text),
}


def escaped_attribute(text: str) -> str:
    """A text inside of an attribute of XML."""
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(sign, name)
    return text
