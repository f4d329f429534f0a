"""Types of object FIFOs: the FIFO, and the window that an acquire opens on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser

from tilewright.ir.shown import quoted


class OfBuffers(ParametrizedAttribute, TypeAttribute):
    """Written with the type of its buffers behind its name."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            start = parser.pos
            type = parser.parse_type()
            # here and not in a verifier: the parser can say where
            if not isinstance(type, MemRefType):
                wrong = f"invalid kind of type specified: expected builtin.memref, but found {quoted(type)}"
                parser.raise_error(wrong, start)
            return [cast(Attribute, type)]


@irdl_attr_definition
class ObjectFifoType(OfBuffers):
    """A FIFO of buffers of one type."""

    name = "aie.objectfifo"
    element_type: MemRefType


@irdl_attr_definition
class ObjectFifoSubviewType(OfBuffers):
    """Some acquired buffers of a FIFO."""

    name = "aie.objectfifosubview"
    element_type: MemRefType


ATTRS = [ObjectFifoType, ObjectFifoSubviewType]
