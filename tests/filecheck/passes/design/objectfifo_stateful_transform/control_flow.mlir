// RUN: tilewright opt --split-input-file --aie-objectFifo-stateful-transform %s | filecheck %s

// Counters that change in a loop are carried round it: first which buffer is the oldest, then how many are held. An
// access chooses the buffer. The hint says how often to unroll so that the choice is made when compiling.
// CHECK-LABEL: module @loop
// CHECK:       aie.core
// CHECK:         %[[LAST:.+]]:2 = scf.for %{{.*}} iter_args(%[[OLDEST:.+]] = %{{.*}}, %[[HELD:.+]] = %{{.*}}) -> (i32, i32) {
// CHECK:           %[[LACKING:.+]] = arith.subi %{{.*}}, %[[HELD]] : i32
// CHECK-NEXT:      %[[MISSING:.+]] = arith.maxsi %[[LACKING]], %{{.*}} : i32
// CHECK-NEXT:      aie.use_lock(%f_cons_cons_lock_0, AcquireGreaterEqual, %[[MISSING]])
// CHECK-NEXT:      %[[NOW:.+]] = arith.addi %[[HELD]], %[[MISSING]] : i32
// CHECK-NEXT:      %[[INDEX:.+]] = arith.index_cast %[[OLDEST]] : i32 to index
// CHECK-NEXT:      scf.index_switch %[[INDEX]] -> memref<16xi32>
// CHECK-NEXT:      case 0 {
// CHECK-NEXT:        scf.yield %f_cons_buff_1
// CHECK:           case 1 {
// CHECK-NEXT:        scf.yield %f_cons_buff_2
// CHECK:           case 2 {
// CHECK-NEXT:        scf.yield %f_cons_buff_0
// CHECK:           default {
// CHECK-NEXT:        scf.yield %f_cons_buff_1
// CHECK:           aie.use_lock(%f_cons_prod_lock_0, Release, %[[ONE:.+]])
// CHECK-NEXT:      %[[LESS:.+]] = arith.subi %[[NOW]], %[[ONE]] : i32
// CHECK:           %[[NEXT:.+]] = arith.addi %[[OLDEST]], %{{.*}} : i32
// CHECK-NEXT:      %[[ROUND:.+]] = arith.cmpi sge, %[[NEXT]], %{{.*}} : i32
// CHECK:           %[[STAYS:.+]] = arith.select %[[ROUND]], %{{.*}}, %[[NEXT]] : i32
// CHECK-NEXT:      scf.yield %[[STAYS]], %[[LESS]] : i32, i32
// CHECK-NEXT:    } {aie.unroll_hint = 3 : i64}
// CHECK:         aie.use_lock(%f_cons_prod_lock_0, Release
// CHECK-NEXT:    arith.subi %[[LAST]]#1
module @loop {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    aie.objectfifo @f(%shim, {%core}, 3 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %c8 step %c1 {
        %0 = aie.objectfifo.acquire @f(Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
        %a = aie.objectfifo.subview.access %0[1] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
        aie.objectfifo.release @f(Consume, 1)
      }
      aie.objectfifo.release @f(Consume, 1)
      aie.end
    }
  }
}

// -----

// A branch that changes a counter hands it on; one that is not there hands it on as it was. Results that were there stay
// first. A branch that only looks at a buffer changes nothing.
// CHECK-LABEL: module @branches
// CHECK:       aie.core
// CHECK:         %[[HELD:.+]] = arith.addi
// CHECK:         %[[AFTER:.+]]:3 = scf.if %{{.*}} -> (i1, i32, i32) {
// CHECK:           aie.use_lock(%f_cons_prod_lock_0, Release
// CHECK-NEXT:      %[[LESS:.+]] = arith.subi %[[HELD]]
// CHECK:           %[[NEXT:.+]] = arith.select
// CHECK-NEXT:      scf.yield %{{.*}}, %[[NEXT]], %[[LESS]] : i1, i32, i32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %{{.*}}, %{{.*}}, %[[HELD]] : i1, i32, i32
// CHECK:         %[[LATER:.+]]:2 = scf.if %[[AFTER]]#0 -> (i32, i32) {
// CHECK:           scf.yield %{{.*}}, %{{.*}} : i32, i32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[AFTER]]#1, %[[AFTER]]#2 : i32, i32
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      arith.index_cast %[[LATER]]#0 : i32 to index
module @branches {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    %flags = aie.buffer(%core) {sym_name = "flags"} : memref<1xi1>
    aie.objectfifo @f(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %c0 = arith.constant 0 : index
      %flag = memref.load %flags[%c0] : memref<1xi1>
      %0 = aie.objectfifo.acquire @f(Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
      %done = scf.if %flag -> (i1) {
        aie.objectfifo.release @f(Consume, 1)
        scf.yield %flag : i1
      } else {
        scf.yield %flag : i1
      }
      scf.if %done {
        aie.objectfifo.release @f(Consume, 1)
      }
      scf.if %flag {
        %a = aie.objectfifo.subview.access %0[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
      }
      aie.end
    }
  }
}

// -----

// Other loops and choices are no different.
// CHECK-LABEL: module @others
// CHECK:       aie.core
// CHECK:         %[[WHILE:.+]]:2 = scf.while (%[[A:.+]] = %{{.*}}, %[[B:.+]] = %{{.*}}) : (i32, i32) -> (i32, i32) {
// CHECK:           scf.condition(%{{.*}}) %[[A]], %[[B]] : i32, i32
// CHECK:         ^bb0(%{{.*}}: i32, %{{.*}}: i32):
// CHECK:           scf.yield %{{.*}}, %{{.*}} : i32, i32
// CHECK:         scf.index_switch %{{.*}} -> i32, i32
// CHECK-NEXT:    case 0 {
// CHECK:           scf.yield %{{.*}}, %{{.*}} : i32, i32
// CHECK:         default {
// CHECK-NEXT:      scf.yield %[[WHILE]]#0, %[[WHILE]]#1 : i32, i32
module @others {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    %flags = aie.buffer(%core) {sym_name = "flags"} : memref<1xi1>
    aie.objectfifo @f(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %c0 = arith.constant 0 : index
      scf.while : () -> () {
        %flag = memref.load %flags[%c0] : memref<1xi1>
        scf.condition(%flag)
      } do {
        %0 = aie.objectfifo.acquire @f(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
        aie.objectfifo.release @f(Consume, 1)
        scf.yield
      }
      scf.index_switch %c0
      case 0 {
        %0 = aie.objectfifo.acquire @f(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
        aie.objectfifo.release @f(Consume, 1)
        scf.yield
      }
      default {
      }
      aie.end
    }
  }
}

// -----

// Between blocks, those where ways come together get arguments.
// CHECK-LABEL: module @blocks
// CHECK:       aie.core
// CHECK:         cf.br ^bb1(%[[ZERO:.+]], %[[ZERO]] : i32, i32)
// CHECK:       ^bb1(%[[OLDEST:.+]]: i32, %[[HELD:.+]]: i32):
// CHECK:         arith.subi %{{.*}}, %[[HELD]] : i32
// CHECK:         cf.cond_br %{{.*}}, ^bb1(%[[NEXT:.+]], %[[LESS:.+]] : i32, i32), ^bb2
// CHECK:       ^bb2:
// CHECK:         arith.subi %{{.*}}, %[[LESS]] : i32
module @blocks {
  aie.device(npu1) {
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    %flags = aie.buffer(%core) {sym_name = "flags"} : memref<1xi1>
    aie.objectfifo @f(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    aie.core(%core) {
      %c0 = arith.constant 0 : index
      cf.br ^again
    ^again:
      %0 = aie.objectfifo.acquire @f(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @f(Consume, 1)
      %flag = memref.load %flags[%c0] : memref<1xi1>
      cf.cond_br %flag, ^again, ^done
    ^done:
      %1 = aie.objectfifo.acquire @f(Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.end
    }
  }
}
