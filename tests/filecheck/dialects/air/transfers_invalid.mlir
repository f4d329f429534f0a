// RUN: tilewright opt --split-input-file --verify-diagnostics %s

func.func @lists(%a: memref<8xf32>) {
  // expected-error @+1 {{'air.dma_memcpy_nd' op src sizes and strides must have the same number of dimensions, but got 2 and 1}}
  air.dma_memcpy_nd (%a[] [] [], %a[0] [2, 4] [1]) : (memref<8xf32>, memref<8xf32>)
  return
}

// -----

func.func @padding(%a: memref<8xf32>) {
  // expected-error @+1 {{'air.dma_memcpy_nd' op pad_before and pad_after must both be present or both absent}}
  air.dma_memcpy_nd (%a[] [] [], %a[] [] []) {pad_before = array<i32: 1>} : (memref<8xf32>, memref<8xf32>)
  return
}

// -----

air.channel @c []
func.func @padding_of_channels(%a: memref<8xf32>) {
  // expected-error @+1 {{'air.channel.put' op padding values must be <= 65535}}
  air.channel.put @c[] (%a[] [] []) {pad_before = array<i32: 0>, pad_after = array<i32: 65536>} : (memref<8xf32>)
  return
}

// -----

func.func @no_rank(%a: memref<8xf32>) {
  // expected-error @+1 {{'air.dma_memcpy_nd' op src_rank/dst_rank attributes require an enclosing air.rank scope}}
  air.dma_memcpy_nd (%a[] [] [], %a[] [] []) {src_rank = 0 : i64} : (memref<8xf32>, memref<8xf32>)
  return
}

// -----

func.func @not_symmetric() {
  %c1 = arith.constant 1 : index
  air.rank (%i) in (%n=%c1) {
    %a = memref.alloc() : memref<8xf32>
    // expected-error @+1 {{'air.dma_memcpy_nd' op dst memref is referenced cross-rank but its memref.alloc lacks the "air.symmetric" attribute}}
    air.dma_memcpy_nd (%a[] [] [], %a[] [] []) {dst_rank = 0 : i64} : (memref<8xf32>, memref<8xf32>)
  }
  return
}

// -----

// expected-error @+1 {{'air.channel' op unsupported channel_type "pigeon"; expected one of "npu_dma_stream", "npu_dma_packet", "npu_cascade", "npu_mmio", or "gpu_symmetric_heap"}}
air.channel @c [] {channel_type = "pigeon"}

// -----

// expected-error @+1 {{'air.channel' op size[1] (2) is not compatible with broadcast_shape[1] (4): size must be 1 or equal to broadcast_shape (NumPy broadcasting rules)}}
air.channel @c [1, 2] {broadcast_shape = [3, 4]}

// -----

// expected-error @+1 {{'air.channel' op "packet_ids" id (3) is duplicated}}
air.channel @c [] {channel_type = "npu_dma_packet", packet_ids = [3, 4, 3]}

// -----

air.channel @c [4]
func.func @index_in_time(%a: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    // expected-error @+1 {{'air.channel.get' op channel index 0 is an scf.for induction variable; channel bundle indices must not be temporal scf.for induction variables}}
    air.channel.get @c[%i] (%a[] [] []) : (memref<8xf32>)
  }
  return
}

// -----

air.channel @c [] {channel_type = "npu_mmio"}
func.func @mmio(%a: memref<8xf32, 1>) {
  // expected-error @+1 {{'air.channel.get' op channel_type="npu_mmio" get destination must be in L1 (memory_space=2), got memory_space=1}}
  air.channel.get @c[] (%a[] [] []) : (memref<8xf32, 1>)
  return
}

// -----

air.channel @c [] {channel_type = "gpu_symmetric_heap"}
func.func @no_world(%a: memref<32xi32, #air.symmetric_heap>) {
  // expected-error @+1 {{'air.channel.put' op channel_type="gpu_symmetric_heap" put requires an enclosing air.rank scope}}
  air.channel.put @c[] (%a[] [] []) : (memref<32xi32, #air.symmetric_heap>)
  return
}

// -----

func.func @bases(%a: memref<8xf32>, %i: index, %bases: memref<2xi64>) {
  // expected-error @+1 {{'air.translate' op operand #3 must be 1D memref of index values, but got 'memref<2xi64>'}}
  %0 = air.translate %a, %i, %i, %bases : memref<8xf32>, memref<2xi64>
  return
}
