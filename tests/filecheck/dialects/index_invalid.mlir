// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What index operations refuse, in upstream's words.

func.func @f(%a: index, %i: i64) {
  // expected-error @+1 {{'index.casts' op operand type 'index' and result type 'index' are cast incompatible}}
  %0 = index.casts %a : index to index
  return
}

// -----

func.func @f(%a: index, %i: i64) {
  // expected-error @+1 {{'index.casts' op operand type 'i64' and result type 'i32' are cast incompatible}}
  %0 = index.casts %i : i64 to i32
  return
}

// -----

func.func @f(%a: index, %i: i64) {
  // expected-error @+1 {{'index.add' op operand #0 must be index, but got 'i64'}}
  %0 = "index.add"(%i, %i) : (i64, i64) -> index
  return
}

// -----

func.func @f(%a: index, %i: i64) {
  // expected-error @+1 {{'index.constant' op attribute 'value' failed to satisfy constraint: index attribute}}
  %0 = "index.constant"() {value = 1 : i32} : () -> index
  return
}

// -----

func.func @f(%a: index, %i: i64) {
  // expected-error @+1 {{'index.bool.constant' op attribute 'value' failed to satisfy constraint: bool attribute}}
  %0 = "index.bool.constant"() {value = 1 : i32} : () -> i1
  return
}
