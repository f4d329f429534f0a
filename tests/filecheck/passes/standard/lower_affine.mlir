// RUN: tilewright opt --lower-affine %s | filecheck %s

// Several lower bounds mean the greatest, several upper bounds the least.
// CHECK-LABEL: func.func @bounds
func.func @bounds(%n: index, %m: index, %data: memref<64xi32>) {
  // CHECK:      %[[BEGIN:.+]] = arith.maxsi %arg0, %c2 : index
  // CHECK-NEXT: %[[END:.+]] = arith.minsi %arg0, %arg1 : index
  // CHECK-NEXT: %[[STEP:.+]] = arith.constant 3 : index
  // CHECK-NEXT: scf.for %[[I:.+]] = %[[BEGIN]] to %[[END]] step %[[STEP]] {
  affine.for %i = max affine_map<(d0) -> (d0, 2)>(%n) to min affine_map<(d0, d1) -> (d0, d1)>(%n, %m) step 3 {
    // CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : index
    // CHECK-NEXT: %[[NEXT:.+]] = arith.addi %[[I]], %[[ONE]] : index
    // CHECK-NEXT: %[[VALUE:.+]] = memref.load %arg2[%[[NEXT]]] : memref<64xi32>
    // CHECK-NEXT: memref.store %[[VALUE]], %arg2[%[[I]]] : memref<64xi32>
    %value = affine.load %data[%i + 1] : memref<64xi32>
    affine.store %value, %data[%i] : memref<64xi32>
  }
  return
}

// Divisions round as affine expressions say: down, up; and a remainder is never negative.
// CHECK-LABEL: func.func @divisions
func.func @divisions(%n: index) -> (index, index, index) {
  // CHECK:      %[[REST:.+]] = arith.remsi %arg0, %c4 : index
  // CHECK:      %[[BELOW:.+]] = arith.cmpi slt, %[[REST]], %c0 : index
  // CHECK:      %[[ABOVE:.+]] = arith.addi %[[REST]], %c4 : index
  // CHECK:      %[[MOD:.+]] = arith.select %[[BELOW]], %[[ABOVE]], %[[REST]] : index
  %mod = affine.apply affine_map<(d0) -> (d0 mod 4)>(%n)
  // CHECK:      %[[DOWN:.+]] = arith.divsi
  // CHECK:      arith.subi %c-1, %[[DOWN]] : index
  %down = affine.apply affine_map<(d0) -> (d0 floordiv 4)>(%n)
  // CHECK:      %[[UP:.+]] = arith.divsi
  // CHECK:      arith.addi %[[UP]], %{{.*}} : index
  %up = affine.apply affine_map<(d0) -> (d0 ceildiv 4)>(%n)
  return %mod, %down, %up : index, index, index
}

// A condition is met if all its constraints are.
// CHECK-LABEL: func.func @condition
func.func @condition(%n: index, %m: index) -> index {
  // CHECK:      %[[FIRST:.+]] = arith.cmpi sge, %{{.*}}, %c0 : index
  // CHECK:      %[[SECOND:.+]] = arith.cmpi eq, %{{.*}}, %c0 : index
  // CHECK-NEXT: %[[BOTH:.+]] = arith.andi %[[FIRST]], %[[SECOND]] : i1
  // CHECK-NEXT: scf.if %[[BOTH]] -> (index) {
  // CHECK-NEXT:   scf.yield %arg0 : index
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   scf.yield %arg1 : index
  %chosen = affine.if affine_set<(d0)[s0] : (d0 - 10 >= 0, d0 - s0 == 0)>(%n)[%m] -> index {
    affine.yield %n : index
  } else {
    affine.yield %m : index
  }
  return %chosen : index
}

// What is known is not computed.
// CHECK-LABEL: func.func @known
func.func @known() -> index {
  // CHECK:      %[[RESULT:.+]] = arith.constant 17 : index
  // CHECK-NEXT: return %[[RESULT]] : index
  %five = arith.constant 5 : index
  %result = affine.apply affine_map<(d0) -> (d0 * 3 + 2)>(%five)
  return %result : index
}

// Vectors are read and written at the same subscripts.
// CHECK-LABEL: func.func @vectors
func.func @vectors(%i: index, %data: memref<64xf32>) {
  // CHECK:      %[[READ:.+]] = vector.load %arg1[%arg0] : memref<64xf32>, vector<4xf32>
  // CHECK:      vector.store %[[READ]], %arg1[%{{.*}}] : memref<64xf32>, vector<4xf32>
  %read = affine.vector_load %data[%i] : memref<64xf32>, vector<4xf32>
  affine.vector_store %read, %data[%i + 4] : memref<64xf32>, vector<4xf32>
  return
}

// Loops in any order have bounds of their own each.
// CHECK-LABEL: func.func @parallel
func.func @parallel(%n: index, %m: index, %data: memref<64xi32>) {
  // CHECK:      %[[LOW:.+]] = arith.maxsi %arg0, %arg1 : index
  // CHECK:      scf.parallel (%{{.*}}, %{{.*}}) = (%{{.*}}, %[[LOW]]) to (%arg0, %{{.*}}) step (%{{.*}}, %{{.*}}) {
  // CHECK:        memref.store
  // CHECK-NEXT:   scf.reduce
  affine.parallel (%i, %j) = (0, max(%n, %m)) to (%n, 64) step (1, 4) {
    %value = affine.load %data[%i] : memref<64xi32>
    affine.store %value, %data[%j] : memref<64xi32>
  }
  return
}
