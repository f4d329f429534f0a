"""DMA channels that compress, or expand, what goes through them, on both models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.sim.compression import compressed

OBJECT, OBJECTS = 64, 4
ENABLED = 1 << 4
BD_ENABLED = -(1 << 31)
GROUPS = {"npu1_1col": 32, "npu2_1col": 64}


def maskwrite(row: int, address: int, bit: int) -> str:
    return f"""
    %value{address:x} = arith.constant {bit} : i32
    %address{address:x} = arith.constant {address} : i32
    aiex.npu.maskwrite32(%address{address:x}, %value{address:x}, %value{address:x})
        {{column = 0 : i32, row = {row} : i32}} : i32, i32, i32"""


def design(device: str, writes: str, words_in: int, words_out: int) -> str:
    """What the host sends goes through a mem tile, whose descriptors 0 and 1 receive, 2 and 3 send."""
    host = f"memref<{OBJECT * OBJECTS}xi32>"
    return f"""
    aie.device({device}) {{
      %shim = aie.tile(0, 0)
      %mem = aie.tile(0, 1)
      aie.objectfifo @in(%shim, {{%mem}}, 2 : i32) : !aie.objectfifo<memref<{OBJECT}xi32>>
      aie.objectfifo @out(%mem, {{%shim}}, 2 : i32) : !aie.objectfifo<memref<{OBJECT}xi32>>
      aie.objectfifo.link [@in] -> [@out] ([] [])
      aie.runtime_sequence(%a : {host}, %b : {host}) {{{writes}
        aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, {words_in}][0, 0, 0, 1])
            {{id = 0 : i64, metadata = @in}} : {host}
        aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, {words_out}][0, 0, 0, 1])
            {{id = 1 : i64, metadata = @out, issue_token = true}} : {host}
        aiex.npu.dma_wait {{symbol = @out}}
      }}
    }}"""


SENDS = "".join(maskwrite(1, 0xA0010 + 0x20 * bd, BD_ENABLED) for bd in (2, 3)) + maskwrite(1, 0xA0630, ENABLED)
RECEIVES = "".join(maskwrite(1, 0xA0010 + 0x20 * bd, BD_ENABLED) for bd in (0, 1)) + maskwrite(1, 0xA0600, ENABLED)
WITHOUT_CHANNEL = "".join(maskwrite(1, 0xA0010 + 0x20 * bd, BD_ENABLED) for bd in (0, 1, 2, 3))


def run(source: str, given: Any, model: str) -> tuple[Any, int]:
    out = np.full(OBJECT * OBJECTS, -1, np.int32)
    result = tw.compile(source).run(given.astype(np.int32), out, model=model)
    return out.view(np.uint32), result.cycles


def sparse() -> Any:
    return np.random.default_rng(5).integers(0, 1000, OBJECT * OBJECTS).astype(np.uint32)


def wire(data: Any, group: int) -> Any:
    """What goes over the stream: the first object as it is, since its descriptor was loaded before."""
    objects = data.reshape(OBJECTS, OBJECT)
    return np.concatenate([objects[0], *(compressed(each, group) for each in objects[1:])])


@pytest.mark.parametrize("device", GROUPS)
def test_a_channel_compresses_what_it_sends(device: str):
    data = sparse()
    wanted = wire(data, GROUPS[device])
    source = design(device, SENDS, len(data), len(wanted))
    fast, plain = run(source, data, "fast"), run(source, data, "plain")
    assert (fast[0][: len(wanted)] == wanted).all()
    assert (fast[0][len(wanted) :] == np.uint32(0xFFFFFFFF)).all()
    assert (plain[0] == fast[0]).all()
    assert plain[1] == fast[1]


@pytest.mark.parametrize("device", GROUPS)
def test_a_channel_expands_what_it_receives(device: str):
    data = sparse()
    given = wire(data, GROUPS[device])
    source = design(device, RECEIVES, len(given), len(data))
    padded = np.concatenate([given, np.zeros(len(data) - len(given), np.uint32)])
    fast, plain = run(source, padded, "fast"), run(source, padded, "plain")
    assert (fast[0] == data).all()
    assert (plain[0] == data).all()
    assert plain[1] == fast[1]


def test_descriptors_alone_do_not_compress():
    data = sparse()
    found, _ = run(design("npu2_1col", WITHOUT_CHANNEL, len(data), len(data)), data, "fast")
    assert (found == data).all()


def test_a_length_that_does_not_fit_what_is_compressed_hangs():
    data = sparse()
    with pytest.raises(tw.Hang, match="S2MM 0 of tile"):
        run(design("npu2_1col", SENDS, len(data), len(data)), data, "fast")
