// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-objectFifo-stateful-transform %s
// What is refused, at the FIFO or the operation to change. The notes say what is in the way.

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @a(%shim, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @b(%shim, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{'aie.tile' op number of output DMA channel exceeded!}}
  aie.objectfifo @c(%shim, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 4)
  %b = aie.tile(2, 4)
  %core = aie.tile(1, 2)
  aie.objectfifo @a(%a, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @b(%b, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{'aie.tile' op number of input DMA channel exceeded!}}
  aie.objectfifo @c(%b, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 4)
  %b = aie.tile(2, 4)
  // expected-error@+1 {{'aie.objectfifo' op pinned S2MM DMA channel 2 is out of range or already in use on this tile}}
  aie.objectfifo @f(%a, {%b}, 1 : i32) {cons_dma_channels = array<i32: 2>} : !aie.objectfifo<memref<16xi32>>
}

// -----

// A core tile has 16 descriptors.
aie.device(npu1) {
  %a = aie.tile(0, 4)
  %b = aie.tile(2, 4)
  // expected-error@+1 {{'aie.mem' op has more than 16 blocks}}
  aie.objectfifo @f(%a, {%b}, 17 : i32) : !aie.objectfifo<memref<16xi32>>
}

// -----

// A lock counts to 63: upstream would let it wrap.
aie.device(npu1) {
  %a = aie.tile(0, 4)
  %b = aie.tile(2, 4)
  // expected-error@+1 {{needs a lock of tile (0, 4) to count to 64, the limit is 63}}
  aie.objectfifo @f(%a, {%b}, 1 : i32) {repeat_count = 64 : i32} : !aie.objectfifo<memref<16xi32>>
}

// -----

aie.device(npu1) {
  %shim = aie.logical_tile<ShimNOCTile>(?, ?)
  %core = aie.tile(0, 2)
  // expected-error@+1 {{producer tile is not a placed aie.tile; run --aie-place-tiles before this pass}}
  aie.objectfifo @f(%shim, {%core}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %other = aie.logical_tile<CoreTile>(?, ?)
  aie.objectfifo @f(%a, {%b}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{tile is not a placed aie.tile; run --aie-place-tiles before this pass}}
  aie.objectfifo.allocate @f(%other)
}

// -----

aie.device(npu1) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %far = aie.tile(3, 3)
  aie.objectfifo @f(%a, {%b}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{objectfifo has no shared memory access to delegate tile's memory module}}
  aie.objectfifo.allocate @f(%far)
}

// -----

// The DMA that rearranges the data needs it in its own tile.
aie.device(npu1) {
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  aie.objectfifo @f(%a, {%b dimensionsFromStream [<size = 4, stride = 1>]}, 1 : i32) : !aie.objectfifo<memref<4xi32>>
  // expected-error@+1 {{objectfifo has no shared memory access to delegate tile's memory module}}
  aie.objectfifo.allocate @f(%b)
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  // expected-error@+1 {{'aie.objectfifo' op objectfifo cannot be in more than one ObjectFifoLinkOp}}
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  // expected-error@+1 {{'aie.objectfifo' op objectfifo cannot be in more than one ObjectFifoLinkOp}}
  aie.objectfifo @out(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out]([] [])
  aie.objectfifo.link [@in] -> [@out]([] [])
}

// -----

// Upstream goes on with a branch that lies outside of the buffers.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out0(%mem, {%a}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @out1(%mem, {%b}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  // expected-warning@+1 {{@out1 would move -16 elements from offset 32}}
  aie.objectfifo.link [@in] -> [@out0, @out1]([] [0, 32])
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @f(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.core(%core) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      // expected-error@+1 {{cannot release more elements than are already acquired}}
      %0 = aie.objectfifo.acquire @f(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @f(Consume, 2)
    }
    aie.end
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %to = aie.tile(3, 3)
  aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%core, {%to}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out]([] [])
  aie.core(%core) {
    // expected-error@+1 {{currently cannot access objectFifo used in ObjectFifoLinkOp}}
    %0 = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
    aie.end
  }
}

// -----

// What a loop of another dialect does with FIFOs cannot be carried round it.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @f(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.core(%core) {
    // expected-error@+1 {{cannot carry the state of objectFifos that are acquired or released inside}}
    affine.for %i = 0 to 8 {
      %0 = aie.objectfifo.acquire @f(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @f(Consume, 1)
    }
    aie.end
  }
}

// -----

aie.device(xcvc1902) {
  %from = aie.tile(1, 2)
  %core = aie.tile(3, 5)
  aie.objectfifo @f(%from, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.core(%core) {
    // expected-error@+1 {{objectFifo release has no corresponding acquire on this tile}}
    aie.objectfifo.release @f(Consume, 1)
    aie.end
  }
}

// -----

// The name of a FIFO stands for one shim channel.
aie.device(npu1) {
  %a = aie.tile(0, 0)
  %b = aie.tile(1, 0)
  %core = aie.tile(0, 2)
  // expected-error@+1 {{redefinition of symbol named 'f_shim_alloc'}}
  aie.objectfifo @f(%core, {%a, %b}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
}

// -----

// A DMA program without blocks has no place for another channel.
aie.device(npu1) {
  %a = aie.tile(0, 4)
  %b = aie.tile(2, 4)
  %mine = aie.buffer(%a) : memref<4xi32>
  %lock = aie.lock(%a)
  aie.objectfifo @f(%a, {%b}, 1 : i32) : !aie.objectfifo<memref<16xi32>>
  %dma = aie.mem(%a) {
    %one = arith.constant 1 : i32
    // expected-error@+1 {{DMAOp can only appear in single block region}}
    %0 = aie.dma(MM2S, 0) [{
      aie.use_lock(%lock, AcquireGreaterEqual, %one)
      aie.dma_bd(%mine : memref<4xi32>)
      aie.use_lock(%lock, Release, %one)
    }]
    aie.end
  }
}
