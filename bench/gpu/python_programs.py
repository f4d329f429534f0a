"""Programs in Python and products of the library on a real GPU, from one build for all sizes, beside cuBLAS and torch.

    python bench/gpu/python_programs.py build DIR     # anywhere: bundles, all or those that are named
    python bench/gpu/python_programs.py run DIR       # where the GPU is: Python, NumPy, torch and the bundles
    python bench/gpu/python_programs.py check DIR     # anywhere: that all bundles are there and take these arguments

Names behind DIR say which are built or run. `bf16-persistent-engine_stores` is a product whose `library.Schedule` has
these choices; such variants are measured at a few sizes. Times are medians of samples that are taken in turn, ours and
theirs. Both are in CUDA graphs, so that what starts kernels is the GPU and not Python. `build` takes mlir-air's plain
matmul along if the environment's UPSTREAM names the folder that holds it (mlir-air's test/gpu). `lot=another:40` among
the names lets `run` take 40 products of each type that are drawn from this seed, and no others. The table of ratios
comes last, with what is wanted of each.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
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
VARIANT_SIZES = [*((size, size, size) for size in (2048, 4096, 8192)), (4097, 4104, 4096)]
"""Of products with other choices than those of the library."""
TILE_DEPTHS = 512, 2048, 4096
"""Of products of one and two rounds of tiles of some rows: what a step takes, and what a tile takes besides."""
RANDOM_SIZES = 5
"""Of each type, drawn by lot from a seed."""
LOT = "lot="
SAMPLES = 15
RANKS = 2, 4, 8
PLAIN = {"plain": 2, "plain-O0": 0}
"""mlir-air's plain matmul of 4096^3: how copies are optimized."""
PLAIN_MS = 5.0
"""Within which mlir-air's plain matmul of 4096^3 is to be."""


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
    from tilewright.air.library.lane_products import lane_product
    from tilewright.air.library.tensor_cores import tensor_product

    x, row = np.zeros((4, 4), np.float32), np.zeros(4, np.float32)
    stack, short = np.zeros((1, 8, 8), np.float32), np.zeros((1, 8, 8), ml_dtypes.bfloat16)
    octets = np.zeros((1, 16, 16), np.uint8)
    plain = {"has_bias": False, "function": None, "layouts": ("row", "row")}
    turned = {**plain, "layouts": ("row", "column")}
    programs: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
        "add": (add, (row, row, row), {}),
        "softmax": (softmax, (x, x), {"width": 4096}),
        "layer_norm": (layer_norm, (x, row, row, x, 1e-5), {"width": 4096}),
        "f32": (lane_product, (stack, stack, row, stack, 1.0), plain),
        "bf16": (tensor_product, (short, short, row, short, 1.0), {**plain, "computed_in": "bf16"}),
        "fp8": (tensor_product, (octets, octets, row, short, 1.0), {**turned, "computed_in": "e4m3"}),
        "tf32": (tensor_product, (stack, stack, row, stack, 1.0), {**turned, "computed_in": "tf32"}),
        "tf32x3": (tensor_product, (stack, stack, row, stack, 1.0), {**turned, "computed_in": "tf32x3"}),
    }
    for algorithm, program in PROGRAMS.items():
        for kind in ("all_gather", "all_reduce"):
            programs[f"{kind}_{algorithm}"] = (program, (x, x, 0), {"kind": kind, "operation": "sum"})
    chosen = sys.argv[3:]
    for name in chosen:
        kind, *choices = name.split("-")
        if choices and kind in programs:
            program, arguments, constants = programs[kind]
            programs[name] = (program, arguments, {**constants, "schedule": _schedule(choices)})
    folder.mkdir(parents=True, exist_ok=True)
    for name, (program, arguments, constants) in programs.items():
        if chosen and name not in chosen:
            continue
        source = folder / f"{name}.mlir"
        chip = "sm_90a" if program is tensor_product else "sm_90"
        source.write_text(program.options(backend="cuda", chip=chip).mlir(*arguments, **constants))
        compile_bundle(source, folder / name, program.function.__name__, chip)
    upstream = os.environ.get("UPSTREAM")
    for name, level in PLAIN.items():
        if upstream and (not chosen or name in chosen):
            source = Path(upstream) / "4k_4k_mul" / "air_sync.mlir"
            compile_bundle(source, folder / name, "forward", "sm_90", 64, level)


def _schedule(choices: Sequence[str]) -> Any:
    """Choices that are switched on, or set to a number: `persistent`, `cluster=2`."""
    from tilewright.air.library import Schedule

    pairs = [choice.partition("=") for choice in choices]
    return Schedule(**{name: int(value) if equals else True for name, equals, value in pairs})


def compile_bundle(source: Path, target: Path, entry: str, chip: str, lanes: int = 32, level: int = 0) -> None:
    from tilewright.cli.main import main

    options = ["--target", chip, "--wave-size", str(lanes), "--entry", entry, "-o", str(target), f"-O{level}"]
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
                device.stream = None
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
            sizes = [size for size, known in zip(value.shape, parameter.shape, strict=True) if known == -1]
            strides = [value.stride(dimension) for dimension in parameter.dynamic_strides]
            parts += [value.data_ptr(), value.numel() * value.element_size(), 0, *sizes, *strides]
        code = self.runtime.code.address(self.manifest.start)
        start = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_uint64] * 3)(code)
        self.launches.clear()
        self.runtime.run(start, parts, self.manifest.results)
        return self._again([*self.launches])

    def each(self) -> list[Callable[[], Any]]:
        """What launches the kernels of the last call again, one by one."""
        return [self._again([launch]) for launch in self.launches]

    def _again(self, launches: Sequence[Callable[[], None]]) -> Callable[[], Any]:
        def again() -> None:
            import torch

            self.runtime.device.stream = torch.cuda.current_stream().cuda_stream
            for launch in launches:
                launch()

        return again


def in_turn(works: Sequence[Callable[[], Any]], calls: int) -> list[float]:
    """The median time of a call of each, in milliseconds. Who comes first and who last changes from turn to turn."""
    import torch

    times: list[list[float]] = [[] for _ in works]
    graphs = [_graph(work, calls) for work in works]
    for turn in range(SAMPLES):
        for graph, found in [*zip(graphs, times, strict=True)][:: -1 if turn % 2 else 1]:
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            first.record()
            graph.replay()
            last.record()
            last.synchronize()
            found.append(first.elapsed_time(last) / calls)
    return [statistics.median(found) for found in times]


def _graph(work: Callable[[], Any], calls: int) -> Any:
    """So many calls, one behind the other."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work()  # what is made at the first call is made before
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            work()
    graph.replay()
    torch.cuda.synchronize()
    return graph


@dataclass
class Table:
    """Ratios so far, and what is wanted of them."""

    rows: list[tuple[str, float, float | None]] = field(default_factory=list[tuple[str, float, float | None]])

    def add(self, what: str, ratio: float, wanted: float | None = None) -> None:
        self.rows.append((what, ratio, wanted))

    def show(self) -> None:
        for what, ratio, wanted in self.rows:
            verdict = "" if wanted is None else f"  wanted {wanted:.2f}: {'yes' if ratio >= wanted else 'NO'}"
            print(f"{what:45s} {ratio:.3f}{verdict}")


def wanted_ratio(kind: str, m: int, n: int, k: int) -> float | None:
    """Of the speed of cuBLAS, or cuBLASLt for fp8; of the library's own choices alone."""
    square = m == n == k
    if kind == "f32":
        return 0.95 if square and m in (1024, 2048, 4096, 8192) else 0.90
    if kind == "bf16":
        return {4096: 1.0, 8192: 1.0, 2048: 0.95}.get(m, None if m == 1024 else 0.90) if square else 0.90
    return 0.95 if kind == "fp8" else None


def sizes_of(kind: str) -> list[tuple[int, int, int]]:
    """Fixed ones, and some by lot; rows of fp8 are multiples of 16 elements, which cuBLASLt wants."""
    base, lot = kind.partition("-")[0], next((name for name in sys.argv if name.startswith(LOT)), None)
    seed, _, count = (lot or "").removeprefix(LOT).partition(":")
    draw = random.Random(f"{seed} {base}" if lot else base)
    granule = 16 if kind.startswith("fp8") else 1
    rows = re.search("rows=([0-9]+)", kind)
    if rows:
        return [(int(rows[1]) * 11 * times, 128 * 12, depth) for times in (1, 2) for depth in TILE_DEPTHS]
    fixed = VARIANT_SIZES if "-" in kind else SIZES if kind.startswith("f32") else TENSOR_SIZES
    drawn = [
        tuple(max(granule, draw.randrange(64, 5000) // granule * granule) for _ in range(3))
        for _ in range(int(count or RANDOM_SIZES) if lot else 0 if "-" in kind else RANDOM_SIZES)
    ]
    fixed = [] if lot else fixed
    rounded = [tuple(size // granule * granule for size in sizes) for sizes in fixed]
    return [(m, n, k) for m, n, k in [*rounded, *drawn]]


def run(folder: Path) -> None:
    """Check results, and print times."""
    import torch

    from tilewright.device.gpu_targets import GPU_TARGETS
    from tilewright.gpu.cuda import CudaDevice, open_driver
    from tilewright.gpu.device import DeviceError, DeviceOptions

    torch.zeros(1, device="cuda")  # its context is the one that is used
    torch.backends.cuda.matmul.allow_tf32 = False
    # torch's own stream is the default one, as ours
    device = CudaDevice(Alone(), DeviceOptions(GPU_TARGETS["sm_90"], 32), open_driver())  # pyright: ignore
    table = Table()
    parts: list[tuple[str, Callable[[], None]]] = [
        *((name, partial(products, folder, device, name, table)) for name in _variants(folder, KINDS)),
        *((name, partial(plain_matmul, folder, device, name, table)) for name in _variants(folder, ["plain"])),
        ("add", partial(elementwise, folder, device)),
        ("all_gather_line", partial(collectives, folder)),
    ]
    chosen = [name for name in sys.argv[3:] if not name.startswith(LOT)]
    for name, measure in parts:
        if (folder / name).is_dir() and (not chosen or name in chosen):
            try:
                measure()
            except (AssertionError, DeviceError, RuntimeError) as error:  # the others are measured all the same
                print(f"{name}: {error}", flush=True)
                table.add(name, 0.0, 1.0)
    table.show()


def _variants(folder: Path, kinds: Iterable[str]) -> list[str]:
    """Bundles of these kinds, those with choices of their own behind each."""
    return sorted(path.name for kind in kinds for path in (*folder.glob(kind), *folder.glob(f"{kind}-*")))


@dataclass(frozen=True)
class Kind:
    """Types of matrices and of the product, the error that is allowed, and whether B is given by columns."""

    given: str
    made: str
    error: float
    by_columns: bool = False


KINDS = {
    "f32": Kind("float32", "float32", 1e-5),
    "bf16": Kind("bfloat16", "bfloat16", 5e-3),
    "fp8": Kind("float8_e4m3fn", "bfloat16", 5e-3, by_columns=True),
    "tf32": Kind("float32", "float32", 2e-3, by_columns=True),
    # sums of tensor cores are cut off, not rounded
    "tf32x3": Kind("float32", "float32", 1e-4, by_columns=True),
}


def products(folder: Path, device: Any, name: str, table: Table) -> None:
    """Products of one kind against cuBLAS, in turn."""
    import torch

    base = name.partition("-")[0]
    kind, product = KINDS[base], Program(folder / name, device)
    given, made = getattr(torch, kind.given), getattr(torch, kind.made)
    for m, n, k in sizes_of(name):
        a, b = ((torch.rand(*shape, device="cuda") - 0.5).to(given) for shape in ((m, k), (k, n)))
        c = torch.full((m, n), float("nan"), device="cuda", dtype=made)
        columns = b.t().contiguous() if kind.by_columns else b
        arrays = [x.view(torch.uint8) if base == "fp8" else x for x in (a, columns)]
        launch = product(arrays[0][None], arrays[1][None], torch.zeros(1, device="cuda"), c[None], 1.0)
        exact = a.double() @ b.double()
        error = float((c.double() - exact).norm() / exact.norm())
        assert error < kind.error, f"{name} {m} x {n} x {k}: relative error {error}"
        torch.backends.cuda.matmul.allow_tf32 = base == "tf32"
        theirs_work = _theirs(base, a, b, columns, torch.empty_like(c))
        calls = max(1, min(50, int(1e12 / (2 * m * n * k))))
        ours, theirs = in_turn([launch, theirs_work], calls)
        torch.backends.cuda.matmul.allow_tf32 = False
        alone = in_turn(product.each(), calls) if len(product.launches) > 1 else []
        parts = " + ".join(f"{1e3 * time:.1f}" for time in alone)
        rates = f"{2e-9 * m * n * k / ours:.0f} TFLOP/s, cuBLAS {2e-9 * m * n * k / theirs:.0f}"
        print(
            f"{name} {m}x{n}x{k}: {ours:.4f} ms, {theirs:.4f} ms, {rates}, {theirs / ours:.2f}, error {error:.0e}"
            + (f", kernels {parts} us" if parts else ""),
            flush=True,
        )
        table.add(f"{name} {m}x{n}x{k} of cuBLAS", theirs / ours, wanted_ratio(name, m, n, k))


def _theirs(name: str, a: Any, b: Any, columns: Any, out: Any) -> Callable[[], Any]:
    """The same by cuBLAS; fp8 by cuBLASLt, through torch."""
    import torch

    if name != "fp8":
        return partial(torch.matmul, a, b, out=out)
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, columns.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def plain_matmul(folder: Path, device: Any, name: str, table: Table) -> None:
    """mlir-air's program as it stands, 4096^3 in f32."""
    import torch

    a, b = (torch.rand(4096, 4096, device="cuda") - 0.5 for _ in range(2))
    c = torch.zeros(4096, 4096, device="cuda")
    launch = Program(folder / name, device)(a, b, c)
    assert torch.allclose(c, a @ b, atol=1e-2)
    ours, theirs = in_turn([launch, partial(torch.matmul, a, b, out=torch.empty_like(c))], 3)
    print(f"mlir-air's matmul 4096^3, {name}: {ours:.2f} ms, cuBLAS {theirs:.2f} ms", flush=True)
    table.add(f"5 ms by mlir-air's plain matmul, {name}", PLAIN_MS / ours, 1.0 if name == "plain" else None)


def check(folder: Path) -> None:
    """That bundles are there, with the parameters that `run` gives them; needs no GPU."""
    from tilewright.gpu.bundle.manifest import read_manifest

    for name, count in {"add": 3, "softmax": 2, "layer_norm": 5, **dict.fromkeys(KINDS, 5)}.items():
        if (folder / name).is_dir():
            manifest = read_manifest(folder / name)
            assert len(manifest.parameters) == count, f"{name} takes {len(manifest.parameters)} arguments"
            print(f"{name}: {len(manifest.launches)} launches, {len(manifest.modules)} modules of kernels")
    for name in KINDS:
        sizes = sizes_of(name)
        assert sizes == sizes_of(name) and all(min(size) > 0 for size in sizes)
        print(f"{name}: {len(sizes)} sizes, wanted {sorted({str(wanted_ratio(name, *size)) for size in sizes})}")
    table = Table()
    table.add("yes", 1.0, 0.9)
    table.add("no", 0.5, 0.9)
    table.show()


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
    {"build": build, "run": run, "check": check}[sys.argv[1]](Path(sys.argv[2]))
