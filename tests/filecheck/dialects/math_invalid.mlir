// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What math operations refuse, in upstream's words.

func.func @f(%i: i32) {
  // expected-error @+1 {{'math.exp' op operand #0 must be floating-point-like, but got 'i32'}}
  %0 = math.exp %i : i32
  return
}

// -----

func.func @f(%i: f32) {
  // expected-error @+1 {{'math.absi' op operand #0 must be signless-integer-like, but got 'f32'}}
  %0 = math.absi %i : f32
  return
}

// -----

func.func @f(%i: f32, %j: f64) {
  // expected-error @+1 {{'math.powf' op requires the same type for all operands and results}}
  %0 = "math.powf"(%i, %j) : (f32, f64) -> f32
  return
}

// -----

func.func @keyword(%a: f32) {
  // expected-error @+1 {{custom op 'math.clampf' expected 'to'}}
  %0 = math.clampf %a from [%a, %a] : f32
  return
}
