"""Programs in Python and products of the library on a real GPU, from one build for all sizes, beside cuBLAS and torch.

    python bench/gpu/python_programs.py build DIR     # anywhere: bundles, all or those that are named
    python bench/gpu/python_programs.py run DIR       # where the GPU is: Python, NumPy, torch and the bundles

Times are medians of samples that are taken in turn, ours and theirs.
"""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

SIZES = [
    *((size, size, size) for size in (1024, 2048, 4096, 8192)),
    *(
        (1000, 1112, 776),
        (4097, 4095, 4099),
        (3072, 512, 2000),
        (129, 5000, 333),
        (777, 1555, 2222),
        (1536, 1536, 1536),
        (256, 256, 4096),
    ),
]
TENSOR_SIZES = [
    *((size, size, size) for size in (1024, 2048, 4096, 8192)),
    *((1000, 1112, 776), (4097, 4104, 4096), (3072, 512, 2000), (129, 5000, 336), (777, 1560, 2224)),
]
SAMPLES = 15
RANKS = 2, 4, 8


def build(folder: Path) -> None:
    """Bundles for sm_90, and what runs them."""
    import ml_dtypes
    import numpy as np

    root = Path(__file__).parents[2]
    sys.path.insert(0, str(root / "docs" / "examples"))
    from air_add import add
    from air_layer_norm import layer_norm
    from air_softmax import softmax

    from tilewright.air.library.collectives import PROGRAMS
    from tilewright.air.library.products import _product
    from tilewright.air.library.tensor_cores import tensor_product

    x, row = np.zeros((4, 4), np.float32), np.zeros(4, np.float32)
    stack = np.zeros((1, 4, 4), np.float32)
    plain = {"has_bias": False, "activation": None, "layouts": ("row", "row")}
    programs: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
        "add": (add, (row, row, row), {}),
        "softmax": (softmax, (x, x), {"width": 4096}),
        "layer_norm": (layer_norm, (x, row, row, x, 1e-5), {"width": 4096}),
        "matmul": (_product, (stack, stack, row, stack, 1.0), plain),
    }
    chosen = sys.argv[3:]
    short = np.zeros((8, 8), ml_dtypes.bfloat16)
    maps = np.zeros(256, np.uint8)
    programs["tensor"] = (tensor_product, (short, short, row, short, maps, 1.0), {"has_bias": False, "finish": None})
    for algorithm, program in PROGRAMS.items():
        for kind in ("all_gather", "all_reduce"):
            programs[f"{kind}_{algorithm}"] = (program, (x, x, 0), {"kind": kind, "operation": "sum"})
    folder.mkdir(parents=True, exist_ok=True)
    for name, (program, arguments, constants) in programs.items():
        if chosen and name not in chosen:
            continue
        source = folder / f"{name}.mlir"
        chip = "sm_90a" if name == "tensor" else "sm_90"
        source.write_text(program.options(backend="cuda", chip=chip).mlir(*arguments, **constants))
        _compile(source, folder / name, program.function.__name__, chip)


def _compile(source: Path, target: Path, entry: str, chip: str) -> None:
    from tilewright.cli.main import main

    options = ["--target", chip, "--wave-size", "32", "--entry", entry, "-o", str(target)]
    assert main(["air", "compile", str(source), *options]) == 0


class Alone:
    """The world of a program without ranks."""

    rank, size, folder = 0, 1, None


class Program:
    """A bundle in this process: called with tensors on the GPU, its launches can be repeated."""

    def __init__(self, folder: Path, device: Any):
        from tilewright.gpu.bundle.manifest import read_manifest
        from tilewright.gpu.bundle.run import BundleRuntime
        from tilewright.gpu.device import Size3
        from tilewright.gpu.host.context import HostContext
        from tilewright.gpu.host.runtime import arguments_at

        program = self
        self.launches: list[Callable[[], None]] = []

        class Recording(BundleRuntime):
            def launch(self, number: int, *sizes_and_arguments: int) -> None:
                *sizes, shared, arguments = sizes_and_arguments
                kernel, widths = self._launches[number]
                given = arguments_at(arguments, widths)
                grid, block = Size3(*sizes[:3]), Size3(*sizes[3:])
                program.launches.append(lambda: device.launch(kernel, grid, block, shared, given))
                program.launches[-1]()
                self.device.synchronize()

        self.manifest = read_manifest(folder)
        context = HostContext(self.manifest.context_bytes)
        self.runtime = Recording(folder, self.manifest, Alone(), device, context)  # pyright: ignore

    def __call__(self, *arguments: Any) -> Callable[[], Any]:
        """Run the entry; gives what launches its kernels again."""
        parts = list[int]()
        for parameter, value in zip(self.manifest.parameters, arguments, strict=True):
            if parameter.shape is None:
                import struct

                bits = struct.pack("<f", value) if isinstance(value, float) else struct.pack("<q", value)
                parts.append(int.from_bytes(bits, "little"))
                continue
            strides = [value.stride(dimension) for dimension in parameter.dynamic_strides]
            parts += [value.data_ptr(), value.numel() * value.element_size(), 0, *value.shape, *strides]
        code = self.runtime.code.address(self.manifest.start)
        start = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(code)
        self.launches.clear()
        self.runtime.run(start, parts, self.manifest.results)
        launches = [*self.launches]
        return lambda: [launch() for launch in launches]


def in_turn(works: Sequence[Callable[[], Any]], calls: int) -> list[float]:
    """The median time of a call of each, in milliseconds."""
    import torch

    times: list[list[float]] = [[] for _ in works]
    for _ in range(SAMPLES):
        for work, found in zip(works, times, strict=True):
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            first.record()
            for _ in range(calls):
                work()
            last.record()
            last.synchronize()
            found.append(first.elapsed_time(last) / calls)
    return [statistics.median(found) for found in times]


def run(folder: Path) -> None:
    """Check results, and print times."""
    import torch

    from tilewright.device.gpu_targets import GPU_TARGETS
    from tilewright.gpu.cuda import CudaDevice, open_driver
    from tilewright.gpu.device import DeviceOptions

    torch.zeros(1, device="cuda")  # its context is the one that is used
    torch.backends.cuda.matmul.allow_tf32 = False
    # torch's own stream is the default one, as ours
    device = CudaDevice(Alone(), DeviceOptions(GPU_TARGETS["sm_90"], 32), open_driver())  # pyright: ignore
    product = Program(folder / "matmul", device)
    for m, n, k in SIZES:
        a, b = torch.rand(m, k, device="cuda") - 0.5, torch.rand(k, n, device="cuda") - 0.5
        c = torch.full((m, n), float("nan"), device="cuda")
        launch = product(a[None], b[None], torch.zeros(1, device="cuda"), c[None], 1.0)
        exact = a.double() @ b.double()
        error = float((c - exact).norm() / exact.norm())
        assert error < 1e-5, f"{m} x {n} x {k}: relative error {error}"
        out = torch.empty_like(c)
        calls = max(1, min(50, int(2e11 / (2 * m * n * k))))
        ours, theirs = in_turn([launch, partial(torch.matmul, a, b, out=out)], calls)
        print(f"f32 {m}x{n}x{k}: {ours:.4f} ms, cuBLAS {theirs:.4f} ms, {theirs / ours:.2f} of its speed", flush=True)
    tensor_cores(folder, device)
    elementwise(folder, device)
    collectives(folder)


def tensor_cores(folder: Path, device: Any) -> None:
    """bf16 against cuBLAS; rows of A and B are multiples of 8 elements."""
    import torch

    product = Program(folder / "tensor", device)
    for m, n, k in TENSOR_SIZES:
        a, b = (torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in ((m, k), (k, n)))
        c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        room, nothing = torch.zeros(256, device="cuda", dtype=torch.uint8), torch.zeros(1, device="cuda")
        launch = product(a, b, nothing, c, room, 1.0)
        exact = a.float() @ b.float()
        error = float((c.float() - exact).norm() / exact.norm())
        assert error < 5e-3, f"bf16 {m} x {n} x {k}: relative error {error}"
        calls = max(1, min(50, int(1e12 / (2 * m * n * k))))
        ours, theirs = in_turn([launch, partial(torch.matmul, a, b, out=torch.empty_like(c))], calls)
        rates = f"{2e-9 * m * n * k / ours:.0f} TFLOP/s, cuBLAS {2e-9 * m * n * k / theirs:.0f}"
        print(f"bf16 {m}x{n}x{k}: {rates}, {theirs / ours:.2f} of its speed", flush=True)


def elementwise(folder: Path, device: Any) -> None:
    """Programs that move data, beside torch."""
    import torch

    rows, columns = 8192, 4096
    x, y = torch.randn(rows, columns, device="cuda"), torch.empty(rows, columns, device="cuda")
    flat, other, total = (
        x.view(-1),
        torch.randn(rows * columns, device="cuda"),
        torch.empty(rows * columns, device="cuda"),
    )
    weight, bias = torch.randn(columns, device="cuda"), torch.randn(columns, device="cuda")
    add = Program(folder / "add", device)(flat, other, total)
    assert torch.equal(total, flat + other)
    softmax = Program(folder / "softmax", device)(x, y)
    assert torch.allclose(y, torch.softmax(x, 1), atol=1e-6)
    norm = Program(folder / "layer_norm", device)(x, weight, bias, y, 1e-5)
    layer_norm = torch.nn.functional.layer_norm
    assert torch.allclose(y, layer_norm(x, (columns,), weight, bias), atol=1e-4)
    out = torch.empty_like(total)
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "add": (add, lambda: torch.add(flat, other, out=out)),
        "softmax": (softmax, lambda: torch.softmax(x, 1)),
        "layer norm": (norm, lambda: layer_norm(x, (columns,), weight, bias)),
    }
    for name, works in pairs.items():
        ours, theirs = in_turn(works, 10)
        print(
            f"{name} {rows}x{columns}: {ours:.4f} ms, torch {theirs:.4f} ms, {theirs / ours:.2f} of its speed",
            flush=True,
        )


def collectives(folder: Path) -> None:
    """Ranks on the one GPU, results against NumPy."""
    from run import Mps  # beside this file

    with Mps():
        _collectives(folder)


def _collectives(folder: Path) -> None:
    import numpy as np

    for name in ("all_gather_line", "all_gather_bandwidth", "all_reduce_line", "all_reduce_bandwidth"):
        for ranks in RANKS:
            count = 100 if name.endswith("line") else 100_003
            sent = np.random.default_rng(ranks).integers(0, 100, (ranks, count)).astype(np.float32)
            result = np.zeros_like(sent) if name.startswith("all_gather") else np.zeros((1, count), np.float32)
            np.save(folder / "sent.npy", sent)
            np.save(folder / "result.npy", result)
            arguments = ["--arg", str(folder / "sent.npy"), "--arg", str(folder / "result.npy"), "--arg", "0"]
            options = ["--ranks", str(ranks), "--set", "share-gpu=yes", "--timeout", "60", "--out", str(folder / "out")]
            command = [sys.executable, str(folder / name / "run.py"), *arguments, *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            wanted = sent if name.startswith("all_gather") else sent.sum(axis=0, keepdims=True)
            right = 0
            for rank in range(ranks if done.returncode == 0 else 0):
                place = folder / "out" / (f"rank{rank}" if rank else "") / "arg1.npy"
                right += bool(np.array_equal(np.load(place), wanted))
            print(f"{name}, {ranks} ranks: {right} of {ranks} right {done.stderr[-300:]}", flush=True)


if __name__ == "__main__":
    {"build": build, "run": run}[sys.argv[1]](Path(sys.argv[2]))
