"""Compiles everything that bench/gpu/run.py runs, on a machine that needs no GPU: `python bench/gpu/build.py DIR`.

Products of matrices are those of the library: `bench/gpu/python_programs.py` builds and times them. Bundles of AIR
programs come from `tilewright air compile`; the CUDA to compare with from nvcc, here if there is one, else where it
runs. AIR programs of others are compiled too if the environment's UPSTREAM names the folder that holds them (mlir-air's
test/gpu).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from messages import all_to_all_writes, round_trips, weakened_exchanges

from tilewright.cli.main import main

CHIP = "sm_90"
ROUNDS = 100_000
RANKS, MESSAGE_WORDS, BLOCKS, REPEATS = 4, 1 << 24, 264, 20
HERE = Path(__file__).parent
UPSTREAM = {
    "handwritten_cacheline": ("multi_gpu/handwritten/cacheline.mlir", 64),
    "handwritten_atomic": ("multi_gpu/handwritten/atomic.mlir", 64),
    "handwritten_allgather": ("multi_gpu/handwritten/allgather.mlir", 64),
    "air_rank_cacheline": ("multi_gpu/air_rank/cacheline.mlir", 64),
    "air_rank_allgather": ("multi_gpu/air_rank/allgather.mlir", 64),
    "air_hierarchy_cacheline": ("multi_gpu/air_hierarchy/cacheline.mlir", 64),
    "air_channel_cacheline": ("multi_gpu/air_channel/cacheline.mlir", 64),
    "matmul_4k": ("4k_4k_mul/air_sync.mlir", 64),
    "dma_copy": ("dma_copy/air_dma_copy.mlir", 32),
}
"""Programs and the lanes of their waves: dma_copy has more waves of 64 lanes than a block can have."""


def compile_text(text: str, folder: Path, name: str) -> None:
    source = folder / f"{name}.mlir"
    source.write_text(text)
    compile_file(source, folder / name, 32)


def compile_file(source: Path, folder: Path, lanes: int) -> None:
    command = ["air", "compile", str(source), "--target", CHIP, "--wave-size", str(lanes), "-o", str(folder)]
    if main(command):
        sys.exit(f"{source} does not compile")


def build(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for protocol in ("line", "ordered"):
        compile_text(round_trips(protocol, ROUNDS), folder, f"round_trips_{protocol}")
    compile_file(HERE / "exchange.mlir", folder / "exchange", 32)
    compile_text(weakened_exchanges(), folder, "weakened")
    compile_text(all_to_all_writes(RANKS, MESSAGE_WORDS // RANKS, BLOCKS, REPEATS), folder, "allgather")
    shutil.copy(HERE / "kernels.cu", folder)
    if nvcc := shutil.which("nvcc"):
        files = str(HERE / "kernels.cu"), "-o", str(folder / "kernels.cubin")
        subprocess.run([nvcc, f"-arch={CHIP}", "-O3", "-cubin", *files], check=True)
    if upstream := os.environ.get("UPSTREAM"):
        for name, (path, lanes) in UPSTREAM.items():
            compile_file(Path(upstream) / path, folder / name, lanes)
        (folder / "matmul_4k" / "grid").write_text("32 32 1\n")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
