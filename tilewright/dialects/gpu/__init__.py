"""The gpu dialect, with the syntax and the checks of upstream MLIR: kernels, launches, and what threads do together."""

from xdsl.ir import Dialect

from tilewright.dialects.gpu import attributes, calls, ids, kernels, lanes, launches, memory

OPERATIONS = [kernels, launches, calls, ids, lanes, memory]

GPU = Dialect("gpu", [op for module in OPERATIONS for op in module.OPS], attributes.ATTRS)
