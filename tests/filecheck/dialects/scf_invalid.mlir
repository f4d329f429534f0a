// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What scf operations refuse, in upstream's words.

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.if' op must have an else block if defining values}}
  %0 = scf.if %c -> (f32) { scf.yield %v : f32 }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.if' op along control flow edge from Operation scf.yield to parent: successor operand type #0 'index' should match successor input type #0 'f32'}}
  %0 = scf.if %c -> (f32) { scf.yield %v : f32 } else { scf.yield %n : index }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.if' op along control flow edge from Operation scf.yield to parent: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = scf.if %c -> (f32) { scf.yield %v : f32 } else { scf.yield }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.if' op along control flow edge from Operation scf.yield to parent: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = scf.if %c -> (f32) { } else { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.if' op along control flow edge from Operation scf.yield to parent: region branch point has 1 operands, but region successor needs 0 inputs}}
  scf.if %c { scf.yield %v : f32 }
  return
}

// -----

// expected-note @+1 {{prior use here}}
func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{use of value '%n' expects different type than prior uses: 'i1' vs 'index'}}
  scf.if %n { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.for' op along control flow edge from Operation scf.yield to Region #0: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = scf.for %i = %n to %n step %n iter_args(%x = %v) -> (f32) { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.for' op 0-th region iter_arg and 0-th yielded value have different type: 'f32' != 'index'}}
  %0 = scf.for %i = %n to %n step %n iter_args(%x = %v) -> (f32) { scf.yield %n : index }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{mismatch in number of loop-carried values and defined values}}
  %0 = scf.for %i = %n to %n step %n iter_args(%x = %v) -> (f32, f32) { scf.yield %v : f32 }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.for' op different number of inits and region iter_args: 1 != 0}}
  %0 = "scf.for"(%n, %n, %n, %v) ({ ^bb0(%i: index): "scf.yield"() : () -> () }) : (index, index, index, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.for' op expected induction variable to be same type as bounds and step}}
  "scf.for"(%n, %n, %n) ({ ^bb0(%i: f32): "scf.yield"() : () -> () }) : (index, index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.for' op operand #1 must be signless integer or index, but got 'f32'}}
  "scf.for"(%n, %v, %n) ({ ^bb0(%i: index): "scf.yield"() : () -> () }) : (index, f32, index) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.for' op operand #0 must be signless integer or index, but got 'f32'}}
  "scf.for"(%v, %v, %v) ({ ^bb0(%i: f32): "scf.yield"() : () -> () }) : (f32, f32, f32) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.for' op mismatch in number of loop-carried values and defined values}}
  "scf.for"(%n, %n, %n, %v) ({ ^bb0(%i: index, %x: f32): "scf.yield"() : () -> () }) : (index, index, index, f32) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.for' op expects region #0 to have 0 or 1 blocks}}
  "scf.for"(%n, %n, %n) ({ ^bb0(%i: index): cf.br ^bb1 ^bb1: "scf.yield"() : () -> () }) : (index, index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'func.return' op expects parent op 'func.func'}}
  "scf.for"(%n, %n, %n) ({ ^bb0(%i: index): "func.return"() : () -> () }) : (index, index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{block with no terminator, has %0 = "arith.constant"() <{value = 1 : i32}> : () -> i32}}
  "scf.for"(%n, %n, %n) ({ ^bb0(%i: index): "arith.constant"() {value = 1 : i32} : () -> (i32) }) : (index, index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.while' op along control flow edge from Operation scf.condition to parent: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = scf.while (%x = %v) : (f32) -> f32 { scf.condition(%c) } do { ^bb0(%y: f32): scf.yield %y : f32 }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.while' op along control flow edge from Operation scf.condition to parent: successor operand type #0 'index' should match successor input type #0 'f32'}}
  %0 = scf.while (%x = %v) : (f32) -> f32 { scf.condition(%c) %n : index } do { ^bb0(%y: index): scf.yield %v : f32 }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.while' op along control flow edge from Operation scf.yield to Region #0: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = scf.while (%x = %v) : (f32) -> f32 { scf.condition(%c) %v : f32 } do { ^bb0(%y: f32): scf.yield }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{terminator here}}
  // expected-error @+1 {{'scf.while' op expects the 'before' region to terminate with 'scf.condition'}}
  %0 = scf.while (%x = %v) : (f32) -> f32 { scf.yield %v : f32 } do { ^bb0(%y: f32): scf.yield %v : f32 }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{terminator here}}
  // expected-error @+1 {{'scf.while' op expects the 'after' region to terminate with 'scf.yield'}}
  %0 = scf.while (%x = %v) : (f32) -> f32 { scf.condition(%c) %v : f32 } do { ^bb0(%y: f32): scf.condition(%c) %v : f32 }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{expected as many input types as operands (expected 1 got 2)}}
  %0 = scf.while (%x = %v) : (f32, f32) -> f32 { scf.condition(%c) %v : f32 } do { ^bb0(%y: f32): scf.condition(%c) %v : f32 }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.yield' op expects parent op to be one of 'scf.execute_region, scf.for, scf.if, scf.index_switch, scf.while'}}
  scf.yield
  return
}

// -----

// expected-error @+1 {{'scf.yield' op expects parent op to be one of 'scf.execute_region, scf.for, scf.if, scf.index_switch, scf.while'}}
func.func @f(%n: index, %v: f32, %c: i1) { scf.yield }

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{expected 1 operands}}
  scf.parallel (%a) = (%n, %n) to (%n) step (%n) { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.parallel' op expects number of results: 1 to be the same as number of reductions: 0}}
  scf.parallel (%a) = (%n) to (%n) step (%n) init(%v) -> f32 { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{number of operands and types do not match: got 1 operands and 2 types}}
  %0 = scf.parallel (%a) = (%n) to (%n) step (%n) init(%v) -> (f32, f32) { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.reduce' op expects type of 0-th reduction operand: 'index' to be the same as the 0-th result type: 'f32'}}
  %0 = scf.parallel (%a) = (%n) to (%n) step (%n) init(%v) -> f32 { scf.reduce(%n : index) { ^bb0(%x: index, %y: index): scf.reduce.return %x : index } }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.reduce' op expected two block arguments with type 'f32' in the 0-th reduction region}}
  %0 = scf.parallel (%a) = (%n) to (%n) step (%n) init(%v) -> f32 { scf.reduce(%v : f32) { ^bb0(%x: index, %y: index): scf.reduce.return %x : index } }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.reduce.return' op must have type 'f32' (the type of the reduction inputs)}}
  %0 = scf.parallel (%a) = (%n) to (%n) step (%n) init(%v) -> f32 { scf.reduce(%v : f32) { ^bb0(%x: f32, %y: f32): scf.reduce.return %n : index } }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.reduce' op expected two block arguments with type 'f32' in the 0-th reduction region}}
  %0 = scf.parallel (%a) = (%n) to (%n) step (%n) init(%v) -> f32 { scf.reduce(%v : f32) { ^bb0(%x: f32): scf.reduce.return %x : f32 } }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.parallel' op expects number of results: 1 to be the same as number of reductions: 0}}
  %0 = scf.parallel (%a) = (%n) to (%n) step (%n) init(%v) -> f32 { scf.reduce(%v : f32) }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.parallel' op needs at least one tuple element for lowerBound, upperBound and step}}
  "scf.parallel"() ({ ^bb0: "scf.reduce"() : () -> () }) {operandSegmentSizes = array<i32: 0, 0, 0, 0>} : () -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.parallel' op expects the same number of induction variables: 0 as bound and step values: 1}}
  "scf.parallel"(%n, %n, %n) ({ ^bb0: "scf.reduce"() : () -> () }) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (index, index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.execute_region' op region needs to have at least one block}}
  scf.execute_region { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.execute_region' op region cannot have any arguments}}
  scf.execute_region { ^bb0(%x: i32): scf.yield }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{region branch point}}
  // expected-error @+1 {{'scf.execute_region' op along control flow edge from Operation scf.yield to parent: region branch point has 0 operands, but region successor needs 1 inputs}}
  %0 = scf.execute_region -> i32 { scf.yield }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{see yield operation here}}
  // expected-error @+1 {{'scf.index_switch' op expected each region to return 1 values, but default region returns 0}}
  %0 = scf.index_switch %n -> i32 case 1 { scf.yield } default { scf.yield }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{default region returns 'index' here}}
  // expected-error @+1 {{'scf.index_switch' op expected result #0 of each region to be 'f32'}}
  %0 = scf.index_switch %n -> f32 case 1 { scf.yield %v : f32 } default { scf.yield %n : index }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-note @+2 {{see yield operation here}}
  // expected-error @+1 {{'scf.index_switch' op expected each region to return 1 values, but default region returns 0}}
  %0 = scf.index_switch %n -> f32 case 1 { scf.yield %v : f32 } default { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.index_switch' op has duplicate case value: 1}}
  scf.index_switch %n case 1 { scf.yield } case 1 { scf.yield } default { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.index_switch' op has 1 case regions but 0 case values}}
  "scf.index_switch"(%n) ({ scf.yield }, { scf.yield }) {cases = array<i64>} : (index) -> ()
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  scf.index_switch %n case 1 { scf.yield }
  // expected-error @+1 {{expected 'default'}}
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{expected 2 upper bound values, got 1}}
  scf.forall (%a, %b) in (%n) { }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.yield' op expects parent op to be one of 'scf.execute_region, scf.for, scf.if, scf.index_switch, scf.while'}}
  scf.forall (%a) in (%n) { scf.yield }
  return
}

// -----

func.func @f(%n: index, %v: f32, %c: i1) {
  // expected-error @+1 {{'scf.forall.in_parallel' op expected only ParallelCombiningOpInterface ops}}
  scf.forall (%a) in (%n) { scf.forall.in_parallel { arith.constant 1 : i32 } }
  return
}

// -----

// expected-note @+1 {{prior use here}}
func.func @f(%n: index, %v: tensor<4xf32>, %c: i1) {
  // expected-error @+1 {{use of value '%v' expects different type than prior uses: 'tensor<5xf32>' vs 'tensor<4xf32>'}}
  %0 = scf.forall (%a) in (%n) shared_outs(%x = %v) -> (tensor<5xf32>) { }
  return
}
