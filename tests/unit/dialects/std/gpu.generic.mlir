"builtin.module"() ({
  "gpu.module"() <{sym_name = "kernels", targets = [#rocdl.target<O = 3, chip = "gfx942">]}> ({
    "gpu.func"() <{function_type = (memref<4xf32>, i32) -> ()}> ({
    ^bb0(%arg83: memref<4xf32>, %arg84: i32):
      "gpu.return"() : () -> ()
    }) {gpu.kernel, sym_name = "plain", workgroup_attributions = 0 : i64} : () -> ()
    "gpu.func"() <{arg_attrs = [{llvm.noalias}], function_type = (memref<4xf32>) -> (), known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>}> ({
    ^bb0(%arg79: memref<4xf32>, %arg80: memref<32xf32, 3>, %arg81: memref<1xf32, 5>, %arg82: memref<2xf32, 5>):
      "gpu.return"() : () -> ()
    }) {gpu.kernel, sym_name = "attributed", workgroup_attributions = 1 : i64} : () -> ()
    "gpu.func"() <{function_type = () -> (), workgroup_attrib_attrs = [{llvm.align = 16 : i64}]}> ({
    ^bb0(%arg78: memref<32xf32, #gpu.address_space<workgroup>>):
      "gpu.return"() : () -> ()
    }) {sym_name = "wg_attr", workgroup_attributions = 1 : i64} : () -> ()
    "gpu.func"() <{function_type = (i32, i32) -> (i32, i32)}> ({
    ^bb0(%arg76: i32, %arg77: i32):
      "gpu.return"(%arg76, %arg77) : (i32, i32) -> ()
    }) {sym_name = "device", workgroup_attributions = 0 : i64} : () -> ()
    "func.func"() <{function_type = (i32) -> i32, sym_name = "helper", sym_visibility = "private"}> ({
    }) : () -> ()
    "gpu.func"() <{function_type = () -> ()}> ({
      %13 = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %14 = "gpu.thread_id"() <{dimension = #gpu<dim y>, upper_bound = 64 : index}> : () -> index
      %15 = "gpu.block_id"() <{dimension = #gpu<dim z>}> : () -> index
      %16 = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
      %17 = "gpu.grid_dim"() <{dimension = #gpu<dim y>}> : () -> index
      %18 = "gpu.global_id"() <{dimension = #gpu<dim x>}> : () -> index
      %19 = "gpu.lane_id"() : () -> index
      %20 = "gpu.lane_id"() <{upper_bound = 64 : index}> : () -> index
      %21 = "gpu.subgroup_id"() : () -> index
      %22 = "gpu.num_subgroups"() : () -> index
      %23 = "gpu.subgroup_size"() : () -> index
      %24 = "gpu.cluster_id"() <{dimension = #gpu<dim x>}> : () -> index
      %25 = "gpu.cluster_dim"() <{dimension = #gpu<dim x>}> : () -> index
      %26 = "gpu.cluster_block_id"() <{dimension = #gpu<dim x>}> : () -> index
      %27 = "gpu.cluster_dim_blocks"() <{dimension = #gpu<dim x>}> : () -> index
      "gpu.barrier"() : () -> ()
      %28 = "arith.constant"() <{value = 7 : i32}> : () -> i32
      %29 = "arith.constant"() <{value = 64 : i32}> : () -> i32
      %30:2 = "gpu.shuffle"(%28, %28, %29) <{mode = #gpu<shuffle_mode idx>}> : (i32, i32, i32) -> (i32, i1)
      %31:2 = "gpu.shuffle"(%28, %28, %29) <{mode = #gpu<shuffle_mode xor>}> : (i32, i32, i32) -> (i32, i1)
      %32 = "gpu.all_reduce"(%28) <{op = #gpu<all_reduce_op add>, uniform}> ({
      }) : (i32) -> i32
      %33 = "gpu.all_reduce"(%28) ({
      ^bb0(%arg74: i32, %arg75: i32):
        %37 = "arith.addi"(%arg74, %arg75) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
        "gpu.yield"(%37) : (i32) -> ()
      }) : (i32) -> i32
      %34 = "gpu.subgroup_reduce"(%28) <{cluster_stride = 1 : i32, op = #gpu<all_reduce_op add>}> : (i32) -> i32
      %35 = "gpu.subgroup_reduce"(%28) <{cluster_size = 8 : i32, cluster_stride = 2 : i32, op = #gpu<all_reduce_op add>, uniform}> : (i32) -> i32
      "gpu.printf"(%28) <{format = "v %d\0A"}> : (i32) -> ()
      "gpu.printf"() <{format = "none"}> : () -> ()
      %36 = "gpu.dynamic_shared_memory"() : () -> memref<?xi8, #gpu.address_space<workgroup>>
      "gpu.return"() : () -> ()
    }) {gpu.kernel, sym_name = "ids", workgroup_attributions = 0 : i64} : () -> ()
  }) : () -> ()
  "gpu.module"() <{offloadingHandler = #gpu.select_object<0 : i64>, sym_name = "offload", targets = [#nvvm.target<chip = "sm_90">, #rocdl.target]}> ({
  ^bb0:
  }) {x.y = 1 : i32} : () -> ()
  "gpu.module"() <{sym_name = "bare"}> ({
  ^bb0:
  }) : () -> ()
  "gpu.binary"() <{objects = [#gpu.object<#rocdl.target<chip = "gfx942">, bin = "BLOB">], offloadingHandler = #gpu.select_object, sym_name = "bin"}> : () -> ()
  "gpu.binary"() <{objects = [#gpu.object<#nvvm.target, offload = "A">, #gpu.object<#nvvm.target, properties = {O = 3 : i32}, assembly = "B">], offloadingHandler = #gpu.select_object<1 : i64>, sym_name = "bin2"}> : () -> ()
  "gpu.binary"() <{objects = [#gpu.object<#nvvm.target, properties = {O = 2 : i32}, kernels = <[#gpu.kernel_metadata<"k", (i32) -> (), arg_attrs = [{llvm.noalias}], metadata = {x = 1 : i64}>, #gpu.kernel_metadata<"l", !llvm.func<void (ptr)>>]>, bin = "x\00\FFyz">], offloadingHandler = #gpu.select_object, sym_name = "with_kernels"}> : () -> ()
  "func.func"() <{function_type = (index, memref<4xf32>, i32, f32, i64, memref<?xf32>) -> (), sym_name = "host"}> ({
  ^bb0(%arg0: index, %arg1: memref<4xf32>, %arg2: i32, %arg3: f32, %arg4: i64, %arg5: memref<?xf32>):
    %0 = "arith.constant"() <{value = 1 : index}> : () -> index
    %1 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    "gpu.launch_func"(%0, %0, %0, %arg0, %0, %0, %arg1, %arg2) <{kernel = @kernels::@plain, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0>}> : (index, index, index, index, index, index, memref<4xf32>, i32) -> ()
    "gpu.launch_func"(%0, %0, %0, %arg0, %0, %0) <{kernel = @kernels::@ids, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>}> : (index, index, index, index, index, index) -> ()
    "gpu.launch_func"(%0, %0, %0, %arg0, %0, %0, %1) <{kernel = @kernels::@ids, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0>}> : (index, index, index, index, index, index, i32) -> ()
    "gpu.launch_func"(%0, %0, %0, %arg0, %0, %0, %0, %0, %0) <{kernel = @kernels::@ids, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> : (index, index, index, index, index, index, index, index, index) -> ()
    "gpu.launch_func"(%arg4, %arg4, %arg4, %arg4, %arg4, %arg4) <{kernel = @kernels::@ids, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>}> : (i64, i64, i64, i64, i64, i64) -> ()
    "gpu.launch_func"(%arg4, %arg4, %arg4, %arg4, %arg4, %arg4, %arg4) <{kernel = @kernels::@ids, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1>}> : (i64, i64, i64, i64, i64, i64, i64) -> ()
    %2 = "gpu.wait"() : () -> !gpu.async.token
    %3 = "gpu.launch_func"(%2, %0, %0, %0, %arg0, %0, %0) <{kernel = @kernels::@ids, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0>}> : (!gpu.async.token, index, index, index, index, index, index) -> !gpu.async.token
    "gpu.wait"(%3) : (!gpu.async.token) -> ()
    "gpu.wait"() : () -> ()
    "gpu.launch"(%0, %0, %0, %arg0, %0, %0) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
    ^bb0(%arg62: index, %arg63: index, %arg64: index, %arg65: index, %arg66: index, %arg67: index, %arg68: index, %arg69: index, %arg70: index, %arg71: index, %arg72: index, %arg73: index):
      "gpu.terminator"() : () -> ()
    }) {workgroup_attributions = 0 : i64} : (index, index, index, index, index, index) -> ()
    "gpu.launch"(%0, %0, %0, %arg0, %0, %0) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
    ^bb0(%arg48: index, %arg49: index, %arg50: index, %arg51: index, %arg52: index, %arg53: index, %arg54: index, %arg55: index, %arg56: index, %arg57: index, %arg58: index, %arg59: index, %arg60: memref<32xf32, 3>, %arg61: memref<1xf32, 5>):
      %12 = "arith.constant"() <{value = 0 : index}> : () -> index
      "gpu.terminator"() : () -> ()
    }) {foo = 1 : i32, workgroup_attributions = 1 : i64} : (index, index, index, index, index, index) -> ()
    "gpu.launch"(%0, %0, %0, %arg0, %0, %0, %1) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1>}> ({
    ^bb0(%arg36: index, %arg37: index, %arg38: index, %arg39: index, %arg40: index, %arg41: index, %arg42: index, %arg43: index, %arg44: index, %arg45: index, %arg46: index, %arg47: index):
      "gpu.terminator"() : () -> ()
    }) {workgroup_attributions = 0 : i64} : (index, index, index, index, index, index, i32) -> ()
    %4 = "gpu.launch"(%2, %0, %0, %0, %arg0, %0, %0) <{function = @k, module = @m, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
    ^bb0(%arg24: index, %arg25: index, %arg26: index, %arg27: index, %arg28: index, %arg29: index, %arg30: index, %arg31: index, %arg32: index, %arg33: index, %arg34: index, %arg35: index):
      "gpu.terminator"() : () -> ()
    }) {workgroup_attributions = 0 : i64} : (!gpu.async.token, index, index, index, index, index, index) -> !gpu.async.token
    "gpu.launch"(%0, %0, %0, %arg0, %0, %0, %0, %0, %0) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0>}> ({
    ^bb0(%arg6: index, %arg7: index, %arg8: index, %arg9: index, %arg10: index, %arg11: index, %arg12: index, %arg13: index, %arg14: index, %arg15: index, %arg16: index, %arg17: index, %arg18: index, %arg19: index, %arg20: index, %arg21: index, %arg22: index, %arg23: index):
      "gpu.terminator"() : () -> ()
    }) {workgroup_attributions = 0 : i64} : (index, index, index, index, index, index, index, index, index) -> ()
    %5 = "gpu.alloc"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> memref<4xf32>
    %6 = "gpu.alloc"(%arg0) <{operandSegmentSizes = array<i32: 0, 1, 0>}> : (index) -> memref<?xf32>
    %7:2 = "gpu.alloc"(%2, %arg0) <{hostShared, operandSegmentSizes = array<i32: 1, 1, 0>}> : (!gpu.async.token, index) -> (memref<?xf32>, !gpu.async.token)
    "gpu.memcpy"(%5, %arg1) : (memref<4xf32>, memref<4xf32>) -> ()
    %8 = "gpu.memcpy"(%2, %5, %arg1) : (!gpu.async.token, memref<4xf32>, memref<4xf32>) -> !gpu.async.token
    "gpu.memset"(%5, %arg3) : (memref<4xf32>, f32) -> ()
    %9 = "gpu.memset"(%5, %arg3) : (memref<4xf32>, f32) -> !gpu.async.token
    "gpu.dealloc"(%5) : (memref<4xf32>) -> ()
    %10 = "gpu.dealloc"(%9, %8, %6) : (!gpu.async.token, !gpu.async.token, memref<?xf32>) -> !gpu.async.token
    %11 = "memref.cast"(%arg1) : (memref<4xf32>) -> memref<*xf32>
    "gpu.host_register"(%11) : (memref<*xf32>) -> ()
    "gpu.host_unregister"(%11) : (memref<*xf32>) -> ()
    "gpu.set_default_device"(%arg2) : (i32) -> ()
    "func.return"() : () -> ()
  }) : () -> ()
}) {gpu.container_module} : () -> ()

