// RUN: tilewright opt --air-gpu-channel-to-cacheline --split-input-file --verify-diagnostics %s

// expected-error @+1 {{'air.channel' op air-gpu-channel-to-cacheline initial scope supports exactly one put and one get per channel; got 0 puts and 0 gets}}
air.channel @C [1] {channel_type = "gpu_symmetric_heap"}

// -----

air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @no_herd(%m: memref<32xi32, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%world=%c2) args(%d=%m) : memref<32xi32, #air.symmetric_heap> {
    // expected-error @+1 {{'air.channel.put' op must be enclosed by an air.herd op for the cacheline lowering}}
    air.channel.put @C[] (%d[] [] []) : (memref<32xi32, #air.symmetric_heap>)
    air.channel.get @C[] (%d[] [] []) : (memref<32xi32, #air.symmetric_heap>)
  }
  return
}

// -----

air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @too_large(%m: memref<64xi32, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%world=%c2) args(%d=%m) : memref<64xi32, #air.symmetric_heap> {
    %c1 = arith.constant 1 : index
    air.herd tile (%x) in (%n=%c1) args(%h=%d) : memref<64xi32, #air.symmetric_heap> {
      // expected-error @+1 {{'air.channel.put' op initial-PR scope requires src memref type `memref<32xi32, #air.symmetric_heap>`}}
      air.channel.put @C[] (%h[] [] []) : (memref<64xi32, #air.symmetric_heap>)
      air.channel.get @C[] (%h[] [] []) : (memref<64xi32, #air.symmetric_heap>)
    }
  }
  return
}

// -----

// In a world of three the else branch runs on two of them.
air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @several_consumers(%m: memref<32xi32, #air.symmetric_heap>) {
  %c3 = arith.constant 3 : index
  air.rank (%me) in (%world=%c3) args(%d=%m) : memref<32xi32, #air.symmetric_heap> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = arith.cmpi eq, %me, %c0 : index
    scf.if %first {
      air.herd tile (%x) in (%n=%c1) args(%h=%d) : memref<32xi32, #air.symmetric_heap> {
        air.channel.put @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      }
    } else {
      air.herd tile (%x) in (%n=%c1) args(%h=%d) : memref<32xi32, #air.symmetric_heap> {
        // expected-error @+1 {{'air.channel.get' op could not infer consumer rank from rank-dispatch context; expected enclosing `scf.if (arith.cmpi eq, %rid, %const : index)`}}
        air.channel.get @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      }
    }
  }
  return
}

// -----

air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @no_bases(%m: memref<32xi32, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%me) in (%world=%c2) args(%d=%m) : memref<32xi32, #air.symmetric_heap> {
    %c1 = arith.constant 1 : index
    %second = arith.cmpi eq, %me, %c1 : index
    scf.if %second {
      // expected-error @+1 {{'air.herd' op no `memref<?xindex, #air.symmetric_heap>` arg in herd; please thread `%bases` through air.launch/segment/herd args() so the put expansion can address peer ranks}}
      air.herd tile (%x) in (%n=%c1) args(%h=%d) : memref<32xi32, #air.symmetric_heap> {
        air.channel.put @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      }
    } else {
      air.herd tile (%x) in (%n=%c1) args(%h=%d) : memref<32xi32, #air.symmetric_heap> {
        air.channel.get @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      }
    }
  }
  return
}

// -----

// expected-error @+1 {{'air.channel' op is put and got by the same rank, 0}}
air.channel @C [] {channel_type = "gpu_symmetric_heap"}
func.func @itself(%m: memref<32xi32, #air.symmetric_heap>, %heaps: memref<?xindex, #air.symmetric_heap>) {
  %c1 = arith.constant 1 : index
  air.rank (%me) in (%world=%c1) args(%d=%m, %bases=%heaps) : memref<32xi32, #air.symmetric_heap>, memref<?xindex, #air.symmetric_heap> {
    %one = arith.constant 1 : index
    air.herd tile (%x) in (%n=%one) args(%h=%d, %b=%bases) : memref<32xi32, #air.symmetric_heap>, memref<?xindex, #air.symmetric_heap> {
      air.channel.put @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
      air.channel.get @C[] (%h[] [] []) : (memref<32xi32, #air.symmetric_heap>)
    }
  }
  return
}
