// RUN: tilewright opt --canonicalize --allow-unregistered-dialect %s | filecheck %s
// RUN: tilewright opt --canonicalize="region-simplify=aggressive" --allow-unregistered-dialect %s | filecheck %s --check-prefix=MERGED

// A known branch is taken, blocks in a row are one, and what nothing leads to is gone.
func.func @straight(%x: i32) -> i32 {
  %true = arith.constant true
  cf.cond_br %true, ^left(%x : i32), ^right
^left(%a: i32):
  %0 = "test.left"(%a) : (i32) -> i32
  cf.br ^end(%0 : i32)
^right:
  %1 = "test.right"() : () -> i32
  cf.br ^end(%1 : i32)
^end(%r: i32):
  return %r : i32
}
// CHECK-LABEL: func.func @straight(%arg0: i32) -> i32 {
// CHECK-NEXT:    %0 = "test.left"(%arg0) : (i32) -> i32
// CHECK-NEXT:    return %0 : i32
// CHECK-NEXT:  }

// Block arguments that nothing uses go away, even when they only feed each other.
func.func @dead_arguments(%c: i1, %x: i32) {
  cf.br ^loop(%x : i32)
^loop(%a: i32):
  %0 = arith.addi %a, %x : i32
  cf.cond_br %c, ^loop(%0 : i32), ^end
^end:
  return
}
// CHECK-LABEL: func.func @dead_arguments
// CHECK-NEXT:    cf.br ^bb1
// CHECK-NEXT:  ^bb1:  // 2 preds: ^bb0, ^bb1
// CHECK-NEXT:    cf.cond_br %arg0, ^bb1, ^bb2

// Blocks that do the same with different values are one block with an argument, if that is asked for.
func.func @same_blocks(%c: i1, %x: i32, %y: i32) {
  cf.cond_br %c, ^left, ^right
^left:
  "test.work"(%x) : (i32) -> ()
  cf.br ^end
^right:
  "test.work"(%y) : (i32) -> ()
  cf.br ^end
^end:
  "test.end"() : () -> ()
  return
}
// CHECK-LABEL:  func.func @same_blocks
// CHECK:          "test.work"(%arg1)
// CHECK:          "test.work"(%arg2)
// MERGED-LABEL: func.func @same_blocks
// MERGED-NEXT:    %0 = arith.select %arg0, %arg1, %arg2 : i32
// MERGED-NEXT:    "test.work"(%0) : (i32) -> ()
// MERGED-NEXT:    "test.end"() : () -> ()
// MERGED-NEXT:    return
