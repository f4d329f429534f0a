"""Tensors of the host, and comparing them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from ml_dtypes import bfloat16

import tilewright.iron as iron
from tilewright.iron.utils import tensor_factory
from tilewright.iron.utils.benchmark import run_iters
from tilewright.iron.utils.hostruntime.tensor_class import CPUOnlyTensor, NpuTensor
from tilewright.iron.utils.verify import assert_pass, count_mismatches, nearly_equal


def test_tensors_are_arrays() -> None:
    tensor = iron.arange(6, dtype=np.int16, shape=(2, 3))
    tensor[1, 2] = 40
    assert tensor.numpy().tolist() == [[0, 1, 2], [3, 4, 40]] and np.asarray(tensor, dtype=float)[1, 2] == 40.0
    assert (tensor.shape, tensor.dtype, tensor.nbytes, tensor.numel(), len(tensor)) == ((2, 3), np.int16, 12, 6, 2)
    assert tensor.to("cpu").device == "cpu" and repr(iron.zeros(1)) == "NpuTensor([0.], device='npu')"


def test_factories() -> None:
    assert iron.zeros(2, 3).shape == (2, 3) and iron.ones((4,), dtype=np.int8).numpy().tolist() == [1] * 4
    assert iron.full((2,), 7, dtype=np.int32).numpy().tolist() == [7, 7]
    drawn = iron.rand(1000, dtype=bfloat16).numpy().astype(float)
    assert drawn.min() >= 0 and drawn.max() < 1
    dice = iron.randint(1, 7, (100,), dtype=np.int32, generator=np.random.default_rng(1)).numpy()
    assert set(dice.tolist()) == {1, 2, 3, 4, 5, 6}
    assert iron.zeros_like(iron.ones(3)).numpy().tolist() == [0, 0, 0]
    given = np.arange(3)
    copied = iron.tensor(given, dtype=given.dtype)
    given[0] = 9
    assert copied[0] == 0


class _Generated(NpuTensor):
    @property
    def data(self) -> Any:
        return np.arange(64, dtype=np.uint8)


@pytest.mark.parametrize(
    "make, error, complaint",
    [
        (lambda: iron.tensor(np.zeros(2, np.int8), dtype=np.int16), TypeError, "does not match dtype= kwarg"),
        (lambda: iron.zeros(2, device="tpu"), ValueError, "Unsupported device: tpu"),
        (lambda: iron.zeros(-1), ValueError, "shape extents must not be negative"),
        (
            lambda: iron.arange(6, shape=(4,)),
            ValueError,
            r"shape=\(4,\) \(prod=4\) does not match generated range size 6",
        ),
        (lambda: iron.zeros(64, dtype=np.uint8).subview(3, 4), ValueError, "not aligned to the 64-byte coherence"),
        (
            lambda: _Generated(64, dtype=np.uint8).subview(64, 4),
            NotImplementedError,
            "_Generated has `data` of its own",
        ),
        (lambda: iron.zeros(64, dtype=np.uint8).subview(64, 4), ValueError, "out of bounds for a buffer of 64 bytes"),
        (lambda: iron.set_tensor_class(cast(Any, np.ndarray)), ValueError, "must inherit from the NpuTensor class"),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=complaint):
        make()


def test_parts_share_memory() -> None:
    whole = iron.zeros(64, dtype=np.int32)
    part = whole.subview(128, (2, 16))
    part[1, 0] = 5
    assert whole[48] == 5 and part.base is whole and part.storage_offset == 128 and part.is_view
    with whole.mutate() as lent:
        lent[:] = 1
    assert part[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        lent[0] = 2


def test_another_class_of_tensors() -> None:
    iron.set_tensor_class(CPUOnlyTensor)
    try:
        assert iron.zeros(1).device == "cpu" and tensor_factory.DEFAULT_TENSOR_CLASS is CPUOnlyTensor
    finally:
        iron.set_tensor_class(NpuTensor)


def test_comparing(capsys: pytest.CaptureFixture[str]) -> None:
    assert nearly_equal([1.0, 1.0, np.nan], [1.2, 2.0, np.nan]).tolist() == [True, False, False]
    assert count_mismatches([1.0, np.inf, 3.0], [1.0, 1.0, 9.0]) == (0, 1)
    assert_pass([1, 2], [1, 2])
    assert capsys.readouterr().out == "PASS!\n"
    with pytest.raises(SystemExit, match="FAIL! too much"):
        assert_pass([1, 3], [1, 2], fail_msg="too much")


def test_timing_of_what_is_no_design() -> None:
    calls: list[int] = []
    result = run_iters(calls.append, 1, warmup=2, iters=3)
    assert len(calls) == 5 and result.npu is None and result.e2e.min_us <= result.e2e.avg_us
