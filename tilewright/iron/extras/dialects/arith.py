"""The `arith` dialect with Python operators on its values."""

from tilewright.iron.builders import scalars
from tilewright.iron.dialects.arith import *  # noqa: F403

constant = scalars.constant
"""`constant(value, type)`: here the value comes first."""
