"""Products of matrices of any size at all: what a design cannot take, the host pads, and cuts the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.errors import ArgumentError
from tilewright.iron.dtype import dtype_map

if TYPE_CHECKING:
    from tilewright.designs.gemm_plan import Plan
    from tilewright.driver.compiled_design import Design
    from tilewright.driver.loaded_device import LoadedDevice
    from tilewright.driver.run_result import RunResult

Matrix = npt.NDArray[Any]


class GemmDesign(Protocol):
    """A design whose sequence takes A, B, C, M, K and N."""

    @property
    def operand(self) -> str: ...
    @property
    def result(self) -> str: ...
    @property
    def a_col_maj(self) -> bool: ...
    @property
    def b_col_maj(self) -> bool: ...
    @property
    def batched(self) -> bool: ...
    def padded(self, m: int, k: int, n: int) -> tuple[int, int, int]: ...
    def program(self) -> Any: ...


AnyDesign = TypeVar("AnyDesign", bound=GemmDesign)


class Product(NamedTuple):
    """A product of matrices, and the run that made it."""

    matrix: Matrix
    result: RunResult
    """How the run went."""

    def __repr__(self) -> str:
        return f"<Product: {' x '.join(map(str, self.matrix.shape))} of {self.matrix.dtype}, {self.result}>"

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


class Gemm(Generic[AnyDesign]):
    """A product that has been compiled once and loaded once, for matrices of any size."""

    def __init__(self, gemm: AnyDesign):
        """Compile `gemm`, such as `WholeArrayGemm("npu2")`."""
        import tilewright

        self.gemm = gemm
        self.design: Design = tilewright.compile(gemm.program())
        self._loaded: LoadedDevice | None = None

    @staticmethod
    def plan(M: int, K: int, N: int, type: str, device: str, columns: int | None = None, **options: Any) -> Plan:
        """Designs for M x K and K x N, the fastest first, with the room and the time that each takes.

        Args:
            M: rows of A and C
            K: columns of A, rows of B
            N: columns of B and C
            type: of the operands, such as "i8", or with that of C, such as "i8_i16"
            device: "npu1" or "npu2"
            columns: how many of its columns; without it all
            options: others of `WholeArrayGemm`, such as `b_col_maj=True`
        """
        from tilewright.designs.gemm_plan import make_plan

        return make_plan(M, K, N, type, device, columns, **options)

    def __repr__(self) -> str:
        return f"<Gemm: {self.gemm}, {self.design}>"

    def sizes(self, m: int, k: int, n: int) -> tuple[int, int, int]:
        """Those of the product that the device does for m x k and k x n: n, k, m if C' = B' A' is faster.

        Rows of A and columns of B allow that; more channels bring in B than A.
        """
        from tilewright.designs.gemm_candidate import Candidate
        from tilewright.designs.whole_array_gemm import WholeArrayGemm

        design = self.gemm
        if isinstance(design, WholeArrayGemm) and design.is_symmetric:
            return min((m, k, n), (n, k, m), key=lambda sizes: Candidate(design, *sizes).cycles)
        return m, k, n

    def padded(self, m: int, k: int, n: int) -> tuple[int, int, int]:
        """M, K and N as the device gets them for m x k and k x n."""
        return self.gemm.padded(*self.sizes(m, k, n))

    def run(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Product:
        """The product of `a`, m x k, and `b`, k x n or a vector; of a design with `batched`, of as many of both."""
        left, right = (_operand(name, matrix, self.gemm.operand) for name, matrix in (("a", a), ("b", b)))
        is_batched = self.gemm.batched
        is_vector = right.ndim == left.ndim - 1
        matrices = right[..., None] if is_vector else right
        if (
            left.ndim != (3 if is_batched else 2)
            or matrices.ndim != left.ndim
            or left.shape[-1] != matrices.shape[-2]
            or left.shape[:-2] != matrices.shape[:-2]
        ):
            raise ArgumentError(f"there is no product of matrices of the shapes {left.shape} and {right.shape}")
        m, k, n = *left.shape[-2:], matrices.shape[-1]
        is_turned = self.sizes(m, k, n) != (m, k, n)
        if is_turned:
            left, matrices = matrices.swapaxes(-1, -2), left.swapaxes(-1, -2)
        rows, depth, columns = self.padded(m, k, n)
        total = np.zeros((*left.shape[:-2], rows, columns), dtype_map[self.gemm.result])
        if self._loaded is None:
            self._loaded = self.design.load()  # loading configures the array, which all runs can share
        first = in_order(left, rows, depth, self.gemm.a_col_maj)
        second = in_order(matrices, depth, columns, self.gemm.b_col_maj)
        count = left.shape[:1] if is_batched else ()
        result = self._loaded.run(first, second, total, rows, depth, columns, *count)
        found = (total.swapaxes(-1, -2) if is_turned else total)[..., :m, :n]
        return Product(found[..., 0] if is_vector else found, result)

    def __call__(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Matrix:
        return self.run(a, b).matrix


def _operand(name: str, given: npt.ArrayLike, operand: str) -> Matrix:
    """A matrix with the elements of a design; real ones are rounded, but integers stay what they are."""
    matrix = np.asarray(given)
    with np.errstate(invalid="ignore"):  # values that are out of range are told below
        converted = matrix.astype(dtype_map[operand], copy=False)
    if converted.dtype.kind in "iu" and not np.array_equal(converted, matrix):
        limits = np.iinfo(converted.dtype)
        raise ArgumentError(f"matrix {name} has values that are no integers from {limits.min} to {limits.max}")
    return converted


def in_order(matrix: Matrix, rows: int, columns: int, column_by_column: bool) -> Matrix:
    """A matrix as a design takes it, with zeros below and to the right; itself where it stands so already."""
    below, beside = rows - matrix.shape[-2], columns - matrix.shape[-1]
    around = [*[(0, 0)] * (matrix.ndim - 2), (0, below), (0, beside)]
    padded = np.pad(matrix, around) if below or beside else matrix
    return np.ascontiguousarray(padded.swapaxes(-1, -2) if column_by_column else padded)
