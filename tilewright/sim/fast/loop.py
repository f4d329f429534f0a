"""The loop that lets one part after the other act, until Python is needed."""

from __future__ import annotations

from tilewright.native.compiled_python import CompiledFunctions
from tilewright.sim.fast import agenda, channels, cores, locks, streams, transfers, trees
from tilewright.sim.fast.agenda import marked_now, next_part
from tilewright.sim.fast.channels import step_channel
from tilewright.sim.fast.cores import step_core
from tilewright.sim.fast.state import LATER, NONE, Exit, Kind, State
from tilewright.sim.fast.streams import step_stream
from tilewright.support.lazy import once

BREATH = 1 << 18
"""Events after which Python gets a chance to look around."""


def act(s: State, part: int) -> int:
    """Let a part have its turn."""
    kind = s.part_kind[part]
    s.exit_part = part
    if kind == Kind.STREAM:
        return step_stream(s, part)
    if kind == Kind.CHANNEL:
        return step_channel(s, part)
    if kind == Kind.CORE:
        return step_core(s, part)
    if kind == Kind.PYTHON:
        return Exit.STEP
    return Exit.GO_ON


def go(s: State, first: int) -> int:
    """Let `first` go on, unless it is NONE, then everybody else in turn; gives why it stopped: an `Exit`."""
    if first != NONE:
        code = act(s, first)
        if code != Exit.GO_ON:
            return code
    while True:
        if s.looks > s.patience:
            return Exit.NOBODY_MOVES
        if s.trace_count >= s.trace_limit:
            return Exit.TRACE
        if s.events >= s.breath:
            s.breath = s.events + BREATH
            return Exit.BREATHE
        part = next_part(s)
        if part == NONE:
            return Exit.NOBODY_MOVES
        if part == LATER:
            return Exit.LATER
        s.events += 1
        if s.part_looks[part] != 0:
            s.part_looks[part] = 0
            s.looks += 1
        else:
            s.looks = 0
        code = act(s, part)
        if code != Exit.GO_ON:
            return code


def finish_cycle(s: State, first: int) -> int:
    """`go`, but only for those who have a turn in this cycle."""
    code: int = Exit.GO_ON
    if first != NONE:
        code = act(s, first)
    while code == Exit.GO_ON:
        part = marked_now(s)
        if part == NONE:
            return Exit.NOBODY_MOVES
        if s.part_due[part] == s.now:
            s.part_due[part] = NONE
            code = act(s, part)
    return code


FUNCTIONS = [
    agenda.schedule,
    agenda.mark,
    agenda.push_far,
    agenda.sift_in,
    agenda.drop_stale,
    agenda.pop_far,
    agenda.marked_now,
    agenda.slot_is_used,
    agenda.advance,
    agenda.next_part,
    agenda.wait_for,
    agenda.fire,
    agenda.forget,
    agenda.record,
    streams.push_beat,
    streams.pop_beat,
    streams.head_is_ready,
    streams.step_stream,
    streams.pass_on,
    streams.close_packet,
    streams.find_rule,
    agenda.unschedule,
    agenda.record_at,
    trees.words_before,
    trees.block_end,
    trees.offer_block,
    trees.take_block,
    trees.run_tree,
    trees.decided_to,
    trees.room_from,
    trees.push_words,
    trees.carry_words,
    trees.pop_words,
    trees.adopt,
    trees.forget_times,
    trees.adopt_node,
    trees.adopt_leaf,
    trees.happened,
    trees.time_of,
    trees.dissolve,
    trees.tell_children,
    trees.dissolve_node,
    trees.dissolve_all,
    trees.moves_ahead,
    transfers.field_of,
    transfers.start_of,
    transfers.find_region,
    transfers.move_words,
    transfers.move_line,
    transfers.move_pattern,
    locks.is_in_range,
    locks.set_lock,
    channels.step_channel,
    channels.one_step,
    channels.load_descriptor,
    channels.count_iteration,
    channels.acquire_lock,
    channels.begin_move,
    channels.has_room,
    channels.begin_access,
    channels.are_apart,
    channels.are_columns_apart,
    channels.meets_others,
    channels.gather,
    channels.join_stream,
    channels.send,
    channels.take_turn,
    channels.receive,
    channels.scatter,
    channels.after_scatter,
    channels.release_lock,
    channels.end_descriptor,
    channels.follow_chain,
    channels.send_token,
    cores.step_core,
    cores.after_stop,
    cores.dispatch,
    cores.release_for_core,
    cores.acquire_for_core,
    act,
    go,
    finish_cycle,
]
ENTRIES = [
    go,
    finish_cycle,
    agenda.schedule,
    agenda.wait_for,
    agenda.fire,
    agenda.forget,
    agenda.record,
    streams.push_beat,
    streams.pop_beat,
    streams.pass_on,
    channels.after_scatter,
    channels.end_descriptor,
    channels.follow_chain,
    trees.dissolve_all,
    trees.moves_ahead,
]
"""What Python calls."""


@once
def compiled() -> CompiledFunctions:
    """Machine code of all this, made once."""
    return CompiledFunctions(State, FUNCTIONS, ENTRIES)
