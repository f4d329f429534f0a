"""Host programs made of random loop nests: their text, what they send, and what passes make of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import cast

from helpers import lowered
from hypothesis import strategies as st
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.ir import Operation, SSAValue

from tilewright import device
from tilewright.device import TASK_QUEUE_DEPTH
from tilewright.dialects.air.accesses import Transfer
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.func import FuncOp
from tilewright.driver.compiled_design import Design, compile_text
from tilewright.ir.printer import module_text
from tilewright.passes.air.air_opt_shim_dma_bds import AirOptShimDmaBdsPass
from tilewright.passes.air.air_opt_shim_dma_bds.cost import Await, Move, Start, Step
from tilewright.passes.air.air_opt_shim_dma_bds.scheduling import size_of
from tilewright.passes.air.air_opt_shim_dma_bds.tiling import EmptyTile
from tilewright.passes.air.air_shim_endpoints import AirShimEndpointsPass
from tilewright.passes.air.air_to_std import AirToStdPass
from tilewright.passes.air.airrt_to_npu import AirrtToNpuPass
from tilewright.passes.air.shim.host_transfers import AWAITED, ShimChannels, host_access, host_transfers, key_of
from tilewright.passes.standard.canonicalize import CanonicalizePass
from tilewright.rewrite.folding.strided_views import known_int

DEVICE = "npu1"


@dataclass(frozen=True)
class Access:
    """One transfer of a loop's body; offsets count strides, `counters` how far each loop moves each offset."""

    channel: int
    is_put: bool
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    counters: tuple[tuple[int, ...], ...]

    def addresses(self, point: Sequence[int]) -> Iterator[int]:
        offsets = [sum(f * p for f, p in zip(factors, point, strict=True)) for factors in self.counters]
        for index in product(*map(range, self.sizes)):
            yield sum((o + i) * s for o, i, s in zip(offsets, index, self.strides, strict=True))


@dataclass(frozen=True)
class Nest:
    """Loops around transfers, in a function of its own."""

    trips: tuple[int, ...]
    accesses: tuple[Access, ...]

    @property
    def points(self) -> Iterator[tuple[int, ...]]:
        return product(*map(range, self.trips))

    def expected(self) -> dict[str, list[int]]:
        """The addresses that go through each channel, in order."""
        found: dict[str, list[int]] = defaultdict(list)
        for point in self.points:
            for access in self.accesses:
                found[f"{'MM2S' if access.is_put else 'S2MM'} c{access.channel}"] += access.addresses(point)
        return dict(found)

    def extent(self, access: Access) -> int:
        """How far into its buffer an access gets: nothing goes backwards."""
        last = tuple(trip - 1 for trip in self.trips)
        return 1 + max(access.addresses(last))

    def text(self) -> str:
        arguments = [f"%buffer{n}: memref<{self.extent(access)}xi32>" for n, access in enumerate(self.accesses)]
        numbers = {n for trip in self.trips for n in (0, 1, trip)}
        for access in self.accesses:
            numbers |= {*access.sizes, *access.strides, *(f for factors in access.counters for f in factors)}
        lines = [f"air.channel @c{access.channel} [1]" for access in _one_per_channel(self.accesses)]
        lines += [f"func.func @host({', '.join(arguments)}) {{"]
        lines += [f"%n{number} = arith.constant {number} : index" for number in sorted(numbers)]
        lines += ["%t0 = air.wait_all async", *_loops(self, 0), "return", "}"]
        return "\n".join(lines)


def _one_per_channel(accesses: Sequence[Access]) -> list[Access]:
    return list({access.channel: access for access in accesses}.values())


def _loops(nest: Nest, depth: int) -> Iterator[str]:
    if depth == len(nest.trips):
        yield from _body(nest)
        return
    head = f"scf.for %i{depth} = %n0 to %n{nest.trips[depth]} step %n1"
    yield f"%r{depth} = {head} iter_args(%t{depth + 1} = %t{depth}) -> (!air.async.token) {{"
    yield from _loops(nest, depth + 1)
    yield (
        "scf.yield %all : !air.async.token"
        if depth + 1 == len(nest.trips)
        else f"scf.yield %r{depth + 1} : !air.async.token"
    )
    yield "}"


def _body(nest: Nest) -> Iterator[str]:
    token = f"%t{len(nest.trips)}"
    for number, access in enumerate(nest.accesses):
        entries: list[str] = []
        for dim, factors in enumerate(access.counters):
            terms = " + ".join(f"d{loop} * {factor}" for loop, factor in enumerate(factors))
            dims = ", ".join(f"d{loop}" for loop in range(len(factors)))
            counters = ", ".join(f"%i{loop}" for loop in range(len(factors)))
            yield f"%o{number}_{dim} = affine.apply affine_map<({dims}) -> ({terms})>({counters})"
            entries.append(f"%o{number}_{dim}")
        lists = f"[{', '.join(entries)}] [{_numbers(access.sizes)}] [{_numbers(access.strides)}]"
        verb = "put" if access.is_put else "get"
        type = f"memref<{nest.extent(access)}xi32>"
        head = f"%p{number} = air.channel.{verb} async [{token}] @c{access.channel}[]"
        yield f"{head} (%buffer{number}{lists}) : ({type})"
    yield f"%all = air.wait_all async [{', '.join(f'%p{number}' for number in range(len(nest.accesses)))}]"


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(f"%n{value}" for value in values)


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    """One to three loops around up to four transfers on up to three channels, two of them perhaps on one."""
    trips = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=2)))
    accesses: list[Access] = []
    directions: dict[int, bool] = {}
    for _ in range(draw(st.integers(1, 4))):
        channel = draw(st.integers(0, 2))
        is_put = directions.setdefault(channel, draw(st.booleans()))
        rank = draw(st.integers(1, 2))
        sizes = tuple(draw(st.sampled_from([1, 2, 4, 8])) for _ in range(rank))
        strides = (*(draw(st.sampled_from([16, 20, 64])) for _ in range(rank - 1)), 1)
        step = st.sampled_from([0, 0, 1, 2, 4, 16])
        counters = tuple(tuple(draw(step) for _ in trips) for _ in range(rank))
        accesses.append(Access(channel, is_put, sizes, strides, counters))
    return Nest(trips, tuple(accesses))


def folded(nest: Nest, *sizes: int, empty: EmptyTile = EmptyTile.UPSTREAM) -> FuncOp:
    """The host's function after `air-opt-shim-dma-bds`."""
    module = lowered(nest.text(), AirOptShimDmaBdsPass(device=DEVICE, shim_dma_tile_sizes=sizes, empty_tile=empty))
    return next(op for op in module.body.block.ops if isinstance(op, FuncOp))


def sent(function: Operation) -> dict[str, list[int]]:
    """The addresses that the transfers of a function go through, by channel, in order."""
    found: dict[str, list[int]] = defaultdict(list)
    for op in host_transfers(function):
        access = host_access(op)
        offsets, sizes, strides = ([known_int(entry) or 0 for entry in entries] for entries in access.lists)
        direction, name = key_of(op)
        if not sizes:
            whole = access.memref.type
            assert isinstance(whole, MemRefType)
            found[f"{direction.name} {name}"] += range(whole.get_shape()[0])
            continue
        for index in product(*map(range, sizes)):
            address = sum((o + i) * s for o, i, s in zip(offsets, index, strides, strict=True))
            found[f"{direction.name} {name}"].append(address)
    return dict(found)


def moves_of(function: Operation) -> tuple[list[Move], list[int]]:
    """The transfers of a function as the model sees them, and after how many of them everything is waited for."""
    channels = ShimChannels(device.model(DEVICE))
    moves: list[Move] = []
    ends: list[int] = []
    transfers: dict[Operation, Transfer] = {transfer: transfer for transfer in host_transfers(function)}
    for op in function.walk():
        if (transfer := transfers.get(op)) is not None:
            moves.append(Move(channels.channel_of(transfer), *size_of(host_access(transfer))))
        elif isinstance(op, WaitAllOp) and op.token is None and moves and len(moves) not in ends:
            ends.append(len(moves))
    return moves, ends


def plan_in(function: Operation) -> tuple[list[Move], list[Step]]:
    """The plan that waits in a function stand for."""
    moves, _ = moves_of(function)
    number = {op.token: number for number, op in enumerate(host_transfers(function))}
    steps: list[Step] = []
    for op in function.walk():
        if isinstance(op, Transfer) and op.token in number:
            steps.append(Start(number[op.token]))
        elif isinstance(op, WaitAllOp) and op.token is None:
            waited = [number[token] for token in op.dependencies if token in number]
            awaited = [n for n in waited if cast(IntegerAttr, _transfer(op, n, number).attributes[AWAITED]).value.data]
            steps += [Await(n, ()) for n in awaited]
    return moves, steps


def _transfer(wait: WaitAllOp, wanted: int, number: dict[SSAValue | None, int]) -> Operation:
    return cast(Operation, next(token.owner for token in wait.dependencies if number.get(token) == wanted))


def fits(moves: Sequence[Move], ends: Sequence[int]) -> bool:
    """Whether no channel gets more than its queue holds between two waits."""
    begin = 0
    for end in ends:
        counts: dict[object, int] = defaultdict(int)
        for move in moves[begin:end]:
            counts[move.channel] += 1
        if any(count > TASK_QUEUE_DEPTH for count in counts.values()):
            return False
        begin = end
    return True


def design_text(text: str, pass_: AirOptShimDmaBdsPass) -> str:
    """The design that runs a host program against endless mem tiles."""
    passes = [AirShimEndpointsPass(pass_.device), pass_, AirToStdPass(), CanonicalizePass(), AirrtToNpuPass()]
    return module_text(lowered(text, *passes))


def design_of(text: str, pass_: AirOptShimDmaBdsPass) -> Design:
    return compile_text(design_text(text, pass_), "nest.mlir")
