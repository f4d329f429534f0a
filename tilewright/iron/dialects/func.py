"""The `func` dialect for Python programs."""

from tilewright.iron.builders.functions import FuncOp, call
from tilewright.iron.builders.functions import python_function as func

__all__ = ["FuncOp", "call", "func"]
