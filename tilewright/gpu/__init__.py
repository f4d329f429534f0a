"""AIR on GPUs: a module of host functions and kernels comes in, a run on an emulator or a real GPU comes out."""
