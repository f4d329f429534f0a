// RUN: tilewright opt --air-enforce-channel-fifo-order %s | filecheck %s

// Gets of one channel into different buffers wait for each other in line; the third one waits for the second alone.
// CHECK-LABEL: func.func @gets
// CHECK:         %[[FIRST:.+]] = air.channel.get async @c[%c0] (%arg0
// CHECK-NEXT:    %[[SECOND:.+]] = air.channel.get async [%[[FIRST]]] @c[%c0] (%arg1
// CHECK-NEXT:    %{{.+}} = air.channel.get async [%[[SECOND]]] @c[%c0] (%arg2
func.func @gets(%a: memref<8xi32, 1>, %b: memref<8xi32, 1>, %d: memref<8xi32, 1>) {
  %c0 = arith.constant 0 : index
  %0 = air.channel.get async @c[%c0] (%a[] [] []) : (memref<8xi32, 1>)
  %1 = air.channel.get async @c[%c0] (%b[] [] []) : (memref<8xi32, 1>)
  %2 = air.channel.get async @c[%c0] (%d[] [] []) : (memref<8xi32, 1>)
  return
}

// The two ends of a channel, other channels of the bundle and other channels have orders of their own. Two constants
// with one value are one index; two values that are not known are two.
// CHECK-LABEL: func.func @ends
// CHECK:         %[[PUT:.+]] = air.channel.put async @c[%c0] (%arg0
// CHECK-NEXT:    air.channel.get async @c[%c0] (%arg1
// CHECK-NEXT:    air.channel.put async @c[%c1] (%arg0
// CHECK-NEXT:    air.channel.put async @d[] (%arg0
// CHECK-NEXT:    %[[X:.+]] = air.channel.put async @c[%arg2] (%arg0
// CHECK-NEXT:    air.channel.put async @c[%arg3] (%arg0
// CHECK-NEXT:    air.channel.put async [%[[X]]] @c[%arg2] (%arg0
// CHECK-NEXT:    air.channel.put async [%[[PUT]]] @c[%c0_0] (%arg1
func.func @ends(%a: memref<8xi32, 1>, %b: memref<8xi32, 1>, %x: index, %y: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c0_again = arith.constant 0 : index
  %0 = air.channel.put async @c[%c0] (%a[] [] []) : (memref<8xi32, 1>)
  %1 = air.channel.get async @c[%c0] (%b[] [] []) : (memref<8xi32, 1>)
  %2 = air.channel.put async @c[%c1] (%a[] [] []) : (memref<8xi32, 1>)
  %3 = air.channel.put async @d[] (%a[] [] []) : (memref<8xi32, 1>)
  %4 = air.channel.put async @c[%x] (%a[] [] []) : (memref<8xi32, 1>)
  %5 = air.channel.put async @c[%y] (%a[] [] []) : (memref<8xi32, 1>)
  %6 = air.channel.put async @c[%x] (%a[] [] []) : (memref<8xi32, 1>)
  %7 = air.channel.put async @c[%c0_again] (%b[] [] []) : (memref<8xi32, 1>)
  return
}

// A put that blocks waits as well, and nothing has to wait for it; a token that is waited for already is not added.
// CHECK-LABEL: func.func @blocks
// CHECK:         %[[FIRST:.+]] = air.channel.put async @d[] (%arg0
// CHECK-NEXT:    air.channel.put [%[[FIRST]]] @d[] (%arg1
// CHECK-NEXT:    %[[THIRD:.+]] = air.channel.put async @d[] (%arg0
// CHECK-NEXT:    air.channel.put async [%[[THIRD]]] @d[] (%arg1
func.func @blocks(%a: memref<8xi32, 1>, %b: memref<8xi32, 1>) {
  %0 = air.channel.put async @d[] (%a[] [] []) : (memref<8xi32, 1>)
  air.channel.put @d[] (%b[] [] []) : (memref<8xi32, 1>)
  %1 = air.channel.put async @d[] (%a[] [] []) : (memref<8xi32, 1>)
  %2 = air.channel.put async [%1] @d[] (%b[] [] []) : (memref<8xi32, 1>)
  return
}

// What loops and the code around them do is not put in line.
// CHECK-LABEL: func.func @loop
// CHECK:         air.channel.put async @d[] (%arg0
// CHECK:         scf.for
// CHECK-NEXT:      air.channel.put async @d[] (%arg0
func.func @loop(%a: memref<8xi32, 1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = air.channel.put async @d[] (%a[] [] []) : (memref<8xi32, 1>)
  scf.for %i = %c0 to %c4 step %c1 {
    %1 = air.channel.put async @d[] (%a[] [] []) : (memref<8xi32, 1>)
  }
  return
}

air.channel @c [2]
air.channel @d []
