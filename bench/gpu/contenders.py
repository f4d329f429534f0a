"""What `collectives_bench.py` compares, on one rank: bundles, CUDA by hand, the driver's copies, and NVSHMEM."""

from __future__ import annotations

import ctypes
import mmap
import sys
import time
from collections.abc import Callable
from ctypes import POINTER, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.gpu.bundle.manifest import read_manifest
from tilewright.gpu.bundle.run import BundleRuntime
from tilewright.gpu.cuda import LIBRARY, CudaDevice, CudaDriver
from tilewright.gpu.device import DeviceOptions, Size3
from tilewright.gpu.driver_device import DriverError, PackedArguments
from tilewright.gpu.host.context import HostContext
from tilewright.gpu.host.runtime import arguments_at

ROOT = 1
BUFFER_BYTES = 64 << 20
"""Room for the largest array."""
MOST_BLOCKS, MOST_RANKS, ROUND_WORDS = 1024, 8, 512
UNITS, THREADS = 132, 512
TIMEOUT_SECONDS = 100
FLAGS_BYTES, PLACES_BYTES = 4 * 2 * MOST_BLOCKS * MOST_RANKS, 8 * 2 * MOST_RANKS * ROUND_WORDS


@dataclass(frozen=True)
class Case:
    """A collective among ranks with arrays of a size."""

    kind: str
    size: int
    ranks: int

    @property
    def part_bytes(self) -> int:
        """Of what a rank has for another one, or for all of them."""
        return self.size if self.kind in ("broadcast", "all_reduce") else self.size // self.ranks

    @property
    def sent_bytes(self) -> int:
        return self.part_bytes if self.kind == "all_gather" else self.size

    @property
    def result_bytes(self) -> int:
        return self.part_bytes if self.kind == "reduce_scatter" else self.size

    def sent(self) -> np.ndarray:
        """What all ranks send; sums of it are exact."""
        number = np.arange(self.ranks * self.sent_bytes // 4, dtype=np.uint32).reshape(self.ranks, -1)
        # drawing so many by lot would take longer than all else
        return (number * np.uint32(2654435761) >> 12).astype(np.float32)

    def wanted(self, sent: np.ndarray, rank: int) -> np.ndarray:
        cut = sent.reshape(self.ranks, -1, self.part_bytes // 4)
        match self.kind:
            case "all_gather":
                return sent.reshape(-1)
            case "broadcast":
                return sent[ROOT]
            case "all_to_all":
                return cut[:, rank].reshape(-1)
            case "reduce_scatter":
                return cut[:, rank].sum(axis=0)
            case _:
                return sent.sum(axis=0)


class SharedWorld:
    """One rank's place among processes that share memory; waits are short, so they are busy."""

    SLOT = 4096
    folder = None

    def __init__(self, rank: int, size: int, memory: mmap.mmap):
        self.rank, self.size, self._memory = rank, size, memory
        self._turns = np.frombuffer(memory, np.int64, size * 8).reshape(size, 8)[:, 0]
        self._turn = 0

    def barrier(self) -> None:
        self._turn += 1
        self._turns[self.rank] = self._turn
        end = time.monotonic() + TIMEOUT_SECONDS
        while self._turns.min() < self._turn:
            if time.monotonic() > end:
                raise TimeoutError("another rank does not come")

    def exchange(self, data: bytes) -> list[bytes]:
        self._memory[self._place(self.rank)] = len(data).to_bytes(8, "little") + data.ljust(self.SLOT - 8, b"\0")
        self.barrier()
        slots = [self._memory[self._place(rank)] for rank in range(self.size)]
        self.barrier()
        return [slot[8 : 8 + int.from_bytes(slot[:8], "little")] for slot in slots]

    def _place(self, rank: int) -> slice:
        return slice(self.SLOT * (rank + 1), self.SLOT * (rank + 2))


class GraphDriver(CudaDriver):
    """The driver with streams and graphs."""

    signatures: ClassVar[Any] = {
        **CudaDriver.signatures,
        "cuStreamCreate": (POINTER(c_void_p), c_uint),
        "cuStreamSynchronize": (c_void_p,),
        "cuStreamBeginCapture_v2": (c_void_p, c_int),
        "cuStreamEndCapture": (c_void_p, POINTER(c_void_p)),
        "cuGraphInstantiateWithFlags": (POINTER(c_void_p), c_void_p, c_uint64),
        "cuGraphLaunch": (c_void_p, c_void_p),
        "cuGraphExecDestroy": (c_void_p,),
        "cuGraphDestroy": (c_void_p,),
        "cuStreamWaitEvent": (c_void_p, c_void_p, c_uint),
        "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    }

    def graph(self, stream: int, work: Callable[[], None]) -> int:
        """What `work` enqueues, to be launched at once."""
        self.call("cuStreamBeginCapture_v2", stream, 2)
        graph = c_void_p()
        try:
            work()
        finally:
            self.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        executable = self.handle("cuGraphInstantiateWithFlags", graph, 0)
        self.call("cuGraphDestroy", graph)
        return executable


class Place:
    """What all contenders of one rank have in common: the device, a stream, and the other ranks."""

    def __init__(self, world: SharedWorld, folder: Path):
        self.world, self.folder = world, folder
        self.driver = GraphDriver(ctypes.CDLL(LIBRARY))
        self.driver.call("cuInit", 0)
        options = DeviceOptions(GPU_TARGETS["sm_90"], 32, settings={"share-gpu": "yes"})
        self.device = CudaDevice(world, options, self.driver)  # pyright: ignore[reportArgumentType]
        self.stream = self.driver.handle("cuStreamCreate", 1)

    def wait(self) -> None:
        self.driver.call("cuStreamSynchronize", self.stream)

    def read(self, address: int, size: int) -> np.ndarray:
        found = np.zeros(size // 4, np.float32)
        self.device.copy(found.ctypes.data, address, size)
        return found

    def write(self, address: int, values: np.ndarray) -> None:
        self.device.copy(address, np.ascontiguousarray(values).ctypes.data, values.nbytes)

    def launch(self, handle: int, grid: Size3, block: Size3, shared: int, packed: PackedArguments) -> None:
        self.driver.call("cuLaunchKernel", handle, *grid, *block, shared, self.stream, packed.places, None)


class Work:
    """A collective that is ready: calls are enqueued, and arrays are set and looked at between them."""

    def __init__(self, place: Place, case: Case, enqueue: Callable[[], None], source: int, result: int):
        self.place, self.case, self.enqueue, self.source, self.result = place, case, enqueue, source, result

    def check(self, given: np.ndarray, wanted: np.ndarray) -> bool:
        """Whether a call gives what is wanted."""
        size = self.case.result_bytes
        self.place.write(self.source, given)
        self.place.device.fill(self.result, b"\xff", size)
        self.place.device.synchronize()
        self.place.world.barrier()
        self._whole()
        self.place.wait()
        self.place.world.barrier()
        return np.array_equal(self.place.read(self.result, size), wanted)

    def _whole(self) -> None:
        self.enqueue()

    def close(self) -> None: ...


class Recording(BundleRuntime):
    """Keeps the launches of a bundle, and its heap, so that they can be repeated."""

    recorded: list[tuple[int, Size3, Size3, int, PackedArguments]]

    def publish(self, calls: Any) -> None:
        self.recorded = []
        self.destroy_heap, self.heap.destroy = self.heap.destroy, lambda: None
        super().publish(calls)

    def launch(self, number: int, *sizes_and_arguments: int) -> None:
        *sizes, shared, arguments = sizes_and_arguments
        kernel, widths = self._launches[number]
        given, grid, block = arguments_at(arguments, widths), Size3(*sizes[:3]), Size3(*sizes[3:])
        self.recorded.append((kernel.handle, grid, block, shared, PackedArguments(given)))
        self.device.launch(kernel, grid, block, shared, given)
        self.device.synchronize()


class OurWork(Work):
    """A bundle: the launch that is timed is the collective; what is by bandwidth has copies before and after it."""

    def __init__(self, place: Place, case: Case, bundle: Path):
        device, ranks = place.device, case.ranks
        manifest = read_manifest(bundle)
        self.runtime = Recording(bundle, manifest, place.world, device, HostContext(manifest.context_bytes))  # pyright: ignore
        rows = case.size // case.part_bytes if case.kind in ("all_gather", "all_to_all") else 1
        source, result = device.allocate(case.sent_bytes), device.allocate(case.result_bytes)
        # of all rows a rank reads its own
        first_row = source - place.world.rank * case.sent_bytes
        shapes = [(first_row, (ranks, case.sent_bytes // 4)), (result, (rows, case.result_bytes // 4 // rows))]
        parts = list[int]()
        for (address, shape), parameter in zip(shapes, manifest.parameters, strict=False):
            strides = [(shape[1], 1)[dimension] for dimension in parameter.dynamic_strides]
            parts += [address, 4 * shape[0] * shape[1], 0, *shape, *strides]
        start = ctypes.CFUNCTYPE(ctypes.c_int64, *[c_uint64] * 3)(self.runtime.code.address(manifest.start))
        self.runtime.run(start, [*parts, ROOT], manifest.results)
        launches = self.runtime.recorded
        timed = launches[len(launches) // 2]
        super().__init__(place, case, lambda: place.launch(*timed), source, result)

    def _whole(self) -> None:
        for launch in self.runtime.recorded:
            self.place.launch(*launch)

    def close(self) -> None:
        self.runtime.destroy_heap()
        self.place.device.free(self.source)
        self.place.device.free(self.result)


class Peers(ctypes.Structure):
    """As in `collectives.cu`."""

    _fields_ = [
        *((name, c_uint64 * MOST_RANKS) for name in ("send", "receive", "flags", "places")),
        ("turn", c_uint64),
        ("me", c_int),
        ("root", c_int),
    ]


class ByHand:
    """Kernels of `collectives.cu`, and copies by the driver, on one heap."""

    def __init__(self, place: Place):
        self.place, self.world = place, place.world
        starts = np.cumsum([0, BUFFER_BYTES, BUFFER_BYTES, FLAGS_BYTES, PLACES_BYTES])
        self.heap = place.device.make_heap(int(starts[-1]) + 4096)
        self.kernels = place.driver.load_module((place.folder / "collectives.cubin").read_bytes())
        self.arrays = [[base + int(start) for base in self.heap.bases] for start in starts]
        send, receive, flags, places, turns = self.arrays
        of_all = [(c_uint64 * MOST_RANKS)(*array) for array in (send, receive, flags, places)]
        self.peers = Peers(*of_all, turns[self.world.rank], self.world.rank, ROOT)
        self.events = [place.driver.handle("cuEventCreate", 2) for _ in range(1 + MOST_RANKS)]
        self.streams = [place.driver.handle("cuStreamCreate", 1) for _ in range(MOST_RANKS)]

    def kernel(self, name: str, grid: int, block: int, count: int) -> Callable[[], None]:
        handle = self.place.driver.handle("cuModuleGetFunction", self.kernels, name.encode())
        packed = PackedArguments([bytes(self.peers), count.to_bytes(8, "little")])
        return lambda: self.place.launch(handle, Size3(grid), Size3(block), 0, packed)

    def work(self, case: Case, enqueue: Callable[[], None]) -> Work:
        rank = self.world.rank
        return Work(self.place, case, enqueue, self.arrays[0][rank], self.arrays[1][rank])

    def small(self, case: Case) -> Work:
        kernel = f"small_{case.kind}_{case.ranks}"
        return self.work(case, self.kernel(kernel, 1, 32 * case.ranks, case.part_bytes // 4))

    def large(self, case: Case, blocks: int, depth: int) -> Work:
        kernel = f"{case.kind}_{case.ranks}_{depth}"
        return self.work(case, self.kernel(kernel, UNITS // case.ranks * blocks, THREADS, case.part_bytes // 16))

    def copies(self, case: Case) -> Work | None:
        """Each rank writes to all that want what it has; the driver does not add."""
        rank, part = self.world.rank, case.part_bytes
        send, receive, *_ = self.arrays
        match case.kind:
            case "all_gather":
                pairs = [(there + rank * part, send[rank]) for there in receive]
            case "broadcast":
                pairs = [(there, send[rank]) for there in receive] if rank == ROOT else []
            case "all_to_all":
                pairs = [(there + rank * part, send[rank] + other * part) for other, there in enumerate(receive)]
            case _:
                return None
        pairs = pairs[rank:] + pairs[:rank]
        meet, driver, stream = self.kernel(f"meet_{case.ranks}", 1, 32, 0), self.place.driver, self.place.stream

        def enqueue() -> None:
            meet()
            driver.call("cuEventRecord", self.events[0], stream)
            for (to, source), lane, event in zip(pairs, self.streams, self.events[1:], strict=False):
                driver.call("cuStreamWaitEvent", lane, self.events[0], 0)
                driver.call("cuMemcpyDtoDAsync_v2", to, source, part, lane)
                driver.call("cuEventRecord", event, lane)
                driver.call("cuStreamWaitEvent", stream, event, 0)
            meet()

        return self.work(case, enqueue)


class UniqueIdArguments(ctypes.Structure):
    _fields_ = [("version", c_int), ("id", c_void_p), ("rank", c_int), ("ranks", c_int)]


class InitArguments(ctypes.Structure):
    _fields_ = [("version", c_int), ("unique", UniqueIdArguments), ("content", ctypes.c_char * 96)]


class InitAttributes(ctypes.Structure):
    """`nvshmemx_init_attr_t` of NVSHMEM 3."""

    _fields_ = [("version", c_int), ("communicator", c_void_p), ("arguments", InitArguments)]


WITH_UNIQUE_ID = 1 << 3
UNIQUE_ID_BYTES = 128
TEAM_WORLD = 0


def versioned(size: int) -> int:
    """A version and a size, as NVSHMEM begins its structures."""
    return (1 << 16) + size


def find_nvshmem() -> Path | None:
    """Its library for hosts."""
    places = [Path(place) / "nvidia/nvshmem/lib" for place in sys.path]
    found = [lib for place in places for lib in sorted(place.glob("libnvshmem_host.so*"))]
    return found[0] if found else None


class Nvshmem:
    """Its collectives on a stream, with arrays in its heap."""

    def __init__(self, place: Place, library: Path):
        self.place, world = place, place.world
        self.library = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        unique = ctypes.create_string_buffer(UNIQUE_ID_BYTES)
        ctypes.memmove(unique, versioned(UNIQUE_ID_BYTES).to_bytes(4, "little"), 4)
        if world.rank == 0:
            self._checked("nvshmemx_get_uniqueid", unique)
        # its bytes are those of rank 0
        ctypes.memmove(unique, world.exchange(unique.raw)[0], UNIQUE_ID_BYTES)
        attributes = InitAttributes(versioned(ctypes.sizeof(InitAttributes)))
        attributes.arguments.version = versioned(ctypes.sizeof(InitArguments))
        attributes.arguments.unique.version = versioned(ctypes.sizeof(UniqueIdArguments))
        at = ctypes.byref(attributes)
        self._checked("nvshmemx_set_attr_uniqueid_args", world.rank, world.size, unique, at)
        self._checked("nvshmemx_hostlib_init_attr", WITH_UNIQUE_ID, at)
        self.library.nvshmem_malloc.restype = c_void_p
        self.source, self.result = (self.library.nvshmem_malloc(c_size_t(BUFFER_BYTES)) for _ in range(2))
        assert self.source and self.result, "nvshmem_malloc gave nothing"

    def _checked(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise DriverError(f"{name}: {status}")

    def work(self, case: Case) -> Work:
        name, last = {
            "all_gather": ("float_fcollect", ()),
            "broadcast": ("float_broadcast", (c_int(ROOT),)),
            "all_to_all": ("float_alltoall", ()),
            "reduce_scatter": ("float_sum_reducescatter", ()),
            "all_reduce": ("float_sum_reduce", ()),
        }[case.kind]
        arguments = [c_int(TEAM_WORLD), c_void_p(self.result), c_void_p(self.source), c_size_t(case.part_bytes // 4)]
        call = partial(self._checked, f"nvshmemx_{name}_on_stream", *arguments, *last, c_void_p(self.place.stream))
        return Work(self.place, case, call, self.source, self.result)
