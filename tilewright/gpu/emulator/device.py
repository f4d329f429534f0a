"""A GPU in this process: memory, kernels as plans, launches within the limits of a target that run to their end."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from tilewright.device.gpu_targets import GpuTarget, Vendor
from tilewright.device.tensor_maps import MAP_BYTES, TensorMap
from tilewright.dialects.gpu.kernels import GPUFuncOp, GPUModuleOp
from tilewright.errors import ArgumentError, UnknownNameError
from tilewright.gpu.device import DeviceError, DeviceOptions, Heap, KernelModule, Size3, World, whole_number
from tilewright.gpu.emulator.access_model import AccessModel, Mode
from tilewright.gpu.emulator.copy_engine import tensor_map
from tilewright.gpu.emulator.grid import ClusteredGrid
from tilewright.gpu.emulator.launch import Launch
from tilewright.gpu.emulator.memory import Memory, MemoryRange
from tilewright.gpu.emulator.plan import Plan, make_plan
from tilewright.gpu.emulator.program import Register
from tilewright.gpu.emulator.turns import FreeTurns, SharedTurns, SingleRankTurns, Turns
from tilewright.gpu.profile import LaunchProfile, full_name
from tilewright.ir.diagnostics import DiagnosedError, fail
from tilewright.ir.run_errors import Fault

DEFAULT_MEMORY_BYTES, MOST_MEMORY_BYTES = 1 << 30, 1 << 46
CHOICES = {"reorder": ("off", "on"), "check": ("off", "races")}
MEMORY = "memory"


@dataclass(frozen=True)
class Settings:
    """What a run may ask for."""

    reorder: bool = False
    check: bool = False
    memory: int = DEFAULT_MEMORY_BYTES

    @classmethod
    def of(cls, written: Mapping[str, str]) -> Settings:
        """Settings by their names; `UnknownNameError` or `ArgumentError` for others."""
        for name, value in written.items():
            if name == MEMORY:
                continue
            if name not in CHOICES:
                known = ", ".join((*CHOICES, MEMORY))
                raise UnknownNameError(f"the emulator knows no setting '{name}'; it has {known}")
            if value not in CHOICES[name]:
                known = " or ".join(CHOICES[name])
                raise ArgumentError(f"setting '{name}' of the emulator is {known}, not '{value}'")
        # from Python it may be a number already
        text = written.get(MEMORY, str(DEFAULT_MEMORY_BYTES))
        size: object = int(text) if str(text).isdecimal() else text
        memory = whole_number(f"setting '{MEMORY}' of the emulator", size, 1, MOST_MEMORY_BYTES)
        return cls(written.get("reorder") == "on", written.get("check") == "races", memory)


Plans = dict[tuple[GpuTarget, int, bool, bool], Plan]
PLANS: WeakKeyDictionary[GPUFuncOp, Plans] = WeakKeyDictionary()
"""By kernel, then by the chip, the lanes of a wave, and whether an access model and a profiler watch."""


def kernel_plan(function: GPUFuncOp, target: GpuTarget, wave_size: int, careful: bool, profiled: bool) -> Plan:
    """A kernel's plan, made once; an error if the emulator cannot run it, or the chip cannot hold it."""
    plans, key = PLANS.setdefault(function, {}), (target, wave_size, careful, profiled)
    # a program without an access model has fewer and larger blocks
    if key not in plans:
        plan = make_plan(function, wave_size, careful, profiled)
        check_kernel(plan, target)
        plans[key] = plan
    return plans[key]


@dataclass(eq=False)
class EmulatedKernel:
    """A kernel of a device."""

    function: GPUFuncOp
    device: EmulatorDevice

    @property
    def name(self) -> str:
        return self.function.symbol

    @property
    def full_name(self) -> str:
        """With that of its module, which several kernels of one name may be in."""
        module = self.function.parent_op()
        return full_name(module.sym_name.data, self.name) if isinstance(module, GPUModuleOp) else self.name

    def plan(self, careful: bool) -> Plan:
        device = self.device
        return kernel_plan(self.function, device.target, device.wave_size, careful, device.profiles is not None)


class EmulatorDevice:
    """The `Device` of one rank. Its scheduler decides by the seed alone who has a turn."""

    def __init__(
        self,
        target: GpuTarget,
        wave_size: int | None = None,
        seed: int = 0,
        reorder: bool = False,
        check: bool = False,
        world: World | None = None,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
        profile: bool = False,
    ):
        self.target, self.wave_size = target, wave_size or target.wave_size
        self.world = world if world is not None and world.size > 1 else None
        rank = self.world.rank if self.world is not None else 0
        # another order on each rank, from one seed
        self.chance = random.Random(seed * 1_000_003 + rank)
        self.memory, self.memory_bytes = Memory(), memory_bytes
        # a list, so that all groups count in the same place
        self.changes = [0]
        modes = (Mode.REORDER if reorder else Mode(0)) | (Mode.RACES if check else Mode(0))
        folder = self.world.folder if self.world is not None else None
        self.access = AccessModel(self.memory, self.chance, modes, self.changes, rank, folder) if modes else None
        self.turns: Turns = self._turns(seed)
        self.kernels: list[EmulatedKernel] = []
        self.profiles: list[LaunchProfile] | None = [] if profile else None
        self._counters: dict[str, int] = dict.fromkeys(COUNTERS, 0)

    def _turns(self, seed: int) -> Turns:
        if self.world is None:
            return SingleRankTurns()
        if self.world.folder is None:
            return FreeTurns()
        turns = SharedTurns(self.world.folder, self.world.rank, self.world.size, seed)
        # each rank has made its pipe before any writes to one
        self.world.barrier()
        turns.begin()
        return turns

    def allocate(self, size_bytes: int, host_shared: bool = False) -> int:
        if self.memory.owned_bytes + size_bytes > self.memory_bytes:
            raise DeviceError(
                f"asks for {size_bytes} bytes of device memory; of {self.memory_bytes} that the emulator gives, "
                f"{self.memory.owned_bytes} are in use (--set {MEMORY}=BYTES gives more)"
            )
        number = self._counters["allocations"] = self._counters["allocations"] + 1
        return self.memory.allocate(size_bytes, f"allocation {number}, {size_bytes} bytes").base

    def free(self, address: int) -> None:
        found = self.memory.find(address)
        if found is None or found.base != address:
            raise DeviceError(f"address {address:#x} was not allocated, or has been freed")
        self.memory.remove(address)

    def copy(self, to: int, source: int, size_bytes: int) -> None:
        origin = self._within(source, size_bytes, "from")
        if origin is not None and origin.remote is not None:
            self._write(to, origin.remote.read(source, size_bytes))
        else:
            self._write(to, ctypes.string_at(source, size_bytes))

    def fill(self, address: int, pattern: bytes, count: int) -> None:
        self._write(address, pattern * count)

    def _write(self, address: int, data: bytes) -> None:
        target = self._within(address, len(data), "to")
        if target is not None and target.remote is not None:
            target.remote.write(address, data)
        else:
            ctypes.memmove(address, data, len(data))
        self.changes[0] += 1

    def _within(self, address: int, size_bytes: int, way: str) -> MemoryRange | None:
        """The range of the device that some bytes are in; None if they are the host's."""
        found = self.memory.find(address)
        if found is not None and address + size_bytes > found.base + found.size:
            start = address - found.base
            raise DeviceError(f"{size_bytes} bytes {way} byte {start} of {found.name}, are too many")
        return found

    def make_heap(self, size_bytes: int) -> Heap:
        if self.world is None:
            return Heap(size_bytes, (self.memory.add_cleared(size_bytes, "symmetric heap").base,))
        with self.waiting():
            heap = self.world.make_heap(size_bytes)
        for rank, base in enumerate(heap.bases):
            remote = heap.remote if rank in heap.remote_ranks else None
            self.memory.add(base, size_bytes, f"symmetric heap of rank {rank}", remote, heap.remote)
            if self.access is not None:
                self.access.history.heaps.append((base, size_bytes))
        return heap

    def drop_heap(self, heap: Heap) -> None:
        # before ranks give the memory back
        for base in heap.bases:
            self.memory.remove(base)
        if self.access is not None:
            self.access.history.heaps.clear()
        if self.world is not None:
            with self.waiting():
                self.world.drop_heap(heap)

    def tensor_map(self, about: TensorMap) -> bytes:
        if (fault := self.target.copy_engine_fault()) is not None:
            raise DeviceError(f"has {fault}")
        return tensor_map(about)

    def load(self, module: GPUModuleOp) -> KernelModule[EmulatedKernel]:
        found = [op for op in module.body.block.ops if isinstance(op, GPUFuncOp) and op.is_kernel]
        kernels = {op.symbol: EmulatedKernel(op, self) for op in found}
        self.kernels += kernels.values()
        return KernelModule(kernels)

    def launch(
        self,
        kernel: Any,
        grid: Size3,
        block: Size3,
        shared_bytes: int,
        arguments: Sequence[bytes],
        where: LocationAttr | None = None,
    ) -> None:
        assert isinstance(kernel, EmulatedKernel)
        plan = kernel.plan(self.access is not None)
        grid, block = Size3(*grid), Size3(*block)
        check_launch(plan, self.target, grid, block, shared_bytes, where)
        clusters = ClusteredGrid(grid, Size3(*plan.program.cluster))
        with self._in_memory(plan, arguments) as given:
            launch = Launch(self, plan, clusters, block, shared_bytes, _bound(plan, given), kernel.full_name)
            clusters.check(self.target, launch.resident_blocks, where if where is not None else plan.program.where)
            launch.run()
        self._count(launch)
        if self.profiles is not None and launch.profiler is not None:
            self.profiles.append(launch.profiler.result())

    @contextmanager
    def _in_memory(self, plan: Plan, arguments: Sequence[bytes]) -> Generator[list[bytes]]:
        """Arguments with addresses of tensor maps in place of these, which are in memory meanwhile."""
        found, placed = list(arguments), list[int]()
        for number, (register, data) in enumerate(zip(plan.program.arguments, arguments, strict=False)):
            if register in plan.program.tensor_maps:
                if len(data) != MAP_BYTES:
                    raise DeviceError(f"kernel @{plan.name} gets {len(data)} bytes for a tensor map of {MAP_BYTES}")
                placed.append(self.memory.allocate(MAP_BYTES, "tensor map").base)
                ctypes.memmove(placed[-1], data, MAP_BYTES)
                found[number] = placed[-1].to_bytes(8, "little")
        try:
            yield found
        finally:
            for address in placed:
                self.memory.remove(address)

    def all_plans(self) -> list[Plan]:
        """Plans of all kernels, also of those that only other ranks run; without those that cannot be run."""
        plans = list[Plan]()
        for kernel in self.kernels:
            # a report must not fail because of a kernel that is not launched
            with suppress(DiagnosedError):
                plans.append(kernel.plan(self.access is not None))
        return plans

    def _count(self, launch: Launch) -> None:
        counted = {"launches": 1, "blocks": launch.blocks, "waves": launch.blocks * launch.block_waves}
        counted |= launch.totals()
        for name, number in counted.items():
            self._counters[name] += number
        spilled = spilled_bytes(launch.plan, self.target)
        self._counters["spilled_bytes"] = max(spilled, self._counters["spilled_bytes"])

    def synchronize(self) -> None:
        """Launches run to their end at once."""

    def waiting(self) -> AbstractContextManager[None]:
        return self.turns.waiting()

    def counters(self) -> Mapping[str, int]:
        return dict(self._counters)

    def profile(self) -> Sequence[LaunchProfile]:
        return self.profiles or ()

    def close(self) -> None:
        self.turns.leave()


COUNTERS = (
    *("launches", "blocks", "waves", "barriers", "lane_operations", "bytes_loaded", "bytes_stored", "atomics"),
    *("allocations", "spilled_bytes"),
)
"""What is counted; spilled bytes are those of the thread that has most of them."""


def _bound(plan: Plan, arguments: Sequence[bytes]) -> list[tuple[Register, Any]]:
    """Registers of parameters, with what was passed."""
    expected = plan.program.arguments
    if len(arguments) != len(expected):
        raise DeviceError(
            f"kernel @{plan.name} takes {len(expected)} flattened parameters, but {len(arguments)} were passed"
        )
    bound = list[tuple[Register, Any]]()
    for register, data in zip(expected, arguments, strict=True):
        if register is None:
            continue
        # what is longer is cut to the type
        if len(data) < register.kind.bytes:
            raise DeviceError(f"kernel @{plan.name} gets {len(data)} bytes for %{register.name}, too few for its type")
        value = np.frombuffer(data[: register.kind.bytes], register.kind.dtype)[0]
        bound.append((register, value if register.kind.is_float else value.item()))
    return bound


def prepare(kernels: Iterable[GPUFuncOp], options: DeviceOptions) -> None:
    """Check settings, and make the plans of kernels."""
    settings = Settings.of(options.settings)
    for kernel in kernels:
        kernel_plan(kernel, options.target, options.wave_size, settings.reorder or settings.check, options.profile)


def open_device(world: World, options: DeviceOptions) -> EmulatorDevice:
    """The emulator as a backend."""
    settings = Settings.of(options.settings)
    return EmulatorDevice(
        options.target,
        options.wave_size,
        options.seed,
        reorder=settings.reorder,
        check=settings.check,
        world=world,
        memory_bytes=settings.memory,
        profile=options.profile,
    )


REGISTER_BYTES = 4


def check_kernel(plan: Plan, target: GpuTarget) -> None:
    """Whether the buffers of a kernel fit, before it is launched."""
    program = plan.program
    shared = "LDS" if target.vendor is Vendor.AMD else "shared memory"
    if program.lds_bytes > target.shared_bytes:
        notes = [(program.where, f"%{name} begins at byte {start}") for start, name in program.lds_names]
        fail(
            program.where,
            f"kernel @{program.name} needs {program.lds_bytes} bytes of {shared} for a block;"
            f" {target.chip} has {target.shared_bytes}",
            *notes,
            (program.where, "make the tiles of memory space L2 (workgroup) smaller"),
        )
    private = program.private_bytes
    if private > target.max_thread_bytes:
        fail(
            program.where,
            f"kernel @{program.name} needs {private} bytes of private memory for a thread;"
            f" {target.chip} has {target.max_thread_bytes}",
            (program.where, "make the buffers of memory space L1 (private) smaller, or share them in a block"),
        )


def spilled_bytes(plan: Plan, target: GpuTarget) -> int:
    """Private memory that cannot be in registers even if a thread had nothing else there."""
    return max(0, plan.program.private_bytes - target.max_thread_registers * REGISTER_BYTES)


def check_launch(
    plan: Plan, target: GpuTarget, grid: Size3, block: Size3, shared_bytes: int, where: LocationAttr | None
) -> None:
    """Whether a grid of such blocks can be started."""
    place = where if where is not None else plan.program.where
    threads = block.x * block.y * block.z
    if min(*grid, *block) < 1:
        raise Fault(
            f"kernel @{plan.name} is launched with a grid of {tuple(grid)} and blocks of {tuple(block)}: both must be"
            " at least 1 in every dimension",
            place,
        )
    if threads > target.max_block_threads:
        most = target.max_block_threads // target.wave_size
        note = f"a herd of at most {most} tiles fits into a block: one wave of {target.wave_size} lanes for each"
        raise Fault(
            f"a block of {' x '.join(map(str, block))} = {threads} threads; {target.chip} takes at most"
            f" {target.max_block_threads}",
            place,
            [(place, note)],
        )
    for name, size, most in zip("xyz", grid, target.max_grid, strict=True):
        if size > most:
            raise Fault(f"a grid of {size} blocks in {name}; {target.chip} takes at most {most}", place)
    total = plan.program.lds_bytes + shared_bytes
    if total > target.shared_bytes:
        raise Fault(
            f"{total} bytes of shared memory for a block, {shared_bytes} of them asked for at the launch;"
            f" {target.chip} has {target.shared_bytes}",
            place,
        )
