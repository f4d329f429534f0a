"""The runtime of XRT, by upstream's path: programs that name it get the simulated NPU."""
