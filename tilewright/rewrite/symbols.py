"""The symbols that operations refer to, wherever in their attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, IntegerAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute


def references_in(op: Operation) -> Iterator[SymbolRefAttr]:
    """What the attributes of `op` refer to; what is nested in `op` has its own."""
    for attribute in (*op.properties.values(), *op.attributes.values()):
        if attribute.__class__ not in _PLAIN:
            yield from _references_of(attribute)


_PLAIN = {IntegerAttr, DenseArrayBase, StringAttr}
"""What most are: they have parts, but none that refers to anything."""


def _references_of(attribute: Attribute) -> Iterator[SymbolRefAttr]:
    match attribute:
        case IntegerAttr() | DenseArrayBase():
            pass
        case SymbolRefAttr():
            yield attribute
        case ArrayAttr():
            for element in attribute.data:
                yield from _references_of(element)
        case DictionaryAttr():
            for element in attribute.data.values():
                yield from _references_of(element)
        case ParametrizedAttribute():
            for parameter in attribute.parameters:
                yield from _references_of(parameter)
        case _:
            pass


def replace_references(op: Operation, replace: Callable[[SymbolRefAttr], SymbolRefAttr]) -> None:
    """Change what the attributes of `op` refer to."""
    for attributes in (op.properties, op.attributes):
        for name, attribute in attributes.items():
            # most attributes refer to nothing, and need not be built anew
            if any(True for _ in _references_of(attribute)):
                attributes[name] = _replaced(attribute, replace)


def _replaced(attribute: Attribute, replace: Callable[[SymbolRefAttr], SymbolRefAttr]) -> Attribute:
    match attribute:
        case SymbolRefAttr():
            return replace(attribute)
        case ArrayAttr():
            return ArrayAttr([_replaced(element, replace) for element in attribute.data])
        case DictionaryAttr():
            return DictionaryAttr({name: _replaced(element, replace) for name, element in attribute.data.items()})
        case ParametrizedAttribute():
            return type(attribute).new([_replaced(parameter, replace) for parameter in attribute.parameters])
        case _:
            return attribute
