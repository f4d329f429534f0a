"""Prints how long kernels took, of a file that `parse` wrote: what Makefiles of mlir-aie's examples call."""

from __future__ import annotations

import argparse

from tilewright.iron.utils.trace.utils import print_cycles_summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", required=True, help="the JSON")
    print_cycles_summary(parser.parse_args().input)


if __name__ == "__main__":
    main()
