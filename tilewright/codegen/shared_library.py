"""The native generators of a design as one shared library with a plain C interface, and its header.

A C, C++ or Rust host needs no compiler of ours and no step at build time: it links with the library, or opens it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from llvmlite import ir
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute

from tilewright.codegen.c_header import Function, Parameter, header_text, parameter_names
from tilewright.codegen.cpp_names import identifier
from tilewright.codegen.emission import Emitter
from tilewright.codegen.native_body import I32, I64, POINTER, Generator, Guard
from tilewright.codegen.native_generator import build_generator, scalar_arguments
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.errors import ArgumentError
from tilewright.ir.diagnostics import fail, file_position, place
from tilewright.ir.escapes import visible
from tilewright.ir.symbols import FreeNames
from tilewright.native.host import library_triple, object_code
from tilewright.native.memory_functions import define_memory_functions
from tilewright.native.shared_object import link_shared

BYTE = ir.IntType(8)
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
    define_memory_functions(module)
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
    return SharedLibrary(name, code, header_text(name, functions), named)


def _function(library: str, sequence: NamedSequence, taken: FreeNames) -> Function:
    device = sequence.op.parent_op()
    prefix = f"{device.sym_name.data}_" if isinstance(device, DeviceOp) else ""
    scalars = scalar_arguments(sequence.op)
    names = parameter_names([sequence.argument_names[scalar.index] for scalar in scalars])
    types = [_c_type(scalar.type, sequence.op) for scalar in scalars]
    parameters = [Parameter(type, name) for type, name in zip(types, names, strict=True)]
    position = file_position(sequence.op.location)
    source = f"{PurePath(position[0]).name}:{position[1]}" if position else ""
    name = re.sub(r"\W", "_", f"{library}_{prefix}{sequence.op.sym_name.data}", flags=re.ASCII)
    return Function(taken.like(name), sequence.name, source, parameters)


def _c_type(type: Attribute, where: RuntimeSequenceOp) -> str:
    match type:
        case IndexType():
            return "size_t"
        case IntegerType() if type.width.data == 1:
            return "bool"
        case IntegerType() if type.width.data in (8, 16, 32, 64):
            return f"int{type.width.data}_t"
        case _:
            fail(where, f"an argument of type {type} has no counterpart in C")


def _add_generator(module: ir.Module, function: Function, sequence: NamedSequence, first_code: int) -> Generator:
    """The function that hosts call: C's types outside, 64-bit integers inside; failures count through the library."""
    device = sequence.op.parent_op()
    assert device is not None
    generator = build_generator(module, sequence.op, Emitter(device), f"{function.name}.words")
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


def _explanation(guard: Guard, function: Function) -> str:
    """Which number has which limits, where in the source, and which arguments decide it."""
    names = ", ".join(function.parameters[index].name for index in guard.arguments)
    text = f"{guard.subject} {guard.text}" if guard.subject else guard.text
    return visible(f"{place(guard.location)}error: {text}" + (f" (depends on {names})" if names else ""))


def _add_texts(module: ir.Module, name: str, texts: Sequence[str]) -> None:
    """A function from codes -1, -2, ... to texts; any other number gets the last one."""
    encoded = [text.encode() + b"\0" for text in texts]
    starts = [0]
    for text in encoded[:-1]:
        starts.append(starts[-1] + len(text))
    blob = _constant(module, f"{name}.bytes", BYTE, bytearray(b"".join(encoded)))
    offsets = _constant(module, f"{name}.starts", I32, starts)
    function = ir.Function(module, ir.FunctionType(POINTER, [I64]), name)
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    index, last = builder.sub(ir.Constant(I64, -1), function.args[0]), ir.Constant(I64, len(texts) - 1)
    known = builder.select(builder.icmp_unsigned("<", index, last), index, last)
    start = builder.load(builder.gep(offsets, [known], source_etype=I32), typ=I32)
    builder.ret(builder.gep(blob, [builder.zext(start, I64)], source_etype=BYTE))


def _constant(module: ir.Module, name: str, element: ir.Type, values: Sequence[int] | bytearray) -> ir.GlobalVariable:
    type = ir.ArrayType(element, len(values))
    data = ir.GlobalVariable(module, type, name)
    data.linkage, data.global_constant, data.initializer = "private", True, ir.Constant(type, values)
    return data
