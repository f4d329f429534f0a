"""Public packages for npu1, run whole on random inputs from their own binaries, beside models of their kernels.

    PYTHONPATH=tests python -m outside.packages CLONE...
    PYTHONPATH=tests python -m outside.packages CLONE... --only color_threshold

Clones are of AMDResearch/Riallto, atassis/mlir-aie and andrej/mlir-aie, bare or not; programs that none of them has
are named, and not compared. Models are in `package_models`. Status 1 if something differs, is refused, or is in a
clone only in part.
"""

from __future__ import annotations

import sys
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

import tilewright as tw
from outside import package_models as models
from outside.clone import Clone
from tilewright.cli.core_listing import programs
from tilewright.containers import read
from tilewright.errors import MissingResultsWarning
from tilewright.txn import encode
from tilewright.txn.codec import as_words
from tilewright.txn.containers import ControlCode, read_container
from tilewright.txn.dpu import DpuOpcode, DpuSequence
from tilewright.txn.word_files import read_words
from tilewright.xrt.loaded_package import LoadedPackage
from tilewright.xrt.packages import XclbinPackage

Array = npt.NDArray[np.generic]
Frame = npt.NDArray[np.uint8]
SEED = 20261118
NOTEBOOKS = ("d40dae79", "source/notebooks/{}")
APPLICATIONS = "npu/lib/applications/binaries/{}"
DECEMBER, JULY = "8e73ab6", "74a26aad"
"""Commits of Riallto whose applications were built in 2023 and in 2024."""
DATES = {DECEMBER: "December 2023", JULY: "July 2024"}
MATRIX = "programming_examples/basic/{}/single_core/build/{}"
WIDTHS = {720: 1280, 1080: 1920}
ROWS = range(2, 6)
"""Those of cores."""
Parameters = Mapping[int, Sequence[int]]
"""By the row of a core: values of the words that the instructions write to its data memory, in their order."""
Run = Callable[[LoadedPackage, bytes, np.random.Generator], Iterator["Outcome"]]


class NotThere(Exception):
    """Files that a clone lists and does not have, or does not list."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave, and what the model says."""

    label: str
    found: Array
    expected: Array
    seconds: float
    scalar: Array | None = None
    """What the scalar kernels would give, where they differ from the vector kernels that run."""


@dataclass(frozen=True)
class Program:
    """A package, its instructions, and what is done with it."""

    name: str
    commit: str
    xclbin: str
    insts: str
    run: Run

    def load(self, clone: Clone) -> tuple[LoadedPackage, bytes, int] | None:
        """None where the clone has nothing of it."""
        files = dict(clone.at(self.commit).read_each([self.xclbin, self.insts]))
        missing = [path for path, data in files.items() if data is None]
        if len(missing) == len(files):
            return None
        xclbin, insts = files[self.xclbin], files[self.insts]
        if xclbin is None or insts is None:
            raise NotThere(f"{missing[0]} at {self.commit} is not in the clone")
        package = XclbinPackage.read(xclbin, self.xclbin)
        code = read_container(insts).code(None)
        return LoadedPackage(package, code), insts, len([*programs(read(xclbin))])


# Instructions


def with_parameters(insts: bytes, parameters: Parameters) -> ControlCode:
    """DPU words whose writes of parameters have other values, as Riallto's host changes them."""
    sequence = DpuSequence.read(as_words(read_words(insts).data))
    for row, values in parameters.items():
        writes = [op for op in sequence.operations if op.opcode == DpuOpcode.WRITE and op.fields["row"] == row]
        for op, value in zip(writes, values, strict=True):
            op.fields["value"] = value & 0xFFFFFFFF
    return ControlCode("", encode(sequence.stream()).astype("<u4").tobytes(), is_verbatim=False)


def timed_run(package: LoadedPackage, arrays: Mapping[int, Array]) -> float:
    began = time.monotonic()
    with warnings.catch_warnings():
        # instructions that trace do not wait for the last words of the trace
        warnings.simplefilter("ignore", MissingResultsWarning)
        package.run(arrays)
    return time.monotonic() - began


# Programs


@dataclass(frozen=True)
class Case:
    """A frame with its parameters."""

    label: str
    parameters: Parameters
    model: models.Model
    scalar: models.Model | None = None
    out_channels: int = models.CHANNELS


def frames(height: int, cases: Sequence[Case]) -> Run:
    """Frames one after the other on the same device."""

    def run(package: LoadedPackage, insts: bytes, random: np.random.Generator) -> Iterator[Outcome]:
        for case in cases:
            package.code = with_parameters(insts, case.parameters)
            frame = random.integers(0, 256, (height, WIDTHS[height], models.CHANNELS), dtype=np.uint8)
            result = np.zeros((*frame.shape[:2], case.out_channels), np.uint8)
            seconds = timed_run(package, {0: frame, 1: result})
            expected = case.model(frame).reshape(result.shape)
            scalar = None if case.scalar is None else case.scalar(frame).reshape(result.shape)
            yield Outcome(case.label, result, expected, seconds, scalar)

    return run


def product(sizes: tuple[int, int, int], largest: int, result_type: type[np.int16 | np.int32]) -> Run:
    """C = A B of 8-bit operands up to a limit, all of them row by row."""
    rows, inner, columns = sizes

    def run(package: LoadedPackage, insts: bytes, random: np.random.Generator) -> Iterator[Outcome]:
        a = random.integers(-largest, largest, (rows, inner), dtype=np.int8)
        b = random.integers(-largest, largest, (inner, columns), dtype=np.int8)
        c = np.zeros((rows, columns), result_type)
        arrays: dict[int, Array] = {0: a, 1: b, 2: c}
        # a trace, where there is one, lies behind the result or in an argument of its own
        needs = package.needs
        arrays[2] = np.zeros(max(needs.get(2, 0), c.nbytes), np.uint8)
        arrays |= {number: np.zeros(size, np.uint8) for number, size in needs.items() if number not in arrays}
        seconds = timed_run(package, arrays)
        found = arrays[2][: c.nbytes].view(result_type).reshape(c.shape)
        yield Outcome("", found, a.astype(np.int64) @ b.astype(np.int64), seconds)

    return run


def add_one(package: LoadedPackage, insts: bytes, random: np.random.Generator) -> Iterator[Outcome]:
    """Once: the core ends behind its only line."""
    words = random.integers(0, 1 << 32, package.needs[0] // 4, dtype=np.uint32)
    result = np.zeros_like(words)
    seconds = timed_run(package, {0: words, 1: result})
    yield Outcome("", result, words + np.uint32(1), seconds)


LIMITS = (60, 128, 200)
"""Of red, green and blue."""
ONE = 1 << 14
"""As a weight of `addWeighted`."""
LINE_BYTES = WIDTHS[720] * models.CHANNELS


def notebook(name: str, parameters: Parameters, model: models.Model, scalar: models.Model | None = None) -> Program:
    commit, path = NOTEBOOKS
    xclbin, insts = (path.format(f"{name}.{suffix}") for suffix in ("xclbin", "seq"))
    return Program(name, commit, xclbin, insts, frames(720, [Case("", parameters, model, scalar)]))


def application(name: str, height: int, commit: str, cases: Sequence[Case]) -> Program:
    xclbin, insts = (APPLICATIONS.format(f"{name}_{height}p.{suffix}") for suffix in ("xclbin", "seq"))
    return Program(f"{name}_{height}p, {DATES[commit]}", commit, xclbin, insts, frames(height, cases))


def color_threshold(version: int, height: int, commit: str) -> Program:
    limits = (*LIMITS, 30)
    cases = [
        Case(
            f"type {kind}",
            dict.fromkeys(ROWS if version == 2 else (2,), (*limits, kind)),
            models.rgba_threshold(limits, kind, is_swapped=commit == JULY),
        )
        for kind in (range(models.THRESHOLD_TYPES) if height == 720 else (0,))
    ]
    return application(f"color_threshold_v{version}", height, commit, cases)


def color_detect(height: int, commit: str) -> Program:
    (low, high), (other_low, other_high) = ranges = ((20, 60), (150, 210))
    parameters = {3: (high, low), 4: (other_high, other_low)}
    model, scalar = (models.color_detect(ranges, it) for it in (models.hue, models.scalar_hue))
    case = Case("", parameters, model, scalar)
    return application("color_detect", height, commit, [case])


def edge_detect(height: int, commit: str) -> Program:
    """The filter takes its weights when a frame begins: for the first one, before the instructions write them."""
    limit, edge = 60, models.EDGE << 12
    cases = [
        Case(
            label,
            {5: shares, 4: (limit,), 3: edge.ravel().tolist()},
            models.edge_detect(weights, limit, shares, is_vector=True),
            models.edge_detect(weights, limit, shares, is_vector=False) if label == "mask" else None,
        )
        for label, weights, shares in (
            ("first frame, without weights", np.zeros_like(edge), (ONE, 0, 0)),
            ("mask", edge, (ONE, 0, 0)),
            ("mask and frame", edge, (ONE // 2, ONE // 2, 5)),
        )
    ]
    return application("edge_detect", height, commit, cases)


def denoise(kind: str, height: int, commit: str) -> Program:
    cases = list[Case]()
    for label, shares, threshold in (
        ("gamma 0", (ONE // 4, ONE // 2, 0), (255, 2, 255)),
        ("gamma 3", (ONE // 4, ONE // 2, 3), (255, 2, 255)),
        ("mask", (ONE, -ONE, 0), (10, 0, 255)),
    ):
        if kind == "task":
            parameters: Parameters = {4: shares, 5: threshold}
        else:
            parameters = dict.fromkeys(ROWS, (*shares, *threshold))
        is_swapped = commit == JULY
        model, scalar = (models.denoise(shares, threshold, is_vector=it, is_swapped=is_swapped) for it in (True, False))
        cases.append(Case(label, parameters, model, scalar, out_channels=1))
    return application(f"denoise_{kind}_parallel", height, commit, cases)


PROGRAMS = (
    notebook("passthrough", {2: (LINE_BYTES,)}, models.copy),
    notebook("threshold", {2: (LINE_BYTES, LIMITS[0])}, models.red_threshold(LIMITS[0])),
    notebook("threshold_vec", {2: (LINE_BYTES, *LIMITS)}, models.above(LIMITS)),
    notebook("SimpleApplication", {5: (LINE_BYTES, *LIMITS)}, models.below(LIMITS)),
    notebook("ScaledUpThresholdApplication", dict.fromkeys(ROWS, (LINE_BYTES // 4, *LIMITS)), models.below(LIMITS)),
    Program(
        "product of i8 to i32, 256x256x256",
        "74f36eb3",
        MATRIX.format("matrix_multiplication", "final_256x256x256_32x32x32.xclbin"),
        MATRIX.format("matrix_multiplication", "insts_256x256x256_32x32x32.txt"),
        product((256, 256, 256), 128, np.int32),
    ),
    Program(
        "product of i8 to i16, 512x480x480",
        "74f36eb3",
        MATRIX.format("matrix_multiplication_experiments", "trace_512x480x480_64x120x96.xclbin"),
        MATRIX.format("matrix_multiplication_experiments", "insts_512x480x480_64x120x96.txt"),
        product((512, 480, 480), 8, np.int16),  # no sum of 480 products leaves 16 bits
    ),
    *(
        color_threshold(version, height, commit)
        for commit in (DECEMBER, JULY)
        for height in WIDTHS
        for version in (1, 2)
    ),
    Program("add one", "b691bafc2", "aie.xclbin", "insts_main_sequence.bin", add_one),
    *(
        make(height, commit)
        for make in (color_detect, edge_detect, partial(denoise, "task"), partial(denoise, "data"))
        for commit in (DECEMBER, JULY)
        for height in WIDTHS
    ),
    notebook(
        "ColorDetectApplication",
        {2: (LINE_BYTES,), 3: (WIDTHS[720],), 4: (WIDTHS[720], 50, 120), 5: (LINE_BYTES,)},
        models.hues_in_range(50, 120, models.hue),
        models.hues_in_range(50, 120, models.scalar_hue),
    ),
)


def against_scalar(found: Array, scalar: Array) -> tuple[str, str, str]:
    """Pixels that differ, of how many, and by how much at most."""
    apart = np.abs(found.astype(int) - scalar.astype(int)).max(axis=-1)
    return f"{np.count_nonzero(apart):,}", f"{apart.size:,}", f"{apart.max()}"


def hues_beside_scalar() -> tuple[str, ...]:
    """The same for hues themselves, which no program gives: by both models. They go round: 255 lies beside 0."""
    frame = np.random.default_rng(SEED).integers(0, 256, (720, WIDTHS[720], models.CHANNELS), dtype=np.uint8)
    apart = (models.hue(frame) - models.scalar_hue(frame))[..., np.newaxis].view(np.int8)
    return "hues, by both models", *against_scalar(apart, np.zeros_like(apart))


def compare(
    program: Program, clone: Clone, beside: list[tuple[str, ...]]
) -> Iterator[tuple[Sequence[str], str | None]]:
    """Rows of the table, each with what is wrong with it; none where the clone does not have the program."""
    loaded = program.load(clone)
    if loaded is None:
        return
    package, insts, cores = loaded
    for it in program.run(package, insts, np.random.default_rng(SEED)):
        right = int(np.count_nonzero(it.found == it.expected))
        name = f"{program.name}, {it.label}" if it.label else program.name
        row = (name, str(cores), f"{it.found.size:,}", f"{right:,}", f"{it.seconds:.1f}")
        if it.scalar is not None:
            beside.append((name, *against_scalar(it.found, it.scalar)))
        yield row, None if right == it.found.size else f"{name}: {it.found.size - right:,} elements differ"


def print_row(cells: Sequence[str]) -> None:
    name, *numbers = cells
    print(f"{name:64}" + "".join(f"{cell:>12}" for cell in numbers), flush=True)


def main() -> int:
    parser = ArgumentParser("outside.packages", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE")
    parser.add_argument("--only", default="", metavar="NAME", help="programs that have this in their name")
    args = parser.parse_args()
    wrong, absent, compared = list[str](), list[str](), 0
    beside = list[tuple[str, ...]]()
    print_row(("program", "cores", "elements", "right", "seconds"))
    for program in PROGRAMS:
        if args.only not in program.name:
            continue
        rows = 0
        for clone in map(Clone, args.clones):
            try:
                for row, difference in compare(program, clone, beside):
                    rows += 1
                    print_row(row)
                    wrong += [difference] if difference else []
            except (tw.Error, NotThere) as error:
                wrong.append(f"{program.name}: {error}")
        compared += rows
        absent += [] if rows else [program.name]
    if any("color" in name.lower() for name, *_ in beside):
        beside.append(hues_beside_scalar())
    for row in [("beside the scalar kernels", "differ", "of pixels", "at most"), *beside] if beside else ():
        print_row(row)
    for name in absent:
        print(f"in none of the clones: {name}")
    for line in wrong:
        print(f"differs: {line}", file=sys.stderr)
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
