"""The command line of `tilewright aiecc`: the flags of upstream's drivers, from the first one on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple, cast

from tilewright.cli.errors import CommandLineError, InputError
from tilewright.cli.files import read_text
from tilewright.cli.mlir_flags import CommandLine, Flag, dashed
from tilewright.passes.pipelines import DriverOptions

PROGRAM = "tilewright aiecc"
MANIFEST = "manifest.json"
"""What a checkpoint is resumed from."""
ELSEWHERE = ("error", "warn")


@dataclass
class AieccArguments(DriverOptions):
    """What the command line asks for."""

    input: str = ""
    host_files: list[str] = field(default_factory=list[str])
    """Sources and flags of the host program."""
    host_output: str = "a.out"
    output_dir: str = "."
    tmpdir: str = ""
    verbose: bool = False
    progress: bool = False
    profile: bool = False
    dry_run: bool = False
    dump_intermediates: bool = False
    emit_dot: bool = False
    elsewhere: str = "error"

    asked: list[str] = field(default_factory=list[str])
    """Outputs, each by its selector, in the order of the table."""
    is_old: bool = False
    """Whether outputs were asked for as before there was `--get-...`: some had other names and places."""
    get: list[str] = field(default_factory=list[str])
    cut: list[str] = field(default_factory=list[str])
    checkpoint: str = ""
    resume: str = ""
    keep_failures: bool = False
    no_failures: bool = False
    failures: str = ""
    restored: dict[str, Path] = field(default_factory=dict[str, Path])
    """Files that are read in place of running the stages before them."""
    graph: list[str] = field(default_factory=list[str])
    """The part of the command line that a checkpoint repeats."""

    npu_insts_name: str = ""
    txn_cpp_name: str = "generated_txn.h"
    elf_name: str = "design.elf"
    pdi_name: str = "{0}.pdi"
    txn_name: str = "{0}_transaction.mlir"
    ctrlpkt_name: str = "{0}_ctrlpkt.bin"
    ctrlpkt_dma_seq_name: str = "{0}_ctrlpkt_dma_seq.bin"
    ctrlpkt_elf_name: str = "{0}_ctrlpkt.elf"
    xclbin_name: str = "aie.xclbin"
    xclbin_kernel_name: str = "MLIR_AIE"
    xclbin_instance_name: str = "MLIRAIE"
    xclbin_kernel_id: str = "0x901"
    xclbin_input: str = ""
    no_design: bool = False
    """Packages have only what upstream's have: nothing for the simulator."""
    full_elf_name: str = "aie.elf"

    device_name: str = ""
    sequence_name: str = ""
    core_elfs: list[str] = field(default_factory=list[str])
    peano: str = ""
    opt_level: str = "2"
    jobs: str = "0"
    fold_ddr_offsets: bool = True

    without_programs: bool = False
    """Cores are not compiled, and whatever would hold their programs is made without."""
    no_compile_host: bool = False
    without_effect: list[str] = field(default_factory=list[str])
    """Flags that were given and change nothing here."""
    ignored: object = None
    only_print: str = ""

    @property
    def work_directory(self) -> Path:
        return Path(self.tmpdir or f"{Path(self.input).name}.prj")

    @property
    def compiles_host(self) -> bool:
        has_source = any(Path(file).suffix in HOST_SUFFIXES for file in self.host_files)
        return has_source and not self.no_compile_host


class Selector(NamedTuple):
    """An output that can be asked for: as `--get-NAME`, and as it was called before."""

    help: str
    older: tuple[str, ...] = ()


SELECTORS = {
    "npu-insts": Selector("TXN words of each sequence without scalars", ("aie-generate-npu-insts",)),
    "locmap": Selector("beside them, where each word comes from, as JSON", ("keep-loc",)),
    "txn-cpp": Selector("a C++ header that makes the words of sequences", ("aie-generate-txn-cpp",)),
    "input-with-addresses": Selector(
        "the design with all addresses, locks and descriptors", ("aie-generate-input-with-addresses",)
    ),
    "scratchpad-parameters": Selector("entries of scratchpad parameters", ("emit-scratchpad-parameters",)),
    "txn": Selector("each device's configuration as a sequence of writes", ("aie-generate-txn",)),
    "ctrlpkt": Selector("each device's configuration as control packets", ("aie-generate-ctrlpkt",)),
    "cdo": Selector("each device's configuration as CDO files", ("aie-generate-cdo",)),
    "core-elfs": Selector("programs of cores", ("aie-generate-core-elfs",)),
    "elf": Selector("an ELF file with the words of a sequence", ("aie-generate-elf",)),
    "pdi": Selector("a device image", ("aie-generate-pdi",)),
    "xclbin": Selector("a container for XRT", ("aie-generate-xclbin",)),
    "full-elf": Selector("one ELF file with all images and sequences", ("generate-full-elf",)),
    "host": Selector("the host program", ("compile-host",)),
    "aiesim": Selector("a folder for the vendor's simulator", ("aiesim",)),
}
"""Every output of upstream's drivers, in the order in which they are made here. The last two are not."""
SELECTED = {f"get-{name}": name for name in SELECTORS}
OLDER = {flag: name for name, selector in SELECTORS.items() for flag in selector.older} | {
    "aie-generate-npu": "npu-insts",
    "aie-only-generate-npu": "npu-insts",
}
SAME = "the same"
NEVER = "ignored"
"""The field of flags that change nothing here."""


def _text(name: str, help: str, value: str = "NAME") -> Flag:
    return Flag(name, help, value)


def _idle(help: str, value: str = "") -> Flag:
    return Flag(NEVER, help, value)


OUTPUTS = {flag: Flag(NEVER, SELECTORS[name].help) for flag, name in SELECTED.items()} | {
    "get": Flag("get", "what a stage makes, such as input_physical.mlir", "NAME", is_list=True),
    "g": Flag("get", SAME, "NAME", is_list=True),
}
NAMES = {
    "npu-insts-name": _text("npu_insts_name", "insts_{0}.bin; {0} is DEVICE_SEQUENCE"),
    "txn-cpp-name": _text("txn_cpp_name", "generated_txn.h; {0} is the device here and below"),
    "txn-name": _text("txn_name", "{0}_transaction.mlir"),
    "ctrlpkt-name": _text("ctrlpkt_name", "{0}_ctrlpkt.bin: the packets"),
    "ctrlpkt-dma-seq-name": _text("ctrlpkt_dma_seq_name", "{0}_ctrlpkt_dma_seq.bin: the words that send them"),
    "ctrlpkt-elf-name": _text("ctrlpkt_elf_name", "{0}_ctrlpkt.elf"),
    "elf-name": _text("elf_name", "design.elf"),
    "pdi-name": _text("pdi_name", "{0}.pdi"),
    "xclbin-name": _text("xclbin_name", "aie.xclbin"),
    "full-elf-name": _text("full_elf_name", "aie.elf"),
    "xclbin-kernel-name": _text("xclbin_kernel_name", "MLIR_AIE: the kernel in a container"),
    "xclbin-instance-name": _text("xclbin_instance_name", "MLIRAIE: its instance"),
    "xclbin-kernel-id": _text("xclbin_kernel_id", "0x901: the number by which its image is found", "ID"),
    "o": _text("host_output", "a.out: the host program"),
    "output-dir": _text("output_dir", "where outputs go (here if not given)", "DIRECTORY"),
    "tmpdir": _text("tmpdir", "where everything else goes (INPUT.prj if not given)", "DIRECTORY"),
}
SELECTION = {
    "device-name": _text("device_name", "only this device (all if not given)"),
    "sequence-name": _text("sequence_name", "only this runtime sequence (all if not given)"),
    "core-elf": Flag("core_elfs", "the program of a core, or a folder with some", "COL,ROW=FILE", is_list=True),
    "xclbin-input": _text("xclbin_input", "a container that gets this design as one more kernel", "FILE"),
    "no-design": Flag("no_design", "containers with nothing but what upstream's have: no section for the simulator"),
}
PROGRAMS = {
    "peano": _text("peano", "the compiler for cores (what PEANO_INSTALL_DIR names if not given)", "DIRECTORY"),
    "O": _text("opt_level", "how much it optimizes: 0 to 3 (2 if not given)", "LEVEL"),
    "opt-level": _text("opt_level", SAME, "LEVEL"),
    "j": _text("jobs", "how many cores it compiles side by side (0, as many as there are processors)", "N"),
    "nthreads": _text("jobs", SAME, "N"),
}
LOWERING = {
    "dynamic-objFifos": Flag("dynamic_fifos", "keep loops of cores that use FIFOs (on unless set to false)"),
    "packet-sw-objFifos": Flag("packet_fifos", "FIFOs move data in packets instead of circuits"),
    "alloc-scheme": _text("alloc_scheme", "how buffers get addresses: basic-sequential or bank-aware", "SCHEME"),
    "placer": Flag("placer", "how tiles without a place get one", "PLACER", choices=("sequential_placer", "sa_placer")),
    "cores-per-col": _text("cores_per_col", "most cores to place in one column", "INT"),
    "sa-seed": _text("sa_seed", "the seed of sa_placer", "INT"),
    "generate-ctrl-pkt-overlay": Flag("overlay", "route control packets from the shim to all tiles"),
    "no-materialize": Flag("no_materialize", "leave sequences that run others as they are"),
    "expand-load-pdis": Flag("expand_load_pdis", "configure devices that are loaded by writes"),
    "load-pdi-to-ctrl-pkt": Flag("load_pdi_to_ctrl_pkt", "configure devices that are loaded by control packets"),
    "fold-ddr-addr-offset": Flag(
        "fold_ddr_offsets", "translate addresses of host buffers after the fifth (on unless set to false)"
    ),
    "guards": Flag(
        "guards",
        "which limits of the hardware are checked: upstream (the default), or full as compile does",
        "WHICH",
        choices=("upstream", "full"),
    ),
    "no-compile": Flag("without_programs", "configurations without the programs of cores"),
    "no-link": Flag("without_programs", SAME),
}
RUNNING = {
    "verbose": Flag("verbose", "say what is done, what is written and what has no effect"),
    "v": Flag("verbose", SAME),
    "progress": Flag("progress", "say what is done"),
    "profile": Flag("profile", "say how long each stage took"),
    "n": Flag("dry_run", "say what would be written, and write nothing"),
    "missing": Flag(
        "elsewhere",
        "what to do about outputs that are made elsewhere: error (the default) or warn",
        "WHAT",
        choices=ELSEWHERE,
    ),
    "dump-intermediates": Flag("dump_intermediates", "write what every stage makes"),
    "emit-dot": Flag("emit_dot", "print the stages as a graph for dot, and stop"),
    "cut": Flag("cut", "stop after these stages, and keep what they make for --resume", "NAME", is_list=True),
    "checkpoint": _text("checkpoint", "where --cut keeps it", "DIRECTORY"),
    "resume": _text("resume", "go on from the manifest.json of a checkpoint", "FILE"),
    "enable-repeater-scripts": Flag("keep_failures", "if a stage fails, keep what it began with for --resume"),
    "disable-repeater-scripts": Flag("no_failures", "do not (the default)"),
    "repeater-output-dir": _text("failures", "where it is kept (TMPDIR/repeater if not given)", "DIRECTORY"),
    "no-compile-host": Flag("no_compile_host", "no host program, whatever sources are named"),
    "aie-version": Flag("only_print", "print the version", implied="version"),
    "version": Flag("only_print", SAME, implied="version"),
    "help": Flag("only_print", "print this text", implied="help"),
    "h": Flag("only_print", SAME, implied="help"),
}
OLDER_FLAGS = {flag: Flag(NEVER, f"--get-{name}") for flag, name in OLDER.items()}
IDLE = {
    "no-aiesim": _idle("there is no folder for the vendor's simulator unless asked for"),
    "compile": _idle("cores are compiled where Peano is there"),
    "link": _idle("cores are compiled where Peano is there"),
    "no-xchesscc": _idle("cores are compiled where Peano is there"),
    "no-xbridge": _idle("cores are compiled where Peano is there"),
    "xchesscc": _idle("for compilers of cores"),
    "chesscc": _idle("for compilers of cores"),
    "xbridge": _idle("for compilers of cores"),
    "aietools": _idle("for compilers of cores", "DIRECTORY"),
    "unified": _idle("for compilers of cores"),
    "no-unified": _idle("for compilers of cores"),
    "bf16-emulation": _idle("for compilers of cores"),
    "vectorize": _idle("for compilers of cores"),
    "host-target": _idle("for compilers of host programs", "TRIPLE"),
    "sysroot": _idle("for compilers of host programs", "DIRECTORY"),
    "link_against_hsa": _idle("for compilers of host programs"),
    "I": _idle("for compilers of host programs", "DIRECTORY"),
    "L": _idle("for compilers of host programs", "DIRECTORY"),
    "l": _idle("for compilers of host programs", "LIBRARY"),
    "xclbinutil-path": _idle("for containers", "FILE"),
    "no-progress": _idle("progress is shown only when asked for"),
}
GROUPS = {
    "OUTPUTS": OUTPUTS,
    "THEIR NAMES, and what these are if not given": NAMES,
    "OF WHAT": SELECTION,
    "PROGRAMS OF CORES": PROGRAMS,
    "LOWERING": LOWERING,
    "RUNNING": RUNNING,
    "OLDER NAMES of outputs": OLDER_FLAGS,
    "WITHOUT EFFECT here": IDLE,
}
FLAGS = {name: flag for group in GROUPS.values() for name, flag in group.items()}
COMMAND_LINE = CommandLine(PROGRAM, FLAGS)

HOST_SUFFIXES = (".c", ".cpp", ".cc", ".cxx", ".C")
_JOINED = re.compile(r"-([jO])(\d+)")
_HOST_FLAG = re.compile(r"-([ILlD].+|W[al],.+)")
_AFTER_RESUME = ("get", "g", "cut", "checkpoint", "j", "nthreads", "v", "verbose", "progress", "no-progress")


def parse_arguments(argv: Iterable[str]) -> AieccArguments:
    """Read a command line; raises `CommandLineError` for what makes no sense."""
    words = list(argv)
    arguments = _read(words)
    if arguments.resume:
        arguments = _resumed(arguments.resume, words)
    _check(arguments)
    return arguments


def _read(words: list[str]) -> AieccArguments:
    arguments = AieccArguments()
    ours, arguments.host_files = _split(words)
    arguments.input, names = COMMAND_LINE.read(ours, arguments, _unknown_selector)
    for stages in (arguments.get, arguments.cut):
        stages[:] = [name for names_between_commas in stages for name in names_between_commas.split(",")]
    # `--flag=false` takes back what it asked for
    asked = dict[str, bool]()
    for word in ours:
        name, _, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name in SELECTED | OLDER:
            asked[name] = value.lower() not in ("false", "0")
    wanted = {name for name, is_asked in asked.items() if is_asked}
    arguments.is_old = bool(wanted & {*OLDER}) and not wanted & {*SELECTED}
    chosen = {(SELECTED | OLDER)[name] for name in wanted}
    arguments.asked = [name for name in SELECTORS if name in chosen]
    arguments.without_effect = [name for name in dict.fromkeys(names) if name in IDLE]
    arguments.graph = [word for word in words if not _is_about(word, ("get", "g", "cut", "checkpoint"))]
    if arguments.input == "-" and "-" not in ours:
        arguments.input = ""
    return arguments


def _split(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """What is for us, and what is for the compiler of a host program: older drivers took both in any order."""
    ours, host, pending = list[str](), list[str](), iter(words)
    for word in pending:
        name = word.lstrip("-").partition("=")[0]
        if word == "--":
            return ours, [*host, *pending]
        if word.startswith("-") and name in FLAGS:
            values = islice(pending, 1 if FLAGS[name].value and "=" not in word else 0)
            ours += _with_value(word, name, list(values))
        elif word in ("-nv", "-vn"):
            ours += ["-n", "-v"]
        elif joined := _JOINED.fullmatch(word):
            ours.append(f"-{joined[1]}={joined[2]}")
        elif _HOST_FLAG.fullmatch(word) or (not word.startswith("-") and Path(word).suffix in HOST_SUFFIXES):
            host.append(word)
        else:
            ours.append(word)
    return ours, host


def _with_value(word: str, name: str, values: list[str]) -> list[str]:
    # `--peano ${PEANO_INSTALL_DIR} aie.mlir`, where there is no Peano: what follows is the input
    if name in (*IDLE, "peano") and values and values[0].endswith(".mlir"):
        return [f"{word}=", *values]
    return [word, *values]


def _unknown_selector(name: str, value: str) -> bool:
    if name.startswith("get-"):
        known = "".join(f"\n  --{flag}" for flag in SELECTED)
        raise CommandLineError(f"aiecc: unknown output selector '--{name}'; available selectors are:{known}")
    return False


def _is_about(word: str, names: tuple[str, ...]) -> bool:
    return word.startswith("-") and word.lstrip("-").partition("=")[0] in names


def _check(arguments: AieccArguments) -> None:
    if arguments.only_print:
        return
    if not re.fullmatch("[0-3]", arguments.opt_level):
        raise CommandLineError(f"{PROGRAM}: for the -O option: '{arguments.opt_level}' is no level from 0 to 3")
    if not re.fullmatch(r"\d{1,4}", arguments.jobs, re.ASCII):
        raise CommandLineError(f"{PROGRAM}: for the -j option: '{arguments.jobs}' value invalid for uint argument!")
    for flag, number in (("cores-per-col", arguments.cores_per_col), ("sa-seed", arguments.sa_seed)):
        if not re.fullmatch(r"-?\d+", number, re.ASCII):
            problem = f"'{number}' value invalid for integer argument!"
            raise CommandLineError(f"{PROGRAM}: for the --{flag} option: {problem}")
    if not re.fullmatch(r"[\w-]*", arguments.alloc_scheme, re.ASCII):
        raise CommandLineError(f"{PROGRAM}: for the --alloc-scheme option: '{arguments.alloc_scheme}' is no scheme")
    for entry in arguments.core_elfs:
        if not re.fullmatch(r"\d{1,3},\d{1,3}=.+", entry, re.ASCII) and not Path(entry).is_dir():
            raise CommandLineError(f"{PROGRAM}: for the --core-elf option: '{entry}' is not COL,ROW=FILE, nor a folder")
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,3}|\d{1,4}", arguments.xclbin_kernel_id, re.ASCII):
        problem = f"'{arguments.xclbin_kernel_id}' is no number from 0 to 0xfff"
        raise CommandLineError(f"{PROGRAM}: for the --xclbin-kernel-id option: {problem}")
    asked = arguments.asked
    for one, other, problem in (
        (arguments.expand_load_pdis, "ctrlpkt" in asked, "--expand-load-pdis and --get-ctrlpkt"),
        (arguments.expand_load_pdis, arguments.load_pdi_to_ctrl_pkt, "--expand-load-pdis and --load-pdi-to-ctrl-pkt"),
    ):
        if one and other:
            raise CommandLineError(f"aiecc: {problem} are mutually exclusive")
    if arguments.cut and not arguments.checkpoint:
        raise CommandLineError("aiecc: --cut requires --checkpoint: it says where to keep what --resume goes on from")
    if not arguments.input and not arguments.emit_dot:
        raise CommandLineError(f"{PROGRAM}: no input file specified; expected an input .mlir")


def _resumed(manifest: str, words: list[str]) -> AieccArguments:
    """The command line that a checkpoint was made with, and what may be said anew."""
    given: dict[str, Any] = {}
    try:
        contents: object = json.loads(read_text(manifest))
        given = cast("dict[str, Any]", contents) if isinstance(contents, dict) else {}
        graph = [str(word) for word in given["argv"]]
        frontier = {str(entry["name"]): Path(manifest).parent / str(entry["file"]) for entry in given["frontier"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"'{manifest}' is no manifest of a checkpoint, which --checkpoint writes") from error
    rest = list(_after_resume(words))
    arguments = _read([*graph, *rest])
    arguments.resume, arguments.restored, arguments.graph = manifest, frontier, graph
    return arguments


def _after_resume(words: list[str]) -> Iterator[str]:
    pending = iter(words)
    for word in pending:
        name, equals, _ = word.lstrip("-").partition("=")
        if name != "resume" and not _is_about(word, _AFTER_RESUME):
            raise CommandLineError(f"aiecc: --resume rejects other arguments: {word}")
        value = list(islice(pending, 0 if equals or not FLAGS[name].value else 1))
        if name != "resume":
            yield from (word, *value)


def help_text() -> str:
    """What `--help` prints."""
    lines = [
        f"USAGE: {PROGRAM} [options] INPUT [-- host sources and flags]\n",
        "Takes the place of mlir-aie's compiler driver: reads a design in MLIR (or a .py file that defines one),",
        "lowers it as the driver does, and writes what is asked for under the same names. A container whose cores have",
        "no machine code is for the simulator alone, and a warning says so.",
    ]
    for title, flags in GROUPS.items():
        rows = [_row(name, flag) for name, flag in flags.items() if flag.help != SAME]
        lines += [f"\n{title}:\n", *(_together(flags) if flags is IDLE else rows)]
    return "\n".join(lines)


def _row(name: str, flag: Flag) -> str:
    same = next((dashed(other) for other in FLAGS if FLAGS[other].help == SAME and _follows(other, name)), "")
    spelled = f"{dashed(name)}{f'=<{flag.value}>' if flag.value else ''}{f', {same}' if same else ''}"
    return f"  {spelled:40} - {flag.help}"


def _follows(other: str, name: str) -> bool:
    names = list(FLAGS)
    return names.index(other) == names.index(name) + 1


def _together(flags: Mapping[str, Flag]) -> Iterator[str]:
    """Flags that are idle for one reason in one paragraph."""
    for reason in dict.fromkeys(flag.help for flag in flags.values()):
        names = ", ".join(dashed(name) for name, flag in flags.items() if flag.help == reason)
        yield fill(f"{reason}: {names}", 116, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
