// RUN: tilewright opt --split-input-file --verify-diagnostics --tilewright-lint-queue-depth %s

// A DMA channel queues four tasks and drops the fifth. Whoever does not wait in between risks that.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.shim_dma_allocation @in(%shim, MM2S, 0)
  aie.runtime_sequence @five_pushes(%a: memref<64xi32>) {
    // expected-note@+1 {{the oldest of them, BD 0, is pushed here}}
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 2 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 3 : i64, metadata = @in} : memref<64xi32>
    // expected-warning@+2 {{push of BD 4 on shim tile (0, 0) MM2S 0 may be dropped: its queue may hold 4 tasks already, none of them awaited}}
    // expected-note@+1 {{await one of these tasks before this push, or move some of them to another channel; so far there is no token to wait for (issue_token)}}
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 4 : i64, metadata = @in} : memref<64xi32>
  }
}

// -----

// A wait takes one token, that of the oldest task: after it there is room for one more push, not for two.
aie.device(npu1) {
  aie.runtime_sequence @one_token() {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    aiex.npu.push_queue(0, 0, S2MM : 1) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
    aiex.npu.push_queue(0, 0, S2MM : 1) bd_id %c1 repeat %c0 {issue_token = true} : i32, i32
    aiex.npu.push_queue(0, 0, S2MM : 1) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
    aiex.npu.push_queue(0, 0, S2MM : 1) bd_id %c1 repeat %c0 {issue_token = true} : i32, i32
    aiex.npu.sync(%c0, %c0, %c0, %c1, %c1, %c1) : i32, i32, i32, i32, i32, i32
    aiex.npu.push_queue(0, 0, S2MM : 1) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
    // expected-warning@+1 {{push of BD 1 on shim tile (0, 0) S2MM 1 may be dropped}}
    aiex.npu.push_queue(0, 0, S2MM : 1) bd_id %c1 repeat %c0 {issue_token = true} : i32, i32
  }
}

// -----

// Channels and tiles have queues of their own. Tasks before one that is awaited need no tokens.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  %other = aie.tile(1, 0)
  aie.runtime_sequence @four_each(%a: memref<64xi32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 1) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(1, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
    aiex.npu.sync(%c0, %c0, %c1, %c0, %c1, %c1) : i32, i32, i32, i32, i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
  }
}

// -----

// A loop counts as often as it runs: four times is fine, five times is not.
aie.device(npu2) {
  aie.runtime_sequence @four_times() {
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
    }
  }
  aie.runtime_sequence @five_times() {
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c9 = arith.constant 9 : index
    scf.for %i = %c0 to %c9 step %c2 {
      // expected-warning@+2 {{push of BD 0 on shim tile (2, 0) MM2S 0 may be dropped}}
      // expected-note@+1 {{the oldest of them, BD 0, is pushed here}}
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
    }
  }
  aie.runtime_sequence @nobody_knows(%n: index) {
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note@+1 {{this loop may run often enough for that: how often it runs is not known here}}
    scf.for %i = %c0 to %n step %c1 {
      // expected-warning@+1 {{push of BD 0 on shim tile (2, 0) MM2S 0 may be dropped}}
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
    }
  }
  aie.runtime_sequence @until_something(%go: i1) {
    %zero = arith.constant 0 : i32
    // expected-note@+1 {{this loop may run often enough for that}}
    scf.while : () -> () {
      scf.condition(%go)
    } do {
      // expected-warning@+1 {{push of BD 0 on shim tile (2, 0) MM2S 0 may be dropped}}
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
      scf.yield
    }
  }
  aie.runtime_sequence @never() {
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c1 to %c0 step %c1 {
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
      aiex.npu.push_queue(2, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32
    }
  }
}

// -----

// A wait in the loop is one per round, so that its queue never fills; nor does that of a task that the loop hands on.
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence @waits(%a: memref<64xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
    }
  }
  aie.runtime_sequence @waits_for_the_one_before(%a: memref<64xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
      aie.end
    } {issue_token = true}
    aiex.dma_start_task(%first)
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (index) {
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<64xi32> offset = 0 len = 64)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%before)
      scf.yield %task : index
    }
    aiex.dma_await_task(%last)
  }
}

// -----

// Of two branches the one that pushes more counts, wherever they meet.
aie.device(npu1) {
  aie.runtime_sequence @worse_branch(%which: i1) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
    scf.if %which {
      aiex.npu.sync(%c0, %c0, %c1, %c0, %c1, %c1) : i32, i32, i32, i32, i32, i32
    } else {
      aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
      aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
      aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = true} : i32, i32
    }
    // expected-warning@+1 {{push of BD 1 on shim tile (0, 0) MM2S 0 may be dropped}}
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c1 repeat %c0 {issue_token = true} : i32, i32
  }
}

// -----

// What is lowered already is read from the registers that it writes: 119316 is the queue of MM2S 0 in a shim tile. That
// the number of the descriptor is not known changes nothing.
aie.device(npu1) {
  aie.runtime_sequence @registers(%bd: i32) {
    %queue = arith.constant 119316 : i32
    %token = arith.constant 0x80000000 : i32
    %word = arith.ori %token, %bd : i32
    aiex.npu.write32(%queue, %word) {column = 0 : i32, row = 0 : i32} : i32, i32
    aiex.npu.write32(%queue, %word) {column = 0 : i32, row = 0 : i32} : i32, i32
    aiex.npu.write32(%queue, %word) : i32, i32
    aiex.npu.write32(%queue, %word) : i32, i32
    // expected-warning@+2 {{push of a BD on shim tile (0, 0) MM2S 0 may be dropped}}
    // expected-note@+1 {{await one of these tasks before this push, or move some of them to another channel}}
    aiex.npu.write32(%queue, %word) : i32, i32
  }
}

// -----

// A wait for another channel says nothing about this one, but most designs mean it to.
aie.device(npu1) {
  aie.runtime_sequence @paced() {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    // expected-note@+1 {{this waits for something else; that the task is done by then is up to the design}}
    aiex.npu.sync(%c0, %c0, %c0, %c0, %c1, %c1) : i32, i32, i32, i32, i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    // expected-remark@+1 {{push of BD 0 on shim tile (0, 0) MM2S 0 may be dropped}}
    aiex.npu.push_queue(0, 0, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
  }
}

// -----

// Resetting a channel empties its queue.
aie.device(npu1) {
  %core = aie.tile(0, 2)
  aie.runtime_sequence @reset() {
    %c0 = arith.constant 0 : i32
    aiex.npu.push_queue(0, 2, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 2, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 2, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.npu.push_queue(0, 2, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
    aiex.dma_channel_reset(%core, MM2S, 0)
    aiex.npu.push_queue(0, 2, MM2S : 0) bd_id %c0 repeat %c0 {issue_token = false} : i32, i32
  }
}
