"""What tests of several areas share."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"

ANSWER_S = 1.0


def patience_s() -> float:
    """How long an answer to Ctrl-C may take: other work on this computer makes everything slower."""
    return ANSWER_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
