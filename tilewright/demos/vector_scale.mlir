// Multiplies a vector of 32-bit integers by a number that is chosen at run time.
//
// The host's vector comes in through the shim tile. The memory tile above it cuts each block of 1024 elements into four
// and hands one to each core of the column; the cores multiply, and the memory tile puts their results together again.
// The factor is a runtime parameter: the sequence writes it into a buffer of each core before it starts the transfers.

aie.device(npu1_1col) @vector_scale {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %tile0 = aie.tile(0, 2)
  %tile1 = aie.tile(0, 3)
  %tile2 = aie.tile(0, 4)
  %tile3 = aie.tile(0, 5)

  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<1024xi32>>
  aie.objectfifo @in0(%mem, {%tile0}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo @in1(%mem, {%tile1}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo @in2(%mem, {%tile2}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo @in3(%mem, {%tile3}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo.link [@in] -> [@in0, @in1, @in2, @in3] ([] [0, 256, 512, 768])

  aie.objectfifo @out0(%tile0, {%mem}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo @out1(%tile1, {%mem}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo @out2(%tile2, {%mem}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo @out3(%tile3, {%mem}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<1024xi32>>
  aie.objectfifo.link [@out0, @out1, @out2, @out3] -> [@out] ([0, 256, 512, 768] [])

  %factor0 = aie.buffer(%tile0) {sym_name = "factor0"} : memref<1xi32>
  %factor1 = aie.buffer(%tile1) {sym_name = "factor1"} : memref<1xi32>
  %factor2 = aie.buffer(%tile2) {sym_name = "factor2"} : memref<1xi32>
  %factor3 = aie.buffer(%tile3) {sym_name = "factor3"} : memref<1xi32>

  aie.core(%tile0) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %forever = arith.constant 0x7FFFFFFF : index
    scf.for %block = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @in0(Consume, 1) : !aie.objectfifosubview<memref<256xi32>>
      %a = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
      %result = aie.objectfifo.acquire @out0(Produce, 1) : !aie.objectfifosubview<memref<256xi32>>
      %c = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
      %factor = memref.load %factor0[%c0] : memref<1xi32>
      scf.for %i = %c0 to %c256 step %c1 {
        %x = memref.load %a[%i] : memref<256xi32>
        %y = arith.muli %x, %factor : i32
        memref.store %y, %c[%i] : memref<256xi32>
      }
      aie.objectfifo.release @in0(Consume, 1)
      aie.objectfifo.release @out0(Produce, 1)
    }
    aie.end
  }

  aie.core(%tile1) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %forever = arith.constant 0x7FFFFFFF : index
    scf.for %block = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @in1(Consume, 1) : !aie.objectfifosubview<memref<256xi32>>
      %a = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
      %result = aie.objectfifo.acquire @out1(Produce, 1) : !aie.objectfifosubview<memref<256xi32>>
      %c = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
      %factor = memref.load %factor1[%c0] : memref<1xi32>
      scf.for %i = %c0 to %c256 step %c1 {
        %x = memref.load %a[%i] : memref<256xi32>
        %y = arith.muli %x, %factor : i32
        memref.store %y, %c[%i] : memref<256xi32>
      }
      aie.objectfifo.release @in1(Consume, 1)
      aie.objectfifo.release @out1(Produce, 1)
    }
    aie.end
  }

  aie.core(%tile2) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %forever = arith.constant 0x7FFFFFFF : index
    scf.for %block = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @in2(Consume, 1) : !aie.objectfifosubview<memref<256xi32>>
      %a = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
      %result = aie.objectfifo.acquire @out2(Produce, 1) : !aie.objectfifosubview<memref<256xi32>>
      %c = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
      %factor = memref.load %factor2[%c0] : memref<1xi32>
      scf.for %i = %c0 to %c256 step %c1 {
        %x = memref.load %a[%i] : memref<256xi32>
        %y = arith.muli %x, %factor : i32
        memref.store %y, %c[%i] : memref<256xi32>
      }
      aie.objectfifo.release @in2(Consume, 1)
      aie.objectfifo.release @out2(Produce, 1)
    }
    aie.end
  }

  aie.core(%tile3) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %forever = arith.constant 0x7FFFFFFF : index
    scf.for %block = %c0 to %forever step %c1 {
      %source = aie.objectfifo.acquire @in3(Consume, 1) : !aie.objectfifosubview<memref<256xi32>>
      %a = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
      %result = aie.objectfifo.acquire @out3(Produce, 1) : !aie.objectfifosubview<memref<256xi32>>
      %c = aie.objectfifo.subview.access %result[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
      %factor = memref.load %factor3[%c0] : memref<1xi32>
      scf.for %i = %c0 to %c256 step %c1 {
        %x = memref.load %a[%i] : memref<256xi32>
        %y = arith.muli %x, %factor : i32
        memref.store %y, %c[%i] : memref<256xi32>
      }
      aie.objectfifo.release @in3(Consume, 1)
      aie.objectfifo.release @out3(Produce, 1)
    }
    aie.end
  }

  aie.runtime_sequence @scale(%a: memref<4096xi32>, %c: memref<4096xi32>, %factor: i32) {
    aiex.npu.rtp_write(@factor0, 0, %factor) : i32
    aiex.npu.rtp_write(@factor1, 0, %factor) : i32
    aiex.npu.rtp_write(@factor2, 0, %factor) : i32
    aiex.npu.rtp_write(@factor3, 0, %factor) : i32
    aiex.npu.dma_memcpy_nd(%c[0, 0, 0, 0][1, 1, 1, 4096][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<4096xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 4096][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<4096xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
