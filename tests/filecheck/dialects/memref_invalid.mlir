// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What memref operations refuse, in upstream's words.

func.func @f(%n: index) {
  // expected-error @+1 {{'memref.alloc' op incorrect number of dynamic sizes, has 0, expected 1}}
  %0 = memref.alloc() : memref<?xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'memref.alloc' op incorrect number of dynamic sizes, has 1, expected 0}}
  %0 = memref.alloc(%n) : memref<4xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'memref.alloc' op symbol operand count does not equal memref symbol count: expected 0, got 1}}
  %0 = memref.alloc()[%n] : memref<4xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.memref, but found 'i32'}}
  %0 = memref.alloc() : i32
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'memref.alloc' op attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive and whose value is a power of two > 0}}
  %0 = memref.alloc() {alignment = 3} : memref<4xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'memref.alloc' op attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive and whose value is a power of two > 0}}
  %0 = memref.alloc() {alignment = -3} : memref<4xf32>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'memref.alloc' op attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive and whose value is a power of two > 0}}
  %0 = memref.alloc() {alignment = 3 : i32} : memref<4xf32>
  return
}

// -----

func.func @f(%n: index, %A: memref<4x4xf32>) {
  // expected-error @+1 {{'memref.load' op incorrect number of indices for load, expected 2 but got 1}}
  %0 = memref.load %A[%n] : memref<4x4xf32>
  return
}

// -----

func.func @f(%n: index, %A: memref<4x4xf32>, %v: f32) {
  // expected-error @+1 {{'memref.store' op store index operand count not equal to memref rank}}
  memref.store %v, %A[%n] : memref<4x4xf32>
  return
}

// -----

func.func @f(%n: index, %A: memref<4x4xf32>, %v: i32) {
  // expected-error @+1 {{'memref.store' op failed to verify that type of 'value' matches element type of 'memref'}}
  "memref.store"(%v, %A, %n, %n) : (i32, memref<4x4xf32>, index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %A: memref<4x4xf32>, %v: i32) {
  // expected-error @+1 {{'memref.load' op failed to verify that result type matches element type of 'memref'}}
  %0 = "memref.load"(%A, %n, %n) : (memref<4x4xf32>, index, index) -> (i32)
  return
}

// -----

func.func @f(%n: i32, %A: memref<4x4xf32>, %v: i32) {
  // expected-error @+1 {{'memref.load' op operand #1 must be variadic of index, but got 'i32'}}
  %0 = "memref.load"(%A, %n, %n) : (memref<4x4xf32>, i32, i32) -> (f32)
  return
}

// -----

func.func @f(%n: index, %A: i32, %v: i32) {
  // expected-error @+1 {{'memref.load' op operand #0 must be memref of any type values, but got 'i32'}}
  %0 = "memref.load"(%A, %n, %n) : (i32, index, index) -> (f32)
  return
}

// -----

func.func @f(%n: index, %A: memref<4x4xf32>) {
  // expected-error @+1 {{'memref.cast' op operand type 'memref<4x4xf32>' and result type 'memref<5x4xf32>' are cast incompatible}}
  %0 = memref.cast %A : memref<4x4xf32> to memref<5x4xf32>
  return
}

// -----

func.func @f(%n: index, %A: memref<4x4xf32>) {
  // expected-error @+1 {{'memref.memory_space_cast' op operand type 'memref<4x4xf32>' and result type 'memref<5x4xf32, 2>' are cast incompatible}}
  %0 = memref.memory_space_cast %A : memref<4x4xf32> to memref<5x4xf32, 2>
  return
}

// -----

func.func @f(%n: index, %A: memref<4x4xf32>, %B: memref<4xf32>) {
  // expected-error @+1 {{'memref.copy' op requires the same shape for all operands}}
  memref.copy %A, %B : memref<4x4xf32> to memref<4xf32>
  return
}

// -----

func.func @f(%n: index, %A: memref<4x4xf32>, %B: memref<4x4xi32>) {
  // expected-error @+1 {{'memref.copy' op requires the same element type for all operands}}
  memref.copy %A, %B : memref<4x4xf32> to memref<4x4xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'memref.get_global' op 'nope' does not reference a valid global memref}}
  %0 = memref.get_global @nope : memref<4xf32>
  return
}

// -----

memref.global @g : memref<4xf32>
// expected-error @+1 {{'memref.get_global' op result type 'memref<5xf32>' does not match type 'memref<4xf32>' of the global memref @g}}
func.func @f() { %0 = memref.get_global @g : memref<5xf32> return }

// -----

func.func @f() {
  // expected-error @+1 {{'memref.get_global' op 'f' does not reference a valid global memref}}
  %0 = memref.get_global @f : memref<5xf32>
  return
}

// -----

// expected-error @+1 {{expected operation name in quotes}}
memref.global @g : memref<4xf32> = dense<1.0> : tensor<3xf32>

// -----

// expected-error @+1 {{'memref.global' op initial value shape expected to be 4 but was 3}}
"memref.global"() {sym_name = "g", type = memref<4xf32>, initial_value = dense<1.0> : tensor<3xf32>} : () -> ()

// -----

// expected-error @+1 {{'memref.global' op initial value should be a unit or elements attribute, but got 1 : i32}}
"memref.global"() {sym_name = "g", type = memref<4xf32>, initial_value = 1 : i32} : () -> ()

// -----

// expected-error @+1 {{'memref.global' op attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive and whose value is a power of two > 0}}
memref.global @g : memref<4xf32> {alignment = 63}

// -----

// expected-error @+1 {{type should be static shaped memref, but got 'i32'}}
memref.global @g : i32

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{expected mixed offsets rank to match mixed sizes rank (1 vs 2) so the rank of the result type is well-formed.}}
  %0 = memref.subview %A[0][4, 4][1, 1] : memref<4x4xf32> to memref<4x4xf32>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{expected result type to be 'memref<2x2xf32, strided<[4, 1]>>' or a rank-reduced version. (mismatch of result layout), but got 'memref<2x2xf32>'}}
  %0 = memref.subview %A[0, 0][2, 2][1, 1] : memref<4x4xf32> to memref<2x2xf32>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{expected result type to be 'memref<2x2xf32, strided<[4, 1]>>' or a rank-reduced version. (mismatch of result sizes), but got 'memref<2x3xf32>'}}
  %0 = memref.subview %A[0, 0][2, 2][1, 1] : memref<4x4xf32> to memref<2x3xf32>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{slice along dimension 1 runs out-of-bounds: 4 >= 4}}
  %0 = memref.subview %A[0, 3][2, 2][1, 1] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 1], offset: 3>>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{expected result element type to be 'f32', but got 'memref<2x2xi32, strided<[4, 1]>>'}}
  %0 = memref.subview %A[0, 0][2, 2][1, 1] : memref<4x4xf32> to memref<2x2xi32, strided<[4, 1]>>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{different memory spaces specified for base memref type 'memref<4x4xf32>' and subview memref type 'memref<2x2xf32, strided<[4, 1]>, 3>'}}
  %0 = memref.subview %A[0, 0][2, 2][1, 1] : memref<4x4xf32> to memref<2x2xf32, strided<[4, 1]>, 3>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{expected result rank to be smaller or equal to the source rank, but got 'memref<2x2x2xf32, strided<[4, 1, 1]>>'}}
  %0 = memref.subview %A[0, 0][2, 2][1, 1] : memref<4x4xf32> to memref<2x2x2xf32, strided<[4, 1, 1]>>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{'memref.view' op operand #0 must be 1D memref of 8-bit signless integer values, but got 'memref<4x4xf32>'}}
  %0 = memref.view %A[%n][] : memref<4x4xf32> to memref<2xf32>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{'memref.view' op incorrect number of dynamic sizes, has 1, expected 0}}
  %0 = memref.view %A[%n][%n] : memref<64xi8> to memref<2xf32>
  return
}

// -----

func.func @f(%A: memref<64xi8, 2>, %n: index) {
  // expected-error @+1 {{different memory spaces specified for base memref type 'memref<64xi8, 2>' and view memref type 'memref<2xf32>'}}
  %0 = memref.view %A[%n][] : memref<64xi8, 2> to memref<2xf32>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{unsupported map for result memref type 'memref<2xf32, strided<[2]>>'}}
  %0 = memref.view %A[%n][] : memref<64xi8> to memref<2xf32, strided<[2]>>
  return
}

// -----

func.func @f(%A: memref<64xi8, strided<[2]>>, %n: index) {
  // expected-error @+1 {{unsupported map for base memref type 'memref<64xi8, strided<[2]>>'}}
  %0 = memref.view %A[%n][] : memref<64xi8, strided<[2]>> to memref<2xf32>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{expected result type with size = 4 instead of 5 in dim = 0}}
  %0 = memref.reinterpret_cast %A to offset: [0], sizes: [4], strides: [1] : memref<64xi8> to memref<5xi8>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{different element types specified for source type 'memref<64xi8>' and result memref type 'memref<4xi32>'}}
  %0 = memref.reinterpret_cast %A to offset: [0], sizes: [4], strides: [1] : memref<64xi8> to memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{expected result type with offset = 1 instead of 0}}
  %0 = memref.reinterpret_cast %A to offset: [1], sizes: [4], strides: [1] : memref<64xi8> to memref<4xi8>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{expected result type with stride = 2 instead of 1 in dim = 0}}
  %0 = memref.reinterpret_cast %A to offset: [0], sizes: [4], strides: [2] : memref<64xi8> to memref<4xi8>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{different memory spaces specified for source type 'memref<64xi8>' and result memref type 'memref<4xi8, 2>'}}
  %0 = memref.reinterpret_cast %A to offset: [0], sizes: [4], strides: [1] : memref<64xi8> to memref<4xi8, 2>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{expected mixed sizes rank to match mixed strides rank (2 vs 1) so the rank of the result type is well-formed.}}
  %0 = memref.reinterpret_cast %A to offset: [0], sizes: [4, 2], strides: [1] : memref<64xi8> to memref<4xi8>
  return
}

// -----

func.func @f(%A: memref<64xi8>, %n: index) {
  // expected-error @+1 {{expected result type with size = dynamic instead of 4 in dim = 0}}
  %0 = memref.reinterpret_cast %A to offset: [0], sizes: [%n], strides: [1] : memref<64xi8> to memref<4xi8>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{'memref.collapse_shape' op collapsed dim size (15) must equal reassociation group size (16)}}
  %0 = memref.collapse_shape %A [[0, 1]] : memref<4x4xf32> into memref<15xf32>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{'memref.collapse_shape' op invalid number of reassociation groups: found 2, expected 1}}
  %0 = memref.collapse_shape %A [[0], [1]] : memref<4x4xf32> into memref<16xf32>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>) {
  // expected-error @+1 {{'memref.collapse_shape' op reassociation indices must be contiguous}}
  %0 = memref.collapse_shape %A [[1, 0]] : memref<4x4xf32> into memref<16xf32>
  return
}

// -----

func.func @f(%A: memref<16xf32>) {
  // expected-error @+1 {{'memref.expand_shape' op collapsed dim size (16) must equal reassociation group size (20)}}
  %0 = memref.expand_shape %A [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x5xf32>
  return
}

// -----

func.func @f(%A: memref<16xf32>) {
  // expected-error @+1 {{'memref.expand_shape' op expected number of static shape bounds to be equal to the output rank (2) but found 1 inputs instead}}
  %0 = memref.expand_shape %A [[0, 1]] output_shape [4] : memref<16xf32> into memref<4x4xf32>
  return
}

// -----

func.func @f(%A: memref<16xf32>) {
  // expected-error @+1 {{'memref.expand_shape' op invalid number of reassociation groups: found 2, expected 1}}
  %0 = memref.expand_shape %A [[0], [1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  return
}

// -----

func.func @f(%A: memref<16xf32>) {
  // expected-error @+1 {{'memref.transpose' op result type 'memref<17xf32>' is not equivalent to the canonical transposed input type 'memref<16xf32, strided<[1]>>'}}
  %0 = memref.transpose %A (i) -> (i) : memref<16xf32> to memref<17xf32>
  return
}

// -----

func.func @f(%A: memref<16x2xf32>) {
  // expected-error @+1 {{'memref.transpose' op expected a permutation map of same rank as the input}}
  %0 = memref.transpose %A (i) -> (i) : memref<16x2xf32> to memref<2x16xf32>
  return
}

// -----

func.func @f(%A: memref<16xf32>) {
  // expected-error @+1 {{'memref.assume_alignment' op attribute 'alignment' failed to satisfy constraint: 32-bit signless integer attribute whose value is positive}}
  %0 = memref.assume_alignment %A, 0 : memref<16xf32>
  return
}

// -----

func.func @f(%A: memref<16xf32>) {
  // expected-error @+1 {{'memref.assume_alignment' op alignment must be power of 2}}
  %0 = memref.assume_alignment %A, 3 : memref<16xf32>
  return
}

// -----

func.func @f(%A: memref<16xf32>, %v: f32, %n: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op with kind 'addi' expects an integer type}}
  %0 = memref.atomic_rmw addi %v, %A[%n] : (f32, memref<16xf32>) -> f32
  return
}

// -----

func.func @f(%A: memref<16xi32>, %v: i32, %n: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op with kind 'addf' expects a floating-point type}}
  %0 = memref.atomic_rmw addf %v, %A[%n] : (i32, memref<16xi32>) -> i32
  return
}

// -----

func.func @f(%A: memref<16xi32>, %v: i32, %n: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op expects the number of subscripts to be equal to memref rank}}
  %0 = memref.atomic_rmw addi %v, %A[%n, %n] : (i32, memref<16xi32>) -> i32
  return
}

// -----

func.func @f(%A: memref<16xi32>, %v: i32, %n: index) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'kind' [addf, addi, andi, assign, maximumf, maxnumf, maxs, maxu, minimumf, minnumf, mins, minu, mulf, muli, ori, xori]}}
  %0 = memref.atomic_rmw foo %v, %A[%n] : (i32, memref<16xi32>) -> i32
  return
}

// -----

func.func @f(%A: memref<16xi32>, %v: i64, %n: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op failed to verify that all of {value, result} have same type}}
  %0 = memref.atomic_rmw addi %v, %A[%n] : (i64, memref<16xi32>) -> i32
  return
}

// -----

func.func @f(%A: memref<16xi32>, %n: index) {
  // expected-error @+1 {{'memref.prefetch' op too few indices}}
  memref.prefetch %A[%n, %n], read, locality<3>, data : memref<16xi32>
  return
}

// -----

func.func @f(%A: memref<16xi32>, %n: index) {
  // expected-error @+1 {{'memref.prefetch' op attribute 'localityHint' failed to satisfy constraint: 32-bit signless integer attribute whose minimum value is 0 whose maximum value is 3}}
  memref.prefetch %A[%n], read, locality<4>, data : memref<16xi32>
  return
}

// -----

func.func @f(%A: memref<16xi32>, %n: index) {
  // expected-error @+1 {{rw specifier has to be 'read' or 'write'}}
  memref.prefetch %A[%n], foo, locality<3>, data : memref<16xi32>
  return
}

// -----

func.func @f(%A: memref<16xi32>, %n: index) {
  // expected-error @+1 {{cache type has to be 'data' or 'instr'}}
  memref.prefetch %A[%n], read, locality<3>, false : memref<16xi32>
  return
}

// -----

func.func @f(%A: memref<16xi32>, %n: i32) {
  // expected-error @+1 {{'memref.dim' op operand #1 must be index, but got 'i32'}}
  %0 = "memref.dim"(%A, %n) : (memref<16xi32>, i32) -> index
  return
}

// -----

func.func @f(%A: i32, %n: index) {
  // expected-error @+1 {{'memref.dim' op operand #0 must be unranked.memref of any type values or non-0-ranked.memref of any type values, but got 'i32'}}
  %0 = "memref.dim"(%A, %n) : (i32, index) -> index
  return
}

// -----

func.func @f(%A: i32) {
  // expected-error @+1 {{'memref.dealloc' op operand #0 must be ranked or unranked memref of any type values, but got 'i32'}}
  "memref.dealloc"(%A) : (i32) -> ()
  return
}

// -----

func.func @f(%A: i32) {
  // expected-error @+1 {{'memref.dealloc' op requires a single operand}}
  "memref.dealloc"() : () -> ()
  return
}

// -----

func.func @f(%A: i32) {
  // expected-error @+1 {{'memref.get_global' op requires attribute 'name'}}
  "memref.get_global"() : () -> memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<4xi32>) {
  // expected-error @+1 {{operation defines 3 results but was provided 4 to bind}}
  %0:4 = memref.extract_strided_metadata %A : memref<4xi32> -> memref<i32>, index, index
  return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) {
  
  // expected-error @+1 {{'memref.atomic_yield' op types mismatch between yield op: 'f32' and its parent: 'i32'}}
  %0 = memref.generic_atomic_rmw %A[%n] : memref<4xi32> { ^bb0(%o: i32): %c = arith.constant 1.0 : f32 memref.atomic_yield %c : f32 }
  return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) {
  
  // expected-error @+1 {{'memref.generic_atomic_rmw' op expected block argument of the same type result type}}
  %0 = memref.generic_atomic_rmw %A[%n] : memref<4xi32> { ^bb0(%o: f32): memref.atomic_yield %o : f32 }
  return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) { 
  // expected-error @+1 {{'memref.alloca_scope.return' op expects parent op 'memref.alloca_scope'}}
  memref.alloca_scope.return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) { 
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'memref.alloca_scope' op along control flow edge from Operation memref.alloca_scope.return to parent: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = memref.alloca_scope -> (i32) { memref.alloca_scope.return } return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) { 
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'memref.alloca_scope' op along control flow edge from Operation memref.alloca_scope.return to parent: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = memref.alloca_scope -> (i32) { } return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) { 
  // expected-error @+1 {{missing dimension operand for result type 'memref<?xi32>'}}
  %0 = memref.realloc %A : memref<4xi32> to memref<?xi32> return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) { 
  // expected-error @+1 {{different element types specified for source memref type 'memref<4xi32>' and result memref type 'memref<4xi64>'}}
  %0 = memref.realloc %A : memref<4xi32> to memref<4xi64> return
}

// -----

func.func @f(%A: memref<?x4xf32>) {
  // expected-error @+1 {{'memref.collapse_shape' op collapsed dim (0) must be dynamic if and only if reassociation group is dynamic}}
  %0 = memref.collapse_shape %A [[0, 1]] : memref<?x4xf32> into memref<16xf32>
  return
}

// -----

func.func @f(%A: memref<2x4xf32>) {
  // expected-error @+1 {{'memref.collapse_shape' op expanded rank (2) inconsistent with number of reassociation indices (1)}}
  %0 = memref.collapse_shape %A [[0]] : memref<2x4xf32> into memref<2xf32>
  return
}

// -----

func.func @f(%A: memref<2x4xf32>) {
  // expected-error @+1 {{'memref.collapse_shape' op reassociation index 2 is out of bounds}}
  %0 = memref.collapse_shape %A [[0, 1, 2]] : memref<2x4xf32> into memref<8xf32>
  return
}

// -----

func.func @f(%A: memref<?xf32>, %n: index) {
  // expected-error @+1 {{'memref.expand_shape' op invalid output shape provided at pos 1}}
  %0 = memref.expand_shape %A [[0, 1]] output_shape [%n, 4] : memref<?xf32> into memref<?x5xf32>
  return
}

// -----

func.func @f(%A: memref<?xf32>, %n: index) {
  // expected-error @+1 {{'memref.expand_shape' op mismatch in dynamic dims in output_shape and static_output_shape: static_output_shape has 1 dynamic dims while output_shape has 0 values}}
  %0 = "memref.expand_shape"(%A) {reassociation = [[0, 1]], static_output_shape = array<i64: -9223372036854775808, 4>} : (memref<?xf32>) -> memref<?x4xf32>
  return
}

// -----

func.func @f(%A: memref<8xf32, strided<[2]>>, %n: index) {
  // expected-error @+1 {{'memref.expand_shape' op expected expanded type to be 'memref<2x4xf32, strided<[8, 2]>>' but found 'memref<2x4xf32>'}}
  %0 = memref.expand_shape %A [[0, 1]] output_shape [2, 4] : memref<8xf32, strided<[2]>> into memref<2x4xf32>
  return
}

// -----

func.func @f(%A: memref<8xf32, affine_map<(d0) -> (d0 mod 2)>>, %n: index) {
  // expected-error @+1 {{'memref.expand_shape' op operand #0 must be strided memref of any type values, but got 'memref<8xf32, affine_map<(d0) -> (d0 mod 2)>>'}}
  %0 = memref.expand_shape %A [[0, 1]] output_shape [2, 4] : memref<8xf32, affine_map<(d0) -> (d0 mod 2)>> into memref<2x4xf32>
  return
}

// -----

func.func @f(%A: memref<2x8xf32, strided<[16, 1]>>, %n: index) {
  // expected-error @+1 {{'memref.collapse_shape' op invalid source layout map or collapsing non-contiguous dims}}
  %0 = memref.collapse_shape %A [[0, 1]] : memref<2x8xf32, strided<[16, 1]>> into memref<16xf32>
  return
}

// -----

func.func @f(%A: memref<2x8xf32, strided<[8, 1]>>, %n: index) {
  // expected-error @+1 {{'memref.collapse_shape' op expected collapsed type to be 'memref<16xf32, strided<[1]>>' but found 'memref<16xf32>'}}
  %0 = memref.collapse_shape %A [[0, 1]] : memref<2x8xf32, strided<[8, 1]>> into memref<16xf32>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{expected 2 offset values, got 1}}
  %0 = memref.subview %A[0][4][1] : memref<4x4xf32> to memref<4xf32>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{expected the number of 'offsets' to match the number of dynamic entries in 'static_offsets' (0 vs 1)}}
  %0 = "memref.subview"(%A) {operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, 1>, static_strides = array<i64: 1, 1>} : (memref<4x4xf32>) -> memref<1x1xf32>
  return
}

// -----

func.func @f(%A: memref<4x4xf32>, %n: index) {
  // expected-error @+1 {{offset 0 is out-of-bounds: 5 >= 4}}
  %0 = memref.subview %A[5, 0][1, 1][1, 1] : memref<4x4xf32> to memref<1x1xf32, strided<[4, 1], offset: 20>>
  return
}

// -----

func.func @f(%A: memref<4x4xf32, affine_map<(d0, d1) -> (d0 mod 2)>>, %n: index) {
  // expected-error @+1 {{base type 'memref<4x4xf32, affine_map<(d0, d1) -> (d0 mod 2)>>' is not strided}}
  %0 = memref.subview %A[0, 0][1, 1][1, 1] : memref<4x4xf32, affine_map<(d0, d1) -> (d0 mod 2)>> to memref<1x1xf32, strided<[4, 1], offset: 20>>
  return
}

// -----

func.func @f(%A: memref<4xf32>, %v: i32, %n: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op failed to verify that value type matches element type of memref}}
  %0 = "memref.atomic_rmw"(%v, %A, %n) {kind = 1 : i64} : (i32, memref<4xf32>, index) -> i32
  return
}

// -----

func.func @f(%A: memref<4xf32>, %v: i32, %n: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op attribute 'kind' failed to satisfy constraint: allowed 64-bit signless integer cases: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}
  %0 = "memref.atomic_rmw"(%v, %A, %n) {kind = 100 : i64} : (i32, memref<4xf32>, index) -> i32
  return
}

// -----

func.func @f(%A: memref<4xf32>, %v: !llvm.ptr, %n: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op operand #0 must be signless integer or floating-point, but got '!llvm.ptr'}}
  %0 = "memref.atomic_rmw"(%v, %A, %n) {kind = 1 : i64} : (!llvm.ptr, memref<4xf32>, index) -> i32
  return
}

// -----

func.func @f(%A: memref<4xi32>, %v: i32, %n: index) {
  // expected-error @+1 {{'memref.generic_atomic_rmw' op expected single number of entry block arguments}}
  %0 = "memref.generic_atomic_rmw"(%A, %n) ({ ^bb0: memref.atomic_yield %v : i32 }) : (memref<4xi32>, index) -> i32
  return
}

// -----

func.func @f(%A: memref<4xi32>, %v: i32, %n: index) {
  // expected-error @+1 {{'memref.generic_atomic_rmw' op failed to verify that result type matches element type of memref}}
  %0 = "memref.generic_atomic_rmw"(%A, %n) ({ ^bb0(%x: f32): memref.atomic_yield %x : f32 }) : (memref<4xi32>, index) -> f32
  return
}

// -----

// expected-error @+1 {{'memref.global' op initial value element expected to be of type 'f32', but was of type 'i32'}}
"memref.global"() {sym_name = "g", type = memref<4xf32>, initial_value = dense<1> : tensor<4xi32>} : () -> ()

// -----

func.func @f(%A: memref<4xi32>, %n: index) {
  // expected-error @+1 {{'memref.dma_wait' op expected tagIndices to have the same number of elements as the tagMemRef rank, expected 1, but got 0}}
  "memref.dma_wait"(%A, %n) : (memref<4xi32>, index) -> ()
  return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) {
  // expected-error @+1 {{'memref.dma_start' op expected at least 4 operands}}
  "memref.dma_start"(%A, %n) : (memref<4xi32>, index) -> ()
  return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) {
  // expected-error @+1 {{'memref.distinct_objects' op expected at least one operand}}
  "memref.distinct_objects"() : () -> ()
  return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) {
  // expected-error @+1 {{'memref.distinct_objects' op operand types and result types must match}}
  %0 = "memref.distinct_objects"(%A) : (memref<4xi32>) -> (memref<5xi32>)
  return
}

// -----

func.func @f(%A: memref<4xi32>, %s: memref<2xindex>) {
  // expected-error @+1 {{'memref.reshape' op length of shape operand differs from the result's memref rank}}
  %0 = memref.reshape %A(%s) : (memref<4xi32>, memref<2xindex>) -> memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<4xi32>, %s: memref<?xindex>) {
  // expected-error @+1 {{'memref.reshape' op cannot use shape operand with dynamic length to reshape to statically-ranked memref type}}
  %0 = memref.reshape %A(%s) : (memref<4xi32>, memref<?xindex>) -> memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<4xi32>, %s: memref<1xindex>) {
  // expected-error @+1 {{'memref.reshape' op element types of source and destination memref types should be the same}}
  %0 = memref.reshape %A(%s) : (memref<4xi32>, memref<1xindex>) -> memref<4xi8>
  return
}

// -----

func.func @f(%A: memref<4xi32, strided<[2]>>, %s: memref<1xindex>) {
  // expected-error @+1 {{'memref.reshape' op source memref type should have identity affine map}}
  %0 = memref.reshape %A(%s) : (memref<4xi32, strided<[2]>>, memref<1xindex>) -> memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<4xi32>, %s: memref<1xf32>) {
  // expected-error @+1 {{'memref.reshape' op operand #1 must be 1D memref of signless integer or index values, but got 'memref<1xf32>'}}
  %0 = memref.reshape %A(%s) : (memref<4xi32>, memref<1xf32>) -> memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<4xi32>, %n: index) {
  // expected-error @+1 {{unnecessary dimension operand for result type 'memref<5xi32>'}}
  %0 = memref.realloc %A(%n) : memref<4xi32> to memref<5xi32>
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.realloc' op operand #0 must be 1D memref of any type values, but got 'memref<4x4xi32>'}}
  %0 = memref.realloc %A(%n) : memref<4x4xi32> to memref<5xi32>
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.transpose' op expected a permutation map}}
  %0 = "memref.transpose"(%A) {permutation = affine_map<(d0, d1) -> (d0, d0)>} : (memref<4x4xi32>) -> memref<4x4xi32>
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{expected ':'}}
  memref.dealloc %A, %A : memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.subview' op operand count (1) does not match with the total size (0) specified in attribute 'operandSegmentSizes'}}
  %0 = "memref.subview"(%A) {static_offsets = array<i64: 0>} : (memref<4x4xi32>) -> memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.subview' op operand count (1) does not match with the total size (2) specified in attribute 'operandSegmentSizes'}}
  %0 = "memref.subview"(%A) {operandSegmentSizes = array<i32: 1, 0, 1, 0>, static_offsets = array<i64: 0, -9223372036854775808>, static_sizes = array<i64: 1, 1>, static_strides = array<i64: 1, 1>} : (memref<4x4xi32>) -> memref<4xi32>
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.load' op expected 1 or more operands, but found 0}}
  %0 = "memref.load"() : () -> i32
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.load' op requires one result}}
  "memref.load"(%A) : (memref<4x4xi32>) -> ()
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.store' op expected 2 or more operands, but found 1}}
  "memref.store"(%A) : (memref<4x4xi32>) -> ()
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.copy' op expected 2 operands, but found 1}}
  "memref.copy"(%A) : (memref<4x4xi32>) -> ()
  return
}

// -----

func.func @f(%A: memref<4x4xi32>, %n: index) {
  // expected-error @+1 {{'memref.copy' op requires zero regions}}
  "memref.copy"(%A, %A) ({}) : (memref<4x4xi32>, memref<4x4xi32>) -> ()
  return
}

// -----

// expected-error @+1 {{'cf.br' op requires 1 successor but found 0}}
func.func @f(%A: memref<4x4xi32>, %n: index) { "cf.br"() : () -> () }
