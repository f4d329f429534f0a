"""Functions written in a small part of Python as native code.

All values are 64-bit integers. The first parameter of each function is a `SharedState`, whose numbers and columns it
reads and writes. There are assignments, `if`, `while`, `for` over `range`, arithmetic on integers (division only of
what is not negative), comparisons, `and`, `or`, `not`, calls of each other, and the functions of `INTRINSICS`. The same
functions run as Python too, only slower: that is how to look into one.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import sys
import textwrap
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import reduce
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from llvmlite import ir

from tilewright.native.host import NativeObject, host_key, host_object
from tilewright.native.object_cache import cached_object
from tilewright.native.shared_state import NUMBER_BYTES, SharedState
from tilewright.native.types import declared
from tilewright.support.lazy import once

I1, I8, I32, I64, POINTER = (*(ir.IntType(width) for width in (1, 8, 32, 64)), ir.PointerType())
MASK = (1 << 64) - 1
Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


class NotCompilable(Exception):
    """A function uses something outside of the small part of Python."""


def load32(address: int) -> int:
    """The 32-bit word at an address of this process."""
    return ctypes.c_uint32.from_address(address).value


def store32(address: int, value: int) -> None:
    ctypes.c_uint32.from_address(address).value = value


def load8(address: int) -> int:
    return ctypes.c_uint8.from_address(address).value


def store8(address: int, value: int) -> None:
    ctypes.c_uint8.from_address(address).value = value


def load64(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def store64(address: int, value: int) -> None:
    ctypes.c_int64.from_address(address).value = value


def copy_bytes(target: int, source: int, count: int) -> None:
    """Copy memory to where it does not overlap."""
    ctypes.memmove(target, source, count)


def lowest_bit(bits: int) -> int:
    """The number of the lowest bit that is set; there has to be one."""
    return (bits & -bits).bit_length() - 1


def rotated_right(bits: int, count: int) -> int:
    """The 64 bits of a number, those that leave it at the lower end put in at the upper one."""
    whole = bits & MASK
    found = (whole >> count | whole << 64 - count) & MASK
    return found - (1 << 64) if found >> 63 else found


def post(semaphore: int) -> None:
    """Let one who waits for a semaphore of POSIX go on."""
    ctypes.CDLL(None).sem_post(ctypes.c_void_p(semaphore))


def take_post(semaphore: int) -> None:
    """Wait for a semaphore of POSIX."""
    while ctypes.CDLL(None).sem_wait(ctypes.c_void_p(semaphore)) != 0:
        pass


def call_address(function: int, argument: int) -> None:
    """Call native code that takes one address and gives nothing."""
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(function)(argument)


class CompiledFunctions:
    """Functions on one kind of state that register themselves, `@functions`; with `@functions.entry` Python calls them.

    Machine code is made of all of them when the first entry is asked for: `functions[entry](state.address, ...)`.
    """

    def __init__(self, state: type[SharedState]):
        self.state = state
        self._functions: dict[str, Function] = {}
        self._entries = set[str]()
        self._machine_code = once(self._load)

    def __call__(self, function: F) -> F:
        assert function.__name__ not in self._functions, "functions are called by their names alone"
        self._functions[function.__name__] = function
        return function

    def entry(self, function: F) -> F:
        self._entries.add(function.__name__)
        return self(function)

    def __getitem__(self, entry: Function) -> Callable[..., int]:
        return self._machine_code()[entry.__name__]

    def build(self) -> ir.Module:
        """The functions in LLVM's language."""
        module = ir.Module("functions")
        declarations = {name: _declare(module, function) for name, function in self._ordered()}
        for name, function in self._ordered():
            _FunctionCompiler(module, declarations, self.state, function).compile()
            if name not in self._entries:
                # LLVM may then inline it everywhere and drop it.
                declarations[name].linkage = "internal"
        return module

    def _ordered(self) -> list[tuple[str, Function]]:
        """By name: the order of registration depends on which module is imported first, and is in the cache's key."""
        return sorted(self._functions.items())

    def _load(self) -> dict[str, Callable[..., int]]:
        native = NativeObject(cached_object(self._key(), lambda: host_object(self.build())))
        return {name: self._callable(native, self._functions[name]) for name in self._entries}

    @staticmethod
    def _callable(native: NativeObject, function: Function) -> Callable[..., int]:
        count = len(inspect.signature(function).parameters) - 1
        prototype = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * count)
        entry = prototype(native.address(function.__name__))
        setattr(entry, "code", native)  # noqa: B010, machine code stays as long as something can call it
        return entry

    def _key(self) -> str:
        """Names the functions, all that they can refer to, this compiler and this computer."""
        modules = sorted({function.__module__ for function in self._functions.values()} | {__name__})
        named = [(module, name, value) for module in modules for name, value in vars(sys.modules[module]).items()]
        numbers = [(module, name, int(value)) for module, name, value in named if isinstance(value, int)]
        # Of enumerations the members; other classes matter only by their names.
        enums = [
            (module, name, [(member.name, int(member)) for member in value] if issubclass(value, IntEnum) else [])
            for module, name, value in named
            if isinstance(value, type)
        ]
        # The text covers the functions themselves; numbers and enums are what they import.
        texts = [Path(str(sys.modules[module].__file__)).read_bytes() for module in modules]
        names = [name for name, _ in self._ordered()]
        return sha256(repr((self.state.layout(), names, numbers, enums, texts, host_key())).encode()).hexdigest()


def _declare(module: ir.Module, function: Function) -> ir.Function:
    count = len(inspect.signature(function).parameters) - 1
    type = ir.FunctionType(I64, [POINTER, *[I64] * count])
    found = ir.Function(module, type, function.__name__)
    found.attributes.add("nounwind")
    return found


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "udiv",
    ast.Mod: "urem",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class _FunctionCompiler:
    def __init__(
        self, module: ir.Module, functions: dict[str, ir.Function], state: type[SharedState], function: Function
    ):
        self.module, self.functions, self.state, self.source = module, functions, state, function
        self.function = functions[function.__name__]
        self.entry = self.function.append_basic_block("entry")
        self.builder = ir.IRBuilder(self.entry)
        self.locals: dict[str, ir.Value] = {}
        self.loops: list[tuple[ir.Block, ir.Block]] = []
        """Where `continue` and `break` lead."""

    def compile(self) -> None:
        definition = ast.parse(textwrap.dedent(inspect.getsource(self.source))).body[0]
        assert isinstance(definition, ast.FunctionDef)
        names = [argument.arg for argument in definition.args.args]
        self.state_name = names[0]
        for name, value in zip(names[1:], self.function.args[1:], strict=True):
            self.builder.store(value, self._local(name))
        self._block(definition.body)
        if not self.builder.block.is_terminated:
            self.builder.ret(_number(0))

    def _local(self, name: str) -> ir.Value:
        if name not in self.locals:
            # LLVM makes registers only of variables of the entry block.
            with self.builder.goto_entry_block():
                self.locals[name] = self.builder.alloca(I64, name=name)
        return self.locals[name]

    def _refuse(self, node: ast.AST) -> NoReturn:
        line = getattr(node, "lineno", 0)
        raise NotCompilable(f"{self.source.__qualname__}, line {line}: {ast.unparse(node)}")

    # Statements.

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            # Behind `return`, `break` and `continue` nothing is reached.
            if not self.builder.block.is_terminated:
                self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, self._value(value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self._assign(target, self._binary(op, self._value(target), self._value(value)))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self._call(call)
            case ast.Return(value=None):
                self.builder.ret(_number(0))
            case ast.Return(value=ast.expr() as value):
                self.builder.ret(self._value(value))
            case ast.If(test=test, body=body, orelse=orelse):
                self._if(test, body, orelse)
            case ast.While(test=test, body=body, orelse=[]):
                self._while(test, body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=args), orelse=[]):
                self._for(name, args, node.body)
            case ast.Break():
                self.builder.branch(self.loops[-1][1])
            case ast.Continue():
                self.builder.branch(self.loops[-1][0])
            case _:
                self._refuse(node)

    def _assign(self, target: ast.expr, value: ir.Value) -> None:
        address = self._local(target.id) if isinstance(target, ast.Name) else self._address(target)
        self.builder.store(value, address)

    def _if(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> None:
        then, otherwise, after = (self.function.append_basic_block(name) for name in ("then", "else", "after"))
        self.builder.cbranch(self._condition(test), then, otherwise)
        for block, statements in ((then, body), (otherwise, orelse)):
            self.builder.position_at_end(block)
            self._block(statements)
            self._branch(after)
        self.builder.position_at_end(after)

    def _while(self, test: ast.expr, body: Sequence[ast.stmt]) -> None:
        head, inside, after = (self.function.append_basic_block(name) for name in ("head", "body", "after"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.builder.cbranch(self._condition(test), inside, after)
        self._loop(inside, body, head, after, head)

    def _for(self, name: str, args: Sequence[ast.expr], body: Sequence[ast.stmt]) -> None:
        """`range` with one or two arguments, which are looked at once."""
        values = [self._value(argument) for argument in args]
        first, end = (_number(0), values[0]) if len(values) == 1 else values
        head, inside, step, after = (self.function.append_basic_block(n) for n in ("head", "body", "step", "after"))
        # Apart from the variable, which the body may change; no name in Python has spaces.
        counter = self._local(f"{name} counter {len(self.locals)}")
        self.builder.store(first, counter)
        self.builder.branch(head)
        self.builder.position_at_end(head)
        at = self.builder.load(counter, typ=I64)
        self.builder.store(at, self._local(name))
        self.builder.cbranch(self.builder.icmp_signed("<", at, end), inside, after)
        self.builder.position_at_end(step)
        self.builder.store(self.builder.add(self.builder.load(counter, typ=I64), _number(1)), counter)
        self.builder.branch(head)
        self._loop(inside, body, step, after, step)

    def _loop(
        self, inside: ir.Block, body: Sequence[ast.stmt], again: ir.Block, after: ir.Block, follow: ir.Block
    ) -> None:
        self.loops.append((again, after))
        self.builder.position_at_end(inside)
        self._block(body)
        self._branch(follow)
        self.loops.pop()
        self.builder.position_at_end(after)

    def _branch(self, block: ir.Block) -> None:
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    # Expressions.

    def _value(self, node: ast.expr) -> ir.Value:
        match node:
            case ast.Constant(value=int() | bool() as value):
                return _number(int(value))
            case ast.Name(id=name) if name in self.locals:
                return self.builder.load(self.locals[name], typ=I64)
            case ast.Name() | ast.Attribute() if (known := self._constant(node)) is not None:
                return _number(known)
            case ast.Attribute() | ast.Subscript():
                return self.builder.load(self._address(node), typ=I64)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._value(left), self._value(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.builder.neg(self._value(operand))
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.builder.not_(self._value(operand))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.builder.select(self._condition(test), self._value(body), self._value(orelse))
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self.builder.zext(self._condition(node), I64)
            case ast.Call():
                return self._call(node)
            case _:
                self._refuse(node)

    def _binary(self, op: ast.operator, left: ir.Value, right: ir.Value) -> ir.Value:
        return getattr(self.builder, _OPERATORS[type(op)])(left, right)

    def _constant(self, node: ast.expr) -> int | None:
        """An integer of the module around the function, or a member of an IntEnum there."""
        names = self.source.__globals__
        match node:
            case ast.Name(id=name):
                found = names.get(name)
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner != self.state_name:
                found = getattr(names.get(owner), name, None)
            case _:
                return None
        return int(found) if isinstance(found, int) else None

    def _address(self, node: ast.expr) -> ir.Value:
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner == self.state_name:
                return self._slot(node, name, False)
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=owner), attr=name), slice=index) if (
                owner == self.state_name
            ):
                column = self.builder.load(self._slot(node, name, True), typ=POINTER)
                # Columns are replaced only while Python runs: within a call their addresses stay the same.
                column.set_metadata("invariant.load", self.module.add_metadata([]))
                return self.builder.gep(column, [self._value(index)], source_etype=I64)
            case _:
                self._refuse(node)

    def _slot(self, node: ast.expr, name: str, is_column: bool) -> ir.Value:
        slot, kind = self.state.slot(name)
        if kind is not is_column:
            self._refuse(node)
        return self.builder.gep(self.function.args[0], [_number(slot * NUMBER_BYTES)], source_etype=I8)

    def _condition(self, node: ast.expr) -> ir.Value:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.builder.not_(self._condition(operand))
            case ast.BoolOp(op=op, values=values):
                return self._short_circuit(isinstance(op, ast.And), values)
            case ast.Compare(left=left, ops=ops, comparators=rest):
                values = [self._value(value) for value in (left, *rest)]
                pairs = zip(ops, values, values[1:], strict=False)
                return reduce(
                    self.builder.and_, (self.builder.icmp_signed(_COMPARISONS[type(op)], a, b) for op, a, b in pairs)
                )
            case _:
                return self.builder.icmp_signed("!=", self._value(node), _number(0))

    def _short_circuit(self, is_and: bool, values: Sequence[ast.expr]) -> ir.Value:
        after = self.function.append_basic_block("decided")
        decided = list[ir.Block]()
        for value in values[:-1]:
            condition, following = self._condition(value), self.function.append_basic_block("next")
            decided.append(self.builder.block)
            self.builder.cbranch(condition, *((following, after) if is_and else (after, following)))
            self.builder.position_at_end(following)
        last = self._condition(values[-1])
        ending = self.builder.block
        self.builder.branch(after)
        self.builder.position_at_end(after)
        result = self.builder.phi(I1)
        for block in decided:
            result.add_incoming(ir.Constant(I1, int(not is_and)), block)
        result.add_incoming(last, ending)
        return result

    def _call(self, node: ast.Call) -> ir.Value:
        if not isinstance(node.func, ast.Name) or node.keywords:
            self._refuse(node)
        if node.func.id in INTRINSICS:
            return INTRINSICS[node.func.id](self, *(self._value(argument) for argument in node.args))
        called = self.functions.get(node.func.id)
        if called is None:
            self._refuse(node)
        # The state goes along whatever it is called there.
        arguments = [self._value(argument) for argument in node.args[1:]]
        return self.builder.call(called, [self.function.args[0], *arguments])

    # Intrinsics.

    def load8(self, address: ir.Value) -> ir.Value:
        return self.builder.zext(self._load(address, I8), I64)

    def load32(self, address: ir.Value) -> ir.Value:
        return self.builder.zext(self._load(address, I32), I64)

    def load64(self, address: ir.Value) -> ir.Value:
        return self._load(address, I64)

    def _load(self, address: ir.Value, type: ir.Type) -> ir.Value:
        return self.builder.load(self.builder.inttoptr(address, POINTER), typ=type, align=1)

    def store8(self, address: ir.Value, value: ir.Value) -> ir.Value:
        return self._store(address, value, I8)

    def store32(self, address: ir.Value, value: ir.Value) -> ir.Value:
        return self._store(address, value, I32)

    def store64(self, address: ir.Value, value: ir.Value) -> ir.Value:
        return self._store(address, value, I64)

    def _store(self, address: ir.Value, value: ir.Value, type: ir.IntType) -> ir.Value:
        stored = value if type is I64 else self.builder.trunc(value, type)
        self.builder.store(stored, self.builder.inttoptr(address, POINTER), align=1)
        return _number(0)

    def copy_memory(self, target: ir.Value, source: ir.Value, count: ir.Value) -> ir.Value:
        function = declared(self.module, "llvm.memcpy.p0.p0.i64", ir.VoidType(), [POINTER, POINTER, I64, I1])
        pointers = [self.builder.inttoptr(address, POINTER) for address in (target, source)]
        self.builder.call(function, [*pointers, count, ir.Constant(I1, 0)])
        return _number(0)

    def rotate_right(self, bits: ir.Value, count: ir.Value) -> ir.Value:
        return self.builder.call(declared(self.module, "llvm.fshr.i64", I64, [I64] * 3), [bits, bits, count])

    def trailing_zeros(self, bits: ir.Value) -> ir.Value:
        # The 1 says that there is a bit: of 0 it gives anything.
        return self.builder.call(declared(self.module, "llvm.cttz.i64", I64, [I64, I1]), [bits, ir.Constant(I1, 1)])

    def minimum(self, first: ir.Value, second: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_signed("<", first, second), first, second)

    def maximum(self, first: ir.Value, second: ir.Value) -> ir.Value:
        return self.builder.select(self.builder.icmp_signed(">", first, second), first, second)

    def post_semaphore(self, semaphore: ir.Value) -> ir.Value:
        function = declared(self.module, "sem_post", I32, [POINTER])
        self.builder.call(function, [self.builder.inttoptr(semaphore, POINTER)])
        return _number(0)

    def wait_for_semaphore(self, semaphore: ir.Value) -> ir.Value:
        function = declared(self.module, "sem_wait", I32, [POINTER])
        again, after = (self.function.append_basic_block(name) for name in ("wait", "after"))
        self.builder.branch(again)
        self.builder.position_at_end(again)
        code = self.builder.call(function, [self.builder.inttoptr(semaphore, POINTER)])
        # A signal ends the wait too early.
        self.builder.cbranch(self.builder.icmp_signed("==", code, ir.Constant(I32, 0)), after, again)
        self.builder.position_at_end(after)
        return _number(0)

    def call_pointer(self, function: ir.Value, argument: ir.Value) -> ir.Value:
        pointer = self.builder.inttoptr(function, ir.PointerType(ir.FunctionType(ir.VoidType(), [POINTER])))
        self.builder.call(pointer, [self.builder.inttoptr(argument, POINTER)])
        return _number(0)


INTRINSICS: dict[str, Callable[..., ir.Value]] = {
    "load8": _FunctionCompiler.load8,
    "load32": _FunctionCompiler.load32,
    "load64": _FunctionCompiler.load64,
    "store8": _FunctionCompiler.store8,
    "store32": _FunctionCompiler.store32,
    "store64": _FunctionCompiler.store64,
    "copy_bytes": _FunctionCompiler.copy_memory,
    "rotated_right": _FunctionCompiler.rotate_right,
    "lowest_bit": _FunctionCompiler.trailing_zeros,
    "min": _FunctionCompiler.minimum,
    "max": _FunctionCompiler.maximum,
    "post": _FunctionCompiler.post_semaphore,
    "take_post": _FunctionCompiler.wait_for_semaphore,
    "call_address": _FunctionCompiler.call_pointer,
}


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)
