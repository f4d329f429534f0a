"""Places of the vendor's tools; there are none here."""

from __future__ import annotations


def root_path() -> str:
    """The folder of this installation."""
    from pathlib import Path

    import tilewright

    return str(Path(tilewright.__file__).parent)


def cxx_header_path() -> str:
    """The folder with the C++ headers."""
    return f"{root_path()}/include"
