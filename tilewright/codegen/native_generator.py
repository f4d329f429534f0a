"""A lowered runtime sequence as a native function that fills a buffer with TXN words.

    int64_t generate(uint32_t *out, int64_t capacity, int64_t *failure, int64_t argument, ...)

It gives the number of words of the stream, whether or not they fit: where they do not, nothing is written past
`capacity` and the caller tries again with more room. Where a guard fails it gives -1 - (number of the guard), with the
guarded value in `*failure`.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, UnrankedMemRefType
from xdsl.ir import Attribute, BlockArgument

from tilewright.codegen.emission import Emitter, is_emitted, remedy
from tilewright.codegen.native_body import I64, POINTER, Generator, GeneratorBody
from tilewright.codegen.native_handlers import HANDLERS
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.native.body import is_translated

SCALAR_BITS = range(1, 65)


def scalar_arguments(sequence: RuntimeSequenceOp) -> list[BlockArgument]:
    """The arguments that a generator takes: all but the host's buffers."""
    block = sequence.body.block
    return [arg for arg in block.args if not isinstance(arg.type, MemRefType | UnrankedMemRefType)]


def check_generator(sequence: RuntimeSequenceOp, names: Sequence[str]) -> None:
    """Refuse what no generator can be made of: arguments that are no integers, operations that are no instructions."""
    for argument in scalar_arguments(sequence):
        if not _is_scalar(argument.type):
            name, wanted = names[argument.index], f"integers of 1 to {SCALAR_BITS[-1]} bits, index, and memrefs"
            taken = f"@{sequence.sym_name.data} is {argument.type}; a sequence takes {wanted}"
            fail(argument, f"argument {name} of {taken}")
    for op in sequence.walk():
        if op is not sequence and not is_translated(op, HANDLERS) and not is_emitted(op):
            fail_op(op, "has no native translation", (op, remedy(op)))


def _is_scalar(type: Attribute) -> bool:
    match type:
        case IndexType():
            return True
        case IntegerType():
            return type.width.data in SCALAR_BITS
        case _:
            return False


def build_generator(module: ir.Module, sequence: RuntimeSequenceOp, emitter: Emitter, name: str) -> Generator:
    """Add the function to an LLVM module."""
    arguments = scalar_arguments(sequence)
    type = ir.FunctionType(I64, [POINTER, I64, POINTER, *(I64 for _ in arguments)])
    generator = Generator(ir.Function(module, type, name), arguments, sequence.location)
    generator.function.attributes.add("nounwind")
    GeneratorBody(module, generator, emitter, HANDLERS).build(sequence)
    return generator
