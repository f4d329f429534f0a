// RUN: tilewright opt --air-to-rocdl --split-input-file --verify-diagnostics %s

func.func @threads() {
  %c9 = arith.constant 9 : index
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{'air.herd' op needs a block of 1152 threads, 64 for each processing element; gfx942 has at most 1024}}
  air.herd tile (%x, %y) in (%nx=%c9, %ny=%c2) { }
  return
}

// -----

func.func @shared_memory() {
  air.segment {
    %a = memref.alloc() : memref<128x64xf32, 1>
    // expected-error @+1 {{'memref.alloc' op brings the memory of a block to 65540 bytes; gfx942 has 65536}}
    %b = memref.alloc() : memref<8193xf32, 1>
  }
  return
}

// -----

func.func @global_memory() {
  air.launch () in () {
    // expected-error @+1 {{'memref.alloc' op allocates global memory in a kernel}}
    %a = memref.alloc() : memref<8xf32>
  }
  return
}

// -----

func.func @varying_herd(%n: index) {
  air.launch (%i) in (%size=%n) {
    // expected-error @+1 {{'air.herd' op has a size that depends on where in the launch it is}}
    air.herd tile (%x) in (%nx=%i) { }
  }
  return
}

// -----

func.func @unrolled(%n: index) {
  // expected-error @+1 {{'air.segment' op is unrolled; a block holds one segment}}
  air.segment unroll(%u) in (%nu=%n) { }
  return
}

// -----

func.func @barrier_for_some() {
  air.segment {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    air.herd tile (%x) in (%nx=%c2) { }
    air.herd tile (%x) in (%nx=%c1) {
      // expected-error @+1 {{'gpu.barrier' op is reached by some of the waves only: another herd of this kernel is larger}}
      gpu.barrier
      %y = arith.addi %x, %x : index
    }
  }
  return
}

// -----

func.func @padded(%m: memref<8xf32>) {
  air.launch () in () args(%a=%m) : memref<8xf32> {
    // expected-error @+1 {{'air.dma_memcpy_nd' op pads what it copies; copies on GPUs do not pad}}
    air.dma_memcpy_nd (%a[0] [4] [1], %a[4] [4] [1]) {pad_before = array<i32: 1>, pad_after = array<i32: 1>} : (memref<8xf32>, memref<8xf32>)
  }
  return
}

// -----

air.channel @c []
func.func @channel(%m: memref<8xf32>) {
  air.launch () in () args(%a=%m) : memref<8xf32> {
    // expected-error @+1 {{'air.channel.put' op moves data through a channel in a kernel}}
    air.channel.put @c[] (%a[] [] []) : (memref<8xf32>)
  }
  return
}

// -----

func.func @rank() {
  air.launch () in () {
    %c2 = arith.constant 2 : index
    // expected-error @+1 {{'air.rank' op is in a kernel, which runs on one device}}
    air.rank (%me) in (%n=%c2) { }
  }
  return
}

// -----

func.func @a_cluster_of_one_dimension(%n: index) {
  // expected-error @+2 {{'air.launch' op has no size of clusters in 'gpu.known_cluster_size'}}
  // expected-note @+1 {{give three sizes, as in array<i32: 2, 1, 1>}}
  air.launch (%b) in (%s=%n) attributes {gpu.known_cluster_size = array<i32: 2>} { }
  return
}

// -----

func.func @a_cluster_without_blocks(%n: index) {
  // expected-error @+1 {{'air.launch' op has no size of clusters}}
  air.launch (%b) in (%s=%n) attributes {gpu.known_cluster_size = array<i32: 2, 0, 1>} { }
  return
}

// -----

func.func @a_cluster_that_is_one_number(%n: index) {
  // expected-error @+1 {{'air.launch' op has no size of clusters}}
  air.launch (%b) in (%s=%n) attributes {gpu.known_cluster_size = 2 : i32} { }
  return
}
