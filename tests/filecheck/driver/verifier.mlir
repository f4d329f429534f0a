// RUN: tilewright opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect
// What holds between operations, in MLIR's words; verifier_mlir.mlir puts the same file before mlir-opt.

func.func @used_before_defined() {
  // expected-error@+1 {{operand #0 does not dominate this use}}
  "test.use"(%later) : (i32) -> ()
  // expected-note@+1 {{operand defined here (op in the same block)}}
  %later = "test.def"() : () -> i32
  return
}

// -----

func.func @used_on_another_way(%c: i1) {
  cf.cond_br %c, ^left, ^right
^left:
  // expected-note@+1 {{operand defined here (op in the same region)}}
  %left = arith.constant 1 : i32
  cf.br ^right
^right:
  // expected-error@+1 {{operand #0 does not dominate this use}}
  "test.use"(%left) : (i32) -> ()
  return
}

// -----

// A loop in the flow: the header dominates its body.
func.func @defined_in_a_dominating_block(%c: i1) {
  %one = arith.constant 1 : i32
  cf.br ^header
^header:
  %two = arith.addi %one, %one : i32
  cf.cond_br %c, ^body, ^end
^body:
  "test.use"(%two) : (i32) -> ()
  cf.br ^header
^end:
  "test.use"(%two) : (i32) -> ()
  return
}

// -----

func.func @argument_of_another_block(%c: i1) {
  // expected-note@-1 {{operand defined as a block argument (block #1 in the same region)}}
  cf.cond_br %c, ^left(%c : i1), ^right
^left(%argument: i1):
  cf.br ^right
^right:
  // expected-error@+1 {{operand #0 does not dominate this use}}
  "test.use"(%argument) : (i1) -> ()
  return
}

// -----

func.func @used_inside_its_definition() {
  // expected-note@+1 {{operand defined here (op in a parent region)}}
  %x = "test.def"() ({
    // expected-error@+1 {{operand #0 does not dominate this use}}
    "test.use"(%x) : (i1) -> ()
  }) : () -> i1
  return
}

// -----

// Nothing leads here, so the order does not matter.
func.func @unreachable() {
  return
^nowhere:
  "test.use"(%x) : (i32) -> ()
  %x = arith.constant 1 : i32
  cf.br ^nowhere
}

// -----

// A module does not say in which order things happen.
"test.use"(%later) : (i32) -> ()
%later = "test.def"() : () -> i32

// -----

// expected-note@+1 {{see existing symbol definition here}}
func.func @twice() {
  return
}
// expected-error@+1 {{redefinition of symbol named 'twice'}}
func.func @twice() {
  return
}

// -----

func.func @no_terminator() {
  // expected-error@+1 {{block with no terminator, has %0 = "arith.constant"() <{value = 1 : i32}> : () -> i32}}
  %x = arith.constant 1 : i32
}

// -----

func.func @unknown_operations_may_end_blocks() {
  "test.end"() : () -> ()
}

// -----

// expected-error@+1 {{empty block: expect at least a terminator}}
func.func @empty_block() {
  cf.br ^empty
^empty:
}

// -----

func.func @terminator_in_the_middle() {
  // expected-error@+1 {{'func.return' op must be the last operation in the parent block}}
  return
  return
}

// -----

// expected-error@+1 {{entry block of region may not have predecessors}}
func.func @branch_to_entry() {
^entry:
  cf.br ^entry
}

// -----

func.func @wrong_parent(%n: index) {
  scf.for %i = %n to %n step %n {
    // expected-error@+1 {{'func.return' op expects parent op 'func.func'}}
    func.return
  }
  return
}

// -----

func.func @symbol_outside_of_a_table() {
  // expected-error@+1 {{'func.func' op symbol's parent must have the SymbolTable trait}}
  func.func private @inner()
  return
}

// -----

// expected-error@+1 {{'func.func' op attribute 'sym_name' failed to satisfy constraint: string attribute}}
"func.func"() ({
}) {sym_name = 1 : i32, function_type = () -> ()} : () -> ()

// -----

// expected-error@+1 {{'func.func' op requires one region}}
"func.func"() {sym_name = "f", function_type = () -> ()} : () -> ()

// -----

func.func @operand_count(%a: i32) {
  // expected-error@+1 {{'arith.addi' op expected 2 operands, but found 1}}
  %0 = "arith.addi"(%a) : (i32) -> i32
  return
}

// -----

func.func @result_count(%a: i32) {
  // expected-error@+1 {{'arith.addi' op requires one result}}
  %0:2 = "arith.addi"(%a, %a) : (i32, i32) -> (i32, i32)
  return
}

// -----

func.func @operand_type(%a: f32) {
  // expected-error@+1 {{'arith.addi' op operand #0 must be signless-integer-like, but got 'f32'}}
  %0 = "arith.addi"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

// Every function is looked at: two are wrong, and both are reported.
func.func @first(%a: i32) {
  // expected-error@+1 {{block with no terminator}}
  %0 = arith.addi %a, %a : i32
}
func.func @second(%a: i32) {
  // expected-error@+1 {{block with no terminator}}
  %0 = arith.muli %a, %a : i32
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op attribute 'known_cluster_size' failed to satisfy constraint: i32 dense array attribute with 3 elements (if present)}}
  gpu.func @pairs() kernel attributes {known_cluster_size = array<i32: 2, 1>} {
    gpu.return
  }
}
