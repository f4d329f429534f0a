"""What a run leaves behind: tokens that nobody waited for, and transfers to or from the host that are not done."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from tilewright.device import DmaDirection
from tilewright.errors import MissingResultsWarning
from tilewright.ir.diagnostics import Where, place
from tilewright.sim.controller import Controller, TokenSource
from tilewright.sim.dma import Channel, Task
from tilewright.sim.faults import At, FaultKind, Level
from tilewright.sim.machine import Machine
from tilewright.support.tracebacks import user_stack_level

REMEDIES = {
    DmaDirection.S2MM: "wait for it before the sequence ends, so that all its words are there",
    DmaDirection.MM2S: "nobody has taken the rest: send only what is taken, or wait for it",
}


def report_left_over(machine: Machine, controller: Controller) -> None:
    """Say what the sequence should have waited for, or need not have asked for."""
    for source, count in controller.tokens.items():
        if count:
            _report_tokens(machine, controller, source, count)
    for tile in machine.shim_tiles():
        for channel in tile.channels.values():
            if is_unfinished(channel):
                _report_transfer(channel)
                _warn_of_missing_results(machine, channel)


def _report_tokens(machine: Machine, controller: Controller, source: TokenSource, count: int) -> None:
    tokens = "a token" if count == 1 else f"{count} tokens"
    text = f"nobody waited for {tokens} of {source}"
    first = controller.awaited[source]
    channel = machine.find_channel(source.tile, source.direction, source.channel)
    sent = channel.with_token[first : first + count] if channel else []
    notes: list[tuple[Where, str]] = [(task.location, "wait for this task, or issue no token") for task in sent]
    machine.judge.fault(FaultKind.LEFT_OVER, text, sent[0] if sent else controller, *notes)


def is_unfinished(channel: Channel) -> bool:
    """Whether a channel has tasks that should have ended. One that goes round for ever only waits for more."""
    if channel.is_idle or any(_goes_round(channel, task) for task in pending_tasks(channel)):
        return False
    transfer = channel.transfer
    if channel.direction is DmaDirection.S2MM or channel.queue or channel.to_load or transfer is None:
        return True
    return channel.moved < channel.tile.descriptor(transfer.bd).length


def pending_tasks(channel: Channel) -> Iterator[Task]:
    """What a channel has yet to finish, in order."""
    if channel.running is not None:
        yield channel.running
    yield from channel.queue


def _goes_round(channel: Channel, task: Task) -> bool:
    seen, at = set[int](), task.start_bd
    while at not in seen:
        seen.add(at)
        following = channel.tile.descriptor(at).next
        if following is None:
            return False
        at = following
    return True


def _report_transfer(channel: Channel) -> None:
    oldest, *others = pending_tasks(channel)
    more = f", and {len(others)} behind it" if others else ""
    at = At(oldest.location)
    text = f"the task that starts with BD {oldest.start_bd} on {channel} is not done at the end of the run{more}"
    notes: list[tuple[Where, str]] = []
    if channel.transfer is not None:
        moved = f"{channel.moved} of {channel.tile.descriptor(channel.transfer.bd).length} words"
        has_moved = "have come" if channel.direction is DmaDirection.S2MM else "are sent"
        notes.append((channel.transfer.location, f"it is at BD {channel.transfer.bd}, of which {moved} {has_moved}"))
    notes.append((oldest.location, REMEDIES[channel.direction]))
    channel.tile.judge.fault(FaultKind.LEFT_OVER, text, at, *notes)


def _warn_of_missing_results(machine: Machine, channel: Channel) -> None:
    """Say so where a program does not look at the notes: the array has what it had before."""
    if channel.direction is not DmaDirection.S2MM or machine.judge.level(FaultKind.LEFT_OVER) is not Level.NOTE:
        return
    oldest, *others = pending_tasks(channel)
    names = ", ".join(dict.fromkeys(name for task in (oldest, *others) for name in _arguments(machine, channel, task)))
    text = (
        f"{place(oldest.location)}results of argument {names or '(unknown)'} are missing: the sequence ended before "
        f"{channel} had written them, and did not wait for it; wait in the sequence (drain(..., wait=True), or "
        "aiex.dma_await_task or aiex.npu.dma_wait)"
    )
    warnings.warn(text, MissingResultsWarning, stacklevel=user_stack_level())


def _arguments(machine: Machine, channel: Channel, task: Task) -> Iterator[str]:
    """Names of the host buffers that the descriptors of a task are about."""
    at: int | None = task.start_bd
    while at is not None:
        descriptor = channel.tile.descriptor(at)
        if (buffer := machine.host.at(descriptor.base)) is not None:
            yield buffer.name
        at = descriptor.next
