"""Loops and choices of the program."""

from tilewright.iron.builders.control import IfOp, else_, for_, if_, yield_

_for = for_
range_ = for_

__all__ = ["IfOp", "_for", "else_", "for_", "if_", "range_", "yield_"]
