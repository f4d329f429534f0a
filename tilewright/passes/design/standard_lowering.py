"""Takes the programs of cores out of a device: each becomes a function, for LLVM to compile.

Buffers become globals, what a core says to the array becomes calls of intrinsics, and the device goes away. Names and
types of the intrinsics are what the AIE back end of LLVM (Peano) knows, as AIECoreToStandard.cpp of mlir-aie at
3ca0193cea9e declares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float32Type,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    VectorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from tilewright.device import Arch, LockAction, TileId
from tilewright.dialects import aievec, arith, memref, vector
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.cascade import EventOp, GetCascadeOp, GetStreamOp, PutCascadeOp, PutStreamOp
from tilewright.dialects.aie.core import CoreOp, DebugOp, EndOp
from tilewright.dialects.aie.locks import LockOp, UseLockOp
from tilewright.dialects.aie.tiles import DEFAULT_DEVICE_NAME, DeviceOp
from tilewright.dialects.func import CallOp, FuncOp, ReturnOp
from tilewright.dialects.memref import GlobalOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.symbols import symbol_in
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.emitter import Emitter, constant_op
from tilewright.rewrite.legalization import convert
from tilewright.rewrite.pass_bases import ModulePass, located, ops_of

ALIGNMENT_BYTES = 32
"""Where buffers begin, as far as vector code may rely on it."""
TRIPLE, DATA_LAYOUT = "llvm.target_triple", "dlti.dl_spec"
Choice: TypeAlias = "Callable[[TileId | None], bool]"
Lowering: TypeAlias = "Callable[[Any, PatternRewriter, Intrinsics], SSAValue | None]"
"""Puts calls where the rewriter stands and gives what replaces the operation's result, if it has one."""
I128, I384 = IntegerType(128), IntegerType(384)
ACCUMULATOR = VectorType(i32, [16])
# Control registers of the vector unit and their values, as AIECoreToStandard.cpp sets them: on AIE2P it writes what is
# the saturation register of AIE2 too.
SATURATION_REGISTER, SATURATE = 9, 1
ROUNDING_REGISTERS = {Arch.AIE2: 6, Arch.AIE2p: 1}
FLOOR, POSITIVE_INF, CONV_EVEN = 0, 9, 12


@dataclass(frozen=True)
class StandardLoweringPass(ModulePass):
    name = "aie-standard-lowering"

    device: str = field(default="", metadata={"help": "the device to take programs from, main unless given"})
    tilecol: int = field(default=-1, metadata={"help": "column of the one core to take"})
    tilerow: int = field(default=-1, metadata={"help": "row of the one core to take"})

    def apply_to(self, module: ModuleOp) -> None:
        device = _find_device(module, self.device)
        intrinsics = Intrinsics(device.model.arch)
        _describe_target(module, device, intrinsics)
        _insert_at_start(module, intrinsics.declarations())
        buffers = ops_of(all_operations(device), BufferOp)
        functions = _outline(device, self._takes)
        for buffer in buffers:
            _make_global(module, device, buffer, self._takes)
        for function in functions:
            _refuse_leftovers(function, device)
            _set_modes(function, intrinsics, ROUNDING_REGISTERS.get(device.model.arch))
        for other in ops_of(module.ops, DeviceOp):
            other.detach()
            other.erase(safe_erase=False)  # what is in it uses each other
        lowerings = {kind: ToIntrinsics(lowering, intrinsics) for kind, lowering in _LOWERINGS.items()}
        convert(module, lowerings, add_error=False)

    def _takes(self, place: TileId | None) -> bool:
        return place is not None and self.tilecol in (-1, place.column) and self.tilerow in (-1, place.row)


def _find_device(module: ModuleOp, name: str) -> DeviceOp:
    device = symbol_in(module, name or DEFAULT_DEVICE_NAME)
    if not isinstance(device, DeviceOp):
        known = ", ".join(op.sym_name.data for op in ops_of(module.ops, DeviceOp)) or "none"
        text = f"No such device: {name}" if name else "No 'main' device in module"
        fail(module, text, (module, f"the option `device` chooses one of those that there are: {known}"))
    return device


def _describe_target(module: ModuleOp, device: DeviceOp, intrinsics: Intrinsics) -> None:
    layout = device.attributes.get(DATA_LAYOUT)
    if layout is not None:
        module.attributes[DATA_LAYOUT] = layout
    module.attributes[TRIPLE] = StringAttr(intrinsics.triple)


def _insert_at_start(module: ModuleOp, ops: Iterable[Operation]) -> None:
    Rewriter.insert_op(list(ops), InsertPoint.at_start(module.body.block))


def _outline(device: DeviceOp, takes: Choice) -> list[Operation]:
    """Move globals and functions before the device, and the programs of cores behind it; gives all functions."""
    moved = [op for kind in (GlobalOp, FuncOp) for op in ops_of(device.body.ops, kind)]
    for op in moved:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(device))
    cores = ops_of(device.body.ops, CoreOp)
    programs = [_function_of(core, place) for core in cores if takes(place := _place_of(core))]
    for function in programs:
        Rewriter.insert_op(function, InsertPoint.after(device))
    return [*moved, *programs]


def _place_of(core: CoreOp) -> TileId:
    if core.place is None:
        fail_op(core, "is on a tile that is not placed; run --aie-place-tiles first")
    return core.place


def _function_of(core: CoreOp, place: TileId) -> FuncOp:
    body = Region()
    core.body.move_blocks(body)
    for block in body.blocks:
        if isinstance(block.last_op, EndOp):
            Rewriter.replace_op(block.last_op, located(ReturnOp(), block.last_op.location))
    function = FuncOp(f"core_{place.column}_{place.row}", ((), ()), body)
    function.location = core.location  # its own only: what is in it comes from elsewhere
    return function


def _make_global(module: ModuleOp, device: DeviceOp, buffer: BufferOp, takes: Choice) -> None:
    """Put a global in place of a buffer; only the program of its own tile says what is in it at the start."""
    if buffer.sym_name is None:
        fail_op(buffer, "has no name; run --aie-assign-buffer-addresses first, which gives it one")
    properties: dict[str, Attribute] = {
        "sym_name": buffer.sym_name,
        "sym_visibility": StringAttr("public"),
        "type": buffer.buffer.type,
    }
    if buffer.initial_value is not None and takes(buffer.place):
        properties["initial_value"] = buffer.initial_value
    _insert_at_start(module, [located(memref.GlobalOp.create(properties=properties), buffer.location)])
    for use in list(buffer.buffer.uses):
        if not device.is_ancestor(use.operation):
            _get_global(buffer, buffer.sym_name, use.operation, use.index)
    if not device.is_ancestor(buffer):
        Rewriter.erase_op(buffer)


def _get_global(buffer: BufferOp, name: StringAttr, user: Operation, index: int) -> None:
    build, type = Emitter(InsertPoint.before(user), buffer.location), buffer.buffer.type
    found = build.insert(memref.GetGlobalOp.create(result_types=[type], properties={"name": SymbolRefAttr(name)}))
    alignment = {"alignment": IntegerAttr(ALIGNMENT_BYTES, i32)}
    build.insert(memref.AssumeAlignmentOp.create(operands=found.results, result_types=[type], properties=alignment))
    user.operands[index] = found.results[0]  # the assumption is about the global itself


def _set_modes(function: Operation, intrinsics: Intrinsics, rounding_register: int | None) -> None:
    """Let a core that moves accumulators into vectors begin with the modes that kernels in C++ expect."""
    narrowed = [_scalar(op.result) for op in ops_of(function.walk(), aievec.SrsOp)]
    multiplied = [_scalar(op.lhs) for op in ops_of(function.walk(), aievec.MatMulOp, aievec.MatMulAie2pOp)]
    has_bf16 = any(isinstance(type, BFloat16Type) for type in multiplied)
    if rounding_register is None or not (narrowed or has_bf16):
        return
    has_integers = any(isinstance(type, IntegerType) for type in narrowed)
    rounding = CONV_EVEN if has_bf16 else POSITIVE_INF if has_integers else FLOOR
    build = Emitter.at_start(function.regions[0].blocks[0], function.location)
    for register, mode in ((SATURATION_REGISTER, SATURATE), (rounding_register, rounding)):
        build.insert(intrinsics.call(function, "set.ctrl.reg", build.constants(register, mode)))


def _scalar(value: SSAValue) -> Attribute:
    type = value.type
    return type.element_type if isa(type, VectorType) else type


def _refuse_leftovers(function: Operation, device: DeviceOp) -> None:
    """A function cannot use what stays behind in the device."""
    for op, owner in ((user, operand.owner) for user in function.walk() for operand in user.operands):
        if isinstance(owner, Operation) and device.is_ancestor(owner):
            if isinstance(owner, LockOp):
                text = "uses a lock that the core knows by a number; run --aie-localize-locks first"
                fail_op(op, text, (owner, "this is it"))
            fail_op(op, "uses a value of the device in the program of a core", (owner, "which is this one"))


class ToIntrinsics(RewritePattern):
    """One lowering as a pattern."""

    def __init__(self, lowering: Lowering, intrinsics: Intrinsics):
        self._lowering, self._intrinsics = lowering, intrinsics

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        result = self._lowering(op, rewriter, self._intrinsics)
        rewriter.replace(op, (), () if result is None else (result,))


def _i32(rewriter: PatternRewriter, value: int) -> SSAValue:
    return rewriter.insert(constant_op(value)).results[0]


def _lower_use_lock(op: UseLockOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    """Locks of the second generation count: a negative value says that more will do."""
    lock = rewriter.insert(arith.IndexCastOp(op.lock, i32)).results[0]
    value = op.value
    if op.lock_action is LockAction.AcquireGreaterEqual:
        value = rewriter.insert(arith.SubiOp(_i32(rewriter, 0), value)).results[0]
    name = "acquire" if op.is_acquire else "release"
    rewriter.insert(intrinsics.call(op, f"lock.{name}.reg" if intrinsics.is_first else name, [lock, value]))


def _stream_prefix(type: Attribute) -> str:
    """How streams of other than 32-bit integers are called."""
    return "f" if isinstance(type, Float32Type) else "" if type == i32 else "w"


def _lower_put_stream(op: PutStreamOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    # The second generation takes no channel, but whether a packet ends here: with this operation none does.
    first = intrinsics.is_first
    arguments = [op.channel, op.stream_value] if first else [op.stream_value, _i32(rewriter, 0)]
    rewriter.insert(intrinsics.call(op, f"put.{_stream_prefix(op.stream_value.type)}ms", arguments))


def _lower_get_stream(op: GetStreamOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> SSAValue:
    name = f"get.{_stream_prefix(op.stream_value.type)}ss"
    return rewriter.insert(intrinsics.call(op, name, [op.channel] if intrinsics.is_first else [])).results[0]


def _lower_put_cascade(op: PutCascadeOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    name = "put.mcd" if intrinsics.is_first else "mcd.write.vec"
    value = _as_type(op.cascade_value, intrinsics.input_types(name)[0], rewriter)
    rewriter.insert(intrinsics.call(op, name, [value, *_enable(rewriter, intrinsics)]))


def _lower_get_cascade(op: GetCascadeOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> SSAValue:
    name = "get.scd" if intrinsics.is_first else "scd.read.vec"
    value = rewriter.insert(intrinsics.call(op, name, _enable(rewriter, intrinsics))).results[0]
    return _as_type(value, op.cascade_value.type, rewriter)


def _enable(rewriter: PatternRewriter, intrinsics: Intrinsics) -> list[SSAValue]:
    return [] if intrinsics.is_first else [_i32(rewriter, 1)]


def _as_type(value: SSAValue, type: Attribute, rewriter: PatternRewriter) -> SSAValue:
    """The same bits as a vector of another type."""
    if value.type == type:
        return value
    return rewriter.insert(vector.BitcastOp.create(operands=[value], result_types=[type])).results[0]


def _lower_event(op: EventOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    number = op.val.value.data
    name, arguments = (f"event{number}", []) if intrinsics.is_first else ("event", [_i32(rewriter, number)])
    rewriter.insert(intrinsics.call(op, name, arguments))


def _lower_debug(op: DebugOp, rewriter: PatternRewriter, intrinsics: Intrinsics) -> None:
    rewriter.insert(intrinsics.call(op, DEBUG, [op.arg]))


_LOWERINGS: Mapping[type[Operation], Lowering] = {
    UseLockOp: _lower_use_lock,
    PutStreamOp: _lower_put_stream,
    GetStreamOp: _lower_get_stream,
    PutCascadeOp: _lower_put_cascade,
    GetCascadeOp: _lower_get_cascade,
    EventOp: _lower_event,
    DebugOp: _lower_debug,
}


@dataclass(frozen=True)
class Intrinsic:
    inputs: Sequence[Attribute] = ()
    outputs: Sequence[Attribute] = ()


AIE1_INTRINSICS = {
    "event0": Intrinsic(),
    "event1": Intrinsic(),
    "put.ms": Intrinsic([i32, i32]),  # channel, value
    "put.wms": Intrinsic([i32, I128]),
    "put.fms": Intrinsic([i32, f32]),
    "get.ss": Intrinsic([i32], [i32]),  # channel
    "get.wss": Intrinsic([i32], [I128]),
    "get.fss": Intrinsic([i32], [f32]),
    "put.mcd": Intrinsic([I384]),
    "get.scd": Intrinsic([], [I384]),
    "lock.acquire.reg": Intrinsic([i32, i32]),  # lock, value
    "lock.release.reg": Intrinsic([i32, i32]),
}

AIE2_INTRINSICS = {
    "event": Intrinsic([i32]),
    "put.ms": Intrinsic([i32, i32]),  # value, whether it is the last
    "get.ss": Intrinsic([], [i32, i32]),
    "mcd.write.vec": Intrinsic([ACCUMULATOR, i32]),  # value, enable
    "scd.read.vec": Intrinsic([i32], [ACCUMULATOR]),  # enable
    "acquire": Intrinsic([i32, i32]),  # lock, value; a negative value waits for at least so much
    "release": Intrinsic([i32, i32]),
    "set.ctrl.reg": Intrinsic([i32, i32]),  # register, value
}

INTRINSICS: Mapping[Arch, Mapping[str, Intrinsic]] = {
    Arch.AIE1: AIE1_INTRINSICS,
    Arch.AIE2: AIE2_INTRINSICS,
    Arch.AIE2p: AIE2_INTRINSICS,
}
TRIPLES = {Arch.AIE1: "aie", Arch.AIE2: "aie2", Arch.AIE2p: "aie2p"}
DEBUG = "debug_i32"


class Intrinsics:
    """The intrinsics of one generation, to be declared and called."""

    def __init__(self, arch: Arch):
        self.is_first, self.triple = arch is Arch.AIE1, TRIPLES[arch]
        self._known = {DEBUG: Intrinsic([i32])}
        self._known |= {self.full_name(name): intrinsic for name, intrinsic in INTRINSICS[arch].items()}

    def full_name(self, name: str) -> str:
        return f"llvm.{self.triple}.{name}"

    def declarations(self) -> Iterator[FuncOp]:
        for name, intrinsic in self._known.items():
            yield FuncOp.external(name, intrinsic.inputs, intrinsic.outputs)

    def input_types(self, name: str) -> Sequence[Attribute]:
        return self._known[self.full_name(name)].inputs

    def call(self, op: Operation, name: str, arguments: Sequence[SSAValue]) -> Operation:
        """A call in place of `op`, of an intrinsic or of a function whose whole name is given."""
        full_name = name if name in self._known else self.full_name(name)
        intrinsic = self._known.get(full_name)
        if intrinsic is None:
            fail_op(op, f"Could not find the intrinsic function {full_name}")
        return CallOp(full_name, arguments, intrinsic.outputs)
