"""Hazards of DMA queues and descriptors: what the hardware does wrong silently when a program runs ahead of a DMA.

The reader of a program, be it operations or TXN words, tells `InFlight` about its pushes, waits and writes in order,
and is told of each hazard. What is not waited for may still be running, so a hazard is something that may happen.

Facts: a channel's queue holds `TASK_QUEUE_DEPTH` tasks and drops a push when it is full (AM020). A channel runs its
tasks in order. A task may issue a token when it is done; a wait takes the oldest token of its channel. The DMA reads
a descriptor when it comes to it, so that one which is rewritten before its task is done is used half old, half new.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from .architecture import TASK_QUEUE_DEPTH
from .bd import BD_LAYOUTS
from .dma_registers import (
    ChannelId,
    ChannelRegister,
    ChannelRegisterRole,
    DescriptorWord,
    descriptors_between,
    dma_register,
    tile_name,
)
from .enums import DmaDirection, TileType
from .layout import WORD_BYTES, WORD_MASK, Field
from .model import DeviceModel, TileId
from .registers import ChannelControl, ChannelStatus

O = TypeVar("O", bound=Hashable)  # where something stands in the program that is read

BdName: TypeAlias = Hashable
"""A number, or whatever stands for one that is chosen at run time."""
PATCHED_WORDS = 2  # an address patch, and an update from the scratchpad, change the low and the high part
QUEUE_SIZE, RUNNING = ChannelStatus.task_queue_size, ChannelStatus.channel_running


@dataclass(frozen=True)
class HazardRule:
    """A hazard: what it is called, what is said about it, and how a program avoids it."""

    name: str
    text: str
    task_note: str
    remedy: str


QUEUE_OVERFLOW = HazardRule(
    "queue-overflow",
    "push of {bd} on {channel} may be dropped: its queue may hold {count} tasks already, none of them awaited",
    "the oldest of them{task} is pushed here",
    "await one of these tasks before this push, or move some of them to another channel",
)
DESCRIPTOR_IN_FLIGHT = HazardRule(
    "descriptor-in-flight",
    "{bd} of {tile} may be rewritten while a task on {channel} still uses it",
    "the task is pushed here, and nothing waits for it in between",
    "await that task before this write, or use another descriptor",
)
NO_TOKEN = "; so far there is no token to wait for (issue_token)"
PACED = "this waits for something else; that the task is done by then is up to the design"


MAX_TOKENS = 16
"""Tokens of one channel that are followed. Programs that poll for room and rarely wait may have any number of them."""


@dataclass(frozen=True)
class QueuedTask(Generic[O]):
    """A task that was pushed and may not be done."""

    origin: O
    descriptors: frozenset[BdName] = frozenset()
    """Those it uses, as far as they are known."""
    issues_token: bool = True
    paced_by: O | None = None
    """A wait for something else that came after the push."""
    has_left_queue: bool = False
    """Whether it is running at least: it takes no place in the queue then. Of those that left it the last may run; the
    others are done and are kept for their tokens, which waits take first."""


@dataclass(frozen=True)
class Hazard(Generic[O]):
    """Something that may go wrong at `origin`, because of tasks that may not be done, the oldest first."""

    rule: HazardRule
    channel: ChannelId
    origin: O
    bd: str
    tasks: tuple[QueuedTask[O], ...]

    @property
    def paced_by(self) -> O | None:
        """A wait for something else in between, which makes it likely that all is well."""
        return self.tasks[0].paced_by

    def text(self, model: DeviceModel) -> str:
        channel, tile = self.channel.name(model), tile_name(model, self.channel.tile)
        if self.rule is DESCRIPTOR_IN_FLIGHT:
            channel = self.channel.short_name
        return self.rule.text.format(bd=self.bd, channel=channel, tile=tile, count=len(self.tasks))

    def notes(self) -> Iterator[tuple[O, str]]:
        """What to add, and where."""
        oldest = self.tasks[0]
        names = [bd for bd in oldest.descriptors if isinstance(bd, int)]
        task = f", {bd_text(names[0])}," if len(names) == len(oldest.descriptors) == 1 else ""
        yield oldest.origin, self.rule.task_note.format(task=task)
        if self.paced_by is not None:
            yield self.paced_by, PACED
        has_token = any(task.issues_token for task in self.tasks)
        yield self.origin, self.rule.remedy + ("" if has_token else NO_TOKEN)


@dataclass
class Finding(Generic[O]):
    """The first hazard of its kind on a channel, and how many places there are like it."""

    hazard: Hazard[O]
    places: int = 1

    @property
    def is_likely(self) -> bool:
        """Whether nothing at all paces the program."""
        return self.hazard.paced_by is None

    def notes(self) -> Iterator[tuple[O, str]]:
        yield from self.hazard.notes()
        if (others := self.places - 1) > 0:
            what = "is 1 more place" if others == 1 else f"are {others} more places"
            yield self.hazard.origin, f"there {what} like this one on this channel"


def findings(hazards: Iterable[Hazard[O]]) -> list[Finding[O]]:
    """Hazards by rule and channel: programs that have one usually have many of its kind."""
    found: dict[Hashable, Finding[O]] = {}
    seen: set[Hashable] = set()
    for hazard in hazards:
        kind = hazard.rule, hazard.channel, hazard.paced_by is None
        if (kind, hazard.origin) in seen:  # a loop is gone through more than once
            continue
        seen.add((kind, hazard.origin))
        if kind in found:
            found[kind].places += 1
        else:
            found[kind] = Finding(hazard)
    return list(found.values())


def queue_has_room() -> tuple[int, int]:
    """What to poll a channel's status register for before a push: the bits to look at, and what they are then.

    The depth is a power of two, so that of all sizes up to it that of a full queue alone has its bit.
    """
    (mask,) = ChannelStatus.pack(task_queue_size=TASK_QUEUE_DEPTH)
    return mask, 0


def bd_text(bd: BdName | None) -> str:
    return f"BD {bd}" if isinstance(bd, int) else "a BD"


@dataclass
class InFlight(Generic[O]):
    """What may be going on at one point of a program. `QueuedTask` and `Hazard` say what the fields of it mean."""

    queues: dict[ChannelId, tuple[QueuedTask[O], ...]] = field(
        default_factory=dict[ChannelId, tuple[QueuedTask[O], ...]]
    )
    """By channel, the oldest task first."""
    following: dict[tuple[TileId, BdName], BdName] = field(default_factory=dict[tuple[TileId, BdName], BdName])
    """The descriptor that the DMA goes on to after another one."""

    def copy(self) -> InFlight[O]:
        return InFlight(dict(self.queues), dict(self.following))

    def push(self, channel: ChannelId, task: QueuedTask[O], bd: BdName | None) -> Hazard[O] | None:
        """Queue a task that starts with descriptor `bd`."""
        before = self.queues.get(channel, ())
        waiting = tuple(other for other in before if not other.has_left_queue)
        pushed = replace(task, descriptors=task.descriptors | self._chain(channel.tile, bd))
        if len(waiting) < TASK_QUEUE_DEPTH:
            self.queues[channel] = (*before, pushed)
            return None
        # What may be dropped is told once: from here on it is as if the push had waited for room, and as if the oldest
        # task used its descriptors no more.
        self._start(channel, before, TASK_QUEUE_DEPTH - 1, is_running=False)
        self.queues[channel] = (*self.queues.get(channel, ()), pushed)
        return Hazard(QUEUE_OVERFLOW, channel, task.origin, bd_text(bd), waiting)

    def _start(self, channel: ChannelId, tasks: tuple[QueuedTask[O], ...], queued: int, is_running: bool) -> None:
        """Let all tasks but the last `queued` leave the queue; they are done, except for the last if it is running."""
        first = max(len(tasks) - queued, 0)
        running = max(first - 1, 0) if is_running else first
        done = (_done(task) for task in tasks[:running] if task.issues_token)
        started = (replace(task, has_left_queue=True) for task in tasks[running:first])
        self._keep(channel, (*done, *started, *tasks[first:]))

    def _chain(self, tile: TileId, bd: BdName | None) -> frozenset[BdName]:
        chain, at = set[BdName](), bd
        while at is not None and at not in chain:  # descriptors may go round in a circle
            chain.add(at)
            at = self.following.get((tile, at))
        return frozenset(chain)

    def wait(self, channel: ChannelId, origin: O) -> None:
        """Take the oldest token of a channel: the task that issued it is done, and those before it.

        A wait that no known task has a token for either never ends, or waits for what came after all of them.
        """
        waiting = self.queues.get(channel, ())
        # With so many tokens there may be more than were kept, so that a wait says nothing.
        if sum(task.has_left_queue for task in waiting) < MAX_TOKENS:
            done = next((number + 1 for number, task in enumerate(waiting) if task.issues_token), len(waiting))
            self._keep(channel, waiting[done:])
        self.pace(origin, channel)

    def wait_room(self, channel: ChannelId, origin: O, queued: int = 0, is_running: bool = False) -> None:
        """All tasks of a channel are done, but the last `queued` of them and, where one runs, that before them."""
        self._start(channel, self.queues.get(channel, ()), queued, is_running)
        self.pace(origin, channel)

    def reset(self, channel: ChannelId) -> None:
        """Forget the tasks of a channel."""
        self._keep(channel, ())

    def pace(self, origin: O, channel: ChannelId | None = None) -> None:
        """Note a wait that says nothing about the tasks of channels other than `channel`."""
        for other, tasks in self.queues.items():
            # the first wait after a push counts, and the last task is paced after those before it
            if other != channel and tasks[-1].paced_by is None:
                self.queues[other] = tuple(_paced(task, origin) for task in tasks)

    def _keep(self, channel: ChannelId, tasks: tuple[QueuedTask[O], ...]) -> None:
        left = sum(task.has_left_queue for task in tasks)
        if kept := tasks[max(left - MAX_TOKENS, 0) :]:
            self.queues[channel] = kept
        else:
            self.queues.pop(channel, None)

    def write(self, tile: TileId, bds: frozenset[BdName], origin: O) -> Iterator[Hazard[O]]:
        """Write some word of a descriptor, of whose names all in `bds` are possible."""
        for channel, tasks in list(self.queues.items()):
            if channel.tile != tile:
                continue
            users = [task for task in tasks if not bds.isdisjoint(task.descriptors)]
            if not users:
                continue
            name = next(iter(bds & users[0].descriptors))
            yield Hazard(DESCRIPTOR_IN_FLIGHT, channel, origin, bd_text(name), (users[0],))
            # It is told once: what follows is about the descriptor as it is now.
            self.queues[channel] = tuple(replace(task, descriptors=task.descriptors - bds) for task in tasks)

    def link(self, tile: TileId, bd: BdName, following: BdName | None) -> None:
        """Have the DMA go on to another descriptor after `bd`, or to none."""
        if following is None:
            self.following.pop((tile, bd), None)
        else:
            self.following[tile, bd] = following

    def join(self, other: InFlight[O]) -> InFlight[O]:
        """What may be going on where two ways through a program meet."""
        queues = {
            channel: _joined(self.queues.get(channel, ()), other.queues.get(channel, ()))
            for channel in self.queues | other.queues
        }
        return InFlight(queues, self.following | other.following)

    def renamed(self, rename: Callable[[BdName], BdName]) -> InFlight[O]:
        """The same with other names for descriptors."""
        queues = {
            channel: tuple(replace(task, descriptors=frozenset(map(rename, task.descriptors))) for task in tasks)
            for channel, tasks in self.queues.items()
        }
        following = {(tile, rename(bd)): rename(after) for (tile, bd), after in self.following.items()}
        return InFlight(queues, following)

    def key(self) -> Hashable:
        """Equal for equal states."""
        return frozenset(self.queues.items()), frozenset(self.following.items())


def _done(task: QueuedTask[O]) -> QueuedTask[O]:
    return replace(task, descriptors=frozenset[BdName](), has_left_queue=True)


def _paced(task: QueuedTask[O], origin: O) -> QueuedTask[O]:
    return task if task.paced_by is not None else replace(task, paced_by=origin)


def _joined(first: tuple[QueuedTask[O], ...], second: tuple[QueuedTask[O], ...]) -> tuple[QueuedTask[O], ...]:
    """The longer of two queues; tasks that are equally far from the end may be either."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    kept = len(longer) - len(shorter)
    return (*longer[:kept], *(_either(a, b) for a, b in zip(longer[kept:], shorter, strict=True)))


def _either(first: QueuedTask[O], second: QueuedTask[O]) -> QueuedTask[O]:
    """Where only one of two tasks issues a token, a wait for it takes a later token, and so the task is done, too."""
    if first == second:
        return first
    paced_by = first.paced_by if second.paced_by is not None else None
    tokens = first.issues_token or second.issues_token
    left = first.has_left_queue and second.has_left_queue
    return QueuedTask(first.origin, first.descriptors | second.descriptors, tokens, paced_by, left)


class Bits(NamedTuple):
    """A word of which the bits in `known` are known."""

    value: int
    known: int = WORD_MASK

    def get(self, field: Field) -> int | None:
        return (self.value & field.mask) >> field.lo if self.known & field.mask == field.mask else None


def most_queued(polled: Bits) -> int | None:
    """The longest queue that a poll of a channel's status lets pass; None where it lets all, or none."""
    bits = polled.known & QUEUE_SIZE.mask
    sizes = [s for s in range(TASK_QUEUE_DEPTH + 1) if (s << QUEUE_SIZE.lo) & bits == polled.value & bits]
    return sizes[-1] if sizes and sizes[-1] < TASK_QUEUE_DEPTH else None


class HazardReader(Generic[O]):
    """Follows a program through the registers that it writes and waits for."""

    def __init__(self, model: DeviceModel):
        self.model, self.state = model, InFlight[O]()

    def write(self, origin: O, address: int, word: Bits, names: frozenset[BdName] = frozenset()) -> Iterator[Hazard[O]]:
        """Write a register. Where it starts a task whose descriptor is not known, `names` are what that may be."""
        match dma_register(self.model, address):
            case ChannelRegister(channel, ChannelRegisterRole.QUEUE):
                queue = self.model.registers(*channel.tile).queue
                issues_token = word.get(queue.enable_token_issue) != 0  # where it is not known, it may
                bd = word.get(queue.start_bd_id)
                yield from self.push(origin, channel, names if bd is None else frozenset({bd}), issues_token)
            case ChannelRegister(channel, ChannelRegisterRole.CONTROL) if self._resets(channel, word):
                self.state.reset(channel)
            case DescriptorWord() as found:
                yield from self.touch(origin, [found])
                self._link(found, word)
            case _:
                pass

    def write_block(self, origin: O, address: int, words: Sequence[int]) -> Iterator[Hazard[O]]:
        """Write consecutive registers."""
        found = [*descriptors_between(self.model, address, address + WORD_BYTES * len(words))]
        yield from self.touch(origin, found)
        for word in found:
            if word.word == next_bd_fields(self.model.tile_type(*word.tile))[0].word:
                at = self.model.bd_address(*word.tile, word.bd) + WORD_BYTES * word.word
                self._link(word, Bits(words[(at - address) // WORD_BYTES] & WORD_MASK))
        for index, value in enumerate(words) if not found else ():
            at = address + WORD_BYTES * index
            if isinstance(dma_register(self.model, at), ChannelRegister):
                yield from self.write(origin, at, Bits(value & WORD_MASK))

    def patch(self, origin: O, address: int) -> Iterator[Hazard[O]]:
        """Put another address into a descriptor."""
        end = address + WORD_BYTES * PATCHED_WORDS
        return self.touch(origin, descriptors_between(self.model, address, end))

    def touch(self, origin: O, words: Iterable[DescriptorWord]) -> Iterator[Hazard[O]]:
        """Change descriptors."""
        for tile, bd in dict.fromkeys((word.tile, word.bd) for word in words):
            yield from self.state.write(tile, frozenset({bd}), origin)

    def push(
        self,
        origin: O,
        channel: ChannelId,
        first: frozenset[BdName],
        issues_token: bool,
        others: frozenset[BdName] = frozenset(),
    ) -> Iterator[Hazard[O]]:
        """Queue a task that starts with a descriptor, of whose names several are possible, and uses others."""
        (bd,) = first if len(first) == 1 else (None,)
        hazard = self.state.push(channel, QueuedTask(origin, first | others, issues_token), bd)
        if hazard is not None:
            yield hazard

    def poll(self, origin: O, address: int, value: int, mask: int) -> None:
        """Wait until a channel has few tasks left in its queue, and maybe does not run; or for something else."""
        polled = Bits(value, mask)
        match dma_register(self.model, address):
            case ChannelRegister(channel, ChannelRegisterRole.STATUS) if (most := most_queued(polled)) is not None:
                self.state.wait_room(channel, origin, most, is_running=most > 0 or polled.get(RUNNING) != 0)
            case _:
                self.state.pace(origin)

    def wait(
        self, origin: O, *, column: int, row: int, direction: int, channel: int, columns: int = 1, rows: int = 1
    ) -> None:
        """Wait for a token of the same channel in one tile, or in all of a rectangle."""
        for x in range(column, min(column + max(columns, 1), self.model.columns)):
            for y in range(row, min(row + max(rows, 1), self.model.rows)):
                if direction in tuple(DmaDirection):  # words can say anything
                    self.state.wait(ChannelId(TileId(x, y), DmaDirection(direction), channel), origin)

    def forget(self) -> None:
        """Another image of the whole device is loaded."""
        self.state = InFlight[O]()

    def _link(self, word: DescriptorWord, bits: Bits) -> None:
        """Note where the DMA goes on to, if that is what the word says."""
        next_bd, use_next = next_bd_fields(self.model.tile_type(*word.tile))
        if word.word == next_bd.word and (has_next := bits.get(use_next)) is not None:
            self.state.link(word.tile, word.bd, bits.get(next_bd) if has_next else None)

    def _resets(self, channel: ChannelId, word: Bits) -> bool:
        control = self.model.registers(*channel.tile).channel_control
        return issubclass(control, ChannelControl) and word.get(control.reset) == 1


@cache
def next_bd_fields(tile_type: TileType) -> tuple[Field, Field]:
    """The number of the next descriptor in a descriptor, and whether there is one; both are in the same word."""
    fields = BD_LAYOUTS[tile_type].fields
    return fields["next_bd"], fields["use_next_bd"]
