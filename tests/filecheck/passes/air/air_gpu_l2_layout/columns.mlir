// RUN: tilewright opt --air-gpu-l2-layout %s | filecheck %s
// A buffer of the block that lanes read by columns is turned round; one that they read by rows stays as it is,
// and so does one of whose columns it is not known that they are columns of it.
func.func @tiles(%a: memref<64x64xf32>, %r: index, %k: index) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  air.segment @s args(%sa=%a, %sr=%r, %sk=%k) : memref<64x64xf32>, index, index {
    %c1_s = arith.constant 1 : index
    %columns = memref.alloc() : memref<32x8xf32, 1>
    %rows = memref.alloc() : memref<32x8xf32, 1>
    air.dma_memcpy_nd (%columns[] [] [], %sa[0, 0] [32, 8] [64, 1]) : (memref<32x8xf32, 1>, memref<64x64xf32>)
    %unknown = memref.alloc() : memref<32x8xf32, 1>
    air.dma_memcpy_nd (%rows[] [] [], %sa[0, 0] [32, 8] [64, 1]) : (memref<32x8xf32, 1>, memref<64x64xf32>)
    air.herd @h tile (%x, %y) in (%nx=%c1_s, %ny=%c1_s) args(%hc=%columns, %hr=%rows, %hu=%unknown, %row=%sr, %any=%sk) : memref<32x8xf32, 1>, memref<32x8xf32, 1>, memref<32x8xf32, 1>, index, index {
      %c0 = arith.constant 0 : index
      %c1_h = arith.constant 1 : index
      %c8_h = arith.constant 8 : index
      %mine = memref.alloc() : memref<4xf32, 2>
      scf.for %depth = %c0 to %c8_h step %c1_h {
        air.dma_memcpy_nd (%mine[] [] [], %hc[%row, %depth] [4] [8]) : (memref<4xf32, 2>, memref<32x8xf32, 1>)
        air.dma_memcpy_nd (%mine[] [] [], %hr[%row, %depth] [4] [1]) : (memref<4xf32, 2>, memref<32x8xf32, 1>)
      }
      air.dma_memcpy_nd (%mine[] [] [], %hu[%row, %any] [4] [8]) : (memref<4xf32, 2>, memref<32x8xf32, 1>)
    }
  }
  return
}
// CHECK:     %[[TURNED:.+]] = memref.alloc() : memref<8x32xf32, 1>
// CHECK:     %[[ROWS:.+]] = memref.alloc() : memref<32x8xf32, 1>
// CHECK:     air.dma_memcpy_nd (%[[TURNED]][0, 0] [32, 8] [1, 32], %{{.+}}[0, 0] [32, 8] [64, 1])
// CHECK:     air.dma_memcpy_nd (%[[ROWS]][] [] [], %{{.+}}[0, 0] [32, 8] [64, 1])
// CHECK:     air.dma_memcpy_nd (%{{.+}}[] [] [], %{{.+}}[%[[DEPTH:.+]], %[[ROW:.+]]] [4] [1]) : (memref<4xf32, 2>, memref<8x32xf32, 1>)
// CHECK:     air.dma_memcpy_nd (%{{.+}}[] [] [], %{{.+}}[%[[ROW]], %[[DEPTH]]] [4] [1]) : (memref<4xf32, 2>, memref<32x8xf32, 1>)
// CHECK:     air.dma_memcpy_nd (%{{.+}}[] [] [], %{{.+}}[%[[ROW]], %{{.+}}] [4] [8]) : (memref<4xf32, 2>, memref<32x8xf32, 1>)
