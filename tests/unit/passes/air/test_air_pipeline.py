"""Whole programs through all passes: mlir-opt takes what comes out, prints it alike, and compiles it for either GPU."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from air_channel_programs import all_to_all, allgather
from air_programs import MATMUL, channel_program, tile_copy
from helpers import lowered, mlir_opt, needs_mlir_opt

from tilewright.ir.printer import module_text

pytestmark = needs_mlir_opt

CHAINS = {
    "gfx942": ("air-to-rocdl{chip=gfx942}", "convert-gpu-to-rocdl{chipset=gfx942 runtime=HIP}"),
    "gfx1100": ("air-to-rocdl{chip=gfx1100}", "convert-gpu-to-rocdl{chipset=gfx1100 runtime=HIP}"),
    "sm_90": ("air-to-nvvm{chip=sm_90}", "convert-gpu-to-nvvm"),
}
PROGRAMS = {
    "tiles": tile_copy(8, 8, waves=4),
    "product": MATMUL,
    "messages in place": channel_program(3),
    "ordered messages": replace(all_to_all(4, (3, 5), "bf16", {}), waves=2).text(),
    "messages in lines": replace(allgather(4, (9,), "f16", {"protocol": '"line"'}), is_sized_at_run_time=True).text(),
}


def outlined(program: str, chip: str) -> str:
    """Host code and kernels, without the memory space that MLIR does not know."""
    channel = f"air-gpu-channel-to-cacheline{{chip={chip}}}"
    chain = (channel, "air-rank-to-mgpu", "air-translate-to-llvm", CHAINS[chip][0], "air-gpu-outlining")
    return module_text(lowered(PROGRAMS[program], *chain)).replace(", #air.symmetric_heap", "")


@pytest.mark.parametrize("chip", CHAINS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_mlir_takes_the_program_and_compiles_its_kernels(program: str, chip: str):
    text = outlined(program, chip)
    assert mlir_opt(text).strip() == text.strip()
    steps = f"convert-scf-to-cf,{CHAINS[chip][1]},reconcile-unrealized-casts"
    compiled = mlir_opt(text, f"--pass-pipeline=builtin.module(gpu.module({steps}))")
    assert not re.search(r"unrealized_conversion_cast|gpu\.func|memref\.", compiled[compiled.index("gpu.module") :])


@pytest.mark.parametrize("program", PROGRAMS)
def test_our_lowering_of_kernels_leaves_what_mlir_can_finish(program: str):
    chain = ("air-gpu-channel-to-cacheline", "air-rank-to-mgpu", "air-translate-to-llvm", "air-to-rocdl")
    module = lowered(
        PROGRAMS[program], *chain, "air-gpu-outlining", "convert-gpu-to-rocdl", "reconcile-unrealized-casts"
    )
    text = module_text(module).replace(", #air.symmetric_heap", "")
    finished = mlir_opt(text, "--pass-pipeline=builtin.module(gpu.module(convert-to-llvm,reconcile-unrealized-casts))")
    device_code = finished[finished.index("gpu.module") :]
    assert "llvm.func" in device_code
    assert not re.search(r"unrealized_conversion_cast|gpu\.func|memref\.|arith\.", device_code)
