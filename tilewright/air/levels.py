"""Levels of a program, under mlir-air's names: ranks, launches, segments and herds, each a decorator of its body.

A body is traced once and stands for all points of its iteration space. What it uses of the function around it is passed
to it: operations of these levels see nothing else.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.air.trace import OpenLevel, TileLanes, call_runtime, current, in_herd, is_tracing
from tilewright.device.gpu_targets import GPU_TARGETS, MOST_CLUSTERED
from tilewright.dialects import arith
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.levels import HerdOp, LaunchOp, RankOp, SegmentOp
from tilewright.dialects.gpu.ids import LaneIdOp
from tilewright.dialects.gpu.kernels import CLUSTER_SIZE, LEAST_BLOCKS
from tilewright.ir.traversal import all_operations
from tilewright.iron.builders.control import for_, if_
from tilewright.iron.builders.control import yield_ as end_body
from tilewright.iron.builders.handles import value_of
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue, as_index
from tilewright.iron.builders.types import is_integer, is_list
from tilewright.support.tracebacks import user_facing

if TYPE_CHECKING:
    from tilewright.air.tensors import BuiltLaunch, CompiledKernel, Declared, TensorProgram

Size = Any
"""A whole number of Python, or one of the program."""


def cdiv(size: Size, by: Size) -> Size:
    """`size / by`, rounded up: how many tiles of `by` elements cover `size` of them."""
    if is_integer(by) and by <= 0:
        refuse(f"cannot divide into parts of {by}", (None, "give a size above 0"))
    return -(-size // by) if is_integer(size) and is_integer(by) else (as_index(size) + (by - 1)) // by


class Scope:
    """Memory for `air.alloc`, of a `kind`: "shared" by the waves of the level `owner`, or "private" to each."""

    def __init__(self, kind: str, owner: LevelContext):
        self.kind, self.owner = kind, owner

    def __repr__(self) -> str:
        return f"<{self.owner.kind}.{self.kind}()>"


@user_facing
class LevelContext:
    """A level of the program and its iteration space; call it with the body, or decorate the body with it."""

    kind = ""
    operation: type[Hierarchy] = LaunchOp
    most_dimensions = 2

    def __init__(self, grid: Any = None, name: str | None = None):
        self.counts, self.tile_sizes = parse_grid(grid, self.kind)
        if len(self.counts) > self.most_dimensions:
            refuse(f"a {self.kind} has up to {self.most_dimensions} dimensions, not {len(self.counts)}")
        self.name = name
        self._location = user_location()
        self._has_body = False

    @property
    def grid(self) -> tuple[Size, ...]:
        """How many points there are in each dimension."""
        return self.counts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Trace the body; it takes a number for each dimension."""
        return self.body(body)

    def body(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Trace the body, as `@level.body` in mlir-air's programs."""
        current()  # there is a program to build in
        if self._has_body:
            self._refuse_body()
        self._has_body = True
        self._emit(body)
        return body

    def _refuse_body(self) -> NoReturn:
        refuse(f"this {self.kind} has a body already", (self._location, "it was made here; make another one"))

    def _emit(self, body: Callable[..., Any]) -> None:
        self._open(body, [as_index(count).ssa for count in self.counts])

    def _check(self, body: Callable[..., Any], numbers: int) -> None:
        """The body takes as many numbers as there are dimensions."""
        try:
            inspect.signature(body).bind(*range(numbers))
        except TypeError:
            takes = ", ".join(inspect.signature(body).parameters)
            points = f"{numbers} dimension{'s' * (numbers != 1)}"
            refuse(
                f"this {self.kind} has {points}, but its body takes ({takes})",
                (None, "a body takes the number of a point in each dimension"),
                at=self._location,
            )

    def _open(self, body: Callable[..., Any], extents: Sequence[SSAValue]) -> None:
        """Build the operation, trace the body in it, and pass to it what it uses."""
        self._check(body, len(extents))
        names = list(inspect.signature(body).parameters)
        fill_level(self, extents, self._location, lambda ids: body(*ids), names)

    def _entered(self, level: OpenLevel, ids: list[ScalarValue]) -> list[ScalarValue]:
        """Called when the body is about to be traced; gives the numbers for it."""
        return ids


def fill_level(
    level: LevelContext,
    extents: Sequence[SSAValue],
    location: Any,
    body: Callable[[list[ScalarValue]], Any],
    names: Sequence[str] = (),
) -> Operation:
    """An operation of a level whose body is what `body` builds."""
    trace = current()
    block = Block(arg_types=[INDEX] * (2 * len(extents)))
    for argument, name in zip(block.args, names, strict=False):
        argument.name_hint = name if name.strip("_") else None
    symbol: dict[str, Any] = {} if level.name is None else {"sym_name": level.name}
    op = build(level.operation, regions=[Region(block)], sizes=list(extents), loc=location, **symbol)
    assert block.last_op is not None, "the operation has ended its block"
    block.last_op.location = op.location
    opened = OpenLevel(level.kind, op, block)
    trace.levels.append(opened)
    try:
        with InsertionPoint.at_block_terminator(block):
            ids = [cast(ScalarValue, value_of(argument)) for argument in block.args[: len(extents)]]
            body(level._entered(opened, ids))
        for check in opened.checks:
            check()
    finally:
        trace.levels.pop()
    pass_captures(op, block)
    return op


def pass_captures(op: Hierarchy, block: Block) -> None:
    """Values from outside that a body uses become arguments of it; constants are made in it again."""
    inside = dict[SSAValue, SSAValue]()
    passed = list[SSAValue]()
    ops = all_operations(block)
    own = set(map(id, block.args))
    for inner in ops:
        own.update(map(id, inner.results))
        for region in inner.regions:
            for nested in region.blocks:
                own.update(map(id, nested.args))
    for inner in ops:
        for number, operand in enumerate(inner.operands):
            if id(operand) in own:
                continue
            if operand not in inside:
                inside[operand] = _inside(operand, block, passed)
            inner.operands[number] = inside[operand]
    op.set_kernel_operands(passed)


def _inside(value: SSAValue, block: Block, passed: list[SSAValue]) -> SSAValue:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp):
        copy = owner.clone()
        copy.location = owner.location
        InsertionPoint.at_block_begin(block).insert(copy)
        return copy.results[0]
    argument = block.insert_arg(value.type, len(block.args))
    argument.name_hint = value.name_hint
    passed.append(value)
    return argument


def _claimed() -> Declared:
    from tilewright.air.tensors import claimed  # it imports what traces

    return claimed()


AUTO = "auto"
"""A target: that of the backend."""


def checked_chip(chip: str | None) -> str | None:
    """A GPU that is known by such a name, or none."""
    if chip is not None and chip not in GPU_TARGETS:
        is_npu = chip.startswith("npu")
        refuse(
            f"{chip!r} is {'an NPU' if is_npu else 'unknown'}, and a launch here is for a GPU",
            (None, f'give "{AUTO}" for that of the backend, or one of {", ".join(GPU_TARGETS)}'),
        )
    return chip


MOST_RESIDENT = 32
"""Blocks that a multiprocessor takes at most."""


@user_facing
class LaunchContext(LevelContext):
    """A `grid` of blocks that run in any order, under a `name`; with `waves`, a herd of so many in each block.

    With `cluster`, so many neighbours of the first dimension run together and see each other's memory (NVIDIA, sm_90):
    the grid has a multiple of them there. With `least_blocks` so many blocks fit on a multiprocessor, as far as it is
    NVIDIA's compiler that decides it.

    Outside of functions under `@air.jit` it is a program over the tensors that were declared before it, by default for
    the chip `target`: `launch.compile()` makes a function of arrays of it.
    """

    kind, operation, most_dimensions = "launch", LaunchOp, 3

    def __init__(
        self,
        grid: Any = None,
        name: str | None = None,
        waves: int | None = None,
        cluster: int | None = None,
        least_blocks: int | None = None,
        target: str | None = None,
    ):
        super().__init__(1 if grid is None else grid, name)
        self.target, self._program = target, None
        self._declared = () if is_tracing() else _claimed()
        if cluster is not None and (not is_integer(cluster) or not 1 <= cluster <= MOST_CLUSTERED):
            refuse(f"a cluster has 1 to {MOST_CLUSTERED} blocks, not {cluster!r}")
        if least_blocks is not None and (not is_integer(least_blocks) or not 1 <= least_blocks <= MOST_RESIDENT):
            refuse(f"a multiprocessor has 1 to {MOST_RESIDENT} blocks, not {least_blocks!r}")
        self.cluster, self.least_blocks = cluster, least_blocks
        self._has_grid = grid is not None
        if waves is not None and (not is_integer(waves) or waves < 1):
            refuse(f"a block has a known number of waves, not {waves!r}", (None, "such as `waves=4`"))
        self.waves = waves

    def shared(self) -> Scope:
        """Memory that the waves of a block share."""
        return Scope("shared", self)

    private = shared

    def body(self, body: Callable[..., Any]) -> Callable[..., Any]:
        """Trace the body, as `@level.body` in mlir-air's programs; of a program over tensors, when it is compiled."""
        if not self._declared:
            return super().body(body)
        from tilewright.air.tensors import TensorProgram

        if self._program is not None:
            self._refuse_body()

        @wraps(body)
        def build() -> None:
            # without a grid of its own a launch is what its segments and herds are by themselves
            if self._has_grid or self.waves is not None:
                self._emit(body)
            else:
                self._check(body, 0)
                body()

        self._program = TensorProgram(self.name or "kernel", self._declared, build)
        return body

    def _over_tensors(self, kernels: Any = None) -> TensorProgram:
        if self._program is None:
            refuse(
                "this launch is no program by itself, which is one over tensors, with a body",
                (None, "declare `air.tensor(shape, dtype)` before the launch"),
                at=self._location,
            )
        from tilewright.air.extern_kernels import checked_kernels

        return replace(self._program, kernels=checked_kernels(kernels))

    @property
    def search_space(self) -> dict[str, int]:
        """The values of the symbols that were declared for it."""
        return self._over_tensors().search_space

    def mlir(
        self, target: str | None = None, kernels: Mapping[str, Callable[..., Any]] | None = None, **options: Any
    ) -> str:
        """What it becomes for the chip `target`, as text; `kernels` and `options` are as in `compile`."""
        return self._over_tensors(kernels).mlir(self._options(target, options))

    def build(
        self, target: str | None = None, kernels: Mapping[str, Callable[..., Any]] | None = None, **options: Any
    ) -> BuiltLaunch:
        """What it becomes for the chip `target`, the launch's own from then on, to be printed or compiled.

        `kernels` and `options` are as in `compile`.
        """
        from tilewright.air.tensors import BuiltLaunch

        built = BuiltLaunch(self._over_tensors(kernels), self._options(target, options))
        self.target = built.target
        return built

    def compile(
        self, target: str | None = None, kernels: Mapping[str, Callable[..., Any]] | None = None, **options: Any
    ) -> CompiledKernel:
        """A function of arrays, for the chip `target`, or by default ("auto") for that of the backend.

        `kernels` are functions that stand in for those of object files (`air.extern`), by name; `options` are those of
        `@air.jit`.
        """
        from tilewright.air.tensors import CompiledKernel

        return CompiledKernel(self._over_tensors(kernels), self._options(target, options))

    def _options(self, target: str | None, options: dict[str, Any]) -> dict[str, Any]:
        chip = target or options.get("chip") or self.target
        return {**options, "chip": None if chip == AUTO else checked_chip(chip)}

    def _emit(self, body: Callable[..., Any]) -> None:
        self._check(body, len(self.counts) if self._has_grid else 0)
        given: Callable[..., Any] = body if self._has_grid else lambda *_: body()
        names = list(inspect.signature(body).parameters)
        known = all(is_integer(count) for count in self.counts)
        if known and min(cast("Sequence[int]", self.counts), default=1) < 0:
            refuse(f"a launch has {self.counts} blocks", (None, "sizes are 0 or more"), at=self._location)
        extents = [as_index(count) for count in self.counts]

        def emit() -> None:
            fill_level(
                self, [extent.ssa for extent in extents], self._location, lambda ids: self._body(given, ids), names
            )

        if known and 0 not in self.counts:
            emit()
            return
        # a grid without blocks is no launch
        condition = extents[0] > 0
        for extent in extents[1:]:
            condition = condition & (extent > 0)
        with if_(condition, hasElse=False):
            emit()

    def _entered(self, level: OpenLevel, ids: list[ScalarValue]) -> list[ScalarValue]:
        if self.cluster is not None:
            level.op.attributes[CLUSTER_SIZE] = DenseArrayBase.from_list(i32, [self.cluster, 1, 1])
        if self.least_blocks is not None:
            level.op.attributes[LEAST_BLOCKS] = IntegerAttr(self.least_blocks, i32)
        return ids

    def _body(self, body: Callable[..., Any], ids: list[ScalarValue]) -> None:
        if self.waves is None:
            body(*ids)
            return
        inner = HerdContext(self.waves)
        inner.shares_tiles, inner._location = True, self._location
        fill_level(inner, [as_index(self.waves).ssa], self._location, lambda _: body(*ids))


@user_facing
class SegmentContext(LevelContext):
    """A whole block, with memory that its waves share, under a `name`.

    A `grid` of segments are blocks, or in a launch what each of its blocks does in turn.
    """

    kind, operation = "segment", SegmentOp

    def __init__(self, grid: Any = None, name: str | None = None):
        super().__init__(() if grid is None else grid, name)

    def private(self) -> Scope:
        """Memory of the block (L2)."""
        return Scope("shared", self)

    shared = private

    def _emit(self, body: Callable[..., Any]) -> None:
        self._check(body, len(self.counts))
        if current().inner("launch") is not None:
            self._fill(lambda: self._take_turns(body, []))
            return
        outer = LaunchContext(self.counts or None)
        outer._location = self._location
        outer.body(lambda *ids: self._fill(lambda: body(*ids)))

    def _fill(self, body: Callable[[], Any]) -> None:
        fill_level(self, [], self._location, lambda _: body())

    def _take_turns(self, body: Callable[..., Any], ids: list[ScalarValue]) -> None:
        if len(ids) == len(self.counts):
            body(*ids)
            return
        for point in for_(self.counts[len(ids)]):
            self._take_turns(body, [*ids, point])


MOST_WAVES = 16
"""That a herd becomes in a block; the rest of a larger one is done in turns."""
BLOCK_WAVES = 4
"""That herds without a launch are cut into."""


@user_facing
class HerdContext(LevelContext):
    """Waves of a block, one for each point of a `grid`; where there are more points, waves take several in turn.

    `name` is its name in the program, `shape` how many waves there are, as far as a block has so many.
    """

    kind, operation = "herd", HerdOp

    def __init__(self, grid: Any, name: str | None = None, shape: Sequence[int] | None = None):
        super().__init__(grid, name)
        self.shape = None if shape is None else self._checked_shape(shape)
        self.shares_tiles = False
        """Whether tiles are divided among all waves."""

    def _checked_shape(self, given: Any) -> tuple[int, ...]:
        """So many waves as take the points of the grid in turns, each as many."""
        sizes: Any = given if is_list(given) else [given]
        if len(sizes) != len(self.counts) or not all(
            is_integer(size) and size >= 1 and (not is_integer(count) or count % size == 0)
            for size, count in zip(sizes, self.counts, strict=False)
        ):
            refuse(f"a shape of {list(sizes)} waves does not divide {list(self.counts)}")
        return tuple(int(size) for size in sizes)

    def private(self) -> Scope:
        """Memory of a wave, divided among its lanes (L1)."""
        return Scope("private", self)

    def _emit(self, body: Callable[..., Any]) -> None:
        self._check(body, len(self.counts))
        trace = current()
        if trace.inner("herd") is not None:
            refuse("a herd cannot be in a herd", (None, "waves have lanes: see `air.lane()`"), at=self._location)
        if trace.inner("launch", "segment") is None:
            self._emit_blocks(body)
            return
        for count in self.counts:
            if not is_integer(count):
                refuse(
                    "the waves of a block are known when it is compiled",
                    (None, "give a herd in a launch sizes of Python, and leave open sizes to the launch"),
                    at=self._location,
                )
        self._emit_turns(body, cast("list[int]", list(self.counts)))

    def _emit_blocks(self, body: Callable[..., Any]) -> None:
        """A herd by itself becomes blocks of a few waves, as many as it takes."""
        first, *rest = self.counts
        waves = min(first, BLOCK_WAVES) if is_integer(first) else BLOCK_WAVES
        is_exact = is_integer(first) and first % waves == 0

        def in_block(*ids: ScalarValue) -> None:
            def in_wave(inner: list[ScalarValue]) -> None:
                number = ids[0] * waves + inner[0]
                if is_exact:
                    body(number, *ids[1:])
                else:
                    with if_(number < first, hasElse=False):
                        body(number, *ids[1:])

            fill_level(self, [as_index(waves).ssa], self._location, in_wave)

        outer = LaunchContext((cdiv(first, waves), *rest))
        outer._location = self._location
        outer.body(in_block)

    def _emit_turns(self, body: Callable[..., Any], counts: list[int]) -> None:
        room = current().target.max_block_threads // current().lanes
        physical = list(self.shape or counts)
        if self.shape is None or prod(physical) > room:
            for dimension in range(len(physical)):
                most = min(MOST_WAVES, room) // (prod(physical) // physical[dimension])
                size = physical[dimension]
                physical[dimension] = max(n for n in range(1, size + 1) if size % n == 0 and n <= max(most, 1))
        turns = [count // size for count, size in zip(counts, physical, strict=True)]

        def in_wave(ids: list[ScalarValue]) -> None:
            in_herd("a turn").grid = tuple(counts)
            self._take_turns(body, ids, turns)

        names = list(inspect.signature(body).parameters)
        fill_level(self, [as_index(size).ssa for size in physical], self._location, in_wave, names)

    def _take_turns(self, body: Callable[..., Any], ids: list[ScalarValue], turns: list[int]) -> None:
        """Each wave owns neighbouring points."""

        def take(dimension: int, points: list[ScalarValue]) -> None:
            if dimension == len(turns):
                in_herd("a turn").point = points
                body(*points)
            elif turns[dimension] == 1:
                take(dimension + 1, [*points, ids[dimension]])
            else:
                for turn in for_(turns[dimension]):
                    take(dimension + 1, [*points, ids[dimension] * turns[dimension] + turn])

        take(0, [])

    def _entered(self, level: OpenLevel, ids: list[ScalarValue]) -> list[ScalarValue]:
        trace, op = current(), cast(HerdOp, level.op)
        sizes = [int(ScalarValue(extent).literal_value) for extent in op.extents]
        lane = ScalarValue(build(LaneIdOp, results=[INDEX]).results[0])
        wave = ids[0] if len(ids) == 1 else ids[1] * sizes[0] + ids[0]
        waves = prod(sizes)
        level.lane = lane
        if self.shares_tiles and waves > 1:
            number = wave * trace.lanes + lane
            level.workers = TileLanes(number, trace.lanes * waves, waves, wave, waves)
        else:
            level.workers = TileLanes(lane, trace.lanes, 1, wave, waves)
        return ids


@user_facing
class RankContext(LevelContext):
    """All `ranks` of a run, under a `name`: each is a process with a GPU, and runs the body with its number."""

    kind, operation = "rank", RankOp

    def __init__(self, ranks: Any = None, name: str | None = None):
        super().__init__(() if ranks is None else ranks, name)
        self._is_open = ranks is None

    def _emit(self, body: Callable[..., Any]) -> None:
        if self._is_open:
            self.counts = (world_size(),)
        super()._emit(body)

    def _entered(self, level: OpenLevel, ids: list[ScalarValue]) -> list[ScalarValue]:
        level.made["rank"], level.made["sizes"] = ids, [value_of(v) for v in cast(RankOp, level.op).size_arguments]
        return ids


def world_size() -> ScalarValue:
    """How many ranks there are, on the host."""
    outer = current().inner("rank")
    if outer is not None:
        sizes: list[ScalarValue] = outer.made["sizes"]
        total = sizes[0]
        for size in sizes[1:]:
            total = total * size
        return total
    return ScalarValue(call_runtime("mgpuGetWorldSize", [i32])[0]).astype(INDEX)


def rank_number() -> ScalarValue:
    """The number of the rank that runs this."""
    level = current().inner("rank")
    if level is None:
        refuse("this is for a program of ranks", (None, "write it in a function under `@air.rank()`"))
    ids, sizes = level.made["rank"], level.made["sizes"]
    number = ids[0]
    for id, size in zip(ids[1:], sizes[1:], strict=True):
        number = number * size + id
    return number


def parse_grid(grid: Any, kind: str) -> tuple[tuple[Size, ...], tuple[int, ...]]:
    """How many points an iteration space has in each dimension, and how far they are apart.

    A dimension is a number of points, of Python or of the program, or a `range` whose steps are sizes of tiles.
    """
    if isinstance(grid, product):
        # what it was made of: its iterators were read when it was made
        parts = cast("tuple[tuple[int, ...], ...]", grid.__reduce__()[1])
        ranges = [range(part[0], part[-1] + 1, part[1] - part[0]) if len(part) > 1 else None for part in parts]
        if None in ranges:
            refuse(
                f"the steps of a {kind} with one tile in a dimension are not known of a product",
                (None, "give a list of ranges: `[range(0, m, tm), range(0, n, tn)]`"),
            )
        dimensions: list[Any] = list(ranges)
    else:
        dimensions = list(grid) if is_list(grid) else [grid]
    counts, steps = list[Size](), list[int]()
    for dimension in dimensions:
        if isinstance(dimension, range):
            if dimension.start != 0 or dimension.step < 1:
                refuse(f"the points of a {kind} begin at 0 and go up, not {dimension}")
            counts.append(len(dimension))
            steps.append(dimension.step)
        elif is_integer(dimension) or isinstance(dimension, ScalarValue):
            counts.append(int(dimension) if is_integer(dimension) else dimension)
            steps.append(1)
        else:
            refuse(f"a dimension of a {kind} is a number of points or a range, not {dimension!r}")
    return tuple(counts), tuple(steps)


launch, segment, herd, rank = LaunchContext, SegmentContext, HerdContext, RankContext


def sequential(
    start: Any, stop: Any = None, step: Any = None, iter_args: Sequence[Any] | None = None, name: str | None = None
) -> Generator[Any]:
    """A loop of the program from `start` to `stop` by `step`, as Python's `range` has them; `name` is of its variable.

    What is in `iter_args` goes from each turn to the next: `for i, carried, results in ...`, and the body ends with
    `air.yield_([...])`. Tiles are carried as numbers are.
    """
    from tilewright.air.tile_loops import carries_tiles, sequential_tiles  # it imports this module

    if is_integer(step) and step < 1:
        refuse(f"a loop goes up, and not by {step}", (None, "count what is done, and compute the place from it"))
    if iter_args is not None and carries_tiles(iter_args):
        turns = sequential_tiles(start, stop, step, iter_args)
    else:
        turns = for_(start, stop, step, iter_args)
    return turns if name is None else _named(turns, name)


def _named(loop: Generator[Any], name: str) -> Generator[Any]:
    for turn in loop:
        variable: ScalarValue = turn if isinstance(turn, ScalarValue) else turn[0]
        variable.ssa.name_hint = name
        yield turn


def yield_(values: Any = ()) -> None:
    """End a body of `sequential`, or of a choice with results, with `values` for what follows."""
    from tilewright.air.tile_loops import carries_tiles, handed_on  # it imports this module

    end_body(handed_on(values) if carries_tiles(values) else values)
