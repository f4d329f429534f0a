"""The `arith` dialect with Python operators on its values."""

from tilewright.iron.build import scalars
from tilewright.iron.dialects.arith import *  # noqa: F403

constant = scalars.constant
"""`constant(value, type)`: here the value comes first."""
