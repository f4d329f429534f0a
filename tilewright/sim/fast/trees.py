"""Words in blocks: circuits from a sending channel to receiving ones, evaluated ahead of time.

On a circuit nothing but room and readiness decides when a word moves on, so its time at every switch follows from the
times of the words before it. A tree is such a circuit: the channel that sends, a node for each stream, and at the ends
channels that receive. When a channel offers words, or is ready to take some, all moves that are decided by then are
worked out at once; a channel has its next turn when its block is done. What holds in a given cycle can be told from the
times, which is how a tree becomes streams with words in them again, see `dissolve`.
"""

from __future__ import annotations

from tilewright.device.descriptors import PIECE_WORDS
from tilewright.device.layout import WORD_BYTES
from tilewright.native.compiled_python import load32, store32
from tilewright.sim.fast.agenda import record_at, schedule, unschedule, wait_for
from tilewright.sim.fast.state import (
    NONE,
    TIMES,
    BdField,
    ChannelStep,
    FastState,
    WaitKind,
    native,
)
from tilewright.sim.fast.steady import TIME_MASK, move_steadily, steady_limit, time_of, word_place, words_before
from tilewright.sim.fast.transfers import field_of
from tilewright.sim.trace import TraceEvent

BLOCK = 3072
"""Words that a channel offers or takes at a time; with what is on its way, fewer than there are times for."""
FIRST = TIMES
"""The number of the first word: there are times before it, all of them past."""


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
def offer_block(s: FastState, channel: int, turn: int) -> int:
    """Let words of a sending channel go from a cycle on."""
    tree = s.channel_tree[channel] - 1
    s.tree_from[tree] = turn
    s.tree_limit[tree] = s.node_moved[s.tree_root[tree]] + block_end(s, channel) - s.channel_at[channel]
    s.tree_active[tree] = 1
    return run_tree(s, tree)


@native
def take_block(s: FastState, channel: int, turn: int) -> int:
    """Let words come to a receiving channel from a cycle on."""
    node = s.channel_node[channel] - 1
    s.node_from[node] = turn
    s.node_limit[node] = s.node_moved[node] + block_end(s, channel) - s.channel_at[channel]
    s.node_active[node] = 1
    return run_tree(s, s.node_tree[node])


@native
def run_tree(s: FastState, tree: int) -> int:
    """Work out all moves that are decided."""
    first = s.tree_root[tree] + 1
    end = first + s.tree_nodes[tree]
    moved = 1
    while moved != 0:
        limit = steady_limit(s, tree)
        if limit != NONE:
            move_steadily(s, tree, limit)
        moved = push_words(s, tree)
        for node in range(first, end):
            if s.node_leaf[node] == NONE:
                moved += carry_words(s, node)
            else:
                moved += pop_words(s, tree, node)
    return 0


@native
def decided_to(s: FastState, node: int, limit: int) -> int:
    """The number of the first word for which it is not decided when there is room in all streams behind a node."""
    first = s.node_child[node]
    for child in range(first, first + s.node_children[node]):
        limit = min(limit, s.node_moved[child] + s.node_depth[child])
    return limit


@native
def room_from(s: FastState, first: int, end: int, word: int, time: int) -> int:
    """From when on there is room for a word in the streams of some nodes."""
    for node in range(first, end):
        time = max(time, time_of(s, node, word - s.node_depth[node]))
    return time


@native
def push_words(s: FastState, tree: int) -> int:
    """Let the channel at the root send."""
    if s.tree_active[tree] == 0:
        return 0
    channel = s.tree_channel[tree]
    root = s.tree_root[tree]
    begin = s.node_moved[root]
    limit = s.tree_limit[tree]
    first = s.node_child[root]
    end = first + s.node_children[root]
    header = field_of(s, channel, BdField.HEADER)
    before = words_before(s, channel)
    at = s.channel_at[channel] - begin
    words = s.channel_data[channel] - WORD_BYTES * before
    times = root * TIMES
    last = max(time_of(s, root, begin - 1), s.tree_from[tree] - 1)
    sent = max(decided_to(s, root, limit), begin)
    for number in range(begin, sent):
        last = room_from(s, first, end, number, last + 1)
        s.node_times[times + (number & TIME_MASK)] = last
        word = header
        if at + number >= before:
            word = load32(words + WORD_BYTES * (at + number))
        store32(word_place(s, tree, number), word)
    if sent > begin and at + begin == 0:
        record_at(s, time_of(s, root, begin), TraceEvent.FLOW, s.channel_part[channel], s.channel_bd[channel])
    s.channel_at[channel] = at + sent
    s.node_moved[root] = sent
    if sent == limit:
        s.tree_active[tree] = 0
        schedule(s, s.channel_part[channel], last + 1)
    return sent - begin


@native
def carry_words(s: FastState, node: int) -> int:
    """Let a switch pass words on."""
    begin = s.node_moved[node]
    above = s.node_above[node]
    moved = max(decided_to(s, node, s.node_moved[above]), begin)
    if moved == begin:
        return 0
    first = s.node_child[node]
    end = first + s.node_children[node]
    latency = s.node_latency[node]
    times = node * TIMES
    last = time_of(s, node, begin - 1)
    for word in range(begin, moved):
        ready = max(time_of(s, above, word) + latency, last + 1)
        last = room_from(s, first, end, word, ready)
        s.node_times[times + (word & TIME_MASK)] = last
    s.node_moved[node] = moved
    return moved - begin


@native
def pop_words(s: FastState, tree: int, node: int) -> int:
    """Let a channel at an end receive."""
    if s.node_active[node] == 0:
        return 0
    channel = s.node_leaf[node]
    begin = s.node_moved[node]
    above = s.node_above[node]
    moved = max(min(s.node_moved[above], s.node_limit[node]), begin)
    at = s.channel_at[channel] - begin
    words = s.channel_data[channel]
    latency = s.node_latency[node]
    times = node * TIMES
    last = max(time_of(s, node, begin - 1), s.node_from[node] - 1)
    for word in range(begin, moved):
        last = max(time_of(s, above, word) + latency, last + 1)
        s.node_times[times + (word & TIME_MASK)] = last
        store32(words + WORD_BYTES * (at + word), load32(word_place(s, tree, word)))
    if moved > begin and at + begin == 0:
        record_at(s, time_of(s, node, begin), TraceEvent.FLOW, s.channel_part[channel], s.channel_bd[channel])
    s.channel_at[channel] = at + moved
    s.node_moved[node] = moved
    if moved == s.node_limit[node]:
        s.node_active[node] = 0
        schedule(s, s.channel_part[channel], last + 1)
    return moved - begin


# From streams to a tree.


@native
def adopt(s: FastState, tree: int) -> int:
    """Take over streams as they are in this turn of the channel that sends."""
    root = s.tree_root[tree]
    channel = s.tree_channel[tree]
    forget_times(s, root, FIRST)
    s.node_moved[root] = FIRST
    s.node_first[root] = FIRST
    s.tree_active[tree] = 0
    s.tree_adopted[tree] = 1
    s.adopted += 1
    s.channel_tree[channel] = tree + 1
    for node in range(root + 1, root + 1 + s.tree_nodes[tree]):
        adopt_node(s, tree, node)
    return 0


@native
def forget_times(s: FastState, node: int, moved: int) -> int:
    """All words before one have moved long ago."""
    for word in range(moved - s.ring, moved):
        s.node_times[node * TIMES + (word & TIME_MASK)] = NONE
    s.node_run_first[node] = 0
    s.node_run_end[node] = 0
    return 0


@native
def adopt_node(s: FastState, tree: int, node: int) -> int:
    fifo = s.node_fifo[node]
    above = s.node_above[node]
    come = s.node_moved[above]
    s.node_base[node] = come
    moved = come - s.fifo_count[fifo]
    s.node_moved[node] = moved
    s.node_first[node] = moved
    forget_times(s, node, moved)
    for word in range(moved, come):
        at = fifo * s.ring + ((s.fifo_head[fifo] + word - moved) & (s.ring - 1))
        store32(word_place(s, tree, word), s.beat_word[at])
        s.node_times[above * TIMES + (word & TIME_MASK)] = s.beat_ready[at] - s.node_latency[node]
    s.fifo_count[fifo] = 0
    part = s.node_part[node]
    turn = s.part_due[part]
    if turn >= s.now:
        # Not when the last word left, but what keeps the next one from leaving before the part's own turn.
        s.node_times[node * TIMES + ((moved - 1) & TIME_MASK)] = turn - 1
    if s.node_leaf[node] == NONE:
        unschedule(s, part)
    else:
        adopt_leaf(s, node, part, turn)
    return 0


@native
def adopt_leaf(s: FastState, node: int, part: int, turn: int) -> int:
    """A channel that is receiving goes on as the end of a tree."""
    channel = s.node_leaf[node]
    s.channel_node[channel] = node + 1
    s.node_active[node] = 0
    is_waiting = s.part_wait[part] == WaitKind.EMPTY
    if s.channel_step[channel] == ChannelStep.RECEIVE and is_waiting:
        unschedule(s, part)
        schedule(s, part, s.now)
    return turn


# From a tree to streams.


@native
def happened(s: FastState, node: int, part: int, acting: int) -> int:
    """How many words of those that will have left a node have done so, in the turn of the part that acts."""
    moved = s.node_moved[node]
    first = s.node_first[node]
    while moved > first:
        # all but the first ones of a run that have not left yet
        if s.node_run_first[node] < moved <= s.node_run_end[node]:
            moved = max(
                min(moved, s.node_run_first[node] + s.now + 1 - s.node_run_time[node]), s.node_run_first[node] + 1
            )
        time = time_of(s, node, moved - 1)
        if time < s.now or (time == s.now and part < acting):
            break
        moved -= 1
    return moved


@native
def dissolve(s: FastState, tree: int, acting: int) -> int:
    """Put words and parts where they are now."""
    channel = s.tree_channel[tree]
    root = s.tree_root[tree]
    part = s.channel_part[channel]
    sent = happened(s, root, part, acting)
    back = s.node_moved[root] - sent
    s.channel_at[channel] -= back
    if back > 0 or s.tree_active[tree] != 0:
        unschedule(s, part)
        schedule(s, part, max(max(s.now, s.tree_from[tree]), time_of(s, root, sent - 1) + 1))
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
    turn = max(s.now, time_of(s, node, moved - 1) + 1)
    channel = s.node_leaf[node]
    if channel == NONE:
        if come > moved:
            schedule(s, part, turn)
        else:
            wait_for(s, part, s.signal_fifo + fifo, WaitKind.EMPTY)
        return moved
    s.channel_node[channel] = 0
    s.channel_at[channel] -= back
    if back > 0 or s.node_active[node] != 0:
        unschedule(s, part)
        schedule(s, part, max(turn, s.node_from[node]))
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
