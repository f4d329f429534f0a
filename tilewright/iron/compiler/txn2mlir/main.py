"""`python -m aie.compiler.txn2mlir.main -f FILE`: the design that a TXN binary is the sequence of."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tilewright.errors import Error
from tilewright.iron.placed.transactions import transaction_binary_to_mlir


def main() -> int:
    """Print the design of the file that the command line names."""
    parser = argparse.ArgumentParser(prog="txn2mlir", description="the design that a TXN binary is the sequence of")
    parser.add_argument("-f", "-file", "--file", type=Path, required=True, help="the binary")
    path: Path = parser.parse_args().file
    try:
        print(transaction_binary_to_mlir(None, path.read_bytes()))
    except (OSError, Error) as error:
        print(f"{path}: error: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 1
    return 0


__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
