// Something of everything that a configuration can set. `everything.words` is what AMD's driver makes of it: aie-rt, branch
// release/main_aig at 3640b761ded1, called as mlir-aie's AIERT.cpp calls it, and exported as a transaction.
aie.device(npu2_2col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %mem_east = aie.tile(1, 1)
  %core = aie.tile(0, 2)
  %other = aie.tile(1, 3)

  %a = aie.buffer(%core) {address = 1024 : i32, sym_name = "a"} : memref<64xi32>
  %b = aie.buffer(%core) {address = 2048 : i32, sym_name = "b"} : memref<256xbf16>
  %m = aie.buffer(%mem) {address = 0 : i32, sym_name = "m"} : memref<64xi16> = dense<3>
  %e = aie.buffer(%mem_east) {address = 4096 : i32, sym_name = "e"} : memref<6xi8> = dense<[1, 2, 3, 4, 5, 6]>
  %f = aie.buffer(%mem_east) {address = 4104 : i32, sym_name = "f"} : memref<2xf32> = dense<[1.5, -2.0]>
  %host = aie.external_buffer {address = 0x123456789C : i64, sym_name = "host"} : memref<512xi32>

  %free = aie.lock(%core, 0) {init = 1 : i32}
  %full = aie.lock(%core, 1) {init = 0 : i32}
  %east = aie.lock(%mem_east, 2) {init = 2 : i32}
  %own = aie.lock(%mem, 63) {init = 63 : i32}
  %done = aie.lock(%shim, 4) {init = 1 : i32}

  aie.core(%core) { aie.end }
  aie.core(%other) { aie.end }

  aie.mem(%core) {
    %c1 = arith.constant 1 : i32
    %0 = aie.dma_start(S2MM, 0, ^rows, ^next)
  ^rows:
    aie.use_lock(%free, AcquireGreaterEqual, %c1)
    aie.dma_bd(%a : memref<64xi32> offset = 8 len = 32 sizes = [4, 8] strides = [16, 1]) {bd_id = 3 : i32, next_bd_id = 4 : i32, packet = #aie.packet_info<pkt_type = 2, pkt_id = 7>}
    aie.use_lock(%full, Release, %c1)
    aie.next_bd ^halves
  ^halves:
    aie.use_lock(%free, Acquire, %c1)
    aie.dma_bd(%b : memref<256xbf16> offset = 2 len = 64 sizes = [2, 4, 8] strides = [128, 16, 1]) {bd_id = 4 : i32, next_bd_id = 3 : i32}
    aie.use_lock(%full, Release, %c1)
    aie.next_bd ^rows
  ^next:
    %1 = aie.dma_start(MM2S, 1, ^all, ^end, repeat_count = 255)
  ^all:
    aie.dma_bd(%a : memref<64xi32> len = 16) {bd_id = 15 : i32, iteration = #aie.bd_iteration<size = 3, stride = 16, current = 1>}
    aie.next_bd ^end
  ^end:
    aie.end
  }

  aie.memtile_dma(%mem) {
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %0 = aie.dma_start(MM2S, 0, ^padded, ^next) {pad_value = 5 : i32}
  ^padded:
    aie.use_lock(%east, AcquireGreaterEqual, %c2)
    aie.dma_bd(%m : memref<64xi16> offset = 0 len = 102 sizes = [2, 32] strides = [32, 1] pad [<const_pad_before = 0, const_pad_after = 1>, <const_pad_before = 2, const_pad_after = 0>]) {bd_id = 0 : i32, next_bd_id = 1 : i32}
    aie.use_lock(%east, Release, %c1)
    aie.next_bd ^east
  ^east:
    aie.dma_bd(%e : memref<6xi8> offset = 0 len = 4) {bd_id = 1 : i32}
    aie.next_bd ^end
  ^next:
    %1 = aie.dma_start(S2MM, 5, ^four, ^end)
  ^four:
    aie.use_lock(%own, AcquireGreaterEqual, %c1)
    aie.dma_bd(%m : memref<64xi16> offset = 0 len = 64 sizes = [2, 2, 4, 4] strides = [32, 16, 4, 1]) {bd_id = 24 : i32, iteration = #aie.bd_iteration<size = 64, stride = 64, current = 0>}
    aie.use_lock(%own, Release, %c1)
    aie.next_bd ^end
  ^end:
    aie.end
  }

  aie.shim_dma(%shim) {
    %c1 = arith.constant 1 : i32
    %0 = aie.dma_start(S2MM, 1, ^plain, ^next)
  ^plain:
    aie.dma_bd(%host : memref<512xi32>) {bd_id = 2 : i32, burst_length = 128 : i32}
    aie.next_bd ^end
  ^next:
    %1 = aie.dma_start(MM2S, 0, ^cube, ^end)
  ^cube:
    aie.use_lock(%done, Acquire, %c1)
    aie.dma_bd(%host : memref<512xi32> offset = 4 len = 24 sizes = [2, 3, 4] strides = [64, 8, 1]) {bd_id = 3 : i32, next_bd_id = 3 : i32}
    aie.use_lock(%done, Release, %c1)
    aie.next_bd ^cube
  ^end:
    aie.end
  }

  aie.switchbox(%shim) {
    aie.connect<South : 3, North : 2>
    %a0 = aie.amsel<5>(0)
    %down = aie.masterset(South : 2, %a0)
    %right = aie.masterset(East : 1, %a0)
    aie.packet_rules(North : 3) { aie.rule(31, 15, %a0) }
  }
  aie.switchbox(%mem) {
    aie.connect<South : 2, DMA : 4>
    aie.connect<DMA : 1, North : 0>
    aie.connect<Trace : 0, DMA : 5>
    %a0 = aie.amsel<0>(1)
    %up = aie.masterset(North : 1, %a0)
    %into = aie.masterset(DMA : 0, %a0) {keep_pkt_header = true}
    aie.packet_rules(South : 1) { aie.rule(28, 4, %a0) aie.rule(31, 0, %a0) }
  }
  aie.switchbox(%core) {
    aie.connect<South : 0, DMA : 0>
    aie.connect<Trace : 1, South : 3>
    %a0 = aie.amsel<1>(2)
    %a1 = aie.amsel<1>(3)
    %out = aie.masterset(South : 2, %a0)
    %into = aie.masterset(DMA : 1, %a0, %a1)
    %control = aie.masterset(TileControl : 0, %a1)
    aie.packet_rules(North : 1) { aie.rule(31, 4, %a0) aie.rule(30, 8, %a1) }
    aie.packet_rules(East : 2) { aie.rule(31, 7, %a0) aie.rule(31, 8, %a0) aie.rule(31, 9, %a1) aie.rule(24, 16, %a0) }
  }
  aie.shim_mux(%shim) {
    aie.connect<DMA : 0, North : 3>
    aie.connect<North : 2, DMA : 0>
    aie.connect<North : 3, DMA : 1>
  }
  aie.configure_cascade(%core, North, East)
  aie.configure_cascade(%other, West, South)
}
