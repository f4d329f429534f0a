// RUN: not tilewright opt --air-gpu-channel-to-cacheline="wave-size=16 protocol=line" %s 2>&1 | filecheck %s
// RUN: not tilewright opt --air-gpu-channel-to-cacheline=protocol=fast %s 2>&1 | filecheck %s --check-prefix=PROTOCOL
// RUN: tilewright opt --air-gpu-channel-to-cacheline=wave-size=16 %s

// CHECK: error: wave-size must be at least 32, a lane for each word of a line; got 16
// PROTOCOL: error: unknown protocol 'fast'; known are ordered, line
air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @f(%m: memref<8xi32>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%world=%c2) args(%d=%m) : memref<8xi32> {
    %c1 = arith.constant 1 : index
    air.herd tile (%x) in (%n=%c1) args(%h=%d, %r=%me) : memref<8xi32>, index {
      air.channel.put @C[%r] (%h[] [] []) : (memref<8xi32>)
      air.channel.get @C[%r] (%h[] [] []) : (memref<8xi32>)
    }
  }
  return
}
