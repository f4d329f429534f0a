// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s

func.func @nested_ranks() {
  %c1 = arith.constant 1 : index
  air.rank (%i) in (%n=%c1) {
    %c2 = arith.constant 2 : index
    // expected-error @+1 {{'air.rank' op cannot be nested inside air.segment, air.herd, or another air.rank}}
    air.rank (%j) in (%m=%c2) { }
  }
  return
}

// -----

func.func @rank_in_herd() {
  %c1 = arith.constant 1 : index
  air.herd tile (%x) in (%n=%c1) {
    %c2 = arith.constant 2 : index
    // expected-error @+1 {{'air.rank' op cannot be nested inside air.segment, air.herd, or another air.rank}}
    air.rank (%j) in (%m=%c2) { }
  }
  return
}

// -----

func.func @unnamed_token() {
  // expected-error @+1 {{custom op 'air.launch' needs to be named when marked 'async'}}
  air.launch async () in () { }
  return
}

// -----

func.func @no_body() {
  // expected-error @+2 {{custom op 'air.segment' expects a body, or the name of one that is elsewhere}}
  air.segment
  return
}

// -----

func.func @values_from_outside(%n: index) {
  // expected-note @+1 {{required by region isolation constraints}}
  air.launch () in () {
    // expected-error @+1 {{'test.use' op using value defined outside the region}}
    "test.use"(%n) : (index) -> ()
  }
  return
}

// -----

func.func @far_memory_in_segment() {
  air.segment {
    // expected-error @+1 {{'memref.alloc' op memref.alloc inside air.segment must have memory space >= L2, but found memory space L3}}
    %0 = memref.alloc() : memref<8xf32>
  }
  return
}

// -----

func.func @shared_memory_in_herd() {
  %c1 = arith.constant 1 : index
  air.herd tile (%x) in (%n=%c1) {
    // expected-error @+1 {{'memref.alloc' op memref.alloc inside air.herd must have memory space >= L1, but found memory space L2}}
    %0 = memref.alloc() : memref<8xf32, 1>
  }
  return
}

// -----

func.func @far_access(%far: memref<8xf32, 1>, %value: vector<4xf32>) {
  %c1 = arith.constant 1 : index
  air.herd tile (%x) in (%n=%c1) args(%b=%far, %v=%value) : memref<8xf32, 1>, vector<4xf32> {
    // expected-error @+1 {{'vector.store' op inside 'air.herd' accesses memref with memory_space L2; AIE core tiles can only access L1 or more local memory directly. Use air.dma_memcpy_nd to stage data first.}}
    vector.store %v, %b[%x] : memref<8xf32, 1>, vector<4xf32>
  }
  return
}

// -----

// The symmetric heap is within reach of every processing element, and so is all memory in a program for GPUs.
func.func @near_enough(%heap: memref<8xf32, #air.symmetric_heap>) {
  %c1 = arith.constant 1 : index
  air.herd tile (%x) in (%n=%c1) args(%b=%heap) : memref<8xf32, #air.symmetric_heap> {
    %0 = memref.load %b[%x] : memref<8xf32, #air.symmetric_heap>
    %1 = memref.alloc() : memref<8xf32, #air.symmetric_heap>
  }
  return
}

// -----

module attributes {gpu.container_module} {
  func.func @gpu(%far: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    air.herd tile (%x) in (%n=%c1) args(%b=%far) : memref<8xf32> {
      %0 = memref.load %b[%x] : memref<8xf32>
    }
    return
  }
}
