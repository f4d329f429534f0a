"""List the kernels that a design only has to declare: their names, parameters and what they do.

The names and parameters are those of mlir-aie's kernels. A function that is given with `--kernel` comes first.
"""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import InputError
from tilewright.cli.parsers import arguments, switch, value

if TYPE_CHECKING:
    from tilewright.kernels.definition import Definition


add_arguments = arguments(
    {
        "text": value("TEXT", "only those with this in their names", nargs="?", default=""),
        "--json": switch("print facts for programs instead of text for people"),
    }
)


def run(args: Namespace) -> int:
    from tilewright.kernels.registry import all_definitions

    found = [definition for definition in all_definitions() if args.text.lower() in definition.name.lower()]
    if args.json:
        print(json.dumps([describe(definition) for definition in found], indent=2))
    else:
        for definition in found:
            flags = ", ".join(f"-D{macro}" for macro in sorted(definition.macros))
            print(f"{definition.signature}\n    {definition.summary}{f'; flags {flags}' if flags else ''}")
    # with --json, too: an empty list is printed first, for those who only read that
    if not found:
        raise InputError(f"no kernel has '{args.text}' in its name")
    return 0


def describe(definition: Definition) -> dict[str, Any]:
    """The facts about a kernel, in plain types."""
    from tilewright.kernels.definition import MemoryArg

    return {
        "name": definition.name,
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.element,
                "memory": isinstance(parameter, MemoryArg),
                "size": parameter.size if isinstance(parameter, MemoryArg) else None,
            }
            for parameter in definition.parameters
        ],
        "flags": [f"-D{macro}" for macro in sorted(definition.macros)],
        "summary": definition.summary,
    }
