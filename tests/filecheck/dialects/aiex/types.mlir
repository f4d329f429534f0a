// RUN: tilewright opt --split-input-file --verify-diagnostics %s | filecheck %s

// Eight numbers and their common exponent are one element of nine bytes.
func.func @block_float(%a: memref<8x!aiex.bfp<"v8bfp16ebs8">>, %b: !aiex.bfp<"v16bfp16ebs16">) {
  return
}
// CHECK: func.func @block_float(%arg0: memref<8x!aiex.bfp<"v8bfp16ebs8">>, %arg1: !aiex.bfp<"v16bfp16ebs16">)

// -----

// expected-error@+1 {{Invalid block type: v4. Known types are: v8bfp16ebs8, v16bfp16ebs16.}}
func.func private @unknown(!aiex.bfp<"v4">)
