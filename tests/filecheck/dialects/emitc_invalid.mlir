// RUN: tilewright opt --split-input-file --verify-diagnostics %s

emitc.func @constant() {
  // expected-error@+1 {{requires attribute to either be an #emitc.opaque attribute or it's type ('i64') to match the op's result type ('i32')}}
  %0 = "emitc.constant"() <{value = 1 : i64}> : () -> i32
  return
}

// -----

emitc.func @width(%a: i33) {
  // expected-error@+1 {{operand #0 must be type supported by EmitC, but got 'i33'}}
  %0 = add %a, %a : (i33, i33) -> i33
  return
}

// -----

emitc.func @pointers(%p: !emitc.ptr<i32>) {
  // expected-error@+1 {{requires that at most one operand is a pointer}}
  %0 = add %p, %p : (!emitc.ptr<i32>, !emitc.ptr<i32>) -> !emitc.ptr<i32>
  return
}

// -----

emitc.func @assign(%f: f32) {
  %0 = "emitc.variable"() <{value = #emitc.opaque<"">}> : () -> !emitc.lvalue<i32>
  // expected-error@+1 {{requires value's type ('f32') to match variable's type ('i32')}}
  assign %f : f32 to %0 : <i32>
  return
}

// -----

emitc.func @argument(%a: i32) {
  // expected-error@+1 {{index argument is out of range}}
  call_opaque "f"(%a) {args = [1 : index]} : (i32) -> ()
  return
}

// -----

emitc.func @placeholders(%a: i32) {
  // expected-error@+1 {{requires operands for each placeholder in the format string}}
  verbatim "{}" args %a, %a : i32, i32
  return
}

// -----

emitc.func @brace(%a: i32) {
  // expected-error@+1 {{expected '}' after unescaped '{' at end of string}}
  verbatim "{} {" args %a : i32
  return
}

// -----

// expected-error@+1 {{requires zero or exactly one result, but has 2}}
emitc.func @results() -> (i32, i32) {
  return
}

// -----

emitc.func @returned(%a: i64) -> i32 {
  // expected-error@+1 {{type of the return operand ('i64') doesn't match function result type ('i32') in function @returned}}
  return %a : i64
}

// -----

// expected-error@+1 {{'missing' does not reference a valid function}}
emitc.declare_func @missing

// -----

emitc.func @rank(%i: i32, %array: !emitc.array<3x4xi32>) {
  // expected-error@+1 {{on array operand requires number of indices (1) to match the rank of the array type (2)}}
  %0 = subscript %array[%i] : (!emitc.array<3x4xi32>, i32) -> !emitc.lvalue<i32>
  return
}

// -----

emitc.func @cases(%a: i32) {
  // expected-error@+1 {{has duplicate case value: 1}}
  switch %a : i32
  case 1 {
    yield
  }
  case 1 {
    yield
  }
  default {
  }
  return
}

// -----

emitc.func @unused(%a: i32) {
  // expected-error@+1 {{contains an unused operation}}
  %0 = expression %a : (i32) -> i32 {
    %1 = add %a, %a : (i32, i32) -> i32
    %2 = mul %a, %a : (i32, i32) -> i32
    yield %2 : i32
  }
  return
}

// -----

emitc.func @isolated(%a: i32, %b: i32) {
  %0 = expression %a : (i32) -> i32 {
    // expected-error@+1 {{use of undeclared SSA value name}}
    %1 = add %a, %b : (i32, i32) -> i32
    yield %1 : i32
  }
  return
}

// -----

// expected-error@+1 {{shape must not be empty}}
emitc.func @shape(%a: !emitc.array<i32>) { return }

// -----

// expected-error@+1 {{cannot have both static and extern specifiers}}
emitc.global extern static @both : i32
