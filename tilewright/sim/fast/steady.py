"""Words that leave every node of a tree one a cycle: all of them are moved at once.

When words leave a node is kept word by word, for the last ones of them, and for those that left it steadily as a run:
the first of them, when that leaves, and the one after the last.
"""

from __future__ import annotations

from tilewright.device.layout import WORD_BYTES
from tilewright.native.compiled_python import copy_bytes
from tilewright.sim.fast.agenda import record_at, schedule
from tilewright.sim.fast.state import NONE, TIMES, BdField, FastState, native
from tilewright.sim.fast.transfers import field_of
from tilewright.sim.trace import TraceEvent

TIME_MASK = TIMES - 1
WORTHWHILE = 8
"""Words from which on it pays to look whether they all move at the same pace."""


@native
def words_before(s: FastState, channel: int) -> int:
    """1 if a header goes before the words of a channel's descriptor."""
    return s.channel_sends[channel] != 0 and field_of(s, channel, BdField.HEADER) != NONE


@native
def time_of(s: FastState, node: int, word: int) -> int:
    """When a word leaves a node."""
    if s.node_run_first[node] <= word < s.node_run_end[node]:
        return s.node_run_time[node] + word - s.node_run_first[node]
    return s.node_times[node * TIMES + (word & TIME_MASK)]


@native
def word_place(s: FastState, tree: int, word: int) -> int:
    """The address of a word on its way through a tree."""
    return s.tree_memory + WORD_BYTES * (tree * TIMES + (word & TIME_MASK))


@native
def steady_limit(s: FastState, tree: int) -> int:
    """The word before which all others will leave every node one a cycle, from `node_next` on; NONE if that is not so.

    When a word leaves follows from when others did by maxima and sums alone. So it is enough that, at that pace, each
    word has come to a node by the time it is to leave it, and that there is room for it behind the node.
    """
    root = s.tree_root[tree]
    end = root + 1 + s.tree_nodes[tree]
    channel = s.tree_channel[tree]
    limit = s.node_moved[root]
    if s.tree_active[tree] != 0:
        limit = s.tree_limit[tree]
    if s.channel_at[channel] < words_before(s, channel):
        return NONE
    last = limit
    for node in range(root + 1, end):
        if s.node_leaf[node] != NONE:
            if s.node_active[node] == 0:
                return NONE
            limit = min(limit, s.node_limit[node])
            last = min(last, s.node_moved[node])
    if limit - last < WORTHWHILE:
        return NONE
    find_next_times(s, tree, limit)
    for node in range(root + 1, end):
        above = s.node_above[node]
        ahead = (s.node_next[node] - s.node_moved[node]) - (s.node_next[above] - s.node_moved[above])
        is_late = s.node_moved[node] < limit and ahead < s.node_latency[node]
        if is_late or (s.node_moved[above] < limit and ahead > s.node_depth[node]):
            return NONE
    return limit


@native
def find_next_times(s: FastState, tree: int, limit: int) -> int:
    """When the next word leaves each node, if all go on; of those that have no word before the limit, at least when."""
    root = s.tree_root[tree]
    end = root + 1 + s.tree_nodes[tree]
    s.node_next[root] = time_of(s, root, s.node_moved[root] - 1) + 1
    if s.node_moved[root] < limit:
        s.node_next[root] = max(s.node_next[root], s.tree_from[tree])
    for node in range(root + 1, end):
        moved = s.node_moved[node]
        time = time_of(s, node, moved - 1) + 1
        if s.node_leaf[node] != NONE:
            time = max(time, s.node_from[node])
        above = s.node_above[node]
        waiting = s.node_moved[above] - moved
        if waiting > 0:
            time = max(time, time_of(s, above, moved) + s.node_latency[node])
        if waiting < s.node_depth[node] and s.node_moved[above] < limit:
            room = time_of(s, node, s.node_moved[above] - s.node_depth[node])
            s.node_next[above] = max(s.node_next[above], room)
        s.node_next[node] = time
    changed = 1
    while changed != 0:
        changed = 0
        for node in range(root + 1, end):
            above = s.node_above[node]
            waiting = s.node_moved[above] - s.node_moved[node]
            # The next word of an empty stream is still to come; to a full one it can when the first one leaves.
            if waiting == 0 and s.node_next[node] < s.node_next[above] + s.node_latency[node]:
                s.node_next[node] = s.node_next[above] + s.node_latency[node]
                changed = 1
            if waiting == s.node_depth[node] and s.node_next[above] < s.node_next[node] and s.node_moved[above] < limit:
                s.node_next[above] = s.node_next[node]
                changed = 1
    return 0


@native
def move_steadily(s: FastState, tree: int, limit: int) -> int:
    """Let all words before one leave all nodes."""
    root = s.tree_root[tree]
    if s.node_moved[root] < limit:
        send_steadily(s, tree, limit)
        pass_steadily(s, root, limit)
        if limit == s.tree_limit[tree]:
            s.tree_active[tree] = 0
            schedule(s, s.channel_part[s.tree_channel[tree]], time_of(s, root, limit - 1) + 1)
    for node in range(root + 1, root + 1 + s.tree_nodes[tree]):
        if s.node_moved[node] < limit:
            if s.node_leaf[node] != NONE:
                take_steadily(s, tree, node, limit)
            pass_steadily(s, node, limit)
            if s.node_leaf[node] != NONE and limit == s.node_limit[node]:
                s.node_active[node] = 0
                schedule(s, s.node_part[node], time_of(s, node, limit - 1) + 1)
    return 0


@native
def send_steadily(s: FastState, tree: int, limit: int) -> int:
    """Take words of the channel at the root."""
    channel = s.tree_channel[tree]
    at = s.node_moved[s.tree_root[tree]]
    if s.channel_at[channel] == 0:
        time = s.node_next[s.tree_root[tree]]
        record_at(s, time, TraceEvent.FLOW, s.channel_part[channel], s.channel_bd[channel])
    while at < limit:
        # up to where places begin anew
        count = min(limit - at, TIMES - (at & TIME_MASK))
        sent = s.channel_data[channel] + WORD_BYTES * (s.channel_at[channel] - words_before(s, channel))
        copy_bytes(word_place(s, tree, at), sent, WORD_BYTES * count)
        s.channel_at[channel] += count
        at += count
    return 0


@native
def take_steadily(s: FastState, tree: int, node: int, limit: int) -> int:
    """Give words to the channel at an end."""
    channel = s.node_leaf[node]
    at = s.node_moved[node]
    if s.channel_at[channel] == 0:
        record_at(s, s.node_next[node], TraceEvent.FLOW, s.channel_part[channel], s.channel_bd[channel])
    while at < limit:
        count = min(limit - at, TIMES - (at & TIME_MASK))
        taken = s.channel_data[channel] + WORD_BYTES * s.channel_at[channel]
        copy_bytes(taken, word_place(s, tree, at), WORD_BYTES * count)
        s.channel_at[channel] += count
        at += count
    return 0


@native
def pass_steadily(s: FastState, node: int, limit: int) -> int:
    """Write down when words leave a node: as a run that goes on, or a new one."""
    begin = s.node_moved[node]
    time = s.node_next[node]
    if begin != s.node_run_end[node] or time_of(s, node, begin - 1) + 1 != time:
        end_run(s, node)
        s.node_run_first[node] = begin
        s.node_run_time[node] = time
    s.node_run_end[node] = limit
    s.node_moved[node] = limit
    return 0


@native
def end_run(s: FastState, node: int) -> int:
    """Another run follows: write down word by word what of this one is to happen, or is in the next stream."""
    first = s.node_run_first[node]
    time = s.node_run_time[node]
    for word in range(max(first, first + s.now - time - s.ring), s.node_run_end[node]):
        s.node_times[node * TIMES + (word & TIME_MASK)] = time + word - first
    s.node_run_end[node] = first
    return 0
