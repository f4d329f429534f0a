"""Buffers over memory that a host program has: they share it, or say why they cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from ml_dtypes import bfloat16

from tilewright import pyxrt
from tilewright.iron.utils.hostruntime.tensor_class import NpuTensor
from tilewright.xrt.buffers import bo
from tilewright.xrt.packages import XrtError

TYPES = st.sampled_from([np.int8, np.int16, np.float32, np.int64, bfloat16, ">i4"])


@st.composite
def views(draw: st.DrawFn) -> Any:
    """Parts of arrays in steps, backwards, with their dimensions in any order, some of them read-only."""
    shape = draw(hnp.array_shapes(max_dims=3, max_side=5))
    whole = np.arange(np.prod(shape)).astype(draw(TYPES)).reshape(shape)
    part = whole[draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))]
    part = np.asarray(part).transpose(draw(st.permutations(range(np.ndim(part)))))
    part.flags.writeable = part.flags.writeable and draw(st.booleans())
    return part


def userptr(array: Any) -> bo:
    return pyxrt.ext.bo(pyxrt.device(0), array, array.nbytes)


@pytest.mark.parametrize("make", [bo.over, userptr])
@settings(max_examples=60, deadline=None)
@given(views())
def test_a_buffer_shares_the_memory_of_an_array_or_refuses_it(make: Any, array: Any) -> None:
    if array.size == 0:
        return
    try:
        buffer = make(array)
    except XrtError as error:
        assert not array.flags.c_contiguous or not array.flags.writeable
        assert "ascontiguousarray" in str(error) or "copy()" in str(error)
        return
    buffer.map()[:] = bytes(reversed(range(array.nbytes)))
    assert array.tobytes() == bytes(reversed(range(array.nbytes)))


@pytest.mark.parametrize("wrap", [lambda memory: memory, memoryview])
def test_a_buffer_shares_bytes_of_python(wrap: Any) -> None:
    memory = bytearray(8)
    pyxrt.ext.bo(pyxrt.device(0), wrap(memory), 4).map()[3] = 7
    assert memory == b"\0\0\0\7\0\0\0\0"
    with pytest.raises(XrtError, match="read-only"):
        pyxrt.ext.bo(pyxrt.device(0), memoryview(bytes(8)), 8)
    with pytest.raises(XrtError, match="not one behind the other"):
        pyxrt.ext.bo(pyxrt.device(0), memoryview(memory)[::2], 4)


def test_an_array_of_objects_has_no_bytes() -> None:
    with pytest.raises(XrtError, match="Python objects"):
        bo.over(np.array([None, 3], dtype=object))


@settings(max_examples=60, deadline=None)
@given(views())
def test_a_tensor_of_any_array_and_its_buffer_are_one_memory(array: Any) -> None:
    """Also of one in columns: parts, bytes and buffers of a tensor are all in rows."""
    tensor = NpuTensor(array, dtype=array.dtype)
    assert (tensor.numpy() == array).all() and tensor.numpy().flags.c_contiguous
    if tensor.numel():
        tensor.buffer_object().map()[:] = bytes(array.nbytes)
        assert not tensor.numpy().any() and not tensor.storage.host_bytes.any()
        tensor.subview(0, array.shape)[...] = array
        assert (tensor.numpy() == array).all()
