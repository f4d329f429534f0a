"""Words in blocks: circuits from a sending channel to receiving ones, evaluated ahead of time.

On a circuit nothing but room and readiness decides when a word moves on, so its time at every switch follows from the
times of the words before it. A tree is such a circuit: the channel that sends, a node for each stream, and at the ends
channels that receive. When a channel offers words, or is ready to take some, all moves that are decided by then are
worked out at once; a channel has its next turn when its block is done. What holds in a given cycle can be told from the
times, which is how a tree becomes streams with words in them again, see `dissolve`.
"""

from __future__ import annotations

from tilewright.device.descriptors import PIECE_WORDS
from tilewright.native.compiled_python import load32, store32
from tilewright.sim.fast.agenda import record_at, schedule, unschedule, wait_for
from tilewright.sim.fast.departures import add_run, begin_runs, decided_to, let_go, run_of, time_of
from tilewright.sim.fast.state import (
    NONE,
    TIMES,
    BdField,
    ChannelStep,
    FastState,
    WaitKind,
    native,
)
from tilewright.sim.fast.steady import move_steadily
from tilewright.sim.fast.transfers import field_of
from tilewright.sim.fast.tree_words import begin_words, ring_place, send_words, stay, take_in, word_place
from tilewright.sim.trace import TraceEvent

BLOCK = 3072
"""Words that a channel offers or takes at a time; with what is on its way, fewer than a ring has room for."""
FIRST = TIMES
"""The number of the first word: there are others before it, all of them past."""


@native
def words_before(s: FastState, channel: int) -> int:
    """1 if a header goes before the words of a channel's descriptor."""
    return s.channel_sends[channel] != 0 and field_of(s, channel, BdField.HEADER) != NONE


@native
def block_end(s: FastState, channel: int) -> int:
    """How far, counted as `channel_at` is, a channel can go on without another turn."""
    end = s.channel_total[channel]
    if s.channel_word_cost[channel] != 0:
        end = min(end, s.channel_reserved[channel])
    if s.channel_piece[channel] != NONE:
        end = min(end, s.channel_piece[channel] + PIECE_WORDS)
    return min(end + words_before(s, channel), s.channel_at[channel] + BLOCK)


@native
def move_block(s: FastState, channel: int, node: int, turn: int) -> int:
    """Let words go through the node of a channel from a cycle on."""
    s.node_from[node] = turn
    s.node_limit[node] = s.node_moved[node] + block_end(s, channel) - s.channel_at[channel]
    s.node_active[node] = 1
    return run_tree(s, s.node_tree[node])


@native
def run_tree(s: FastState, tree: int) -> int:
    """Work out all moves that are decided."""
    root = s.tree_root[tree]
    end = root + 1 + s.tree_nodes[tree]
    moved = 1
    while moved != 0:
        moved = 0
        move_steadily(s, root, end)
        for node in range(root, end):
            moved += let_go(s, node, decided_to(s, node))
    for node in range(root, end):
        if s.node_channel[node] != NONE and s.node_active[node] != 0:
            move_data(s, tree, node)
    return 0


@native
def move_data(s: FastState, tree: int, node: int) -> int:
    """Let a channel have sent, or received, the words that have gone through its node."""
    channel = s.node_channel[node]
    word = s.node_done[node]
    end = s.node_moved[node]
    if word == end:
        return 0
    at = s.channel_at[channel]
    before = words_before(s, channel)
    s.channel_at[channel] = at + end - word
    s.node_done[node] = end
    if at == 0:
        record_at(s, time_of(s, node, word), TraceEvent.FLOW, s.channel_part[channel], s.channel_bd[channel])
        s.node_kept[node] = word
    if at < before:
        store32(ring_place(s, tree, word), field_of(s, channel, BdField.HEADER))
        word += 1
        at += 1
    if s.channel_sends[channel] != 0:
        send_words(s, tree, word, at - before, end)
    elif (
        s.channel_piece[channel] != NONE
        or field_of(s, channel, BdField.COMPRESSED) != 0
        or not stay(s, tree, word, end)
    ):
        take_in(s, tree, node)
    if end == s.node_limit[node]:
        s.node_active[node] = 0
        schedule(s, s.channel_part[channel], time_of(s, node, end - 1) + 1)
    return 0


# From streams to a tree.


@native
def adopt(s: FastState, tree: int) -> int:
    """Take over streams as they are in this turn of the channel that sends."""
    root = s.tree_root[tree]
    s.node_moved[root] = FIRST
    s.node_active[root] = 0
    begin_node(s, root)
    begin_words(s, tree)
    s.tree_adopted[tree] = 1
    s.adopted += 1
    s.channel_tree[s.node_channel[root]] = tree + 1
    for node in range(root + 1, root + 1 + s.tree_nodes[tree]):
        adopt_node(s, tree, node)
    return 0


@native
def begin_node(s: FastState, node: int) -> int:
    """All words before the next one have left it: long ago, or when they came to the streams behind it."""
    s.node_first[node] = s.node_moved[node]
    s.node_done[node] = s.node_moved[node]
    s.node_kept[node] = s.node_moved[node]
    s.node_from[node] = 0
    begin_runs(s, node)
    fullest = s.node_child[node]
    for child in range(fullest, fullest + s.node_children[node]):
        if s.fifo_count[s.node_fifo[child]] > s.fifo_count[s.node_fifo[fullest]]:
            fullest = child
    if s.node_children[node] != 0:
        fifo = s.node_fifo[fullest]
        count = s.fifo_count[fifo]
        for beat in range(count):
            at = fifo * s.ring + ((s.fifo_head[fifo] + beat) & (s.ring - 1))
            add_run(s, node, s.node_moved[node] - count + beat, s.beat_ready[at] - s.node_latency[fullest])
    return 0


@native
def adopt_node(s: FastState, tree: int, node: int) -> int:
    fifo = s.node_fifo[node]
    come = s.node_moved[s.node_above[node]]
    s.node_base[node] = come
    moved = come - s.fifo_count[fifo]
    s.node_moved[node] = moved
    begin_node(s, node)
    for word in range(moved, come):
        at = fifo * s.ring + ((s.fifo_head[fifo] + word - moved) & (s.ring - 1))
        store32(ring_place(s, tree, word), s.beat_word[at])
    s.fifo_count[fifo] = 0
    part = s.node_part[node]
    turn = s.part_due[part]
    if turn >= s.now:
        s.node_from[node] = turn
    if s.node_channel[node] == NONE:
        unschedule(s, part)
    else:
        adopt_leaf(s, node, part)
    return 0


@native
def adopt_leaf(s: FastState, node: int, part: int) -> int:
    """A channel that is receiving goes on as the end of a tree."""
    channel = s.node_channel[node]
    s.channel_node[channel] = node + 1
    s.node_active[node] = 0
    is_waiting = s.part_wait[part] == WaitKind.EMPTY
    if s.channel_step[channel] == ChannelStep.RECEIVE and is_waiting:
        unschedule(s, part)
        schedule(s, part, s.now)
    return 0


# From a tree to streams.


@native
def happened(s: FastState, node: int, part: int, acting: int) -> int:
    """How many words of those that will have left a node have done so, in the turn of the part that acts."""
    moved = s.node_moved[node]
    first = s.node_first[node]
    over = s.now
    if part < acting:
        over += 1
    while moved > first:
        run = run_of(s, node, moved - 1)
        if s.run_time[run] < over:
            return min(moved, s.run_first[run] + over - s.run_time[run])
        moved = s.run_first[run]
    return first


@native
def dissolve(s: FastState, tree: int, acting: int) -> int:
    """Put words and parts where they are now."""
    root = s.tree_root[tree]
    channel = s.node_channel[root]
    part = s.channel_part[channel]
    sent = happened(s, root, part, acting)
    back = s.node_moved[root] - sent
    s.channel_at[channel] -= back
    if back > 0 or s.node_active[root] != 0:
        unschedule(s, part)
        schedule(s, part, max(max(s.now, s.node_from[root]), time_of(s, root, sent - 1) + 1))
    tell_children(s, root, sent)
    for node in range(root + 1, root + 1 + s.tree_nodes[tree]):
        tell_children(s, node, dissolve_node(s, tree, node, acting))
    s.tree_adopted[tree] = 0
    s.adopted -= 1
    s.channel_tree[channel] = 0
    return 0


@native
def tell_children(s: FastState, node: int, come: int) -> int:
    """So many words have come to the streams behind a node."""
    for child in range(s.node_child[node], s.node_child[node] + s.node_children[node]):
        s.node_come[child] = come
    return 0


@native
def dissolve_node(s: FastState, tree: int, node: int, acting: int) -> int:
    """Gives the number of the next word that leaves its stream."""
    fifo = s.node_fifo[node]
    part = s.node_part[node]
    moved = happened(s, node, part, acting)
    above = s.node_above[node]
    come = s.node_come[node]
    for word in range(moved, come):
        at = fifo * s.ring + (word - moved)
        s.beat_word[at] = load32(word_place(s, tree, word))
        s.beat_last[at] = 0
        s.beat_ready[at] = time_of(s, above, word) + s.node_latency[node]
    s.fifo_head[fifo] = 0
    s.fifo_count[fifo] = come - moved
    s.fifo_words[fifo] += come - s.node_base[node]
    back = s.node_moved[node] - moved
    turn = max(max(s.now, s.node_from[node]), time_of(s, node, moved - 1) + 1)
    channel = s.node_channel[node]
    if channel == NONE:
        if come > moved:
            schedule(s, part, turn)
        else:
            wait_for(s, part, s.signal_fifo + fifo, WaitKind.EMPTY)
        return moved
    take_in(s, tree, node)
    s.channel_node[channel] = 0
    s.channel_at[channel] -= back
    if back > 0 or s.node_active[node] != 0:
        unschedule(s, part)
        schedule(s, part, turn)
    return moved


@native.entry
def dissolve_all(s: FastState, acting: int) -> int:
    if s.adopted == 0:
        return 0
    for tree in range(s.trees):
        if s.tree_adopted[tree] != 0:
            dissolve(s, tree, acting)
    return 0


@native.entry
def moves_ahead(s: FastState, channel: int, acting: int) -> int:
    """Words that a channel has been said to have moved, but has not yet."""
    node = s.channel_node[channel] - 1
    if s.channel_tree[channel] != 0:
        node = s.tree_root[s.channel_tree[channel] - 1]
    if node < 0:
        return 0
    return s.node_moved[node] - happened(s, node, s.channel_part[channel], acting)
