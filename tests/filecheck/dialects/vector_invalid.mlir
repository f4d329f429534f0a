// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What vector operations refuse, in upstream's words.

func.func @f(%x: f32) {
  // expected-error @+1 {{is unknown}}
  %0 = vector.splat %x : vector<4xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index) {
  // expected-error @+1 {{'vector.load' op requires 2 indices}}
  %0 = vector.load %A[%n] : memref<10x20xf32>, vector<8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index) {
  // expected-error @+1 {{'vector.load' op base and result element types should match}}
  %0 = vector.load %A[%n, %n] : memref<10x20xf32>, vector<8xi32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %v: vector<8xi32>) {
  // expected-error @+1 {{'vector.store' op base and valueToStore element type should match}}
  vector.store %v, %A[%n, %n] : memref<10x20xf32>, vector<8xi32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.broadcast' op dimension mismatch (8 vs. 4)}}
  %0 = vector.broadcast %v : vector<8xf32> to vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.broadcast' op dimension mismatch (8 vs. 4)}}
  %0 = vector.broadcast %v : vector<8xf32> to vector<2x4xf32>
  return
}

// -----

func.func @f(%v: vector<2x8xf32>) {
  // expected-error @+1 {{'vector.broadcast' op source rank higher than destination rank}}
  %0 = vector.broadcast %v : vector<2x8xf32> to vector<8xf32>
  return
}

// -----

func.func @f(%v: f32) {
  // expected-error @+1 {{'vector.broadcast' op failed to verify that source operand and result have same element type}}
  %0 = vector.broadcast %v : f32 to vector<2x4xi32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.extract' op expected position attribute of rank no greater than vector rank}}
  %0 = vector.extract %v[0, 0, 0] : f32 from vector<4x8xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.extract' op expected position attribute #1 to be a non-negative integer smaller than the corresponding vector dimension or poison (-1)}}
  %0 = vector.extract %v[4] : vector<8xf32> from vector<4x8xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.extract' op expected position attribute #1 to be a non-negative integer smaller than the corresponding vector dimension or poison (-1)}}
  %0 = vector.extract %v[-2] : vector<8xf32> from vector<4x8xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>, %x: f32) {
  // expected-error @+1 {{'vector.insert' op expected position attribute #1 to be a non-negative integer smaller than the corresponding dest vector dimension}}
  %0 = vector.insert %x, %v[8] : f32 into vector<8xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>, %x: f32) {
  // expected-error @+1 {{'vector.insert' op expected position attribute of rank no greater than dest vector rank}}
  %0 = vector.insert %x, %v[0, 0] : f32 into vector<8xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>, %x: f32) {
  // expected-error @+1 {{'vector.insert' op expected position attribute rank to match the dest vector rank}}
  %0 = vector.insert %x, %v[0] : f32 into vector<4x8xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.shape_cast' op has different number of elements at source (32) and result (31)}}
  %0 = vector.shape_cast %v : vector<4x8xf32> to vector<31xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.shape_cast' op has different source and result element types}}
  %0 = vector.shape_cast %v : vector<4x8xf32> to vector<32xi32>
  return
}

// -----

func.func @f(%v: vector<8xi32>) {
  // expected-error @+1 {{'vector.bitcast' op source/result bitwidth of the minor 1-D vectors must be equal}}
  %0 = vector.bitcast %v : vector<8xi32> to vector<8xi16>
  return
}

// -----

func.func @f(%v: vector<2x8xi32>) {
  // expected-error @+1 {{'vector.bitcast' op failed to verify that all of {source, result} have same rank}}
  %0 = vector.bitcast %v : vector<2x8xi32> to vector<16xi32>
  return
}

// -----

func.func @f(%v: vector<2x8xi32>) {
  // expected-error @+1 {{'vector.bitcast' op dimension size mismatch at: 0}}
  %0 = vector.bitcast %v : vector<2x8xi32> to vector<4x4xi32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.extract_strided_slice' op expected sum(offsets, sizes) dimension 0 to be confined to [1, 9)}}
  %0 = vector.extract_strided_slice %v {offsets = [6], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.extract_strided_slice' op expected strides to be confined to [1, 2)}}
  %0 = vector.extract_strided_slice %v {offsets = [0], sizes = [4], strides = [2]} : vector<8xf32> to vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.extract_strided_slice' op expected result type to be 'vector<4xf32>'}}
  %0 = vector.extract_strided_slice %v {offsets = [0], sizes = [4], strides = [1]} : vector<8xf32> to vector<5xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.extract_strided_slice' op expected offsets attribute of rank no greater than vector rank}}
  %0 = vector.extract_strided_slice %v {offsets = [0, 0], sizes = [4, 4], strides = [1, 1]} : vector<8xf32> to vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.extract_strided_slice' op expected offsets dimension 0 to be confined to [0, 8)}}
  %0 = vector.extract_strided_slice %v {offsets = [100], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>, %w: vector<4xf32>) {
  // expected-error @+1 {{'vector.insert_strided_slice' op expected sum(offsets, source vector shape) dimension 0 to be confined to [1, 9)}}
  %0 = vector.insert_strided_slice %w, %v {offsets = [6], strides = [1]} : vector<4xf32> into vector<8xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>, %w: vector<4xf32>) {
  // expected-error @+1 {{'vector.insert_strided_slice' op expected offsets of same size as destination vector rank}}
  %0 = vector.insert_strided_slice %w, %v {offsets = [0, 0], strides = [1]} : vector<4xf32> into vector<8xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>, %w: vector<4xf32>) {
  // expected-error @+1 {{'vector.insert_strided_slice' op expected strides to be confined to [1, 2)}}
  %0 = vector.insert_strided_slice %w, %v {offsets = [0], strides = [2]} : vector<4xf32> into vector<8xf32>
  return
}

// -----

func.func @f(%v: vector<8xi32>) {
  // expected-error @+1 {{'vector.fma' op operand #0 must be vector of floating-point values, but got 'vector<8xi32>'}}
  %0 = vector.fma %v, %v, %v : vector<8xi32>
  return
}

// -----

func.func @f(%v: vector<8xi32>) {
  // expected-error @+1 {{'vector.reduction' op failed to verify that source operand and result have same element type}}
  %0 = vector.reduction <add>, %v : vector<8xi32> into f32
  return
}

// -----

func.func @f(%v: vector<8xi32>) {
  // expected-error @+1 {{'vector.reduction' op unsupported reduction type ''i32'' for kind 'maximumf'}}
  %0 = vector.reduction <maximumf>, %v : vector<8xi32> into i32
  return
}

// -----

func.func @f(%v: vector<8x8xi32>) {
  // expected-error @+1 {{'vector.reduction' op unsupported reduction rank: 2}}
  %0 = vector.reduction <add>, %v : vector<8x8xi32> into i32
  return
}

// -----

func.func @f(%w: vector<4x8xf32>, %v: vector<4xf32>) {
  // expected-error @+1 {{'vector.multi_reduction' op destination type 'vector<4xf32>' is incompatible with source type 'vector<4x8xf32>'}}
  %17 = vector.multi_reduction <add>, %w, %v [0] : vector<4x8xf32> to vector<4xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.shuffle' op mask index #2 out of range}}
  %0 = vector.shuffle %v, %v [0, 16] : vector<8xf32>, vector<8xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>) {
  // expected-error @+1 {{'vector.shuffle' op invalid mask length}}
  %0 = vector.shuffle %v, %v [] : vector<8xf32>, vector<8xf32>
  return
}

// -----

func.func @f(%v: vector<8xf32>, %w: vector<2x2xf32>) {
  // expected-error @+1 {{'vector.shuffle' op rank mismatch}}
  %0 = vector.shuffle %v, %w [0] : vector<8xf32>, vector<2x2xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.transpose' op dimension size mismatch at: 1}}
  %0 = vector.transpose %v, [1, 0] : vector<4x8xf32> to vector<4x8xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.transpose' op duplicate position index: 1}}
  %0 = vector.transpose %v, [1, 1] : vector<4x8xf32> to vector<8x8xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.transpose' op transposition length mismatch: 1}}
  %0 = vector.transpose %v, [0] : vector<4x8xf32> to vector<4x8xf32>
  return
}

// -----

func.func @f(%v: vector<4x8xf32>) {
  // expected-error @+1 {{'vector.transpose' op transposition index out of range: 2}}
  %0 = vector.transpose %v, [0, 2] : vector<4x8xf32> to vector<4x8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'vector.constant_mask' op must specify array attr of size equal vector result rank}}
  %0 = vector.constant_mask [3, 2] : vector<8xi1>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'vector.constant_mask' op array attr of size out of bounds of vector result dimension size}}
  %0 = vector.constant_mask [9] : vector<8xi1>
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'vector.create_mask' op must specify an operand for each result vector dimension}}
  %0 = vector.create_mask %n, %n : vector<8xi1>
  return
}

// -----

func.func @f(%B: memref<?xf32>, %n: index, %m: vector<4xi1>, %v: vector<8xf32>) {
  // expected-error @+1 {{'vector.maskedload' op expected result shape to match mask shape}}
  %0 = vector.maskedload %B[%n], %m, %v : memref<?xf32>, vector<4xi1>, vector<8xf32> into vector<8xf32>
  return
}

// -----

func.func @f(%B: memref<?xf32>, %n: index, %m: vector<8xi1>, %v: vector<8xf32>) {
  // expected-error @+1 {{'vector.maskedload' op requires 1 indices}}
  %0 = vector.maskedload %B[%n, %n], %m, %v : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  return
}

// -----

func.func @f(%B: memref<?xf32>, %n: index, %m: vector<8xi1>, %v: vector<8xi32>) {
  // expected-error @+1 {{'vector.maskedstore' op base and valueToStore element type should match}}
  vector.maskedstore %B[%n], %m, %v : memref<?xf32>, vector<8xi1>, vector<8xi32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{number of operands and types do not match: got 2 operands and 3 types}}
  %0 = vector.from_elements %x, %x : vector<3xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'vector.from_elements' op failed to verify that shaped type 'dest' matches 'elements' element count and types}}
  %0 = "vector.from_elements"(%x, %x) : (f32, f32) -> vector<2xi32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: f32) {
  // expected-error @+1 {{'vector.transfer_read' op requires 2 indices}}
  %0 = vector.transfer_read %A[%n], %x : memref<10x20xf32>, vector<8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: f32) {
  // expected-error @+1 {{'vector.transfer_read' op requires a permutation_map with result dims of the same rank as the vector type}}
  %0 = vector.transfer_read %A[%n, %n], %x {permutation_map = affine_map<(d0, d1) -> (d0, d1)>} : memref<10x20xf32>, vector<8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: f32) {
  // expected-error @+1 {{'vector.transfer_read' op requires a permutation_map with input dims of the same rank as the source type}}
  %0 = vector.transfer_read %A[%n, %n], %x {permutation_map = affine_map<(d0) -> (d0)>} : memref<10x20xf32>, vector<8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: f32) {
  // expected-error @+1 {{'vector.transfer_read' op requires a projected permutation_map (at most one dim or the zero constant can appear in each result)}}
  %0 = vector.transfer_read %A[%n, %n], %x {permutation_map = affine_map<(d0, d1) -> (d0 + d1)>} : memref<10x20xf32>, vector<8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: f32) {
  // expected-error @+1 {{'vector.transfer_read' op requires a permutation_map that is a permutation (found one dim used more than once)}}
  %0 = vector.transfer_read %A[%n, %n], %x {permutation_map = affine_map<(d0, d1) -> (d0, d0)>} : memref<10x20xf32>, vector<8x8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: f32) {
  // expected-error @+1 {{'vector.transfer_read' op expects the in_bounds attr of same rank as permutation_map results: affine_map<(d0, d1) -> (d1)> vs inBounds of size: 2}}
  %0 = vector.transfer_read %A[%n, %n], %x {in_bounds = [true, true]} : memref<10x20xf32>, vector<8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: i32) {
  // expected-error @+1 {{'vector.transfer_read' op requires formal padding and source of the same elemental type}}
  %0 = "vector.transfer_read"(%A, %n, %n, %x) {permutation_map = affine_map<(d0, d1) -> (d0)>, in_bounds = [false], operandSegmentSizes = array<i32: 1, 2, 1, 0>} : (memref<10x20xf32>, index, index, i32) -> vector<8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %v: vector<8xf32>) {
  // expected-error @+1 {{'vector.transfer_write' op should not have broadcast dimensions}}
  vector.transfer_write %v, %A[%n, %n] {permutation_map = affine_map<(d0, d1) -> (0)>} : vector<8xf32>, memref<10x20xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: f32) {
  // expected-error @+1 {{requires memref or ranked tensor type}}
  %0 = vector.transfer_read %A[%n, %n], %x : f32, vector<8xf32>
  return
}

// -----

func.func @f(%A: memref<10x20xf32>, %n: index, %x: f32) {
  // expected-error @+1 {{requires vector type}}
  %0 = vector.transfer_read %A[%n, %n], %x : memref<10x20xf32>, f32
  return
}

// -----

func.func @f(%v: vector<8xf32>, %x: f32) {
  // expected-error @+1 {{'vector.contract' op expected an indexing map for each vector operand}}
  %36 = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["reduction"]} %v, %v, %x : vector<8xf32>, vector<8xf32> into f32
  return
}

// -----

func.func @f(%v: vector<8xf32>, %x: f32) {
  // expected-error @+1 {{'vector.contract' op expected at least one contracting dimension pair}}
  %36 = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["parallel"]} %v, %v, %x : vector<8xf32>, vector<8xf32> into f32
  return
}

// -----

func.func @f(%v: vector<8xf32>, %x: f32) {
  // expected-error @+1 {{unexpected iterator_type (foo)}}
  %36 = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction", "foo"]} %v, %v, %x : vector<8xf32>, vector<8xf32> into f32
  return
}

// -----

func.func @f(%v: vector<8xf32>, %w: vector<4xf32>, %x: f32) {
  // expected-error @+1 {{'vector.contract' op invalid contracting dimension map}}
  %36 = vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} %v, %w, %x : vector<8xf32>, vector<4xf32> into f32
  return
}
