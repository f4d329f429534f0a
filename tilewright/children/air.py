"""`air` for processes that a served program starts: their PYTHONPATH has this folder, see `tilewright.as_aie`."""

import sys
from importlib import import_module

# the place of this module is for the package that is served, which the import system takes from there
del sys.modules[__name__]
import_module("tilewright.as_aie")
import_module(__name__)
