module attributes {x.a = #nvvm.target, x.b = #nvvm.target<chip = "sm_75">, x.c = #nvvm.target<O = 3, features = "+ptx80", flags = {fast, ftz}, link = ["a.bc"]>, x.d = #rocdl.target, x.e = #rocdl.target<features = "+x", abi = "500", flags = {wave64}>, x.f = #nvvm.target<verifyTarget = false>, x.g = #gpu.select_object<#nvvm.target>, x.h = #gpu.object<#rocdl.target, "x">, x.i = #gpu.address_space<global>, x.j = #gpu<dim x>, x.k = !gpu.async.token} {
  func.func @k(%arg0: i32, %arg1: f32, %arg2: i1, %arg3: !llvm.ptr<3>) {
    %0 = rocdl.workitem.id.x : i32
    %1 = rocdl.workitem.id.y : i32
    %2 = rocdl.workgroup.id.z : i32
    %3 = rocdl.workgroup.dim.x : i32
    %4 = rocdl.grid.dim.y : i32
    %5 = rocdl.wavefrontsize : i32
    rocdl.barrier
    rocdl.s.barrier
    %6 = rocdl.mbcnt.lo %arg0, %arg0 : (i32, i32) -> i32
    %7 = rocdl.mbcnt.hi %arg0, %6 : (i32, i32) -> i32
    %8 = rocdl.ds_bpermute %arg0, %arg0 : (i32, i32) -> i32
    %9 = rocdl.readfirstlane %arg0 : i32
    %10 = rocdl.readlane %arg0, %arg0 : (i32, i32) -> i32
    %11 = rocdl.ballot %arg2 : i64
    %12 = nvvm.read.ptx.sreg.tid.x : i32
    %13 = nvvm.read.ptx.sreg.ctaid.y : i32
    %14 = nvvm.read.ptx.sreg.ntid.z : i32
    %15 = nvvm.read.ptx.sreg.nctaid.z : i32
    %16 = nvvm.read.ptx.sreg.warpsize : i32
    %17 = nvvm.read.ptx.sreg.laneid : i32
    nvvm.barrier0
    nvvm.barrier
    nvvm.barrier id = %arg0 number_of_threads = %arg0
    %18 = nvvm.shfl.sync  idx %arg0, %arg0, %arg0, %arg0 : i32 -> i32
    %19 = nvvm.shfl.sync  bfly %arg0, %arg1, %arg0, %arg0 {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
    %20 = nvvm.vote.sync  ballot %arg0, %arg2 -> i32
    nvvm.memory.barrier <sys>
    nvvm.cluster.arrive
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait
    nvvm.cluster.wait {aligned}
    %21 = nvvm.mapa %arg3, %arg0 : !llvm.ptr<3> -> !llvm.ptr<7>
    %22 = nvvm.read.ptx.sreg.cluster.ctarank : i32
    return
  }
}

