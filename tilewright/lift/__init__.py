"""Streams that others have made, as runtime sequences: one file as it is, or a family of files with its parameters.

TXN words come in; MLIR comes out that the ordinary pipeline turns into the same words.
"""

from __future__ import annotations

from tilewright.lift.lifting import Lifted, Prediction, lift, to_mlir

__all__ = ["Lifted", "Prediction", "lift", "to_mlir"]
