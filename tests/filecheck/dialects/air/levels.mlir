// RUN: tilewright opt --allow-unregistered-dialect %s | filecheck %s
// RUN: tilewright opt --allow-unregistered-dialect --verify-roundtrip %s | filecheck %s

// CHECK-LABEL: func.func @spaces
func.func @spaces(%buffer: memref<8xf32>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  // A space has an id and a size for each dimension, and the body takes both.
  // CHECK: air.rank (%arg1, %arg2) in (%arg3=%c2, %arg4=%c3) {
  air.rank (%i, %j) in (%ni=%c2, %nj=%c3) {
    // CHECK-NEXT: arith.addi %arg1, %arg4 : index
    %sum = arith.addi %i, %nj : index
  }
  // Values reach a body as arguments only. Commas between sizes may be left out, blanks do not matter.
  // CHECK: air.launch (%arg1, %arg2) in (%arg3=%c2, %arg4=%c3) args(%arg5=%arg0, %arg6=%c2) : memref<8xf32>, index {
  air.launch (%i, %j) in (%ni = %c2 %nj = %c3) args(%a = %buffer, %n = %c2) : memref<8xf32>, index {
    // CHECK-NEXT: air.segment args(%arg7=%arg5) : memref<8xf32> {
    air.segment args(%b=%a) : memref<8xf32> {
      %c4 = arith.constant 4 : index
      // CHECK: air.herd @h tile (%arg8) in (%arg9=%c4) args(%arg10=%arg7) : memref<8xf32> attributes {link_with = "k.o"} {
      air.herd @h tile (%x) in (%nx=%c4) args(%d=%b) : memref<8xf32> attributes {link_with = "k.o"} {
        // CHECK-NEXT: "test.use"(%arg10) : (memref<8xf32>) -> ()
        "test.use"(%d) : (memref<8xf32>) -> ()
      }
    }
    // CHECK: air.segment unroll(%arg7) in (%arg8=%arg6) attributes {x_loc = 1 : i64} {
    air.segment unroll (%u) in (%nu=%n) attributes {x_loc = 1 : i64} {
    }
  }
  return
}

// CHECK-LABEL: func.func @names
func.func @names() {
  %c1 = arith.constant 1 : index
  // A body that is elsewhere is not written; so is one with nothing in it that has a name.
  // CHECK: air.launch @there (%arg0) in (%arg1=%c1)
  // CHECK-NEXT: air.segment @empty
  // CHECK-NEXT: air.launch @none () in ()
  air.launch @there (%i) in (%n=%c1)
  air.segment @empty { air.segment_terminator }
  air.launch () in () attributes {sym_name = "none"} { }
  // CHECK-NEXT: air.segment {
  air.segment args() { }
  return
}

// CHECK-LABEL: func.func @tokens
func.func @tokens() {
  %c1 = arith.constant 1 : index
  // CHECK: %0 = air.launch async () in () {
  %first = air.launch async () in () { }
  // CHECK: %1 = air.rank @r async [%0] (%arg0) in (%arg1=%c1)
  %second = air.rank @r async [%first] (%i) in (%n=%c1)
  // Dependencies are shown in the order in which they are made.
  // CHECK: air.herd [%0, %1] tile (%arg0) in (%arg1=%c1) {
  air.herd [%second, %first] tile (%x) in (%nx=%c1) { }
  // CHECK: %2 = air.universe.alloc(%c1)
  // CHECK-NEXT: air.rank universe(%2) (%arg0) in (%arg1=%c1) {
  %pool = air.universe.alloc(%c1)
  air.rank universe(%pool) (%i) in (%n=%c1) { }
  return
}
