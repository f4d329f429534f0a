// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

// CHECK: air.channel @plain []
air.channel @plain []
// The type that most channels have is not shown.
// CHECK-NEXT: air.channel @grid [2, 1] {broadcast_shape = [2, 6]}
air.channel @grid [2, 1] {broadcast_shape = [2, 6], channel_type = "npu_dma_stream"}
// CHECK-NEXT: air.channel @ranks [4] {channel_type = "gpu_symmetric_heap"}
air.channel @ranks [4] {channel_type = "gpu_symmetric_heap"}

// CHECK-LABEL: func.func @copies
func.func @copies(%near: memref<32xf32, 2>, %far: memref<32x32xf32>, %n: index) {
  // Lists may mix numbers and values; blanks between them do not matter.
  // CHECK: air.dma_memcpy_nd (%arg0[] [] [], %arg1[%arg2, 0] [1, %arg2] [32, 1]) {id = 3 : i32} : (memref<32xf32, 2>, memref<32x32xf32>)
  air.dma_memcpy_nd (%near[][][], %far[%n, 0][1, %n][32, 1]) {id = 3 : i32} : (memref<32xf32, 2>, memref<32x32xf32>)
  // CHECK: %0 = air.dma_memcpy_nd async (%arg1[0] [32] [1], %arg0[] [] []) {pad_after = array<i32: 1>, pad_before = array<i32: 0>}
  %t = air.dma_memcpy_nd async (%far[0] [32] [1], %near[] [] []) {pad_before = array<i32: 0>, pad_after = array<i32: 1>} : (memref<32x32xf32>, memref<32xf32, 2>)
  // CHECK: %1 = air.channel.put async [%0] @plain[] (%arg0[] [] []) dest(%arg2) {metadata = @there} : (memref<32xf32, 2>)
  %u = air.channel.put async [%t] @plain[] (%near[] [] []) dest(%n) {metadata = @there} : (memref<32xf32, 2>)
  // CHECK: air.channel.get [%1] @grid[%arg2, %arg2] (%arg1[8, %arg2] [4] [1]) : (memref<32x32xf32>)
  air.channel.get [%u] @grid[%n, %n] (%far[8, %n] [4] [1]) : (memref<32x32xf32>)
  // A channel need not be declared here.
  // CHECK: air.channel.get @elsewhere[] (%arg0[] [] []) : (memref<32xf32, 2>)
  air.channel.get @elsewhere[] (%near[] [] []) : (memref<32xf32, 2>)
  return
}

// CHECK-LABEL: func.func @across_ranks
func.func @across_ranks() {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%world=%c2) {
    %near = memref.alloc() : memref<8xf32, #air.symmetric_heap>
    %other = memref.alloc() {air.symmetric} : memref<8xf32>
    // CHECK: {dst_rank = 1 : i64, src_rank = 0 : i64}
    air.dma_memcpy_nd (%near[] [] [], %other[] [] []) {src_rank = 0 : i64, dst_rank = 1 : i64} : (memref<8xf32, #air.symmetric_heap>, memref<8xf32>)
    %c0 = arith.constant 0 : index
    air.channel.put @ranks[%c0] (%near[] [] []) : (memref<8xf32, #air.symmetric_heap>)
  }
  return
}

// CHECK-LABEL: func.func @translated
func.func @translated(%buffer: memref<8xf32, #air.symmetric_heap>, %from: index, %to: index, %bases: memref<?xindex>) {
  // CHECK: air.translate %arg0, %arg1, %arg2, %arg3 : memref<8xf32, #air.symmetric_heap>, memref<?xindex>
  %there = air.translate %buffer, %from, %to, %bases : memref<8xf32, #air.symmetric_heap>, memref<?xindex>
  return
}

// CHECK-LABEL: func.func @waiting
func.func @waiting(%x: i32) -> !air.async.token {
  // CHECK: %0 = air.wait_all async
  %a = air.wait_all async
  // CHECK-NEXT: %async_token, %results:2 = air.execute [%0] -> (index, i32) {
  // CHECK: air.execute_terminator %c1, %arg0 : index, i32
  // CHECK-NEXT: } {id = 7 : i32}
  %b, %v:2 = air.execute [%a] -> (index, i32) {
    %c1 = arith.constant 1 : index
    air.execute_terminator %c1, %x : index, i32
  } {id = 7 : i32}
  // CHECK-NEXT: %async_token_0 = air.execute {
  // CHECK-NEXT: }
  %c = air.execute { }
  // CHECK-NEXT: air.wait_all [%0, %async_token] {air.launch_end}
  air.wait_all [%a, %b] {air.launch_end}
  // CHECK-NEXT: %1 = air.custom @kernel async [%0] operands (%arg0, %results#1) : i32, i32 attributes {foo = "bar"}
  %d = air.custom @kernel async [%a] operands (%x, %v#1) : i32, i32 attributes {foo = "bar"}
  return %d : !air.async.token
}
