// C = A * B for matrices of 64 x 64. A block makes 16 x 16 elements of C, one in each of its 256 lanes; the rows of A and
// the columns of B that it needs come into the block's memory first.
#tile = affine_map<()[s0] -> (s0 * 16)>
func.func @matmul(%A: memref<64x64xf32>, %B: memref<64x64xf32>, %C: memref<64x64xf32>) {
  %c4 = arith.constant 4 : index
  air.launch (%bx, %by) in (%nbx=%c4, %nby=%c4) args(%la=%A, %lb=%B, %lc=%C)
      : memref<64x64xf32>, memref<64x64xf32>, memref<64x64xf32> {
    air.segment args(%sx=%bx, %sy=%by, %sa=%la, %sb=%lb, %sc=%lc)
        : index, index, memref<64x64xf32>, memref<64x64xf32>, memref<64x64xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4_0 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      %row = affine.apply #tile()[%sy]
      %column = affine.apply #tile()[%sx]
      %rows = memref.alloc() : memref<16x64xf32, 1>
      %columns = memref.alloc() : memref<64x16xf32, 1>
      air.dma_memcpy_nd (%rows[] [] [], %sa[%row, %c0] [%c16, %c64] [%c64, %c1]) : (memref<16x64xf32, 1>, memref<64x64xf32>)
      air.dma_memcpy_nd (%columns[] [] [], %sb[%c0, %column] [%c64, %c16] [%c64, %c1]) : (memref<64x16xf32, 1>, memref<64x64xf32>)
      air.herd tile (%x, %y) in (%nx=%c4_0, %ny=%c1) args(%ha=%rows, %hb=%columns, %hc=%sc, %hr=%row, %hq=%column)
          : memref<16x64xf32, 1>, memref<64x16xf32, 1>, memref<64x64xf32>, index, index {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %side = arith.constant 16 : index
        %depth = arith.constant 64 : index
        %nothing = arith.constant 0.0 : f32
        %lane = gpu.lane_id
        %start = arith.muli %x, %depth : index
        %thread = arith.addi %start, %lane : index
        %i = arith.divui %thread, %side : index
        %j = arith.remui %thread, %side : index
        %a = memref.alloc() : memref<1xf32, 2>
        %b = memref.alloc() : memref<1xf32, 2>
        %total = scf.for %k = %zero to %depth step %one iter_args(%sum = %nothing) -> f32 {
          air.dma_memcpy_nd (%a[] [] [], %ha[%i, %k] [%one, %one] [%depth, %one]) : (memref<1xf32, 2>, memref<16x64xf32, 1>)
          air.dma_memcpy_nd (%b[] [] [], %hb[%k, %j] [%one, %one] [%side, %one]) : (memref<1xf32, 2>, memref<64x16xf32, 1>)
          %av = memref.load %a[%zero] : memref<1xf32, 2>
          %bv = memref.load %b[%zero] : memref<1xf32, 2>
          %product = arith.mulf %av, %bv : f32
          %more = arith.addf %sum, %product : f32
          scf.yield %more : f32
        }
        memref.store %total, %a[%zero] : memref<1xf32, 2>
        %r = arith.addi %hr, %i : index
        %q = arith.addi %hq, %j : index
        air.dma_memcpy_nd (%hc[%r, %q] [%one, %one] [%depth, %one], %a[] [] []) : (memref<64x64xf32>, memref<1xf32, 2>)
      }
    }
  }
  return
}
