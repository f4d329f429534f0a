"""AIR programs whose ranks pass messages: round trips through channels, and all ranks writing to all.

Each prints how long its kernels took, as `Elapsed time: ... ms`, and how many elements were wrong.
"""

from __future__ import annotations

WORDS = 31
"""What a line of 128 bytes holds beside its flag."""
HEAP = "#air.symmetric_heap"
DECLARATIONS = """
  func.func private @mgpuEventCreate() -> !llvm.ptr
  func.func private @mgpuEventRecord(!llvm.ptr, !llvm.ptr)
  func.func private @mgpuEventElapsedTime(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  func.func private @mgpuMemAlloc(i64, !llvm.ptr, i1) -> !llvm.ptr
  func.func private @mgpuMemcpy(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
  func.func private @mgpuGetHeapBases() -> !llvm.ptr
  func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr
  func.func private @mgpuBarrier()
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @wrong("wrong: %d\\0A\\00") {addr_space = 0 : i32}
  func.func private @bytes(%pointer: !llvm.ptr, %size: i64) -> memref<?xi8, #air.symmetric_heap> {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %d0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d1 = llvm.insertvalue %pointer, %d0[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d2 = llvm.insertvalue %pointer, %d1[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d3 = llvm.insertvalue %zero, %d2[2] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d4 = llvm.insertvalue %size, %d3[3, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d5 = llvm.insertvalue %one, %d4[4, 0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %m = builtin.unrealized_conversion_cast %d5
        : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<?xi8, #air.symmetric_heap>
    return %m : memref<?xi8, #air.symmetric_heap>
  }
"""
BEGIN_TIME = """
      %began = func.call @mgpuEventCreate() : () -> !llvm.ptr
      %ended = func.call @mgpuEventCreate() : () -> !llvm.ptr
      func.call @mgpuBarrier() : () -> ()
      func.call @mgpuEventRecord(%began, %null) : (!llvm.ptr, !llvm.ptr) -> ()
"""
END_TIME = """
      func.call @mgpuBarrier() : () -> ()
      func.call @mgpuEventRecord(%ended, %null) : (!llvm.ptr, !llvm.ptr) -> ()
      %took = func.call @mgpuEventElapsedTime(%null, %began, %ended) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
"""
REPORT = """
      %bad_at = memref.extract_aligned_pointer_as_index %bad : memref<1xi32, #air.symmetric_heap> -> index
      %bad_number = arith.index_cast %bad_at : index to i64
      %bad_pointer = llvm.inttoptr %bad_number : i64 to !llvm.ptr
      %host = memref.alloc() : memref<1xi32>
      %host_at = memref.extract_aligned_pointer_as_index %host : memref<1xi32> -> index
      %host_number = arith.index_cast %host_at : index to i64
      %host_pointer = llvm.inttoptr %host_number : i64 to !llvm.ptr
      %four = arith.constant 4 : i64
      func.call @mgpuMemcpy(%host_pointer, %bad_pointer, %four, %null) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
      %count = memref.load %host[%c0] : memref<1xi32>
      %text = llvm.mlir.addressof @wrong : !llvm.ptr
      %printed = llvm.call @printf(%text, %count) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32) -> i32
"""


def round_trips(protocol: str, rounds: int) -> str:
    """Two ranks send each other a message in turn; each looks at what it gets."""
    kind = f'{{channel_type = "gpu_symmetric_heap", protocol = "{protocol}"}}'
    message = f"memref<{WORDS}xi32, 1>"
    types = f"index, memref<1xi32, {HEAP}>"
    return f"""module attributes {{gpu.container_module}} {{
  air.channel @Ping [] {kind}
  air.channel @Pong [] {kind}
{DECLARATIONS}
  func.func @main() {{
    %two = arith.constant 2 : index
    air.rank (%rank) in (%ranks = %two) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %null = llvm.mlir.zero : !llvm.ptr
      %bad = memref.alloc() : memref<1xi32, {HEAP}>
{BEGIN_TIME}
      air.launch (%b) in (%blocks = %c1) args(%lr = %rank, %lb = %bad) : {types} {{
        air.segment @s args(%sr = %lr, %sb = %lb) : {types} {{
          %one = arith.constant 1 : index
          %message_l2 = memref.alloc() : {message}
          %got_l2 = memref.alloc() : {message}
          air.herd @h tile (%x, %y) in (%nx = %one, %ny = %one)
              args(%me = %sr, %wrong = %sb, %message = %message_l2, %got = %got_l2)
              : {types}, {message}, {message} {{
            %h0 = arith.constant 0 : index
            %h1 = arith.constant 1 : index
            %words = arith.constant {WORDS} : index
            %rounds = arith.constant {rounds} : index
            %one32 = arith.constant 1 : i32
            %lane = gpu.lane_id
            %is_first = arith.cmpi eq, %me, %h0 : index
            %has_word = arith.cmpi ult, %lane, %words : index
            %place = arith.minui %lane, %words : index
            scf.for %r = %h0 to %rounds step %h1 {{
              %sum = arith.addi %r, %lane : index
              %value = arith.index_cast %sum : index to i32
              scf.if %is_first {{
                scf.if %has_word {{
                  memref.store %value, %message[%lane] : {message}
                }}
                air.channel.put @Ping[] (%message[] [] []) : ({message})
                air.channel.get @Pong[] (%got[] [] []) : ({message})
              }} else {{
                air.channel.get @Ping[] (%got[] [] []) : ({message})
                scf.if %has_word {{
                  memref.store %value, %message[%lane] : {message}
                }}
                air.channel.put @Pong[] (%message[] [] []) : ({message})
              }}
              scf.if %has_word {{
                %seen = memref.load %got[%lane] : {message}
                %differs = arith.cmpi ne, %seen, %value : i32
                scf.if %differs {{
                  %old = memref.atomic_rmw addi %one32, %wrong[%h0] : (i32, memref<1xi32, {HEAP}>) -> i32
                }}
              }}
            }}
          }}
        }}
      }}
{END_TIME}
{REPORT}
    }}
    return
  }}
}}
"""


def all_to_all_writes(ranks: int, words: int, blocks: int, repeats: int, waves: int = 8, lanes: int = 32) -> str:
    """Every rank writes `words` of four bytes each to all ranks, itself included: an allgather by plain stores."""
    table = f"memref<{ranks}x{words}xi32, {HEAP}>"
    types = f"index, {table}, memref<?xindex, {HEAP}>"
    threads = waves * lanes
    return f"""module attributes {{gpu.container_module}} {{
{DECLARATIONS}
  func.func @main() {{
    %n = arith.constant {ranks} : index
    air.rank (%rank) in (%ranks = %n) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %null = llvm.mlir.zero : !llvm.ptr
      %no = arith.constant false
      %all = memref.alloc() : {table}
      %bad = memref.alloc() : memref<1xi32, {HEAP}>
      %size = arith.constant {8 * ranks} : i64
      %bases_host = func.call @mgpuGetHeapBases() : () -> !llvm.ptr
      %bases_place = func.call @mgpuMemAlloc(%size, %null, %no) : (i64, !llvm.ptr, i1) -> !llvm.ptr
      func.call @mgpuMemcpy(%bases_place, %bases_host, %size, %null) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
      %raw = func.call @bytes(%bases_place, %size) : (!llvm.ptr, i64) -> memref<?xi8, {HEAP}>
      %bases = memref.view %raw[%c0][%ranks] : memref<?xi8, {HEAP}> to memref<?xindex, {HEAP}>
      %blocks = arith.constant {blocks} : index
      %repeats = arith.constant {repeats} : index
{BEGIN_TIME}
      scf.for %again = %c0 to %repeats step %c1 {{
        air.launch (%b) in (%bs = %blocks) args(%lr = %rank, %la = %all, %lb = %bases) : {types} {{
          air.segment @s args(%sx = %b, %sr = %lr, %sa = %la, %sb = %lb) : index, {types} {{
            %one = arith.constant 1 : index
            %waves = arith.constant {waves} : index
            air.herd @h tile (%x, %y) in (%nx = %waves, %ny = %one)
                args(%block = %sx, %me = %sr, %mine = %sa, %bb = %sb) : index, {types} {{
              %h0 = arith.constant 0 : index
              %h1 = arith.constant 1 : index
              %lanes = arith.constant {lanes} : index
              %four = arith.constant 4 : index
              %threads = arith.constant {threads} : index
              %end = arith.constant {words} : index
              %step = arith.constant {4 * threads * blocks} : index
              %peers = arith.constant {ranks} : index
              %lane = gpu.lane_id
              %w = arith.muli %x, %lanes : index
              %t = arith.addi %w, %lane : index
              %bt = arith.muli %block, %threads : index
              %number = arith.addi %bt, %t : index
              %first = arith.muli %number, %four : index
              %me32 = arith.index_cast %me : index to i32
              %value = vector.broadcast %me32 : i32 to vector<4xi32>
              scf.for %peer = %h0 to %peers step %h1 {{
                %theirs = air.translate %mine, %me, %peer, %bb : {table}, memref<?xindex, {HEAP}>
                scf.for %i = %first to %end step %step {{
                  vector.store %value, %theirs[%me, %i] {{alignment = 16 : i64}} : {table}, vector<4xi32>
                }}
              }}
            }}
          }}
        }}
      }}
{END_TIME}
      air.launch (%b) in (%bs = %c1) args(%la = %all, %lb = %bad) : {table}, memref<1xi32, {HEAP}> {{
        air.segment @check args(%sa = %la, %sb = %lb) : {table}, memref<1xi32, {HEAP}> {{
          %one = arith.constant 1 : index
          air.herd @look tile (%x, %y) in (%nx = %one, %ny = %one) args(%found = %sa, %wrong = %sb)
              : {table}, memref<1xi32, {HEAP}> {{
            %h0 = arith.constant 0 : index
            %h1 = arith.constant 1 : index
            %lanes = arith.constant {lanes} : index
            %peers = arith.constant {ranks} : index
            %end = arith.constant {words} : index
            %one32 = arith.constant 1 : i32
            %lane = gpu.lane_id
            scf.for %peer = %h0 to %peers step %h1 {{
              %wanted = arith.index_cast %peer : index to i32
              scf.for %i = %lane to %end step %lanes {{
                %seen = memref.load %found[%peer, %i] : {table}
                %differs = arith.cmpi ne, %seen, %wanted : i32
                scf.if %differs {{
                  %old = memref.atomic_rmw addi %one32, %wrong[%h0] : (i32, memref<1xi32, {HEAP}>) -> i32
                }}
              }}
            }}
          }}
        }}
      }}
{REPORT}
    }}
    return
  }}
}}
"""


WEAKENED = {
    "whole": ("release", "acquire"),
    "no_release": ("monotonic", "acquire"),
    "no_acquire": ("release", "monotonic"),
    "neither": ("monotonic", "monotonic"),
}
"""Kernels that exchange messages, and how they store and load the counter that says that one is there."""


def weakened_exchanges() -> str:
    """Exchanges with orderings left out; `whole` has them all, to compare with.

    Errors are counted without any order: an acquire there would put right what the next round reads.
    """
    kernels = "".join(_weakened(name, *orders) for name, orders in WEAKENED.items())
    return f"module attributes {{gpu.container_module}} {{\n  gpu.module @weakened {{\n{COUNTER}{kernels}  }}\n}}\n"


COUNTER = """
    func.func private @counter(%counters: memref<2x16xi64>, %rank: index) -> !llvm.ptr {
      %at = memref.extract_aligned_pointer_as_index %counters : memref<2x16xi64> -> index
      %bytes = arith.constant 128 : index
      %offset = arith.muli %rank, %bytes : index
      %place = arith.addi %at, %offset : index
      %number = arith.index_cast %place : index to i64
      %pointer = llvm.inttoptr %number : i64 to !llvm.ptr
      return %pointer : !llvm.ptr
    }
"""


def _weakened(name: str, store: str, load: str) -> str:
    return f"""
    // The payload is spread over 32 lines, of which some are likely to come later than the counter.
    gpu.func @{name}(%data: memref<2x32x32xi32>, %counters: memref<2x16xi64>, %wrong: memref<1xi32>, %rounds: index)
        kernel attributes {{known_block_size = array<i32: 32, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant 1 : i32
      %one64 = arith.constant 1 : i64
      %me = gpu.block_id x
      %lane = gpu.lane_id
      %peer = arith.subi %c1, %me : index
      %is_leader = arith.cmpi eq, %lane, %c0 : index
      %mine = func.call @counter(%counters, %me) : (memref<2x16xi64>, index) -> !llvm.ptr
      %theirs = func.call @counter(%counters, %peer) : (memref<2x16xi64>, index) -> !llvm.ptr
      %errors_at = memref.extract_aligned_pointer_as_index %wrong : memref<1xi32> -> index
      %errors_number = arith.index_cast %errors_at : index to i64
      %errors = llvm.inttoptr %errors_number : i64 to !llvm.ptr
      %two = arith.constant 2 : index
      scf.for %round = %c0 to %rounds step %c1 {{
        %number = arith.index_cast %round : index to i64
        %next = arith.addi %number, %one64 : i64
        %number32 = arith.trunci %number : i64 to i32
        %lane32 = arith.index_cast %lane : index to i32
        %value = arith.addi %number32, %lane32 : i32
        scf.for %half = %c0 to %two step %c1 {{
          %is_turn = arith.cmpi eq, %half, %me : index
          scf.if %is_turn {{
            memref.store %value, %data[%peer, %lane, %lane] : memref<2x32x32xi32>
            gpu.barrier
            scf.if %is_leader {{
              llvm.store %next, %theirs atomic {store} {{alignment = 8 : i64}} : i64, !llvm.ptr
            }}
          }} else {{
            scf.while : () -> () {{
              %seen = llvm.load %mine atomic {load} {{alignment = 8 : i64}} : !llvm.ptr -> i64
              %more = arith.cmpi eq, %seen, %number : i64
              scf.condition(%more)
            }} do {{
              scf.yield
            }}
            %got = memref.load %data[%me, %lane, %lane] : memref<2x32x32xi32>
            %differs = arith.cmpi ne, %got, %value : i32
            scf.if %differs {{
              %old = llvm.atomicrmw add %errors, %one monotonic : !llvm.ptr, i32
            }}
          }}
        }}
      }}
      gpu.return
    }}
"""
