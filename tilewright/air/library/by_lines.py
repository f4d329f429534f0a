"""Collectives for little data: words are stored at the other ranks with the turn that they are of, four bytes each.

A word and its turn arrive at once, so that nothing else says that it is there. One wave of a block sends to each rank
and waits for what that one sends. Who has nothing to say sends all the same: that says that places are free again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

from tilewright.air.arrays import Array
from tilewright.air.atomics import atomic_store, atomic_wait
from tilewright.air.dtypes import DType, f32, ui32, ui64, value_type
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, rank, sequential, world_size, yield_
from tilewright.air.library.by_bandwidth import REDUCTIONS, SHORT_FLOATS
from tilewright.air.library.meetings import MOST_RANKS
from tilewright.air.messages import peer, symmetric
from tilewright.air.tile_transfers import guarded_load
from tilewright.air.tiles import shared, workers_here
from tilewright.air.waves import barrier, lane, lanes, wave
from tilewright.dialects import arith
from tilewright.dialects._syntax import INDEX
from tilewright.iron import math
from tilewright.iron.builders.arithmetic import signless, signless_type, with_sign
from tilewright.iron.builders.control import if_
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, as_index

MOST_BLOCKS = 32
"""Each sends as many elements at a time as a wave has lanes."""
WORD_BYTES = 4


@jit(opt_level=0)
def by_lines(sent: Any, result: Any, root: Any, *, kind: str, operation: str) -> None:
    """Rank `r` has row `r` of `sent`: parts of as many elements as a row of `result` has."""
    words = _word_count(sent.dtype)
    is_cut, is_reduced = kind in ("all_to_all", "reduce_scatter"), kind in ("reduce_scatter", "all_reduce")

    @rank()
    def _(me: Any) -> None:
        ranks, count = world_size(), result.shape[1]
        width = lanes()
        # two places for each word: ranks are never further apart than a turn
        places = symmetric((MOST_BLOCKS, 2, MOST_RANKS, width * words), ui64)
        turns = symmetric((MOST_BLOCKS,), ui32)
        blocks = math.minimum(as_index(cdiv(count, width)), MOST_BLOCKS)

        @launch(blocks, waves=MOST_RANKS)
        def _(block: Any) -> None:
            other, begin, step = wave(), block * width, blocks * width
            is_rank = other < ranks

            def given(first: Any) -> ScalarValue:
                """The element that this lane sends."""
                place = first + lane()
                start = other * count if is_cut else 0
                return guarded_load(sent, [me, place + start], is_rank & (place < count), 0)

            # all that is read before anything can be sent is on its way at the same time
            there, first_value, last_turn = peer(places, math.minimum(other, ranks - 1)), given(begin), turns[block]
            barrier()
            parts = shared((2, MOST_RANKS, width), sent.dtype) if is_reduced else None
            carried = [last_turn + 1, first_value]
            for first, (turn, value), ended in sequential(begin, count, step, iter_args=carried):
                carried, place, side = ended, first + lane(), (turn & 1).astype(INDEX)
                # lanes that have nothing to say send as well: each takes part in every turn
                with if_(is_rank, hasElse=False):
                    _send(there, [block, side, me, lane() * words], value, sent.dtype, turn)
                    got = _received(places, [block, side, other, lane() * words], sent.dtype, turn)
                    if parts is not None:
                        parts[side, other, lane()] = got
                    else:
                        is_wanted = place < count
                        with if_(is_wanted & (other == root) if kind == "broadcast" else is_wanted, hasElse=False):
                            result[0 if kind == "broadcast" else other, place] = got
                if parts is not None:
                    # one barrier is enough: the next turn has the other side of memory
                    barrier()
                    with if_((other == 0) & (place < count), hasElse=False):
                        result[0, place] = _reduced(parts, side, ranks, operation)
                yield_([turn + 1, given(first + step)])
            # all waves had read it when they met
            with if_(workers_here().number == 0, hasElse=False):
                turns[block] = carried[0] - 1


def _send(places: Array, index: Sequence[Any], value: ScalarValue, dtype: DType, turn: ScalarValue) -> None:
    """Store the words of a number, each with its turn."""
    *home, first = index
    for number, word in enumerate(_words(value, dtype)):
        packet = (turn.astype(ui64) << 32) | word.astype(ui64)
        atomic_store(places, [*home, first + number], packet, "relaxed")


def _received(places: Array, index: Sequence[Any], dtype: DType, turn: ScalarValue) -> ScalarValue:
    """The number of a turn, which is waited for."""
    *home, first = index
    natural, wanted = _natural_type(dtype), value_type(dtype)
    bits: Any = None
    for number in range(_word_count(dtype)):
        packet = atomic_wait(places, [*home, first + number], lambda seen: (seen >> 32).astype(ui32) == turn, "relaxed")
        word = packet.astype(ui32).astype(natural)
        bits = word if bits is None else bits | (word << 8 * WORD_BYTES * number)
    return ScalarValue(with_sign(_bitcast(signless(bits.ssa), signless_type(wanted)), wanted))


def _words(value: ScalarValue, dtype: DType) -> list[ScalarValue]:
    """A number in words, its low bits first."""
    natural = _natural_type(dtype)
    bits = ScalarValue(with_sign(_bitcast(signless(value.ssa), signless_type(natural)), natural))
    shifts = [8 * WORD_BYTES * number for number in range(_word_count(dtype))]
    return [(bits >> shift if shift else bits).astype(ui32) for shift in shifts]


def _word_count(dtype: DType) -> int:
    return max(1, dtype.itemsize // WORD_BYTES)


def _natural_type(dtype: DType) -> Attribute:
    return value_type(np.dtype(f"u{dtype.itemsize}"))


def _bitcast(value: SSAValue, type: Attribute) -> SSAValue:
    return value if value.type == type else build(arith.BitcastOp, results=[type], input=value).results[0]


def _reduced(parts: Array, side: Any, ranks: Any, operation: str) -> ScalarValue:
    """What has come from all ranks for this lane, in one, in the order of ranks."""
    last = as_index(ranks) - 1
    # all are read before the first is needed
    found = [parts[side, math.minimum(as_index(number), last), lane()] for number in range(MOST_RANKS)]
    short = parts.dtype in SHORT_FLOATS
    total, *others = [number.astype(f32) for number in found] if short else found
    for number, other in enumerate(others, 1):
        total = math.where(as_index(number) < ranks, REDUCTIONS[operation](total, other), total)
    return total.astype(value_type(parts.dtype)) if short else total
