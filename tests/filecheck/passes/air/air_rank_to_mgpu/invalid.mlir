// RUN: tilewright opt --air-rank-to-mgpu --split-input-file --verify-diagnostics %s
// RUN: tilewright opt --air-rank-to-launch --split-input-file --verify-diagnostics %s

// Afterwards nobody would know who the two ranks are.
air.channel @c [] {channel_type = "gpu_symmetric_heap"}
func.func @channel(%m: memref<32xi32, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%n=%c2) args(%a=%m) : memref<32xi32, #air.symmetric_heap> {
    // expected-error @+1 {{'air.channel.put' op moves data between ranks}}
    air.channel.put @c[] (%a[] [] []) : (memref<32xi32, #air.symmetric_heap>)
  }
  return
}

// -----

func.func @copy(%m: memref<32xi32, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%n=%c2) args(%a=%m) : memref<32xi32, #air.symmetric_heap> {
    // expected-error @+1 {{'air.dma_memcpy_nd' op copies between ranks}}
    air.dma_memcpy_nd (%a[] [] [], %a[] [] []) {src_rank = 1 : i64} : (memref<32xi32, #air.symmetric_heap>, memref<32xi32, #air.symmetric_heap>)
  }
  return
}
