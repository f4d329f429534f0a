// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What affine operations refuse, in upstream's words.

func.func @f(%n: index) {
  // expected-error @+1 {{dimension or symbol index mismatch}}
  %0 = affine.apply affine_map<(d0, d1) -> (d0)>(%n)
  return
}

// -----

func.func @f(%n: i32) {
  // expected-error @+1 {{'affine.apply' op operand #0 must be variadic of index, but got 'i32'}}
  %0 = "affine.apply"(%n) {map = affine_map<(d0) -> (d0)>} : (i32) -> index
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'affine.min' op operand count and affine map dimension and symbol count must match}}
  %0 = "affine.min"(%n) {map = affine_map<(d0, d1) -> (d0)>} : (index) -> index
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{lower loop bound affine map with multiple results requires 'max' prefix}}
  affine.for %i = affine_map<(d0) -> (d0, 5)>(%n) to 10 { }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{dim operand count and affine map dim count must match}}
  affine.for %i = affine_map<(d0) -> (d0)>() to 10 { }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{symbol operand count and affine map symbol count must match}}
  affine.for %i = affine_map<(d0)[s0] -> (d0)>(%n) to 10 { }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{expected step to be representable as a positive signed integer}}
  affine.for %i = 0 to 10 step -1 { }
  return
}

// -----

func.func @f(%n: index, %v: f32) {
  // expected-error @+1 {{'affine.yield' op parent of yield must have same number of results as the yield operands}}
  %0 = affine.for %i = 0 to 10 iter_args(%x = %v) -> (f32) { }
  return
}

// -----

func.func @f(%n: index, %v: f32) {
  // expected-error @+1 {{'affine.yield' op types mismatch between yield op and its parent}}
  %0 = affine.for %i = 0 to 10 iter_args(%x = %v) -> (f32) { affine.yield %n : index }
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %i: index) {
  // expected-error @+1 {{'affine.load' op affine map num results must equal memref rank}}
  %0 = affine.load %A[%i] : memref<10x20xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %i: index, %v: f32) {
  // expected-error @+1 {{'affine.store' op affine map num results must equal memref rank}}
  affine.store %v, %A[%i] : memref<10x20xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %i: index) {
  // expected-error @+1 {{'affine.load' op operand cannot be used as a symbol}}
  affine.for %i2 = 0 to 10 { %0 = affine.load %A[symbol(%i2), %i] : memref<10x20xf32> }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{dim operand count and integer set dim count must match}}
  affine.if affine_set<(d0, d1) : (d0 >= 0)>(%i) { }
  return
}

// -----

func.func @f(%i: index) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'affine.if' op along control flow edge from parent to parent: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = affine.if affine_set<(d0) : (d0 >= 0)>(%i) -> index { affine.yield %i : index }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.yield' op parent of yield must have same number of results as the yield operands}}
  %0 = affine.if affine_set<(d0) : (d0 >= 0)>(%i) -> index { } else { }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{invalid kind of attribute specified}}
  affine.if affine_map<(d0) -> (d0)>(%i) { }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.parallel' op the number of region arguments (2) and the number of map groups for lower (1) and upper bound (1), and the number of steps (2) must all match}}
  affine.parallel (%a, %b) = (0) to (10) { }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.yield' op parent of yield must have same number of results as the yield operands}}
  %0 = affine.parallel (%a) = (0) to (10) reduce ("addf") -> (f32) { }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{invalid reduction value: "foo"}}
  %0 = affine.parallel (%a) = (0) to (10) reduce ("foo") -> (f32) { }
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.yield' op must be the last operation in the parent block}}
  affine.yield
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %i: index) {
  // expected-error @+1 {{'affine.vector_load' op requires memref and vector types of the same elemental type}}
  %0 = affine.vector_load %A[%i, %i] : memref<10x20xf32>, vector<8xi32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %i: index) {
  // expected-error @+1 {{'affine.load' op result type must match element type of memref}}
  %0 = "affine.load"(%A, %i) {map = affine_map<(d0) -> (d0, d0)>} : (memref<10x20xf32>, index) -> i32
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %i: index) {
  // expected-error @+1 {{'affine.load' op expects as many subscripts as affine map inputs}}
  %0 = "affine.load"(%A, %i) {map = affine_map<(d0, d1) -> (d0, d0)>} : (memref<10x20xf32>, index) -> f32
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.delinearize_index' op should return an index for each basis element and up to one extra index}}
  %0:2 = affine.delinearize_index %i into (2, 3, 4) : index, index
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{'affine.linearize_index' op should be passed a basis element for each index except possibly the first}}
  %0 = affine.linearize_index [%i, %i] by (2, 3, 4) : index
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %i: index, %v: f32) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.vector, but found 'f32'}}
  affine.vector_store %v, %A[%i, %i] : memref<10x20xf32>, f32
  return
}

// -----

func.func @f(%i: index) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.memref, but found 'index'}}
  %0 = affine.load %i[%i] : index
  return
}

// -----

func.func @f(%v: f32) {
  // expected-error @+1 {{'affine.for' op expected body to have a single index argument for the induction variable}}
  "affine.for"() ({ ^bb0(%i: i32): "affine.yield"() : () -> () }) {lowerBoundMap = affine_map<() -> (0)>, upperBoundMap = affine_map<() -> (0)>, step = 1 : index, operandSegmentSizes = array<i32: 0, 0, 0>} : () -> ()
  return
}

// -----

func.func @f(%m: memref<64xf32>, %i: index, %j: index) {
  // expected-error @+1 {{non-affine expression: at least one of the multiply operands has to be either a constant or symbolic}}
  %0 = affine.load %m[%i * %j] : memref<64xf32>
  return
}

// -----

func.func @f(%m: memref<64xf32>, %i: index) {
  // expected-error @+1 {{missing right operand of binary operator}}
  %0 = affine.load %m[%i +] : memref<64xf32>
  return
}
