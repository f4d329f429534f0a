// The host's numbers to a core, one added to each, and back. Tokens say who may go on.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  %source = aie.buffer(%core) {sym_name = "source"} : memref<64xi32>
  %target = aie.buffer(%core) {sym_name = "target"} : memref<64xi32>
  aiex.token(0) {sym_name = "arrived"}
  aiex.token(0) {sym_name = "computed"}

  aie.core(%core) {
    aiex.useToken @arrived(Acquire, 1)
    %zero = arith.constant 0 : index
    %step = arith.constant 1 : index
    %end = arith.constant 64 : index
    %one = arith.constant 1 : i32
    scf.for %i = %zero to %end step %step {
      %value = memref.load %source[%i] : memref<64xi32>
      %sum = arith.addi %value, %one : i32
      memref.store %sum, %target[%i] : memref<64xi32>
    }
    aiex.useToken @computed(Release, 1)
    aie.end
  }

  aie.runtime_sequence @run(%input: memref<64xi32>, %output: memref<64xi32>) {
    aiex.memcpy @arrived(0, 1) (%shim : <%input, 0, 64>, %core : <%source, 0, 64>) : (memref<64xi32>, memref<64xi32>)
    aiex.memcpy @computed(1, 0) (%core : <%target, 0, 64>, %shim : <%output, 0, 64>) : (memref<64xi32>, memref<64xi32>)
  }
}
