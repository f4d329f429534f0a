"""Compile a design: its runtime sequences, lowered once for all sizes.

Writes into DIR: design.mlir (the lowered program), design.json (a manifest of names, types and addresses), and for each
runtime sequence NAME.h (a C++ function that makes its TXN words) and, unless it takes scalars, NAME.insts.bin. With
--shared also libDESIGN.so, all of these functions compiled, and libDESIGN.h, their declarations in C. With --xclbin
also design.xclbin, a package for XRT as `tilewright package` makes it.
"""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.errors import CommandLineError, InputError, show_diagnostics
from tilewright.cli.files import (
    cannot_write,
    design_arguments,
    host_arguments,
    host_options,
    load_expansion,
    print_written,
    read_design,
    write_atomically,
)
from tilewright.cli.parsers import GUARD_QUEUES, LOAD_EXPANSIONS, arguments, switch, value, values

if TYPE_CHECKING:
    from tilewright.driver.compiled_design import Design
    from tilewright.driver.sources import Source

PACKAGE = "design.xclbin"
LINT = {
    "off": (),
    "warn": ("tilewright-lint-queue-depth{likely-only}",),
    "error": ("tilewright-lint-queue-depth{likely-only severity=error}",),
}
"""Passes after all others."""


add_arguments = arguments(
    {
        **design_arguments(),
        **host_arguments(),
        "-o": value("DIR", "where the files go", dest="directory", required=True),
        "--shared": switch("also make a shared library of the generators"),
        "--library": value("NAME", "call it libNAME.so; without, it has the name of DESIGN"),
        "--xclbin": switch("also make a package for XRT"),
        "--core-elf": values("COL,ROW=FILE", "of the package: machine code of a core, or a folder with some"),
        "--peano": value("DIR", "of the package: the compiler for cores (default: $PEANO_INSTALL_DIR)"),
        "--keep-buffers": switch("let the C++ functions take the host's buffers too, as void *, in their order"),
        "--lint": {
            "choices": LINT,
            "default": "warn",
            "help": "what to do about pushes that may be dropped and descriptors rewritten in flight (default: warn)",
        },
        "--guard-queues": GUARD_QUEUES,
        **LOAD_EXPANSIONS,
        "--json": switch("print the names of the files for machines"),
    }
)


def run(args: Namespace) -> int:
    from tilewright.driver.artifacts import write_design
    from tilewright.driver.compiled_design import GUARDED_LOWERING, compile_source
    from tilewright.ir.diagnostics import collect
    from tilewright.native.elf import LinkError
    from tilewright.passes.pipelines import QUEUE_GUARDS

    library = _library_name(args)  # before the work: a wrong name is said at once
    expansion = load_expansion(args)
    source = read_design(args)
    with collect() as found:
        queues = QUEUE_GUARDS if args.guard_queues else ()
        order = (*GUARDED_LOWERING, *queues, *LINT[args.lint])
        design = compile_source(source, order, host_options(args), expand_load_pdis=expansion)
    show_diagnostics(found, source.texts)
    try:
        written = write_design(design, args.directory, library, keep_buffers=args.keep_buffers)
    except LinkError as error:
        raise InputError(str(error)) from error
    except (OSError, ValueError) as error:
        raise cannot_write(args.directory, error) from error
    if args.xclbin:
        written.append(_package(design, args, source))
    print_written(written, args.json)
    return 0


def _package(design: Design, args: Namespace, source: Source) -> Path:
    from tilewright.cli.package import image_of, located, say_missing, xclbin_file
    from tilewright.containers.packaging import KernelNames

    path = Path(args.directory) / PACKAGE
    given = Namespace(**vars(args), elf=[], no_design=False, sequence=None)
    with located(source):
        image = image_of(design, design.device_of() if design.sequences else None, given)
        write_atomically(path, xclbin_file(design, image, given, KernelNames(), None))
    say_missing(image)
    return path


def _library_name(args: Namespace) -> str | None:
    """What the library is called, where there is to be one: names of C functions begin with it."""
    from tilewright.codegen.cpp_names import identifier

    if args.library is None:
        return (identifier(Path(args.design).stem) or "design") if args.shared else None
    if args.library != identifier(args.library):
        raise CommandLineError(
            f"--library: '{args.library}' cannot begin names in C: letters, digits and single '_' can"
        )
    return args.library
