"""The compiler driver, as programs call it."""
