"""Compiled kernels as devices load them, and what is checked before a launch. Needs nothing but Python."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tilewright.device.gpu_targets import GpuTarget
from tilewright.gpu.device import DeviceError, DeviceOptions, Size3, World
from tilewright.native.kernel_facts import KernelFacts


@dataclass(frozen=True)
class LoadableCode:
    """PTX or a code object, and the kernels in it."""

    data: bytes
    kernels: tuple[KernelFacts, ...]


def check_launch(
    facts: KernelFacts, block: Size3, shared_bytes: int, arguments: Sequence[bytes], target: GpuTarget, wave_size: int
) -> None:
    """Refuse what the GPU would refuse, or do wrong, with words that help."""
    name, threads = f"@{facts.name}", prod(block)
    sizes = tuple(map(len, arguments))
    if sizes != facts.parameters:
        raise DeviceError(f"{name} takes parameters of {facts.parameters} bytes and is given {sizes}")
    if facts.block is not None and facts.block != tuple(block):
        raise DeviceError(f"{name} was compiled for blocks of {_shown(facts.block)} threads, not {_shown(block)}")
    if threads > target.max_block_threads:
        raise DeviceError(
            f"{name} is launched with {threads} threads per block; {target.chip} has at most {target.max_block_threads}"
        )
    if facts.waves is not None and threads > facts.waves * wave_size:
        raise DeviceError(
            f"{name} exchanges values in waves of {wave_size} lanes, of which a block of {target.chip} can have "
            f"{facts.waves}; it is launched with {threads} threads: use smaller blocks, or --wave-size "
            f"{target.wave_size}"
        )
    needed = facts.shared_bytes + shared_bytes
    if needed > target.shared_bytes:
        raise DeviceError(
            f"{name} needs {needed} bytes of shared memory; a block of {target.chip} has {target.shared_bytes}"
        )


class Packed:
    """Arguments of a launch as drivers take them: an array of the places where they are."""

    def __init__(self, arguments: Sequence[bytes]):
        self._buffers = [ctypes.create_string_buffer(data, len(data)) for data in arguments]
        self.places = (ctypes.c_void_p * max(len(self._buffers), 1))(*map(ctypes.addressof, self._buffers))


def check_settings(name: str, options: DeviceOptions) -> None:
    """Refuse settings that devices with drivers do not know."""
    unknown = set(options.settings) - {SHARE}
    if unknown:
        raise DeviceError(f"{name} has no setting {', '.join(sorted(unknown))}; there is {SHARE}")


def choose_gpu(world: World, count: int, options: DeviceOptions) -> int:
    """The number of the GPU of a rank: one for each, or one for several if that is asked for."""
    if world.size > count:
        shared = f"{world.size} ranks and {count} GPU{'s' if count > 1 else ''}"
        if options.settings.get(SHARE) != "yes":
            raise DeviceError(
                f"{shared}: ranks on one GPU do not talk over the links between GPUs, so that a pass says less; "
                f"run them all the same with --set {SHARE}=yes"
            )
        if world.rank == 0:
            print(f"{shared}: ranks share a GPU, nothing is said about links between GPUs", file=sys.stderr, flush=True)
    return world.rank % count


SHARE = "share-gpu"
"""The setting that lets several ranks use the same GPU."""


def _shown(size: Sequence[int]) -> str:
    return " x ".join(map(str, size))
