"""Lines that cores print while they run."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.device import TileId
from tilewright.sim.engine import Engine


@dataclass(frozen=True)
class Printed:
    """A line that a core printed."""

    cycle: int
    """Since the run began; 0 for what a core printed before it."""
    tile: TileId
    text: str

    def __str__(self) -> str:
        return f"core ({self.tile.column}, {self.tile.row}) at cycle {self.cycle:,}: {self.text}"


class Output:
    """Shows what cores print as they do, and keeps it for the record of the run."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._began = 0
        self._lines: list[Printed] = []

    def begin_run(self) -> None:
        """Count cycles from now on."""
        self._began = self._engine.now

    def say(self, place: TileId, text: str) -> None:
        """Print a line of a core's."""
        line = Printed(max(self._engine.now - self._began, 0), place, text)
        self._lines.append(line)
        print(line)

    def take(self) -> list[Printed]:
        """The lines since the last time."""
        lines, self._lines = self._lines, []
        return lines
