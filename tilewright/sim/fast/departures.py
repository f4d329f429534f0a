"""When words leave the nodes of a tree, as runs: words that leave one a cycle.

Each node has runs of the words that it was said to let go, the first word of each and when that leaves. A word leaves
when it has come, when there is room behind the node, and one cycle after the word before it at the earliest: a maximum
of times. As long as each of these is in one run, so is the maximum, and so words are worked out run by run.
"""

from __future__ import annotations

from tilewright.sim.fast.state import NONE, RUNS, FastState, native

FEW_RUNS = 32
"""Runs that are kept before the first look at which of them are past."""


@native
def run_of(s: FastState, node: int, word: int) -> int:
    """The run of a node that a word is in: one of the last ones."""
    run = node * RUNS + s.node_runs[node] - 1
    while s.run_first[run] > word:
        run -= 1
    return run


@native
def run_end(s: FastState, node: int, run: int) -> int:
    """The word after the last one of a run."""
    if run + 1 == node * RUNS + s.node_runs[node]:
        return s.node_moved[node]
    return s.run_first[run + 1]


@native
def time_of(s: FastState, node: int, word: int) -> int:
    """When a word leaves a node."""
    run = run_of(s, node, word)
    return s.run_time[run] + word - s.run_first[run]


@native
def free_from(s: FastState, node: int) -> int:
    """From when on the next word can leave a node, as far as the node itself is concerned."""
    run = node * RUNS + s.node_runs[node] - 1
    return max(s.run_time[run] + s.node_moved[node] - s.run_first[run], s.node_from[node])


@native
def begin_runs(s: FastState, node: int) -> int:
    """All words before the next one have left a node long ago."""
    s.node_runs[node] = 1
    s.node_most_runs[node] = FEW_RUNS
    s.run_first[node * RUNS] = s.node_moved[node] - s.ring
    s.run_time[node * RUNS] = NONE - s.ring
    return 0


@native
def add_run(s: FastState, node: int, word: int, time: int) -> int:
    """Words from one on leave a node one a cycle; it is the one after all that did so far."""
    last = node * RUNS + s.node_runs[node] - 1
    if s.run_time[last] + word - s.run_first[last] == time:
        return 0
    if s.node_runs[node] == s.node_most_runs[node]:
        drop_past(s, node)
    run = node * RUNS + s.node_runs[node]
    s.run_first[run] = word
    s.run_time[run] = time
    s.node_runs[node] += 1
    return 0


@native
def drop_past(s: FastState, node: int) -> int:
    """Forget runs of words that have left the node, and the stream behind it."""
    first = node * RUNS
    kept = first + s.node_runs[node] - 1
    while kept > first and s.run_time[kept] >= s.now:
        kept -= 1
    # as many words as a stream has room for may still be in the one behind the node
    word = s.run_first[kept] - s.ring
    while kept > first and s.run_first[kept] > word:
        kept -= 1
    count = first + s.node_runs[node] - kept
    for run in range(count):
        s.run_first[first + run] = s.run_first[kept + run]
        s.run_time[first + run] = s.run_time[kept + run]
    s.node_runs[node] = count
    s.node_most_runs[node] = min(max(FEW_RUNS, 2 * count), RUNS)
    return 0


@native
def decided_to(s: FastState, node: int) -> int:
    """The number of the first word for which it is not decided when it leaves a node."""
    above = s.node_above[node]
    limit = s.node_moved[node]
    if s.node_channel[node] == NONE:
        limit = s.node_moved[above]
    elif s.node_active[node] != 0:
        limit = s.node_limit[node]
        if above != NONE:
            limit = min(limit, s.node_moved[above])
    first = s.node_child[node]
    for child in range(first, first + s.node_children[node]):
        limit = min(limit, s.node_moved[child] + s.node_depth[child])
    return limit


@native
def let_go(s: FastState, node: int, end: int) -> int:
    """Work out when all words before one leave a node; it is decided for all of them. Gives how many they are."""
    word = s.node_moved[node]
    if word >= end:
        return 0
    count = end - word
    above = s.node_above[node]
    first = s.node_child[node]
    last = first + s.node_children[node]
    for child in range(first, last):
        s.node_run[child] = run_of(s, child, word - s.node_depth[child])
    come = NONE
    if above != NONE:
        come = run_of(s, above, word)
    time = free_from(s, node)
    while word < end:
        stop = end
        if come != NONE:
            time = max(time, s.run_time[come] + word - s.run_first[come] + s.node_latency[node])
            stop = min(stop, run_end(s, above, come))
        for child in range(first, last):
            run = s.node_run[child]
            time = max(time, s.run_time[run] + word - s.node_depth[child] - s.run_first[run])
            stop = min(stop, run_end(s, child, run) + s.node_depth[child])
        add_run(s, node, word, time)
        time += stop - word
        word = stop
        if word < end:
            if come != NONE and word == run_end(s, above, come):
                come += 1
            for child in range(first, last):
                if word == run_end(s, child, s.node_run[child]) + s.node_depth[child]:
                    s.node_run[child] += 1
    s.node_moved[node] = end
    return count
