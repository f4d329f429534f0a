"""Names for new symbols, which no other symbol has."""

from __future__ import annotations

from collections import Counter

from xdsl.ir import Block

from tilewright.ir.symbols import symbol_name


class FreeNames:
    """Gives names that are not in a set, and puts them there."""

    def __init__(self, taken: set[str]):
        self.taken = taken
        self._next = Counter[str]()

    @staticmethod
    def beside(block: Block) -> FreeNames:
        """Names that no operation of a block has."""
        return FreeNames({name for op in block.ops if (name := symbol_name(op)) is not None})

    def like(self, wanted: str) -> str:
        """The name that is wanted or, if it is taken, that name with `_0`, `_1`, ... behind it."""
        if wanted in self.taken:
            return self.numbered(f"{wanted}_")
        self.taken.add(wanted)
        return wanted

    def numbered(self, prefix: str) -> str:
        """A name with the next number behind it, from 0."""
        name = None
        while name is None or name in self.taken:
            name = f"{prefix}{self._next[prefix]}"
            self._next[prefix] += 1
        self.taken.add(name)
        return name
