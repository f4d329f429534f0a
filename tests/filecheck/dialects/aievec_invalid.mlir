// RUN: tilewright opt --split-input-file --verify-diagnostics %s

func.func @lanes(%a: vector<16xi32>) -> vector<32xi64> {
  // expected-error@+1 {{The number of lanes in source vector and result accumulator must match}}
  %up = aievec.ups %a {shift = 0 : i8} : vector<16xi32>, vector<32xi64>
  return %up : vector<32xi64>
}

// -----

func.func @narrow(%a: vector<16xi32>, %shift: i32) -> vector<16xi32> {
  // expected-error@+1 {{the element type of source accumulator must be wider than that of the result vector}}
  %down = aievec.srs %a, %shift : vector<16xi32>, i32, vector<16xi32>
  return %down : vector<16xi32>
}

// -----

func.func @half(%a: memref<16xi32>, %i: index) -> vector<16xi32> {
  // expected-error@+1 {{failed to satisfy constraint: 8-bit signless integer attribute whose minimum value is 0 whose maximum value is 1}}
  %v = aievec.upd %a[%i] {index = 2 : i8, offset = 0 : i32} : memref<16xi32>, vector<16xi32>
  return %v : vector<16xi32>
}
