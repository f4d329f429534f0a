"""The `scf` dialect with Python operators on its values."""

from tilewright.iron.dialects.scf import *  # noqa: F403
