// Four ranks in a ring: everyone sends four numbers to the next rank and gets those of the rank before.

module attributes {gpu.container_module} {
  air.channel @ring [4] {channel_type = "gpu_symmetric_heap"}

  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @got("rank %d got %d %d %d %d\0A\00") {addr_space = 0 : i32}

  func.func @main() {
    %four = arith.constant 4 : index
    air.rank (%me) in (%ranks=%four) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %data = gpu.alloc host_shared () : memref<4xi32>
      air.launch (%block) in (%blocks=%c1) args(%lme=%me, %lranks=%ranks, %ldata=%data) : index, index, memref<4xi32> {
        %one = arith.constant 1 : index
        air.herd tile (%x) in (%waves=%one) args(%rank=%lme, %n=%lranks, %buffer=%ldata) : index, index, memref<4xi32> {
          %h1 = arith.constant 1 : index
          %h4 = arith.constant 4 : index
          %h10 = arith.constant 10 : index

          // Lane k of rank r makes 10 r + k.
          %lane = gpu.lane_id
          %mine = arith.cmpi ult, %lane, %h4 : index
          scf.if %mine {
            %tens = arith.muli %rank, %h10 : index
            %number = arith.addi %tens, %lane : index
            %value = arith.index_cast %number : index to i32
            memref.store %value, %buffer[%lane] : memref<4xi32>
          }

          %after = arith.addi %rank, %h1 : index
          %next = arith.remui %after, %n : index
          air.channel.put @ring[%next] (%buffer[] [] []) : (memref<4xi32>)
          air.channel.get @ring[%rank] (%buffer[] [] []) : (memref<4xi32>)
        }
      }
      %v0 = memref.load %data[%c0] : memref<4xi32>
      %v1 = memref.load %data[%c1] : memref<4xi32>
      %v2 = memref.load %data[%c2] : memref<4xi32>
      %v3 = memref.load %data[%c3] : memref<4xi32>
      %number = arith.index_cast %me : index to i32
      %format = llvm.mlir.addressof @got : !llvm.ptr
      llvm.call @printf(%format, %number, %v0, %v1, %v2, %v3) vararg(!llvm.func<i32 (ptr, ...)>)
          : (!llvm.ptr, i32, i32, i32, i32, i32) -> i32
    }
    return
  }
}
