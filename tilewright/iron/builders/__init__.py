"""The seam under the Python front end: Python values in, operations of our dialects out, each with the user's line."""

# These modules also register the classes by which `value_of` and `view_of` wrap values and operations.
from tilewright.iron.builders.control import IfOp
from tilewright.iron.builders.functions import FuncOp
from tilewright.iron.builders.location import UsageError
from tilewright.iron.builders.memrefs import MemRefValue
from tilewright.iron.builders.module import Module, ModuleContext, building, mlir_mod_ctx
from tilewright.iron.builders.operations import InsertionPoint
from tilewright.iron.builders.scalars import ScalarValue

__all__ = [
    "FuncOp",
    "IfOp",
    "InsertionPoint",
    "MemRefValue",
    "Module",
    "ModuleContext",
    "ScalarValue",
    "UsageError",
    "building",
    "mlir_mod_ctx",
]
