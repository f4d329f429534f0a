"""Machine code of others: encoding tests of LLVM, listings of the vendor's tools, and programs in xclbins.

    PYTHONPATH=tests python -m outside.encodings CLONE...

Each clone is searched for all three: for tests in its newest commit (Xilinx/llvm-aie), for listings and xclbins in
all of its history (AMDResearch/Riallto, FIM43-Redeye/xdna-emu, atassis/mlir-aie, andrej/mlir-aie and others).
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from outside.clone import Clone
from tilewright import isa
from tilewright.cli.core_listing import programs
from tilewright.containers import read
from tilewright.isa.listing import listed_bundles
from tilewright.isa.registers import RegisterClass
from tilewright.isa.tables import ARCHITECTURES

TESTS = ("llvm/test/CodeGen/AIE/{}/*", "lld/test/ELF/AIE/{}/*")
TEST_LINE = re.compile(r"CHECK\w*:\s+\S+:\s+((?:[0-9a-f]{2}\s+)+)([a-z].*)")
LISTED_LINE = re.compile(r"\s+(\d+)\s+((?:0x[0-9a-f]{2} )+)\s+(\S.*)")
LISTED_LABEL = re.compile(r"\.(?:label|text global \d+) +(\S+)")
NAMED_NUMBER = re.compile(r"#\(?([A-Za-z_][\w.$]*)(?: \+ (\d+)\))?")
FIRMWARE = "*1x4.xclbin"
"""An image of the device's firmware, whose stores are in part ones that no public table describes."""
WORD_BYTES = 4
MOST_SHOWN = 20
"""Differences that are printed."""


@dataclass
class Comparison:
    """One row of the table."""

    against: str
    sources: set[str] = field(default_factory=set[str])
    compared: int = 0
    rows: set[str] = field(default_factory=set[str])
    """Instructions that came up, by their records."""
    differences: list[str] = field(default_factory=list[str])

    def add(self, source: str, code: bytes, arch: isa.InstructionSet, texts: list[str] | None = None) -> None:
        """Decode a bundle, compare it with the instructions that it should be, and encode it again."""
        self.sources.add(source)
        self.compared += 1
        try:
            bundle = isa.decode_bundle(code, isa=arch)
        except isa.DecodeError as error:
            self.differences.append(f"{source}: {error.reason}")
            return
        self.rows |= {it.row.record for it in bundle.instructions}
        # beside a long instruction there is a slot for a nop alone, which the vendor does not list
        ours = ([*bundle.instructions], [it for it in bundle.instructions if it.row.slot != "nop"])
        if texts is not None and sorted(texts) not in [sorted(as_compared(str(it)) for it in each) for each in ours]:
            self.differences.append(f"{source}: {'; '.join(texts)}, decoded as {bundle}")
        if bundle.encode() != code[: bundle.size]:
            self.differences.append(f"{source}: {code.hex(' ')} encoded as {bundle.encode().hex(' ')}")

    def assemble(self, source: str, code: bytes, arch: isa.InstructionSet, text: str) -> None:
        """Its own text, whose bundle need not be the smallest one with these instructions."""
        try:
            made = isa.assemble_bundle(text, arch).encode()
        except isa.AssemblyError as error:
            self.differences.append(f"{source}: {text}: {error}")
            return
        if made != code:
            self.differences.append(f"{source}: {text} assembled as {made.hex(' ')}, not {code.hex(' ')}")


def as_compared(text: str) -> str:
    """An instruction as both sides may write it: the vendor has no word for the slot of a nop, nor an offset of 0."""
    text = re.sub(r"#(0x[0-9a-f]+)", lambda it: f"#{int(it[1], 16)}", " ".join(text.lower().split()))
    return "nop" if text.startswith("nop") else text.replace(", #0]", "]")


def compare_tests(clone: Clone, arch: isa.InstructionSet, result: Comparison) -> None:
    """Lines of tests that have the bytes of a bundle and its text."""
    for path in (path for pattern in TESTS for path in clone.files(pattern.format(arch.name))):
        for found in TEST_LINE.finditer(clone.read(path).decode(errors="replace")):
            code = bytes.fromhex(found[1])
            text = found[2].replace("{{.*}}", "; ")
            result.add(path, code, arch, [as_compared(it) for it in text.split(";")])
            result.assemble(path, code, arch, text)


def compare_listings(clone: Clone, results: Mapping[str, Comparison]) -> None:
    """Listings have a line for each bundle: address, bytes with the last one first, instructions."""
    for path, name in clone.versions("*.lst"):
        text = clone.read_object(name).decode(errors="replace")
        arch = isa.instruction_set("aie2p" if "/aie2p/lib" in text.partition("\n.")[0] else "aie2")
        labels = listed_labels(text)
        for found in filter(None, map(LISTED_LINE.match, text.splitlines())):
            code = bytes(int(it, 16) for it in reversed(found[2].split()))
            texts = [as_compared(it) for it in with_numbers(found[3], labels).split(";")]
            results[arch.name].add(f"{path} ({name[:8]})", code, arch, texts)


def listed_labels(text: str) -> dict[str, int]:
    """The addresses of names; others are the linker's to fill in, and 0 until then."""
    labels, waiting = dict[str, int](), list[str]()
    for line in text.splitlines():
        if label := LISTED_LABEL.match(line):
            waiting.append(label[1])
        elif bundle := LISTED_LINE.match(line):
            labels |= dict.fromkeys(waiting, int(bundle[1]))
            waiting.clear()
    return labels


def with_numbers(text: str, labels: Mapping[str, int]) -> str:
    return NAMED_NUMBER.sub(lambda it: f"#{labels.get(it[1], 0) + int(it[2] or 0)}", text)


def compare_packages(clone: Clone, results: Mapping[str, Comparison], seen: set[str]) -> None:
    """Programs of cores as xclbins load them, whose code must be bundles from the first byte to the last."""
    for path, name in clone.versions("*.xclbin"):
        if name in seen or fnmatchcase(path, FIRMWARE):
            continue
        seen.add(name)
        for program in programs(read(clone.read_object(name))):
            arch = isa.instruction_set(program.architecture)
            for code in split(program.data, program.address, arch):
                results[arch.name].add(f"{path} ({name[:8]})", code, arch)


def split(data: bytes, address: int, arch: isa.InstructionSet) -> Iterator[bytes]:
    """The code of a program: what nothing leads to is none, nor what its last word has behind the last bundle."""
    for it in listed_bundles(data, address, arch):
        size, is_there = arch.bundle_size(it.code[0]), len(data) + address - it.address
        if is_there < min(size, WORD_BYTES):
            return
        if not it.is_filler:
            yield it.code if it.bundle else data[it.address - address :][:size]


def compare_missing_registers(arch: isa.InstructionSet, seen: set[str], result: Comparison) -> None:
    """Bits for registers that a class does not have: no such instruction, whatever else they may be."""
    for row in (arch.by_record[record] for record in sorted(seen)):
        form = min((it for it in arch.formats if row.slot in it.slots), key=lambda it: len(it.slots))
        for letter, kind in row.coded.items():
            missing = set(range(1 << kind.bits)) - kind.by_code.keys() if isinstance(kind, RegisterClass) else ()
            for number in missing:
                result.sources.add(row.record)
                result.compared += 1
                bits = row.fixed | placed(number, row.fields[letter])
                code = (form.fixed | placed(bits, form.slots[row.slot])).to_bytes(form.size, "little")
                if any(it.row is row for it in decoded(code, arch)):
                    result.differences.append(f"{row.record}: {letter} of {kind.name} may be {number}")


def placed(value: int, places: tuple[int, ...]) -> int:
    return sum((value >> number & 1) << at for number, at in enumerate(places))


def decoded(code: bytes, arch: isa.InstructionSet) -> tuple[isa.CoreInstruction, ...]:
    try:
        return isa.decode_bundle(code, isa=arch).instructions
    except isa.DecodeError:
        return ()


def main() -> int:
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE")
    clones = [Clone(path) for path in parser.parse_args().clones]
    made = list[Comparison]()

    def results(what: str) -> dict[str, Comparison]:
        found = {name: Comparison(f"{what}, {name}") for name in ARCHITECTURES}
        made.extend(found.values())
        return found

    tests, listings, packages = map(results, ("encoding tests of LLVM", "listings of the vendor", "xclbins"))
    missing, seen = results("numbers that no register has"), set[str]()
    for clone in clones:
        for name in ARCHITECTURES:
            compare_tests(clone, isa.instruction_set(name), tests[name])
        compare_listings(clone, listings)
        compare_packages(clone, packages, seen)
    for name in ARCHITECTURES:
        rows = tests[name].rows | listings[name].rows | packages[name].rows
        compare_missing_registers(isa.instruction_set(name), rows, missing[name])
    print(f"{'against':38} {'sources':>8} {'compared':>9} {'instructions':>13} {'different':>10}")
    for it in made:
        print(f"{it.against:38} {len(it.sources):8} {it.compared:9,} {len(it.rows):13} {len(it.differences):10}")
    differences = [it for result in made for it in result.differences]
    for line in differences[:MOST_SHOWN]:
        print(line, file=sys.stderr)
    return 1 if differences or not any(it.compared for it in made) else 0


if __name__ == "__main__":
    sys.exit(main())
