"""Writes tilewright/include/aie/Runtime/DmaTables.h: what the compiler knows of DMA registers, for C++ hosts.

python docs/dma_tables.py            writes it
python docs/dma_tables.py --check    says whether it is up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from tilewright.device import DeviceName, DmaDirection, TileId, TileType, model
from tilewright.device.bd import AX_CACHE, BD_LAYOUTS, ShimBd
from tilewright.device.layout import Field
from tilewright.dialects.aiex.write_bd import ALL_FIELDS, FOURTH_DIMENSION
from tilewright.txn.opcodes import FIRST_FOLDED_ARGUMENT, FOLDED_OFFSET

HEADER = Path(__file__).parents[1] / "tilewright" / "include" / "aie" / "Runtime" / "DmaTables.h"
# The three kinds of tile with a DMA, with one of each; all NPUs have the same of each kind.
KINDS = {"shim": TileType.ShimNOCTile, "mem": TileType.MemTile, "core": TileType.CoreTile}
MODELS = model(DeviceName.npu1), model(DeviceName.npu2)
FIELDS = ALL_FIELDS | FOURTH_DIMENSION


def bursts(generation: int) -> dict[int, int]:
    return {length: MODELS[generation].burst_encoding(length) for length in MODELS[generation].burst_lengths}


def field_text(field: Field | None) -> str:
    if field is None:
        return "{}"
    return f"{{{field.word}, {field.lo}, {field.width}, {'true' if field.signed else 'false'}}}"


def tile_text(kind: TileType) -> str:
    """Addresses, counts and limits of one kind of tile."""
    found = next(tile for tile in MODELS[0].tiles if MODELS[0].tile_type(*tile) is kind)
    registers, resources = MODELS[0].registers(*found), MODELS[0].resources(kind)
    queues = [registers.task_queue(direction) for direction in (DmaDirection.S2MM, DmaDirection.MM2S)]
    channels = [MODELS[0].num_dma_channels(*found, direction) for direction in (DmaDirection.S2MM, DmaDirection.MM2S)]
    numbers = {
        "bds": f"{registers.bds[0]:#x}",
        "bd_bytes": registers.bds[1] - registers.bds[0],
        "bd_count": resources.bds,
        "bd_words": BD_LAYOUTS[kind].words,
        "address_word": registers.bd_address_word,
        "queues": f"{{{', '.join(f'{queue[0]:#x}' for queue in queues)}}}",
        "queue_bytes": queues[0][1] - queues[0][0],
        "channels": f"{{{', '.join(map(str, channels))}}}",
        "halves": "false" if MODELS[0].is_bd_channel_accessible(*found, resources.bds - 1, 0) else "true",
        "wrap_bits": resources.wrap_bits,
        "step_bits": resources.step_bits,
    }
    address = BD_LAYOUTS[kind].fields["address_low" if kind is TileType.ShimNOCTile else "address"]
    lines = [f"    /*{name}=*/{number}," for name, number in numbers.items()]
    queue = registers.queue.fields
    words = ("start_bd_id", "repeat_count", "enable_token_issue")
    lines += [f"    /*{name}=*/{field_text(queue[name])}," for name in words]
    return "\n".join([*lines, f"    /*address=*/{field_text(address)},"])


def members_text() -> str:
    return "\n".join(f"  int64_t {name} = 0;" for name in FIELDS)


def rows_text() -> str:
    rows = list[str]()
    for name, target in FIELDS.items():
        places = ", ".join(field_text(BD_LAYOUTS[kind].fields.get(target)) for kind in KINDS.values())
        rows.append(f"    {{&TxnBd::{name}, {{{places}}}, {'true' if name in FOURTH_DIMENSION else 'false'}}},")
    return "\n".join(rows)


def bursts_text(generation: int) -> str:
    return ", ".join(f"{{{length}, {code}}}" for length, code in bursts(generation).items())


def updated() -> str:
    """The header as the tables of `tilewright.device` have it now."""
    shifts = [MODELS[0].tile_address(*place).bit_length() - 1 for place in (TileId(1, 0), TileId(0, 1))]
    tiles = "\n".join(f"  {{\n{tile_text(kind)}\n  }}," for kind in KINDS.values())
    return f"""\
// Where DMA registers of AIE2 and AIE2P tiles are, and what is in them.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Made by docs/dma_tables.py from the tables that the compiler uses, tilewright/device: do not edit.

#ifndef AIE_RUNTIME_DMATABLES_H
#define AIE_RUNTIME_DMATABLES_H

#include <cstdint>

namespace aie_runtime {{

// A buffer descriptor, field by field, named as those of `aiex.npu.writebd`. They hold what the register holds: steps,
// and the number of iterations, less one.
struct TxnBd {{
{members_text()}
  int64_t buffer_offset = 0; // where the data is: words in a mem tile, else bytes
  uint32_t burst_length = 0; // bytes; 0 asks for the longest. Of shim tiles
}};

namespace detail {{

constexpr uint32_t kColumnShift = {shifts[0]};
constexpr uint32_t kRowShift = {shifts[1]};
constexpr int kFirstFoldedArgument = {FIRST_FOLDED_ARGUMENT};
constexpr uint32_t kFoldedOffset = {FOLDED_OFFSET:#x};

// Bits of one word; none if the width is 0.
struct BdField {{
  uint8_t word = 0, lo = 0, width = 0;
  bool is_signed = false;
}};

struct DmaTile {{
  uint32_t bds, bd_bytes, bd_count, bd_words, address_word;
  uint32_t queues[2], queue_bytes, channels[2]; // of S2MM, MM2S
  bool halves;                                  // even channels reach the lower half of the descriptors, odd the upper
  uint32_t wrap_bits, step_bits;
  BdField start_bd_id, repeat_count, enable_token_issue, address;
}};

enum DmaKind : uint32_t {{ {", ".join(f"k{name.title()}Dma" for name in KINDS)} }};

constexpr DmaTile kDmaTiles[] = {{
{tiles}
}};

struct BdRow {{
  int64_t TxnBd::*member;
  BdField at[3]; // in the descriptors of each kind of tile
  bool may_be_missing;
}};

constexpr BdRow kBdRows[] = {{
{rows_text()}
}};

constexpr BdField kAxCache = {field_text(ShimBd.ax_cache)};
constexpr uint32_t kAxCacheValue = {AX_CACHE};
constexpr BdField kBurstLength = {field_text(ShimBd.burst_length)};

struct Burst {{
  uint32_t bytes, code;
}};

constexpr Burst kBursts[] = {{{bursts_text(1)}}}; // the longest only on AIE2P
constexpr uint32_t kLongestBurst[] = {{{max(bursts(0))}, {max(bursts(1))}}}; // of AIE2, AIE2P

}} // namespace detail

}} // namespace aie_runtime

#endif // AIE_RUNTIME_DMATABLES_H
"""


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if HEADER.read_text(encoding="utf-8") == updated() else f"{HEADER} is out of date")
    HEADER.write_text(updated(), encoding="utf-8")
