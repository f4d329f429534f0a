// RUN: tilewright opt --split-input-file --verify-diagnostics --aie-lower-dynamic-bd-pool %s

aie.device(npu1) {
  aie.runtime_sequence(%go: i1) {
    // expected-error@+2 {{scf.while in a runtime sequence is not supported by the dynamic BD pool path; only scf.for and scf.if are supported}}
    // expected-note@+1 {{the option allow-while of this pass lifts this restriction}}
    scf.while : () -> () {
      scf.condition(%go)
    } do {
      scf.yield
    }
  }
}

// -----

// The task of a chain has a block for each descriptor.
aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %go: i1) {
    scf.if %go {
      // expected-error@+1 {{dynamic BD pool lowering supports single-BD tasks only}}
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<8xi32>)
        // expected-note@+1 {{give this one a block of its own, and link it with aie.next_bd}}
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      }
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %go: i1) {
    scf.if %go {
    }
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      // expected-error@+1 {{pins a buffer descriptor ID inside a runtime-bound sequence that draws IDs from the dynamic pool}}
      aie.dma_bd(%a : memref<8xi32>) {bd_id = 1 : i32}
      aie.end
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %go: i1, %other: index) {
    // expected-error@+1 {{yields a pool-allocated task on only one branch of an scf.if}}
    %task = scf.if %go -> (index) {
      %then = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      }
      scf.yield %then : index
    } else {
      scf.yield %other : index
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note@+1 {{one of them is configured here}}
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    // expected-error@+1 {{carries tasks on different physical channels (tile/direction/channel) in the same value}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (index) {
      // expected-note@+1 {{another is configured here}}
      %next = aiex.dma_configure_task(%shim, MM2S, 1) {
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      }
      scf.yield %next : index
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %go: i1) {
    // expected-error@+1 {{yields tasks of 1 and of 2 buffer descriptors from its two branches at the same result}}
    %task = scf.if %go -> (index) {
      %then = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      }
      scf.yield %then : index
    } else {
      %else = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<8xi32>)
        aie.next_bd ^next
      ^next:
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      }
      scf.yield %else : index
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %n: index, %other: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    // expected-error@+1 {{carries a pool-allocated task, but yields something else in its place}}
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (index) {
      // expected-note@+1 {{here}}
      scf.yield %other : index
    }
  }
}

// -----

aie.device(npu1) {
  aie.runtime_sequence(%go: i1, %other: index) {
    scf.if %go {
      // expected-error@+1 {{does not resolve to a task allocated from the runtime pool; cannot return its buffer descriptor ID}}
      aiex.dma_free_task(%other)
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %go: i1) {
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    // expected-note@+1 {{it is freed here}}
    aiex.dma_free_task(%task)
    scf.if %go {
      // expected-error@+1 {{frees a task that is free already; its buffer descriptor would be given to two other tasks}}
      aiex.dma_free_task(%task)
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %task = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    scf.for %i = %c0 to %n step %c1 {
      // expected-warning@+2 {{frees in every iteration a task from outside of the loop}}
      // expected-note@+1 {{free it after the loop, or have the loop carry the task that is to be freed next}}
      aiex.dma_free_task(%task)
    }
  }
}

// -----

aie.device(npu1) {
  %shim = aie.tile(0, 0)
  aie.runtime_sequence(%a: memref<8xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-note@+1 {{it may be this one}}
    %first = aiex.dma_configure_task(%shim, MM2S, 0) {
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%before = %first) -> (index) {
      // expected-error@+1 {{starts a task that may be one of several, which differ in their repeat count}}
      aiex.dma_start_task(%before)
      // expected-note@+1 {{or this one}}
      %next = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<8xi32>)
        aie.end
      } {repeat_count = 1 : i32}
      scf.yield %next : index
    }
  }
}
