"""Passes on AIR programs: hierarchies to GPU kernels, channels, host transfers to shim descriptors."""
