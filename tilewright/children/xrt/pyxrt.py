"""`pyxrt` for served programs and processes that they start: their path has this folder, see `tilewright.as_aie`."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("tilewright.pyxrt")
