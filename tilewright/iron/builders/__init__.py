"""The seam under the Python front end: Python values in, operations of our dialects out, each with the user's line."""

from tilewright.iron.builders.attributes import property_attribute, symbol_name
from tilewright.iron.builders.casts import as_i32, as_integer
from tilewright.iron.builders.control import IfOp, else_, for_, if_, yield_
from tilewright.iron.builders.elements import elements
from tilewright.iron.builders.functions import FuncOp, PythonFunction, call, external_func, python_function
from tilewright.iron.builders.handles import OpView, Value, ssa_of, value_of, view_of
from tilewright.iron.builders.insertion import InsertionPoint, is_building
from tilewright.iron.builders.location import UsageError, at, refuse, usage_error, user_location
from tilewright.iron.builders.memrefs import MemRefValue, load, store
from tilewright.iron.builders.module import Module, ModuleContext, building, collect_modules, finished, mlir_mod_ctx
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.parts import AttributeView
from tilewright.iron.builders.regions import fill, region_op
from tilewright.iron.builders.scalars import ScalarValue, as_index, constant, index_cast
from tilewright.iron.builders.types import array_dtype, array_shape, convert_type, is_array_type, memref, scalar_type

__all__ = [
    "AttributeView",
    "FuncOp",
    "IfOp",
    "InsertionPoint",
    "MemRefValue",
    "Module",
    "ModuleContext",
    "OpView",
    "PythonFunction",
    "ScalarValue",
    "UsageError",
    "Value",
    "array_dtype",
    "array_shape",
    "as_i32",
    "as_index",
    "as_integer",
    "at",
    "build",
    "building",
    "call",
    "collect_modules",
    "constant",
    "convert_type",
    "elements",
    "else_",
    "external_func",
    "fill",
    "finished",
    "for_",
    "if_",
    "index_cast",
    "is_array_type",
    "is_building",
    "load",
    "memref",
    "mlir_mod_ctx",
    "property_attribute",
    "python_function",
    "refuse",
    "region_op",
    "scalar_type",
    "ssa_of",
    "store",
    "symbol_name",
    "usage_error",
    "user_location",
    "value_of",
    "view_of",
    "yield_",
]
