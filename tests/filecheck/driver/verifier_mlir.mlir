// RUN: mlir-opt-22 %S/verifier.mlir --split-input-file --verify-diagnostics --allow-unregistered-dialect
// The expectations in verifier.mlir are what MLIR itself reports.
