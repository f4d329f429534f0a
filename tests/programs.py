"""Runtime sequences that tests of several parts are about."""

WRITES = """
aie.device(npu2) {
  aie.runtime_sequence @writes(%buffer: memref<64xi32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %address = arith.constant 4096 : i32
    scf.for %i = %c0 to %n step %c1 {
      %value = arith.index_cast %i : index to i32
      aiex.npu.write32(%address, %value) {column = 0 : i32, row = 2 : i32} : i32, i32
    }
  }
}
"""
"""One register written n times, with the numbers from 0."""
WRITES_WORDS = {0: 4, 4: 28, 16: 100, 64: 388}
"""How long its stream is for some n: a header of 4 words, and 6 for each write."""

LINES = """
aie.device(npu2) {
  aie.runtime_sequence @lines(%buffer: memref<?xi8>, %lines: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %queue = arith.constant 0x1D214 : i32
    %push = arith.constant 0x80000000 : i32
    %line_bytes = arith.constant 1920 : i32
    scf.for %i = %c0 to %lines step %c1 : i32 {
      %offset = arith.muli %i, %line_bytes : i32
      aiex.npu.address_patch(%offset : i32) {addr = 0x1D004 : ui32, arg_idx = 0 : i32}
      aiex.npu.write32(%queue, %push) : i32, i32
      aiex.npu.sync(%c0, %c0, %c1, %c0, %c1, %c1) : i32, i32, i32, i32, i32, i32
    }
  }
}
"""
"""A transfer for each line of a picture: its address, a push and a wait."""
LINES_WORDS = {1: 26, 8: 180, 32: 708}
"""How long its stream is for some numbers of lines: a header of 4 words, and 12 + 6 + 4 for each line."""

FIXED_TRANSFER = """\
  aie.runtime_sequence @fixed(%a: memref<64xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @in} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @in}
  }
"""  # noqa: E501
"""A sequence without scalars, for a device that has a shim channel called `in`."""

COPY = """aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo.link [@in] -> [@out] ([] [])
  aie.runtime_sequence @copy(%a: memref<64xi32>, %b: memref<64xi32>) {
BODY
  }
}
"""
"""A way from the host through a mem tile and back, for a sequence that has yet to be given."""
