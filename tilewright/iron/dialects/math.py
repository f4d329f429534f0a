"""The `math` dialect for Python programs."""

from tilewright.iron.math import *  # noqa: F403
from tilewright.iron.math import __all__ as __all__
