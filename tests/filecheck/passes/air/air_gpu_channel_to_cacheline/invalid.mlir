// RUN: tilewright opt --air-gpu-channel-to-cacheline --split-input-file --verify-diagnostics %s

// expected-error @+1 {{'air.channel' op air-gpu-channel-to-cacheline initial scope supports exactly one put and one get per channel; got 0 puts and 0 gets}}
air.channel @C [1] {channel_type = "gpu_symmetric_heap"}

// -----

air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @no_kernel(%m: memref<32xi32, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%world=%c2) args(%d=%m) : memref<32xi32, #air.symmetric_heap> {
    // expected-error @+1 {{'air.channel.put' op must be enclosed by an air.herd op for the cacheline lowering}}
    air.channel.put @C[] (%d[] [] []) : (memref<32xi32, #air.symmetric_heap>)
    air.channel.get @C[] (%d[] [] []) : (memref<32xi32, #air.symmetric_heap>)
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @put_without_get(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        scf.if %is_0 {
          // expected-error @+1 {{'air.channel.put' op puts into @C[1] on rank 0, and nobody does the get}}
          air.channel.put @C[%c1] (%h[] [] []) : (memref<8xi32>)
        }
        scf.if %is_1 {
          air.channel.put @C[%c0] (%h[] [] []) : (memref<8xi32>)
        }
        scf.if %is_0 {
          air.channel.get @C[%c0] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @get_without_put(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        scf.if %is_0 {
          air.channel.put @C[%c0] (%h[] [] []) : (memref<8xi32>)
        }
        scf.if %is_1 {
          air.channel.get @C[%c0] (%h[] [] []) : (memref<8xi32>)
        }
        scf.if %is_0 {
          // expected-error @+1 {{'air.channel.get' op gets from @C[1] on rank 0, and nobody does the put}}
          air.channel.get @C[%c1] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}

// -----

air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @two_producers(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        scf.if %is_0 {
          air.channel.put @C[] (%h[] [] []) : (memref<8xi32>)
        }
        scf.if %is_1 {
          // expected-error @+1 {{'air.channel.put' op puts into @C[] on rank 1; rank 0 does so too, and a channel has one producer}}
          air.channel.put @C[] (%h[] [] []) : (memref<8xi32>)
        }
        scf.if %is_0 {
          air.channel.get @C[] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}

// -----

// Upstream's words, where it too could not tell: in a world of three the else branch runs on two ranks.
air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @several_consumers(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 3 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        scf.if %is_0 {
          air.channel.put @C[] (%h[] [] []) : (memref<8xi32>)
        } else {
          // expected-error @+1 {{'air.channel.get' op could not infer consumer rank from rank-dispatch context; expected enclosing `scf.if (arith.cmpi eq, %rid, %const : index)`}}
          air.channel.get @C[] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}

// -----

// In a line of three ranks the last one has no next.
air.channel @C [3] {channel_type = "gpu_symmetric_heap"}
func.func @out_of_range(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 3 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        %next = arith.addi %me, %c1 : index
        // expected-error @+1 {{'air.channel.put' op has 3 for index 0 on rank 2; the bundle has 3 there}}
          air.channel.put @C[%next] (%h[] [] []) : (memref<8xi32>)
        air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @no_such_rank(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        %is_2 = arith.cmpi eq, %me, %c2 : index
        scf.if %is_2 {
          // expected-error @+1 {{'air.channel.put' op could not infer producer rank from rank-dispatch context; expected enclosing `scf.if (arith.cmpi eq, %rid, %const : index)`}}
          air.channel.put @C[] (%h[] [] []) : (memref<8xi32>)
        }
        scf.if %is_0 {
          air.channel.get @C[] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}

// -----

// 31 words and a flag are a line.
air.channel @C [2] {channel_type = "gpu_symmetric_heap", protocol = "line"}
func.func @too_large_for_a_line(%m: memref<32xf64>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<32xf64>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<32xf64>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<32xf64>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        // expected-error @+1 {{'air.channel.put' op moves 256 bytes; a line holds 15 elements of type f64 beside its flag}}
          air.channel.put @C[%me] (%h[] [] []) : (memref<32xf64>)
        air.channel.get @C[%me] (%h[] [] []) : (memref<32xf64>)
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap", protocol = "line"}
func.func @unknown_length_in_a_line(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        // expected-error @+1 {{'air.channel.put' op moves a number of elements that is not known when compiling}}
          air.channel.put @C[%me] (%h[0] [%u] [1]) : (memref<8xi32>)
        air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @lengths_differ(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        air.channel.put @C[%me] (%h[] [] []) : (memref<8xi32>)
        // expected-error @+1 {{'air.channel.get' op moves 4 elements; elsewhere 8 at a time go through this channel}}
          air.channel.get @C[%me] (%h[0] [4] [1]) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @types_differ(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        %f = memref.alloc() : memref<8xf32, 2>
        air.channel.put @C[%me] (%h[] [] []) : (memref<8xi32>)
        // expected-error @+1 {{'air.channel.get' op moves elements of type f32; elsewhere i32 go through this channel}}
          air.channel.get @C[%me] (%f[] [] []) : (memref<8xf32, 2>)
      }
    }
  }
  return
}

// -----

// One message more is put than got.
air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @counts_differ(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        %c3 = arith.constant 3 : index
        scf.if %is_0 {
          scf.for %k = %c0 to %c3 step %c1 {
          // expected-error @+1 {{'air.channel.put' op puts 3 messages into @C[], of which 2 are got}}
          air.channel.put @C[] (%h[] [] []) : (memref<8xi32>)
          }
        }
        scf.if %is_1 {
          air.channel.get @C[] (%h[] [] []) : (memref<8xi32>)
          air.channel.get @C[] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @every_block(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 4 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        // expected-error @+1 {{'air.channel.put' op is done by every block of a launch of more than one, in no order}}
          air.channel.put @C[%me] (%h[] [] []) : (memref<8xi32>)
        air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @own_buffers(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 4 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        %l = memref.alloc() : memref<8xi32, 2>
        // expected-error @+1 {{'air.channel.put' op moves a buffer that each processing element has for itself, and all of them come here together}}
          air.channel.put @C[%me] (%l[] [] []) : (memref<8xi32, 2>)
        air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

// Element 1 of the herd has the same channel as element 3.
air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @shared_by_some(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 4 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        %half = arith.remui %x, %c2 : index
        scf.if %is_0 {
          // expected-error @+1 {{'air.channel.put' op puts into @C[0] from several blocks or processing elements of rank 0, in no order}}
          air.channel.put @C[%half] (%h[] [] []) : (memref<8xi32>)
        }
        scf.if %is_1 {
          air.channel.get @C[%half] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @unknown_index(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        // expected-error @+1 {{'air.channel.put' op chooses its channel by index 0, which cannot be told when compiling}}
          air.channel.put @C[%u] (%h[] [] []) : (memref<8xi32>)
        air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

air.channel @C [2, 2] {channel_type = "gpu_symmetric_heap"}
func.func @too_few_indices(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        // expected-error @+1 {{'air.channel.put' op has 1 indices into a bundle of 2 dimensions}}
          air.channel.put @C[%me] (%h[] [] []) : (memref<8xi32>)
        air.channel.get @C[%me, %me] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

// expected-error @+1 {{'air.channel' op has an unknown protocol; it must be "ordered" or "line"}}
air.channel @C [2] {channel_type = "gpu_symmetric_heap", protocol = "fast"}
func.func @unknown_protocol(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        air.channel.put @C[%me] (%h[] [] []) : (memref<8xi32>)
        air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

// expected-error @+1 {{'air.channel' op "buffer_resources" must be an integer of at least 1: messages that may be on their way}}
air.channel @C [2] {channel_type = "gpu_symmetric_heap", buffer_resources = 0 : i64}
func.func @no_depth(%m: memref<8xi32>, %unknown: index) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m, %ru=%unknown) : memref<8xi32>, index {
    %blocks = arith.constant 1 : index
    air.launch (%b) in (%bs=%blocks) args(%lr=%r, %lm=%rm, %lu=%ru) : index, memref<8xi32>, index {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm, %u=%lu) : index, memref<8xi32>, index {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %is_0 = arith.cmpi eq, %me, %c0 : index
        %is_1 = arith.cmpi eq, %me, %c1 : index
        air.channel.put @C[%me] (%h[] [] []) : (memref<8xi32>)
        air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @some_lanes(%m: memref<8xi32>) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m) : memref<8xi32> {
    %one = arith.constant 1 : index
    air.herd tile (%x) in (%nx=%one) args(%me=%r, %h=%rm) : index, memref<8xi32> {
      %c0 = arith.constant 0 : index
      %lane = gpu.lane_id
      %first = arith.cmpi eq, %lane, %c0 : index
      scf.if %first {
        // expected-error @+1 {{'air.channel.put' op is reached by some lanes of a wave only, or for different channels by them; all lanes take part}}
        air.channel.put @C[%me] (%h[] [] []) : (memref<8xi32>)
      }
      air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
    }
  }
  return
}

// -----

// Two waves of a herd, by different puts.
air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @two_waves(%m: memref<8xi32>) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m) : memref<8xi32> {
    %two = arith.constant 2 : index
    air.herd tile (%x) in (%nx=%two) args(%me=%r, %h=%rm) : index, memref<8xi32> {
      %c0 = arith.constant 0 : index
      %sends = arith.cmpi eq, %me, %c0 : index
      %first = arith.cmpi eq, %x, %c0 : index
      scf.if %sends {
        scf.if %first {
          air.channel.put @C[] (%h[] [] []) : (memref<8xi32>)
        } else {
          // expected-error @+1 {{'air.channel.put' op puts into @C[] from several blocks or processing elements of rank 0, in no order}}
          air.channel.put @C[] (%h[] [] []) : (memref<8xi32>)
        }
      } else {
        air.channel.get @C[] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

// Upstream's form keeps the message in the program's own buffer, so a rank cannot send to itself.
// expected-error @+1 {{'air.channel' op is put and got by the same rank, 0}}
air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @itself(%m: memref<32xi32, #air.symmetric_heap>) {
  %world = arith.constant 1 : index
  air.rank (%me) in (%rs=%world) args(%d=%m) : memref<32xi32, #air.symmetric_heap> {
    %one = arith.constant 1 : index
    air.herd tile (%x) in (%n=%one) args(%h=%d) : memref<32xi32, #air.symmetric_heap> {
      air.channel.put @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      air.channel.get @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
    }
  }
  return
}
