"""Runs what bench/gpu/build.py compiled, on a machine with an NVIDIA GPU: `python3 bench/gpu/run.py DIR`.

Needs NumPy and the driver, CuPy for cuBLAS, and nvcc if DIR has no kernels.cubin. Checks results, times AIR programs
and hand-written CUDA in the same run, and prints a table of ratios last.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from messages import WEAKENED

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.gpu.bundle.manifest import read_manifest
from tilewright.gpu.cuda import CudaDevice, open_driver
from tilewright.gpu.device import DeviceError, DeviceOptions, Size3
from tilewright.gpu.driver_device import DriverError, LoadableCode, PackedArguments
from tilewright.native.kernel_facts import KernelFacts

SAMPLES, CALLS = 5, 5
ROUNDS = 100_000
MICROSECONDS = 1e3
MPS = "nvidia-cuda-mps-control"
MPS_VARIABLES = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"


class Alone:
    """The world of a program without ranks."""

    rank, size, folder = 0, 1, None


def word(number: int) -> bytes:
    return number.to_bytes(8, "little", signed=True)


def memref(address: int, *shape: int) -> list[bytes]:
    strides = [int(np.prod(shape[at + 1 :])) for at in range(len(shape))]
    return [word(address), word(address), word(0), *map(word, shape), *map(word, strides)]


class Bench:
    """One GPU, and the results so far."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.device = CudaDevice(Alone(), DeviceOptions(GPU_TARGETS["sm_90"], 32), open_driver())  # pyright: ignore
        self.driver = self.device.driver
        self.rows: list[tuple[str, str, str, str]] = []
        self.cuda = self.driver.load_module(self._cubin())

    def _cubin(self) -> bytes:
        path = self.folder / "kernels.cubin"
        if not path.is_file():
            source = self.folder / "kernels.cu"
            subprocess.run(["nvcc", "-arch=sm_90", "-O3", "-cubin", str(source), "-o", str(path)], check=True)
        return path.read_bytes()

    def hand_written(self, name: str, grid: Size3, block: Size3, arguments: Sequence[bytes]) -> Callable[[], None]:
        function, packed = (
            self.driver.handle("cuModuleGetFunction", self.cuda, name.encode()),
            PackedArguments(arguments),
        )
        return lambda: self.driver.call("cuLaunchKernel", function, *grid, *block, 0, None, packed.places, None)

    def milliseconds(self, work: Callable[[], Any], calls: int = CALLS, samples: int = SAMPLES) -> float:
        """The median time of one call."""
        first, last = (self.driver.handle("cuEventCreate", 0) for _ in range(2))
        times: list[float] = []
        for _ in range(samples):
            self.driver.call("cuEventRecord", first, None)
            for _ in range(calls):
                work()
            self.driver.call("cuEventRecord", last, None)
            self.driver.call("cuEventSynchronize", last)
            passed = ctypes.c_float()
            self.driver.call("cuEventElapsedTime", ctypes.byref(passed), first, last)
            times.append(passed.value / calls)
        return float(np.median(times))

    def row(self, what: str, ours: str, theirs: str, ratio: str) -> None:
        self.rows.append((what, ours, theirs, ratio))
        print(f"{what:44} {ours:>12} {theirs:>12} {ratio:>8}", flush=True)

    def _kernel(self, bundle: Path, arrays: Sequence[Any]) -> Callable[[], None]:
        return self._launch(bundle, [(array.data.ptr, array.shape) for array in arrays])

    def _launch(self, bundle: Path, arrays: Sequence[tuple[int, Sequence[int]]]) -> Callable[[], None]:
        """A launch of the only kernel of a bundle with arrays on the GPU."""
        manifest = read_manifest(bundle)
        (module,) = manifest.modules
        kernel = self.device.load_code(LoadableCode((bundle / module.file).read_bytes(), module.kernels)).kernel(
            module.kernels[0].name
        )
        grid = Size3(*(int(number) for number in re.findall(r"\d+", (bundle / "grid").read_text())))
        arguments = [part for address, shape in arrays for part in memref(address, *shape)]
        block = Size3(*(kernel.facts.block or (1, 1, 1)))
        return lambda: self.device.launch(kernel, grid, block, 0, arguments)

    def matmuls(self) -> None:
        """mlir-air's program, if it was compiled."""
        if not (self.folder / "matmul_4k").is_dir():
            return
        import cupy

        size = 4096
        a, b = (cupy.random.rand(size, size, dtype=cupy.float32) - 0.5 for _ in range(2))
        c = cupy.full((size, size), np.nan, cupy.float32)
        launch = self._kernel(self.folder / "matmul_4k", [a, b, c])
        launch()
        self.device.synchronize()
        exact = a.astype(cupy.float64) @ b.astype(cupy.float64)
        assert float(cupy.linalg.norm(c - exact) / cupy.linalg.norm(exact)) < 1e-5
        places = [word(array.data.ptr) for array in (a, b, c)]
        by_hand = self.hand_written("upstream_matmul", Size3(32, 32), Size3(256), places)
        ours, theirs = self.milliseconds(launch, 2), self.milliseconds(by_hand, 2)
        self.row("f32 4096^3, upstream's program", f"{ours:.3f} ms", f"{theirs:.3f} ms", f"{ours / theirs:.2f}")

    def exchanges(self) -> None:
        """The bare protocols between two blocks, in MLIR and in CUDA."""
        module = self._kernels("exchange")
        room = Exchange(self)
        lines, counters, wrong = memref(room.lines, 2, 32), memref(room.counters, 2, 16), memref(room.wrong, 1)
        arguments = {"line": [*lines, *wrong], "ordered": [*lines, *counters, *wrong]}
        for name, given in arguments.items():
            kernel = module.kernel(name)
            work = partial(self.device.launch, kernel, Size3(2), Size3(32), 0, [*given, word(ROUNDS)])
            ours, theirs = room.nanoseconds(work, self._cuda_exchange(f"{name}_round_trips", name, room))
            what = f"round trip, bare {name}, {ROUNDS} each way"
            self.row(what, f"{ours:.0f} ns", f"{theirs:.0f} ns", f"{ours / theirs:.2f}")

    def weakened(self) -> None:
        """Exchanges with orderings left out: how many words are wrong then."""
        module, room = self._kernels("weakened"), Exchange(self)
        shared = [*memref(room.lines, 2, 32, 32), *memref(room.counters, 2, 16), *memref(room.wrong, 1)]
        for name in WEAKENED:
            for rounds in (ROUNDS, ROUNDS + 1):
                room.clear()
                self.device.launch(module.kernel(name), Size3(2), Size3(32), 0, [*shared, word(rounds)])
                self.row(f"wrong words, {name}, {rounds} rounds", str(room.count_wrong()), f"of {64 * rounds}", "")

    def _kernels(self, name: str) -> Any:
        """Kernels that no host launches: a folder of `air compile` without a bundle."""
        folder = self.folder / name
        facts = json.loads((folder / "kernels.json").read_text())["kernels"]
        kernels = tuple(
            KernelFacts(fact["name"], tuple(fact["parameters"]), fact["shared_bytes"], tuple(fact["block"]))
            for fact in facts
        )
        return self.device.load_code(LoadableCode((folder / f"{name}.ptx").read_bytes(), kernels))

    def _cuda_exchange(self, kernel: str, protocol: str, room: Exchange) -> Callable[[], None]:
        places = {"line": [room.lines, room.wrong], "ordered": [room.lines, room.counters, room.wrong]}[protocol]
        return self.hand_written(kernel, Size3(2), Size3(32), [*map(word, places), word(ROUNDS)])

    def channels(self) -> None:
        """Round trips through channels between two processes, and by hand with the same flow control."""
        room = Exchange(self)
        with Mps():
            for protocol in ("line", "ordered"):
                places = [*map(word, (room.lines, room.wrong)), word(ROUNDS)]
                by_hand = self.hand_written(f"{protocol}_channel", Size3(2), Size3(32), places)
                (theirs,) = room.nanoseconds(by_hand)
                ours = float(np.median([self._air_round_trip(protocol) for _ in range(3)]))
                what = f"round trip, channel {protocol}, {ROUNDS} each way"
                self.row(what, f"{ours:.0f} ns", f"{theirs:.0f} ns", f"{ours / theirs:.2f}")

    def _air_round_trip(self, protocol: str) -> float:
        output = self.run_bundle(f"round_trips_{protocol}", 2)
        assert output.count("wrong: 0") == 2, output
        times = [float(found) for found in re.findall(r"Elapsed time: ([\d.]+) ms", output)]
        return max(times) * MICROSECONDS * MICROSECONDS / ROUNDS

    def allgather(self, ranks: int = 4, total_bytes: int = 1 << 26, repeats: int = 20) -> None:
        with Mps():
            output = self.run_bundle("allgather", ranks)
        assert output.count("wrong: 0") == ranks, output
        seconds = max(float(found) for found in re.findall(r"Elapsed time: ([\d.]+) ms", output)) / 1e3
        moved = ranks * total_bytes * repeats
        source, target = (self.device.allocate(ranks * total_bytes) for _ in range(2))
        copy = self.milliseconds(lambda: self.driver.call("cuMemcpy", target, source, ranks * total_bytes))
        ours, theirs = moved / seconds / 1e9, ranks * total_bytes / copy / 1e6
        what = f"allgather, {ranks} ranks, {total_bytes >> 20} MiB each"
        self.row(what, f"{ours:.0f} GB/s", f"{theirs:.0f} GB/s", f"{ours / theirs:.2f}")

    def upstream(self) -> None:
        """Programs of others, unmodified, two ranks of each on this GPU, with and without MPS."""
        names = ["handwritten_cacheline", "handwritten_atomic", "handwritten_allgather", "air_rank_cacheline"]
        names += ["air_rank_allgather", "air_hierarchy_cacheline", "air_channel_cacheline"]
        for name in names:
            if (self.folder / name).is_dir():
                slow = self.run_bundle(name, 2).count("ALL PASSED")
                with Mps():
                    fast = self.run_bundle(name, 2).count("ALL PASSED")
                self.row(name, f"{slow}/2 sliced", f"{fast}/2 MPS", "")
        for name, wanted in (("matmul_4k", "Output Matched!"), ("dma_copy", "PASS: all elements match")):
            if (self.folder / name).is_dir():
                self.row(name, "right" if wanted in self.run_bundle(name, 1) else "WRONG", "", "")

    def run_bundle(self, name: str, ranks: int) -> str:
        options = ["--ranks", str(ranks), "--set", "share-gpu=yes", "--timeout", "60"]
        command = [sys.executable, str(self.folder / name / "run.py"), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
        return done.stdout


class Exchange:
    """Memory through which two blocks send each other messages, and how many words were wrong."""

    def __init__(self, bench: Bench):
        self.bench, self.device = bench, bench.device
        self.lines, self.counters, self.wrong = (self.device.allocate(1 << 14) for _ in range(3))

    def clear(self) -> None:
        for place in (self.lines, self.counters, self.wrong):
            self.device.fill(place, b"\0", 1 << 14)

    def count_wrong(self) -> int:
        found = np.zeros(1, np.int32)
        self.device.copy(found.ctypes.data, self.wrong, 4)
        return int(found[0])

    def nanoseconds(self, *works: Callable[[], Any]) -> list[float]:
        """The median time of a round trip of each, taken in turn; none may get a word wrong."""
        times: list[list[float]] = [[] for _ in works]
        for _ in range(SAMPLES):
            for work, found in zip(works, times, strict=True):
                self.clear()
                found.append(self.bench.milliseconds(work, 1, 1) * MICROSECONDS * MICROSECONDS / ROUNDS)
                assert self.count_wrong() == 0, f"{self.count_wrong()} words were wrong"
        return [float(np.median(found)) for found in times]


class Mps:
    """Lets kernels of several processes run at the same time, where the driver brings what that takes."""

    def __enter__(self) -> None:
        # others could have made a folder of a fixed name before, and would be talked to
        self._folders = [tempfile.TemporaryDirectory(prefix="tilewright-mps-") for _ in MPS_VARIABLES]
        os.environ.update(zip(MPS_VARIABLES, (folder.name for folder in self._folders), strict=True))
        if shutil.which(MPS):
            subprocess.run([MPS, "-d"], check=False)
            time.sleep(1)
        else:
            print(f"no {MPS}: processes take turns on the GPU")

    def __exit__(self, *_: object) -> None:
        if shutil.which(MPS):
            subprocess.run([MPS], input="quit\n", text=True, check=False)
        for name, folder in zip(MPS_VARIABLES, self._folders, strict=True):
            del os.environ[name]
            folder.cleanup()


def main() -> int:
    bench = Bench(Path(sys.argv[1]))
    chosen = sys.argv[2:] or ["upstream", "matmuls", "exchanges", "weakened", "channels", "allgather"]
    failed = 0
    for name in chosen:
        try:
            getattr(bench, name)()
        except (AssertionError, ImportError, DriverError, DeviceError) as error:
            print(f"{name}: {error}")
            failed = 1
    print("\n" + "\n".join(f"{what:44} {ours:>12} {theirs:>12} {ratio:>8}" for what, ours, theirs, ratio in bench.rows))
    return failed


if __name__ == "__main__":
    sys.exit(main())
