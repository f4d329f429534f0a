"""Limits of a target, against what a launch needs."""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr

from tilewright.device.gpu_targets import GpuTarget, Vendor
from tilewright.gpu.device import Size3
from tilewright.gpu.emulator.plan import Plan
from tilewright.ir.diagnostics import fail
from tilewright.ir.run_errors import Fault

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
    private = sum(buffer.elements * buffer.kind.bytes for buffer in program.private)
    if private > target.max_thread_bytes:
        fail(
            program.where,
            f"kernel @{program.name} needs {private} bytes of private memory for a thread;"
            f" {target.chip} has {target.max_thread_bytes}",
            (program.where, "make the buffers of memory space L1 (private) smaller, or share them in a block"),
        )


def spilled_bytes(plan: Plan, target: GpuTarget) -> int:
    """Private memory that cannot be in registers even if a thread had nothing else there."""
    private = sum(buffer.elements * buffer.kind.bytes for buffer in plan.program.private)
    return max(0, private - target.max_thread_registers * REGISTER_BYTES)


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


def resident_blocks(target: GpuTarget, block_waves: int, lds_bytes: int) -> int:
    """How many blocks a GPU holds at the same time."""
    by_waves = max(1, target.unit_waves // block_waves)
    by_shared = max(1, target.unit_shared_bytes // lds_bytes) if lds_bytes else by_waves
    return target.compute_units * min(by_waves, by_shared, target.unit_blocks)
