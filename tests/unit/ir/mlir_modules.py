# ruff: noqa: E501  (rows of MLIR text)
"""Random programs over upstream dialects, as text: valid MLIR that a seed reproduces.

Rows of `OPERATIONS` are operations with `%{type}` for an operand and ` => types` for the results (`-` for one that is
never used again). `modules` puts them together, with nested regions, control flow, attributes and locations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

OPERATIONS = """
arith.addi %{i32}, %{i32} : i32 => i32
arith.addi %{i32}, %{i32} overflow<nsw, nuw> : i32 => i32
arith.subi %{i64}, %{i64} overflow<nsw> {x.y = 1 : i32} : i64 => i64
arith.muli %{vector<4xi32>}, %{vector<4xi32>} : vector<4xi32> => vector<4xi32>
arith.divsi %{i32}, %{i32} : i32 => i32
arith.divui %{i32}, %{i32} : i32 => i32
arith.ceildivsi %{i32}, %{i32} : i32 => i32
arith.ceildivui %{i32}, %{i32} : i32 => i32
arith.floordivsi %{i32}, %{i32} : i32 => i32
arith.remsi %{i32}, %{i32} : i32 => i32
arith.remui %{i32}, %{i32} : i32 => i32
arith.andi %{i32}, %{i32} : i32 => i32
arith.ori %{i1}, %{i1} : i1 => i1
arith.xori %{i8}, %{i8} : i8 => i8
arith.shli %{i32}, %{i32} overflow<nuw> : i32 => i32
arith.shrsi %{i32}, %{i32} : i32 => i32
arith.shrui %{i32}, %{i32} : i32 => i32
arith.maxsi %{i32}, %{i32} : i32 => i32
arith.maxui %{i32}, %{i32} : i32 => i32
arith.minsi %{i32}, %{i32} : i32 => i32
arith.minui %{index}, %{index} : index => index
arith.addui_extended %{i32}, %{i32} : i32, i1 => i32, i1
arith.mulsi_extended %{i32}, %{i32} : i32 => i32, i32
arith.mului_extended %{i32}, %{i32} : i32 => i32, i32
arith.addf %{f32}, %{f32} : f32 => f32
arith.subf %{f32}, %{f32} fastmath<fast> : f32 => f32
arith.mulf %{f64}, %{f64} fastmath<nnan, contract> : f64 => f64
arith.divf %{f16}, %{f16} : f16 => f16
arith.remf %{bf16}, %{bf16} : bf16 => bf16
arith.maximumf %{f32}, %{f32} : f32 => f32
arith.maxnumf %{f32}, %{f32} : f32 => f32
arith.minimumf %{f32}, %{f32} : f32 => f32
arith.minnumf %{f32}, %{f32} fastmath<reassoc> : f32 => f32
arith.negf %{f32} : f32 => f32
arith.negf %{f32} fastmath<ninf> : f32 => f32
arith.cmpi slt, %{i32}, %{i32} : i32 => i1
arith.cmpi ugt, %{index}, %{index} : index => i1
arith.cmpf oeq, %{f32}, %{f32} : f32 => i1
arith.cmpf ult, %{f32}, %{f32} fastmath<nnan> : f32 => i1
arith.select %{i1}, %{i32}, %{i32} : i32 => i32
arith.select %{vector<4xi1>}, %{vector<4xf32>}, %{vector<4xf32>} : vector<4xi1>, vector<4xf32> => vector<4xf32>
arith.extsi %{i8} : i8 to i32 => i32
arith.extui %{i8} : i8 to i32 => i32
arith.trunci %{i64} : i64 to i32 => i32
arith.trunci %{i64} overflow<nsw> : i64 to i32 => i32
arith.extf %{f32} : f32 to f64 => f64
arith.truncf %{f64} : f64 to f32 => f32
arith.truncf %{f32} to_nearest_even : f32 to bf16 => bf16
arith.sitofp %{i32} : i32 to f32 => f32
arith.uitofp %{i32} : i32 to f32 => f32
arith.fptosi %{f32} : f32 to i32 => i32
arith.fptoui %{f32} : f32 to i32 => i32
arith.index_cast %{index} : index to i32 => i32
arith.index_castui %{i32} : i32 to index => index
arith.bitcast %{i32} : i32 to f32 => f32
arith.constant -5 : i64 => i64
arith.constant 7 : index => index
arith.constant true => i1
arith.constant 0.1 : f32 => f32
arith.constant 0x7F800000 : f32 => f32
arith.constant 3.0e-3 : f64 => f64
arith.constant 1.2345e-7 : f16 => f16
arith.constant dense<[1, 2, 3, 4]> : vector<4xi32> => vector<4xi32>
arith.constant dense<0.0> : vector<4xf32> => vector<4xf32>
arith.constant dense<true> : vector<4xi1> => vector<4xi1>
arith.constant dense<[[1.0, 2.0], [3.0, 4.5]]> : tensor<2x2xf32> => tensor<2x2xf32>
arith.constant {x.a} 1 : i32 => i32
arith.constant 5 : i32 => i32
arith.constant 1.5 : f32 => f32
math.absf %{f32} : f32 => f32
math.absi %{i32} : i32 => i32
math.sqrt %{f32} fastmath<fast> : f32 => f32
math.exp %{f32} : f32 => f32
math.powf %{f32}, %{f32} : f32 => f32
math.fma %{f32}, %{f32}, %{f32} : f32 => f32
math.ctpop %{i32} : i32 => i32
math.ipowi %{i32}, %{i32} : i32 => i32
math.fpowi %{f32}, %{i32} : f32, i32 => f32
math.atan2 %{f32}, %{f32} : f32 => f32
math.copysign %{f32}, %{f32} : f32 => f32
math.tanh %{vector<4xf32>} : vector<4xf32> => vector<4xf32>
math.ctlz %{i32} : i32 => i32
math.roundeven %{f32} : f32 => f32
math.isnan %{f32} : f32 => i1
index.constant 5 => index
index.add %{index}, %{index} => index
index.cmp slt(%{index}, %{index}) => i1
index.casts %{i32} : i32 to index => index
complex.create %{f32}, %{f32} : complex<f32> => complex<f32>
complex.add %{complex<f32>}, %{complex<f32>} : complex<f32> => complex<f32>
complex.re %{complex<f32>} : complex<f32> => f32
complex.constant [1.0 : f32, 2.0 : f32] : complex<f32> => complex<f32>
ub.poison : i32 => i32
memref.alloc() : memref<4x8xi32> => memref<4x8xi32>
memref.alloc(%{index}) : memref<?x8xf32> => memref<?x8xf32>
memref.alloc() {alignment = 64 : i64} : memref<16xf32> => memref<16xf32>
memref.alloc(%{index})[%{index}] : memref<?xf32, affine_map<(d0)[s0] -> (d0 + s0)>> => -
memref.alloc() : memref<4x8xi32, 2> => memref<4x8xi32, 2>
memref.alloca() : memref<16xi8> => memref<16xi8>
memref.dealloc %{memref<4x8xi32>} : memref<4x8xi32>
memref.load %{memref<4x8xi32>}[%{index}, %{index}] : memref<4x8xi32> => i32
memref.load %{memref<4x8xi32>}[%{index}, %{index}] {nontemporal = true} : memref<4x8xi32> => i32
memref.store %{i32}, %{memref<4x8xi32>}[%{index}, %{index}] : memref<4x8xi32>
memref.store %{i32}, %{memref<4x8xi32, 2>}[%{index}, %{index}] : memref<4x8xi32, 2>
memref.dim %{memref<?x8xf32>}, %{index} : memref<?x8xf32> => index
memref.copy %{memref<4x8xi32>}, %{memref<4x8xi32>} : memref<4x8xi32> to memref<4x8xi32>
memref.cast %{memref<?x8xf32>} : memref<?x8xf32> to memref<4x?xf32> => -
memref.cast %{memref<16xf32>} : memref<16xf32> to memref<*xf32> => memref<*xf32>
memref.rank %{memref<*xf32>} : memref<*xf32> => index
memref.subview %{memref<4x8xi32>}[0, %{index}] [2, 2] [1, 1] : memref<4x8xi32> to memref<2x2xi32, strided<[8, 1], offset: ?>> => -
memref.subview %{memref<4x8xi32>}[0, 4] [1, 2] [1, 2] : memref<4x8xi32> to memref<2xi32, strided<[2], offset: 4>> => -
memref.view %{memref<16xi8>}[%{index}][] : memref<16xi8> to memref<2xf32> => -
memref.reinterpret_cast %{memref<16xf32>} to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<16xf32> to memref<4x4xf32> => -
memref.reinterpret_cast %{memref<16xf32>} to offset: [%{index}], sizes: [%{index}], strides: [1] : memref<16xf32> to memref<?xf32, strided<[1], offset: ?>> => -
memref.collapse_shape %{memref<4x8xi32>} [[0, 1]] : memref<4x8xi32> into memref<32xi32> => -
memref.expand_shape %{memref<16xf32>} [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32> => -
memref.memory_space_cast %{memref<16xf32>} : memref<16xf32> to memref<16xf32, 1> => -
memref.get_global @global : memref<4xf32> => -
memref.atomic_rmw addf %{f32}, %{memref<16xf32>}[%{index}] : (f32, memref<16xf32>) -> f32 => f32
memref.alloc() {alignment = 16 : i64} : memref<4x8xi32, 2> => memref<4x8xi32, 2>
memref.subview %{memref<4x8xi32>}[0, 4] [2, 2] [1, 1] : memref<4x8xi32> to memref<2x2xi32, strided<[8, 1], offset: 4>> => -
memref.extract_aligned_pointer_as_index %{memref<16xf32>} : memref<16xf32> -> index => index
memref.atomic_rmw maxs %{i32}, %{memref<4x8xi32>}[%{index}, %{index}] : (i32, memref<4x8xi32>) -> i32 => i32
memref.prefetch %{memref<16xf32>}[%{index}], read, locality<3>, data : memref<16xf32>
memref.assume_alignment %{memref<16xf32>}, 16 : memref<16xf32> => -
memref.transpose %{memref<4x8xi32>} (i, j) -> (j, i) : memref<4x8xi32> to memref<8x4xi32, strided<[1, 8]>> => -
memref.alloca_scope { memref.alloca_scope.return }
memref.extract_strided_metadata %{memref<4x8xi32>} : memref<4x8xi32> -> memref<i32>, index, index, index, index, index => -, index, index, index, index, index
vector.broadcast %{f32} : f32 to vector<4xf32> => vector<4xf32>
vector.load %{memref<16xf32>}[%{index}] : memref<16xf32>, vector<4xf32> => vector<4xf32>
vector.store %{vector<4xf32>}, %{memref<16xf32>}[%{index}] : memref<16xf32>, vector<4xf32>
vector.fma %{vector<4xf32>}, %{vector<4xf32>}, %{vector<4xf32>} : vector<4xf32> => vector<4xf32>
vector.extract %{vector<4xf32>}[0] : f32 from vector<4xf32> => f32
vector.transfer_read %{memref<16xf32>}[%{index}], %{f32} : memref<16xf32>, vector<4xf32> => vector<4xf32>
vector.transfer_read %{memref<4x8xi32>}[%{index}, %{index}], %{i32} {in_bounds = [true], permutation_map = affine_map<(d0, d1) -> (d0)>} : memref<4x8xi32>, vector<4xi32> => vector<4xi32>
vector.transfer_write %{vector<4xf32>}, %{memref<16xf32>}[%{index}] : vector<4xf32>, memref<16xf32>
vector.reduction <add>, %{vector<4xf32>} : vector<4xf32> into f32 => f32
vector.bitcast %{vector<4xf32>} : vector<4xf32> to vector<4xi32> => vector<4xi32>
vector.create_mask %{index} : vector<4xi1> => vector<4xi1>
vector.maskedstore %{memref<16xf32>}[%{index}], %{vector<4xi1>}, %{vector<4xf32>} : memref<16xf32>, vector<4xi1>, vector<4xf32>
vector.shuffle %{vector<4xf32>}, %{vector<4xf32>} [0, 1, 5, 6] : vector<4xf32>, vector<4xf32> => vector<4xf32>
vector.insert %{f32}, %{vector<4xf32>}[1] : f32 into vector<4xf32> => vector<4xf32>
vector.transfer_read %{memref<16xf32>}[%{index}], %{f32} {in_bounds = [true]} : memref<16xf32>, vector<4xf32> => vector<4xf32>
vector.shape_cast %{vector<4xf32>} : vector<4xf32> to vector<2x2xf32> => vector<2x2xf32>
vector.transpose %{vector<2x2xf32>}, [1, 0] : vector<2x2xf32> to vector<2x2xf32> => vector<2x2xf32>
vector.constant_mask [2] : vector<4xi1> => vector<4xi1>
vector.maskedload %{memref<16xf32>}[%{index}], %{vector<4xi1>}, %{vector<4xf32>} : memref<16xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32> => vector<4xf32>
vector.outerproduct %{vector<4xf32>}, %{vector<4xf32>} : vector<4xf32>, vector<4xf32> => -
vector.extract_strided_slice %{vector<4xf32>} {offsets = [0], sizes = [2], strides = [1]} : vector<4xf32> to vector<2xf32> => vector<2xf32>
vector.insert_strided_slice %{vector<2xf32>}, %{vector<4xf32>} {offsets = [0], strides = [1]} : vector<2xf32> into vector<4xf32> => vector<4xf32>
vector.print %{vector<4xf32>} : vector<4xf32>
vector.step : vector<4xindex> => -
vector.contract {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"], kind = #vector.kind<add>} %{vector<4xf32>}, %{vector<4xf32>}, %{f32} : vector<4xf32>, vector<4xf32> into f32 => f32
vector.interleave %{vector<4xf32>}, %{vector<4xf32>} : vector<4xf32> -> vector<8xf32> => -
vector.from_elements %{f32}, %{f32} : vector<2xf32> => vector<2xf32>
vector.to_elements %{vector<2xf32>} : vector<2xf32> => f32, f32
tensor.empty() : tensor<2x2xf32> => tensor<2x2xf32>
tensor.empty(%{index}) : tensor<?x4xf32> => tensor<?x4xf32>
tensor.dim %{tensor<?x4xf32>}, %{index} : tensor<?x4xf32> => index
tensor.extract %{tensor<2x2xf32>}[%{index}, %{index}] : tensor<2x2xf32> => f32
tensor.insert %{f32} into %{tensor<2x2xf32>}[%{index}, %{index}] : tensor<2x2xf32> => tensor<2x2xf32>
tensor.cast %{tensor<?x4xf32>} : tensor<?x4xf32> to tensor<?x?xf32> => -
tensor.from_elements %{f32}, %{f32} : tensor<2xf32> => -
tensor.splat %{f32} : tensor<2x2xf32> => tensor<2x2xf32>
tensor.extract_slice %{tensor<?x4xf32>}[0, 0] [%{index}, 2] [1, 1] : tensor<?x4xf32> to tensor<?x2xf32> => -
tensor.insert_slice %{tensor<2x2xf32>} into %{tensor<?x4xf32>}[0, 0] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<?x4xf32> => tensor<?x4xf32>
tensor.collapse_shape %{tensor<2x2xf32>} [[0, 1]] : tensor<2x2xf32> into tensor<4xf32> => -
tensor.pad %{tensor<2x2xf32>} low[1, 1] high[0, 0] { ^bb0(%a: index, %b: index): tensor.yield %{f32} : f32 } : tensor<2x2xf32> to tensor<3x3xf32> => -
tensor.expand_shape %{tensor<2x2xf32>} [[0, 1], [2]] output_shape [1, 2, 2] : tensor<2x2xf32> into tensor<1x2x2xf32> => -
tensor.reshape %{tensor<2x2xf32>}(%{tensor<1xi32>}) : (tensor<2x2xf32>, tensor<1xi32>) -> tensor<4xf32> => -
tensor.generate %{index} { ^bb0(%a: index): tensor.yield %{f32} : f32 } : tensor<?xf32> => -
bufferization.alloc_tensor() : tensor<2x2xf32> => tensor<2x2xf32>
bufferization.to_tensor %{memref<16xf32>} restrict writable : memref<16xf32> to tensor<16xf32> => -
bufferization.to_buffer %{tensor<2x2xf32>} : tensor<2x2xf32> to memref<2x2xf32> => -
bufferization.to_tensor %{memref<16xf32>} : memref<16xf32> to tensor<16xf32> => -
bufferization.clone %{memref<16xf32>} : memref<16xf32> to memref<16xf32> => memref<16xf32>
bufferization.materialize_in_destination %{tensor<2x2xf32>} in %{tensor<2x2xf32>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32> => tensor<2x2xf32>
affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%{index}) => -
affine.apply affine_map<(d0) -> (d0 mod 3 - d0 * 4)>(%{index}) => -
affine.min affine_map<(d0) -> (d0, 10)>(%{index}) => -
affine.for %a = 0 to 10 step 2 { affine.for %b = affine_map<(d0) -> (d0)>(%a) to min affine_map<(d0) -> (d0 + 4, 10)>(%a) { affine.store %{f32}, %{memref<16xf32>}[%a * 2 - %b mod 3] : memref<16xf32> } }
affine.for %a = 0 to 10 iter_args(%b = %{f32}) -> (f32) { affine.yield %b : f32 } => f32
affine.max affine_map<(d0, d1) -> (d0 - d1, 10)>(%{index}, %{index}) => index
affine.load %{memref<16xf32>}[0] : memref<16xf32> => f32
affine.store %{f32}, %{memref<16xf32>}[5] : memref<16xf32>
affine.vector_load %{memref<16xf32>}[4] : memref<16xf32>, vector<4xf32> => vector<4xf32>
affine.parallel (%i, %j) = (0, 0) to (10, 10) step (2, 1) { "t.x"(%i) : (index) -> () }
affine.for %i = 0 to 10 { %v = affine.load %{memref<16xf32>}[%i + 3] : memref<16xf32> }
affine.delinearize_index %{index} into (2, 3) : index, index => index, index
affine.linearize_index [%{index}, %{index}] by (2, 3) : index => index
scf.for %a = %{i32} to %{i32} step %{i32} : i32 { "t.use"(%a) : (i32) -> () }
scf.index_switch %{index} -> i32 case 1 { scf.yield %{i32} : i32 } default { scf.yield %{i32} : i32 } => i32
scf.execute_region -> i32 { scf.yield %{i32} : i32 } => i32
scf.parallel (%a, %b) = (%{index}, %{index}) to (%{index}, %{index}) step (%{index}, %{index}) { "t.use"(%a) : (index) -> () scf.reduce }
scf.if %{i1} { "t.x"() : () -> () }
scf.if %{i1} { "t.x"() : () -> () } else { "t.y"() : () -> () }
scf.if %{i1} -> (i32, f32) { scf.yield %{i32}, %{f32} : i32, f32 } else { scf.yield %{i32}, %{f32} : i32, f32 } => i32, f32
scf.for %i = %{index} to %{index} step %{index} { "t.x"(%i) : (index) -> () }
scf.for unsigned %i = %{i32} to %{i32} step %{i32} : i32 { "t.x"(%i) : (i32) -> () }
scf.for %i = %{index} to %{index} step %{index} iter_args(%a = %{i32}, %b = %{f32}) -> (i32, f32) { scf.yield %a, %b : i32, f32 } => i32, f32
scf.for %i = %{index} to %{index} step %{index} { "t.x"(%i) : (index) -> () } {x.a = 1 : i32}
scf.while (%a = %{i32}) : (i32) -> i32 { scf.condition(%{i1}) %a : i32 } do { ^bb0(%b: i32): scf.yield %b : i32 } => i32
scf.while : () -> () { scf.condition(%{i1}) } do { scf.yield }
scf.while (%a = %{i32}) : (i32) -> f32 { scf.condition(%{i1}) %{f32} : f32 } do { ^bb0(%b: f32): scf.yield %{i32} : i32 } attributes {x.y} => f32
scf.index_switch %{index} case 1 { "t.x"() : () -> () scf.yield } case 5 { scf.yield } default { scf.yield }
scf.execute_region { "t.x"() : () -> () scf.yield }
scf.parallel (%i) = (%{index}) to (%{index}) step (%{index}) init (%{f32}) -> f32 { scf.reduce(%{f32} : f32) { ^bb0(%a: f32, %b: f32): %c = arith.addf %a, %b : f32 scf.reduce.return %c : f32 } } => f32
scf.forall (%i, %j) in (4, 5) { "t.x"(%i) : (index) -> () }
scf.forall (%i) in (%{index}) shared_outs(%o = %{tensor<2x2xf32>}) -> (tensor<2x2xf32>) { scf.forall.in_parallel { } } => tensor<2x2xf32>
cf.assert %{i1}, "message"
func.call @one(%{i32}) : (i32) -> i32 => i32
func.call @none() : () -> ()
func.call @two(%{f32}, %{index}) : (f32, index) -> (i32, f32) => i32, f32
func.constant @one : (i32) -> i32 => -
func.call_indirect %{(i32) -> i32}(%{i32}) : (i32) -> i32 => i32
builtin.unrealized_conversion_cast %{i32} : i32 to i64 => i64
builtin.unrealized_conversion_cast %{i32}, %{i32} : i32, i32 to i64, f32 => i64, f32
linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%{memref<16xf32>} : memref<16xf32>) outs(%{memref<16xf32>} : memref<16xf32>) { ^bb0(%a: f32, %b: f32): linalg.yield %a : f32 }
linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%{tensor<2x2xf32>} : tensor<2x2xf32>) outs(%{tensor<2x2xf32>} : tensor<2x2xf32>) attrs = {x.y = 1 : i32} { ^bb0(%a: f32, %b: f32): %c = linalg.index 0 : index linalg.yield %a : f32 } -> tensor<2x2xf32> => tensor<2x2xf32>
llvm.mlir.constant(5 : i32) : i32 => i32
llvm.add %{i32}, %{i32} : i32 => i32
llvm.icmp "slt" %{i32}, %{i32} : i32 => i1
llvm.alloca %{i32} x i32 : (i32) -> !llvm.ptr => !llvm.ptr
llvm.load %{!llvm.ptr} : !llvm.ptr -> i32 => i32
llvm.store %{i32}, %{!llvm.ptr} : i32, !llvm.ptr
llvm.getelementptr %{!llvm.ptr}[%{i32}] : (!llvm.ptr, i32) -> !llvm.ptr, i32 => !llvm.ptr
llvm.mlir.constant(1.0 : f32) : f32 => f32
llvm.add %{i32}, %{i32} overflow<nsw> : i32 => i32
llvm.mul %{i64}, %{i64} : i64 => i64
llvm.fadd %{f32}, %{f32} : f32 => f32
llvm.getelementptr %{!llvm.ptr}[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i32)> => !llvm.ptr
llvm.mlir.zero : !llvm.ptr => !llvm.ptr
llvm.mlir.undef : !llvm.struct<(i32, f32)> => !llvm.struct<(i32, f32)>
llvm.insertvalue %{i32}, %{!llvm.struct<(i32, f32)>}[0] : !llvm.struct<(i32, f32)> => !llvm.struct<(i32, f32)>
llvm.extractvalue %{!llvm.struct<(i32, f32)>}[1] : !llvm.struct<(i32, f32)> => f32
llvm.zext %{i8} : i8 to i32 => i32
llvm.ptrtoint %{!llvm.ptr} : !llvm.ptr to i64 => i64
llvm.intr.fabs(%{f32}) : (f32) -> f32 => f32
llvm.select %{i1}, %{i32}, %{i32} : i1, i32 => i32
llvm.bitcast %{i32} : i32 to f32 => f32
llvm.sitofp %{i32} : i32 to f32 => f32
emitc.call_opaque "f"(%{i32}) : (i32) -> i32 => i32
emitc.add %{i32}, %{i32} : (i32, i32) -> i32 => i32
"t.many"(%{i32}, %{f32}) : (i32, f32) -> (i32, f32, index) => i32, f32, index
"t.properties"() <{p = 1 : i32}> {a} : () -> ()
"t.regions"() ({ }, { ^bb0: }) {z = affine_map<(d0) -> (d0)>} : () -> ()
"t.op"() {a = 1 : i32, b = [1, 2], c = {x = 1.0, y}, d = "s", e} : () -> ()
"t.region"() ({ "t.a"() : () -> () }, { ^bb0(%a: i32): "t.b"(%a) : (i32) -> () }) : () -> ()
""".strip().splitlines()

ALONE = """
affine.if affine_set<(d0) : (d0 - 5 >= 0, -d0 + 10 >= 0)>(%{index}) { "t.x"() : () -> () }
affine.apply affine_map<(d0)[s0] -> (d0 + s0 floordiv 4)>(%{index})[%{index}] => index
""".strip().splitlines()
"""Operations that are not valid everywhere: their index must not come from any other loop than an affine one."""

WITH_IMPLIED_BODY = """
linalg.fill ins(%{f32} : f32) outs(%{memref<16xf32>} : memref<16xf32>)
linalg.fill ins(%{f32} : f32) outs(%{tensor<2x2xf32>} : tensor<2x2xf32>) -> tensor<2x2xf32> => tensor<2x2xf32>
linalg.matmul ins(%{tensor<2x2xf32>}, %{tensor<2x2xf32>} : tensor<2x2xf32>, tensor<2x2xf32>) outs(%{tensor<2x2xf32>} : tensor<2x2xf32>) -> tensor<2x2xf32> => tensor<2x2xf32>
linalg.add ins(%{memref<16xf32>}, %{memref<16xf32>} : memref<16xf32>, memref<16xf32>) outs(%{memref<16xf32>} : memref<16xf32>)
linalg.transpose ins(%{tensor<2x2xf32>} : tensor<2x2xf32>) outs(%{tensor<2x2xf32>} : tensor<2x2xf32>) permutation = [1, 0] => tensor<2x2xf32>
linalg.broadcast ins(%{memref<16xf32>} : memref<16xf32>) outs(%{memref<4x16xf32>} : memref<4x16xf32>) dimensions = [0]
""".strip().splitlines()
"""Operations whose body only the generic form shows, where xDSL writes the same in another way."""

DECLARATIONS = """
memref.global "private" @global : memref<4xf32>
func.func private @one(i32) -> i32
func.func private @none()
func.func nested @two(f32, index) -> (i32, f32)
""".strip().splitlines()

ATTRIBUTES = """
1 : i32
-7
true
[1, 2, 3]
[1 : i32, 2.5, "s", @sym, unit]
1.5 : f32
0.1
0.1 : f32
3.0e38 : f32
1.0e10 : bf16
0xFF80 : bf16
0x7FC00000 : f32
123456789.0 : f64
"text with \\"quotes\\" and \\\\ and \\n"
{z = 1 : i8, a = {c, b = []}}
@symbol::@"nested symbol"
dense<[1, 2]> : tensor<2xi32>
dense<7> : vector<4xi8>
dense<[[true, false], [false, true]]> : tensor<2x2xi1>
array<i64: 1, -2, 3>
array<f32: 1.5, 0.25>
array<i1>
memref<4x?xf32, strided<[?, 1], offset: ?>, 3>
tensor<*xf32>
(i32, f32) -> (i64, index)
tuple<i32, vector<2x[4]xf16>>
affine_map<(d0, d1)[s0] -> (d0 * 2 - d1, s0 floordiv 3)>
affine_map<(d0) -> (-d0 + 5)>
affine_map<() -> ()>
affine_set<(d0)[s0] : (d0 - s0 >= 0, d0 mod 2 == 0)>
5 : ui8
-3 : si16
12 : index
unit
i7
strided<[2, 1], offset: 4>
""".strip().splitlines()

LOCATIONS = """
unknown
"a.c":1:2
"b.c":30:4
"name"
"name"("b.c":30:4)
callsite("callee" at "a.c":1:2)
callsite("callee"("a.c":1:2) at callsite("b.c":30:4 at "name"))
fused["a.c":1:2, "b.c":30:4]
""".strip().splitlines()

_HOLE = re.compile(r"%\{([^}]*)\}")
_SCALARS = {"i1": "false", "index": "3", "i8": "1", "i32": "2", "i64": "4"}


def results_of(row: str) -> tuple[str, list[str]]:
    """A row without its results, and their types."""
    text, _, results = row.partition(" => ")
    return text, re.split(r", (?![^<(]*[>)])", results) if results else []


def single_operation(row: str) -> str:
    """A program around one row, its operands being arguments of a function."""
    text, results = results_of(row)
    types = list(dict.fromkeys(_HOLE.findall(text)))
    text = _HOLE.sub(lambda hole: f"%in{types.index(hole[1])}", text)
    arguments = ", ".join(f"%in{i}: {type}" for i, type in enumerate(types))
    names = ", ".join(f"%out{i}" for i in range(len(results)))
    lines = [
        "module {",
        *DECLARATIONS,
        f"func.func @f({arguments}) {{",
        f"  {names + ' = ' if names else ''}{text}",
        "  return",
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def modules(seed: int, count: int, operations: int, *, locations: bool = False) -> Iterator[str]:
    """`count` programs of about `operations` operations each."""
    for i in range(count):
        yield _Writer(Random(seed * 1000 + i), locations).module(operations)


class _Writer:
    def __init__(self, random: Random, locations: bool):
        self.random = random
        self.locations = locations
        self.lines: list[str] = []
        self.left = 0
        self.names = 0
        self.scopes: list[dict[str, list[str]]] = []

    def module(self, operations: int) -> str:
        self.left = operations
        attributes = f" attributes {self.dictionary('x.')}" if self.random.random() < 0.3 else ""
        self.lines = [f"module{attributes} {{", *(line + self.location() for line in DECLARATIONS)]
        functions = 0
        while self.left > 0:
            self.function(f"f{functions}")
            functions += 1
        return "\n".join([*self.lines, "}" + self.location()]) + "\n"

    def function(self, name: str) -> None:
        types = self.random.choices(
            ["i32", "f32", "index", "i1", "memref<4x8xi32>", "vector<4xf32>"], k=self.random.randint(0, 4)
        )
        self.scopes.append({})
        arguments: list[str] = []
        for type in types:
            attributes = f" {self.dictionary('x.')}" if self.random.random() < 0.2 else ""
            arguments.append(f"{self.define(type)}: {type}{attributes}{self.location()}")
        visibility = self.random.choice(["", "", "public ", "private "])
        self.lines.append(f"func.func {visibility}@{name}({', '.join(arguments)}) {{")
        if self.random.random() < 0.3:
            self.blocks()
        else:
            self.body(self.random.randint(5, 60))
            self.emit("return")
        self.scopes.pop()
        self.lines.append("}" + self.location())

    def blocks(self) -> None:
        """A function body of several blocks that branch to each other."""
        count = self.random.randint(2, 6)
        arguments = [[], *(self.random.choices(["i32", "f32"], k=self.random.randint(0, 2)) for _ in range(count - 1))]
        for number, types in enumerate(arguments):
            self.scopes.append({})
            if number:
                parameters = ", ".join(f"{self.define(type)}: {type}{self.location()}" for type in types)
                self.lines.append(f"^block{number}{'(' + parameters + ')' if types else ''}:")
            self.body(self.random.randint(0, 8))
            self.branch(arguments)
            self.scopes.pop()

    def branch(self, arguments: list[list[str]]) -> None:
        def target() -> str:
            number = self.random.randrange(1, len(arguments))
            values = ", ".join(self.use(type) for type in arguments[number])
            return f"^block{number}({values} : {', '.join(arguments[number])})" if values else f"^block{number}"

        kind = self.random.randrange(4)
        if kind == 0:
            self.emit("return")
        elif kind == 1:
            text = target()
            self.emit(f"cf.br {text}")
        else:
            condition, then, otherwise = self.use("i1"), target(), target()
            self.emit(f"cf.cond_br {condition}, {then}, {otherwise}")

    def body(self, operations: int, depth: int = 0) -> None:
        end = self.left - operations
        while self.left > max(end, 0):
            if depth < 4 and self.random.random() < 0.12:
                self.structured(depth)
            elif self.random.random() < 0.06:
                self.emit(f'"t.attributes"() {self.dictionary()} : () -> ()')
            else:
                self.operation(self.random.choice(OPERATIONS))

    def operation(self, row: str) -> None:
        text, results = results_of(row)
        text = _HOLE.sub(lambda hole: self.use(hole[1]), text)
        for name in ("%a", "%b"):
            fresh = self.fresh()
            text = re.sub(rf"{name}\b", fresh, text)
        self.emit(text, results)

    def structured(self, depth: int) -> None:
        kind = self.random.randrange(6)
        if kind == 0:
            self.nest(f"scf.if {self.use('i1')}", depth)
        elif kind == 1:
            condition, first, second = self.use("i1"), self.use("i32"), self.use("f32")
            results = ", ".join(self.fresh() for _ in range(2)) if self.random.random() < 0.5 else f"{self.fresh()}:2"
            self.lines.append(f"{results} = scf.if {condition} -> (i32, f32) {{")
            self.scoped_body(depth)
            self.emit(f"scf.yield {first}, {second} : i32, f32")
            self.lines.append("} else {")
            self.emit(f"scf.yield {first}, {second} : i32, f32")
            self.lines.append("}" + self.location())
        elif kind == 2:
            bounds = [self.use("index") for _ in range(3)]
            name = self.fresh()
            header = f"scf.for {name} = {bounds[0]} to {bounds[1]} step {bounds[2]}"
            self.nest(header, depth, {"index": [name]})
        elif kind == 3:
            start, condition = self.use("i32"), self.use("i1")
            result, before, after = self.fresh(), self.fresh(), self.fresh()
            self.lines.append(f"{result} = scf.while ({before} = {start}) : (i32) -> i32 {{")
            self.scoped_body(depth, {"i32": [before]})
            self.emit(f"scf.condition({condition}) {before} : i32")
            self.lines.append(f"}} do {{\n^bb0({after}: i32{self.location()}):")
            self.scoped_body(depth, {"i32": [after]})
            self.emit(f"scf.yield {after} : i32")
            self.lines.append("}" + self.location())
        elif kind == 4:
            name = self.fresh()
            self.nest(f"affine.for {name} = 0 to 16", depth, {"index": [name]})
        else:
            name = self.fresh()
            self.lines.append('"t.region"() ({')
            self.scoped_body(depth)
            self.lines.append(f"}}, {{\n^bb0({name}: f32{self.location()}):")
            self.scoped_body(depth, {"f32": [name]})
            self.lines.append("}) : () -> ()" + self.location())
            self.left -= 1

    def nest(self, header: str, depth: int, scope: dict[str, list[str]] | None = None) -> None:
        self.lines.append(f"{header} {{")
        self.scoped_body(depth, scope)
        self.lines.append("}" + self.location())
        self.left -= 1

    def scoped_body(self, depth: int, scope: dict[str, list[str]] | None = None) -> None:
        self.scopes.append(scope or {})
        self.body(self.random.randint(1, 8), depth + 1)
        if not self.lines[-1].startswith('"t.end"'):
            self.emit('"t.end"() : () -> ()')
        self.scopes.pop()

    def emit(self, text: str, results: list[str] | tuple[str, ...] = ()) -> None:
        self.left -= 1
        names = ", ".join(self.fresh() if type == "-" else self.define(type) for type in results)
        self.lines.append(f"{names + ' = ' if names else ''}{text}{self.location()}")

    def fresh(self) -> str:
        self.names += 1
        return f"%{self.random.choice(['v', 'arg', 'c0_', 'cst_', ''])}{self.names}"

    def define(self, type: str) -> str:
        name = self.fresh()
        self.scopes[-1].setdefault(type, []).append(name)
        return name

    def use(self, type: str) -> str:
        """A value of the type that is in sight, or a new one."""
        visible = [name for scope in self.scopes for name in scope.get(type, ())]
        if visible and self.random.random() < 0.95:
            return self.random.choice(visible)
        if type in _SCALARS:
            value = _SCALARS[type]
            self.emit(f"arith.constant {value}{'' if type == 'i1' else f' : {type}'}", (type,))
        elif type in ("f16", "bf16", "f32", "f64"):
            self.emit(
                f"arith.constant {self.random.choice(['1.0', '0.3', '-2.5e10'])} : {type}".replace(
                    "e10 : f16", " : f16"
                ),
                (type,),
            )
        else:
            self.emit(f'"t.make"() : () -> ({type})', (type,))
        return self.scopes[-1][type][-1]

    def dictionary(self, prefix: str = "") -> str:
        names = self.random.sample(["zeta", "alpha", "mid", '"odd name"', "B", "a.b"], k=self.random.randint(1, 4))
        if prefix:
            names = [name for name in names if name.isalnum()] or ["alpha"]
        return f"{{{', '.join(f'{prefix}{name} = {self.random.choice(ATTRIBUTES)}' for name in names)}}}"

    def location(self) -> str:
        return f" loc({self.random.choice(LOCATIONS)})" if self.locations else ""
