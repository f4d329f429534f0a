"""Plan a product of matrices: the tiles that have room on an NPU, with their limits and the time that each would take.

The first is the fastest by the model of the clock. In Python, Gemm(Gemm.plan(M, K, N, types, device).best.gemm) builds
it, once for all sizes.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from tilewright import device
from tilewright.cli.errors import CommandLineError
from tilewright.cli.parsers import arguments, switch, value

if TYPE_CHECKING:
    from tilewright.designs.gemm_candidate import Candidate

NPUS = [name for name in device.NAMES if device.model(name).is_npu]

add_arguments = arguments(
    {
        "m": value("M", "rows of A and C", type=int),
        "k": value("K", "columns of A, rows of B", type=int),
        "n": value("N", "columns of B and C", type=int),
        "--types": value("NAME", "of A and B, or with that of C, such as i8_i16 (default: i16)", default="i16"),
        "--device": value("NAME", "npu1, npu2 or a part of them (default: npu2)", default="npu2", choices=NPUS),
        "--columns": value("N", "1 to 8 columns (default: all)", type=int),
        "--a-col-maj": switch("A stands column by column"),
        "--b-col-maj": switch("B stands column by column"),
        "--block-floats": switch("bf16 is multiplied as block floating point"),
        "--json": switch("print the candidates for machines"),
    }
)


def run(args: Namespace) -> None:
    from tilewright.designs import Gemm
    from tilewright.errors import ArgumentError

    options = {name: True for name in ("a_col_maj", "b_col_maj", "block_floats") if getattr(args, name)}
    try:
        plan = Gemm.plan(args.m, args.k, args.n, args.types, args.device, args.columns, **options)
    except (ValueError, ArgumentError) as error:  # sizes, types or columns that there is no product for
        raise CommandLineError(str(error)) from None
    if args.json:
        import json

        print(json.dumps([describe(candidate) for candidate in plan], indent=2))
        return
    best = plan.best
    print(plan)
    print(f"the first is {best.cycles / best.bound_cycles - 1:.1%} over its bound, which is that of {best.bound}")


def describe(candidate: Candidate) -> dict[str, Any]:
    """A candidate in plain types."""
    gemm, tile = candidate.gemm, candidate.gemm.tile
    return {
        "tile": [tile.m, tile.k, tile.n],
        "k_mt": gemm.k_mt,
        "c_depth": gemm.c_depth,
        "any_k": gemm.any_k,
        "read_burst": gemm.read_burst,
        "column_burst": gemm.column_burst,
        "write_burst": gemm.write_burst,
        "columns": gemm.columns,
        "l1_bytes": candidate.l1_bytes,
        "l2_bytes": candidate.l2_bytes,
        "channels": candidate.channels,
        "descriptors": candidate.descriptors,
        "compute_cycles": candidate.compute_cycles,
        "read_cycles": candidate.read_cycles,
        "mixed_cycles": candidate.mixed_cycles,
        "bound": candidate.bound,
        "bound_cycles": candidate.bound_cycles,
        "cycles": candidate.cycles,
        "seconds": candidate.seconds,
        "tops": candidate.tops,
        "of_peak": candidate.of_peak,
    }
