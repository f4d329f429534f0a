"""Import paths of users' programs, the documents and the examples: each leads to its names, whatever moves inside.

`import_paths.txt` was written before the first file moved: all of `tilewright.iron` that mirrors mlir-aie, and the
modules that documents name.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

LINES = (Path(__file__).parent / "import_paths.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.partition(":")[0])
def test_path_leads_to_its_names(line: str) -> None:
    path, _, names = line.partition(":")
    module = import_module(path)
    assert [name for name in names.split() if not hasattr(module, name)] == []


def test_promised_names_are_listed() -> None:
    """Those that are promised in words: see the contract of each."""
    listed = {path: set(names.split()) for path, _, names in (line.partition(":") for line in LINES)}
    assert {"Header", "Stream", "TxnError"} <= listed["tilewright.txn"]
    assert {"costs", "c_kernel"} <= listed["tilewright.sim.kernels"]
    assert {"range_", "if_"} <= listed["tilewright.iron.controlflow"]
    assert {"tilewright.designs", "tilewright.iron.device", "tilewright.air"} <= set(listed)
