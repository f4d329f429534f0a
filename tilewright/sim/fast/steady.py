"""Words that leave every node of a tree one a cycle: all of them are moved at once."""

from __future__ import annotations

from tilewright.sim.fast.departures import add_run, free_from, time_of
from tilewright.sim.fast.state import NONE, FastState, native

WORTHWHILE = 8
"""Words from which on it pays to look whether they all move at the same pace."""


@native
def move_steadily(s: FastState, root: int, end: int) -> int:
    """Let words leave all nodes of a tree, from one to before another, one a cycle: as many as there are that do so.

    When a word leaves follows from when others did by maxima and sums alone. So it is enough that, at that pace, each
    word has come to a node by the time it is to leave it, and that there is room for it behind the node.
    """
    count = s.node_limit[root] - s.node_moved[root]
    for node in range(root, end):
        if s.node_channel[node] != NONE:
            if s.node_active[node] == 0:
                return 0
            count = min(count, s.node_limit[node] - s.node_moved[node])
    if count < WORTHWHILE:
        return 0
    find_next_times(s, root, end)
    if not keep_pace(s, root, end):
        return 0
    for node in range(root, end):
        add_run(s, node, s.node_moved[node], s.node_next[node])
        s.node_moved[node] += count
    return count


@native
def find_next_times(s: FastState, root: int, end: int) -> int:
    """When the next word leaves each node at the earliest, as far as is known of the nodes around it."""
    s.node_next[root] = free_from(s, root)
    for node in range(root + 1, end):
        above = s.node_above[node]
        waiting = s.node_moved[above] - s.node_moved[node]
        time = free_from(s, node)
        if waiting > 0:
            time = max(time, time_of(s, above, s.node_moved[node]) + s.node_latency[node])
        else:
            time = max(time, s.node_next[above] + s.node_latency[node])
        s.node_next[node] = time
        # The word that makes room in the stream has left: if not later than the others let it, that need not be known.
        behind = waiting - s.node_depth[node]
        if behind < 0 and s.node_next[above] < free_from(s, node) + behind:
            s.node_next[above] = max(s.node_next[above], time_of(s, node, s.node_moved[node] + behind))
    return 0


@native
def keep_pace(s: FastState, root: int, end: int) -> int:
    """Whether words go on one a cycle from the next ones on, which wait for each other in empty and full streams."""
    changed = 1
    while changed != 0:
        changed = 0
        node = end - 1
        while node > root:
            above = s.node_above[node]
            waiting = s.node_moved[above] - s.node_moved[node]
            ahead = s.node_next[node] - s.node_next[above] + waiting
            if ahead < s.node_latency[node]:
                # The next word of an empty stream is still to come.
                if waiting > 0:
                    return 0
                s.node_next[node] += s.node_latency[node] - ahead
                changed = 1
            if ahead > s.node_depth[node]:
                # To a full stream the next word can come when the first one leaves.
                if waiting < s.node_depth[node]:
                    return 0
                s.node_next[above] = s.node_next[node]
                changed = 1
            node -= 1
    return 1
