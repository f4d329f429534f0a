"""The loop that lets one part after the other act, until Python is needed."""

from __future__ import annotations

from tilewright.native.compiled_python import call_address, load64
from tilewright.native.coroutine import FINISHED, FIRST_WAIT, IDLE, PAUSED
from tilewright.native.lowering import CODE, CYCLES
from tilewright.native.shared_state import NUMBER_BYTES
from tilewright.sim.fast.agenda import marked_now, next_part, record, schedule, wait_for
from tilewright.sim.fast.channels import MOVING_ON, is_in_range, set_lock, step_channel
from tilewright.sim.fast.jobs import await_all, await_core, await_memory, give_job
from tilewright.sim.fast.state import (
    CALLS,
    LATER,
    NONE,
    CoreStep,
    Exit,
    FastState,
    StopKind,
    TurnKind,
    WaitKind,
    native,
)
from tilewright.sim.fast.streams import step_stream
from tilewright.sim.trace import TraceEvent

BREATH = 1 << 18
"""Events after which Python gets a chance to look around."""


@native
def step_core(s: FastState, part: int) -> int:
    core = s.part_index[part]
    while True:
        step = s.core_step[core]
        code: int = MOVING_ON
        if step == CoreStep.START:
            return Exit.START
        if step == CoreStep.RESUME:
            if s.pending != 0:
                await_core(s, core)
                await_memory(s, s.core_low[core], s.core_high[core])
            call_address(s.core_resume[core], s.core_handle[core])
            code = after_stop(s, part, core)
        elif step == CoreStep.SERVED:
            record(s, TraceEvent.GO, part, load64(s.core_context[core] + CODE) - FIRST_WAIT, 0)
            s.core_step[core] = CoreStep.RESUME
        elif step == CoreStep.STOPPED:
            code = after_stop(s, part, core)
        elif step == CoreStep.DISPATCH:
            code = dispatch(s, part, core)
        elif step == CoreStep.ACQUIRE:
            code = acquire_for_core(s, part, core)
        if code != MOVING_ON:
            return code


@native
def after_stop(s: FastState, part: int, core: int) -> int:
    """The program has stopped: let the cycles pass that it took."""
    context = s.core_context[core]
    code = load64(context + CODE)
    cycles = load64(context + CYCLES)
    s.core_step[core] = CoreStep.DISPATCH
    if code < 0:
        s.exit_value = code
        return Exit.TRAP
    if code == PAUSED:
        s.part_looks[part] = 1
        schedule(s, part, s.now + cycles)
        return Exit.GO_ON
    if cycles != 0:
        schedule(s, part, s.now + cycles)
        return Exit.GO_ON
    return MOVING_ON


@native
def dispatch(s: FastState, part: int, core: int) -> int:
    """Do what the program stopped for."""
    code = load64(s.core_context[core] + CODE)
    if code == FINISHED:
        s.core_step[core] = CoreStep.FINISHED
        record(s, TraceEvent.CORE_END, part, 0, 0)
        return Exit.CORE_DONE
    if code == IDLE:
        s.core_step[core] = CoreStep.IDLE
        s.part_wait[part] = WaitKind.LOOP
        return Exit.GO_ON
    s.core_step[core] = CoreStep.RESUME
    if code == PAUSED:
        return MOVING_ON
    stop = s.core_stops[core] + code - FIRST_WAIT
    if s.stop_kind[stop] == StopKind.SERVICE:
        return serve_core(s, part, core, code)
    if s.stop_kind[stop] == StopKind.RELEASE:
        return release_for_core(s, core, stop)
    s.core_waited[core] = 0
    s.core_step[core] = CoreStep.ACQUIRE
    return MOVING_ON


@native
def serve_core(s: FastState, part: int, core: int, code: int) -> int:
    """Call a native kernel with arguments that it was called with before; the rest is for Python."""
    stop = s.core_stops[core] + code - FIRST_WAIT
    call = find_call(s, core, stop)
    if call == NONE:
        s.exit_value = code
        return Exit.SERVE
    record(s, TraceEvent.WAIT, part, code - FIRST_WAIT, 0)
    if s.workers != 0:
        give_job(s, core, call)
    else:
        call_address(s.call_function[call], s.call_argument[call])
    s.core_step[core] = CoreStep.SERVED
    if s.call_cycles[call] == 0:
        return MOVING_ON
    schedule(s, part, s.now + s.call_cycles[call])
    return Exit.GO_ON


@native
def find_call(s: FastState, core: int, stop: int) -> int:
    passed = s.core_context[core] + s.stop_passed[stop]
    for call in range(stop * CALLS, stop * CALLS + min(s.stop_calls[stop], CALLS)):
        number = 0
        while number < s.stop_numbers[stop] and load64(passed + NUMBER_BYTES * number) == load64(
            s.call_passed[call] + NUMBER_BYTES * number
        ):
            number += 1
        if number == s.stop_numbers[stop]:
            return call
    return NONE


@native
def release_for_core(s: FastState, core: int, stop: int) -> int:
    lock = s.stop_lock[stop]
    value = s.lock_value[lock] + load64(s.core_context[core] + s.stop_slot[stop])
    if not is_in_range(s, value):
        s.exit_value = lock
        return Exit.LOCK_RANGE
    set_lock(s, lock, value)
    return MOVING_ON


@native
def acquire_for_core(s: FastState, part: int, core: int) -> int:
    stop = s.core_stops[core] + load64(s.core_context[core] + CODE) - FIRST_WAIT
    lock = s.stop_lock[stop]
    amount = load64(s.core_context[core] + s.stop_slot[stop])
    has = s.lock_value[lock]
    takes = s.stop_kind[stop] == StopKind.ACQUIRE_AT_LEAST
    is_granted = (takes and has >= amount) or (not takes and has == amount)
    if not is_granted:
        if s.core_waited[core] == 0:
            s.core_waited[core] = 1
            record(s, TraceEvent.LOCK_WAIT, part, lock, 0)
        wait_for(s, part, lock, WaitKind.LOCK)
        return Exit.GO_ON
    if takes:
        if not is_in_range(s, has - amount):
            s.exit_value = lock
            return Exit.LOCK_RANGE
        set_lock(s, lock, has - amount)
    if s.core_waited[core] != 0:
        record(s, TraceEvent.LOCK_GO, part, lock, 0)
    s.core_step[core] = CoreStep.RESUME
    schedule(s, part, s.now + s.lock_cycles)
    return Exit.GO_ON


@native
def act(s: FastState, part: int) -> int:
    """Let a part have its turn."""
    kind = s.part_kind[part]
    s.exit_part = part
    if kind == TurnKind.STREAM:
        return step_stream(s, part)
    if kind == TurnKind.CHANNEL:
        return step_channel(s, part)
    if kind == TurnKind.CORE:
        return step_core(s, part)
    if kind == TurnKind.PYTHON:
        return Exit.STEP
    return Exit.GO_ON


@native.entry
def go(s: FastState, first: int) -> int:
    """Let `first` go on, unless it is NONE, then all others in turn; gives why it stopped: an `Exit`."""
    code = give_turns(s, first)
    # Python may look at all memory.
    await_all(s)
    return code


@native
def give_turns(s: FastState, first: int) -> int:
    if first != NONE:
        code = act(s, first)
        if code != Exit.GO_ON:
            return code
    while True:
        if s.looks > s.patience:
            return Exit.STUCK
        if s.trace_count >= s.trace_limit:
            return Exit.TRACE
        if s.events >= s.breath:
            # So that Ctrl-C and progress reports get through while only native code runs.
            s.breath = s.events + BREATH
            return Exit.BREATHE
        part = next_part(s)
        if part == NONE:
            return Exit.STUCK
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


@native.entry
def finish_cycle(s: FastState, first: int) -> int:
    """`go`, but only for those who have a turn in this cycle."""
    code: int = Exit.GO_ON
    if first != NONE:
        code = act(s, first)
    while code == Exit.GO_ON:
        part = marked_now(s)
        if part == NONE:
            await_all(s)
            return Exit.STUCK
        if s.part_due[part] == s.now:
            s.part_due[part] = NONE
            code = act(s, part)
    await_all(s)
    return code
