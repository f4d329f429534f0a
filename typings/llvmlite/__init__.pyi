"""The part of llvmlite that tilewright uses."""

__version__: str
