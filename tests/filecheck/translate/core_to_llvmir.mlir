// RUN: tilewright translate --aie-core-to-llvmir --tilecol=0 --tilerow=2 %s | filecheck %s
// A core as LLVM IR for Peano: buffers lie outside, where the linker script puts them; locks have the numbers by which
// this core knows them; a kernel gets a bare pointer; a vector that is aligned is loaded whole.
aie.device(npu1_1col) {
  %tile = aie.tile(0, 2)
  %north = aie.tile(0, 3)
  %lock = aie.lock(%tile, 4)
  %theirs = aie.lock(%north, 1)
  %data = aie.buffer(%tile) {address = 1024 : i32, sym_name = "data"} : memref<64xi32>
  %odd = aie.buffer(%north) {address = 1028 : i32, sym_name = "odd"} : memref<16xi32>
  func.func private @scale(memref<64xi32>, i32)
  %core = aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %three = arith.constant 3 : i32
    aie.use_lock(%lock, AcquireGreaterEqual, 1)
    aie.use_lock(%theirs, Acquire, 0)
    scf.for %i = %c0 to %c64 step %c16 {
      %x = vector.load %data[%i] : memref<64xi32>, vector<16xi32>
      %y = arith.addi %x, %x : vector<16xi32>
      vector.store %y, %odd[%c0] : memref<16xi32>, vector<16xi32>
    }
    func.call @scale(%data, %three) : (memref<64xi32>, i32) -> ()
    aie.event(0)
    aie.use_lock(%lock, Release, 1)
    aie.end
  }
}
// CHECK:      target triple = "aie2"
// CHECK:      @"data" = external global [64 x i32], align 32
// CHECK-NEXT: @"odd" = external global [16 x i32], align 4
// CHECK:      declare void @"scale"(ptr %".1", i32 %".2")
// CHECK:      define void @"core_0_2"() nounwind
// CHECK:      call void @"llvm.aie2.acquire"(i32 52, i32 -1)
// CHECK-NEXT: call void @"llvm.aie2.acquire"(i32 33, i32 0)
// CHECK:      [[X:%.+]] = load <16 x i32>, ptr {{.*}}, align 32
// CHECK:      [[Y:%.+]] = add <16 x i32> [[X]], [[X]]
// CHECK:      store i32 {{.*}}, align 4
// CHECK:      call void @"scale"(ptr {{.*}}, i32 3)
// CHECK-NEXT: call void @"llvm.aie2.event"(i32 0)
// CHECK-NEXT: call void @"llvm.aie2.release"(i32 52, i32 1)
// CHECK-NEXT: ret void
