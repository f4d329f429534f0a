"""The command line: one module per command, joined by `main`."""
