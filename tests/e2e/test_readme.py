"""The program in the README does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

README = Path(__file__).parents[2] / "README.md"


def test_python_of_the_readme(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, str(tmp_path / "readme.py"), "exec"), names)
    assert names["result"].cycles > 0 and names["words"].dtype == np.uint32
