"""Joins writes to consecutive words into one instruction, which costs the command processor as much as one of them.

Descriptors with sizes that are known only at run time are written as a template, then word by word where they differ
from it. Here that becomes one write of all words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from xdsl.context import Context
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.guards import Guard
from tilewright.dialects.aiex.instructions import NpuBlockWriteOp, NpuWrite32Op, NpuWriteWordsOp
from tilewright.dialects.aiex.resolution import absolute_address, block_data
from tilewright.dialects.arith import AddiOp
from tilewright.dialects.memref import GetGlobalOp
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import ops_of

Word: TypeAlias = "int | SSAValue"


class WordAddress(NamedTuple):
    """Where a word goes: so many bytes behind a value, or behind 0."""

    base: SSAValue | None
    offset: int


class WriteRun:
    """Words that follow each other, by the instructions that write them, all from one line of the source."""

    def __init__(self, op: NpuBlockWriteOp | NpuWrite32Op, target: WordAddress):
        self.ops: list[Operation] = [op]
        self.target = target
        self._word = op.value if isinstance(op, NpuWrite32Op) else None
        self._data = block_data(op) if isinstance(op, NpuBlockWriteOp) else None

    @cached_property
    def words(self) -> list[Word]:
        """Read when something follows that may belong to them."""
        if self._data is not None:
            return [word & WORD_MASK for word in self._data.get_values()]
        return [] if self._word is None else [self._word]

    @cached_property
    def _open(self) -> set[int]:
        """Words of a template that may still be replaced, as nothing has read them yet."""
        return set() if self._data is None else set(range(len(self.words)))

    def take(self, other: WriteRun) -> bool:
        """Whether another write belongs to these words; if so, they include it."""
        index, rest = divmod(other.target.offset - self.target.offset, WORD_BYTES)
        # Words of another line stay apart, so that a location map can tell them from each other.
        is_near = other.target.base is self.target.base and rest == 0 and other.ops[0].location == self.ops[0].location
        if not is_near or not (index == len(self.words) or index in self._open):
            return False
        (word,) = other.words if len(other.words) == 1 else (None,)
        if word is None:
            return False
        self._open.discard(index)
        self.words[index : index + 1] = [word]
        self.ops += other.ops
        return True


@dataclass(frozen=True)
class JoinWritesPass(Pass):
    name = "tilewright-join-writes"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        for sequence in ops_of(op.body.ops, RuntimeSequenceOp):
            regions = [region for inner in all_operations(sequence) for region in inner.regions]
            # All are found before the first is joined: until then, each symbol table is read once.
            with unchanging_symbols():
                spans = [span for region in regions for block in region.blocks for span in _spans(block)]
            for span in spans:
                _join(span)


def _spans(block: Block) -> Iterator[WriteRun]:
    """Instructions that can be one, as nothing is done between them."""
    span: WriteRun | None = None
    silent = dict[type[Operation], bool]()
    for op in block.ops:
        is_silent = silent.get(op.__class__)
        if is_silent is None:
            is_silent = silent[op.__class__] = _is_silent(op.__class__)
        if is_silent:
            continue
        write = _write(op) if isinstance(op, WRITES) and "buffer" not in op.properties else None
        if span is None or write is None or not span.take(write):
            if span is not None and len(span.ops) > 1:
                yield span
            span = write
    if span is not None and len(span.ops) > 1:
        yield span


WRITES = (NpuBlockWriteOp, NpuWrite32Op)


def _is_silent(kind: type[Operation]) -> bool:
    """Whether operations of a kind put nothing into the stream: they compute, or check."""
    return issubclass(kind, (Guard, GetGlobalOp)) or kind.name.startswith("arith.")


def _write(op: NpuBlockWriteOp | NpuWrite32Op) -> WriteRun | None:
    if isinstance(op, NpuBlockWriteOp):
        return WriteRun(op, WordAddress(None, _address(op, op.address.value.data)))
    target = _target(op)
    return None if target is None else WriteRun(op, target)


def _address(op: NpuBlockWriteOp | NpuWrite32Op, offset: int) -> int:
    return absolute_address(op, offset) if "column" in op.properties or "row" in op.properties else offset


def _target(op: NpuWrite32Op) -> WordAddress | None:
    if (offset := constant_value(op.address)) is not None:
        return WordAddress(None, _address(op, offset))
    return _sum(op.address) if op.column is None and op.row is None else None


def _sum(address: SSAValue) -> WordAddress:
    """A value that something known is added to, or that stands alone."""
    if isinstance(address.owner, AddiOp):
        left, right = address.owner.operands
        if (offset := constant_value(right)) is not None:
            return WordAddress(left, offset)
        if (offset := constant_value(left)) is not None:
            return WordAddress(right, offset)
    return WordAddress(address, 0)


def _join(span: WriteRun) -> None:
    first, last = span.ops[0], span.ops[-1]
    # Where the last one was: the values of all words are there.
    build = Emitter.before(last)
    if span.target.base is None:
        address = _value(build, span.target.offset)
    else:
        assert isinstance(first, NpuWrite32Op)
        address = first.address
    build.insert(NpuWriteWordsOp(address, [_value(build, word) for word in span.words]))
    templates = [op.data for op in span.ops if isinstance(op, NpuBlockWriteOp)]
    for op in span.ops:
        Rewriter.erase_op(op)
    # The read of a template has no other use once its block write is gone.
    for data in templates:
        if isinstance(data.owner, GetGlobalOp) and not data.first_use:
            Rewriter.erase_op(data.owner)


def _value(build: Emitter, word: Word) -> SSAValue:
    return build.constant(word) if isinstance(word, int) else word
