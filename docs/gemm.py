"""Runs products of about 4096 x 4096 x 4096 with planned tiles, and writes the table of them in docs/gemm.md.

python docs/gemm.py                         all of them, some minutes; says each as soon as it is known
python docs/gemm.py npu1 i8_i8              prints that row
python docs/gemm.py --size 1024 npu1 i8_i8  the same for a smaller one
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tilewright.cli.files import write_text
from tilewright.designs import Gemm
from tilewright.designs.gemm_candidate import Candidate
from tilewright.device import model
from tilewright.device.timing import timing_of
from tilewright.iron.dtype import dtype_map

PAGE = Path(__file__).parent / "gemm.md"
TYPES = "i8_i8", "i8_i16", "i8_i32", "i16_i16", "i16_i32", "bf16_bf16", "bf16_f32"
BLOCKS = "blocks"
"""After the types: bf16 is multiplied as block floating point."""
ALL = [
    *(("npu1", types) for types in TYPES),
    *(("npu2", types) for types in (*TYPES, f"bf16_bf16_{BLOCKS}", f"bf16_f32_{BLOCKS}")),
]
SIZE = 4096
LARGE = 1 << 15
"""So large that the edges of a product hardly count: the best tiles for it are the best ones."""
TRIED = 3
"""Of these tiles."""
ABOUT = 1.005
"""Plans that differ by less are about as fast."""
TABLE = re.compile(r"(<!-- products -->\n).*?(<!-- end -->)", re.S)
HEADINGS = {
    "device": "",
    "types": "",
    "M x K x N": "",
    "tile": "",
    "k_mt": ":",
    "bound, us": ":",
    "by": "",
    "time, us": ":",
    "over the bound": ":",
    "prediction": ":",
    "TOPS": ":",
    "of peak": ":",
    "= NumPy": "",
}
"""Of the table, with how their columns stand."""


def planned(device: str, types: str, size: int) -> Candidate:
    """The fastest plan for a product of about that size; of those that are about as fast, the nearest to its bound.

    Sizes are whole blocks of tiles that are good for a large one.
    """
    options: dict[str, Any] = {"b_col_maj": True, "block_floats": types.endswith(BLOCKS)}
    pair = types.removesuffix(f"_{BLOCKS}")
    found = list[Candidate]()
    for blocks in [each.gemm.multiples for each in Gemm.plan(LARGE, LARGE, LARGE, pair, device, **options)][:TRIED]:
        m, k, n = (max(1, round(size / block)) * block for block in blocks)
        found.append(Gemm.plan(m, k, n, pair, device, **options).best)
    most = max(candidate.tops for candidate in found)
    fast = [candidate for candidate in found if ABOUT * candidate.tops >= most]
    return min(fast, key=lambda candidate: candidate.cycles / candidate.bound_cycles)


class Measured(NamedTuple):
    """A run of a product."""

    cycles: float
    is_right: bool


def measured(candidate: Candidate) -> Measured:
    random, gemm = np.random.default_rng(1), candidate.gemm
    low, high = (-8, 8) if gemm.operand == "bf16" else (-128, 128)
    a, b = (
        random.integers(low, high, shape).astype(dtype_map[gemm.operand])
        for shape in ((candidate.m, candidate.k), (candidate.n, candidate.k))
    )
    product = Gemm(gemm).run(a, b.T)
    return Measured(product.result.cycles, np.array_equal(product.matrix, expected(candidate, a, b.T)))


def expected(candidate: Candidate, a: Any, b: Any) -> Any:
    """The product by NumPy: wrapped, or rounded for each tile along K as bf16 is. Sums of small integers are exact."""
    result, k = dtype_map[candidate.gemm.result], candidate.gemm.tile.k
    if candidate.gemm.result != "bf16":
        exact = a.astype(np.float64) @ b.astype(np.float64)
        return exact.astype(np.int64).astype(result) if candidate.gemm.operand != "bf16" else exact.astype(result)
    total = np.zeros((a.shape[0], b.shape[1]), result)
    a, b = a.astype(np.float32), b.astype(np.float32)
    for first in range(0, a.shape[1], k):
        total = (total.astype(np.float32) + a[:, first : first + k] @ b[first : first + k]).astype(result)
    return total


def plan_cells(device: str, types: str, candidate: Candidate) -> list[str]:
    """What a row says before the product is run."""
    tile, clock = candidate.gemm.tile, timing_of(model(device).arch).clock_hz / 1e6
    return [
        device,
        types.replace(f"_{BLOCKS}", ", block floats").replace("_", " to "),
        f"{candidate.m} x {candidate.k} x {candidate.n}",
        f"{tile.m}x{tile.k}x{tile.n}",
        str(candidate.gemm.multiples[1]),
        f"{candidate.bound_cycles / clock:,.0f}",
        candidate.bound,
    ]


def row(device: str, types: str, size: int) -> str:
    candidate = planned(device, types, size)
    found, clock = measured(candidate), timing_of(model(device).arch).clock_hz / 1e6
    as_fast = candidate.cycles / found.cycles
    cells = [
        *plan_cells(device, types, candidate),
        f"{found.cycles / clock:,.0f}",
        f"{found.cycles / candidate.bound_cycles - 1:+.1%}",
        f"{as_fast - 1:+.1%}",
        f"{candidate.tops * as_fast:.2f}",
        f"{candidate.of_peak * as_fast:.0%}",
        "yes" if found.is_right else "NO",
    ]
    return f"| {' | '.join(cells)} |"


def table(size: int) -> str:
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{'|'.join(f'---{side}' for side in HEADINGS.values())}|"]
    for number, (device, types) in enumerate(ALL, 1):
        start = time.perf_counter()
        lines.append(row(device, types, size))
        print(f"{number} of {len(ALL)}, {time.perf_counter() - start:.0f} s: {lines[-1]}", file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=SIZE, metavar="N", help=f"about N x N x N (default: {SIZE})")
    parser.add_argument("device", nargs="?", choices=("npu1", "npu2"))
    parser.add_argument("types", nargs="?", choices=sorted({types for _, types in ALL}))
    given = parser.parse_args()
    if given.device:
        if not given.types:
            parser.error("a device wants types, such as i8_i8")
        print(row(given.device, given.types, given.size))
        return 0
    lines = table(given.size)
    text = PAGE.read_text(encoding="utf-8")
    write_text(str(PAGE), TABLE.sub(lambda found: f"{found[1]}{lines}\n{found[2]}", text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
