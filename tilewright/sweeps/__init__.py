"""Sweeps: a design and values of its parameters come in, each point is compiled and run, a table and a page go out."""

from __future__ import annotations

from tilewright.sweeps.definition import Sweep as Sweep
from tilewright.sweeps.definition import sweep as sweep
from tilewright.sweeps.rows import Status as Status
from tilewright.sweeps.rows import SweepRow as SweepRow
from tilewright.sweeps.table import SweepResult as SweepResult
from tilewright.sweeps.targets import Trial as Trial
from tilewright.sweeps.trials import FIELDS as FIELDS
