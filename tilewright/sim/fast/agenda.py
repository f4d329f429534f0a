"""The agenda: the engine's queue of turns and its signals, for parts by their number."""

from __future__ import annotations

from tilewright.native.compiled_python import lowest_bit, rotated_right
from tilewright.sim.fast.state import (
    FAR,
    LATER,
    MASKS,
    NONE,
    ROW,
    WHEEL,
    WORD_BITS,
    FastState,
    TurnKind,
    WaitKind,
    native,
)


@native.entry
def schedule(s: FastState, part: int, at: int) -> int:
    """Give a part its turn in a cycle that is not over."""
    s.part_due[part] = at
    # The wheel has a slot for each of the next cycles; most turns are in the next one.
    if at - s.now < WHEEL:
        mark(s, part, at)
    else:
        push_far(s, part, at)
    return 0


@native
def mark(s: FastState, part: int, at: int) -> int:
    slot = at & MASKS
    word = part // WORD_BITS
    s.wheel[slot * s.wheel_words + word] |= 1 << (part & (WORD_BITS - 1))
    s.summary[slot * s.summary_words + word // WORD_BITS] |= 1 << (word & (WORD_BITS - 1))
    s.slots |= 1 << slot
    return 0


@native
def push_far(s: FastState, part: int, at: int) -> int:
    """A heap by time."""
    if s.far_count == FAR:
        drop_stale(s)
    return sift_in(s, part, at)


@native
def sift_in(s: FastState, part: int, at: int) -> int:
    hole = s.far_count
    s.far_count += 1
    while hole > 0 and s.far_time[(hole - 1) // 2] > at:
        up = (hole - 1) // 2
        s.far_time[hole] = s.far_time[up]
        s.far_part[hole] = s.far_part[up]
        hole = up
    s.far_time[hole] = at
    s.far_part[hole] = part
    return 0


@native
def drop_stale(s: FastState) -> int:
    """Keep only the turns in the heap that parts still have, each once."""
    count = s.far_count
    s.far_count = 0
    for entry in range(count):
        part = s.far_part[entry]
        at = s.far_time[entry]
        # A part that was given another turn since is in the heap with a stale one.
        if s.part_due[part] == at:
            s.part_due[part] = NONE
            sift_in(s, part, at)
    for entry in range(s.far_count):
        s.part_due[s.far_part[entry]] = s.far_time[entry]
    return 0


@native
def pop_far(s: FastState) -> int:
    """Take out the part whose time comes first."""
    found = s.far_part[0]
    s.far_count -= 1
    last = s.far_count
    at = s.far_time[last]
    hole = 0
    while 2 * hole + 1 < last:
        down = 2 * hole + 1
        if down + 1 < last and s.far_time[down + 1] < s.far_time[down]:
            down += 1
        if s.far_time[down] >= at:
            break
        s.far_time[hole] = s.far_time[down]
        s.far_part[hole] = s.far_part[down]
        hole = down
    s.far_time[hole] = at
    s.far_part[hole] = s.far_part[last]
    return found


@native
def marked_now(s: FastState) -> int:
    """The first part that has a mark in this cycle, which is taken away; NONE if there is none."""
    slot = s.now & MASKS
    for group in range(s.summary_words):
        words = s.summary[slot * s.summary_words + group]
        if words != 0:
            word = group * WORD_BITS + lowest_bit(words)
            bits = s.wheel[slot * s.wheel_words + word]
            # Clears the lowest bit: the part with the lowest number has the first turn, as in the plain model.
            left = bits & (bits - 1)
            s.wheel[slot * s.wheel_words + word] = left
            if left == 0:
                s.summary[slot * s.summary_words + group] = words & (words - 1)
            return word * WORD_BITS + lowest_bit(bits)
    s.slots &= ~(1 << slot)
    return NONE


@native
def advance(s: FastState) -> int:
    """Go on to the next cycle in which a part acts; NONE if there is none, LATER if it is after the last one."""
    at = NONE
    if s.slots != 0:
        # the slot of this cycle, which is empty, comes last of all
        at = s.now + 1 + lowest_bit(rotated_right(s.slots, (s.now + 1) & MASKS))
    if s.far_count > 0 and (at == NONE or s.far_time[0] < at):
        at = s.far_time[0]
    if at == NONE:
        return NONE
    if at > s.last:
        s.now = max(s.now, s.last)
        return LATER
    s.now = at
    while s.far_count > 0 and s.far_time[0] == at:
        mark(s, pop_far(s), at)
    return 0


@native
def next_part(s: FastState) -> int:
    """The part whose turn it is; NONE if none will ever act again, LATER if none does before the last cycle is over."""
    while True:
        part = marked_now(s)
        if part == NONE:
            found = advance(s)
            if found < 0:
                return found
        # A mark whose part is due at another cycle is stale: taking marks back would cost more.
        elif s.part_due[part] == s.now:
            s.part_due[part] = NONE
            return part


@native.entry
def wait_for(s: FastState, part: int, signal: int, why: int) -> int:
    """Let a part have its turn when a signal is fired."""
    # A part waits for one signal at a time.
    if s.part_signal[part] != NONE:
        unschedule(s, part)
    s.part_wait[part] = why
    s.part_signal[part] = signal
    s.part_next[part] = s.signal_first[signal]
    s.signal_first[signal] = part
    return 0


@native.entry
def fire(s: FastState, signal: int) -> int:
    """Give all who wait for a signal their turn in this cycle."""
    part = s.signal_first[signal]
    s.signal_first[signal] = NONE
    while part != NONE:
        following = s.part_next[part]
        s.part_wait[part] = WaitKind.NOTHING
        s.part_signal[part] = NONE
        schedule(s, part, s.now)
        part = following
    return 0


@native.entry
def forget(s: FastState, part: int) -> int:
    """Take a part out of everything."""
    s.part_kind[part] = TurnKind.UNUSED
    s.part_looks[part] = 0
    return unschedule(s, part)


@native
def unschedule(s: FastState, part: int) -> int:
    """Let a part have no turn, and wait for nothing."""
    s.part_due[part] = NONE
    signal = s.part_signal[part]
    if signal != NONE:
        if s.signal_first[signal] == part:
            s.signal_first[signal] = s.part_next[part]
        else:
            other = s.signal_first[signal]
            while other != NONE and s.part_next[other] != part:
                other = s.part_next[other]
            if other != NONE:
                s.part_next[other] = s.part_next[part]
    s.part_signal[part] = NONE
    s.part_wait[part] = WaitKind.NOTHING
    return 0


@native.entry
def record(s: FastState, event: int, part: int, a: int, b: int) -> int:
    """Write down a row of the trace; there is always room for what one turn writes."""
    record_at(s, s.now, event, part, a)
    s.trace_rows[s.trace_count * ROW - 1] = b
    return 0


@native
def record_at(s: FastState, time: int, event: int, part: int, a: int) -> int:
    """Write down a row about a cycle that may be ahead."""
    at = s.trace_count * ROW
    s.trace_rows[at] = time
    s.trace_rows[at + 1] = event
    s.trace_rows[at + 2] = part
    s.trace_rows[at + 3] = a
    s.trace_rows[at + 4] = 0
    s.trace_count += 1
    return 0
