"""The command line of `tilewright translate`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewright.cli.errors import CommandLineError
from tilewright.cli.mlir_flags import OUTPUT, PART_FLAGS, UNREGISTERED, CommandLine, Flag, dashed
from tilewright.ir.split_input import DEFAULT_MARKER

PROGRAM = "tilewright translate"


@dataclass
class TranslateArguments:
    """What the command line asks for."""

    input: str = "-"
    output: str = "-"
    translation: str | None = None
    output_binary: bool = True
    device_name: str = ""
    sequence_name: str = ""
    fold_ddr_offsets: bool = True
    location_map: str = ""
    show_locations: bool = False
    function_name: str = ""
    upstream_text: bool = False
    keep_buffers: bool = False
    tile_column: str = "0"
    tile_row: str = "0"
    work_directory: str = ""
    cdo_unified: bool = False
    cdo_listing: bool = False
    cdo_start_cores: bool = True
    big_endian: bool = False
    split_marker: str | None = None
    output_split_marker: str = DEFAULT_MARKER
    verify_diagnostics: str | None = None
    allow_unregistered: bool = False
    help: bool = False


def _translation(name: str, help: str) -> tuple[str, Flag]:
    return name, Flag("translation", help, implied=name)


TRANSLATIONS = dict(
    [
        _translation("aie-npu-to-binary", "the TXN words of a lowered sequence"),
        _translation("aie-npu-to-cpp", "C++ functions that make the TXN words of lowered sequences"),
        _translation("aie-generate-txn-cpp", "the same in the older spelling: the sequences are lowered first"),
        _translation("aie-ctrlpkt-to-bin", "the words of the control packets in a sequence"),
        _translation("aie-cert-to-asm", "control code for columns' microcontrollers; sections become files NAME.asm"),
        _translation("aie-generate-cdo", "files with the configuration of the device, for those who pack images"),
        _translation("aie-flows-to-json", "routed flows and how busy switches are, as JSON"),
        _translation("aie-generate-bcf", "what the vendor's linker has to know of a core's memories"),
        _translation("aie-generate-ldscript", "the script with which LLVM's linker links the program of a core"),
        _translation("aie-core-to-llvmir", "the program of a core as LLVM IR, for the compiler for cores"),
        _translation("aie-generate-mmap", "where each tile sees buffers, its own and its neighbours'"),
        _translation("aie-generate-corelist", "the cores and the ELF files of their programs, as a Python list"),
        _translation("aie-generate-json", "the shim DMA channels that have names, as JSON"),
        _translation("aie-generate-target-arch", "the architecture of the device"),
        _translation("mlir-to-cpp", "C++ from operations of the emitc dialect"),
    ]
)

OPTIONS = {
    "o": OUTPUT,
    "aie-output-binary": Flag("output_binary", "words in binary; if false as text, one a line in hexadecimal"),
    "aie-device-name": Flag("device_name", "the device to translate (main if not given)", "NAME"),
    "aie-sequence-name": Flag("sequence_name", "the runtime sequence to translate (the first if not given)", "NAME"),
    "aie-npu-fold-ddr-addr-offset": Flag(
        "fold_ddr_offsets", "translate addresses of host buffers after the fifth (on unless set to false)"
    ),
    "aie-npu-emit-locmap": Flag("location_map", "write where words come from to this file, as JSON", "FILE"),
    "loc": Flag("show_locations", "print a table of the words and where they come from"),
    "txn-cpp-name": Flag("function_name", "the name of the C++ function, for --aie-generate-txn-cpp", "NAME"),
    "txn-cpp-upstream-text": Flag(
        "upstream_text", "C++ without the checks and the include guard that mlir-aie does not write"
    ),
    "txn-cpp-keep-buffers": Flag("keep_buffers", "C++ functions that take host buffers too, as void *, in their order"),
    "tilecol": Flag("tile_column", "column of the core (0 if not given)", "INT"),
    "tilerow": Flag("tile_row", "row of the core (0 if not given)", "INT"),
    "work-dir-path": Flag("work_directory", "where CDO files go and ELF files are (here if not given)", "DIRECTORY"),
    "cdo-unified": Flag("cdo_unified", "one CDO file, not one each for programs, settings and the start of cores"),
    "cdo-debug": Flag("cdo_listing", "print what is in CDO files"),
    "cdo-enable-cores": Flag("cdo_start_cores", "let CDO files start the cores (on unless set to false)"),
    "big-endian": Flag("big_endian", "words of CDO files with their upper bytes first"),
    **PART_FLAGS,
    "allow-unregistered-dialect": UNREGISTERED,
    "help": Flag("help", "print this text"),
    "h": Flag("help", "the same"),
}
COMMAND_LINE = CommandLine(PROGRAM, TRANSLATIONS | OPTIONS)


def parse_arguments(argv: list[str]) -> TranslateArguments:
    """Read a command line; raises `CommandLineError` for what makes no sense."""
    arguments = TranslateArguments()
    arguments.input, names = COMMAND_LINE.read(argv, arguments, lambda name, value: False)
    asked = [name for name in names if name in TRANSLATIONS]
    # twice the same does no harm
    if len(set(asked)) > 1:
        raise CommandLineError(f"{PROGRAM}: {' and '.join(map(dashed, asked))} exclude each other")
    # only words have locations to show
    if arguments.show_locations and arguments.translation is None:
        arguments.translation = "aie-npu-to-binary"
    _check(arguments)
    return arguments


def _check(arguments: TranslateArguments) -> None:
    if arguments.help:
        return
    if arguments.translation is None:
        choices = "".join(f"\n  --{name}" for name in TRANSLATIONS)
        raise CommandLineError(f"{PROGRAM}: say what to translate to, one of:{choices}")
    for flag, number in (("tilecol", arguments.tile_column), ("tilerow", arguments.tile_row)):
        if not number.isdecimal():
            raise CommandLineError(
                f"{PROGRAM}: for the --{flag} option: '{number}' value invalid for integer argument!"
            )
    wants_map = arguments.location_map or arguments.show_locations
    if wants_map and arguments.translation != "aie-npu-to-binary":
        raise CommandLineError(f"{PROGRAM}: only --aie-npu-to-binary knows where words come from")
    if arguments.function_name and not re.fullmatch(r"[A-Za-z_]\w*", arguments.function_name, re.ASCII):
        raise CommandLineError(
            f"{PROGRAM}: for the --txn-cpp-name option: '{arguments.function_name}' is no name that a C++ function "
            "can have; to name the file use -o"
        )


def help_text() -> str:
    """What `--help` prints."""
    lines = [
        f"USAGE: {PROGRAM} TRANSLATION [options] [FILE]\n",
        "Reads a program from FILE or stdin, checks it and writes it in another form.\n",
        "TRANSLATIONS:\n",
        *(_row(name, flag) for name, flag in TRANSLATIONS.items()),
        "\nOPTIONS:\n",
        *(_row(name, flag) for name, flag in OPTIONS.items()),
    ]
    return "\n".join(lines)


def _row(name: str, flag: Flag) -> str:
    value = "" if not flag.value else f"=<{flag.value}>" if flag.value[0] != "[" else f"[=<{flag.value[1:-1]}>]"
    return f"  {dashed(name) + value:44} - {flag.help}"
