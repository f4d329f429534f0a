"""Where elements of a block's buffers lie in their rows, so that lanes that go together meet in few banks.

What the lanes of a block's first threads access is computed from the program, and the turns that banks take for it are
counted. Groups of 16 bytes of a row then change places, by exclusive or with bits of their own number, by the rule that
needs the fewest turns: no element leaves its row, and no memory is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, IntegerAttr, MemRefType, NoneAttr, VectorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.device.gpu_targets import MEMORY_SHAPES, GpuTarget
from tilewright.dialects import arith, memref, scf, vector
from tilewright.dialects.arith.meaning import MEANING, RESIZES
from tilewright.dialects.gpu.ids import LaneIdOp
from tilewright.dialects.gpu.launches import LaunchOp
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import scalar_int
from tilewright.rewrite.integers import compute

GROUP_BYTES = 16
"""The widest access of a lane, which stays together."""
BANK_BYTES = 4
LANES = 64
"""Those that are looked at: a wave, or two warps."""
INDEX_BITS = 64
MASKS = 1, 3, 7
"""Of 16 bytes there are eight in all banks."""
GUESSED_ROUNDS = 8
"""Of a loop that does not say how many it has."""
WORTH_IT = 0.9
"""Of the turns that banks took before: with more than this, places stay simple."""


def spread_banks(launch: LaunchOp, target: GpuTarget, wave_size: int) -> None:
    """Give each buffer of the block the rule that suits its accesses, where there is one."""
    places, banks = LanePlaces(launch, wave_size), MEMORY_SHAPES[target.chip].banks
    for buffer in launch.workgroup_buffers:
        accesses = _accesses(buffer)
        if accesses is None:
            continue
        plain = _turns(accesses, None, places, banks)
        first = accesses[0]
        known = [*rules(first.type.get_shape()[-1], GROUP_BYTES // first.element_bytes)]
        turns = {rule: _turns(accesses, rule, places, banks) for rule in known}
        best = min(known, key=lambda rule: turns[rule], default=None)
        if best is not None and turns[best] <= plain * WORTH_IT:
            for access in accesses:
                best.rewrite(access)


@dataclass(frozen=True)
class BankAccess:
    """A load from a buffer of the block, or a store to it."""

    op: Operation
    buffer: SSAValue
    first_index: int
    """The operand that is the first index."""
    elements: int

    @property
    def type(self) -> MemRefType:
        return cast("MemRefType", self.buffer.type)

    @property
    def indices(self) -> Sequence[SSAValue]:
        return self.op.operands[self.first_index : self.first_index + self.type.get_num_dims()]

    @property
    def element_bytes(self) -> int:
        return cast("FixedBitwidthType", self.type.element_type).bitwidth // 8

    @property
    def rounds(self) -> int:
        """How often it is done, about."""
        total, op = 1, self.op.parent_op()
        while op is not None and not isinstance(op, LaunchOp):
            if isinstance(op, scf.ForOp):
                bounds = [scalar_int(value) for value in (op.lb, op.ub, op.step)]
                known = [bound for bound in bounds if bound is not None]
                total *= len(range(*known)) if len(known) == len(bounds) and known[2] > 0 else GUESSED_ROUNDS
            op = op.parent_op()
        return total


def _accesses(buffer: BlockArgument) -> list[BankAccess] | None:
    """All uses of a buffer, if they are accesses that stay within groups of 16 bytes."""
    type = cast("MemRefType", buffer.type)
    if DYNAMIC_INDEX in type.get_shape() or not isinstance(type.layout, NoneAttr):
        return None
    element = type.element_type
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 0
    if bits not in (8, 16, 32, 64) or not type.get_num_dims():
        return None
    found = [_access(use.operation, use.index, buffer, bits // 8) for use in buffer.uses]
    accesses = [access for access in found if access is not None]
    return accesses if accesses and len(accesses) == len(found) else None


def _access(op: Operation, operand: int, buffer: BlockArgument, element_bytes: int) -> BankAccess | None:
    match op:
        case memref.LoadOp() | memref.StoreOp():
            return BankAccess(op, buffer, operand + 1, 1)
        case vector.LoadOp() | vector.StoreOp():
            value = op.result if isinstance(op, vector.LoadOp) else op.vector
            shape = cast("VectorType", value.type).get_shape()
            count, promise = prod(shape), op.alignment
            size = count * element_bytes
            is_aligned = isinstance(promise, IntegerAttr) and promise.value.data % size == 0
            # what begins at a multiple of its size is in one group
            fits = is_aligned and size in (2, 4, 8, GROUP_BYTES)
            return BankAccess(op, buffer, operand + 1, count) if fits and len(shape) == 1 else None
        case _:
            return None


@dataclass(frozen=True)
class Exchange:
    """A rule: the number of a group in its row, by exclusive or with bits of it that are further up."""

    shift: int
    mask: int
    group: int
    """Elements of a group, a power of two."""

    def place(self, element: int) -> int:
        return element ^ (((element // self.group) >> self.shift) & self.mask) * self.group

    def rewrite(self, access: BankAccess) -> None:
        last = access.first_index + access.type.get_num_dims() - 1
        element = access.op.operands[last]
        emitter = Emitter.before(access.op)
        known = scalar_int(element)
        access.op.operands[last] = (
            emitter.index(self.place(known)) if known is not None else self._moved(emitter, element)
        )

    def _moved(self, emitter: Emitter, element: SSAValue) -> SSAValue:
        width = self.group.bit_length() - 1
        above = emitter.binary(arith.ShRUIOp, element, emitter.index(self.shift + width))
        bits = emitter.binary(arith.AndIOp, above, emitter.index(self.mask))
        return emitter.binary(arith.XOrIOp, element, emitter.binary(arith.ShLIOp, bits, emitter.index(width)))


def rules(row: int, group: int) -> Iterator[Exchange]:
    """For rows of so many elements: those under which no two meet, and what is behind a row's end is of the next."""
    for mask, shift in product(MASKS, range(1, 8)):
        # bits that decide are above those that change, so that the same rule leads back, and no row begins amid them
        if shift >= mask.bit_length() and row % (group << shift + mask.bit_length()) == 0:
            yield Exchange(shift, mask, group)


def _turns(accesses: Sequence[BankAccess], rule: Exchange | None, places: LanePlaces, banks: int) -> int:
    return sum(access.rounds * _turns_of(access, rule, places, banks) for access in accesses)


def _turns_of(access: BankAccess, rule: Exchange | None, places: LanePlaces, banks: int) -> int:
    """How often banks are asked for one access of all lanes that are looked at."""
    shape, size = access.type.get_shape(), access.element_bytes
    starts = list[int]()
    for lane in range(places.lanes):
        at = [places.value(index, lane) for index in access.indices]
        last = at[-1] % shape[-1]
        flat = 0
        for index, extent in zip([*at[:-1], last if rule is None else rule.place(last)], shape, strict=True):
            flat = flat * extent + index
        starts.append(flat * size)
    width = max(BANK_BYTES, access.elements * size)
    together = banks * BANK_BYTES // width
    return sum(_busiest(starts[first : first + together], width, banks) for first in range(0, len(starts), together))


def _busiest(starts: Sequence[int], width: int, banks: int) -> int:
    """The words that lanes want of the bank that they want the most of; one that several want counts once."""
    words = {start // BANK_BYTES + word for start in starts for word in range(width // BANK_BYTES)}
    counts = [0] * banks
    for word in words:
        counts[word % banks] += 1
    return max(counts)


class LanePlaces:
    """Indices as the first lanes of a block compute them. What is not known is taken to be the same for all: 0."""

    def __init__(self, launch: LaunchOp, wave_size: int):
        self.launch, self.wave_size = launch, wave_size
        sizes = [scalar_int(size) for size in launch.block_sizes]
        self.sizes = [1 if size is None else size for size in sizes]
        self.lanes = min(LANES, prod(self.sizes))
        self._known = dict[tuple[SSAValue, int], int]()

    def value(self, value: SSAValue, lane: int) -> int:
        key = value, lane
        if key not in self._known:
            self._known[key] = self._computed(value, lane)
        return self._known[key]

    def _computed(self, value: SSAValue, lane: int) -> int:
        known = scalar_int(value)
        if known is not None:
            return known
        owner = value.owner
        if isinstance(owner, Block):
            return self._argument(value, owner, lane)
        if isinstance(owner, LaneIdOp):
            return lane % self.wave_size
        if owner.name in MEANING:
            operands = [self.value(operand, lane) for operand in owner.operands]
            return compute(owner.name, operands[0], operands[1], INDEX_BITS, True) or 0
        return self.value(owner.operands[0], lane) if owner.name in RESIZES else 0

    def _argument(self, value: SSAValue, block: Block, lane: int) -> int:
        parent = block.parent_op()
        if isinstance(parent, scf.ForOp) and value is block.args[0]:
            return self.value(parent.lb, lane)
        if block is not self.launch.block:
            return 0
        x, y, z = self.launch.thread_ids
        width, height, _ = self.sizes
        numbers = {x: lane % width, y: lane // width % height, z: lane // (width * height)}
        numbers |= dict(zip(self.launch.block_dims, self.sizes, strict=True))
        return numbers.get(cast("BlockArgument", value), 0)
