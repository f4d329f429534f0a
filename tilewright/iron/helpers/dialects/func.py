"""Functions of the program and calls of them."""

from tilewright.iron.builders.functions import FuncOp, PythonFunction, call
from tilewright.iron.builders.functions import python_function as func

FuncBase = PythonFunction

__all__ = ["FuncBase", "FuncOp", "call", "func"]
