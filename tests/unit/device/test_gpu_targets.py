"""Limits of GPUs, as their makers give them."""

from __future__ import annotations

import pytest

from tilewright.device.gpu_targets import DEFAULT_AMD, DEFAULT_NVIDIA, GPU_TARGETS, Vendor


@pytest.mark.parametrize(
    "chip, wave_size, shared_bytes, threads",
    [
        pytest.param("gfx942", 64, 65536, 1024, id="MI300"),
        pytest.param("gfx950", 64, 163840, 1024, id="MI350: 160 KiB of LDS"),
        pytest.param("gfx1100", 32, 65536, 1024, id="RDNA 3"),
        pytest.param("sm_90", 32, 232448, 1024, id="H200: what a launch may ask for"),
    ],
)
def test_limits(chip: str, wave_size: int, shared_bytes: int, threads: int):
    target = GPU_TARGETS[chip]
    assert (target.wave_size, target.shared_bytes, target.max_block_threads) == (wave_size, shared_bytes, threads)


def test_a_block_holds_whole_waves():
    assert all(target.max_block_threads % target.wave_size == 0 for target in GPU_TARGETS.values())


def test_defaults_are_of_their_vendor():
    assert GPU_TARGETS[DEFAULT_AMD].vendor is Vendor.AMD
    assert GPU_TARGETS[DEFAULT_NVIDIA].vendor is Vendor.NVIDIA
