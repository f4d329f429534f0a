"""The seam over xDSL: text comes in, verified operations with locations are worked on, MLIR's text goes out."""
