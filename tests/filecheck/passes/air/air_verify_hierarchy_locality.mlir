// RUN: tilewright opt --air-verify-hierarchy-locality --verify-diagnostics %s

// Each core writes a row of its own: 4 rows of 16, and inside of a row 4 columns by 4.
func.func @apart(%a: memref<64x16xi32, 2>) {
  %c4 = arith.constant 4 : index
  air.herd tile (%x, %y) in (%nx=%c4, %ny=%c4) args(%b=%a) : memref<64x16xi32, 2> {
    %row = affine.apply affine_map<(d0) -> (d0 * 16)>(%x)
    %column = affine.apply affine_map<(d0) -> (d0 * 4)>(%y)
    %part = memref.subview %b[%row, %column] [16, 4] [1, 1] : memref<64x16xi32, 2> to memref<16x4xi32, strided<[16, 1], offset: ?>, 2>
  }
  return
}

// Cores that differ in y alone write one place.
func.func @together(%a: memref<64xi32, 2>) {
  %c4 = arith.constant 4 : index
  // expected-error @+1 {{kernel operand #0 of type 'memref<64xi32, 2>': iteration variable does not appear in any offset}}
  air.herd tile (%x, %y) in (%nx=%c4, %ny=%c4) args(%b=%a) : memref<64xi32, 2> {
    %v = arith.constant 1 : i32
    memref.store %v, %b[%x] : memref<64xi32, 2> // expected-note {{access here}}
  }
  return
}

// Reading is no harm, and memory of another level is not the herd's.
func.func @harmless(%a: memref<64xi32, 2>, %b: memref<64xi32, 1>) {
  %c4 = arith.constant 4 : index
  air.herd tile (%x, %y) in (%nx=%c4, %ny=%c4) args(%c=%a, %d=%b) : memref<64xi32, 2>, memref<64xi32, 1> {
    %v = memref.load %c[%x] : memref<64xi32, 2>
    air.channel.get @c[] (%d[] [] []) : (memref<64xi32, 1>)
  }
  return
}
