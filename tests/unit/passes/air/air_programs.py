"""AIR programs for GPUs that several tests run."""

from __future__ import annotations

GPU = "module attributes {gpu.container_module}"


def tile_copy(rows: int, columns: int, waves: int) -> str:
    """Every block stages a tile in L2; each wave then reads what other waves have fetched, last element first."""
    size = rows * columns
    return f"""{GPU} {{ func.func @f(%in: memref<{rows}x{columns}xi32>, %out: memref<{size}xi32>) {{
      %c1 = arith.constant 1 : index
      air.launch (%b) in (%n=%c1) args(%i=%in, %o=%out) : memref<{rows}x{columns}xi32>, memref<{size}xi32> {{
        air.segment args(%si=%i, %so=%o) : memref<{rows}x{columns}xi32>, memref<{size}xi32> {{
          %waves = arith.constant {waves} : index
          %one = arith.constant 1 : index
          %tile = memref.alloc() : memref<{rows}x{columns}xi32, 1>
          air.dma_memcpy_nd (%tile[] [] [], %si[] [] [])
              : (memref<{rows}x{columns}xi32, 1>, memref<{rows}x{columns}xi32>)
          air.herd tile (%x, %y) in (%nx=%waves, %ny=%one) args(%t=%tile, %h=%so)
              : memref<{rows}x{columns}xi32, 1>, memref<{size}xi32> {{
            %c0 = arith.constant 0 : index
            %cw = arith.constant {waves} : index
            %cols = arith.constant {columns} : index
            %last = arith.constant {size - 1} : index
            %end = arith.constant {size} : index
            scf.for %k = %x to %end step %cw {{
              %r = arith.subi %last, %k : index
              %row = arith.divui %r, %cols : index
              %col = arith.remui %r, %cols : index
              %v = memref.load %t[%row, %col] : memref<{rows}x{columns}xi32, 1>
              memref.store %v, %h[%k] : memref<{size}xi32>
            }}
          }} }} }}
      return }} }}"""


MATMUL = """
#tile = affine_map<()[s0] -> (s0 * 8)>
func.func @f(%A: memref<16x8xf32>, %B: memref<8x16xf32>, %C: memref<16x16xf32>) {
  %c2 = arith.constant 2 : index
  air.launch (%bx, %by) in (%nx=%c2, %ny=%c2) args(%a=%A, %b=%B, %c=%C)
      : memref<16x8xf32>, memref<8x16xf32>, memref<16x16xf32> {
    air.segment @s args(%sx=%bx, %sy=%by, %sa=%a, %sb=%b, %sc=%c)
        : index, index, memref<16x8xf32>, memref<8x16xf32>, memref<16x16xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2s = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %zero = arith.constant 0.0 : f32
      %row = affine.apply #tile()[%sy]
      %col = affine.apply #tile()[%sx]
      %a_reg = memref.alloc() : memref<4xf32, 2>
      %b_reg = memref.alloc() : memref<2xf32, 2>
      %acc = memref.alloc() : memref<8xf32, 2>
      scf.for %i = %c0 to %c8 step %c1 {
        memref.store %zero, %acc[%i] : memref<8xf32, 2>
      }
      scf.for %k = %c0 to %c8 step %c4 {
        %As = memref.alloc() : memref<8x4xf32, 1>
        %Bs = memref.alloc() : memref<4x8xf32, 1>
        air.dma_memcpy_nd (%As[] [] [], %sa[%row, %k] [%c8, %c4] [%c8, %c1]) : (memref<8x4xf32, 1>, memref<16x8xf32>)
        air.dma_memcpy_nd (%Bs[] [] [], %sb[%k, %col] [%c4, %c8] [%c16, %c1]) : (memref<4x8xf32, 1>, memref<8x16xf32>)
        air.herd @compute tile (%tx, %ty) in (%ntx=%c2s, %nty=%c1)
            args(%hAs=%As, %hBs=%Bs, %ha=%a_reg, %hb=%b_reg, %hacc=%acc)
            : memref<8x4xf32, 1>, memref<4x8xf32, 1>, memref<4xf32, 2>, memref<2xf32, 2>, memref<8xf32, 2> {
          %c0_h = arith.constant 0 : index
          %c1_h = arith.constant 1 : index
          %c2_h = arith.constant 2 : index
          %c4_h = arith.constant 4 : index
          %lane = gpu.lane_id
          %rs = arith.muli %tx, %c4_h : index
          %cs = arith.muli %lane, %c2_h : index
          scf.for %kk = %c0_h to %c4_h step %c1_h {
            air.dma_memcpy_nd (%ha[] [] [], %hAs[%rs, %kk] [%c4_h] [%c4_h]) : (memref<4xf32, 2>, memref<8x4xf32, 1>)
            air.dma_memcpy_nd (%hb[] [] [], %hBs[%kk, %cs] [%c2_h] [%c1_h]) : (memref<2xf32, 2>, memref<4x8xf32, 1>)
            scf.for %y = %c0_h to %c4_h step %c1_h {
              scf.for %x = %c0_h to %c2_h step %c1_h {
                %flat = arith.muli %y, %c2_h : index
                %idx = arith.addi %flat, %x : index
                %av = memref.load %ha[%y] : memref<4xf32, 2>
                %bv = memref.load %hb[%x] : memref<2xf32, 2>
                %cv = memref.load %hacc[%idx] : memref<8xf32, 2>
                %p = arith.mulf %av, %bv : f32
                %sum = arith.addf %cv, %p : f32
                memref.store %sum, %hacc[%idx] : memref<8xf32, 2>
              }
            }
          }
        }
      }
      air.herd @writeback tile (%tx, %ty) in (%ntx=%c2s, %nty=%c1) args(%wacc=%acc, %wC=%sc, %wr=%row, %wc=%col)
          : memref<8xf32, 2>, memref<16x16xf32>, index, index {
        %c1_w = arith.constant 1 : index
        %c2_w = arith.constant 2 : index
        %c4_w = arith.constant 4 : index
        %c16_w = arith.constant 16 : index
        %lane = gpu.lane_id
        %rs = arith.muli %tx, %c4_w : index
        %cs = arith.muli %lane, %c2_w : index
        %r = arith.addi %wr, %rs : index
        %q = arith.addi %wc, %cs : index
        air.dma_memcpy_nd (%wC[%r, %q] [%c4_w, %c2_w] [%c16_w, %c1_w], %wacc[] [] [])
            : (memref<16x16xf32>, memref<8xf32, 2>)
      }
    }
  }
  return
}"""
"""A product of matrices with tiles in L2 and registers in L1; no barrier is written, herds and copies bring theirs."""


def channel_program(messages: int, waves: int = 1, world: int = 2) -> str:
    """Rank 0 sends messages; the others are in the else branch, where rank 1 receives and keeps what it got."""
    line, bases = "memref<32xi32, #air.symmetric_heap>", "memref<?xindex, #air.symmetric_heap>"
    log = f"memref<{messages}x31xi32, #air.symmetric_heap>"
    header = f"""
        %step = arith.constant 1 : index
        %c0 = arith.constant 0 : index
        %c31 = arith.constant 31 : index
        %count = arith.constant {messages} : index"""
    types = f"{line}, {bases}, {log}"

    def nest(body: str) -> str:
        return f"""air.launch (%b) in (%n=%c1) args(%ld=%data, %lb=%bases, %ll=%log) : {types} {{
          air.segment args(%sd=%ld, %sb=%lb, %sl=%ll) : {types} {{
            %one = arith.constant 1 : index
            %waves = arith.constant {waves} : index
            air.herd tile (%x, %y) in (%nx=%waves, %ny=%one) args(%d=%sd, %hb=%sb, %l=%sl) : {types} {{ {header}
              %lane = gpu.lane_id
              %payload_lane = arith.cmpi ult, %lane, %c31 : index
              %first_wave = arith.cmpi eq, %x, %c0 : index
              %mine = arith.andi %payload_lane, %first_wave : i1
              scf.for %k = %c0 to %count step %step {{ {body} }}
            }} }} }}"""

    send = f"""
      scf.if %mine {{
        %c1000 = arith.constant 1000 : index
        %t = arith.muli %k, %c1000 : index
        %v = arith.addi %t, %lane : index
        %w = arith.index_cast %v : index to i32
        memref.store %w, %d[%lane] : {line}
      }}
      air.channel.put @C[%c0] (%d[] [] []) : ({line})"""
    keep = f"""
      air.channel.get @C[%c0] (%d[] [] []) : ({line})
      scf.if %mine {{
        %v = memref.load %d[%lane] : {line}
        memref.store %v, %l[%k, %lane] : {log}
      }}"""
    inner = nest(keep) if world == 2 else f"scf.if %is_one {{ {nest(keep)} }}"
    return f"""
    air.channel @C [1] {{channel_type = "gpu_symmetric_heap"}}
    func.func @f(%outer_data: {line}, %outer_bases: {bases}, %outer_log: {log}) {{
      %world = arith.constant {world} : index
      air.rank (%me) in (%size=%world) args(%data=%outer_data, %bases=%outer_bases, %log=%outer_log) : {types} {{
        %c0r = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %is_zero = arith.cmpi eq, %me, %c0r : index
        %is_one = arith.cmpi eq, %me, %c1 : index
        scf.if %is_zero {{ {nest(send)} }} else {{ {inner} }}
      }}
      return }}"""
