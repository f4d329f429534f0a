"""A lowered runtime sequence as a native function that fills a buffer with TXN words.

    int64_t generate(uint32_t *out, int64_t capacity, int64_t *failure, int64_t argument, ...)

It gives the number of words of the stream, whether or not they fit: where they do not, nothing is written past
`capacity` and the caller tries again with more room. Where a guard fails it gives -1 - (number of the guard), with the
guarded value in `*failure`.
"""

from __future__ import annotations

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType
from xdsl.ir import BlockArgument

from tilewright.codegen.emission import Emitter
from tilewright.codegen.native_body import I64, POINTER, Generator, GeneratorBody
from tilewright.codegen.native_handlers import HANDLERS
from tilewright.dialects.aie.sequence import RuntimeSequenceOp


def scalar_arguments(sequence: RuntimeSequenceOp) -> list[BlockArgument]:
    """The arguments that a generator takes: all but the host's buffers."""
    block = sequence.body.block
    return [arg for arg in block.args if not isinstance(arg.type, MemRefType | UnrankedMemRefType)]


def build_generator(module: ir.Module, sequence: RuntimeSequenceOp, emitter: Emitter, name: str) -> Generator:
    """Add the function to an LLVM module."""
    arguments = scalar_arguments(sequence)
    type = ir.FunctionType(I64, [POINTER, I64, POINTER, *(I64 for _ in arguments)])
    generator = Generator(ir.Function(module, type, name), arguments)
    generator.function.attributes.add("nounwind")
    GeneratorBody(module, generator, emitter, HANDLERS).build(sequence)
    return generator
