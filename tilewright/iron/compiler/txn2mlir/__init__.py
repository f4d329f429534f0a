"""TXN binaries as designs."""
