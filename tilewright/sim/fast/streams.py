"""Words through the switches as native code; `sim.fifo` and `sim.switch` are the meaning."""

from __future__ import annotations

from tilewright.device.architecture import NUM_SLAVE_SLOTS
from tilewright.device.packets import PacketHeader
from tilewright.sim.fast.agenda import fire, schedule, wait_for
from tilewright.sim.fast.state import MAX_TARGETS, NONE, Exit, FastState, SlaveKind, WaitKind, native

PACKET_ID = PacketHeader.id.mask
"""Native code knows integers of its module, not attributes of what is in them."""


@native.entry
def push_beat(s: FastState, fifo: int, word: int, last: int) -> int:
    at = fifo * s.ring + ((s.fifo_head[fifo] + s.fifo_count[fifo]) & (s.ring - 1))
    s.beat_word[at] = word
    s.beat_last[at] = last
    s.beat_ready[at] = s.now + s.fifo_latency[fifo]
    s.fifo_count[fifo] += 1
    s.fifo_words[fifo] += 1
    if s.signal_first[s.signal_fifo + fifo] != NONE:
        fire(s, s.signal_fifo + fifo)
    return 0


@native.entry
def pop_beat(s: FastState, fifo: int) -> int:
    s.fifo_head[fifo] = (s.fifo_head[fifo] + 1) & (s.ring - 1)
    s.fifo_count[fifo] -= 1
    if s.signal_first[s.signal_fifo + fifo] != NONE:
        fire(s, s.signal_fifo + fifo)
    return 0


@native
def head_is_ready(s: FastState, part: int, fifo: int) -> int:
    """Whether a word can be taken now; if not, the part gets its turn when that may have changed."""
    if s.fifo_count[fifo] == 0:
        wait_for(s, part, s.signal_fifo + fifo, WaitKind.EMPTY)
        return 0
    ready = s.beat_ready[fifo * s.ring + s.fifo_head[fifo]]
    if ready > s.now:
        schedule(s, part, ready)
        return 0
    return 1


@native
def step_stream(s: FastState, part: int) -> int:
    """Pass on one word that came over a wire."""
    stream = s.part_index[part]
    fifo = s.stream_fifo[stream]
    if head_is_ready(s, part, fifo) == 0:
        return Exit.GO_ON
    at = fifo * s.ring + s.fifo_head[fifo]
    return pass_on(s, part, s.stream_slave[stream], s.beat_word[at], s.beat_last[at], fifo)


@native.entry
def pass_on(s: FastState, part: int, slave: int, word: int, last: int, fifo: int) -> int:
    """Move a word, which comes from `fifo` if that is not NONE, to wherever a slave port leads.

    Once it is done, the part has its next turn one cycle later. Gives why Python is needed, else GO_ON; the part then
    either waits or, with a turn in the next cycle, has done it.
    """
    rule = s.slave_open[slave]
    is_header = 0
    if rule == NONE:
        # Routes are read from registers when a word needs one, not when registers are written.
        if s.slave_known[slave] == 0:
            s.exit_value = slave
            return Exit.ROUTE
        if s.slave_kind[slave] == SlaveKind.NOWHERE:
            wait_for(s, part, s.signal_switch + s.slave_switch[slave], WaitKind.NOWHERE)
            return Exit.GO_ON
        rule = slave * NUM_SLAVE_SLOTS  # a circuit uses the first of a port's rules
        if s.slave_kind[slave] == SlaveKind.PACKET:
            is_header = 1
            rule = find_rule(s, slave, word)
            if rule == NONE:
                s.exit_value = slave
                return Exit.NO_ROUTE
            arbiter = s.rule_arbiter[rule]
            if s.arbiter_held[arbiter] != slave:
                if s.arbiter_held[arbiter] != NONE:
                    wait_for(s, part, s.signal_arbiter + arbiter, WaitKind.ARBITER)
                    return Exit.GO_ON
                s.arbiter_held[arbiter] = slave
    targets = rule * MAX_TARGETS
    count = s.rule_targets[rule]
    for target in range(targets, targets + count):
        if is_header == 0 or s.target_drops[target] == 0:
            other = s.target_fifo[target]
            if s.fifo_count[other] >= s.fifo_depth[other]:
                wait_for(s, part, s.signal_fifo + other, WaitKind.FULL)
                return Exit.GO_ON
    # Only now is it known that the word can go everywhere.
    if fifo != NONE:
        pop_beat(s, fifo)
    for target in range(targets, targets + count):
        if is_header == 0 or s.target_drops[target] == 0:
            push_beat(s, s.target_fifo[target], word, last)
    if is_header != 0 or s.slave_open[slave] != NONE:
        close_packet(s, slave, rule, last)
    schedule(s, part, s.now + 1)
    return Exit.GO_ON


@native
def close_packet(s: FastState, slave: int, rule: int, last: int) -> int:
    """A word of a packet went on; the last one lets others through."""
    if last == 0:
        s.slave_open[slave] = rule
        return 0
    s.slave_open[slave] = NONE
    arbiter = s.rule_arbiter[rule]
    s.arbiter_held[arbiter] = NONE
    fire(s, s.signal_arbiter + arbiter)
    return 0


@native
def find_rule(s: FastState, slave: int, header: int) -> int:
    for rule in range(slave * NUM_SLAVE_SLOTS, slave * NUM_SLAVE_SLOTS + NUM_SLAVE_SLOTS):
        if s.rule_on[rule] != 0 and ((header & PACKET_ID) ^ s.rule_id[rule]) & s.rule_mask[rule] == 0:
            return rule
    return NONE
