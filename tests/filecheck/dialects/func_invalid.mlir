// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What functions, calls and branches refuse, in upstream's words.

// expected-error @+1 {{'func.return' op has 0 operands, but enclosing function (@f) returns 1}}
func.func @f(%a: i32) -> i32 { return }

// -----

func.func @f(%a: i32) -> i32 {
  %0 = arith.constant 1.0 : f32
  // expected-error @+1 {{type of return operand 0 ('f32') doesn't match function result type ('i32') in function @f}}
  return %0 : f32
}

// -----

func.func @f(%a: i32) {
  // expected-error @+1 {{'func.call' op 'g' does not reference a valid function}}
  call @g() : () -> ()
  return
}

// -----

func.func private @g(i32)
func.func @f(%a: i32) {
  // expected-error @+1 {{'func.call' op incorrect number of operands for callee}}
  call @g() : () -> ()
  return
}

// -----

func.func private @g(i32)
func.func @f(%a: f32) {
  // expected-error @+1 {{'func.call' op operand type mismatch: expected operand type 'i32', but provided 'f32' for operand number 0}}
  call @g(%a) : (f32) -> ()
  return
}

// -----

func.func private @g() -> i32
func.func @f(%a: f32) {
  // expected-error @+1 {{'func.call' op incorrect number of results for callee}}
  call @g() : () -> ()
  return
}

// -----

func.func private @g() -> i32
func.func @f(%a: f32) {
  // expected-note @+3 {{      op result types: 'f32'}}
  // expected-note @+2 {{function result types: 'i32'}}
  // expected-error @+1 {{'func.call' op result type mismatch at index 0}}
  call @g() : () -> f32
  return
}

// -----

// expected-error @+1 {{'func.func' op symbol declaration cannot have public visibility}}
func.func @f()

// -----

// expected-error @+1 {{expected non-empty function body}}
func.func @f() { }

// -----

// expected-error @+1 {{expected SSA identifier}}
func.func @f(%a: i32, i32) { return }

// -----

// expected-error @+1 {{'func.func' op entry block must have 1 arguments to match function signature}}
func.func @f(i32) { return }

// -----

// expected-note @+1 {{see existing symbol definition here}}
func.func @f() {
  return } 
// expected-error @+1 {{redefinition of symbol named 'f'}}
func.func @f() {
  return
}

// -----

// expected-error @+1 {{'func.func' op type of entry block argument #0('f32') must match the type of the corresponding argument in function signature('i32')}}
"func.func"() ({ ^bb0(%x: f32): "func.return"() : () -> () }) {sym_name = "x", function_type = (i32) -> ()} : () -> ()

// -----

// expected-error @+1 {{'func.func' op entry block must have 1 arguments to match function signature}}
"func.func"() ({ ^bb0: "func.return"() : () -> () }) {sym_name = "x", function_type = (i32) -> ()} : () -> ()

// -----

// expected-error @+1 {{'func.func' op requires attribute 'sym_name'}}
"func.func"() ({ ^bb0: "func.return"() : () -> () }) {function_type = () -> ()} : () -> ()

// -----

// expected-error @+1 {{'func.func' op requires attribute 'function_type'}}
"func.func"() ({ ^bb0: "func.return"() : () -> () }) {sym_name = "x"} : () -> ()

// -----

// expected-error @+1 {{'func.func' op attribute 'function_type' failed to satisfy constraint: type attribute of function type}}
"func.func"() ({ ^bb0: "func.return"() : () -> () }) {sym_name = "x", function_type = i32} : () -> ()

// -----

func.func @f() {
  // expected-error @+1 {{'func.constant' op reference to undefined function 'g'}}
  %0 = func.constant @g : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'func.constant' op reference to function with mismatched type}}
  %0 = func.constant @f : (i32) -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'func.constant' op reference to function with mismatched type}}
  %0 = func.constant @f : i32
  return
}

// -----

// expected-error @+1 {{'func.return' op expects parent op 'func.func'}}
module { func.return }

// -----

// expected-error @+1 {{'sym_name' is an inferred attribute and should not be specified in the explicit attribute dictionary}}
func.func @f(%a: i32) -> i32 attributes {sym_name = "x"} { return %a : i32 }

// -----

// expected-error @+1 {{'func.func' op arguments may only have dialect attributes}}
func.func @f(%a: i32 {a = 1 : i32}) { return }

// -----

memref.global @g : memref<4xf32>
// expected-error @+1 {{'func.call' op 'g' does not reference a valid function}}
func.func @f(%a: i32) { call @g() : () -> () return }

// -----

func.func @f(%f: i32) {
  // expected-error @+1 {{'func.call_indirect' op operand #0 must be function type, but got 'i32'}}
  "func.call_indirect"(%f) : (i32) -> ()
  return
}

// -----

func.func @f(%f: (i32) -> ()) {
  // expected-error @+1 {{'func.call_indirect' op failed to verify that callee input types match argument types}}
  "func.call_indirect"(%f) : ((i32) -> ()) -> ()
  return
}

// -----

func.func @f(%f: i32) {
  // expected-error @+1 {{'func.call' op requires attribute 'callee'}}
  "func.call"() : () -> ()
  return
}

// -----

func.func @f(%f: i32) {
  // expected-error @+1 {{branch has 1 operands for successor #0, but target block has 0}}
  cf.br ^bb1(%f : i32) ^bb1:
  return
}

// -----

func.func @f(%f: i32) {
  // expected-error @+1 {{type mismatch for bb argument #0 of successor #0}}
  cf.br ^bb1(%f : i32) ^bb1(%x: f32):
  return
}

// -----

// expected-note @+1 {{prior use here}}
func.func @f(%f: i32) {
  // expected-error @+1 {{use of value '%f' expects different type than prior uses: 'i1' vs 'i32'}}
  cf.cond_br %f, ^bb1, ^bb1 ^bb1:
  return
}

// -----

func.func @f(%f: i32) {
  // expected-error @+1 {{reference to an undefined block}}
  cf.br ^bb2 ^bb1:
  return
}

// -----

func.func @f(%f: i32) {
  // expected-error @+1 {{'cf.switch' op number of case values (2) should match number of case destinations (1)}}
  "cf.switch"(%f)[^bb1, ^bb1] {case_values = dense<[1, 2]> : vector<2xi32>, case_operand_segments = array<i32: 0>, operandSegmentSizes = array<i32: 1, 0, 0>} : (i32) -> () ^bb1:
  return
}

// -----

func.func @f(%f: i32) {
  // expected-error @+1 {{'cf.switch' op 'flag' type ('i32') should match case value type ('i64')}}
  "cf.switch"(%f)[^bb1, ^bb1] {case_values = dense<[1]> : vector<1xi64>, case_operand_segments = array<i32: 0>, operandSegmentSizes = array<i32: 1, 0, 0>} : (i32) -> () ^bb1:
  return
}

// -----

func.func @f(%f: i32) {
  // expected-error @+1 {{branch has 1 operands for successor #0, but target block has 0}}
  cf.switch %f : i32, [ default: ^bb1(%f : i32), 1: ^bb1(%f: i32) ] ^bb1:
  return
}
