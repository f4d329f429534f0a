"""XRT's runtime on the simulated NPU: packages come in, kernels run on buffers of the host.

`packages` reads xclbin and ELF files, `partition` loads and runs them on the simulator, and `devices`, `buffers` and
`kernels` are the objects that programs for XRT use: `tilewright.pyxrt` has them under XRT's names. `server` serves the
same to C++ programs, by way of the headers and the library in `cpp`.
"""
