"""Library that passes are written with: the driver that keeps locations, the emitter, folding, effects, numbers."""
