// RUN: tilewright opt %s --split-input-file --verify-diagnostics
// Each instruction takes what the table has for it.
func.func @sums(%f: f32, %c: vector<16xf32>, %z: i32) {
  // expected-error @+1 {{takes (f32, f32, vector<4xf32>, i32, i32, i32) and gives vector<4xf32>}}
  %0 = rocdl.mfma.f32.16x16x4f32 %f, %f, %c, %z, %z, %z : (f32, f32, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  return
}

// -----

func.func @modes(%h: vector<16xf16>, %c: vector<8xf32>, %z: i32) {
  // expected-error @+1 {{takes (vector<16xf16>, vector<16xf16>, vector<8xf32>) and gives vector<8xf32>}}
  %0 = rocdl.wmma.f32.16x16x16.f16 %h, %h, %c, %z : (vector<16xf16>, vector<16xf16>, vector<8xf32>, i32) -> vector<8xf32>
  return
}
