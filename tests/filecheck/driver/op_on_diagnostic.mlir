// RUN: not tilewright opt %s --pass-pipeline='builtin.module(func.func(symbol-dce))' 2>&1 | filecheck %s
// RUN: not tilewright opt %s --pass-pipeline='builtin.module(func.func(symbol-dce))' --mlir-print-op-on-diagnostic=false 2>&1 | filecheck %s --check-prefix=WITHOUT
// What a pass says about an operation shows the operation: it need not be what the source says any more.

// CHECK:      op_on_diagnostic.mlir:12:1: error: 'func.func' op {{.*}}does not define a symbol table
// CHECK-NEXT: func.func @f() {
// CHECK-NEXT: ^
// CHECK-NEXT: {{.*}}op_on_diagnostic.mlir:12:1: note: see current operation:
// CHECK-NEXT: "func.func"() <{function_type = () -> (), sym_name = "f"}> ({
// WITHOUT:     error: 'func.func' op
// WITHOUT-NOT: see current operation
func.func @f() {
  return
}
