"""The low-level style: tiles, buffers, locks, DMAs and DMA tasks written out; `iron.dialects` exports it."""
