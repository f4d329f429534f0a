// RUN: not tilewright opt --air-gpu-channel-to-cacheline %s 2>&1 | filecheck %s

// CHECK: rank_out_of_range.mlir:14:9: error: 'air.channel.put' op could not infer producer rank
// CHECK: note: the conditions around it hold on no rank of this world; it must be exactly one
air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @f(%m: memref<32xi32, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%world=%c2) args(%d=%m) : memref<32xi32, #air.symmetric_heap> {
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %fifth = arith.cmpi eq, %me, %c5 : index
    scf.if %fifth {
      air.herd tile (%x) in (%n=%c1) args(%h=%d) : memref<32xi32, #air.symmetric_heap> {
        air.channel.put @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      }
    } else {
      air.herd tile (%x) in (%n=%c1) args(%h=%d) : memref<32xi32, #air.symmetric_heap> {
        air.channel.get @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      }
    }
  }
  return
}
