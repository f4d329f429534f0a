"""Host side of mlir-air's programs, under its names: launches go in, and run on the emulated GPU."""
