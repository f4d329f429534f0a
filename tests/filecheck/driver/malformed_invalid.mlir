// RUN: tilewright opt --allow-unregistered-dialect --split-input-file --verify-diagnostics %s
// Operations that others look at before they are checked themselves: the error is about the one that is malformed.

aie.device(npu1) {
  // expected-error@+1 {{'aie.tile' op attribute 'col' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 0}}
  %tile = "aie.tile"() <{col = "none", row = 2 : i32}> : () -> index
  %core = aie.core(%tile) {
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %buffer = aie.buffer(%tile) : memref<4xi32>
  aie.mem(%tile) {
    %0 = aie.dma_start(MM2S, 0, ^bd, ^end)
  ^bd:
    // expected-error@+1 {{'aie.dma_bd' op operand count (1) does not match with the total size (0) specified in attribute 'operandSegmentSizes'}}
    "aie.dma_bd"(%buffer) : (memref<4xi32>) -> ()
    aie.next_bd ^end
  ^end:
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  aie.switchbox(%tile) {
    // expected-error@+1 {{'aie.connect' op requires attribute 'dest_bundle'}}
    "aie.connect"() <{dest_channel = 0 : i32, source_bundle = 1 : i32, source_channel = 0 : i32}> : () -> ()
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %next = aie.tile(0, 3)
  // expected-error@+1 {{'aie.objectfifo' op expected dimensions for each of 1 consumers, got 2}}
  "aie.objectfifo"(%tile, %next) <{dimensionsFromStreamPerConsumer = #aie<bd_dim_layout_array_array[[], []]>, dimensionsToStream = #aie<bd_dim_layout_array[]>, elemNumber = 2 : i32, elemType = !aie.objectfifo<memref<16xi32>>, sym_name = "fifo"}> : (index, index) -> ()
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %next = aie.tile(0, 3)
  // expected-error@+1 {{'aie.objectfifo' op depths must be integers}}
  aie.objectfifo @fifo(%tile, {%next}, ["two", 2]) : !aie.objectfifo<memref<16xi32>>
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  // expected-error@+1 {{'aie.buffer' op initial value should be of type 'tensor<4xi32>', but is of type 'tensor<2xi32>'}}
  %buffer = "aie.buffer"(%tile) <{initial_value = dense<1> : tensor<2xi32>}> : (index) -> memref<4xi32>
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %next = aie.tile(0, 3)
  // expected-error@+1 {{invalid kind of type specified: expected builtin.memref, but found 'i32'}}
  aie.objectfifo @fifo(%tile, {%next}, 2 : i32) : !aie.objectfifo<i32>
}

// -----

// expected-error@+1 {{expected '<'}}
"test.op"() {type = !aie.objectfifo} : () -> ()

// -----

func.func @f(%go: i1) {
  // expected-error@+2 {{'scf.while' op along control flow edge from parent to Region #0: region branch point has 0 operands, but region successor needs 1 inputs}}
  // expected-note@+1 {{region branch point}}
  %0 = "scf.while"() ({
  ^bb0(%a: i32):
    "scf.condition"(%go, %a) : (i1, i32) -> ()
  }, {
  ^bb0(%a: i32):
    "scf.yield"(%a) : (i32) -> ()
  }) : () -> i32
  return
}
