"""The `func` dialect for Python programs."""

from tilewright.iron.build.functions import FuncOp, call
from tilewright.iron.build.functions import python_function as func

__all__ = ["FuncOp", "call", "func"]
