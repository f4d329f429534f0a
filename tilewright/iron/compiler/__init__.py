"""The compiler driver for Python programs."""
