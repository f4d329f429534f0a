"""The native generators of a design as one shared library with a plain C interface, and its header.

A C, C++ or Rust host needs no compiler of ours and no step at build time: it links with the library, or opens it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from textwrap import fill

from llvmlite import ir
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute

from tilewright.codegen.cpp_names import RESERVED, identifier, unique_name
from tilewright.codegen.native_body import Generator, private_constant
from tilewright.codegen.native_generator import build_generator
from tilewright.codegen.sequence_scalars import SequenceGuard
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.dialects.aie.sequence import RuntimeSequenceOp, scalar_arguments
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.emitc.types import wider
from tilewright.errors import ArgumentError
from tilewright.ir.diagnostics import fail, file_position, place
from tilewright.ir.escapes import comment_text, visible
from tilewright.ir.symbols import FreeNames
from tilewright.native.host import library_triple, object_code
from tilewright.native.shared_object import define_memory_functions, link_shared
from tilewright.native.values import I8, I32, I64, POINTER

NO_FAILURE = "not a failure of this library"


@dataclass(frozen=True)
class NamedSequence:
    """A lowered sequence, with what the source calls its arguments."""

    name: str
    op: RuntimeSequenceOp
    argument_names: Sequence[str]


@dataclass(frozen=True)
class SharedLibrary:
    """Files of a library: `libNAME.so` and `libNAME.h`, and the function of each sequence."""

    name: str
    code: bytes
    header: str
    functions: dict[str, str]

    @property
    def file(self) -> str:
        return f"lib{self.name}.so"

    @property
    def header_file(self) -> str:
        return f"lib{self.name}.h"


def shared_library(name: str, sequences: Sequence[NamedSequence], triple: str | None = None) -> SharedLibrary:
    """Compile all sequences into a library of that name, for this computer or another one."""
    if name != identifier(name):
        raise ArgumentError(
            f"a library cannot be called {name!r}: names in C begin with it, so give it one of their kind"
        )
    failure_text = f"{name}_failure_text"
    names = FreeNames({f"{name}_failure", failure_text})
    functions = [_function(name, sequence, names) for sequence in sequences]
    module = ir.Module(name)
    define_memory_functions(module)  # LLVM makes calls of memcpy, and the library links with nothing
    texts, all_passes = list[str](), True
    for function, sequence in zip(functions, sequences, strict=True):
        generator = _add_generator(module, function, sequence, first_code=len(texts))
        all_passes &= generator.is_short
        texts += [_explanation(guard, function) for guard in generator.guards]
    _add_texts(module, failure_text, [*texts, NO_FAILURE])
    exported = [*(function.name for function in functions), failure_text]
    objects = object_code(module, triple or library_triple(), all_passes=all_passes)
    code = link_shared(objects, f"lib{name}.so", exported)
    named = {sequence.name: function.name for sequence, function in zip(sequences, functions, strict=True)}
    declarations = "\n\n".join(_declaration(name, function) for function in functions)
    header = _HEADER.format(library=name, guard=f"LIB{name.upper()}_H", declarations=declarations)
    return SharedLibrary(name, code, header, named)


def _function(library: str, sequence: NamedSequence, taken: FreeNames) -> GeneratorFunction:
    device = sequence.op.parent_op()
    prefix = f"{device.sym_name.data}_" if isinstance(device, DeviceOp) else ""
    scalars = scalar_arguments(sequence.op)
    names = parameter_names([sequence.argument_names[scalar.index] for scalar in scalars])
    types = [_c_type(scalar.type, sequence.op) for scalar in scalars]
    parameters = [GeneratorParameter(type, name) for type, name in zip(types, names, strict=True)]
    position = file_position(sequence.op.location)
    source = f"{PurePath(position[0]).name}:{position[1]}" if position else ""
    name = re.sub(r"\W", "_", f"{library}_{prefix}{sequence.op.sym_name.data}", flags=re.ASCII)
    return GeneratorFunction(taken.like(name), sequence.name, source, parameters)


def _c_type(type: Attribute, where: RuntimeSequenceOp) -> str:
    match type:
        case IndexType():
            return "size_t"
        case IntegerType() if type.width.data == 1:
            return "bool"
        case IntegerType() if (held := wider(type)) is not None:
            return f"int{held.bitwidth}_t"
        case _:
            fail(where, f"an argument of type {type} has no counterpart in C")


def _add_generator(
    module: ir.Module, function: GeneratorFunction, sequence: NamedSequence, first_code: int
) -> Generator:
    """The function that hosts call: C's types outside, 64-bit integers inside; failures count through the library."""
    device = sequence.op.parent_op()
    assert device is not None
    generator = build_generator(module, sequence.op, TxnEmitter(device), f"{function.name}.words")
    # Hosts see only the C function around it, whose failure codes count through the library.
    generator.function.linkage = "internal"
    types = [ir.IntType(parameter.bits) for parameter in function.parameters]
    outer = ir.Function(module, ir.FunctionType(I64, [POINTER, I64, *types, POINTER]), function.name)
    outer.attributes.add("nounwind")
    _call_inner(outer, generator.function, first_code)
    return generator


def _call_inner(outer: ir.Function, inner: ir.Function, first_code: int) -> None:
    words, capacity, *scalars, failure = outer.args
    entry, failed, report, done = (outer.append_basic_block(name) for name in ("entry", "failed", "report", "done"))
    builder = ir.IRBuilder(entry)
    value = builder.alloca(I64)
    # The inner function takes 64 bits for each argument and cuts them to their types.
    wide = [scalar if scalar.type.width == I64.width else builder.sext(scalar, I64) for scalar in scalars]
    count = builder.call(inner, [words, capacity, value, *wide])
    builder.cbranch(builder.icmp_signed("<", count, ir.Constant(I64, 0)), failed, done)
    builder.position_at_end(failed)
    code = builder.sub(count, ir.Constant(I64, first_code))
    builder.cbranch(builder.icmp_unsigned("!=", failure, ir.Constant(POINTER, None)), report, done)
    builder.position_at_end(report)
    builder.store(code, failure)
    builder.store(builder.load(value, typ=I64), builder.gep(failure, [ir.Constant(I64, 1)], source_etype=I64))
    builder.branch(done)
    builder.position_at_end(done)
    result = builder.phi(I64)
    for number, block in ((count, entry), (code, failed), (code, report)):
        result.add_incoming(number, block)
    builder.ret(result)


def _explanation(guard: SequenceGuard, function: GeneratorFunction) -> str:
    """Which number has which limits, where in the source, and which arguments decide it."""
    names = ", ".join(function.parameters[index].name for index in guard.arguments)
    text = f"{guard.subject} {guard.text}" if guard.subject else guard.text
    return visible(f"{place(guard.location)}error: {text}" + (f" (depends on {names})" if names else ""))


def _add_texts(module: ir.Module, name: str, texts: Sequence[str]) -> None:
    """A function from codes -1, -2, ... to texts; any other number gets the last one."""
    encoded = [text.encode() + b"\0" for text in texts]
    # Offsets instead of pointers, which a loader would have to relocate.
    starts = [0]
    for text in encoded[:-1]:
        starts.append(starts[-1] + len(text))
    blob = private_constant(module, f"{name}.bytes", I8, bytearray(b"".join(encoded)))
    offsets = private_constant(module, f"{name}.starts", I32, starts)
    function = ir.Function(module, ir.FunctionType(POINTER, [I64]), name)
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    index, last = builder.sub(ir.Constant(I64, -1), function.args[0]), ir.Constant(I64, len(texts) - 1)
    known = builder.select(builder.icmp_unsigned("<", index, last), index, last)
    start = builder.load(builder.gep(offsets, [known], source_etype=I32), typ=I32)
    builder.ret(builder.gep(blob, [builder.zext(start, I64)], source_etype=I8))


LINE_WIDTH = 120
# Parameters of every function, and what C reserves beyond C++.
_TAKEN = RESERVED | {"words", "capacity", "failure", "restrict", "typeof"}
_BITS = {"bool": 8, "int8_t": 8, "int16_t": 16, "int32_t": 32, "int64_t": 64, "size_t": 64}


@dataclass(frozen=True)
class GeneratorParameter:
    """A scalar argument of a sequence."""

    type: str
    name: str

    @property
    def bits(self) -> int:
        return _BITS[self.type]


@dataclass(frozen=True)
class GeneratorFunction:
    """A generator: what it is called, which sequence it makes the words of, where that is written."""

    name: str
    sequence: str
    source: str
    parameters: Sequence[GeneratorParameter]


def parameter_names(names: Sequence[str]) -> list[str]:
    """Names that C and C++ allow, each a different one."""
    taken = set(_TAKEN)
    return [unique_name(identifier(name) or f"arg{number}", taken) for number, name in enumerate(names)]


def _declaration(library: str, function: GeneratorFunction) -> str:
    scalars = [f"{parameter.type} {parameter.name}" for parameter in function.parameters]
    parameters = ", ".join(["uint32_t *words", "int64_t capacity", *scalars, f"{library}_failure *failure"])
    declaration = fill(f"int64_t {function.name}({parameters});", LINE_WIDTH, subsequent_indent=" " * 4)
    source = f", {function.source}" if function.source else ""
    return f"/* Sequence {comment_text(function.sequence + source)}. */\n{declaration}"


_HEADER = """\
/* The generators in lib{library}.so: the TXN words of each runtime sequence for values of its scalar arguments.
 *
 * Every function gives the number of words that the stream has, header included, and writes them to `words` if they
 * fit into `capacity`. Ask for the number first (NULL and 0), or call again with more room where it is more than
 * `capacity`; what is in `words` then is of no use.
 *
 * Where the hardware cannot take the values there is no stream: the function gives a negative code, and tells more in
 * `*failure` unless that is NULL. No function keeps a state or allocates: threads may call them at the same time.
 */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {library}_failure {{
  int64_t code;  /* what the function returned */
  int64_t value; /* the number that was refused */
}} {library}_failure;

/* What a code means: which number has which limits, the line of the source that says so, the arguments that decide. */
const char *{library}_failure_text(int64_t code);

{declarations}

#ifdef __cplusplus
}}
#endif

#endif /* {guard} */
"""
