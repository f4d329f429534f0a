// RUN: tilewright opt --air-gpu-channel-to-cacheline --split-input-file --verify-diagnostics %s
// Channels of a bundle are told apart one by one: what would take long is refused before it begins.

air.channel @C [2, 65536] {channel_type = "gpu_symmetric_heap"}
func.func @each_element(%m: memref<8xi32>) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m) : memref<8xi32> {
    %one = arith.constant 1 : index
    air.launch (%b) in (%bs=%one) args(%lr=%r, %lm=%rm) : index, memref<8xi32> {
      %waves = arith.constant 65536 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm) : index, memref<8xi32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        // expected-error @+1 {{'air.channel.put' op is come to by more than 65536 ranks, workers and turns of loops together}}
        air.channel.put @C[%me, %x] (%h[] [] []) : (memref<8xi32>)
        air.channel.get @C[%me, %x] (%h[] [] []) : (memref<8xi32>)
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @each_turn(%m: memref<8xi32>) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m) : memref<8xi32> {
    %one = arith.constant 1 : index
    air.launch (%b) in (%bs=%one) args(%lr=%r, %lm=%rm) : index, memref<8xi32> {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm) : index, memref<8xi32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %turns = arith.constant 1000000000000 : index
        scf.for %i = %c0 to %turns step %c1 {
          %at = arith.andi %i, %c1 : index
          // expected-error @+1 {{'air.channel.put' op is come to by more than 65536 ranks, workers and turns of loops together}}
          air.channel.put @C[%at] (%h[] [] []) : (memref<8xi32>)
          air.channel.get @C[%at] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}

// -----

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
func.func @turns_that_do_not_come(%m: memref<8xi32>) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m) : memref<8xi32> {
    %one = arith.constant 1 : index
    air.launch (%b) in (%bs=%one) args(%lr=%r, %lm=%rm) : index, memref<8xi32> {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm) : index, memref<8xi32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %turns = arith.constant 1000000 : index
        scf.for %i = %c0 to %turns step %c1 {
          %comes = arith.cmpi slt, %i, %c0 : index
          scf.if %comes {
            // expected-error @+1 {{'air.channel.put' op is come to by more than 65536 ranks, workers and turns of loops together}}
            air.channel.put @C[%me] (%h[] [] []) : (memref<8xi32>)
            air.channel.get @C[%me] (%h[] [] []) : (memref<8xi32>)
          }
        }
      }
    }
  }
  return
}

// -----

air.channel @C [1, 1] {broadcast_shape = [65536, 65536], channel_type = "gpu_symmetric_heap"}
func.func @broadcast(%m: memref<8xi32>) {
  %world = arith.constant 2 : index
  air.rank (%r) in (%rs=%world) args(%rm=%m) : memref<8xi32> {
    %one = arith.constant 1 : index
    air.launch (%b) in (%bs=%one) args(%lr=%r, %lm=%rm) : index, memref<8xi32> {
      %waves = arith.constant 1 : index
      air.herd tile (%x) in (%nx=%waves) args(%me=%lr, %h=%lm) : index, memref<8xi32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %sends = arith.cmpi eq, %me, %c0 : index
        scf.if %sends {
          // expected-error @+1 {{'air.channel.put' op reaches 4294967296 channels; 65536 are told apart}}
          air.channel.put @C[%c0, %c0] (%h[] [] []) : (memref<8xi32>)
        } else {
          air.channel.get @C[%c0, %c1] (%h[] [] []) : (memref<8xi32>)
        }
      }
    }
  }
  return
}
