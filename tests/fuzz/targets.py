"""The tools, each with what makes damaged inputs for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from random import Random

import container_files
import numpy as np
from bare_streams import loopback
from container_files import with_checksum

import tilewright as tw
from fuzz import corpus
from fuzz.calls import build_stream, call_scalars, host_program, run_arrays
from fuzz.cases import Case
from fuzz.mutations import ODD_NUMBERS, damaged_bytes, damaged_text, damaged_words, spliced
from fuzz.streams import RandomStream, mutated
from tilewright import txn
from tilewright.cli.aiecc_arguments import SELECTORS
from tilewright.cli.main import COMMANDS
from tilewright.cli.translate_arguments import TRANSLATIONS
from tilewright.device import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.device.timing import Timing
from tilewright.ir.pass_options import Option, options_of
from tilewright.passes import PASSES, find_pass
from tilewright.sim.faults import FaultKind

MAX_CYCLES = 6000
PROGRAM = "program.mlir"
SCALAR = re.compile(r"%(\w+): (?:i\d+|index)")
CHIPS = ("gfx942", "gfx950", "gfx1100", "sm_80", "sm_90")
SMALL_DEVICES = (DeviceName.npu1_1col, DeviceName.npu1_2col, DeviceName.npu2_2col)


@dataclass(frozen=True)
class Target:
    """A tool: what makes a case from chance, and how many cases of a million it gets."""

    name: str
    make: Callable[[Random], Case]
    share: int

    def case(self, seed: int) -> Case:
        return self.make(Random(f"{self.name}:{seed}"))


def _file(text: str) -> dict[str, bytes]:
    return {PROGRAM: text.encode(errors="surrogateescape")}


def _some(random: Random, *flags: Sequence[str]) -> list[str]:
    """Some of the flags, each seldom."""
    return [word for flag in flags if random.random() < 0.2 for word in flag]


def read(random: Random) -> Case:
    """`opt` without passes: what is read is checked and printed, and reads as what was printed."""
    flags = _some(random, ["--allow-unregistered-dialect"], ["--mlir-print-op-generic"], ["--mlir-print-debuginfo"],
                  ["--mlir-print-local-scope"], ["--split-input-file"], ["--verify-roundtrip"])  # fmt: skip
    return Case(_file(damaged_text(corpus.programs(), random)), ["opt", PROGRAM, *flags])


def transform(random: Random) -> Case:
    """`opt` with passes that the program is for, others, or both, with options of all kinds."""
    flags, sound = (
        random.choice(corpus.pass_lines()) if random.random() < 0.6 else ([], random.choice(corpus.designs()))
    )
    text = sound if random.random() < 0.3 else damaged_text([sound, *random.sample(corpus.programs(), 3)], random, 0.8)
    passes = [_pass_flag(random) for _ in range(random.choice((0, 1, 2, 4)) if flags else random.randint(1, 6))]
    chosen = [*flags, *passes]
    if random.random() < 0.3:
        random.shuffle(chosen)
    return Case(_file(text), ["opt", PROGRAM, *chosen, *_some(random, ["--allow-unregistered-dialect"])])


def _pass_flag(random: Random) -> str:
    name = random.choice(list(PASSES))
    found = find_pass(name)
    assert found is not None
    options = [option for option in options_of(found) if random.random() < 0.3]
    text = " ".join(f"{option.name}={_option_value(option, random)}" for option in options)
    return f"--{name}={text}" if text else f"--{name}"


def _option_value(option: Option, random: Random) -> str:
    if random.random() < 0.7 and "|" in option.placeholder:
        return random.choice(option.placeholder.split("|"))
    if random.random() < 0.5 and option.placeholder.startswith("int"):
        return str(random.choice((0, 1, 2, 3, 4, 8, 64)))
    return random.choice(("true", "false", "main", "a,b", "", "0x10", str(random.choice(ODD_NUMBERS))))


def compile_and_run(random: Random) -> Case:
    """`run` of a damaged design."""
    model = random.choice(("fast", "fast", "plain"))
    levels = [word for kind in FaultKind if random.random() < 0.05 for word in ("--judge", f"{kind.option}=off")]
    text = _design(random)
    flags = [*_values(text, random), *levels, *_some(random, ["--json"], ["--timing", "none"], ["--out", "results"])]
    return Case(_file(text), ["run", PROGRAM, "--max-cycles", str(MAX_CYCLES), "--model", model, *flags])


def _design(random: Random) -> str:
    return damaged_text(corpus.designs(), random, 0.9)


def _values(text: str, random: Random) -> list[str]:
    """Numbers for the scalar arguments that a design has."""
    names = SCALAR.findall(text.partition("runtime_sequence")[2].partition("{")[0])
    numbers = [random.choice(ODD_NUMBERS if random.random() < 0.2 else (1, 2, 3, 4, 8)) for _ in names]
    return [word for name, number in zip(names, numbers, strict=True) for word in ("--set", f"{name}={number}")]


def show_run(random: Random) -> Case:
    """`run` that writes what happened as a page and as a trace."""
    text, files = _design(random), ["--report", "page.html", "--trace", "trace.json"]
    return Case(_file(text), ["run", PROGRAM, "--max-cycles", str(MAX_CYCLES), *files, *_values(text, random)])


def compile_files(random: Random) -> Case:
    flags = _some(random, ["--shared"], ["--lint", "error"], ["--lint", "off"], ["--json"], ["--library", "x"])
    return Case(_file(_design(random)), ["compile", PROGRAM, "-o", "out", *flags])


def show(random: Random) -> Case:
    return Case(_file(_design(random)), ["show", PROGRAM])


def translate(random: Random) -> Case:
    flags = _some(random, ["--aie-output-binary=false"], ["--aie-device-name=main"], ["--aie-sequence-name=seq"],
                  ["--loc"], ["--cdo-debug"], ["--cdo-unified"], ["--tilecol=1"], ["--tilerow=2"], ["--big-endian"],
                  ["--split-input-file"], ["--aie-npu-emit-locmap=map.json"])  # fmt: skip
    text = damaged_text(corpus.lowered_designs(), random, 0.8)
    return Case(_file(text), ["translate", PROGRAM, f"--{random.choice(list(TRANSLATIONS))}", *flags])


def drive(random: Random) -> Case:
    """`aiecc` of a damaged design: several outputs at once, with flags that lower it in other ways."""
    wishes = [f"--get-{name}" for name in random.sample(list(SELECTORS), random.randint(1, 3))]
    flags = _some(random, ["--no-compile"], ["--missing=warn"], ["--output-dir=out"], ["--npu-insts-name=i.bin"],
                  ["--dump-intermediates"], ["--expand-load-pdis"], ["--generate-ctrl-pkt-overlay"], ["--guards=full"],
                  ["--dynamic-objFifos=false"], ["--alloc-scheme=basic-sequential"], ["--core-elf=0,2=" + PROGRAM],
                  ["--device-name=main"], ["-v"], ["-n"], ["--enable-repeater-scripts"])  # fmt: skip
    return Case(_file(_design(random)), ["aiecc", PROGRAM, *wishes, *flags])


def air_run(random: Random) -> Case:
    flags = _some(random, ["--ranks", random.choice(("1", "2", "4", "0"))], ["--json"], ["--verbose"],
                  ["--wave-size", random.choice(("32", "64", "7"))], ["--by-rank"], ["--entry", "main"])  # fmt: skip
    text = damaged_text(corpus.air_programs(), random, 0.8)
    return Case(_file(text), ["air", "run", PROGRAM, "--timeout", "8", *flags])


def air_compile(random: Random) -> Case:
    text = damaged_text(corpus.air_programs(), random, 0.8)
    where = random.choice((["-o", "out"], ["--emit", "llvm"], ["--emit", "mlir"]))
    return Case(_file(text), ["air", "compile", PROGRAM, "--target", random.choice(CHIPS), *where])


def decode(random: Random) -> Case:
    """Words to operations and back."""
    data = _damaged_binary(random)
    return Case({"stream.bin": data}, call=partial(_decode_and_encode, data))


def _decode_and_encode(data: bytes) -> None:
    stream = txn.decode(data)
    list(stream.operations)
    txn.encode(stream)


def _damaged_binary(random: Random) -> bytes:
    data = random.choice(corpus.binaries())
    match random.randrange(4):
        case 0:
            return spliced(data, random.choice(corpus.binaries()), random)
        case 1:
            return txn.encode(mutated(_decoded(data), random)).astype("<u4").tobytes()
        case _:
            return damaged_bytes(data, random)


@cache
def _decoded(data: bytes) -> txn.Stream:
    return txn.decode(data)


def assemble(random: Random) -> Case:
    """The text of `txn dis` to words."""
    from tilewright.txn.text import assemble

    text = damaged_text(corpus.listings(), random)
    data = text.encode(errors="surrogateescape")
    return Case({"stream.txt": data}, call=partial(_encode_text, assemble, text))


def _encode_text(assemble: Callable[[str], txn.Stream], text: str) -> None:
    txn.encode(assemble(text))


def read_container(random: Random) -> Case:
    """ELF files, hex text, binaries: whatever `txn` and `run --txn` take for a stream."""
    from tilewright.txn.containers import read_stream

    data = damaged_bytes(random.choice(corpus.containers()), random)
    section = random.choice((None, None, None, ".ctrltext", ".preempt_save", "x"))
    return Case({"stream.elf": data}, call=partial(read_stream, data, section))


def txn_tools(random: Random) -> Case:
    """`txn` on binaries, texts and ELF files."""
    kind = random.randrange(4)
    text = damaged_text(corpus.listings(), random).encode(errors="surrogateescape") if kind == 0 else b""
    data = text or (damaged_bytes(random.choice(corpus.containers()), random) if kind == 1 else _damaged_binary(random))
    tool = random.choice(("dis", "asm", "stat", "diff", "lint", "to-mlir", "lift"))
    beside = random.choice(corpus.binaries()) if tool in ("diff", "lift") else None
    more = {"asm": ["-o", "out.bin"], "diff": ["other1.bin"], "lift": ["other1.bin", "other2.bin", "-o", "lifted"]}
    files = {"stream.bin": data, **({f"other{at}.bin": beside for at in (1, 2)} if beside else {})}
    own = {
        "dis": [["--level", random.choice("123")], ["--html", "page.html"]],
        "stat": [["--transfers"]],
        "diff": [["--all"], ["--summary"]],
        "lint": [["--all"], ["--sarif", "out.sarif"]],
        "lift": [["--zero-unused"], ["--hold-out", "0.4"]],
        "to-mlir": [["--zero-unused"]],
    }
    flags = _some(random, ["--json"], *own.get(tool, []), ["--section", ".ctrltext"])
    return Case(files, ["txn", tool, "stream.bin", *more.get(tool, []), *flags])


def rebuild(random: Random) -> Case:
    """Containers: what can be read is written as it was."""
    data = _damaged_package(random)
    return Case({"file.bin": data}, call=partial(_read_and_write, data))


def _read_and_write(data: bytes) -> None:
    from tilewright.containers import read

    assert read(data).write() == data


SUMMED = ((0x10, 32), (0x90, 16), (0xD0, 32), (0x150, 5), (0, 5))
"""Headers of PDI and CDO files that end in a checksum: byte and words."""


def _damaged_package(random: Random) -> bytes:
    data = random.choice(corpus.packages())
    match random.randrange(4):
        case 0:
            return spliced(data, random.choice(corpus.packages()), random)
        case 1:
            return damaged_bytes(data, random)
        case _:
            return _resummed(damaged_words(data, random), random)


def _resummed(data: bytes, random: Random) -> bytes:
    """With a checksum put right, so that damage goes on to what a checksum would have told."""
    at, count = random.choice(SUMMED)
    end = at + 4 * (count - 1)
    return data[:at] + with_checksum(data[at:end]) + data[end + 4 :] if len(data) > end + 4 else data


def inspect(random: Random) -> Case:
    """`inspect` and `diff` of containers."""
    files = {"file.bin": _damaged_package(random), "other.bin": random.choice(corpus.packages())}
    if random.random() < 0.3:
        return Case(files, ["diff", "file.bin", "other.bin", *_some(random, ["--json"], ["--all"])])
    flags = _some(random, ["--json"], ["--commands"], ["--extract", "parts"], ["--rebuild", "again.bin"])
    return Case(files, ["inspect", "file.bin", *flags])


def package(random: Random) -> Case:
    """The steps of `package`, with one of the files that they take damaged; parts come out in a folder of their own."""
    files = {f"{name}.json": json.dumps(document).encode() for name, document in corpus.package_documents().items()}
    files |= {"a.pdi": container_files.pdi(), "code.bin": corpus.binary(loopback(16)), "base.bin": corpus.packages()[0]}
    files |= {"core.elf": container_files.core_elf(), PROGRAM: random.choice(corpus.designs()).encode()}
    files |= {f"{part}.bin": getattr(container_files, f"{part.upper()}_CDO") for part in ("elfs", "init", "enable")}
    xclbin = ["xclbin", "--partition=partition.json", "--kernels=kernels.json", "-o", "out/x"]
    argv = random.choice(
        (
            ["pdi", "elfs.bin", "init.bin", "enable.bin", "-o", "out/x"],
            [*xclbin, "--memory=memory.json"],
            [*xclbin, "--input=base.bin"],
            ["elf", "--config=config.json", "-o", "out/x"],
            ["elf", "--insts=code.bin", "--buffers=buffers.json", "--control-packets=a.pdi", "-o", "out/x"],
            ["cdo", PROGRAM, "--elf", "0,2=core.elf", "-o", "out"],
        )
    )
    read = [name for name in files if any(name in word for word in argv)]
    read += ["a.pdi"] * ("xclbin" in argv) + ["a.pdi", "code.bin"] * ("--config=config.json" in argv)
    name = random.choice(read)
    if name.endswith((".json", ".mlir")):
        files[name] = damaged_text([files[name].decode()], random, 0.7).encode(errors="surrogateescape")
    elif random.random() < 0.3:
        files[name] = _damaged_package(random)
    else:
        files[name] = _resummed(damaged_bytes(files[name], random), random)
    return Case(files | {"out/kept": b""}, ["package", *argv, *_some(random, ["--json"])])


def run_stream(random: Random) -> Case:
    """`run --txn`: a stream on a bare device."""
    flags = ["--max-cycles", str(MAX_CYCLES), "--model", random.choice(("fast", "plain"))]
    flags += _some(random, ["--timing", "none"], ["--json"], ["--out", "results"], ["--arg", "0=arange"],
                   ["--bytes", f"0={random.choice((0, 1, 64, 4096))}"], ["--report", "page.html"])  # fmt: skip
    if random.random() < 0.3:
        flags += [word for kind in FaultKind for word in ("--judge", f"{kind.option}={random.choice(('note', 'off'))}")]
    match random.randrange(4):
        case 0:
            data = damaged_bytes(random.choice(corpus.containers()), random)
        case 1:
            data = _damaged_binary(random)
        case 2:
            operations = loopback(random.choice((16, 64)), for_ever=random.random() < 0.2)
            stream = mutated(txn.Stream.of(txn.Header(device_generation=4, columns=1), operations), random)
            data = txn.encode(stream).astype("<u4").tobytes()
        case _:
            device = DEVICES[random.choice(SMALL_DEVICES)]
            stream = txn.Stream.of(txn.Header(columns=device.columns), RandomStream(device, random).operations())
            data, flags = txn.encode(stream).astype("<u4").tobytes(), [*flags, "--device", device.name.name]
    return Case({"stream.bin": data}, ["run", "--txn", "stream.bin", *flags])


def _damaged_host_files(random: Random) -> tuple[bytes, bytes]:
    """A package and its instructions, one of them damaged."""
    package, code = random.choice(corpus.host_packages())
    if random.random() < 0.2:
        return package, damaged_bytes(code, random)
    if random.random() < 0.2:
        return spliced(package, random.choice(corpus.host_packages())[0], random), code
    changed = damaged_words(package, random) if random.random() < 0.7 else damaged_bytes(package, random)
    return _resummed(changed, random), code


def run_package(random: Random) -> Case:
    """`run --xclbin`: a package on the simulated NPU."""
    package, code = _damaged_host_files(random)
    flags = ["--max-cycles", str(MAX_CYCLES), *_some(random, ["--json"], ["--out", "results"], ["--arg", "0=arange"])]
    return Case({"a.xclbin": package, "insts": code}, ["run", "--xclbin", "a.xclbin", "--insts", "insts", *flags])


def run_host(random: Random) -> Case:
    """A host program in Python that loads a package, looks at all that it tells, and runs its kernels."""
    package, code = _damaged_host_files(random)
    return Case(call=partial(host_program, package, code, random.choice((64, 4096)), random.random() < 0.5))


def run_words(random: Random) -> Case:
    """A damaged stream instead of a sequence's own, on the design that it is of."""
    name = random.choice(corpus.STREAMS)
    design = corpus.design(name)
    words = txn.encode(mutated(_decoded(design.txn().astype("<u4").tobytes()), random))
    level = random.choice(("fault", "fault", "note", "off"))
    levels = {} if level == "fault" else {kind.option: level for kind in FaultKind}
    model = random.choice(("fast", "plain"))

    def call() -> None:
        arguments = [np.arange(size, dtype=np.int32) for size in corpus.buffer_sizes(design)]
        design.load(levels=levels, model=model).run(*arguments, txn=words, max_cycles=4 * MAX_CYCLES)

    return Case({"stream.bin": words.astype("<u4").tobytes()}, call=call)


def load(random: Random) -> Case:
    """Folders that `compile` wrote, with a file damaged or missing."""
    files = dict(random.choice(_written()))
    name = random.choice(list(files))
    match random.randrange(6):
        case 0:
            del files[name]
        case 1:
            files[name] = damaged_bytes(files[name], random) if files[name] else b"\0"
        case _:
            name = random.choice(("design.mlir", "design.json"))
            files[name] = damaged_text([files[name].decode()], random, 0.5).encode(errors="surrogateescape")
    return Case(files, call=_load_and_use)


@cache
def _written() -> list[dict[str, bytes]]:
    import tempfile
    from pathlib import Path

    from tilewright.driver.artifacts import write_design

    found = list[dict[str, bytes]]()
    for name in corpus.STREAMS[:3]:
        with tempfile.TemporaryDirectory() as folder:
            write_design(corpus.design(name), folder)
            found.append({path.name: path.read_bytes() for path in Path(folder).iterdir()})
    return found


def _load_and_use() -> None:
    design = tw.load(".")
    for name in design.sequences:
        if not design.scalars(name):
            design.txn(name)


def timing(random: Random) -> Case:
    """`run --timing` with damaged parameters."""
    names = [it.name for it in fields(Timing)]
    odd = (*ODD_NUMBERS, 1.5, "1", None, True, [], {}, float("nan"), float("inf"))
    numbers = {
        name: random.choice(odd if random.random() < 0.5 else (0, 1, 5, 1000)) for name in random.sample(names, 3)
    }
    if random.random() < 0.1:
        numbers["nothing"] = 1
    text = json.dumps(numbers)
    if random.random() < 0.5:
        text = damaged_text([text, "{}", "[]", "null", '{"lock": 1, "lock": 2}'], random)
    files = {"timing.json": text.encode(errors="surrogateescape"), "stream.bin": corpus.binaries()[-2]}
    flags = ["--max-cycles", str(MAX_CYCLES), "--model", random.choice(("fast", "plain"))]
    return Case(files, ["run", "--txn", "stream.bin", "--timing", "timing.json", *flags])


WORDS = ("run", "txn", "dis", "air", "--help", "-o", "out", "--json", "--txn", "--arg", "0=zeros", "a=random:x", "=",
         "", "-", "--", "--set", "n=1", "n=", "=1", "--set=n=1e9", "n=0x10", "--max-cycles", "0", "-1", "1e3", "nan",
         "--kernel", "k=f.py:g", "k=", "--judge", "help", "x=y", "--device", "npu1", "npu9", "--bytes", "0=99999999999",
         "--entry", "--ranks", "2", "--heap-size", "--seed", "--timeout", "inf", "--wave-size", "--section", ".text",
         "--pass-pipeline=builtin.module(", "--pass-pipeline=any(cse)", "--canonicalize", "--split-input-file=",
         "--verify-diagnostics", "\0", "\u202e", "é", "\udcff", "a" * 5000, "program.mlir", "missing.mlir", ".", "/",
         "stream.bin", "--target", "sm_90", "--emit", "mlir", "--after", "--library", "1x", "--lint", "warn",
         "--report", "--trace", "--timing", "none", "--scratchpad", "p=1", "--sequence", "seq", "--out")  # fmt: skip
LONG = ("demo",)
"""Commands that need no input and take their time."""


def arguments(random: Random) -> Case:
    """Any words after any command."""
    command = random.choice([*(name for name in COMMANDS if name not in LONG), "txn", "air", "nothing", "--version"])
    words = [random.choice(WORDS) for _ in range(random.randint(0, 6))]
    files = {PROGRAM: random.choice(corpus.designs()).encode(), "stream.bin": corpus.binaries()[-2]}
    return Case(files, [command, *words])


def call(random: Random) -> Case:
    """The Python interface."""
    function = random.choice((run_arrays, call_scalars, build_stream))
    return Case(call=partial(function, Random(random.random())))


TARGETS = {
    target.name: target
    for target in (
        Target("read", read, 140_000),
        Target("opt", transform, 34_000),
        Target("compile-run", compile_and_run, 34_000),
        Target("compile-files", compile_files, 5_000),
        Target("report", show_run, 3_000),
        Target("show", show, 4_000),
        Target("translate", translate, 20_000),
        Target("aiecc", drive, 8_000),
        Target("air-run", air_run, 8_000),
        Target("air-compile", air_compile, 5_000),
        Target("run-txn", run_stream, 105_000),
        Target("run-words", run_words, 12_000),
        Target("run-xclbin", run_package, 6_000),
        Target("pyxrt", run_host, 6_000),
        Target("load", load, 8_000),
        Target("txn-decode", decode, 250_000),
        Target("txn-assemble", assemble, 110_000),
        Target("txn-container", read_container, 150_000),
        Target("txn-tools", txn_tools, 100_000),
        Target("containers", rebuild, 88_000),
        Target("inspect", inspect, 20_000),
        Target("package", package, 20_000),
        Target("timing", timing, 7_000),
        Target("arguments", arguments, 15_000),
        Target("python", call, 12_000),
    )
}
