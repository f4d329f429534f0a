// RUN: tilewright opt --reconcile-unrealized-casts %s | filecheck %s

// A chain of casts that ends with the type it began with is nothing; one that does not stays.
// CHECK-LABEL: func.func @there_and_back
// CHECK-NEXT: return %arg0 : i64
func.func @there_and_back(%n: i64) -> i64 {
  %a = builtin.unrealized_conversion_cast %n : i64 to index
  %b = builtin.unrealized_conversion_cast %a : index to i32
  %c = builtin.unrealized_conversion_cast %b : i32 to i64
  return %c : i64
}

// CHECK-LABEL: func.func @elsewhere
// CHECK-NEXT: %0 = builtin.unrealized_conversion_cast %arg0 : i64 to index
// CHECK-NEXT: return %0 : index
func.func @elsewhere(%n: i64) -> index {
  %a = builtin.unrealized_conversion_cast %n : i64 to index
  %unused = builtin.unrealized_conversion_cast %a : index to f32
  return %a : index
}
