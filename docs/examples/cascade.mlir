// Two buffers are sent in turn through one channel, 64 words at a time: sixteen transfers that no loop of a descriptor
// can say. What comes back is one transfer.
air.channel @cascade [1]
air.channel @out [1]
func.func @main(%arg0: memref<512xi32>, %arg1: memref<512xi32>, %arg2: memref<1024xi32>) {
  %c1 = arith.constant 1 : index
  %0 = air.launch async (%i) in (%n=%c1) args(%a=%arg0, %b=%arg1, %c=%arg2) : memref<512xi32>, memref<512xi32>, memref<1024xi32> {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c1_0 = arith.constant 1 : index
    %tok0 = air.wait_all async
    %1 = scf.for %j = %c0 to %c8 step %c1_0 iter_args(%tok = %tok0) -> (!air.async.token) {
      %2 = air.channel.put async [%tok] @cascade[] (%a[%j, %c0] [%c1_0, %c64] [%c64, %c1_0]) : (memref<512xi32>)
      %3 = air.channel.put async [%2] @cascade[] (%b[%j, %c0] [%c1_0, %c64] [%c64, %c1_0]) : (memref<512xi32>)
      scf.yield %3 : !air.async.token
    }
    %4 = air.channel.get async @out[] (%c[] [] []) : (memref<1024xi32>)
  }
  return
}
