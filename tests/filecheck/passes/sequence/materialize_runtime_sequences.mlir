// RUN: tilewright opt --split-input-file --aie-materialize-runtime-sequences %s | filecheck %s

// Running a sequence of another device means to load that device and then to do what the sequence does. Tiles, locks and
// symbols that it uses come along; a tile is shared, a name that is taken changes.
// CHECK-LABEL: aie.device(npu1) {
// CHECK:         %[[TILE:.+]] = aie.tile(0, 2)
// CHECK-NOT:     aie.tile(0, 2)
// CHECK:         aie.lock(%[[TILE]], 1)
// CHECK:         aie.buffer(%[[TILE]]) {address = 64 : i32, sym_name = "parameter"}
// CHECK:         aie.buffer(%[[TILE]]) {address = 1024 : i32, sym_name = "parameter_0"}
// CHECK:         aie.runtime_sequence(%arg0: memref<8xi32>)
aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %own = aie.buffer(%tile) {address = 64 : i32, sym_name = "parameter"} : memref<4xi32>
  aie.runtime_sequence(%x: memref<8xi32>) {
    // CHECK-DAG: %[[VALUE:.+]] = arith.constant 5 : i32
    // CHECK-DAG: %[[OTHER:.+]] = arith.constant 6 : i32
    // CHECK:     aiex.npu.rtp_write(@parameter, 0, %[[OTHER]])
    %c6 = arith.constant 6 : i32
    aiex.npu.rtp_write(@parameter, 0, %c6) : i32
    // CHECK:      aiex.npu.load_pdi {device_ref = @other}
    // CHECK-NEXT: aiex.npu.rtp_write(@parameter_0, 0, %[[VALUE]])
    // CHECK-NEXT: aiex.set_lock(%{{.+}}, 1)
    // CHECK-NEXT: scf.if
    // CHECK-NEXT:   aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @in}
    // CHECK:      }
    // CHECK-NOT:  aiex.configure
    // CHECK-NOT:  aiex.run
    aiex.configure @other {
      aiex.run @sequence(%x) : (memref<8xi32>)
    }
  }
}
// What is copied stays where it was, too.
// CHECK-LABEL: aie.device(npu1) @other
// CHECK:         aie.runtime_sequence
aie.device(npu1) @other {
  %tile = aie.tile(0, 2)
  %shim = aie.tile(0, 0)
  %lock = aie.lock(%tile, 1)
  %buffer = aie.buffer(%tile) {address = 1024 : i32, sym_name = "parameter"} : memref<4xi32>
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence(%x: memref<8xi32>) {
    %c5 = arith.constant 5 : i32
    aiex.npu.rtp_write(@parameter, 0, %c5) : i32
    aiex.set_lock(%lock, 1)
    %c0 = arith.constant 0 : index
    %dimension = memref.dim %x, %c0 : memref<8xi32>
    %c8 = arith.constant 8 : index
    %is_whole = arith.cmpi eq, %dimension, %c8 : index
    scf.if %is_whole {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<8xi32>
    }
  }
}

// -----

// Sequences that are run may run others. There is one scratchpad, created at the start; a device that was just loaded is
// not loaded again.
// CHECK-LABEL: aie.device(npu2) {
// CHECK:       aie.runtime_sequence() {
// CHECK-NEXT:    aiex.npu.create_scratchpad {size = 8 : ui32}
// CHECK:         aiex.npu.load_pdi {device_ref = @middle}
// CHECK-NEXT:    aiex.npu.preempt {level = 1 : ui8}
// CHECK-NEXT:    aiex.npu.load_pdi {device_ref = @inner}
// CHECK-NEXT:    aiex.npu.preempt {level = 2 : ui8}
// CHECK-NEXT:    aiex.npu.load_pdi {device_ref = @inner}
// CHECK-NEXT:    aiex.npu.preempt {level = 2 : ui8}
// CHECK-NEXT:  }
aie.device(npu2) {
  aie.runtime_sequence() {
    aiex.configure @middle {
      aiex.run @sequence() : ()
    }
    aiex.configure @inner {
      aiex.run @sequence() : ()
    }
  }
}
aie.device(npu2) @middle {
  aie.runtime_sequence() {
    aiex.npu.preempt {level = 1 : ui8}
    aiex.npu.create_scratchpad {size = 8 : ui32}
    aiex.configure @inner {
      aiex.run @sequence() : ()
    }
  }
}
aie.device(npu2) @inner {
  aie.runtime_sequence() {
    aiex.npu.create_scratchpad {size = 8 : ui32}
    aiex.npu.load_pdi {device_ref = @inner}
    aiex.npu.preempt {level = 2 : ui8}
  }
}

// -----

// A sequence of the same device needs no copies.
// CHECK-LABEL: aie.device(npu1) {
// CHECK:         aie.lock
// CHECK-NOT:     aie.lock
// CHECK:       aie.runtime_sequence @outer() {
// CHECK-NEXT:    aiex.npu.load_pdi {device_ref = @main}
// CHECK-NEXT:    aiex.set_lock(%[[LOCK:.+]], 1)
// CHECK:       aie.runtime_sequence @inner() {
// CHECK-NEXT:    aiex.set_lock(%[[LOCK]], 1)
aie.device(npu1) @main {
  %tile = aie.tile(0, 2)
  %lock = aie.lock(%tile, 1)
  aie.runtime_sequence @outer() {
    aiex.configure @main {
      aiex.run @inner() : ()
    }
  }
  aie.runtime_sequence @inner() {
    aiex.set_lock(%lock, 1)
  }
}

// -----

// A tile that the caller declares after its first sequence is moved up to where the copy of a lock can use it.
// CHECK-LABEL: aie.device(npu1) {
// CHECK:         %[[TILE:.+]] = aie.tile(0, 2)
// CHECK:         aie.lock(%[[TILE]], 4)
// CHECK:         aie.runtime_sequence
// CHECK:         aie.core(%[[TILE]])
aie.device(npu1) {
  aie.runtime_sequence() {
    aiex.configure @other {
      aiex.run @sequence() : ()
    }
  }
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    aie.end
  }
}
aie.device(npu1) @other {
  %tile = aie.tile(0, 2)
  %lock = aie.lock(%tile, 4)
  aie.runtime_sequence() {
    aiex.set_lock(%lock, 1)
  }
}

// -----

// A body without anything in it, not even a block, only loads the device.
// CHECK-LABEL: aie.device(npu2)
// CHECK:       aie.runtime_sequence
// CHECK-NEXT:    aiex.npu.load_pdi {device_ref = @idle}
// CHECK-NEXT:  }
aie.device(npu2) {
  aie.runtime_sequence() {
    aiex.configure @idle {
    }
  }
}
aie.device(npu2) @idle {
}

// -----

// Numbers that are computed beside a sequence come along with it.
// CHECK-LABEL: aie.device(npu2) @caller
// CHECK-DAG:     %[[REGISTER:.+]] = arith.constant 4096 : i32
// CHECK-DAG:     %[[SUM:.+]] = arith.constant 12 : i32
// CHECK:         aie.runtime_sequence @outer(%[[N:.+]]: i32)
// CHECK:           %[[VALUE:.+]] = arith.addi %[[N]], %[[SUM]] : i32
// CHECK-NEXT:      aiex.npu.write32(%[[REGISTER]], %[[VALUE]]) : i32, i32
module {
  aie.device(npu2) @caller {
    aie.runtime_sequence @outer(%n: i32) {
      aiex.configure @callee {
        aiex.run @work(%n) : (i32)
      }
    }
  }
  aie.device(npu2) @callee {
    %register = arith.constant 4096 : i32
    %five = arith.constant 5 : i32
    %seven = arith.constant 7 : i32
    %sum = arith.addi %five, %seven : i32
    aie.runtime_sequence @work(%m: i32) {
      %value = arith.addi %m, %sum : i32
      aiex.npu.write32(%register, %value) : i32, i32
    }
  }
}
