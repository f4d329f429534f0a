// Every rank stores its number into the symmetric heaps of all ranks, and prints what it finds in its own.
#heap = #air.symmetric_heap
module attributes {gpu.container_module} {
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @found("rank %d found %d %d %d\0A\00") {addr_space = 0 : i32}
  func.func private @mgpuGetHeapBases() -> !llvm.ptr
  func.func private @mgpuBarrier()

  // Memory at a pointer, as a memref of bytes.
  func.func private @bytes_at(%p: !llvm.ptr, %size: i64) -> memref<?xi8> {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %d0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d1 = llvm.insertvalue %p, %d0[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d2 = llvm.insertvalue %p, %d1[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d3 = llvm.insertvalue %c0, %d2[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d4 = llvm.insertvalue %size, %d3[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d5 = llvm.insertvalue %c1, %d4[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %m = builtin.unrealized_conversion_cast %d5
        : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<?xi8>
    return %m : memref<?xi8>
  }

  func.func @main() {
    %three = arith.constant 3 : index
    air.rank (%me) in (%ranks=%three) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c24 = arith.constant 24 : i64
      %slots = memref.alloc() : memref<3xi32, #heap>

      // Kernels reach the heaps of others through a table of where they begin, in memory of the device.
      %table = func.call @mgpuGetHeapBases() : () -> !llvm.ptr
      %bytes = func.call @bytes_at(%table, %c24) : (!llvm.ptr, i64) -> memref<?xi8>
      %here = memref.view %bytes[%c0][] : memref<?xi8> to memref<3xindex>
      %bases = gpu.alloc () : memref<3xindex>
      gpu.memcpy %bases, %here : memref<3xindex>, memref<3xindex>

      air.launch (%b) in (%bs=%c1) args(%ls=%slots, %lb=%bases, %lr=%me) : memref<3xi32, #heap>, memref<3xindex>, index {
        %one = arith.constant 1 : index
        air.herd tile (%x) in (%w=%one) args(%hs=%ls, %hb=%lb, %rank=%lr) : memref<3xi32, #heap>, memref<3xindex>, index {
          %h0 = arith.constant 0 : index
          %h1 = arith.constant 1 : index
          %h3 = arith.constant 3 : index
          %h100 = arith.constant 100 : i32
          %number = arith.index_cast %rank : index to i32
          %value = arith.addi %number, %h100 : i32
          scf.for %to = %h0 to %h3 step %h1 {
            %theirs = air.translate %hs, %rank, %to, %hb : memref<3xi32, #heap>, memref<3xindex>
            memref.store %value, %theirs[%rank] : memref<3xi32, #heap>
          }
        }
      }

      func.call @mgpuBarrier() : () -> ()
      %host = memref.alloc() : memref<3xi32>
      %plain = builtin.unrealized_conversion_cast %slots : memref<3xi32, #heap> to memref<3xi32>
      gpu.memcpy %host, %plain : memref<3xi32>, memref<3xi32>
      %v0 = memref.load %host[%c0] : memref<3xi32>
      %v1 = memref.load %host[%c1] : memref<3xi32>
      %v2 = memref.load %host[%c2] : memref<3xi32>
      %format = llvm.mlir.addressof @found : !llvm.ptr
      %rank_number = arith.index_cast %me : index to i32
      llvm.call @printf(%format, %rank_number, %v0, %v1, %v2) vararg(!llvm.func<i32 (ptr, ...)>)
          : (!llvm.ptr, i32, i32, i32, i32) -> i32
      memref.dealloc %slots : memref<3xi32, #heap>
    }
    return
  }
}
