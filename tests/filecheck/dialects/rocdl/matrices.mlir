// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt %s --mlir-print-op-generic | tilewright opt | filecheck %s
// Matrix instructions of AMD's GPUs: what lanes hold of A and B, the sums, and of mfma three modes.
func.func @matrices(%f: f32, %h: vector<4xf16>, %s: vector<4xi16>, %b: vector<8xbf16>, %n: i64, %w: vector<16xf16>,
                    %i: vector<4xi32>, %c: vector<4xf32>, %d: vector<16xf32>, %e: vector<8xf32>, %g: vector<8xi32>) {
  %zero = arith.constant 0 : i32
  // CHECK: rocdl.mfma.f32.16x16x4f32 %{{.+}}, %{{.+}}, %{{.+}}, %[[ZERO:.+]], %[[ZERO]], %[[ZERO]] : (f32, f32, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %0 = rocdl.mfma.f32.16x16x4f32 %f, %f, %c, %zero, %zero, %zero : (f32, f32, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  // CHECK: rocdl.mfma.f32.32x32x8f16
  %1 = rocdl.mfma.f32.32x32x8f16 %h, %h, %d, %zero, %zero, %zero : (vector<4xf16>, vector<4xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  // CHECK: rocdl.mfma.f32.16x16x16bf16.1k
  %2 = rocdl.mfma.f32.16x16x16bf16.1k %s, %s, %c, %zero, %zero, %zero : (vector<4xi16>, vector<4xi16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  // CHECK: rocdl.mfma.f32.16x16x32.bf16
  %3 = rocdl.mfma.f32.16x16x32.bf16 %b, %b, %c, %zero, %zero, %zero : (vector<8xbf16>, vector<8xbf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  // CHECK: rocdl.mfma.i32.16x16x32.i8
  %4 = rocdl.mfma.i32.16x16x32.i8 %n, %n, %i, %zero, %zero, %zero : (i64, i64, vector<4xi32>, i32, i32, i32) -> vector<4xi32>
  // CHECK: rocdl.wmma.f32.16x16x16.f16 %{{.+}}, %{{.+}}, %{{.+}} : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  %5 = rocdl.wmma.f32.16x16x16.f16 %w, %w, %e : (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  // CHECK: rocdl.wmma.i32.16x16x16.iu8 %{{.+}} {signA = true, signB = true} :
  %6 = rocdl.wmma.i32.16x16x16.iu8 %i, %i, %g {signA = true, signB = true} : (vector<4xi32>, vector<4xi32>, vector<8xi32>) -> vector<8xi32>
  return
}
