"""Lets tests here import the module beside them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
