"""A profile as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.device.gpu_targets import MEMORY_SHAPES, PEAKS, Vendor
from tilewright.gpu.emulator.operation_kinds import KINDS
from tilewright.gpu.profile import GLOBAL, SHARED, KernelProfile, Profile
from tilewright.report.markup import percent, size
from tilewright.report.summary import duration

MOST_LINES = 8
"""Hot lines of a kernel that are shown."""
REMARK = "counts are exact; steps are the emulator's, one for each operation of a wave: no time was measured"


def profile_text(profile: Profile) -> str:
    """All kernels, one after the other."""
    lines = [line for kernel in profile.kernels for line in (*_kernel(profile, kernel), "")]
    return "\n".join([*lines, REMARK if lines else "no kernel was launched"])


def occupancy_text(kernel: KernelProfile) -> str:
    """How many waves a unit holds, and why no more."""
    found, unit = kernel.occupancy, "compute unit" if kernel.target.vendor is Vendor.AMD else "multiprocessor"
    taken = "registers not known" if kernel.registers is None else f"{kernel.registers} registers a thread"
    shared = f"{size(kernel.launches.shared_bytes)} of shared memory a block"
    limit = "" if found.waves == found.most else f", limited by {found.limit}"
    return f"{found.waves} of {found.most} waves on a {unit} ({percent(found.share)}){limit}; {taken}, {shared}"


def global_text(kernel: KernelProfile) -> str:
    """Bytes of global memory, and how well accesses of lanes fall together."""
    total, line = kernel.space(GLOBAL), MEMORY_SHAPES[kernel.target.chip].transaction_bytes
    if not total.accesses:
        return "no accesses"
    served = f"{total.served:,} transactions of {line} B, {total.least:,} at the least ({percent(total.efficiency)})"
    return f"{size(total.bytes)} asked for in {served}; {size(kernel.least_bytes)} are different"


def shared_text(kernel: KernelProfile) -> str:
    """Bytes of memory of blocks, and how often lanes meet in a bank."""
    total = kernel.space(SHARED)
    if not total.accesses:
        return "no accesses"
    lost = total.served - total.least
    conflicts = f"{lost:,} of them lost to bank conflicts" if lost else "no bank conflicts"
    return f"{size(total.bytes)} in {total.served:,} turns of the banks, {conflicts}"


def roof_text(kernel: KernelProfile) -> str:
    """What bounds it, on the product that the target stands for."""
    peaks, times = PEAKS[kernel.target.chip], kernel.least_seconds
    if not kernel.flops and not kernel.least_bytes:
        return "nothing is computed or moved"
    intensity = f"{kernel.flops / kernel.least_bytes:.3g} flop/B" if kernel.least_bytes else "no bytes"
    roof = kernel.roofs[0] if kernel.roofs and kernel.bound == "compute" else None
    most = f"{roof.tflops:g} Tflop/s of {roof.name}" if roof else f"{peaks.memory_gbs:g} GB/s"
    return f"{intensity}; bound by {kernel.bound}: at least {duration(times[kernel.bound])} on {peaks.product} ({most})"


def _kernel(profile: Profile, kernel: KernelProfile) -> Iterator[str]:
    launches = kernel.launches
    count = f"{launches.launches} launch{'es' * (launches.launches != 1)}"
    grid, block = (" x ".join(map(str, shape)) for shape in (launches.grid, launches.block))
    yield f"kernel @{kernel.name}: {count}, {grid} blocks of {block} threads, {kernel.target.chip}"
    yield f"  occupancy      {occupancy_text(kernel)}"
    yield f"  global memory  {global_text(kernel)}"
    yield f"  shared memory  {shared_text(kernel)}"
    for name, flops in launches.flops.most_common():
        yield f"  computed       {flops:,} flop, {name if ' ' in name else f'lanes, {name}'}"
    yield f"  roofline       {roof_text(kernel)}"
    waited = launches.waited_steps / launches.wave_steps if launches.wave_steps else 0.0
    yield (
        f"  steps          {launches.steps:,}; waves wait at barriers for {percent(waited)} of theirs,"
        f" {percent(kernel.active_lanes)} of lanes are active"
    )
    mix = [f"{kind} {percent(launches.kinds[kind] / launches.operations)}" for kind in KINDS if launches.kinds[kind]]
    yield f"  operations     {launches.operations:,} of waves: {', '.join(mix)}"
    for place, line in kernel.hot_lines()[:MOST_LINES]:
        share = percent(line.operations / max(launches.operations, 1))
        where = f"{place[0].rsplit('/', 1)[-1]}:{place[1]}" if place[1] else "no line"
        moved = "".join(f", {space} {size(count)}" for space in (GLOBAL, SHARED) if (count := line.space(space).bytes))
        yield f"    {share:>6}  {where}{moved}  {profile.line_text(place)}"
