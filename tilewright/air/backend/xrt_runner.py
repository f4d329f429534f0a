"""mlir-air's runner of tests: a launch on arrays, and what comes out beside what is expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np

from tilewright.air.backend.xrt import XRTBackend
from tilewright.errors import ArgumentError
from tilewright.support.tracebacks import user_facing

SHOWN = 10
"""Elements that are wrong, of an output."""


@dataclass(frozen=True)
class Wanted:
    """What is expected of an output of a `shape`: `values` of all elements, or of those at `places`."""

    shape: tuple[int, ...]
    values: np.ndarray[Any, Any]
    places: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, given: Any) -> Wanted:
        if isinstance(given, Mapping):
            parts = cast("Mapping[str, Any]", given)
            places: list[Any] = np.asarray(parts["indices"]).tolist()
            return cls(tuple(parts["shape"]), np.asarray(parts["values"]), tuple(places))
        array: np.ndarray[Any, Any] = np.asarray(given)
        return cls(array.shape, array)

    def found_in(self, output: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What an output has there; whole numbers of other signs are taken for their bits."""
        kind = self.values.dtype
        if output.size != prod(self.shape):
            raise ArgumentError(f"an output of {output.shape} is expected to be one of {self.shape}")
        if (
            output.dtype != kind
            and output.dtype.itemsize == kind.itemsize
            and {output.dtype.kind, kind.kind} <= {*"iu"}
        ):
            output = output.view(kind)
        whole = output.reshape(self.shape)
        return whole if self.places is None else whole[self.places]


@user_facing
class XRTRunner:
    """Runs launches and compares; `options` beside these are for the compiler of AIE cores, and mean nothing here.

    With `verbose` programs are printed, with `report_precision` errors of numbers that are right, too.
    """

    def __init__(self, verbose: bool = False, report_precision: bool = False, **options: Any):
        self.verbose, self.report_precision = verbose, report_precision
        self._backend = XRTBackend(**options)

    def run_test(
        self,
        mlir_module: Any,
        inputs: Sequence[Any],
        expected_outputs: Sequence[Any] = (),
        stochastic_expected_outputs: Sequence[Any] = (),
        rtol: float = 1e-3,
        atol: float = 1e-8,
        max_mismatch_percentage: float = 0,
        min_correlation: float | None = None,
        trace_file: str | None = None,
    ) -> int:
        """Run what `launch.build()` gave, `mlir_module`, on `inputs`; 0 if it gives what is expected, else -1.

        `expected_outputs` are arrays; of `stochastic_expected_outputs` the `values` at some `indices` are known.
        `max_mismatch_percentage` of the elements may be further away than `rtol` and `atol` allow; an output has at
        least a `min_correlation` with what is expected. There is no `trace_file` of a GPU.
        """
        wanted = [Wanted.of(each) for each in expected_outputs or stochastic_expected_outputs]
        if not wanted:
            raise ArgumentError("a test expects something: give `expected_outputs` or `stochastic_expected_outputs`")
        if self.verbose:
            print(mlir_module)
        function = self._backend.compile_and_load(mlir_module)
        outputs = function(*inputs, *(np.zeros(each.shape, each.values.dtype) for each in wanted))[len(inputs) :]
        reports = [
            self._report(
                number, each.found_in(output), each.values, rtol, atol, max_mismatch_percentage, min_correlation
            )
            for number, (output, each) in enumerate(zip(outputs, wanted, strict=True))
        ]
        print("PASS!" if all(reports) else "failed.")
        return 0 if all(reports) else -1

    def _report(
        self,
        number: int,
        found: np.ndarray[Any, Any],
        wanted: np.ndarray[Any, Any],
        rtol: float,
        atol: float,
        most_percent: float,
        least_correlation: float | None,
    ) -> bool:
        """Say what is wrong with an output; whether nothing is."""
        is_exact = wanted.dtype.kind in "iub"
        # of bf16 NumPy has no errors
        found, wanted = (each if is_exact else each.astype(np.float64) for each in (found, wanted))
        right = found == wanted if is_exact else np.isclose(found, wanted, rtol, atol)
        wrong = np.argwhere(~right)
        if self.report_precision and not is_exact and wanted.size:
            error = np.abs(found - wanted)
            print(f"output {number}: largest error {error.max():.3e}, mean {error.mean():.3e}")
        is_fine = len(wrong) <= wanted.size * (0 if is_exact else most_percent) / 100
        if not is_fine:
            print(f"output {number}: {len(wrong)} of {wanted.size} elements are wrong")
            for place in map(tuple, wrong[:SHOWN]):
                print(f"  at {tuple(map(int, place))}: {found[place]}, not {wanted[place]}")
        if least_correlation is not None and not is_exact and wanted.size > 1:
            correlation = float(np.corrcoef(found.ravel(), wanted.ravel())[0, 1])
            # it is no number where all elements are one
            if not correlation >= least_correlation:
                print(f"output {number}: a correlation of {correlation:.6f}, not {least_correlation}")
                is_fine = False
        return is_fine
