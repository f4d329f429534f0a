"""What C++ code for people looks like."""

from __future__ import annotations

from textwrap import dedent

import pytest
from cpp_harness import cpp_text

from tilewright.passes.emitc_style import StyleName

DEVICE = """
aie.device(npu2) {
  memref.global "private" constant @data : memref<2xi32> = dense<[1, -1]>
  aie.runtime_sequence @sequence(ARGUMENTS) {
BODY
  }
}
"""


def body_of(arguments: str, body: str) -> list[str]:
    """The lines of the function that appends, without comments on the source."""
    text = DEVICE.replace("ARGUMENTS", arguments).replace("BODY", dedent(body))
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
        #include <vector>
        #include <optional>
        #include <utility>

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
            %four = arith.constant 4 : i32
            %one = arith.constant 1 : i32
            %register = arith.constant 64 : i32
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
            %four = arith.constant 4 : i32
            %register = arith.constant 64 : i32
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
            %register = arith.constant 64 : i32
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
            %two = arith.constant 2 : i32
            %mask = arith.constant 1023 : i32
            %register = arith.constant 64 : i32
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
            %zero = arith.constant 0 : i32
            %one = arith.constant 1 : i32
            %register = arith.constant 64 : i32
            %last = scf.for %line = %zero to %lines step %one iter_args(%sum = %zero) -> (i32) : i32 {
              %next = arith.addi %sum, %line : i32
              aiex.npu.write32(%register, %next) : i32, i32
              scf.yield %next : i32
            }
            aiex.npu.write32(%register, %last) : i32, i32
            """,
            [
                "  const int64_t end = int64_t(lines);",
                "  int32_t sum = 0;",
                "  for (int64_t line = 0; line < end; ++line) {",
                "    const uint32_t next = sum + uint32_t(line);",
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
            %zero = arith.constant 0 : i32
            %one = arith.constant 1 : i32
            %three = arith.constant 3 : i32
            %register = arith.constant 64 : i32
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
            %register = arith.constant 64 : i32
            scf.if %condition {
              %data = memref.get_global @data : memref<2xi32>
              aiex.npu.blockwrite(%data) {address = 4096 : ui32} : memref<2xi32>
            }
            """,
            [
                "  if (condition) {",
                "    static constexpr uint32_t words[2] = {0x00000001u, 0xffffffffu};",
                "    aie_runtime::txn_append_blockwrite(txn, 0x1000u, words, 2u, 0u, 0u);  // shim(0,0) +0x1000",
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
    ],
)
def test_body(arguments: str, body: str, expected: list[str]):
    assert body_of(arguments, body) == expected
