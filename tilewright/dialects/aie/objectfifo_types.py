"""Types of object FIFOs: the FIFO, and the window that an acquire opens on it."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class ObjectFifoType(ParametrizedAttribute, TypeAttribute):
    """A FIFO of buffers of one type."""

    name = "aie.objectfifo"
    element_type: MemRefType


@irdl_attr_definition
class ObjectFifoSubviewType(ParametrizedAttribute, TypeAttribute):
    """Some acquired buffers of a FIFO."""

    name = "aie.objectfifosubview"
    element_type: MemRefType


ATTRS = [ObjectFifoType, ObjectFifoSubviewType]
