"""Compare two files that `inspect` reads, by what they mean; status 1 if they differ.

Registers and their fields, operations, sections and entries are compared, not bytes: a PDI and its transformed form,
or a binary and its text, do the same. A PDI, a CDO, a stream and an xclbin with one PDI are compared by what they do.
"""

from __future__ import annotations

import json
from argparse import Namespace
from itertools import islice

from tilewright.cli.files import read_bytes
from tilewright.cli.parsers import arguments, switch, value

MOST_SHOWN = 20

add_arguments = arguments(
    {
        "left": value("A"),
        "right": value("B"),
        "--all": switch(f"every difference, not only the first {MOST_SHOWN}"),
        "--json": switch("for programs, all of them"),
    }
)


def run(args: Namespace) -> int:
    from tilewright.cli.inspect import read_container
    from tilewright.containers.differences import differences
    from tilewright.ir.escapes import visible

    left, right = (read_container(name, read_bytes(name)) for name in (args.left, args.right))
    found = differences(left, right)
    if args.json:
        shown = [*found]
        print(json.dumps([vars(difference) for difference in shown]))
        return 1 if shown else 0
    shown = [*(found if args.all else islice(found, MOST_SHOWN))]
    for difference in shown:
        print(visible(difference.place))
        for sign, text in (("-", difference.left), ("+", difference.right)):
            if text is not None:
                print(f"  {sign} {visible(text)}")
        for meaning in difference.meanings:
            print(f"    {visible(meaning)}")
    if rest := sum(1 for _ in found):
        print(f"and {rest} more differences (--all shows them)")
    return 1 if shown else 0
