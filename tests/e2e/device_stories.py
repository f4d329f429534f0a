"""Random stories of one loaded device: runs that end, hang, fault, are stopped or interrupted, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from simulated_designs import DESIGNS, SimulatedDesign

import tilewright as tw
from tilewright import txn
from tilewright.driver.compiled_design import Design
from tilewright.driver.loaded_device import LoadedDevice
from tilewright.sim.faults import FaultKind

Array = npt.NDArray[Any]

WAYS = """
aie.device(npu1_2col) {
  %s0 = aie.tile(0, 0)
  %m0 = aie.tile(0, 1)
  %c0 = aie.tile(0, 2)
  %s1 = aie.tile(1, 0)
  %m1 = aie.tile(1, 1)
  %c1 = aie.tile(1, 2)
  aie.objectfifo @in(%s0, {%m0}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%m0, {%s0}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.objectfifo @cin(%s1, {%c0, %c1}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @cout(%c0, {%s1}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @cout1(%c1, {%s1}, 1 : i32) : !aie.objectfifo<memref<8xi32>>
  func.func private @work(memref<8xi32>, memref<8xi32>)
  aie.core(%c0) {
    %z = arith.constant 0 : index
    %one = arith.constant 1 : index
    %many = arith.constant 9223372036854775807 : index
    scf.for %i = %z to %many step %one {
      %va = aie.objectfifo.acquire @cin(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %a = aie.objectfifo.subview.access %va[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %vb = aie.objectfifo.acquire @cout(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %b = aie.objectfifo.subview.access %vb[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      func.call @work(%a, %b) : (memref<8xi32>, memref<8xi32>) -> ()
      aie.objectfifo.release @cin(Consume, 1)
      aie.objectfifo.release @cout(Produce, 1)
    }
    aie.end
  }
  aie.core(%c1) {
    %z = arith.constant 0 : index
    %one = arith.constant 1 : index
    %many = arith.constant 50 : index
    scf.for %i = %z to %many step %one {
      %va = aie.objectfifo.acquire @cin(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
      %a = aie.objectfifo.subview.access %va[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %vb = aie.objectfifo.acquire @cout1(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
      %b = aie.objectfifo.subview.access %vb[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
      %x = memref.load %a[%z] : memref<8xi32>
      %n = arith.index_cast %i : index to i32
      %y = arith.addi %x, %n : i32
      memref.store %y, %b[%one] : memref<8xi32>
      aie.objectfifo.release @cin(Consume, 1)
      aie.objectfifo.release @cout1(Produce, 1)
    }
    aie.end
  }
  aie.runtime_sequence @link(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,%n][0,0,0,1]) {id = 0 : i64, metadata = @in} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0,0,0,0][1,1,1,%m][0,0,0,1]) {id = 1 : i64, issue_token=true, metadata = @out} : memref<?xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
  aie.runtime_sequence @feed(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,%n][0,0,0,1]) {id = 2 : i64, issue_token=true, metadata = @in} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0,0,0,0][1,1,1,%m][0,0,0,1]) {id = 3 : i64, metadata = @out} : memref<?xi32>
    aiex.npu.dma_wait {symbol = @in}
  }
  aie.runtime_sequence @start(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,%n][0,0,0,1]) {id = 4 : i64, metadata = @in} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0,0,0,0][1,1,1,%m][0,0,0,1]) {id = 5 : i64, metadata = @out} : memref<?xi32>
  }
  aie.runtime_sequence @cores(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,%n][0,0,0,1]) {id = 0 : i64, metadata = @cin} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0,0,0,0][1,1,1,%m][0,0,0,1]) {id = 1 : i64, issue_token=true, metadata = @cout} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0,0,0,4096][1,1,1,%m][0,0,0,1]) {id = 2 : i64, issue_token=true, metadata = @cout1} : memref<?xi32>
    aiex.npu.dma_wait {symbol = @cout}
    aiex.npu.dma_wait {symbol = @cout1}
  }
  aie.runtime_sequence @one_core(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,%n][0,0,0,1]) {id = 3 : i64, metadata = @cin} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0,0,0,0][1,1,1,%m][0,0,0,1]) {id = 4 : i64, issue_token=true, metadata = @cout} : memref<?xi32>
    aiex.npu.dma_wait {symbol = @cout}
  }
  aie.runtime_sequence @all(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,%n][0,0,0,1]) {id = 0 : i64, metadata = @cin} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,%n][0,0,0,1]) {id = 6 : i64, metadata = @in} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0,0,0,0][1,1,1,%m][0,0,0,1]) {id = 1 : i64, issue_token=true, metadata = @cout} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0,0,0,2048][1,1,1,%n][0,0,0,1]) {id = 7 : i64, issue_token=true, metadata = @out} : memref<?xi32>
    aiex.npu.dma_wait {symbol = @out}
    aiex.npu.dma_wait {symbol = @cout}
  }
  aie.runtime_sequence @send(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,%n][0,0,0,1]) {id = 8 : i64, metadata = @in} : memref<?xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
  aie.runtime_sequence @wait(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
    aiex.npu.dma_wait {symbol = @out}
  }
  aie.runtime_sequence @nothing(%a: memref<?xi32>, %b: memref<?xi32>, %n: i64, %m: i64) {
  }
}
"""  # noqa: E501
"""Two ways from the host and back, through a mem tile and through two cores, with sequences that use them in part."""
HOST_WORDS = 8192


@dataclass(frozen=True)
class Step:
    """One run: its arguments, and what may end it before its end."""

    arguments: Sequence[Array | int]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    interrupted_after: int | None = None
    """So many calls of the kernel."""


@dataclass(frozen=True)
class Story:
    """A device, and what happens to it."""

    design: Design
    device: str | None
    kernels: Mapping[str, Any]
    options: Mapping[str, Any]
    steps: Sequence[Step]

    def outcomes(self, model: str) -> list[tuple[object, ...]]:
        """What can be seen of each run on a device of one model."""
        left: list[int | None] = [None]

        def work(given: Array, result: Array) -> None:
            result[:] = given + 1
            if left[0] is not None:
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt

        kernels = {"work": work} if self.design is ways() else self.kernels
        device = self.design.load(self.device, kernels, model=model, **self.options)
        found = list[tuple[object, ...]]()
        for step in self.steps:
            left[0] = step.interrupted_after
            found.append(_outcome(device, step))
        return found


def _outcome(device: LoadedDevice, step: Step) -> tuple[object, ...]:
    """How a run ended, in words and cycles, and what it left in the host's arrays."""
    given = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in step.arguments]
    ending: tuple[object, ...]
    try:
        result = device.run(*given, **step.options)
        ending = "ended", result.cycles, "\n".join(map(str, result.notes))
    except tw.Interrupted:
        ending = ("interrupted",)
    except tw.Error as error:
        record = getattr(error, "record", None)
        ending = type(error).__name__, record.cycles if record is not None else None, str(error)
    return *ending, *(array.tobytes() for array in given if isinstance(array, np.ndarray))


@cache
def ways() -> Design:
    return tw.compile(WAYS)


def story_of(seed: int) -> Story:
    """The story of a number."""
    random = Random(seed)
    options: dict[str, Any] = {}
    if random.random() < 0.2:
        level = random.choice(("note", "off"))
        options["levels"] = {kind.option: level for kind in FaultKind}
    if random.random() < 0.2:
        options["timing"] = "none"
    if random.random() < 0.6:
        return Story(ways(), None, {}, options, list(_sized_steps(random)))
    case = random.choice(DESIGNS)
    return Story(case.design, case.design.device_of(case.sequence), case.kernels, options, list(_steps(case, random)))


def _sized_steps(random: Random) -> Iterator[Step]:
    """Runs of all sequences in all sizes; what goes in and what is to come out need not fit."""
    for _ in range(random.randint(2, 6)):
        unit = random.choice((16, 16, 16, 16, 8, 4, 1))
        n, m = (unit * random.randint(1, random.choice((4, 16, 64))) for _ in range(2))
        words = HOST_WORDS if random.random() < 0.9 else random.randint(1, 2000)
        arrays = np.arange(words, dtype=np.int32) * 3, np.full(words, -1, np.int32)
        sequence = random.choice(ways().sequences)
        options = {"sequence": sequence, **_limit(random)}
        interrupted = random.randint(1, 6) if random.random() < 0.15 else None
        yield Step([*arrays, n, n if random.random() < 0.6 else m], options, interrupted)


def _steps(case: SimulatedDesign, random: Random) -> Iterator[Step]:
    """Runs of a design's sequence, of parts of its stream, and of its stream with operations moved."""
    for _ in range(random.randint(2, 5)):
        options = {"sequence": case.sequence, "scratchpad": case.scratchpad, **_limit(random)}
        arguments = case.arguments(random.randrange(3))
        if random.random() < 0.4:
            options["txn"] = _changed(case, arguments, random)
        yield Step(arguments, options)


def _changed(case: SimulatedDesign, arguments: Sequence[Array | int], random: Random) -> Array:
    names = case.design.scalars(case.sequence)
    scalars = [argument for argument in arguments if isinstance(argument, int)]
    stream = txn.decode(case.design.txn(case.sequence, **dict(zip(names, scalars, strict=True))))
    operations = list(stream.operations)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(operations))
        match random.randrange(4):
            case 0:
                del operations[at]
            case 1:
                operations.insert(at, operations[random.randrange(len(operations))])
            case 2:
                operations = operations[: at + 1]
            case _:
                operations.append(operations.pop(at))
        if not operations:
            break
    return txn.encode(txn.Stream.of(stream.header, operations))


def _limit(random: Random) -> dict[str, Any]:
    if random.random() < 0.6:
        return {"max_cycles": 1 << random.choice((20, 20, 70))}
    return {"max_cycles": random.choice((random.randint(1, 600), random.randint(1, 6000), 1800))}
