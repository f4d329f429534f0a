"""Random sequences of DMA tasks in nests of loops and branches with runtime bounds, each beside what it should copy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random

PIECE = 16
"""Words that one task moves; the buffers of the memory tile have as many."""
PLACES = 24
WORDS = PIECE * PLACES
MOST_TURNS = 21
"""More than a shim tile has descriptors, so that each turn has to give its own back."""

DEVICE = """
aie.device({device}) {{
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {{%mem}}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {{%shim}}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @run(%a: memref<{words}xi32>, %b: memref<{words}xi32>, {scalars}) {{
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %piece = arith.constant {piece} : index
    %places = arith.constant {places} : index
    %none = arith.constant 0 : i32
    %once = arith.constant 1 : i32
{body}
  }}
}}
"""


class Step(ABC):
    """Something that a sequence does."""

    @abstractmethod
    def lines(self, names: Names, loops: list[str]) -> Iterator[str]:
        """Its text; `loops` are the variables of the loops around it."""

    @abstractmethod
    def places(self, scalars: Mapping[str, int], turns: list[int]) -> Iterator[int]:
        """The places that it copies, given the scalars and the turns of the loops around it."""


@dataclass
class Names:
    """New names of values."""

    count: int = 0

    def new(self, stem: str) -> str:
        self.count += 1
        return f"%{stem}{self.count}"


@dataclass(frozen=True)
class Copy(Step):
    """A task that sends a piece and one that receives it; `ending` is how both are given up."""

    first: int
    strides: tuple[int, ...]
    """Places that one turn of each loop around it, from the outermost on, goes further."""
    parts: int
    """Descriptors in the chain that sends."""
    ending: str

    def place(self, turns: list[int]) -> int:
        return (self.first + sum(s * t for s, t in zip(self.strides, turns, strict=False))) % PLACES

    def places(self, scalars: Mapping[str, int], turns: list[int]) -> Iterator[int]:
        yield self.place(turns)

    def offset(self, names: Names, loops: list[str]) -> Iterator[str]:
        """Lines that compute where its words begin; the last one defines it."""
        total, first = names.new("place"), names.new("first")
        yield f"{first} = arith.constant {self.first} : index"
        yield f"{total} = arith.addi {first}, %zero : index"
        for stride, loop in zip(self.strides, loops, strict=False):
            factor, far, more = names.new("stride"), names.new("far"), names.new("place")
            yield f"{factor} = arith.constant {stride} : index"
            yield f"{far} = arith.muli {loop}, {factor} : index"
            yield f"{more} = arith.addi {total}, {far} : index"
            total = more
        within = names.new("within")
        yield f"{within} = arith.remui {total}, %places : index"
        words = names.new("words")
        yield f"{words} = arith.muli {within}, %piece : index"
        yield f"{names.new('offset')} = arith.index_cast {words} : index to i32"

    def begin(self, names: Names, loops: list[str]) -> tuple[list[str], str, str]:
        """Both tasks, started; with their names."""
        lines = list(self.offset(names, loops))
        offset, sent, received = lines[-1].split()[0], names.new("sent"), names.new("received")
        token = " {issue_token = true}" if self.ending == "await both" else ""
        lines.append(f"{sent} = aiex.dma_configure_task_for @in {{")
        size = PIECE // self.parts
        starts = [offset]
        before = list[str]()
        for part in range(1, self.parts):
            step, start = names.new("step"), names.new("start")
            before += [f"{step} = arith.constant {part * size} : i32", f"{start} = arith.addi {offset}, {step} : i32"]
            starts.append(start)
        lines[-1:-1] = before
        for part, start in enumerate(starts):
            if part:
                lines.append(f"^part{part}:")
            lines.append(f"  aie.dma_bd(%a : memref<{WORDS}xi32> offset = {start} len = {size})")
            lines.append("  aie.end" if part == self.parts - 1 else f"  aie.next_bd ^part{part + 1}")
        lines.append(f"}}{token}")
        lines.append(f"{received} = aiex.dma_configure_task_for @out {{")
        lines.append(f"  aie.dma_bd(%b : memref<{WORDS}xi32> offset = {offset} len = {PIECE})")
        lines.append("  aie.end")
        lines.append("} {issue_token = true}")
        lines += [f"aiex.dma_start_task({sent})", f"aiex.dma_start_task({received})"]
        return lines, sent, received

    def lines(self, names: Names, loops: list[str]) -> Iterator[str]:
        lines, sent, received = self.begin(names, loops)
        yield from lines
        # Nothing ends the tasks; in a loop their descriptors come round again.
        if self.ending == "sync" and loops:
            yield "aiex.npu.sync(%none, %none, %none, %none, %once, %once) : i32, i32, i32, i32, i32, i32"
            return
        if self.ending == "await both":
            yield f"aiex.dma_await_task({sent})"
        if self.ending == "in branches":
            yield "scf.if %flag {"
            yield f"  aiex.dma_await_task({received})"
            yield "} else {"
            yield f"  aiex.dma_await_task({received})"
            yield "}"
        else:
            yield f"aiex.dma_await_task({received})"
        if self.ending == "free both":
            yield f"aiex.dma_free_task({received})"
        if self.ending != "await both":
            yield f"aiex.dma_free_task({sent})"


ENDINGS = "await received", "await both", "free both", "in branches", "sync"


@dataclass(frozen=True)
class Loop(Step):
    """Steps as often as a scalar says."""

    scalar: str
    body: list[Step]

    def lines(self, names: Names, loops: list[str]) -> Iterator[str]:
        turn = names.new("turn")
        yield f"scf.for {turn} = %zero to %{self.scalar} step %one {{"
        for step in self.body:
            yield from (f"  {line}" for line in step.lines(names, [*loops, turn]))
        yield "}"

    def places(self, scalars: Mapping[str, int], turns: list[int]) -> Iterator[int]:
        for turn in range(scalars[self.scalar]):
            for step in self.body:
                yield from step.places(scalars, [*turns, turn])


@dataclass(frozen=True)
class Branch(Step):
    """One of two lists of steps, by the flag."""

    then: list[Step]
    otherwise: list[Step]

    def lines(self, names: Names, loops: list[str]) -> Iterator[str]:
        yield "scf.if %flag {"
        for step in self.then:
            yield from (f"  {line}" for line in step.lines(names, loops))
        yield "} else {"
        for step in self.otherwise:
            yield from (f"  {line}" for line in step.lines(names, loops))
        yield "}"

    def places(self, scalars: Mapping[str, int], turns: list[int]) -> Iterator[int]:
        for step in self.then if scalars["flag"] else self.otherwise:
            yield from step.places(scalars, turns)


@dataclass(frozen=True)
class PingPong(Step):
    """A loop that awaits, in each turn, the task of the turn before; the last one is awaited after it."""

    scalar: str
    copy: Copy

    def lines(self, names: Names, loops: list[str]) -> Iterator[str]:
        begin, sent, received = self.copy.begin(names, [*loops, "%zero"])
        yield from begin
        yield f"aiex.dma_await_task({sent})"
        turn, before, last = names.new("turn"), names.new("before"), names.new("last")
        carried = f"iter_args({before} = {received}) -> (index)"
        yield f"{last} = scf.for {turn} = %one to %{self.scalar} step %one {carried} {{"
        lines, sent, received = self.copy.begin(names, [*loops, turn])
        yield from (f"  {line}" for line in lines)
        yield f"  aiex.dma_await_task({before})"
        yield f"  aiex.dma_await_task({sent})"
        yield f"  scf.yield {received} : index"
        yield "}"
        yield f"aiex.dma_await_task({last})"

    def places(self, scalars: Mapping[str, int], turns: list[int]) -> Iterator[int]:
        for turn in range(max(scalars[self.scalar], 1)):
            yield self.copy.place([*turns, turn])


@dataclass
class TaskNest:
    """The nest of a number."""

    seed: int
    steps: list[Step] = field(default_factory=list[Step])

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.scalars = [f"n{number}" for number in range(3)]
        self.device = self.random.choice(("npu1_1col", "npu2_1col"))
        self.steps = self._steps(depth=0)

    def _steps(self, depth: int) -> list[Step]:
        return [self._step(depth) for _ in range(self.random.randint(1, 2))]

    def _step(self, depth: int) -> Step:
        kinds = ["copy", "ping-pong", "loop", "branch"] if depth < 3 else ["copy"]
        match self.random.choice(kinds if depth else kinds[1:]):
            case "loop":
                return Loop(self.random.choice(self.scalars), self._steps(depth + 1))
            case "branch":
                return Branch(self._steps(depth + 1), self._steps(depth + 1))
            case "ping-pong":
                return PingPong(self.random.choice(self.scalars), replace(self._copy(), ending="await both"))
            case _:
                return self._copy()

    def _copy(self) -> Copy:
        strides = tuple(self.random.randrange(PLACES) for _ in range(4))
        return Copy(
            self.random.randrange(PLACES), strides, self.random.choice((1, 1, 2, 4)), self.random.choice(ENDINGS)
        )

    def text(self) -> str:
        names = Names()
        lines = [line for step in self.steps for line in step.lines(names, [])]
        scalars = ", ".join([*(f"%{name}: index" for name in self.scalars), "%flag: i1"])
        body = "\n".join(f"    {line}" for line in lines)
        sizes = {"words": WORDS, "piece": PIECE, "places": PLACES}
        return DEVICE.format(device=self.device, scalars=scalars, body=body, **sizes)

    def arguments(self, run: int) -> dict[str, int]:
        """Turns of the loops: first one of them long, then random ones."""
        found = {name: self.random.randint(0, 3) for name in self.scalars}
        found[self.scalars[run % len(self.scalars)]] = MOST_TURNS
        return found | {"flag": run % 2}

    def copied(self, scalars: Mapping[str, int]) -> list[int]:
        return [place for step in self.steps for place in step.places(scalars, [])]
