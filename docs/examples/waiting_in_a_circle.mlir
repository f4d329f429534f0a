// Each core waits for what the other one is to send afterwards.
aie.device(npu1) {
  %left = aie.tile(0, 2)
  %right = aie.tile(1, 2)
  %ours = aie.buffer(%left) : memref<64xi32>
  %theirs = aie.buffer(%right) : memref<64xi32>
  aiex.token(0) {sym_name = "there"}
  aiex.token(0) {sym_name = "back"}
  aie.core(%left) {
    aiex.useToken @back(Acquire, 1)
    aiex.useToken @there(Release, 1)
    aie.end
  }
  aie.core(%right) {
    aiex.useToken @there(Acquire, 1)
    aiex.useToken @back(Release, 1)
    aie.end
  }
  aie.runtime_sequence @run() {
    aiex.memcpy @there(1, 1) (%left : <%ours, 0, 64>, %right : <%theirs, 0, 64>) : (memref<64xi32>, memref<64xi32>)
    aiex.memcpy @back(1, 1) (%right : <%theirs, 0, 64>, %left : <%ours, 0, 64>) : (memref<64xi32>, memref<64xi32>)
  }
}
