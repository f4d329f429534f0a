"""C++ code as operations, with the syntax and the checks of MLIR's dialect of that name.

What computes is one operation per operator; `codegen.cpp_printer` writes the text.
"""

from xdsl.ir import Dialect

from . import calls, control, expression, functions, globals, operators, references, types, variables

EMITC = Dialect(
    "emitc",
    [
        *operators.OPS,
        *variables.OPS,
        *references.OPS,
        *calls.OPS,
        *control.OPS,
        *expression.OPS,
        *functions.OPS,
        *globals.OPS,
    ],
    types.ATTRS,
)
