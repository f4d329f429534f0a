"""The same in MLIR, with a mistake: what arrives at a second tile is passed on to nobody"""

import numpy as np

import tilewright as tw

design = tw.compile("""
aie.device(npu1) {
  %shim_0_0 = aie.tile(0, 0)
  %mem_0_1 = aie.tile(0, 1)
  %mem_1_1 = aie.tile(1, 1)
  aie.objectfifo @in(%shim_0_0, {%mem_0_1, %mem_1_1}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
  aie.objectfifo @out(%mem_0_1, {%shim_0_0}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<512xi32>, %b: memref<512xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 512][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<512xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 512][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<512xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
""")
design.run(np.arange(512, dtype=np.int32), np.zeros(512, np.int32))
