"""Kernels that the emulator is measured with."""

from __future__ import annotations


def matmul_text(size: int) -> str:
    """C = A B for f32: 128 x 128 tiles, steps of 8 along K, 8 x 8 results for each of 256 threads."""
    matrix = f"memref<{size}x{size}xf32>"
    return f"""gpu.module @m {{
  gpu.func @k(%A: {matrix}, %B: {matrix}, %C: {matrix})
      workgroup(%As : memref<128x8xf32, 3>, %Bs : memref<8x128xf32, 3>) private(%sum : memref<64xf32, 5>) kernel {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c1024 = arith.constant 1024 : index
    %size = arith.constant {size} : index
    %zero = arith.constant 0.0 : f32
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %t = gpu.thread_id x
    %row = arith.muli %by, %c128 : index
    %column = arith.muli %bx, %c128 : index
    %tr = arith.remui %t, %c16 : index
    %tc = arith.divui %t, %c16 : index
    %r0 = arith.muli %tr, %c8 : index
    %q0 = arith.muli %tc, %c8 : index
    scf.for %i = %c0 to %c64 step %c1 {{
      memref.store %zero, %sum[%i] : memref<64xf32, 5>
    }}
    scf.for %k = %c0 to %size step %c8 {{
      scf.for %i = %t to %c1024 step %c256 {{
        %ar = arith.divui %i, %c8 : index
        %ac = arith.remui %i, %c8 : index
        %gr = arith.addi %row, %ar : index
        %gc = arith.addi %k, %ac : index
        %a = memref.load %A[%gr, %gc] : {matrix}
        memref.store %a, %As[%ar, %ac] : memref<128x8xf32, 3>
        %br = arith.divui %i, %c128 : index
        %bc = arith.remui %i, %c128 : index
        %hr = arith.addi %k, %br : index
        %hc = arith.addi %column, %bc : index
        %b = memref.load %B[%hr, %hc] : {matrix}
        memref.store %b, %Bs[%br, %bc] : memref<8x128xf32, 3>
      }}
      gpu.barrier
      scf.for %kk = %c0 to %c8 step %c1 {{
        scf.for %y = %c0 to %c8 step %c1 {{
          %r = arith.addi %r0, %y : index
          %a = memref.load %As[%r, %kk] : memref<128x8xf32, 3>
          scf.for %x = %c0 to %c8 step %c1 {{
            %q = arith.addi %q0, %x : index
            %b = memref.load %Bs[%kk, %q] : memref<8x128xf32, 3>
            %yy = arith.muli %y, %c8 : index
            %n = arith.addi %yy, %x : index
            %old = memref.load %sum[%n] : memref<64xf32, 5>
            %p = arith.mulf %a, %b : f32
            %new = arith.addf %old, %p : f32
            memref.store %new, %sum[%n] : memref<64xf32, 5>
          }}
        }}
      }}
      gpu.barrier
    }}
    scf.for %y = %c0 to %c8 step %c1 {{
      scf.for %x = %c0 to %c8 step %c1 {{
        %yy = arith.muli %y, %c8 : index
        %n = arith.addi %yy, %x : index
        %v = memref.load %sum[%n] : memref<64xf32, 5>
        %r = arith.addi %r0, %y : index
        %q = arith.addi %q0, %x : index
        %gr = arith.addi %row, %r : index
        %gc = arith.addi %column, %q : index
        memref.store %v, %C[%gr, %gc] : {matrix}
      }}
    }}
    gpu.return
  }}
}}"""


ARITHMETIC = """gpu.module @m {
  gpu.func @k(%out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %times = arith.constant 2000 : index
    %t = gpu.global_id x
    %start = arith.index_cast %t : index to i32
    %x = arith.sitofp %start : i32 to f32
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %y = scf.for %i = %c0 to %times step %c1 iter_args(%v = %x) -> f32 {
      %a = arith.mulf %v, %half : f32
      %b = arith.addf %a, %one : f32
      %c = arith.mulf %b, %b : f32
      %d = arith.subf %c, %a : f32
      %e = arith.minimumf %d, %one : f32
      scf.yield %e : f32
    }
    memref.store %y, %out[%t] : memref<?xf32>
    gpu.return
  }
}"""
"""Nothing but arithmetic, the same in all lanes."""

MESSAGES = """gpu.module @m {
  gpu.func @k(%data: memref<64xi32>, %flags: memref<64xi32>, %out: memref<100x64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    %count = arith.constant 100 : index
    %block = gpu.block_id x
    %t = gpu.thread_id x
    %sends = arith.cmpi eq, %block, %c0 : index
    %leads = arith.cmpi eq, %t, %c0 : index
    %address = memref.extract_aligned_pointer_as_index %flags : memref<64xi32> -> index
    %number = arith.index_cast %address : index to i64
    %full = llvm.inttoptr %number : i64 to !llvm.ptr
    %empty = llvm.getelementptr %full[32] : (!llvm.ptr) -> !llvm.ptr, i32
    scf.for %k = %c0 to %count step %c1 {
      %ki = arith.index_cast %k : index to i32
      %epoch = arith.addi %ki, %one : i32
      scf.if %sends {
        %ti = arith.index_cast %t : index to i32
        %v = arith.addi %ti, %ki : i32
        memref.store %v, %data[%t] : memref<64xi32>
        scf.if %leads {
          llvm.store %epoch, %full atomic release {alignment = 4 : i64} : i32, !llvm.ptr
        }
        scf.while : () -> () {
          %seen = llvm.load %empty atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
          %wait = arith.cmpi ne, %seen, %epoch : i32
          scf.condition(%wait)
        } do {
          scf.yield
        }
      } else {
        scf.while : () -> () {
          %seen = llvm.load %full atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
          %wait = arith.cmpi ne, %seen, %epoch : i32
          scf.condition(%wait)
        } do {
          scf.yield
        }
        %v = memref.load %data[%t] : memref<64xi32>
        memref.store %v, %out[%k, %t] : memref<100x64xi32>
        scf.if %leads {
          llvm.store %epoch, %empty atomic release {alignment = 4 : i64} : i32, !llvm.ptr
        }
      }
    }
    gpu.return
  }
}"""
"""A block sends a hundred lines to another one: the flag tells which is there, and another that it was read."""
