"""Programs of ranks that pass messages through channels, in the shapes in which that is commonly done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

HEAP = "#air.symmetric_heap"


def memref(shape: Sequence[int | str], element: str, space: str = "") -> str:
    dimensions = "".join(f"{size}x" for size in shape)
    return f"memref<{dimensions}{element}{', ' + space if space else ''}>"


def bundle(*sizes: int, **attributes: str) -> str:
    """The declaration of channels `@C`; attributes as MLIR writes them."""
    written = {"channel_type": '"gpu_symmetric_heap"', **attributes}
    return f"air.channel @C {list(sizes)} {{{', '.join(f'{name} = {value}' for name, value in written.items())}}}"


@dataclass(frozen=True)
class Program:
    """What ranks do: code of a herd that reads `%in`, writes `%out`, and knows `%me` of `%ranks` and its place `%x`."""

    ranks: int
    declaration: str
    body: str
    input: str
    output: str
    waves: int = 1
    is_sized_at_run_time: bool = False

    def text(self, entry: str = "f") -> str:
        types = f"{self.input}, {self.output}, index, index"
        size = (
            "%count = func.call @mgpuGetWorldSize() : () -> i32\n    %n = arith.index_cast %count : i32 to index"
            if self.is_sized_at_run_time
            else f"%n = arith.constant {self.ranks} : index"
        )
        declared = "func.func private @mgpuGetWorldSize() -> i32" if self.is_sized_at_run_time else ""
        return f"""module attributes {{gpu.container_module}} {{
  {declared}
  {self.declaration}
  func.func @{entry}(%input: {self.input}, %output: {self.output}) {{
    {size}
    air.rank (%r) in (%rs=%n) args(%ri=%input, %ro=%output) : {self.input}, {self.output} {{
      %one = arith.constant 1 : index
      air.launch (%b) in (%bs=%one) args(%li=%ri, %lo=%ro, %lr=%r, %ln=%rs) : {types} {{
        air.segment args(%si=%li, %so=%lo, %sr=%lr, %sn=%ln) : {types} {{
          %waves = arith.constant {self.waves} : index
          %single = arith.constant 1 : index
          air.herd tile (%x, %y) in (%nx=%waves, %ny=%single) args(%in=%si, %out=%so, %me=%sr, %ranks=%sn) : {types} {{
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %lane = gpu.lane_id
            {self.body}
          }}
        }}
      }}
    }}
    return
  }}
}}"""


def _for_each_rank(name: str, body: str) -> str:
    """`%name` goes through all ranks."""
    return f"""scf.for %{name}_turn = %c0 to %ranks step %c1 {{
              %{name} = arith.addi %{name}_turn, %c0 : index
              {body}
            }}"""


def _part(buffer: str, indices: Sequence[str], ranks: int, shape: Sequence[int]) -> str:
    """One of the messages that a buffer holds, after a dimension of ranks for each index."""
    full = [ranks] * len(indices) + list(shape)
    strides = [prod(full[at + 1 :]) for at in range(len(full))]
    offsets = ", ".join([*indices, *["0"] * len(shape)])
    return f"%{buffer}[{offsets}] {[1] * len(indices) + list(shape)} {strides}"


@dataclass(frozen=True)
class Topology:
    """How messages go in a world of any size, and what each rank has to have in the end."""

    make: Callable[[int, Sequence[int], str, dict[str, str]], Program]
    expected: Callable[[np.ndarray], np.ndarray]
    """From the inputs of all ranks, one after the other, to their outputs."""
    has_parts: bool = False
    """Whether a rank's input holds a message for each rank."""


def ring(ranks: int, shape: Sequence[int], element: str, attributes: dict[str, str]) -> Program:
    """Everyone puts to the next rank, and gets from the one before."""
    all_type, type = memref([ranks, *shape], element), memref(shape, element)
    body = f"""%next = arith.addi %me, %c1 : index
            %to = arith.remui %next, %ranks : index
            air.channel.put @C[%to] ({_part("in", ["%me"], ranks, shape)}) : ({all_type})
            air.channel.get @C[%me] (%out[] [] []) : ({type})"""
    return Program(ranks, bundle(ranks, **attributes), body, all_type, type)


def broadcast(ranks: int, shape: Sequence[int], element: str, attributes: dict[str, str]) -> Program:
    """Rank 0 puts once, and everyone gets, rank 0 too."""
    all_type, type = memref([ranks, *shape], element), memref(shape, element)
    body = f"""%is_root = arith.cmpi eq, %me, %c0 : index
            scf.if %is_root {{
              air.channel.put @C[%c0] ({_part("in", ["%me"], ranks, shape)}) : ({all_type})
            }}
            air.channel.get @C[%me] (%out[] [] []) : ({type})"""
    return Program(ranks, bundle(1, broadcast_shape=f"[{ranks}]", **attributes), body, all_type, type)


def gather(ranks: int, shape: Sequence[int], element: str, attributes: dict[str, str]) -> Program:
    """Everyone puts, and the last rank gets from all."""
    type = memref([ranks, *shape], element)
    get = f"air.channel.get @C[%from] ({_part('out', ['%from'], ranks, shape)}) : ({type})"
    body = f"""air.channel.put @C[%me] ({_part("in", ["%me"], ranks, shape)}) : ({type})
            %last = arith.subi %ranks, %c1 : index
            %is_last = arith.cmpi eq, %me, %last : index
            scf.if %is_last {{
              {_for_each_rank("from", get)}
            }}"""
    return Program(ranks, bundle(ranks, **attributes), body, type, type)


def allgather(ranks: int, shape: Sequence[int], element: str, attributes: dict[str, str]) -> Program:
    """Everyone has everything in the end, by a broadcast of each rank."""
    type = memref([ranks, *shape], element)
    get = f"air.channel.get @C[%from, %me] ({_part('out', ['%from'], ranks, shape)}) : ({type})"
    body = f"""air.channel.put @C[%me, %c0] ({_part("in", ["%me"], ranks, shape)}) : ({type})
            {_for_each_rank("from", get)}"""
    return Program(ranks, bundle(ranks, 1, broadcast_shape=f"[{ranks}, {ranks}]", **attributes), body, type, type)


def all_to_all(ranks: int, shape: Sequence[int], element: str, attributes: dict[str, str]) -> Program:
    """Everyone has a message for everyone."""
    all_type, type = memref([ranks, ranks, *shape], element), memref([ranks, *shape], element)
    put = f"air.channel.put @C[%me, %to] ({_part('in', ['%me', '%to'], ranks, shape)}) : ({all_type})"
    get = f"air.channel.get @C[%from, %me] ({_part('out', ['%from'], ranks, shape)}) : ({type})"
    body = f"{_for_each_rank('to', put)}\n            {_for_each_rank('from', get)}"
    return Program(ranks, bundle(ranks, ranks, **attributes), body, all_type, type)


def _at_the_last(given: np.ndarray) -> np.ndarray:
    result = np.zeros((len(given), *given.shape), given.dtype)
    result[-1] = given
    return result


TOPOLOGIES = {
    "ring": Topology(ring, lambda given: np.roll(given, 1, axis=0)),
    "broadcast": Topology(broadcast, lambda given: np.broadcast_to(given[0], given.shape)),
    "gather": Topology(gather, _at_the_last),
    "allgather": Topology(allgather, lambda given: np.broadcast_to(given, (len(given), *given.shape))),
    "all to all": Topology(all_to_all, lambda given: given.swapaxes(0, 1), has_parts=True),
}
