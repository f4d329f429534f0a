"""Passes from runtime sequences to C++."""
