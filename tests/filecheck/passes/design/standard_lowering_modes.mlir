// RUN: tilewright opt --aie-standard-lowering %s | filecheck %s

// What moves accumulators into vectors begins by saturating, and by rounding as kernels in C++ do: to the even number
// for products of bf16, up for integers, down else. Other cores leave the modes alone.
// CHECK-DAG: func.func @core_0_2
// CHECK-DAG: func.func @core_0_3
// CHECK-DAG: func.func @core_0_4
// CHECK-DAG: func.func @core_0_5
// RUN: tilewright opt --aie-standard-lowering="tilecol=0 tilerow=2" %s | filecheck %s --check-prefix=EVEN
// EVEN-LABEL: func.func @core_0_2
// EVEN-NEXT:  %[[SATURATION:.+]] = arith.constant 9 : i32
// EVEN-NEXT:  %[[SATURATE:.+]] = arith.constant 1 : i32
// EVEN-NEXT:  call @llvm.aie2p.set.ctrl.reg(%[[SATURATION]], %[[SATURATE]])
// EVEN-NEXT:  %[[ROUNDING:.+]] = arith.constant 1 : i32
// EVEN-NEXT:  %[[EVEN:.+]] = arith.constant 12 : i32
// EVEN-NEXT:  call @llvm.aie2p.set.ctrl.reg(%[[ROUNDING]], %[[EVEN]])
// RUN: tilewright opt --aie-standard-lowering="tilecol=0 tilerow=3" %s | filecheck %s --check-prefix=UP
// UP-LABEL: func.func @core_0_3
// UP:       %[[UP:.+]] = arith.constant 9 : i32
// UP:       %[[UP2:.+]] = arith.constant 9 : i32
// UP-NEXT:  call @llvm.aie2p.set.ctrl.reg(%{{.+}}, %[[UP2]])
// RUN: tilewright opt --aie-standard-lowering="tilecol=0 tilerow=4" %s | filecheck %s --check-prefix=DOWN
// DOWN-LABEL: func.func @core_0_4
// DOWN:       %[[DOWN:.+]] = arith.constant 0 : i32
// DOWN-NEXT:  call @llvm.aie2p.set.ctrl.reg(%{{.+}}, %[[DOWN]])
// RUN: tilewright opt --aie-standard-lowering="tilecol=0 tilerow=5" %s | filecheck %s --check-prefix=NONE
// NONE-LABEL: func.func @core_0_5
// NONE-NOT:   call @llvm.aie2p.set.ctrl.reg
aie.device(npu2) {
  %t2 = aie.tile(0, 2)
  %t3 = aie.tile(0, 3)
  %t4 = aie.tile(0, 4)
  %t5 = aie.tile(0, 5)
  %even = aie.core(%t2) {
    %shift = arith.constant 0 : i32
    %a = arith.constant dense<1.0> : vector<8x8xbf16>
    %acc = arith.constant dense<0.0> : vector<8x8xf32>
    %product = aievec.matmul_aie2p %a, %a, %acc : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
    %wide = arith.constant dense<3> : vector<16xi32>
    %narrow = aievec.srs %wide, %shift : vector<16xi32>, i32, vector<16xi8>
    aie.end
  }
  %up = aie.core(%t3) {
    %shift = arith.constant 0 : i32
    %wide = arith.constant dense<3> : vector<16xi32>
    %narrow = aievec.srs %wide, %shift : vector<16xi32>, i32, vector<16xi8>
    aie.end
  }
  %down = aie.core(%t4) {
    %shift = arith.constant 0 : i32
    %wide = arith.constant dense<3.0> : vector<16xf32>
    %narrow = aievec.srs %wide, %shift : vector<16xf32>, i32, vector<16xbf16>
    aie.end
  }
  %integers = aie.core(%t5) {
    %a = arith.constant dense<1> : vector<4x8xi8>
    %b = arith.constant dense<1> : vector<8x4xi8>
    %acc = arith.constant dense<0> : vector<4x4xi32>
    %product = aievec.matmul %a, %b, %acc : vector<4x8xi8>, vector<8x4xi8> into vector<4x4xi32>
    aie.end
  }
}
