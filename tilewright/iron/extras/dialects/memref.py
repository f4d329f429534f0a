"""The `memref` dialect with Python operators on its values."""

from tilewright.iron.dialects.memref import *  # noqa: F403
