// RUN: tilewright opt --air-gpu-pipeline-copies="explain=true buffers=2 chip=gfx942" --verify-diagnostics %s
// What stands in the way of copies that are done earlier, and of a second place for them.
func.func @explained(%a: memref<64xf32>, %b: memref<64xf32>, %large: memref<8200xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) workgroup(%tile : memref<1xf32, 3>, %other : memref<3xf32, 3>, %room : memref<8200xf32, 3>, %seen : memref<1xf32, 3>, %apart : memref<1xf32, 3>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %below = arith.constant -8 : index
    // expected-remark @+1 {{loop copies tiles when it needs them}}
    scf.for %k = %c0 to %c64 step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      // expected-note @+1 {{may write memory of the device, or order accesses to it: loads stay behind that}}
      memref.store %mine, %b[%k] : memref<64xf32>
      gpu.barrier
    }
    // expected-remark @+1 {{loop copies tiles when it needs them}}
    scf.for %k = %c0 to %c64 step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      // expected-note @+1 {{may write memory of the device, or order accesses to it: loads stay behind that}}
      %old = memref.generic_atomic_rmw %a[%k] : memref<64xf32> {
      ^bb0(%before: f32):
        memref.atomic_yield %before : f32
      }
      gpu.barrier
    }
    // expected-remark @+2 {{loop copies tiles when it needs them}}
    // expected-note @+1 {{has less than two rounds}}
    scf.for %k = %c0 to %c8 step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    // expected-remark @+2 {{loop copies tiles when it needs them}}
    // expected-note @+1 {{has rounds below 0}}
    scf.for %k = %below to %c8 step %c8 {
      %value = memref.load %a[%c0] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    // expected-remark @+1 {{loop copies tiles when it needs them}}
    %last = scf.for %k = %c0 to %n step %c8 iter_args(%place = %c0) -> index {
      // expected-note @+1 {{depends on what the loop carries, which the round before has yet to compute}}
      %value = memref.load %a[%place] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      %next = arith.addi %place, %c1 : index
      gpu.barrier
      scf.yield %next : index
    }
    // expected-remark @+1 {{loop copies tiles when it needs them}}
    scf.for %k = %c0 to %n step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      // expected-note @+1 {{stores while lanes may still read what was there: no barrier is before that}}
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
    }
    // expected-remark @+1 {{loop copies tiles when it needs them}}
    scf.for %k = %c0 to %n step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
      // expected-note @+1 {{changes a tile, which stays so for what comes behind the loop}}
      memref.store %value, %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    // expected-remark @+1 {{loop copies tiles when it needs them}}
    scf.for %k = %c0 to %n step %c8 {
      // expected-note @+1 {{is no load or store of a copy, and comes before the barrier behind copies}}
      scf.for %i = %c0 to %c8 step %c1 {
        %value = memref.load %a[%i] : memref<64xf32>
        memref.store %value, %tile[%c0] : memref<1xf32, 3>
      }
      gpu.barrier
      %mine = memref.load %tile[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    // expected-remark @+1 {{loop copies tiles a round before it needs them, to one place}}
    scf.for %k = %c0 to %n step %c8 {
      %value = memref.load %large[%k] : memref<8200xf32>
      // expected-note @+1 {{two places would bring the memory of a block to 65624 bytes; gfx942 has 65536}}
      memref.store %value, %room[%tx] : memref<8200xf32, 3>
      gpu.barrier
      %mine = memref.load %room[%c0] : memref<8200xf32, 3>
      gpu.barrier
    }
    // expected-remark @+1 {{loop copies tiles a round before it needs them, to one place}}
    scf.for %k = %c0 to %n step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %seen[%c0] : memref<1xf32, 3>
      gpu.barrier
      %mine = memref.load %seen[%c0] : memref<1xf32, 3>
      gpu.barrier
    }
    // expected-note @+1 {{uses a tile outside of the loop, which knows the place}}
    %kept = memref.load %seen[%c0] : memref<1xf32, 3>
    // expected-remark @+1 {{loop copies tiles a round before it needs them, to one place}}
    scf.for %k = %c0 to %n step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      gpu.barrier
      memref.store %value, %apart[%c0] : memref<1xf32, 3>
      // expected-note @+1 {{would be all that is left between turns, and only lanes of a wave meet there}}
      llvm.fence syncscope("wavefront") acq_rel
      %mine = memref.load %apart[%c0] : memref<1xf32, 3>
    }
    // expected-remark @+1 {{loop copies tiles a round before it needs them, to two places in turn}}
    scf.for %k = %c0 to %n step %c8 {
      %value = memref.load %a[%k] : memref<64xf32>
      memref.store %value, %other[%c0] : memref<3xf32, 3>
      gpu.barrier
      %mine = memref.load %other[%c0] : memref<3xf32, 3>
      gpu.barrier
    }
    // A loop that copies nothing is not spoken of.
    scf.for %k = %c0 to %n step %c8 {
      %value = memref.load %tile[%c0] : memref<1xf32, 3>
      memref.store %value, %a[%k] : memref<64xf32>
      gpu.barrier
    }
    gpu.terminator
  }
  return
}
