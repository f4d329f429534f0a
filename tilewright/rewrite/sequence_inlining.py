"""Running a sequence of another device in place: checks of the call, and copies of what the callee refers to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import lookup_symbol, parent_of_type
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoRearmBindingOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp, is_computation
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.dialects.aiex.firmware import NpuCreateScratchpadOp
from tilewright.dialects.memref.buffers import GlobalOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.shown import quoted
from tilewright.ir.symbols import FreeNames
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.rewrite.folding.regions import is_defined_in
from tilewright.rewrite.symbols import references_in, replace_references


@dataclass
class _Call:
    """One run of a sequence: what stands in the caller for values and symbols of the callee's device."""

    run: RunOp
    callee_device: DeviceOp
    rewriter: PatternRewriter
    values: dict[SSAValue, SSAValue]
    symbols: dict[StringAttr, StringAttr] = field(default_factory=dict[StringAttr, StringAttr])


class InlineRun(RewritePattern):
    """Copies the body of a sequence to where it is run.

    Tiles, locks and computations that it uses are copied to the start of the caller's device, definitions of symbols to
    before its first sequence, under another name if theirs is taken.
    """

    def __init__(self, device: DeviceOp, first_sequence: RuntimeSequenceOp):
        self.device = device
        self.start = device.body.first_op
        self.first_sequence = first_sequence
        self.names = FreeNames.beside(device.body)
        self.tiles = {tile.place: tile for tile in reversed(list(device.tiles))}
        self.late_tiles = {op for op in _following(first_sequence) if isinstance(op, TileOp)}
        self.tiles_at_start: set[TileOp] = set()

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RunOp, rewriter: PatternRewriter) -> None:
        callee, caller = called_sequence(op), parent_of_type(op, RuntimeSequenceOp)
        assert caller is not None, "the verifier asks for one"
        body = callee.body.first_block
        call = _Call(op, configured_device(op), rewriter, {})
        if body is not None:
            call.values.update(zip(body.args, op.args, strict=True))
            self._copy_definitions(call, _operands_from_outside(callee), self._at_start())
            first = caller.body.block.first_op
            assert first is not None
            for original in list(body.ops):
                hoisted = isinstance(original, NpuCreateScratchpadOp)  # one for all that the caller runs
                copy = rewriter.insert(original.clone(call.values), InsertPoint.before(first if hoisted else op))
                self._copy_symbols(call, copy)
        rewriter.erase(op)

    def _at_start(self) -> InsertPoint:
        if self.start is None or self.start.parent is None:
            return InsertPoint.at_start(self.device.body)
        return InsertPoint.before(self.start)

    def _copy_definitions(self, call: _Call, values: Iterable[SSAValue], at: InsertPoint) -> None:
        """Have the tiles, locks and computations of the callee's device in the caller's as well."""
        if call.callee_device is self.device:
            return
        pending = dict.fromkeys(values)
        tiles: dict[TileOp, None] = {}
        locks: dict[LockOp, None] = {}
        computations: set[Operation] = set()
        while pending:
            value, _ = pending.popitem()
            if value in call.values:
                continue
            match value.owner:
                case TileOp() as tile:
                    tiles[tile] = None
                case LockOp() as lock:
                    pending.setdefault(lock.tile)
                    locks[lock] = None
                case Operation() as other if is_computation(other):
                    pending |= dict.fromkeys(other.operands if other not in computations else ())
                    computations.add(other)
                case Operation() as other:
                    fail(
                        call.run,
                        f"Referenced SSA value defined by unsupported operation type: {other.name}. Currently only "
                        "aie.tile and aie.lock operations are supported.",
                        (other, "the value is defined here"),
                    )
                case _:
                    fail(call.run, "Referenced value is not defined by an operation")
        # tiles before locks, which are on them
        for tile in reversed(tiles):
            call.values[tile.result] = self._tile_like(call, tile, at).result
        for lock in locks:
            copy = lock.clone(call.values)
            own = copy.tile.owner
            if isinstance(own, TileOp) and own not in self.tiles_at_start:
                call.rewriter.insert(copy, InsertPoint.after(own))
            else:
                call.rewriter.insert(copy, at)
        for op in call.callee_device.body.ops if computations else ():
            if op in computations:
                call.rewriter.insert(op.clone(call.values), at)

    def _tile_like(self, call: _Call, tile: TileOp, at: InsertPoint) -> TileOp:
        """The caller's tile at the same place, a copy if it has none."""
        existing = self.tiles.get(tile.place)
        if existing is None or existing.parent is None:
            copy = call.rewriter.insert(tile.clone(), at)
            self.tiles[copy.place] = copy
            self.tiles_at_start.add(copy)
            return copy
        if existing.properties | existing.attributes != tile.properties | tile.attributes:
            column, row = tile.place
            fail(
                call.run,
                f"aie.tile({column}, {row}) already exists in the device with different attributes",
                (existing, "the caller's tile"),
                (tile, "the tile of the sequence that is run"),
            )
        # declared after the first sequence, where the copied operations could not use it
        if existing in self.late_tiles:
            self.late_tiles.remove(existing)
            self.tiles_at_start.add(existing)
            existing.detach()
            call.rewriter.insert(existing, self._at_start())
        return existing

    def _copy_symbols(self, call: _Call, op: Operation) -> None:
        """Have the symbols that an operation of the callee refers to in the caller's device as well."""
        if call.callee_device is self.device:
            return

        def replace(reference: SymbolRefAttr) -> SymbolRefAttr:
            name = self._symbol_like(call, user, reference.root_reference)
            return SymbolRefAttr(name, reference.nested_references)

        for user in op.walk():
            if not isinstance(user, RunOp):  # refers to a sequence of the device that is configured around it
                replace_references(user, replace)

    def _symbol_like(self, call: _Call, user: Operation, name: StringAttr) -> StringAttr:
        """What a symbol of the callee's device is called in the caller's; its definition is copied there once."""
        if name in call.symbols:
            return call.symbols[name]
        definition = lookup_symbol(call.callee_device, name)
        if definition is None:
            module = call.callee_device.parent_op()
            if module is None or lookup_symbol(module, name) is None:
                fail_op(user, f"references symbol '{name.data}', which is not defined", (call.run, "run from here"))
            return name
        # noted before what it refers to is copied, which may refer back to it
        call.symbols[name] = unique = StringAttr(self.names.like(name.data))
        at = InsertPoint.before(self.first_sequence)
        self._copy_definitions(call, _operands_from_outside(definition), at)
        copy = definition.clone(call.values)
        copy.properties["sym_name"] = unique
        call.rewriter.insert(copy, at)
        self._copy_symbols(call, copy)
        return unique


def _following(op: Operation) -> Iterator[Operation]:
    while op.next_op is not None:
        op = op.next_op
        yield op


def _operands_from_outside(op: Operation) -> Iterator[SSAValue]:
    """What an operation and those nested in it use and do not define."""
    for user in op.walk():
        for value in user.operands:
            if not any(is_defined_in(value, region) for region in op.regions):
                yield value


CAN_BE_REFERRED_TO = (
    ShimDmaAllocationOp,
    DeviceOp,
    RuntimeSequenceOp,
    BufferOp,
    ObjectFifoRearmBindingOp,
    GlobalOp,
)


def dissolve(configure: ConfigureOp) -> None:
    """Put what is in it in its place."""
    for op in configure.inside:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(configure))
    Rewriter.erase_op(configure)


def check_references(sequence: RuntimeSequenceOp) -> None:
    """What a sequence refers to in its device must be something that it can take along, at a known address."""
    for op in all_operations(sequence):
        if not op.properties and not op.attributes:
            continue
        for reference in references_in(op):
            definition = lookup_symbol(sequence, reference)
            if definition is None:
                continue
            if not isinstance(definition, CAN_BE_REFERRED_TO):
                fail_op(
                    op,
                    f"references symbol '{reference.root_reference.data}' which must be either a ShimDMAAllocationOp, "
                    "DeviceOp, RuntimeSequenceOp, BufferOp, ObjectFifoRearmBindingOp, or GlobalOp, but got: "
                    f"{definition.name}",
                )
            if isinstance(definition, BufferOp) and definition.address is None:
                fail_op(
                    op,
                    "Unallocated buffer; fixed addresses are required before runtime sequence materialization.",
                    (definition, "this buffer has no address"),
                )


def check_calls(sequence: RuntimeSequenceOp) -> None:
    """Everything that a sequence runs must exist and take the arguments that it is given."""
    for configure in ops_of(sequence.body.ops, ConfigureOp):
        for run in ops_of(configure.inside, RunOp):
            called_sequence(run)


def called_sequence(run: RunOp) -> RuntimeSequenceOp:
    """The sequence that is run; fails if there is none, or none for these arguments."""
    device, name = configured_device(run), run.runtime_sequence_symbol.root_reference.data
    found = lookup_symbol(device, name)
    if found is None:
        note = f"This device does not have a '{name}' runtime sequence"
        fail(run, f"No such runtime sequence for device '{device.sym_name.data}': '{name}'", (device, note))
    if not isinstance(found, RuntimeSequenceOp):
        fail(run, f"'{name}' is not a runtime sequence", (found, "the symbol is defined here"))
    block = found.body.first_block
    expected = block.arg_types if block is not None else ()
    if len(expected) != len(run.args):
        fail_op(run, f"argument count mismatch: expected {len(expected)} but got {len(run.args)}")
    for index, (wanted, given) in enumerate(zip(expected, run.args.types, strict=True)):
        if wanted != given:
            fail_op(run, f"argument {index} type mismatch: expected {quoted(wanted)} but got {quoted(given)}")
    return found


def configured_device(run: RunOp) -> DeviceOp:
    """The device whose sequence is run."""
    configure = run.parent_op()
    assert isinstance(configure, ConfigureOp), "the verifier asks for one"
    return configure.find_device()


def reaches_cycle(
    sequence: RuntimeSequenceOp, acyclic: set[RuntimeSequenceOp], callers: tuple[RuntimeSequenceOp, ...] = ()
) -> bool:
    """Whether running a sequence would never end. Collects in `acyclic` those that do."""
    if sequence in callers:
        return True
    if sequence in acyclic:
        return False
    callees = (op.sequence for op in ops_of(all_operations(sequence), RunOp) if op.sequence is not None)
    if any(reaches_cycle(callee, acyclic, (*callers, sequence)) for callee in callees):
        return True
    # never taken out again: what does not lead back to itself is not looked into a second time
    acyclic.add(sequence)
    return False
