// An allgather over as many ranks as there are, up to 16: everyone has a row of 100 floats, and in the end all rows.
// Each rank broadcasts its row. The two waves of the herd share the work.

module attributes {gpu.container_module} {
  air.channel @rows [16, 1] {channel_type = "gpu_symmetric_heap", broadcast_shape = [16, 16]}

  func.func private @mgpuGetWorldSize() -> i32

  func.func @allgather(%rows: memref<16x100xf32>, %gathered: memref<16x100xf32>) {
    %world = func.call @mgpuGetWorldSize() : () -> i32
    %n = arith.index_cast %world : i32 to index
    air.rank (%me) in (%ranks=%n) args(%in=%rows, %out=%gathered) : memref<16x100xf32>, memref<16x100xf32> {
      %two = arith.constant 2 : index
      air.herd tile (%x) in (%waves=%two) args(%rank=%me, %count=%ranks, %from=%in, %to=%out)
          : index, index, memref<16x100xf32>, memref<16x100xf32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        air.channel.put @rows[%rank, %c0] (%from[%rank, 0] [1, 100] [100, 1]) : (memref<16x100xf32>)
        scf.for %turn = %c0 to %count step %c1 {
          %source = arith.addi %turn, %c0 : index
          air.channel.get @rows[%source, %rank] (%to[%source, 0] [1, 100] [100, 1]) : (memref<16x100xf32>)
        }
      }
    }
    return
  }
}
