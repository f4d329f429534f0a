"""Writes the table of products in docs/gemm.md: tiles by plan, the bound, the predicted time and the simulated one.

python docs/gemm.py                  predicts
python docs/gemm.py --simulate 4096  also runs products of about that size, which takes minutes each
python docs/gemm.py --simulate 1024 npu1 i8_i8 prints one row
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tilewright.designs import Gemm
from tilewright.designs.gemm_plan import Candidate
from tilewright.device import model
from tilewright.device.timing import timing_of
from tilewright.iron.dtype import dtype_map

PAGE = Path(__file__).parent / "gemm.md"
TYPES = "i8_i8", "i8_i16", "i8_i32", "i16_i32", "bf16_bf16", "bf16_f32"
ALL = [(device, types) for device in ("npu1", "npu2") for types in TYPES]
LARGE = 1 << 15
"""So large that the edges of a product hardly count: the best tiles for it are the best ones."""
HEADINGS = (
    "device",
    "types",
    "M x K x N",
    "tile",
    "k_mt",
    "bound, us",
    "by",
    "predicted",
    "simulated",
    "TOPS",
    "of peak",
)


def planned(device: str, types: str, size: int) -> Candidate:
    """The best tiles of a type, for a product of about that size that is whole blocks of them."""
    gemm = Gemm.plan(LARGE, LARGE, LARGE, types, device, b_col_maj=True).best.gemm
    m, k, n = (max(1, round(size / block)) * block for block in gemm.multiples)
    return Candidate(gemm, m, k, n)


def simulated(candidate: Candidate) -> tuple[float, bool]:
    """How many cycles it takes, and whether it is right."""
    random, gemm = np.random.default_rng(1), candidate.gemm
    a, b = (
        random.integers(-8, 8, shape).astype(dtype_map[gemm.operand])
        for shape in ((candidate.m, candidate.k), (candidate.k, candidate.n))
    )
    product = Gemm(gemm).run(a, np.asfortranarray(b))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    if gemm.result == "bf16":  # rounded for each tile along K
        near = (
            np.abs(product.matrix.astype(np.float64) - exact) <= 2**-8 * np.abs(exact).max() * candidate.k / gemm.tile.k
        )
        return product.result.cycles, bool(near.all())
    is_right = (product.matrix == exact.astype(np.int64).astype(product.matrix.dtype)).all()
    return product.result.cycles, bool(is_right)


def row(device: str, types: str, size: int, simulate: bool) -> str:
    candidate = planned(device, types, size)
    gemm, tile, clock = candidate.gemm, candidate.gemm.tile, timing_of(model(device).arch).clock_hz / 1e6
    cycles, text = candidate.cycles, ""
    if simulate:
        cycles, is_right = simulated(candidate)
        text = f"{cycles / clock:,.0f} ({cycles / candidate.bound_cycles - 1:+.1%} of the bound)"
        text += "" if is_right else " WRONG"
    scale = candidate.cycles / cycles
    cells = [
        device,
        types.replace("_", " to "),
        f"{candidate.m} x {candidate.k} x {candidate.n}",
        f"{tile.m}x{tile.k}x{tile.n}",
        str(gemm.multiples[1]),
        f"{candidate.bound_cycles / clock:,.0f}",
        candidate.bound,
        f"{candidate.cycles / clock:,.0f}",
        text,
        f"{candidate.tops * scale:.2f}",
        f"{candidate.of_peak * scale:.0%}",
    ]
    return f"| {' | '.join(cells)} |"


def rows(wanted: list[tuple[str, str]], size: int, simulate: bool) -> Iterator[str]:
    yield f"| {' | '.join(HEADINGS)} |"
    yield "|---|---|---|---|---:|---:|---|---:|---:|---:|---:|"
    for device, types in wanted:
        yield row(device, types, size, simulate)


def main(arguments: list[str]) -> int:
    simulate = arguments[:1] == ["--simulate"]
    size = int(arguments[1]) if simulate else 4096
    if len(arguments) == 4:
        print(row(arguments[2], arguments[3], size, simulate))
        return 0
    table = "\n".join(rows(ALL, size, simulate))
    text = PAGE.read_text(encoding="utf-8")
    pattern = r"(<!-- products -->\n).*?(<!-- end -->)"
    PAGE.write_text(re.sub(pattern, lambda found: f"{found[1]}{table}\n{found[2]}", text, flags=re.S), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
