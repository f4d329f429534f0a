// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What arith operations refuse, in upstream's words.

func.func @f(%a: f32) {
  // expected-error @+1 {{'arith.addi' op operand #0 must be signless-integer-like, but got 'f32'}}
  %0 = arith.addi %a, %a : f32
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @+1 {{'arith.addf' op operand #0 must be floating-point-like, but got 'i32'}}
  %0 = arith.addf %a, %a : i32
  return
}

// -----

func.func @f(%a: i32, %b: i64) {
  // expected-error @+1 {{'arith.addi' op requires the same type for all operands and results}}
  %0 = "arith.addi"(%a, %b) : (i32, i64) -> i32
  return
}

// -----

func.func @f(%a: i32, %b: i64) {
  // expected-error @+1 {{'arith.addi' op requires the same type for all operands and results}}
  %0 = "arith.addi"(%a, %a) : (i32, i32) -> i64
  return
}

// -----

// expected-note @+1 {{prior use here}}
func.func @f(%a: i32, %b: i64) {
  // expected-error @+1 {{use of value '%b' expects different type than prior uses: 'i32' vs 'i64'}}
  %0 = arith.addi %a, %b : i32
  return
}

// -----

func.func @f(%a: i32, %b: i64) {
  // expected-error @+1 {{'arith.extsi' op operand type 'i32' and result type 'i16' are cast incompatible}}
  %0 = arith.extsi %a : i32 to i16
  return
}

// -----

func.func @f(%a: i32, %b: i64) {
  // expected-error @+1 {{'arith.trunci' op operand type 'i32' and result type 'i64' are cast incompatible}}
  %0 = arith.trunci %a : i32 to i64
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.extf' op operand type 'f32' and result type 'f16' are cast incompatible}}
  %0 = arith.extf %a : f32 to f16
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.truncf' op operand type 'f32' and result type 'f64' are cast incompatible}}
  %0 = arith.truncf %a : f32 to f64
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.sitofp' op result #0 must be floating-point-like, but got 'i32'}}
  %0 = arith.sitofp %b : i64 to i32
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.fptosi' op result #0 must be signless-fixed-width-integer-like, but got 'f64'}}
  %0 = arith.fptosi %a : f32 to f64
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.index_cast' op operand type 'i64' and result type 'i32' are cast incompatible}}
  %0 = arith.index_cast %b : i64 to i32
  return
}

// -----

func.func @f(%a: f32, %b: index) {
  // expected-error @+1 {{'arith.index_cast' op operand type 'index' and result type 'index' are cast incompatible}}
  %0 = arith.index_cast %b : index to index
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.bitcast' op operand type 'i64' and result type 'i32' are cast incompatible}}
  %0 = arith.bitcast %b : i64 to i32
  return
}

// -----

func.func @f(%a: f32, %b: index) {
  // expected-error @+1 {{'arith.bitcast' op operand #0 must be signless-integer-or-float-like or memref of signless-integer or float, but got 'index'}}
  %0 = arith.bitcast %b : index to i64
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'predicate' [eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge]}}
  %0 = arith.cmpi foo, %b, %b : i64
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.cmpi' op attribute 'predicate' failed to satisfy constraint: allowed 64-bit signless integer cases: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}
  %0 = "arith.cmpi"(%b, %b) {predicate = 42 : i64} : (i64, i64) -> i1
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.cmpi' op result #0 must be bool-like, but got 'i2'}}
  %0 = "arith.cmpi"(%b, %b) {predicate = 2 : i64} : (i64, i64) -> i2
  return
}

// -----

func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{'arith.cmpi' op operand #0 must be signless-integer-like, but got 'f32'}}
  %0 = "arith.cmpi"(%a, %a) {predicate = 2 : i64} : (f32, f32) -> i1
  return
}

// -----

// expected-note @+1 {{prior use here}}
func.func @f(%a: f32, %b: i64) {
  // expected-error @+1 {{use of value '%b' expects different type than prior uses: 'i1' vs 'i64'}}
  %0 = arith.select %b, %a, %a : f32
  return
}

// -----

func.func @f(%a: vector<4xf32>, %b: vector<5xi1>) {
  // expected-error @+1 {{'arith.select' op failed to verify that condition is signless i1 or has matching shape}}
  %0 = arith.select %b, %a, %a : vector<5xi1>, vector<4xf32>
  return
}

// -----

func.func @f() {
  // expected-note @+2 {{add a trailing dot to make the literal a float}}
  // expected-error @+1 {{unexpected decimal integer literal for a floating point value}}
  %0 = arith.constant 1 : f32
  return
}

// -----

func.func @f() {
  %0 = arith.constant 1.0 : i32
  // expected-error @+1 {{floating point value not valid for specified type}}
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'arith.constant' op value must be an integer, float, or elements attribute}}
  %0 = arith.constant "x"
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'arith.constant' op failed to verify that all of {value, result} have same type}}
  %0 = "arith.constant"() {value = 1 : i32} : () -> i64
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'arith.constant' op integer return type must be signless}}
  %0 = "arith.constant"() {value = 1 : ui32} : () -> ui32
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'arith.constant' op requires attribute 'value'}}
  %0 = "arith.constant"() : () -> i32
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{integer constant out of range for attribute}}
  %0 = arith.constant 300 : i8
  return
}

// -----

func.func @f(%a: si32) {
  // expected-error @+1 {{'arith.addi' op operand #0 must be signless-integer-like, but got 'si32'}}
  %0 = arith.addi %a, %a : si32
  return
}

// -----

func.func @f(%a: vector<4xi32>) {
  // expected-error @+1 {{'arith.extsi' op requires the same shape for all operands and results}}
  %0 = arith.extsi %a : vector<4xi32> to vector<5xi64>
  return
}

// -----

func.func @f(%a: vector<4xi32>) {
  // expected-error @+1 {{'arith.extsi' op requires the same shape for all operands and results}}
  %0 = arith.extsi %a : vector<4xi32> to i64
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @+1 {{'arith.addui_extended' op result #1 must be bool-like, but got 'i2'}}
  %0:2 = arith.addui_extended %a, %a : i32, i2
  return
}

// -----

func.func @f(%a: index) {
  // expected-error @+1 {{'arith.extsi' op operand #0 must be signless-fixed-width-integer-like, but got 'index'}}
  %0 = arith.extsi %a : index to i64
  return
}

// -----

func.func @f(%a: f32) {
  // expected-error @+1 {{'arith.addf' op expected 2 operands, but found 1}}
  %0 = "arith.addf"(%a) : (f32) -> f32
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @+1 {{integer literal not valid for specified type}}
  %0 = arith.constant 1 : vector<4xi32>
  return
}

// -----

func.func @f(%a: f64) {
  // expected-error @+1 {{expected ':'}}
  %0 = arith.truncf %a nope : f64 to f32
  return
}

// -----

func.func @predicate_in_quotes(%a: i32) {
  // expected-error @+1 {{invalid predicate attribute specification: "foo"}}
  %0 = arith.cmpi "foo", %a, %a : i32
  return
}

// -----

func.func @rounding_in_quotes(%a: f32) {
  // expected-error @+1 {{invalid roundingmode attribute specification: "foo"}}
  %0 = arith.truncf %a "foo" : f32 to f16
  return
}
