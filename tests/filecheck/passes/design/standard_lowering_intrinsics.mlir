// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-localize-locks --aie-standard-lowering %s | filecheck %s

// A core of the second generation waits for at least some value by asking for its negative.
// CHECK-LABEL: func.func @core_1_3
aie.device(npu2) {
  %tile = aie.tile(1, 3)
  %lock = aie.lock(%tile, 2)
  %core = aie.core(%tile) {
    // CHECK:      %[[LOCK:.+]] = arith.constant 50 : index
    // CHECK:      %[[ONE:.+]] = arith.constant 1 : i32
    %one = arith.constant 1 : i32
    // CHECK:      %[[NUMBER:.+]] = arith.index_cast %[[LOCK]] : index to i32
    // CHECK:      %[[LESS:.+]] = arith.subi %{{.*}}, %[[ONE]] : i32
    // CHECK-NEXT: call @llvm.aie2p.acquire(%[[NUMBER]], %[[LESS]]) : (i32, i32) -> ()
    aie.use_lock(%lock, AcquireGreaterEqual, %one)
    // CHECK:      call @llvm.aie2p.put.ms(%[[ONE]], %c0_i32{{.*}}) : (i32, i32) -> ()
    aie.put_stream(%one : i32, %one : i32)
    // CHECK:      %[[WORD:.+]]:2 = call @llvm.aie2p.get.ss() : () -> (i32, i32)
    // CHECK-NEXT: call @debug_i32(%[[WORD]]#0) : (i32) -> ()
    %word = aie.get_stream(%one : i32) : i32
    aie.debug(%word : i32)
    // CHECK:      %[[READ:.+]] = call @llvm.aie2p.scd.read.vec(%{{.*}}) : (i32) -> vector<16xi32>
    // CHECK-NEXT: %[[VALUE:.+]] = vector.bitcast %[[READ]] : vector<16xi32> to vector<16xf32>
    // CHECK-NEXT: %[[BITS:.+]] = vector.bitcast %[[VALUE]] : vector<16xf32> to vector<16xi32>
    // CHECK:      call @llvm.aie2p.mcd.write.vec(%[[BITS]], %{{.*}}) : (vector<16xi32>, i32) -> ()
    %value = aie.get_cascade() : vector<16xf32>
    aie.put_cascade(%value : vector<16xf32>)
    // CHECK:      call @llvm.aie2p.event(%{{.*}}) : (i32) -> ()
    aie.event(1)
    // CHECK:      %[[BACK:.+]] = arith.index_cast %[[LOCK]] : index to i32
    // CHECK-NEXT: call @llvm.aie2p.release(%[[BACK]], %[[ONE]]) : (i32, i32) -> ()
    aie.use_lock(%lock, Release, %one)
    aie.end
  }
}

// -----

// Those of the first have other instructions for other types, and take a channel.
// CHECK-LABEL: func.func @core_1_1
aie.device(xcvc1902) {
  %tile = aie.tile(1, 1)
  %core = aie.core(%tile) {
    %one = arith.constant 1 : i32
    // CHECK:      %[[WIDE:.+]] = call @llvm.aie.get.wss(%[[ONE:.+]]) : (i32) -> i128
    // CHECK-NEXT: call @llvm.aie.put.wms(%[[ONE]], %[[WIDE]]) : (i32, i128) -> ()
    %wide = aie.get_stream(%one : i32) : i128
    aie.put_stream(%one : i32, %wide : i128)
    // CHECK-NEXT: call @llvm.aie.event1() : () -> ()
    aie.event(1)
    aie.end
  }
}

// -----

aie.device(npu1) {
  %tile = aie.tile(0, 2)
  %core = aie.core(%tile) {
    %one = arith.constant 1 : i32
    // expected-error@+1 {{Could not find the intrinsic function llvm.aie2.get.wss}}
    %wide = aie.get_stream(%one : i32) : i128
    aie.end
  }
}
