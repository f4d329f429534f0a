"""Helpers of machine-learning designs: layouts of tensors as words, and the test of a convolution against PyTorch.

PyTorch is imported by what needs it.
"""

from __future__ import annotations

import csv
import json
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_PART = re.compile(r"([A-Za-z])(\d*)")


class _Split(NamedTuple):
    """An axis of an array in blocks: their sizes from the outermost to the innermost, and what is added to its end."""

    sizes: list[int]
    padding: int


class DataShaper:
    """Layouts of tensors, written as words.

    `YCXC8` of an array `CYX` has rows, then blocks of 8 channels, then columns, and inside of that the 8 channels. A
    letter without a number stands for what is left of its axis; the innermost block of an axis is its rightmost letter.
    """

    def __init__(self, defOrder: str = "RC", print_info: bool = False):
        self.defOrder = defOrder
        self.print_info = print_info
        self.log_msg: list[str] = []

    def reorder_mat(
        self, mat: npt.NDArray[Any], order: str, defOrder: str | None = None, inverse: bool = False
    ) -> npt.NDArray[Any]:
        """The elements of an array whose axes `defOrder` names, flat, in the order that a word says; or back.

        Axes whose size is no multiple of their blocks end with zeros.
        """
        axes = defOrder or self.defOrder
        parts = _parts(order, axes)
        splits = {axis: _split(size, parts, axis) for axis, size in zip(axes, mat.shape, strict=True)}
        sizes = [size for axis in axes for size in splits[axis].sizes]
        where = _places(parts, axes)
        if self.print_info:
            self.log_msg.append(f"[INFO]: reorder {mat.shape} as {order}: blocks {sizes}, in the order {where}")
        if inverse:
            if any(split.padding for split in splits.values()):
                raise ValueError(f"{order} adds zeros to {mat.shape}, which cannot be taken back")
            back = mat.reshape([sizes[place] for place in where])
            return back.transpose([where.index(place) for place in range(len(where))]).reshape(-1)
        padded = np.pad(mat, [(0, splits[axis].padding) for axis in axes])
        return padded.reshape(sizes).transpose(where).reshape(-1)


def _parts(order: str, axes: str) -> list[tuple[str, int | None]]:
    """The letters of a layout with their numbers."""
    found = _PART.findall(order)
    if "".join(letter + number for letter, number in found) != order:
        raise ValueError(f"the layout {order!r} has more than letters and numbers: other marks are not known here")
    if unknown := [letter for letter, _ in found if letter not in axes]:
        raise ValueError(f"the layout {order!r} has an axis {unknown[0]!r}, and the array has {axes!r}")
    return [(letter, int(number) if number else None) for letter, number in found]


def _split(size: int, parts: Sequence[tuple[str, int | None]], axis: str) -> _Split:
    left, sizes, padding, inner = size, list[int](), 0, 1
    for block in reversed([number for letter, number in parts if letter == axis]):
        taken = left if block is None else block
        if taken == 0:
            raise ValueError(f"the axis {axis!r} has blocks of 0 elements")
        padding += -left % taken * inner
        left, inner = -(-left // taken), inner * taken
        sizes.insert(0, taken)
    return _Split(sizes, padding)


def _places(parts: Sequence[tuple[str, int | None]], axes: str) -> list[int]:
    """For each letter of a layout, which of the blocks of all axes it is."""
    counts = {axis: sum(letter == axis for letter, _ in parts) for axis in axes}
    seen = dict.fromkeys(axes, 0)
    starts = {axis: sum(counts[before] for before in axes[: axes.index(axis)]) for axis in axes}
    places = list[int]()
    for letter, _ in parts:
        places.append(starts[letter] + seen[letter])
        seen[letter] += 1
    return places


def run_conv_torch_test(
    *,
    xclbin_path: str | Path,
    insts_path: str | Path,
    golden_model: Any,
    int_inp: Any,
    int_weights: Sequence[Any],
    out_shape_in_layout: Sequence[int],
    out_shape_final: Sequence[int],
    out_scale: float,
    atol: float,
    kernel_name: str | None = None,
    in_layout: tuple[str, str] = ("YCXC8", "CYX"),
    wts_layout: tuple[str, str] = ("OIYXI8O8", "OIYX"),
    out_reorder: tuple[str, str] = ("CDYX", "YCXD"),
    dtype_in: npt.DTypeLike = np.int8,
    dtype_wts: npt.DTypeLike = np.int8,
    dtype_out: npt.DTypeLike = np.int8,
    trace_size: int = 0,
    trace_file: str | None = None,
    log_dir: str | Path | None = None,
) -> bool:
    """Run a design that computes a convolution, and compare with a PyTorch model; whether they agree.

    Args:
        xclbin_path: the design, and `insts_path` its instructions, as `compile` wrote them
        golden_model: gives the expected output for `int_inp`
        int_inp: the input, one image with integers as floats
        int_weights: weights, which the design gets one behind the other
        out_shape_in_layout: the shape of what the design writes, before `out_reorder`
        out_shape_final: and behind it
        out_scale: what the design's integers are multiplied with
        atol: how far numbers may be apart
        kernel_name: for the vendor's runtime
        in_layout: a layout and the axes that it is of, as are `wts_layout` and `out_reorder`
        dtype_in: of the elements that the design reads; `dtype_wts` of its weights, `dtype_out` of what it writes
        trace_size: bytes of trace that the design records, to `trace_file`
        log_dir: a folder for the data before and after
    """
    from tilewright.iron.utils import HostRuntime, NPUKernel, TraceConfig, tensor, zeros

    shaper = DataShaper()
    golden_model.eval()
    expected = golden_model(int_inp).detach().numpy()
    image = int_inp.squeeze().data.numpy().astype(dtype_in)
    pixels = shaper.reorder_mat(image, *in_layout)
    weights = np.concatenate(
        [shaper.reorder_mat(weight.data.numpy().astype(dtype_wts), *wts_layout) for weight in int_weights]
    )
    buffers = [tensor(pixels), tensor(weights), zeros(int(np.prod(out_shape_in_layout)), dtype=dtype_out)]
    trace = None
    if trace_size > 0:
        if trace_file is None:
            raise ValueError("trace_file is required when trace_size > 0")
        out = buffers[-1]
        trace = TraceConfig(trace_size, trace_file, True, False, out.shape, out.dtype)
        HostRuntime.prepare_args_for_trace(buffers, trace)
    runtime = HostRuntime()
    kernel = NPUKernel(xclbin_path, insts_path, kernel_name=kernel_name or "MLIR_AIE")
    result = runtime.run(runtime.load(kernel), buffers)
    if trace is not None:
        trace.write_trace(HostRuntime.extract_trace_from_args(buffers, trace)[0])
    written = np.asarray(buffers[-1]) * out_scale
    found = shaper.reorder_mat(written.reshape(out_shape_in_layout), *out_reorder).reshape(out_shape_final)
    if log_dir is not None:
        _log(Path(log_dir), {"before_ifm": image, "after_ifm": pixels, "weights": weights, "after_ofm": found})
    print(f"\nAvg NPU time: {int(result.npu_time / 1000)}us.")
    agrees = np.allclose(found[np.newaxis], expected, rtol=0, atol=atol)
    print("\nPASS!\n" if agrees else "\nFailed.\n")
    return bool(agrees)


def _log(folder: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        array.tofile(folder / f"{name}.txt", sep=",", format="%d")


class CSVLoggerError(Exception):
    """A table was given its columns twice."""


class CSVLogger:
    """A table in a CSV file, to which rows are appended."""

    def __init__(self, filename: str | Path, sep: str = ","):
        self.filename = str(filename)
        self.columns: list[str] | None = None
        if Path(filename).exists():
            with open(filename, newline="") as before:
                self.columns = next(csv.reader(before, delimiter=sep), None)
        self.fh = open(filename, "a", newline="")  # noqa: SIM115, `close` closes it
        self.csvwriter = csv.writer(self.fh, delimiter=sep)

    def set_columns(self, columns: Sequence[str]) -> None:
        if self.columns:
            raise CSVLoggerError("Columns already set")
        self.columns = list(columns)
        self.csvwriter.writerow(self.columns)

    def append(self, row: Mapping[str, Any]) -> None:
        """A row; without columns before it, its keys are those."""
        if not self.columns:
            self.set_columns([*row])
        self.csvwriter.writerow([row.get(column, "-") for column in self.columns or ()])

    def close(self) -> None:
        self.fh.close()

    def __enter__(self) -> CSVLogger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def load_class_label(class_label_file: str | Path, num_classes: int) -> list[Any]:
    """The names of classes from a JSON file whose keys are their numbers."""
    labels = json.loads(Path(class_label_file).read_text(encoding="utf-8"))
    return [labels[str(number)] for number in range(num_classes)]


def unpickle(file: str | Path) -> Any:
    """What a pickle of CIFAR holds. Pickles run code: open only those that you trust."""
    with open(file, "rb") as data:
        return pickle.load(data, encoding="latin1")


def fuse_single_conv_bn_pair(bn_mean: Any, bn_var: Any, bn_wts: Any, bn_bias: Any, conv_wts: Any) -> Any:
    """The weights of a convolution with the scale of the batch normalization behind it, in place."""
    import torch  # pyright: ignore[reportMissingImports]

    scale: Any = (bn_wts / (bn_var + 1e-05).sqrt()).to(torch.int8)  # pyright: ignore[reportUnknownMemberType]
    return conv_wts.mul_(scale.reshape(-1, *[1] * (conv_wts.dim() - 1)))


__all__ = [
    "CSVLogger",
    "CSVLoggerError",
    "DataShaper",
    "fuse_single_conv_bn_pair",
    "load_class_label",
    "run_conv_torch_test",
    "unpickle",
]
