// RUN: tilewright opt --tilewright-join-writes %s | filecheck %s
// A template and the words that differ from it at run time become one write of all of them.

// CHECK-LABEL: aie.device(npu1)
aie.device(npu1) {
  memref.global "private" constant @template : memref<4xi32> = dense<[1, 2, 3, 4]>
  aie.runtime_sequence @sizes(%n: i32, %m: i32, %at: i32) {
    %c16 = arith.constant 16 : i32
    %second = arith.constant 118788 : i32
    %fourth = arith.constant 118796 : i32
    %fifth = arith.constant 118800 : i32
    %sixth = arith.constant 118804 : i32
    // CHECK-DAG: %[[ADDRESS:.+]] = arith.constant 118784 : i32
    // CHECK-DAG: %[[FIRST:.+]] = arith.constant 1 : i32
    // CHECK-DAG: %[[THIRD:.+]] = arith.constant 3 : i32
    // CHECK:     aiex.npu.write_words(%[[ADDRESS]], %[[FIRST]], %arg0, %[[THIRD]], %arg1, %arg0) : i32, i32, i32, i32, i32, i32
    %data = memref.get_global @template : memref<4xi32>
    aiex.npu.blockwrite(%data) {address = 118784 : ui32} : memref<4xi32> loc("a":1:1)
    aiex.npu.write32(%second, %n) : i32, i32 loc("a":1:1)
    %product = arith.muli %n, %c16 : i32
    aiex.npu.write32(%fourth, %m) : i32, i32 loc("a":1:1)
    aiex.npu.write32(%fifth, %n) : i32, i32 loc("a":1:1)

    // Another line of the source keeps its own instruction: words know where they came from.
    // CHECK-NEXT: aiex.npu.write32(%{{.+}}, %arg1)
    aiex.npu.write32(%sixth, %m) : i32, i32 loc("a":2:1)

    // Where the address is known only at run time, words that follow each other are still seen.
    // CHECK: aiex.npu.write_words(%arg2, %arg0, %arg1) : i32, i32, i32
    %four = arith.constant 4 : i32
    %next = arith.addi %at, %four : i32
    aiex.npu.write32(%at, %n) : i32, i32 loc("a":3:1)
    aiex.npu.write32(%next, %m) : i32, i32 loc("a":3:1)

    // A register that is written twice is written twice: it may be a queue.
    // CHECK: aiex.npu.write32(%arg2, %arg0)
    // CHECK: aiex.npu.write32(%arg2, %arg0)
    // CHECK-NOT: aiex.npu.write
    aiex.npu.write32(%at, %n) : i32, i32 loc("a":4:1)
    aiex.npu.write32(%at, %n) : i32, i32 loc("a":4:1)
  }
}
