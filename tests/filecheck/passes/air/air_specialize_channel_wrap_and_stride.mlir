// RUN: tilewright opt --air-specialize-channel-wrap-and-stride=scope=func %s | filecheck %s

// Loops of both kinds become dimensions; three steps of 128 around two of 64 are six of 64. Steps beyond 2^20 words stay.
// CHECK-LABEL: func.func @four
// CHECK:       air.channel.put @c[] (%arg0[%c0, %c0, %c0, %c0] [%c2, %c6, %c2, %c4] [%c512, %c64, %c16, %c1])
// CHECK-NOT:   for
// CHECK:       return
func.func @four(%a: memref<2048xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  affine.for %i = 0 to 2 {
    scf.for %j = %c0 to %c3 step %c1 {
      affine.for %k = 0 to 2 {
        affine.for %l = 0 to 2 {
          %at = affine.apply affine_map<(d0, d1, d2, d3) -> (d0 * 512 + d1 * 128 + d2 * 64 + d3 * 16)>(%i, %j, %k, %l)
          air.channel.put @c[] (%a[%at] [%c4] [%c1]) : (memref<2048xi32>)
        }
      }
    }
  }
  return
}

// CHECK-LABEL: func.func @far
// CHECK-COUNT-2: air.channel.put
func.func @far(%a: memref<4194304xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %far = arith.constant 2097152 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %at = arith.muli %i, %far : index
    air.channel.put @c[] (%a[%at] [%c4] [%c1]) : (memref<4194304xi32>)
  }
  return
}
