"""Placeholders that a design's function gets for the tensors of a run: nothing that it could look into."""

from __future__ import annotations

from typing import Any, NoReturn


class TensorPlaceholder:
    """Stands for a tensor while the design is built; sizes and types have to come from elsewhere."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)  # this class refuses to set anything

    def _refuse(self, what: str) -> NoReturn:
        name = object.__getattribute__(self, "_name")
        raise RuntimeError(
            f"Generator parameter {name!r} is a runtime tensor (In/Out/InOut) and is not available at compile time: "
            f"{what}. Use CompileTime[T] parameters for shape/dtype information instead."
        )

    def __getattr__(self, name: str) -> Any:
        # copying and printing ask for such names, and take no for an answer
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(f".{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse(f".{name} = ...")

    def __getitem__(self, key: Any) -> Any:
        self._refuse(f"[{key!r}]")

    def __repr__(self) -> str:
        return f"<tensor {object.__getattribute__(self, '_name')!r}>"
