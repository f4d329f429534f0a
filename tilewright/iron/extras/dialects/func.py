"""The `func` dialect with Python operators on its values."""

from tilewright.iron.dialects.func import *  # noqa: F403
