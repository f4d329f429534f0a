"""Lets the tests here import the modules beside them, and those that run sequences and kernels."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent / "codegen"), str(HERE.parent / "gpu")]
