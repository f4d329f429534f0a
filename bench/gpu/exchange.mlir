// Two blocks of one wave send each other messages in turn, without channels: the bare protocols, to be compared with the
// same in kernels.cu.
module attributes {gpu.container_module} {
  gpu.module @exchange {
    gpu.func @line(%lines: memref<2x32xi32>, %wrong: memref<1xi32>, %rounds: index) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %flag_lane = arith.constant 31 : index
      %flag = arith.constant 31 : i32
      %width = arith.constant 32 : i32
      %one = arith.constant 1 : i32
      %me = gpu.block_id x
      %lane = gpu.lane_id
      %peer = arith.subi %c1, %me : index
      %is_flag = arith.cmpi eq, %lane, %flag_lane : index
      %is_first = arith.cmpi eq, %me, %c0 : index
      %is_second = arith.cmpi ne, %me, %c0 : index
      scf.for %round = %c0 to %rounds step %c1 {
        %number = arith.index_cast %round : index to i32
        %stamp = arith.addi %number, %one : i32
        %lane32 = arith.index_cast %lane : index to i32
        %payload = arith.addi %number, %lane32 : i32
        %sent = arith.select %is_flag, %stamp, %payload : i32
        scf.if %is_first {
          memref.store %sent, %lines[%peer, %lane] : memref<2x32xi32>
        }
        %got = scf.while : () -> i32 {
          %word = memref.load %lines[%me, %lane] : memref<2x32xi32>
          %seen, %valid = gpu.shuffle idx %word, %flag, %width : i32
          %more = arith.cmpi ne, %seen, %stamp : i32
          scf.condition(%more) %word : i32
        } do {
        ^bb0(%word: i32):
          scf.yield
        }
        scf.if %is_second {
          memref.store %sent, %lines[%peer, %lane] : memref<2x32xi32>
        }
        %differs = arith.cmpi ne, %got, %sent : i32
        scf.if %differs {
          %old = memref.atomic_rmw addi %one, %wrong[%c0] : (i32, memref<1xi32>) -> i32
        }
      }
      gpu.return
    }

    func.func private @counter(%counters: memref<2x16xi64>, %rank: index) -> !llvm.ptr {
      %at = memref.extract_aligned_pointer_as_index %counters : memref<2x16xi64> -> index
      %bytes = arith.constant 128 : index
      %offset = arith.muli %rank, %bytes : index
      %place = arith.addi %at, %offset : index
      %number = arith.index_cast %place : index to i64
      %pointer = llvm.inttoptr %number : i64 to !llvm.ptr
      return %pointer : !llvm.ptr
    }

    gpu.func @ordered(%data: memref<2x32xi32>, %counters: memref<2x16xi64>, %wrong: memref<1xi32>, %rounds: index) kernel
        attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %words = arith.constant 31 : index
      %one = arith.constant 1 : i32
      %one64 = arith.constant 1 : i64
      %me = gpu.block_id x
      %lane = gpu.lane_id
      %peer = arith.subi %c1, %me : index
      %is_leader = arith.cmpi eq, %lane, %c0 : index
      %has_word = arith.cmpi ult, %lane, %words : index
      %mine = func.call @counter(%counters, %me) : (memref<2x16xi64>, index) -> !llvm.ptr
      %theirs = func.call @counter(%counters, %peer) : (memref<2x16xi64>, index) -> !llvm.ptr
      %two = arith.constant 2 : index
      scf.for %round = %c0 to %rounds step %c1 {
        %number = arith.index_cast %round : index to i64
        %next = arith.addi %number, %one64 : i64
        %number32 = arith.trunci %number : i64 to i32
        %lane32 = arith.index_cast %lane : index to i32
        %value = arith.addi %number32, %lane32 : i32
        scf.for %half = %c0 to %two step %c1 {
          %is_turn = arith.cmpi eq, %half, %me : index
          scf.if %is_turn {
            scf.if %has_word {
              memref.store %value, %data[%peer, %lane] : memref<2x32xi32>
            }
            gpu.barrier
            scf.if %is_leader {
              llvm.store %next, %theirs atomic release {alignment = 8 : i64} : i64, !llvm.ptr
            }
          } else {
            scf.while : () -> () {
              %seen = llvm.load %mine atomic acquire {alignment = 8 : i64} : !llvm.ptr -> i64
              %more = arith.cmpi eq, %seen, %number : i64
              scf.condition(%more)
            } do {
              scf.yield
            }
            scf.if %has_word {
              %got = memref.load %data[%me, %lane] : memref<2x32xi32>
              %differs = arith.cmpi ne, %got, %value : i32
              scf.if %differs {
                %old = memref.atomic_rmw addi %one, %wrong[%c0] : (i32, memref<1xi32>) -> i32
              }
            }
            gpu.barrier
          }
        }
      }
      gpu.return
    }
  }
}
