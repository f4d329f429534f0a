"""What C++ code for people looks like."""

from __future__ import annotations

from textwrap import dedent

import pytest
from cpp_harness import cpp_text

from tilewright.passes.cpp.convert_aiex_to_emitc.builder import StyleName

DEVICE = """
aie.device(npu2) {
  memref.global "private" constant @data : memref<2xi32> = dense<[1, -1]>
  aie.runtime_sequence @sequence(ARGUMENTS) {
BODY
  }
}
"""
CONSTANTS = """
%zero = arith.constant 0 : i32
%one = arith.constant 1 : i32
%two = arith.constant 2 : i32
%three = arith.constant 3 : i32
%four = arith.constant 4 : i32
%register = arith.constant 64 : i32
"""


def body_of(arguments: str, body: str) -> list[str]:
    """The lines of the function that appends, without comments on the source; the body may use `CONSTANTS`."""
    text = DEVICE.replace("ARGUMENTS", arguments).replace("BODY", CONSTANTS + dedent(body))
    lines = cpp_text(text, StyleName.READABLE, "generate_sequence").splitlines()
    first = next(number for number, line in enumerate(lines) if "bool append_sequence" in line)
    shown = [line for line in lines[first : lines.index("}", first)] if not line.strip().startswith("// program.mlir")]
    return shown[1:-1]


def test_a_whole_file():
    text = DEVICE.replace("ARGUMENTS", "%in: memref<8xi32>, %size: i32").replace(
        "BODY",
        """
        %register = arith.constant 0x1d214 : i32
        aiex.npu.write32(%register, %size) : i32, i32
        """,
    )
    assert cpp_text(text, StyleName.READABLE, "generate_txn_{device}_{sequence}") == dedent("""\
        #include "aie/Runtime/TxnEncoding.h"
        #include <cstdint>
        #include <optional>
        #include <vector>

        // Appends the operations of 'sequence'.
        template <typename Txn>
        inline bool append_txn_main_sequence(Txn &txn, int32_t size) {
          // program.mlir:7
          aie_runtime::txn_append_write32(txn, 0x1d214u, size);  // shim(0,0) DMA.MM2S0.queue
          return true;
        }

        // TXN words of runtime sequence 'sequence' of device 'main', program.mlir:4:3.
        // None if the hardware cannot take an argument.
        inline std::optional<std::vector<uint32_t>> generate_txn_main_sequence(int32_t size) {
          const auto append = [&](auto &txn) { return append_txn_main_sequence(txn, size); };
          return aie_runtime::txn_build({0, 1, 4, 6, 8, 1}, append);
        }
        """)


@pytest.mark.parametrize(
    "arguments, body, expected",
    [
        pytest.param(
            "%n: i32",
            """
            %0 = arith.muli %n, %four : i32
            %1 = arith.addi %0, %one : i32
            aiex.npu.write32(%register, %1) : i32, i32
            """,
            ["  aie_runtime::txn_append_write32(txn, 0x40u, n * 4u + 1u);  // shim(0,0) +0x40"],
            id="an expression without a name is written where it is used",
        ),
        pytest.param(
            "%n: i32",
            """
            %bytes = arith.muli %n, %four : i32
            aiex.npu.write32(%register, %bytes) : i32, i32
            """,
            [
                "  const uint32_t bytes = n * 4u;",
                "  aie_runtime::txn_append_write32(txn, 0x40u, bytes);  // shim(0,0) +0x40",
            ],
            id="a name in the program is a name in the code",
        ),
        pytest.param(
            "%for: i32, %txn: i32",
            """
            %0 = arith.subi %for, %txn : i32
            %1 = arith.muli %0, %txn : i32
            aiex.npu.write32(%register, %1) : i32, i32
            """,
            ["  aie_runtime::txn_append_write32(txn, 0x40u, (uint32_t(for_2) - txn_2) * txn_2);  // shim(0,0) +0x40"],
            id="names that are taken get a number, and parentheses stay",
        ),
        pytest.param(
            "%a: i32, %b: i32",
            """
            %mask = arith.constant 1023 : i32
            %0 = arith.andi %a, %mask : i32
            %1 = arith.shli %0, %two : i32
            %2 = arith.ori %1, %b : i32
            aiex.npu.write32(%register, %2) : i32, i32
            """,
            ["  aie_runtime::txn_append_write32(txn, 0x40u, ((a & 0x3ffu) << 2) | b);  // shim(0,0) +0x40"],
            id="fields of a word",
        ),
        pytest.param(
            "%lines: i32",
            """
            %last = scf.for %line = %zero to %lines step %one iter_args(%sum = %zero) -> (i32) : i32 {
              %next = arith.addi %sum, %line : i32
              aiex.npu.write32(%register, %next) : i32, i32
              scf.yield %next : i32
            }
            aiex.npu.write32(%register, %last) : i32, i32
            """,
            [
                "  int32_t sum = 0;",
                "  for (int32_t line = 0; line < lines; ++line) {",
                "    const uint32_t next = uint32_t(sum) + line;",
                "    aie_runtime::txn_append_write32(txn, 0x40u, next);  // shim(0,0) +0x40",
                "    sum = int32_t(next);",
                "  }",
                "  aie_runtime::txn_append_write32(txn, 0x40u, sum);  // shim(0,0) +0x40",
            ],
            id="a loop that carries a value",
        ),
        pytest.param(
            "%a: i32, %b: i32",
            """
            %0:2 = scf.for %i = %zero to %three step %one iter_args(%x = %a, %y = %b) -> (i32, i32) : i32 {
              scf.yield %y, %x : i32, i32
            }
            aiex.npu.write32(%register, %0#0) : i32, i32
            """,
            [
                "  int32_t x = a;",
                "  int32_t y = b;",
                "  for (int32_t i = 0; i < 3; ++i) {",
                "    const int32_t x_2 = x;",
                "    x = y;",
                "    y = x_2;",
                "  }",
                "  aie_runtime::txn_append_write32(txn, 0x40u, x);  // shim(0,0) +0x40",
            ],
            id="values that change places",
        ),
        pytest.param(
            "%condition: i1",
            """
            scf.if %condition {
              %data = memref.get_global @data : memref<2xi32>
              aiex.npu.blockwrite(%data) {address = 4096 : ui32} : memref<2xi32>
            }
            """,
            [
                "  if (condition) {",
                "    static constexpr uint32_t words[2] = {0x00000001u, 0xffffffffu};",
                "    aie_runtime::txn_append_blockwrite(txn, 0x1000u, words, 2u);  // shim(0,0) +0x1000",
                "  }",
            ],
            id="a branch, and data",
        ),
        pytest.param(
            "%size: i32",
            """
            aiex.npu.assert_bd_field(%size) {max = 1023 : i32, subject = "d0 size"} : i32
            aiex.npu.preempt {level = 1 : ui8}
            """,
            [
                "  if (uint32_t(size) > 1023u) return false;  // d0 size",
                "  aie_runtime::txn_append_preempt(txn, 1u);",
            ],
            id="a check",
        ),
        pytest.param(
            "%rows: index, %bytes: index",
            """
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %c2 = arith.constant 2 : index
            scf.for %row = %c0 to %rows step %c1 {
              %0 = arith.muli %bytes, %c2 : index
              aiex.npu.assert_range(%0) {min = 1 : i64, max = 1024 : i64, subject = "length"} : index
              %1 = arith.index_cast %0 : index to i32
              aiex.npu.assert_bd_divisible(%1) {divisor = 4 : i32, subject = "length"} : i32
              aiex.npu.assert_range(%0) {min = 1 : i64, max = 1024 : i64, subject = "stride"} : index
              aiex.npu.write32(%register, %1) : i32, i32
            }
            """,
            [
                "  const size_t end = ptrdiff_t(rows) > 0 ? rows : 0;",
                "  for (size_t row = 0; row < end; ++row) {",
                "    const size_t length = bytes * 2;",
                "    if (length < 1 || length > 1024) return false;  // length",
                "    if (length % 4 != 0) return false;  // length",
                "    aie_runtime::txn_append_write32(txn, 0x40u, uint32_t(length));  // shim(0,0) +0x40",
                "  }",
            ],
            id="checks of the same number have one name for it, and are not repeated",
        ),
        pytest.param(
            "%n: i32",
            """
            %last = scf.while (%x = %zero) : (i32) -> i32 {
              %more = arith.cmpi slt, %x, %n : i32
              scf.condition(%more) %x : i32
            } do {
            ^bb0(%y: i32):
              aiex.npu.write32(%register, %y) : i32, i32
              %next = arith.addi %y, %one : i32
              scf.yield %next : i32
            }
            aiex.npu.maskwrite32(%register, %last, %one) : i32, i32, i32
            """,
            [
                "  int32_t x = 0;",
                "  while (x < n) {",
                "    aie_runtime::txn_append_write32(txn, 0x40u, x);  // shim(0,0) +0x40",
                "    x = int32_t(x + 1u);",
                "  }",
                "  aie_runtime::txn_append_maskwrite32(txn, 0x40u, x, 1u);  // shim(0,0) +0x40",
            ],
            id="a loop with a condition",
        ),
        pytest.param(
            "%n: i32",
            """
            %last = scf.while (%x = %zero) : (i32) -> i32 {
              aiex.npu.write32(%register, %x) : i32, i32
              %next = arith.addi %x, %one : i32
              %more = arith.cmpi slt, %next, %n : i32
              scf.condition(%more) %next : i32
            } do {
            ^bb0(%y: i32):
              scf.yield %y : i32
            }
            """,
            [
                "  int32_t x = 0;",
                "  while (true) {",
                "    aie_runtime::txn_append_write32(txn, 0x40u, x);  // shim(0,0) +0x40",
                "    const int32_t next = int32_t(x + 1u);",
                "    if (!(next < n)) break;",
                "    x = next;",
                "  }",
            ],
            id="a loop that is left in the middle",
        ),
        pytest.param(
            "%n: i32, %m: i32",
            """
            %0 = arith.cmpi eq, %n, %one : i32
            %1 = arith.cmpi eq, %n, %two : i32
            %2 = arith.andi %0, %1 : i1
            %3 = arith.cmpi eq, %m, %one : i32
            %4 = arith.andi %2, %3 : i1
            %5 = arith.select %4, %n, %m : i32
            aiex.npu.write32(%register, %5) : i32, i32
            """,
            ["  aie_runtime::txn_append_write32(txn, 0x40u, false ? n : m);  // shim(0,0) +0x40"],
            id="a number cannot be two: compilers warn of such conditions",
        ),
    ],
)
def test_body(arguments: str, body: str, expected: list[str]):
    assert body_of(arguments, body) == expected
