"""`memcpy` and `memset`, which LLVM calls for long copies: a library that needs no other one brings its own.

LLVM knows not to make calls of a function out of the loop in the function of that very name.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

BYTE, I32, I64, POINTER = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.PointerType()
ByteAt = Callable[[ir.IRBuilder, ir.Value], ir.Value]


def define_memory_functions(module: ir.Module) -> None:
    copy = ir.Function(module, ir.FunctionType(POINTER, [POINTER, POINTER, I64]), "memcpy")
    for pointer in copy.args[:2]:
        pointer.add_attribute("noalias")
    _fill(copy, lambda builder, index: builder.load(_byte(builder, copy.args[1], index), typ=BYTE))
    set_to = ir.Function(module, ir.FunctionType(POINTER, [POINTER, I32, I64]), "memset")
    _fill(set_to, lambda builder, index: builder.trunc(set_to.args[1], BYTE))


def _fill(function: ir.Function, byte_at: ByteAt) -> None:
    """Store a byte for each index below the last argument, then return the first."""
    function.attributes.add("nounwind")
    target, _, count = function.args
    entry, head, body, done = (function.append_basic_block(name) for name in ("entry", "head", "body", "done"))
    builder = ir.IRBuilder(entry)
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(I64)
    index.add_incoming(ir.Constant(I64, 0), entry)
    builder.cbranch(builder.icmp_unsigned("<", index, count), body, done)
    builder.position_at_end(body)
    builder.store(byte_at(builder, index), _byte(builder, target, index))
    index.add_incoming(builder.add(index, ir.Constant(I64, 1)), body)
    builder.branch(head)
    builder.position_at_end(done)
    builder.ret(target)


def _byte(builder: ir.IRBuilder, base: ir.Value, index: ir.Value) -> ir.Value:
    return builder.gep(base, [index], source_etype=BYTE)
