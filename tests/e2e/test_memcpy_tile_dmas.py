"""A core tile's memory filled and emptied by a sequence that writes the descriptors of the tile itself.

The layers below a copy, one by one: words of descriptors, descriptors by their fields, and waiting for the tile.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from tilewright.device.bd import CoreBd, ShimBd
from tilewright.dialects.aiex.write_bd import NO_FIELDS

COUNT = 1024
CORE_BDS, SHIM_BDS, BD_BYTES = 0x21D000, 0x1D000, 0x20
QUEUES = {"receive": 0x21DE04, "send": 0x21DE14, "to_host": 0x1D204, "from_host": 0x1D214}
CONTROLS = {"receive": 0x21DE00, "to_host": 0x1D200}
TOKEN = 1 << 31
LOCKS = """
  %empty = aie.lock(%core, 0) {init = 1 : i32, sym_name = "empty"}
  %full = aie.lock(%core, 1) {init = 0 : i32, sym_name = "full"}"""


def token_route(tile: str, packet: int) -> str:
    ports = f"aie.packet_source<{tile}, TileControl : 0> aie.packet_dest<%shim, South : 0>"
    return f"\n  aie.packet_flow({packet}) {{ {ports} }} {{keep_pkt_header = true}}"


def passing_through(sequence: list[str], more: str = "") -> str:
    """The host's data into a buffer of a core tile, and out of it."""
    steps = "\n".join(f"    {line}" for line in sequence)
    return f"""
aie.device(npu1_1col) {{
  %shim = aie.tile(0, 0) {{controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 2>}}
  %core = aie.tile(0, 2) {{controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 1>}}
  %buffer = aie.buffer(%core) {{address = 0 : i32, sym_name = "buffer"}} : memref<{COUNT}xi32>
  aie.flow(%shim, DMA : 0, %core, DMA : 0)
  aie.flow(%core, DMA : 0, %shim, DMA : 0){more}
  aie.runtime_sequence @run(%a: memref<{COUNT}xi32>, %b: memref<{COUNT}xi32>) {{
{steps}
  }}
}}"""


def write(address: int, value: int) -> str:
    return f"aiex.npu.write32 {{address = {address} : ui32, value = {value} : ui32}}"


def push(queue: str, bd: int, *, token: bool = False) -> str:
    return write(QUEUES[queue], bd | (TOKEN if token else 0))


def patch(bd: int, argument: int) -> str:
    register = SHIM_BDS + BD_BYTES * bd + 4
    return f"aiex.npu.address_patch {{addr = {register} : ui32, arg_idx = {argument} : i32, arg_plus = 0 : i32}}"


def sync(row: int) -> str:
    place = f"column = 0 : i32, row = {row} : i32, direction = 0 : i32, channel = 0 : i32"
    return f"aiex.npu.sync {{{place}, column_num = 1 : i32, row_num = 1 : i32}}"


def set_controller(channel: str, number: int) -> str:
    where, value = f"address = {CONTROLS[channel]} : ui32", f"value = {number << 8} : ui32"
    return f"aiex.npu.maskwrite32 {{{where}, {value}, mask = 3840 : ui32}}"


def write_bd(row: int, bd: int, **fields: int) -> list[str]:
    """A descriptor by its fields."""
    given = dict.fromkeys(NO_FIELDS, 0) | {"bd_id": bd, "row": row, "buffer_length": COUNT, "valid_bd": 1} | fields
    return ["aiex.npu.writebd {" + ", ".join(f"{name} = {value} : i32" for name, value in given.items()) + "}"]


def write_words(row: int, bd: int, **fields: int) -> list[str]:
    """A descriptor by its words."""
    names = {"lock_acq_val": "lock_acq_value", "lock_rel_val": "lock_rel_value"}
    named = {names.get(name, name): value for name, value in fields.items()}
    layout, base = (CoreBd, CORE_BDS) if row else (ShimBd, SHIM_BDS)
    words = layout.pack(buffer_length=COUNT, valid_bd=1, **named)
    return [write(base + BD_BYTES * bd + 4 * number, word) for number, word in enumerate(words)]


def with_locks(describe: Callable[..., list[str]]) -> str:
    """Locks hand the buffer from one channel of the tile to the other, and back."""
    receiving = {"lock_acq_enable": 1, "lock_acq_id": 0, "lock_acq_val": -1, "lock_rel_id": 1, "lock_rel_val": 1}
    sending = {"lock_acq_enable": 1, "lock_acq_id": 1, "lock_acq_val": -1, "lock_rel_id": 0, "lock_rel_val": 1}
    sequence = [*describe(0, 0), patch(0, 1), set_controller("to_host", 2), push("to_host", 0, token=True)]
    sequence += [*describe(2, 0, **receiving), push("receive", 0)]
    sequence += [*describe(2, 1, **sending), push("send", 1)]
    sequence += [*describe(0, 1), patch(1, 0), push("from_host", 1), sync(0)]
    return passing_through(sequence, LOCKS)


def with_tokens() -> str:
    """No locks: the sequence waits until all have arrived before it has them sent."""
    sequence = [*write_bd(0, 0), patch(0, 1), set_controller("to_host", 2), push("to_host", 0, token=True)]
    sequence += [*write_bd(0, 1), patch(1, 0), push("from_host", 1)]
    sequence += [*write_bd(2, 0), set_controller("receive", 1), push("receive", 0, token=True), sync(2)]
    sequence += [*write_bd(2, 1), push("send", 1), sync(0)]
    return passing_through(sequence, token_route("%core", 1) + token_route("%shim", 2))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(with_locks(write_words), id="words and locks"),
        pytest.param(with_locks(write_bd), id="fields and locks"),
        pytest.param(with_tokens(), id="fields and completion tokens"),
    ],
)
def test_a_core_tile_driven_by_registers(text: str) -> None:
    loaded = tw.compile(text).load()
    for run in range(3):
        given, result = np.arange(COUNT, dtype=np.int32) + run, np.zeros(COUNT, np.int32)
        loaded.run(given, result)
        np.testing.assert_array_equal(result, given)
