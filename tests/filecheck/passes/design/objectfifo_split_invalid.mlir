// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-objectfifo-split %s

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 4)
  aie.objectfifo @in(%shim, {%a}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%a, {%b}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{core on the shared tile cannot access 'in': a link moves objects by DMA}}
  aie.objectfifo.link [@in] -> [@out] ([] [])
  %core = aie.core(%a) {
    %object = aie.objectfifo.acquire @in(Consume, 1) : memref<16xi32>
    aie.objectfifo.release @in(Consume, 1)
    aie.end
  }
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 2)
  %b = aie.tile(2, 4)
  aie.objectfifo @s(%a, {%b}, 2 : i32) {aie_stream = 0 : i32, aie_stream_port = 0 : i32} : !aie.objectfifo<memref<16xi32>>
  %core = aie.core(%a) {
    // expected-error@+1 {{cannot release from objectfifo stream port}}
    aie.objectfifo.release @s(Produce, 1)
    aie.end
  }
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %c = aie.tile(2, 4)
  aie.objectfifo @f(%a, {%b}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{objectfifo has no shared memory access to delegate tile's memory module}}
  aie.objectfifo.allocate @f(%c)
}

// -----

aie.device(npu1) {
  %a = aie.logical_tile<CoreTile>(?, ?)
  %b = aie.tile(0, 3)
  // expected-error@+1 {{producer tile is not a placed aie.tile; run --aie-place-tiles before this pass}}
  aie.objectfifo @f(%a, {%b}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
}
