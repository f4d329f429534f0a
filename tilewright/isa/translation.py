"""Programs as native code: blocks by their points, made when a core first comes to them, and kept by their content."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from tilewright.isa.bundles import DecodeError, decode_bundle
from tilewright.isa.meaning import Results
from tilewright.isa.native_blocks import (
    PROGRAM_BYTES,
    BlockTranslator,
    NativeFlight,
    Point,
    build_refusal,
    instruction_number,
)
from tilewright.isa.native_numbers import I8, I64, Native, NativeNumbers, bytes_type, constant
from tilewright.isa.native_state import WINDOW_BITS, WINDOWS, Leave, StateLayout
from tilewright.isa.schedule import InstructionPlan
from tilewright.isa.tables import InstructionSet
from tilewright.native.host import NativeObject, host_key, host_object
from tilewright.native.object_cache import cached_object

POINTER = ir.PointerType()
LONGEST_BLOCK = 32
"""Bundles."""
LARGEST_REGION = 96
"""Blocks that are translated together."""
ROWS = 64
BLOCKS = 1024
OUTLINED = frozenset({"product", "acc", "vsrs", "vsrsm", "vups", "vpack", "vconv", "vfloor", "vshuffle", "vbcstshfl"})
"""Meanings whose code is long, by name: functions of their own. Those of loads and stores have the name of the kind."""


class Outlined(NamedTuple):
    """A meaning as a function: of the state, the instruction, and the values that are not constant."""

    name: str
    result: str
    """The name of the value that it gives."""
    others: dict[str, int]
    """Values that are constant."""
    is_signed: bool
    type: ir.FunctionType


class Translation:
    """A program, as far as it is native code: for all cores that run it."""

    def __init__(self, program: bytes, isa: InstructionSet, longest: int = LONGEST_BLOCK):
        self.program, self.isa, self.longest = program, isa, longest
        self.layout = state_layout(isa)
        self.loop_ends = frozenset(_loop_ends(program, isa))
        self.points = list[Point | None]([None])
        self._numbers = dict[Point, int]()
        self._rows = dict[Point, int]()
        self.targets = np.zeros((ROWS, PROGRAM_BYTES // 2), np.int32)
        self.entries = np.zeros(BLOCKS, np.int64)
        self._code = list[NativeObject]()

    def number(self, point: Point) -> int:
        """The number of a point's block; what is not native code yet has one too."""
        found = self._numbers.get(point)
        if found is None:
            found = self._numbers[point] = len(self.points)
            self.points.append(point)
            if found >= len(self.entries):
                self.entries = np.concatenate([self.entries, np.zeros_like(self.entries)])
        return found

    def row(self, point: Point) -> int:
        """The row of the table of targets for what is under way at a point, wherever that is."""
        key = point._replace(pc=-1)
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = len(self._rows)
            if found >= len(self.targets):
                self.targets = np.concatenate([self.targets, np.zeros_like(self.targets)])
        return found

    def add_target(self, row: int, pc: int) -> int:
        """The number of the block that a jump leads to, from now on known to native code."""
        under_way = next(key for key, number in self._rows.items() if number == row)
        number = self.number(under_way._replace(pc=pc))
        if 0 <= pc < PROGRAM_BYTES and pc % 2 == 0:
            self.targets[row, pc // 2] = number
        return number

    def add_loop_end(self, address: int) -> None:
        """A bundle ends a loop: blocks are translated anew, so that they end with it."""
        if address not in self.loop_ends:
            self.loop_ends |= {address}
            self.entries[:] = 0

    def translate(self, number: int) -> None:
        """Make native code of a block, and of those that it leads to."""
        region = Region(self, number)
        code = native_object(region.module)
        self._code.append(code)
        for block in region.blocks:
            self.entries[block] = code.address(region.name)


@lru_cache(16)
def translation_of(program: bytes, isa: InstructionSet) -> Translation:
    return Translation(program, isa)


@lru_cache(4)
def state_layout(isa: InstructionSet) -> StateLayout:
    return StateLayout(isa)


def native_object(module: ir.Module) -> NativeObject:
    """Machine code of a module, which is made once for the same text."""
    key = sha256(f"{host_key()}\n{module}".encode()).hexdigest()
    return NativeObject(cached_object(key, lambda: host_object(module, all_passes=False)))


def _loop_ends(program: bytes, isa: InstructionSet) -> Iterator[int]:
    """Addresses that instructions set the end of a loop to."""
    at = 0
    while at < len(program):
        try:
            bundle = decode_bundle(program, at, isa)
        except DecodeError:
            at += 2
            continue
        for it in bundle.instructions:
            if it.row.meaning == ("move",) and str(it.operands.get("d")) == "le" and "i" in it.operands:
                value = it.operands["i"]
                assert isinstance(value, int)
                yield value & 0xFFFFF
        at += bundle.size


class Region:
    """One function of native code with many blocks."""

    name = "region"

    def __init__(self, translation: Translation, first: int):
        self.translation = translation
        self.isa, self.program, self.layout = translation.isa, translation.program, translation.layout
        self.loop_ends, self.longest = translation.loop_ends, translation.longest
        self.row, self.number = translation.row, translation.number
        self.module = ir.Module("region")
        self.function = ir.Function(self.module, ir.FunctionType(I64, [POINTER]), self.name)
        self.function.attributes.add("nounwind")
        self.function.args[0].add_attribute("noalias")
        self.blocks = dict[int, ir.Block]()
        self._stubs = dict[int, ir.Block]()
        self._waiting = deque[int]()
        self._accesses = dict[tuple[int, bool], ir.Function]()
        self._outlined = dict[str, ir.Function]()
        self._build(first)

    def _build(self, first: int) -> None:
        state = self.function.args[0]
        entry = self.function.append_basic_block("entry")
        self._dispatch = self.function.append_basic_block("dispatch")
        point = self.translation.points[first]
        assert point is not None
        self.label(point)
        while self._waiting:
            number = self._waiting.popleft()
            point = self.translation.points[number]
            assert point is not None
            builder = ir.IRBuilder(self.blocks[number])
            BlockTranslator(self, builder, state, point).translate()
        ir.IRBuilder(entry).branch(self._dispatch)
        builder = ir.IRBuilder(self._dispatch)
        next = builder.load(builder.gep(state, [constant(I64, self.layout.fields["next"])], source_etype=I8), typ=I64)
        elsewhere = self.function.append_basic_block("elsewhere")
        choice = builder.switch(next, elsewhere)
        for number, block in self.blocks.items():
            choice.add_case(constant(I64, number), block)
        ir.IRBuilder(elsewhere).ret(constant(I64, Leave.ELSEWHERE))

    def dispatch(self) -> ir.Block:
        return self._dispatch

    def label(self, point: Point) -> ir.Block:
        number = self.number(point)
        if number in self.blocks:
            return self.blocks[number]
        if len(self.blocks) < LARGEST_REGION and not self.translation.entries[number]:
            self.blocks[number] = self.function.append_basic_block(f"block{number}")
            self._waiting.append(number)
            return self.blocks[number]
        if number not in self._stubs:
            block = self._stubs[number] = self.function.append_basic_block(f"to{number}")
            builder = ir.IRBuilder(block)
            place = builder.gep(self.function.args[0], [constant(I64, self.layout.fields["next"])], source_etype=I8)
            builder.store(constant(I64, number), place)
            builder.ret(constant(I64, Leave.ELSEWHERE))
        return self._stubs[number]

    def memory_access(self, size: int, is_store: bool) -> ir.Function:
        key = (size, is_store)
        if key not in self._accesses:
            self._accesses[key] = _memory_access(self.module, self.layout, size, is_store)
        return self._accesses[key]

    def evaluate(self, block: BlockTranslator, flight: NativeFlight) -> Results:
        plan, values = flight.plan, flight.values
        kind = f"v{plan.key[1]}" if plan.key[0] in ("load", "store") else plan.key[0]
        if kind not in OUTLINED:
            return plan.definition(block.numbers, values)
        unused = {"p", "sp", "i", "j", "m"} if plan.key[0] in ("load", "store") else plan.constants
        # what a block knows of a register is still an argument: other blocks call the same function
        given = {
            name: it if isinstance(it, Native) else Native(block.builder, constant(I64, it))
            for name, it in values.items()
            if name not in unused
        }
        made = outlined(plan, tuple((name, it.count) for name, it in given.items()), self.isa)
        function = self._outlined.get(made.name)
        if function is None:
            function = self._outlined[made.name] = ir.Function(self.module, made.type, made.name)
        acting = instruction_number(*block.acting)
        value = block.builder.call(function, [block.state, acting, *(it.value for it in given.values())])
        block.may_fault = True
        return {made.result: Native(block.builder, value, made.is_signed), **made.others}


def _memory_access(module: ir.Module, layout: StateLayout, size: int, is_store: bool) -> ir.Function:
    """A load or store at an address as a core has it: in memory that native code sees, or by a callback."""
    data = bytes_type(size)
    type = ir.FunctionType(ir.VoidType(), [POINTER, I64, data]) if is_store else ir.FunctionType(data, [POINTER, I64])
    function = ir.Function(module, type, f"{'store' if is_store else 'load'}{size}")
    function.linkage = "internal"
    function.attributes.add("nounwind")
    function.attributes.add("alwaysinline")
    state, address = function.args[:2]
    builder = ir.IRBuilder(function.append_basic_block("entry"))

    def word(offset: int, index: ir.Value | None = None) -> ir.Value:
        place = builder.gep(state, [constant(I64, offset)], source_etype=I8)
        return builder.load(place if index is None else builder.gep(place, [index], source_etype=I64), typ=I64)

    window = builder.and_(builder.lshr(address, constant(I64, WINDOW_BITS)), constant(I64, WINDOWS - 1))
    inside = builder.and_(address, constant(I64, (1 << WINDOW_BITS) - 1))
    end = builder.add(inside, constant(I64, size))
    fits = builder.icmp_unsigned("<=", end, word(layout.window_size, window))
    near, far = (function.append_basic_block(name) for name in ("near", "far"))
    builder.cbranch(fits, near, far)
    builder.position_at_end(near)
    base = builder.inttoptr(word(layout.window_data, window), POINTER)
    place = builder.gep(base, [inside], source_etype=I8)
    if is_store:
        builder.store(function.args[2], place, align=1)
        builder.ret_void()
    else:
        builder.ret(builder.load(place, typ=data, align=1))
    builder.position_at_end(far)
    room = builder.alloca(data)
    if is_store:
        builder.store(function.args[2], room)
    signature = ir.PointerType(ir.FunctionType(ir.VoidType(), [I64, I64, POINTER]))
    callback = builder.inttoptr(word(layout.fields["store" if is_store else "load"]), signature)
    builder.call(callback, [address, constant(I64, size), room])
    if is_store:
        builder.ret_void()
    else:
        builder.ret(builder.load(room, typ=data))
    return function


_kept = dict[tuple[object, ...], tuple[Outlined, NativeObject]]()


def outlined(plan: InstructionPlan, arguments: tuple[tuple[str, int], ...], isa: InstructionSet) -> Outlined:
    """A meaning as a function of native code that others can call."""
    constants = {name: value for name, value in plan.constants.items() if name != "i"}
    key = (plan.key, arguments, tuple(constants.items()), isa)
    if key not in _kept:
        _kept[key] = _outline(plan, arguments, constants, state_layout(isa))
    return _kept[key][0]


def _outline(
    plan: InstructionPlan, arguments: tuple[tuple[str, int], ...], constants: dict[str, int], layout: StateLayout
) -> tuple[Outlined, NativeObject]:
    module = ir.Module("meaning")
    types = [bytes_type(count) if count else I64 for _, count in arguments]
    # what it gives is known only once it is built: first somewhere else
    trial = ir.Function(ir.Module("trial"), ir.FunctionType(ir.VoidType(), [POINTER, I64, *types]), "trial")
    result, others, made = _built(plan, trial, arguments, constants, layout)
    type = ir.FunctionType(made.type, [POINTER, I64, *types])
    function = ir.Function(module, type, "meaning")
    result, others, made = _built(plan, function, arguments, constants, layout)
    made.builder.ret(made.value)
    name = f"tilewright_isa_{sha256(str(module).encode()).hexdigest()[:24]}"
    code = native_object(module)
    llvm.add_symbol(name, code.address("meaning"))
    return Outlined(name, result, others, made.is_signed, type), code


def _built(
    plan: InstructionPlan,
    function: ir.Function,
    arguments: tuple[tuple[str, int], ...],
    constants: dict[str, int],
    layout: StateLayout,
) -> tuple[str, dict[str, int], Native]:
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    state, acting, *given = function.args

    def place(offset: int) -> ir.Value:
        return builder.gep(state, [constant(I64, offset)], source_etype=I8)

    def refuse(what: str, named: ir.Value) -> None:
        build_refusal(builder, place, layout, what, named, acting)

    values = {
        name: Native(builder, value, not count) for (name, count), value in zip(arguments, given, strict=True)
    } | constants
    results = plan.definition(NativeNumbers(builder, refuse), values)
    (name,) = [name for name, value in results.items() if isinstance(value, Native)]
    others = {other: value for other, value in results.items() if other != name}
    return name, others, results[name]


def build_runner(layout: StateLayout) -> ir.Module:
    """The function that Python calls: from block to block, until something is to be done elsewhere."""
    module = ir.Module("runner")
    function = ir.Function(module, ir.FunctionType(I64, [POINTER]), "run")
    state = function.args[0]
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    again, call, missing, leave = (function.append_basic_block(it) for it in ("again", "call", "missing", "leave"))
    builder.branch(again)
    builder.position_at_end(again)

    def field(name: str) -> ir.Value:
        return builder.load(builder.gep(state, [constant(I64, layout.fields[name])], source_etype=I8), typ=I64)

    table = builder.inttoptr(field("entries"), POINTER)
    entry = builder.load(builder.gep(table, [field("next")], source_etype=I64), typ=I64)
    builder.cbranch(builder.icmp_unsigned("==", entry, constant(I64, 0)), missing, call)
    builder.position_at_end(missing)
    builder.ret(constant(I64, Leave.TRANSLATE))
    builder.position_at_end(call)
    region = builder.inttoptr(entry, ir.PointerType(ir.FunctionType(I64, [POINTER])))
    why = builder.call(region, [state])
    builder.cbranch(builder.icmp_unsigned("==", why, constant(I64, Leave.ELSEWHERE)), again, leave)
    builder.position_at_end(leave)
    builder.ret(why)
    return module
