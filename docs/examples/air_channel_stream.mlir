// A thousand messages of 31 words from rank 0 to rank 1, each in one line of 128 bytes together with its flag; up to
// four of them are on their way.

module attributes {gpu.container_module} {
  air.channel @stream [] {channel_type = "gpu_symmetric_heap", protocol = "line", buffer_resources = 4 : i64}

  func.func @send(%sent: memref<1000x31xi32>, %received: memref<1000x31xi32>) {
    %two = arith.constant 2 : index
    air.rank (%me) in (%ranks=%two) args(%in=%sent, %out=%received) : memref<1000x31xi32>, memref<1000x31xi32> {
      %one = arith.constant 1 : index
      air.herd tile (%x) in (%waves=%one) args(%rank=%me, %from=%in, %to=%out)
          : index, memref<1000x31xi32>, memref<1000x31xi32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %messages = arith.constant 1000 : index
        %sends = arith.cmpi eq, %rank, %c0 : index
        scf.if %sends {
          scf.for %k = %c0 to %messages step %c1 {
            air.channel.put @stream[] (%from[%k, 0] [1, 31] [31, 1]) : (memref<1000x31xi32>)
          }
        } else {
          scf.for %k = %c0 to %messages step %c1 {
            air.channel.get @stream[] (%to[%k, 0] [1, 31] [31, 1]) : (memref<1000x31xi32>)
          }
        }
      }
    }
    return
  }
}
