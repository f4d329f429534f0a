"""C++ code as operations, with the syntax and the checks of MLIR's dialect of that name.

What computes is one operation per operator; `codegen.cpp_printer` writes the text.
"""

from xdsl.ir import Dialect

from . import calls, control, expression, functions, operators, types, variables

EMITC = Dialect(
    "emitc",
    [*operators.OPS, *variables.OPS, *calls.OPS, *control.OPS, *expression.OPS, *functions.OPS],
    types.ATTRS,
)
