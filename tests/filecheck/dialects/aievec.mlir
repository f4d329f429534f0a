// RUN: tilewright opt %s | filecheck %s
// RUN: tilewright opt %s --mlir-print-op-generic | tilewright opt | filecheck %s
// The vector unit's operations, as Python programs build them.

// CHECK-LABEL: func.func @multiply
func.func @multiply(%A: memref<64xi16>, %B: memref<64xi16>, %i: index, %shift: i32) -> vector<32xi16> {
  // CHECK-NEXT: %[[A:.*]] = aievec.upd %arg0[%arg2] {index = 0 : i8, offset = 0 : i32} : memref<64xi16>, vector<32xi16>
  %a = aievec.upd %A[%i] {index = 0 : i8, offset = 0 : i32} : memref<64xi16>, vector<32xi16>
  // CHECK-NEXT: %[[B:.*]] = aievec.upd %arg1[%arg2], %[[A]] {index = 1 : i8, offset = 256 : i32} : memref<64xi16>, vector<32xi16>
  %b = aievec.upd %B[%i], %a {index = 1 : i8, offset = 256 : i32} : memref<64xi16>, vector<32xi16>
  // CHECK-NEXT: aievec.add_elem %{{.*}}, %{{.*}} : vector<32xi16>
  %sum = aievec.add_elem %a, %b : vector<32xi16>
  // CHECK-NEXT: aievec.broadcast %{{.*}} {idx = 3 : i8} : vector<32xi16>, vector<32xi16>
  %lane = aievec.broadcast %sum {idx = 3 : i8} : vector<32xi16>, vector<32xi16>
  // CHECK-NEXT: %[[PRODUCT:.*]] = aievec.mul_elem %{{.*}}, %{{.*}} : vector<32xi16>, vector<32xi16>, vector<32xi32>
  %product = aievec.mul_elem %a, %lane : vector<32xi16>, vector<32xi16>, vector<32xi32>
  // CHECK-NEXT: aievec.mac_elem %{{.*}}, %{{.*}}, %[[PRODUCT]] {fmsub = true} : vector<32xi16>, vector<32xi16>, vector<32xi32>
  %minus = aievec.mac_elem %a, %b, %product {fmsub = true} : vector<32xi16>, vector<32xi16>, vector<32xi32>
  // CHECK-NEXT: aievec.ups %{{.*}} {shift = 2 : i8} : vector<32xi16>, vector<32xi32>
  %up = aievec.ups %b {shift = 2 : i8} : vector<32xi16>, vector<32xi32>
  // CHECK-NEXT: aievec.max %{{.*}}, %{{.*}} : vector<32xi32>
  %max = aievec.max %minus, %up : vector<32xi32>
  // CHECK-NEXT: aievec.srs %{{.*}}, %arg3 : vector<32xi32>, i32, vector<32xi16>
  %down = aievec.srs %max, %shift : vector<32xi32>, i32, vector<32xi16>
  // CHECK-NEXT: aievec.srs %{{.*}}, %arg3 {sign = 0 : i32} : vector<32xi32>, i32, vector<32xi16>
  %unsigned = aievec.srs %max, %shift {sign = 0 : i32} : vector<32xi32>, i32, vector<32xi16>
  return %unsigned : vector<32xi16>
}
