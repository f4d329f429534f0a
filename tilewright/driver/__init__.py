"""Driver: joins compiler and simulator. Sources come in; compiled designs, their files and results of runs go out."""
