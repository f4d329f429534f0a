// RUN: tilewright opt --split-input-file --verify-diagnostics --allow-unregistered-dialect %s
// What modules refuse, in upstream's words.

// expected-error @+1 {{'builtin.module' op can only contain attributes with dialect-prefixed names, found: 'foo'}}
module attributes {foo} {}

// -----

// expected-error @+1 {{'builtin.module' op expects region #0 to have 0 or 1 blocks}}
"builtin.module"() ({^bb0: "test.x"() : () -> () ^bb1: "test.x"() : () -> ()}) : () -> ()

// -----

// expected-error @+1 {{'builtin.module' op region should have no arguments}}
"builtin.module"() ({^bb0(%x: i32): }) : () -> ()
