// RUN: tilewright opt --canonicalize %s | filecheck %s

// A join of joins is a join of what they join, and what nobody waits for goes; marks of the outer one stay.
// CHECK-LABEL: func.func @joins
// CHECK-NEXT:    airrt.wait_all %arg1, %arg0 {air.launch_end}
// CHECK-NEXT:    return
func.func @joins(%a: !airrt.event, %b: !airrt.event) {
  %0 = airrt.wait_all %a : !airrt.event
  %1 = airrt.wait_all %0, %b : !airrt.event
  airrt.wait_all %0, %b {air.launch_end}
  airrt.wait_all
  return
}

// What is loaded is not loaded again.
// CHECK-LABEL: func.func @loads
// CHECK:         %[[HERD:.+]] = airrt.herd_load "h" () {segment_name = "s"}
// CHECK-NEXT:    %[[OTHER:.+]] = airrt.herd_load "h" () {segment_name = "t"}
// CHECK-NEXT:    return %[[HERD]], %[[OTHER]]
func.func @loads() -> (i64, i64) {
  %0 = airrt.herd_load "h" () {segment_name = "s"} : () -> i64
  %1 = airrt.herd_load "h" () {segment_name = "t"} : () -> i64
  %2 = airrt.herd_load "h" () {segment_name = "s"} : () -> i64
  return %2, %1 : i64, i64
}

// CHECK-LABEL: func.func @memory
// CHECK-NEXT:    return
func.func @memory() {
  %0 = airrt.alloc : memref<4xi32, 1>
  airrt.dealloc %0 : memref<4xi32, 1>
  return
}
