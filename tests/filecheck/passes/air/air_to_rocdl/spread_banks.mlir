// RUN: tilewright opt --air-to-nvvm="chip=sm_90 wave-size=32 vector-bytes=16 spread-banks=true" %s | filecheck %s
// Lanes read 32 bytes each: every second 16 bytes, so that lane 4 meets lane 0 in a bank. Groups change places from
// element 32 on. What lanes read side by side stays where it is.
func.func @tiles(%a: memref<1x256xf32>) {
  air.segment @s args(%sa=%a) : memref<1x256xf32> {
    %c1 = arith.constant 1 : index
    %apart = memref.alloc() : memref<1x256xf32, 1>
    %beside = memref.alloc() : memref<1x256xf32, 1>
    air.dma_memcpy_nd (%apart[] [] [], %sa[] [] []) : (memref<1x256xf32, 1>, memref<1x256xf32>)
    air.dma_memcpy_nd (%beside[] [] [], %sa[] [] []) : (memref<1x256xf32, 1>, memref<1x256xf32>)
    air.herd @h tile (%x, %y) in (%nx=%c1, %ny=%c1) args(%ha=%apart, %hb=%beside) : memref<1x256xf32, 1>, memref<1x256xf32, 1> {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %mine = memref.alloc() : memref<8xf32, 2>
      %four = memref.alloc() : memref<4xf32, 2>
      %lane = gpu.lane_id
      %wide = arith.muli %lane, %c8 : index
      %narrow = arith.muli %lane, %c4 : index
      air.dma_memcpy_nd (%mine[] [] [], %ha[%c0, %wide] [8] [1]) : (memref<8xf32, 2>, memref<1x256xf32, 1>)
      air.dma_memcpy_nd (%four[] [] [], %hb[%c0, %narrow] [4] [1]) : (memref<4xf32, 2>, memref<1x256xf32, 1>)
    }
  }
  return
}
// CHECK:      gpu.launch
// CHECK-SAME: workgroup(%[[APART:.+]] : memref<1x256xf32, {{.+}}>, %[[BESIDE:.+]] : memref<1x256xf32, {{.+}}>)
// CHECK:      %[[WIDE:.+]] = arith.muli %{{.+}}, %c8
// CHECK:      %[[NARROW:.+]] = arith.muli %{{.+}}, %c4
// CHECK:      %[[ABOVE:.+]] = arith.shrui %[[WIDE]], %{{.+}} : index
// CHECK:      %[[BITS:.+]] = arith.andi %[[ABOVE]], %{{.+}} : index
// CHECK:      %[[CHANGED:.+]] = arith.shli %[[BITS]], %{{.+}} : index
// CHECK:      %[[PLACE:.+]] = arith.xori %[[WIDE]], %[[CHANGED]] : index
// CHECK:      vector.load %[[APART]][%{{.+}}, %[[PLACE]]]
// CHECK:      vector.load %[[BESIDE]][%{{.+}}, %[[NARROW]]]
