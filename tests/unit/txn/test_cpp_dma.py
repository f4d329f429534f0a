"""The C++ header writes descriptors and queue pushes as the compiler does, and refuses what that refuses."""

from __future__ import annotations

import re
import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import cast

import pytest
from compilers import sanitizing_compilers
from helpers import INCLUDE
from xdsl.dialects.builtin import ModuleOp

import tilewright as tw
from tilewright import txn
from tilewright.device import DeviceModel, DeviceName, DmaDirection, TileId, TileType, model
from tilewright.device.bd import BD_LAYOUTS
from tilewright.dialects.aiex.descriptor_checks import DescriptorLimits
from tilewright.dialects.aiex.write_bd import (
    ALL_FIELDS,
    FOURTH_DIMENSION,
    descriptor_words,
    field_violation,
    offset_violation,
)
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.passes.sequence.descriptor_writes import check_offset
from tilewright.passes.sequence.dma_transfer import transfer_of
from tilewright.passes.sequence.limit_checks import Guards, LimitChecks
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.exact_arithmetic import Numbers
from tilewright.txn.opcodes import address_offset, largest_offset
from tilewright.txn.stream import Operation

COMPILERS = sanitizing_compilers()
OPTIONS = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined", "-g"]
DOCS = Path(__file__).parents[3] / "docs"
NAMES = [*ALL_FIELDS, *FOURTH_DIMENSION]
EACH = 400
MODELS = [model(DeviceName.npu1), model(DeviceName.npu2)]
# Reads a call a line, and writes the words behind the header, or `none`.
HOST = """
#include "aie/Runtime/TxnEncoding.h"
#include <iostream>
#include <string>

using namespace aie_runtime;

static int64_t number() {
  int64_t read = 0;
  std::cin >> read;
  return read;
}

static uint32_t word() { return static_cast<uint32_t>(number()); }

int main() {
  std::string what;
  while (std::cin >> what) {
    const TxnDeviceInfo npus[] = {{0, 1, 3, 6, 4, 1}, {0, 1, 4, 6, 8, 1}};
    const TxnDeviceInfo device = npus[number()];
    const uint32_t col = word(), row = word(), bd_id = word();
    std::vector<uint32_t> txn;
    bool done = false;
    if (what == "push") {
      const uint32_t dir = word(), chan = word(), repeat = word();
      done = txn_append_push_queue(txn, device, col, row, dir, chan, bd_id, repeat, number() != 0);
    } else if (what == "bd") {
      TxnBd bd;
      FIELDS
      bd.buffer_offset = number();
      bd.burst_length = word();
      done = txn_append_write_bd(txn, device, col, row, bd_id, bd);
    } else {
      TxnTransfer transfer;
      for (int64_t &size : transfer.sizes) size = number();
      for (int64_t &stride : transfer.strides) stride = number();
      transfer.offset = number();
      transfer.element_bytes = word();
      transfer.arg_idx = static_cast<int32_t>(number());
      TxnBd bd;
      bd.lock_acq_val = number();
      const auto repeat = txn_append_dma_bd(txn, device, col, row, bd_id, transfer, bd);
      done = repeat.has_value();
      if (done) txn.push_back(*repeat);
    }
    if (!done) std::cout << "none";
    for (uint32_t each : txn) std::cout << each << ' ';
    std::cout << '\\n';
  }
}
"""


def test_tables_are_those_of_the_compiler() -> None:
    made = runpy.run_path(str(DOCS / "dma_tables.py"))
    assert made["HEADER"].read_text(encoding="utf-8") == made["updated"](), "python docs/dma_tables.py"


@pytest.fixture(scope="module", params=COMPILERS or [pytest.param("", marks=pytest.mark.skip("no C++ compiler"))])
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("dma")
    fields = "\n".join(f"bd.{name} = number();" for name in NAMES)
    (folder / "host.cpp").write_text(HOST.replace("FIELDS", fields))
    subprocess.run([request.param, *OPTIONS, f"-I{INCLUDE}", "host.cpp", "-o", "host"], cwd=folder, check=True)
    return folder / "host"


def answers(host: Path, calls: list[str]) -> list[list[int] | None]:
    given = "".join(f"{call}\n" for call in calls)
    ended = subprocess.run([host], input=given, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return [None if line == "none" else [int(word) for word in line.split()] for line in ended.stdout.splitlines()]


def encoded(*operations: Operation) -> list[int]:
    """The words of operations, without a header."""
    return txn.encode(txn.Stream.of(txn.Header(), list(operations))).tolist()[4:]


def a_tile(random: Random) -> tuple[int, DeviceModel, TileId]:
    """A device by its number, and a tile that is mostly on it."""
    which = random.randrange(2)
    column = random.randrange(MODELS[which].columns + (random.random() < 0.05))
    return which, MODELS[which], TileId(column, random.choice((0, 0, 1, 2, 5)))


def pushed(
    device: DeviceModel, tile: TileId, bd_id: int, dir: int, channel: int, repeat: int, token: int
) -> list[int] | None:
    direction = DmaDirection(dir) if dir in (0, 1) else None
    if direction is None or not device.is_valid_tile(*tile) or channel >= device.num_dma_channels(*tile, direction):
        return None
    if bd_id not in device.accessible_bds(*tile, channel) or repeat > 255:
        return None
    queue = device.registers(*tile).queue
    (word,) = queue.pack(start_bd_id=bd_id, repeat_count=repeat, enable_token_issue=token)
    return encoded(txn.write(device.task_queue_address(*tile, direction, channel), word))


def test_pushes(host: Path) -> None:
    random, calls, wanted = Random(1), list[str](), list[list[int] | None]()
    for _ in range(EACH):
        which, device, tile = a_tile(random)
        numbers = [random.randrange(limit) for limit in (50, 2, 7, 256, 2)]
        if random.random() < 0.5:
            numbers[0] %= 16
        if random.random() < 0.1:
            numbers[random.randrange(4)] += 250
        calls.append(f"push {which} {tile.column} {tile.row} {' '.join(map(str, numbers))}")
        wanted.append(pushed(device, tile, *numbers))
    assert answers(host, calls) == wanted
    assert EACH // 5 < sum(words is None for words in wanted) < EACH - EACH // 5


def described(device: DeviceModel, tile: TileId, bd_id: int, fields: dict[str, int]) -> list[int] | None:
    if not device.is_valid_tile(*tile) or bd_id >= device.num_bds(*tile):
        return None
    fields = {**tile._asdict(), **fields}
    if field_violation(device, fields) or offset_violation(device, fields):
        return None
    words = descriptor_words(device, {name: value & 0xFFFFFFFF for name, value in fields.items()}, all_fields=True)
    return encoded(txn.block_write(device.bd_address(*tile, bd_id), words))


def some_fields(random: Random, device: DeviceModel, tile: TileId) -> dict[str, int]:
    """Random contents; about one descriptor in two does not have room for all of them."""
    layout = BD_LAYOUTS[device.tile_type(*tile) if device.is_valid_tile(*tile) else TileType.ShimNOCTile].fields
    fields, names = dict.fromkeys(NAMES, 0), ALL_FIELDS | FOURTH_DIMENSION
    for name in random.sample(NAMES, random.randrange(len(NAMES))):
        field = layout.get(names[name])
        if field is not None:
            low, high = field.limits[0] - field.bias, field.limits[-1] - field.bias
            fields[name] = random.choice((low, high, random.randint(low, high)))
            if random.random() < 0.02:
                fields[name] = random.choice((low - 1, high + 1))
        elif random.random() < 0.02:
            fields[name] = 1
    fields["buffer_offset"] = random.choice((0, 4, 4 * random.randrange(1 << 14), random.randrange(1 << 20)))
    fields["burst_length"] = random.choice((0, 0, 64, 128, 256, 512, 100))
    return fields


def test_descriptors(host: Path) -> None:
    random, calls, wanted = Random(2), list[str](), list[list[int] | None]()
    for _ in range(EACH):
        which, device, tile = a_tile(random)
        bd_id, fields = random.randrange(17), some_fields(random, device, tile)
        numbers = " ".join(str(number) for number in fields.values())
        calls.append(f"bd {which} {tile.column} {tile.row} {bd_id} {numbers}")
        wanted.append(described(device, tile, bd_id, fields))
    assert answers(host, calls) == wanted
    assert EACH // 5 < sum(words is None for words in wanted) < EACH - EACH // 5


def transferred(
    device: DeviceModel,
    tile: TileId,
    bd_id: int,
    walk: list[list[int]],
    offset: int,
    bytes: int,
    argument: int,
    lock: int,
) -> list[int] | None:
    """What the compiler makes of a transfer whose numbers are known, and the repeat count of its push."""
    if not device.is_valid_tile(*tile):
        return None
    checks = LimitChecks(ModuleOp([]), Numbers(cast(Emitter, None)), Guards.FULL)
    limits, is_shim = DescriptorLimits.of_tile(device, *tile, 8 * bytes), device.is_shim_noc(*tile)
    assert limits is not None
    sizes, strides = (numbers[::-1] for numbers in walk)
    try:
        made = transfer_of(device, tile, limits, sizes, strides, keeps_loops=not is_shim).fields(checks.numbers, checks)
        check_offset(checks, offset * bytes, largest_offset(argument), bytes)
    except DiagnosedError:
        return None
    fields = cast("dict[str, int]", made.fields) | {"valid_bd": 1, "lock_acq_val": lock}
    if not is_shim:
        fields["buffer_offset"] = offset * bytes // (4 if device.is_mem_tile(*tile) else 1)
    words = described(device, tile, bd_id, fields)
    if words is None:
        return None
    if is_shim:
        register = device.bd_address(*tile, bd_id) + 4
        added = address_offset(argument, fold=True)
        words += encoded(txn.address_patch(register, argument, offset * bytes + added))
    return [*words, cast(int, made.repeat_count)]


def a_walk(random: Random) -> list[list[int]]:
    """Sizes and strides, outermost first: small ones, the ends of their ranges, and what is beyond."""
    sizes = [random.choice((1, 1, 2, 4, 8, 12, 64)) for _ in range(4)]
    strides = [random.choice((0, 1, 4, 8, 32, 64, 1024)) for _ in range(3)] + [random.choice((1, 1, 1, 2, 4))]
    if random.random() < 0.3:  # rows that lie together
        strides[2], strides[1] = sizes[3], sizes[3] * sizes[2]
    corners = (
        0,
        -1,
        -4,
        63,
        64,
        65,
        255,
        256,
        1020,
        1023,
        1024,
        1 << 13,
        1 << 17,
        1 << 20,
        (1 << 20) + 4,
        1 << 31,
        1 << 62,
    )
    for numbers in (sizes, strides):
        if random.random() < 0.3:
            numbers[random.randrange(4)] = random.choice(corners)
    return [sizes, strides]


def a_long_walk(random: Random) -> list[list[int]]:
    """With a loop of d0 or d1 that is too long, most of the time."""
    long = (1000, 1024, 1500, 2046, 3 * 1021, 4096, 1021, 5 * 1013, 1 << 16, 1023 * 1023, 65521, 1 << 20)
    choices = ((1, 1, 1, 2, 60, 70), (1, 1, 1, 2, 60, 70), (1, 2, 60, 1500, *long[:3]), (4, 64, *long))
    sizes = [random.choice(numbers) for numbers in choices]
    strides = [random.choice((0, 4, 1 << 16)), random.choice((0, 4, 1 << 14)), random.choice((4, 1 << 12, 2048))]
    return [sizes, [*strides, random.choice((1, 1, 1, 2, 4, 1 << 12))]]


@pytest.mark.parametrize("walks", [a_walk, a_long_walk])
def test_transfers(host: Path, walks: Callable[[Random], list[list[int]]]) -> None:
    random, calls, wanted = Random(3), list[str](), list[list[int] | None]()
    for _ in range(3 * EACH):
        which, device, tile = a_tile(random)
        if walks is a_long_walk:
            tile = TileId(0, 0)
        bd_id, walk, bytes = random.randrange(17), walks(random), random.choice((1, 2, 4, 4, 8))
        offset = random.choice((0, 0, 4, 64, 3, 1 << 12, -4, (1 << 30) - 4, 1 << 33))
        argument, lock = random.randrange(8), random.choice((0, -1, 63, 64))
        numbers = " ".join(map(str, [*walk[0], *walk[1], offset, bytes, argument, lock]))
        calls.append(f"dma {which} {tile.column} {tile.row} {bd_id} {numbers}")
        wanted.append(transferred(device, tile, bd_id, walk, offset, bytes, argument, lock))
    for call, made, words in zip(calls, answers(host, calls), wanted, strict=True):
        assert made == words, call
    assert EACH // 2 < sum(words is None for words in wanted) < 3 * EACH - EACH // 2


DESIGN = """
aie.device(npu2) {
  %t = aie.tile(2, 0)
  aie.shim_dma_allocation @in(%t, MM2S, 1)
  aie.runtime_sequence @s(%a: memref<65536xi16>, %b: memref<65536xi16>) {
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 128][3, 2, 16, 64][0, 8192, 256, 1]) {id = 5 : i64, metadata = @in}
      : memref<65536xi16>
  }
}
"""


def test_a_transfer_is_the_one_of_a_whole_program(host: Path) -> None:
    words = tw.compile(DESIGN).txn("s").tolist()[4:]
    (made,) = answers(host, ["dma 1 2 0 5 3 2 16 64 0 8192 256 1 128 2 1 0"])
    assert made is not None
    *descriptor, repeat = made
    (push,) = answers(host, [f"push 1 2 0 5 1 1 {repeat} 0"])
    assert push is not None
    assert words == [*descriptor, *push]


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_the_program_of_the_page(tmp_path: Path) -> None:
    """What the README shows compiles without warnings; it makes a stream, and none for more rows than there can be."""
    (code,) = re.findall(r"```cpp\n(.*?)```", (INCLUDE / "aie/Runtime/README.md").read_text(), re.DOTALL)
    main = """
    #include <cstdio>
    int main() {
      const auto words = send_rows(10);
      for (uint32_t word : *words) std::printf("%u ", word);
      return send_rows(2000).has_value() && !send_rows(int64_t{1} << 30).has_value() ? 0 : 1;
    }
    """
    (tmp_path / "host.cpp").write_text(code + main)
    subprocess.run([COMPILERS[0], *OPTIONS, f"-I{INCLUDE}", "host.cpp", "-o", "host"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "host"], capture_output=True, text=True, check=True).stdout
    names = [operation.name for operation in txn.decode([int(word) for word in said.split()]).operations]
    assert names == ["BLOCKWRITE", "DDR_PATCH", "WRITE", "TCT"]
