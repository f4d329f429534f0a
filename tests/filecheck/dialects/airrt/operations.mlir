// RUN: tilewright opt %s | tilewright opt | filecheck %s
// RUN: tilewright opt --mlir-print-op-generic %s | tilewright opt | filecheck %s

// CHECK:      airrt.module_metadata {
// CHECK-NEXT:   airrt.segment_metadata attributes {sym_name = "segment"} {
// CHECK-NEXT:     airrt.herd_metadata {loc_x = 0 : i64, loc_y = 2 : i64, size_x = 1 : i64, size_y = 1 : i64, sym_name = "herd"}
airrt.module_metadata {
  airrt.segment_metadata attributes {sym_name = "segment"} {
    airrt.herd_metadata {size_x = 1 : i64, size_y = 1 : i64, loc_x = 0 : i64, loc_y = 2 : i64, sym_name = "herd"}
  }
}

// CHECK-LABEL: func.func @host
func.func @host(%a: memref<64xi32>, %n: i64, %id: i32) {
  // CHECK: %{{.+}} = airrt.segment_load "segment" : i64
  %p = airrt.segment_load "segment" : i64
  // CHECK: %{{.+}}, %{{.+}} = airrt.segment_load "segment" : i64, !airrt.event
  %q, %loaded = airrt.segment_load "segment" : i64, !airrt.event
  // CHECK: %{{.+}} = airrt.herd_load "herd" (%arg2, %arg1) {segment_name = "segment"} : (i32, i64) -> i64
  %h = airrt.herd_load "herd" (%id, %n) {segment_name = "segment"} : (i32, i64) -> i64
  // CHECK: %[[SENT:.+]] = airrt.dma_memcpy_nd(%arg2, %arg1, %arg1, %arg0[0, 0, 0, %arg1], [1, 1, 1, 8], [0, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>) : !airrt.event
  %e = airrt.dma_memcpy_nd(%id, %n, %n, %a[0, 0, 0, %n], [1, 1, 1, 8], [0, 0, 0, 1]) {metadata = @in} : (i32, i64, i64, memref<64xi32>) : !airrt.event
  // CHECK: %[[ALL:.+]] = airrt.wait_all %[[SENT]], %{{.+}} : !airrt.event
  %all = airrt.wait_all %e, %loaded : !airrt.event
  // CHECK: airrt.wait_all %[[ALL]] {air.launch_end}
  airrt.wait_all %all {air.launch_end}
  // CHECK: %[[MEMORY:.+]] = airrt.alloc : memref<16xi32, 1>
  // CHECK: airrt.dealloc %[[MEMORY]] : memref<16xi32, 1>
  %m = airrt.alloc : memref<16xi32, 1>
  airrt.dealloc %m : memref<16xi32, 1>
  return
}
