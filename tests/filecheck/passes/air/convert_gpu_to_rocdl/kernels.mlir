// RUN: tilewright opt --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(convert-gpu-to-rocdl{chipset=gfx942 runtime=HIP}))' %s | filecheck %s

gpu.module @m {
  // Memory of a block is a global, memory of a thread is on its stack; a buffer is passed in the parts of its descriptor.
  // CHECK:      llvm.mlir.global internal @__wg_buffers_0() {addr_space = 3 : i32} : !llvm.array<8 x f32>
  // CHECK-NEXT: llvm.func @buffers(%arg0: !llvm.ptr<1>, %arg1: !llvm.ptr<1>, %arg2: i64, %arg3: i64, %arg4: i64, %arg5: i64)
  // CHECK-SAME: attributes {gpu.kernel, gpu.known_block_size = array<i32: 64, 2, 1>, rocdl.flat_work_group_size = "128,128", rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 64, 2, 1>} {
  // CHECK-NEXT: %[[D0:.+]] = llvm.mlir.poison : !llvm.struct<(ptr<1>, ptr<1>, i64, array<1 x i64>, array<1 x i64>)>
  // CHECK-NEXT: %[[D1:.+]] = llvm.insertvalue %arg0, %[[D0]][0]
  // CHECK:      %[[D5:.+]] = llvm.insertvalue %arg4, %{{.+}}[4, 0]
  // CHECK-NEXT: %[[BUFFER:.+]] = builtin.unrealized_conversion_cast %[[D5]] : !llvm.struct<(ptr<1>, ptr<1>, i64, array<1 x i64>, array<1 x i64>)> to memref<?xf32, 1>
  // CHECK-NEXT: %[[N:.+]] = builtin.unrealized_conversion_cast %arg5 : i64 to index
  // CHECK-NEXT: llvm.mlir.addressof @__wg_buffers_0 : !llvm.ptr<3>
  // CHECK:      %[[SHARED:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<2x4xf32, 3>
  // CHECK:      llvm.alloca %{{.+}} x f32 : (i64) -> !llvm.ptr<5>
  // CHECK:      %[[OWN:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<2xf32, 5>
  // CHECK-NEXT: "test.use"(%[[BUFFER]], %[[N]], %[[SHARED]], %[[OWN]])
  // CHECK-NEXT: llvm.return
  gpu.func @buffers(%m: memref<?xf32, 1>, %n: index) workgroup(%w : memref<2x4xf32, 3>) private(%p : memref<2xf32, 5>) kernel
      attributes {known_block_size = array<i32: 64, 2, 1>} {
    "test.use"(%m, %n, %w, %p) : (memref<?xf32, 1>, index, memref<2x4xf32, 3>, memref<2xf32, 5>) -> ()
    gpu.return
  }

  // CHECK-LABEL: llvm.func @ids() attributes {gpu.kernel, rocdl.kernel} {
  // CHECK-NEXT: %[[X:.+]] = rocdl.workitem.id.x : i32
  // CHECK-NEXT: %[[WIDE:.+]] = llvm.sext %[[X]] : i32 to i64
  // CHECK-NEXT: %[[ID:.+]] = builtin.unrealized_conversion_cast %[[WIDE]] : i64 to index
  // CHECK:      rocdl.workgroup.id.y
  // CHECK:      rocdl.grid.dim.z
  // The place of a lane is how many lanes are below it.
  // CHECK:      %[[LOW:.+]] = rocdl.mbcnt.lo %{{.+}}, %{{.+}} : (i32, i32) -> i32
  // CHECK-NEXT: rocdl.mbcnt.hi %{{.+}}, %[[LOW]] : (i32, i32) -> i32
  // CHECK:      rocdl.barrier
  gpu.func @ids() kernel {
    %0 = gpu.thread_id x
    %1 = gpu.block_id y
    %2 = gpu.grid_dim z
    %3 = gpu.lane_id
    gpu.barrier
    "test.use"(%0, %1, %2, %3) : (index, index, index, index) -> ()
    gpu.return
  }

  // A lane reads from another of its group of lanes, by four times its number; where there is none, from itself.
  // CHECK-LABEL: llvm.func @lanes(%arg0: f32, %arg1: i32, %arg2: i32) -> f32 {
  // CHECK:      %[[LANE:.+]] = rocdl.mbcnt.hi
  // CHECK:      %[[END:.+]] = arith.andi
  // CHECK-NEXT: %[[SOURCE:.+]] = arith.xori %[[LANE]], %arg1 : i32
  // CHECK-NEXT: %[[VALID:.+]] = arith.cmpi slt, %[[SOURCE]], %[[END]] : i32
  // CHECK-NEXT: %[[CHOSEN:.+]] = arith.select %[[VALID]], %[[SOURCE]], %[[LANE]] : i32
  // CHECK:      %[[ADDRESS:.+]] = arith.shli %[[CHOSEN]], %c2_i32 : i32
  // CHECK-NEXT: %[[BITS:.+]] = arith.bitcast %arg0 : f32 to i32
  // CHECK-NEXT: %[[GOT:.+]] = rocdl.ds_bpermute %[[ADDRESS]], %[[BITS]]
  // CHECK-NEXT: %[[VALUE:.+]] = arith.bitcast %[[GOT]] : i32 to f32
  // CHECK-NEXT: llvm.return %[[VALUE]] : f32
  gpu.func @lanes(%v: f32, %o: i32, %w: i32) -> f32 {
    %0, %1 = gpu.shuffle xor %v, %o, %w : f32
    gpu.return %0 : f32
  }
}
