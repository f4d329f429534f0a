// A core tile has two channels in each direction; three fifos do not fit.
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  aie.objectfifo @a(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
  aie.objectfifo @b(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
  aie.objectfifo @c(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
}
