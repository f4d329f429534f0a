"""The C++ header writes the words that `tilewright.txn` writes, and hands out descriptors as the compiler does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compilers import sanitizing_compilers
from helpers import INCLUDE

from tilewright import txn
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import Operation

COMPILERS = sanitizing_compilers()
OPTIONS = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined", "-g"]

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")

# One call of each function that appends, and the operation that it has to append.
CALLS: list[tuple[str, Operation]] = [
    ("write32(txn, 0x1D214, 0x80000003)", txn.write(0x1D214, 0x80000003)),
    ("maskwrite32(txn, 0x32000, 1, 0xFFFFFFFF)", txn.mask_write(0x32000, 1, 0xFFFFFFFF)),
    (
        "maskpoll(txn, 0x1D228, 0, 0x400000)",
        Operation(Opcode.MASKPOLL, address=0x1D228, value=0, mask=0x400000),
    ),
    ("blockwrite(txn, 0x1D000, data, 3)", txn.block_write(0x1D000, [7, 0xFFFFFFFF, 9])),
    ("blockwrite(txn, 0x1D000, data, 2, 0x101, 2)", txn.block_write(0x1D000, [7, 0xFFFFFFFF], column=1, row=2)),
    ("blockwrite(txn, 0x1D000, nullptr, 0)", txn.block_write(0x1D000, [])),
    ("sync(txn, 1, 0, 1, 3, 2, 4)", txn.sync(1, 0, 1, 3, columns=2, rows=4)),
    ("sync(txn, 0x101, 0x102, 1, 0x103, 1, 1)", txn.sync(1, 2, 1, 3)),
    ("address_patch(txn, 0x1D004, 6, 0x80000100)", txn.address_patch(0x1D004, 6, 0x80000100)),
    (
        "loadpdi(txn, 2, 1024, 0xABC12345678ull)",
        Operation(Opcode.LOADPDI, id=2, pdi_bytes=1024, address=0x12345678, address_high=0xABC),
    ),
    ("preempt(txn, 3)", Operation(Opcode.PREEMPT, level=3)),
    ("create_scratchpad(txn, 0, 128)", Operation(Opcode.CREATE_SCRATCHPAD, usage_type=0, scratchpad_bytes=128)),
    (
        "update_reg(txn, 31, 2, 40, 0x1D004)",
        Operation(Opcode.UPDATE_REG, state_table_index=31, function=2, function_argument=40, address=0x1D004),
    ),
]
STREAMS = """
#include "aie/Runtime/TxnEncoding.h"
#include <cstdio>

static const uint32_t data[] = {7, 0xFFFFFFFF, 9};

static void show(const std::vector<uint32_t> &txn) {
  for (uint32_t word : txn)
    std::printf("%x ", word);
  std::printf("\\n");
}

int main() {
  std::vector<uint32_t> txn;
  aie_runtime::txn_init(txn);
  CALLS
  aie_runtime::txn_prepend_header(txn, COUNT, {0, 1, 4, 6, 8, 1});
  show(txn);
  auto append = [](auto &txn) {
    CALLS
    return true;
  };
  show(*aie_runtime::txn_build({0, 1, 4, 6, 8, 1}, append));
  if (aie_runtime::txn_build({}, [](auto &) { return false; }))
    return 1;
  std::vector<uint32_t> empty;
  aie_runtime::txn_prepend_header(empty, 0);
  show(empty);
}
"""
POOL = """
#include "aie/Runtime/TxnEncoding.h"
#include <cstdio>

static void pop(aie_runtime::BdPool &pool) {
  uint32_t id;
  if (aie_runtime::bd_pool_pop(pool, id))
    std::printf("%u ", id);
  else
    std::printf("none ");
}

int main() {
  aie_runtime::BdPool pool = aie_runtime::bd_pool_init(3);
  pop(pool);
  pop(pool);
  aie_runtime::bd_pool_push(pool, 0);
  aie_runtime::bd_pool_push(pool, 1);
  pop(pool);
  pop(pool);
  pop(pool);
  pop(pool);
  std::printf("\\n");
  aie_runtime::BdPool odd = aie_runtime::bd_pool_init(24, 24);
  pop(odd);
  pop(odd);
  std::printf("\\n");
  aie_runtime::BdPool large = aie_runtime::bd_pool_init(1000);
  aie_runtime::bd_pool_push(large, 99);
  std::printf("%d\\n", large.head);
}
"""


def printed(compiler: str, source: str, folder: Path) -> list[str]:
    """What a program writes, line by line, compiled with all warnings and checked while it runs."""
    file, executable = folder / "program.cpp", folder / "program"
    file.write_text(source)
    command = [compiler, *OPTIONS, f"-I{INCLUDE}", str(file), "-o", str(executable)]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    ended = subprocess.run([str(executable)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_words_are_those_of_the_library(compiler: str, tmp_path: Path):
    calls = "\n  ".join(f"aie_runtime::txn_append_{call};" for call, _ in CALLS)
    lines = printed(compiler, STREAMS.replace("CALLS", calls).replace("COUNT", str(len(CALLS))), tmp_path)
    header = txn.Header(device_generation=4, columns=8)
    words = [f"{word:x}" for word in txn.encode(txn.Stream.of(header, [op for _, op in CALLS])).tolist()]
    assert [line.split() for line in lines[:2]] == [words, words]
    assert lines[2].split() == ["6030100", "105", "0", "10"]


@pytest.mark.parametrize("compiler", COMPILERS)
def test_pool_is_a_stack_that_runs_out(compiler: str, tmp_path: Path):
    lines = printed(compiler, POOL, tmp_path)
    assert [line.split() for line in lines] == [["0", "1", "1", "0", "2", "none"], ["24", "25"], ["48"]]
