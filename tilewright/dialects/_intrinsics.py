"""Operations that stand for one intrinsic of a processor: reading a register takes nothing and gives a number."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.irdl import IRDLOperation, result_def, traits_def
from xdsl.traits import Pure

from tilewright.dialects._ods import op_definition


def register_read(name: str) -> type[IRDLOperation]:
    """The operation `name`, which reads a special register of 32 bits."""
    words = name.replace("_", ".").split(".")[1:]
    fields = {
        "name": name,
        "res": result_def(i32),
        "traits": traits_def(Pure()),
        "assembly_format": "attr-dict `:` type($res)",
        "__doc__": f"Read {' '.join(words)}.",
        "__module__": __name__,
    }
    return op_definition(type("".join(word.capitalize() for word in words) + "Op", (IRDLOperation,), fields))
