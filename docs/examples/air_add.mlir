// The sum of two vectors of 1024 numbers: four blocks of four waves, and each lane takes one element.
module attributes {gpu.container_module} {
  func.func @add(%a: memref<1024xf32>, %b: memref<1024xf32>, %sum: memref<1024xf32>) {
    %blocks = arith.constant 4 : index
    air.launch (%block) in (%n=%blocks) args(%la=%a, %lb=%b, %ls=%sum) : memref<1024xf32>, memref<1024xf32>, memref<1024xf32> {
      %waves = arith.constant 4 : index
      air.herd tile (%wave) in (%m=%waves) args(%id=%block, %ha=%la, %hb=%lb, %hs=%ls)
          : index, memref<1024xf32>, memref<1024xf32>, memref<1024xf32> {
        %lanes = arith.constant 64 : index
        %lane = gpu.lane_id
        %first = arith.muli %id, %m : index
        %number = arith.addi %first, %wave : index
        %start = arith.muli %number, %lanes : index
        %i = arith.addi %start, %lane : index
        %left = memref.load %ha[%i] : memref<1024xf32>
        %right = memref.load %hb[%i] : memref<1024xf32>
        %total = arith.addf %left, %right : f32
        memref.store %total, %hs[%i] : memref<1024xf32>
      }
    }
    return
  }
}
