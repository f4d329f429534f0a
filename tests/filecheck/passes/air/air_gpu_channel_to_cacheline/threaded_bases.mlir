// RUN: tilewright opt --air-gpu-channel-to-cacheline %s | filecheck %s
// A program that passes the table of heaps to its herds has it used, and gets no second one. Puts and gets that are
// asynchronous block, and whoever waits for them has nothing to wait for.

air.channel @C [2] {channel_type = "gpu_symmetric_heap"}
// CHECK-NOT: mgpuGetHeapBases
// CHECK-LABEL: func.func @exchange
func.func @exchange(%m: memref<8xi32>, %table: memref<?xindex, #air.symmetric_heap>) {
  %c2 = arith.constant 2 : index
  air.rank (%r) in (%rs=%c2) args(%rm=%m, %rt=%table) : memref<8xi32>, memref<?xindex, #air.symmetric_heap> {
    %one = arith.constant 1 : index
    // CHECK: air.herd {{.+}} args(%{{[^=]+}}=%{{[^=]+}}, %{{[^=]+}}=%{{[^=]+}}, %[[BASES:[^=]+]]=
    air.herd tile (%x) in (%nx=%one) args(%me=%r, %h=%rm, %bases=%rt) : index, memref<8xi32>, memref<?xindex, #air.symmetric_heap> {
      %c1 = arith.constant 1 : index
      %other = arith.xori %me, %c1 : index
      // CHECK:      air.translate %{{.+}}, %{{.+}}, %{{.+}}, %[[BASES]] :
      // CHECK:      %[[PUT:.+]] = air.wait_all async
      %put = air.channel.put async @C[%other] (%h[] [] []) : (memref<8xi32>)
      // CHECK-NEXT: air.wait_all [%[[PUT]]]
      // CHECK:      air.translate %{{.+}}, %{{.+}}, %{{.+}}, %[[BASES]] :
      // CHECK:      %[[GET:.+]] = air.wait_all async
      %get = air.channel.get async [%put] @C[%me] (%h[] [] []) : (memref<8xi32>)
      // CHECK-NEXT: air.wait_all [%[[GET]]]
      air.wait_all [%get]
    }
  }
  return
}
