// RUN: tilewright opt --air-rank-to-mgpu --split-input-file %s | filecheck %s
// RUN: tilewright opt -air-rank-to-mgpu=heap-size=4096 --split-input-file %s | filecheck %s --check-prefix=SMALL

// Each process runs the body once, for the point of the space that its number is: the first dimension counts fastest.
// CHECK:      func.func private @mgpuGetRank() -> i32
// CHECK-NEXT: func.func private @mgpuSymmetricHeapDestroy()
// CHECK-NEXT: func.func private @mgpuSymmetricHeapInit(i64)
// CHECK-NEXT: func.func @points(%arg0: memref<2x3xindex>) {
// CHECK-NEXT:   %c268435456_i64 = arith.constant 268435456 : i64
// CHECK-NEXT:   call @mgpuSymmetricHeapInit(%c268435456_i64) : (i64) -> ()
// CHECK:        %[[NUMBER:.+]] = call @mgpuGetRank() : () -> i32
// CHECK-NEXT:   %[[WIDE:.+]] = arith.extsi %[[NUMBER]] : i32 to i64
// CHECK-NEXT:   %[[FLAT:.+]] = arith.index_cast %[[WIDE]] : i64 to index
// CHECK-NEXT:   %[[X:.+]] = arith.remsi %[[FLAT]], %c2 : index
// CHECK-NEXT:   %[[Y:.+]] = arith.divsi %[[FLAT]], %c2 : index
// CHECK-NEXT:   memref.store %c3, %arg0[%[[X]], %[[Y]]]
// CHECK-NEXT:   call @mgpuSymmetricHeapDestroy() : () -> ()
// CHECK-NEXT:   return
// SMALL: arith.constant 4096 : i64
func.func @points(%m: memref<2x3xindex>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  air.rank (%x, %y) in (%nx=%c2, %ny=%c3) args(%a=%m) : memref<2x3xindex> {
    memref.store %ny, %a[%x, %y] : memref<2x3xindex>
  }
  return
}

// -----

// The heap is there for all ranks of a function and goes before each return; tokens of ranks are of what has ended.
// CHECK-LABEL: func.func @tokens
// CHECK:      call @mgpuSymmetricHeapInit
// CHECK-NOT:  call @mgpuSymmetricHeapInit
// CHECK:      air.wait_all [%arg1]
// CHECK-NEXT: call @mgpuGetRank
// CHECK:      %[[ENDED:.+]] = air.wait_all async
// CHECK-NEXT: call @mgpuGetRank
// CHECK:      cf.cond_br
// CHECK:      call @mgpuSymmetricHeapDestroy
// CHECK-NEXT: return %[[ENDED]]
// CHECK:      call @mgpuSymmetricHeapDestroy
// CHECK-NEXT: return %arg1
func.func @tokens(%which: i1, %t: !air.async.token) -> !air.async.token {
  %c2 = arith.constant 2 : index
  %ended = air.rank async [%t] (%x) in (%nx=%c2) { }
  air.rank (%x) in (%nx=%c2) { }
  cf.cond_br %which, ^a, ^b
^a:
  return %ended : !air.async.token
^b:
  return %t : !air.async.token
}

// -----

// CHECK-LABEL: module {
// CHECK-NEXT: func.func @no_ranks
func.func @no_ranks() {
  return
}
