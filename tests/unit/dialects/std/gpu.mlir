module attributes {gpu.container_module} {
  gpu.module @kernels [#rocdl.target<O = 3, chip = "gfx942">] {
    gpu.func @plain(%arg0: memref<4xf32>, %arg1: i32) kernel {
      gpu.return
    }
    gpu.func @attributed(%arg0: memref<4xf32> {llvm.noalias}) workgroup(%arg1 : memref<32xf32, 3>) private(%arg2 : memref<1xf32, 5>, %arg3 : memref<2xf32, 5>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
      gpu.return
    }
    gpu.func @wg_attr() workgroup(%arg0 : memref<32xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}) {
      gpu.return
    }
    gpu.func @device(%arg0: i32, %arg1: i32) -> (i32, i32) {
      gpu.return %arg0, %arg1 : i32, i32
    }
    func.func private @helper(i32) -> i32
    gpu.func @ids() kernel {
      %thread_id_x = gpu.thread_id  x
      %thread_id_y = gpu.thread_id  y upper_bound 64
      %block_id_z = gpu.block_id  z
      %block_dim_x = gpu.block_dim  x
      %grid_dim_y = gpu.grid_dim  y
      %global_id_x = gpu.global_id  x
      %0 = gpu.lane_id
      %1 = gpu.lane_id upper_bound 64
      %2 = gpu.subgroup_id : index
      %3 = gpu.num_subgroups : index
      %4 = gpu.subgroup_size : index
      %cluster_id_x = gpu.cluster_id  x
      %cluster_dim_x = gpu.cluster_dim  x
      %cluster_block_id_x = gpu.cluster_block_id  x
      %cluster_dim_blocks_x = gpu.cluster_dim_blocks  x
      gpu.barrier
      %c7_i32 = arith.constant 7 : i32
      %c64_i32 = arith.constant 64 : i32
      %shuffleResult, %valid = gpu.shuffle  idx %c7_i32, %c7_i32, %c64_i32 : i32
      %shuffleResult_0, %valid_1 = gpu.shuffle  xor %c7_i32, %c7_i32, %c64_i32 : i32
      %5 = gpu.all_reduce  add %c7_i32 uniform {
      } : (i32) -> i32
      %6 = gpu.all_reduce  %c7_i32 {
      ^bb0(%arg0: i32, %arg1: i32):
        %10 = arith.addi %arg0, %arg1 : i32
        gpu.yield %10 : i32
      } : (i32) -> i32
      %7 = gpu.subgroup_reduce  add %c7_i32 : (i32) -> i32
      %8 = gpu.subgroup_reduce  add %c7_i32 uniform cluster(size = 8, stride = 2) : (i32) -> i32
      gpu.printf "v %d\0A", %c7_i32 : i32
      gpu.printf "none"
      %9 = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      gpu.return
    }
  }
  gpu.module @offload<#gpu.select_object<0 : i64>> [#nvvm.target<chip = "sm_90">, #rocdl.target] attributes {x.y = 1 : i32} {
  }
  gpu.module @bare {
  }
  gpu.binary @bin  [#gpu.object<#rocdl.target<chip = "gfx942">, bin = "BLOB">]
  gpu.binary @bin2 <#gpu.select_object<1 : i64>> [#gpu.object<#nvvm.target, offload = "A">, #gpu.object<#nvvm.target, properties = {O = 3 : i32}, assembly = "B">]
  gpu.binary @with_kernels  [#gpu.object<#nvvm.target, properties = {O = 2 : i32}, kernels = <[#gpu.kernel_metadata<"k", (i32) -> (), arg_attrs = [{llvm.noalias}], metadata = {x = 1 : i64}>, #gpu.kernel_metadata<"l", !llvm.func<void (ptr)>>]>, bin = "x\00\FFyz">]
  func.func @host(%arg0: index, %arg1: memref<4xf32>, %arg2: i32, %arg3: f32, %arg4: i64, %arg5: memref<?xf32>) {
    %c1 = arith.constant 1 : index
    %c0_i32 = arith.constant 0 : i32
    gpu.launch_func  @kernels::@plain blocks in (%c1, %c1, %c1) threads in (%arg0, %c1, %c1)  args(%arg1 : memref<4xf32>, %arg2 : i32)
    gpu.launch_func  @kernels::@ids blocks in (%c1, %c1, %c1) threads in (%arg0, %c1, %c1)  
    gpu.launch_func  @kernels::@ids blocks in (%c1, %c1, %c1) threads in (%arg0, %c1, %c1)  dynamic_shared_memory_size %c0_i32 
    gpu.launch_func  @kernels::@ids clusters in (%c1, %c1, %c1) blocks in (%c1, %c1, %c1) threads in (%arg0, %c1, %c1)  
    gpu.launch_func  @kernels::@ids blocks in (%arg4, %arg4, %arg4) threads in (%arg4, %arg4, %arg4) : i64 
    gpu.launch_func <%arg4 : i64> @kernels::@ids blocks in (%arg4, %arg4, %arg4) threads in (%arg4, %arg4, %arg4) : i64 
    %0 = gpu.wait async
    %1 = gpu.launch_func async [%0] @kernels::@ids blocks in (%c1, %c1, %c1) threads in (%arg0, %c1, %c1)  
    gpu.wait [%1]
    gpu.wait 
    gpu.launch blocks(%arg6, %arg7, %arg8) in (%arg12 = %c1, %arg13 = %c1, %arg14 = %c1) threads(%arg9, %arg10, %arg11) in (%arg15 = %arg0, %arg16 = %c1, %arg17 = %c1) {
      gpu.terminator
    }
    gpu.launch blocks(%arg6, %arg7, %arg8) in (%arg12 = %c1, %arg13 = %c1, %arg14 = %c1) threads(%arg9, %arg10, %arg11) in (%arg15 = %arg0, %arg16 = %c1, %arg17 = %c1) workgroup(%arg18 : memref<32xf32, 3>) private(%arg19 : memref<1xf32, 5>) {
      %c0 = arith.constant 0 : index
      gpu.terminator
    } {foo = 1 : i32}
    gpu.launch blocks(%arg6, %arg7, %arg8) in (%arg12 = %c1, %arg13 = %c1, %arg14 = %c1) threads(%arg9, %arg10, %arg11) in (%arg15 = %arg0, %arg16 = %c1, %arg17 = %c1) dynamic_shared_memory_size %c0_i32 {
      gpu.terminator
    }
    %2 = gpu.launch async [%0] blocks(%arg6, %arg7, %arg8) in (%arg12 = %c1, %arg13 = %c1, %arg14 = %c1) threads(%arg9, %arg10, %arg11) in (%arg15 = %arg0, %arg16 = %c1, %arg17 = %c1) module(@m) function(@k) {
      gpu.terminator
    }
    gpu.launch clusters(%arg18, %arg19, %arg20) in (%arg21 = %c1, %arg22 = %c1, %arg23 = %c1) blocks(%arg6, %arg7, %arg8) in (%arg12 = %c1, %arg13 = %c1, %arg14 = %c1) threads(%arg9, %arg10, %arg11) in (%arg15 = %arg0, %arg16 = %c1, %arg17 = %c1) {
      gpu.terminator
    }
    %memref = gpu.alloc  () : memref<4xf32>
    %memref_0 = gpu.alloc  (%arg0) : memref<?xf32>
    %memref_1, %asyncToken = gpu.alloc async [%0] host_shared (%arg0) : memref<?xf32>
    gpu.memcpy  %memref, %arg1 : memref<4xf32>, memref<4xf32>
    %3 = gpu.memcpy async [%0] %memref, %arg1 : memref<4xf32>, memref<4xf32>
    gpu.memset  %memref, %arg3 : memref<4xf32>, f32
    %4 = gpu.memset async %memref, %arg3 : memref<4xf32>, f32
    gpu.dealloc  %memref : memref<4xf32>
    %5 = gpu.dealloc async [%4, %3] %memref_0 : memref<?xf32>
    %cast = memref.cast %arg1 : memref<4xf32> to memref<*xf32>
    gpu.host_register %cast : memref<*xf32>
    gpu.host_unregister %cast : memref<*xf32>
    gpu.set_default_device %arg2
    return
  }
}

