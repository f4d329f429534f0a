"""The `scf` dialect for Python programs."""

from tilewright.iron.builders.control import IfOp, else_, for_, if_, yield_

__all__ = ["IfOp", "else_", "for_", "if_", "yield_"]
