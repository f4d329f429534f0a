// One sequence runs two designs after another on the same columns: each is loaded, used and replaced.
module {
  aie.device(npu2_1col) @triple {
    %shim = aie.tile(0, 0)
    %tile = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {%tile}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @out(%tile, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    %core = aie.core(%tile) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %forever = arith.constant 9223372036854775807 : index
      %three = arith.constant 3 : i32
      scf.for %round = %c0 to %forever step %c1 {
        %in = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
        %in0 = aie.objectfifo.subview.access %in[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
        %out = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<8xi32>>
        %out0 = aie.objectfifo.subview.access %out[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
        scf.for %i = %c0 to %c8 step %c1 {
          %x = memref.load %in0[%i] : memref<8xi32>
          %y = arith.muli %x, %three : i32
          memref.store %y, %out0[%i] : memref<8xi32>
        }
        aie.objectfifo.release @in(Consume, 1)
        aie.objectfifo.release @out(Produce, 1)
      }
      aie.end
    }
    aie.runtime_sequence @run(%from: memref<16xi32>, %to: memref<16xi32>) {
      aiex.npu.dma_memcpy_nd(%to[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
          {id = 1 : i64, metadata = @out} : memref<16xi32>
      aiex.npu.dma_memcpy_nd(%from[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
          {id = 0 : i64, metadata = @in} : memref<16xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
  aie.device(npu2_1col) @through_mem_tile {
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo @out(%mem dimensionsToStream [<size = 4, stride = 1>, <size = 4, stride = 4>], {%shim}, 2 : i32)
        : !aie.objectfifo<memref<16xi32>>
    aie.objectfifo.link [@in] -> [@out]([] [])
    aie.runtime_sequence @run(%from: memref<16xi32>, %to: memref<16xi32>) {
      aiex.npu.dma_memcpy_nd(%to[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
          {id = 1 : i64, metadata = @out} : memref<16xi32>
      aiex.npu.dma_memcpy_nd(%from[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
          {id = 0 : i64, metadata = @in} : memref<16xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
  aie.device(npu2_1col) @main {
    aie.runtime_sequence @both(%in: memref<16xi32>, %between: memref<16xi32>, %out: memref<16xi32>) {
      aiex.configure @triple {
        aiex.run @run(%in, %between) : (memref<16xi32>, memref<16xi32>)
      }
      aiex.configure @through_mem_tile {
        aiex.run @run(%between, %out) : (memref<16xi32>, memref<16xi32>)
      }
    }
  }
}
