"""TXN binaries that AMD published, through our tools: each comes back as it was, and nothing is said against any.

    PYTHONPATH=tests python -m outside.production_streams CLONE
    PYTHONPATH=tests python -m outside.production_streams CLONE --part lift --families gpn

CLONE is a clone of DynamicDispatch, whose `transaction/stx` has a folder of binaries for each kernel, or, for the part
`twin`, of aiebu, which has a binary together with its text. It may be bare; nothing is checked out, and nothing of it
is kept here. Without --part, all parts are done that the clone has files for. Status 1 if something differs.
"""

from __future__ import annotations

import base64
import re
import sys
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import tilewright as tw
from outside.clone import Clone
from tilewright import txn
from tilewright.device.layout import WORD_BYTES
from tilewright.lift import lift
from tilewright.lift.lifting import predict_unseen
from tilewright.lift.parameters import from_names
from tilewright.txn import Opcode, Operation
from tilewright.txn.containers import read_stream
from tilewright.txn.lint import lint
from tilewright.txn.lint.rules import LintFinding, LintLevel
from tilewright.txn.text import disassemble, model_of

STREAMS, TWINS = "transaction/stx/*.bin", "*.ctrltext.asm"
BEGINNING = bytes((0, 1, 4, 6))
"""Of all these streams: version 0.1, generation 4, 6 rows. Neighbours with parameters and packets begin otherwise."""
SIZE_AT = 12
"""The byte of a header where the size of its stream stands."""
LEVELS = {1: "operations", 2: "registers"}
SHARE, SEEDS = 0.2, (0, 1, 2)
PROGRESS = 250
MOST_SHOWN = 20


@dataclass
class Corpus:
    """The streams of a clone, told from their neighbours by their header alone: not by what our decoder takes."""

    clone: Clone
    pattern: str = STREAMS
    size_bytes: int = 0
    read: int = 0
    absent: int = 0
    damaged: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Files with another size than their header says."""

    def streams(self) -> Iterator[tuple[str, bytes]]:
        for path, data in self.clone.read_each(self.clone.files(self.pattern)):
            if data is None:
                self.absent += 1
            elif data.startswith(BEGINNING) and int.from_bytes(data[SIZE_AT : SIZE_AT + 4], "little") != len(data):
                self.damaged[path] = data
            elif data.startswith(BEGINNING):
                self.read += 1
                self.size_bytes += len(data)
                if self.read % PROGRESS == 0:
                    print(f"{self.read:,} streams, now {path}", file=sys.stderr, flush=True)
                yield path, data

    def __str__(self) -> str:
        absent = f"; {self.absent:,} files are listed that the clone does not have" if self.absent else ""
        return f"{self.read:,} streams of {self.size_bytes:,} bytes{absent}"


# Bytes to text and back


def roundtrip(clone: Clone, args: Namespace) -> bool:
    """The text of `txn dis`, at both levels that `txn asm` takes, gives the bytes again."""
    corpus, operations = Corpus(clone), 0
    equal, seconds = Counter[int](), defaultdict[tuple[int, str], float](float)
    wrong = list[str]()
    for path, data in corpus.streams():
        with _refusals(path, wrong):
            stream = txn.decode(data)
            operations += len(stream.opcodes)
            for level in LEVELS:
                began = time.process_time()
                text = "\n".join(disassemble(stream, explained=True, by_register=level == 2)) + "\n"
                written = time.process_time()
                again = txn.encode(read_stream(text.encode())).astype("<u4").tobytes()
                seconds[level, "dis"] += written - began
                seconds[level, "asm"] += time.process_time() - written
                equal[level] += again == data
                wrong += [f"{path}: level {level} gives other bytes"] * (again != data)
    accepted = [path for path, data in corpus.damaged.items() if not _is_refused(data)]
    print(f"{corpus}; {operations:,} operations")
    rows = [
        (
            f"{level}: {LEVELS[level]}",
            f"{equal[level]:,} of {corpus.read:,}",
            *(f"{corpus.size_bytes / 1e6 / (seconds[level, tool] or 1):.0f} MB/s" for tool in ("dis", "asm")),
        )
        for level in LEVELS
    ]
    _print_table(("level", "byte for byte", "dis", "asm"), rows)
    print(f"damaged files: {len(corpus.damaged)}, refused: {len(corpus.damaged) - len(accepted)}")
    return _print_wrong(wrong + [f"{path}: is damaged, and was read" for path in accepted])


@contextmanager
def _refusals(path: str, wrong: list[str]) -> Generator[None]:
    """An error meant for users is a difference too; any other ends the run, and says at which file."""
    try:
        yield
    except tw.Error as error:
        wrong.append(f"{path}: {error}")
    except BaseException as error:
        error.add_note(f"at {path}")
        raise


def _is_refused(data: bytes) -> bool:
    refusals = list[str]()
    with _refusals("", refusals):
        read_stream(data)
    return bool(refusals)


# A binary and its text, both from outside

OPERANDS = {
    Opcode.WRITE: ("value",),
    Opcode.MASKPOLL: ("mask", "value"),
    Opcode.DDR_PATCH: ("argument_index", "argument_offset"),
}
"""What stands in a line of the text behind the address; of a block it is the words."""
LINE = re.compile(r"XAIE_IO_(?:CUSTOM_OP_)?(\w+)\s+@(.+)")


def twin(clone: Clone, args: Namespace) -> bool:
    """What we read in a binary is what the text beside it says that it is."""
    wrong = list[str]()
    for path in clone.files(TWINS):
        data = base64.b64decode(clone.read(path.replace(".ctrltext.asm", ".b64")))
        said = [*_said(clone.read(path).decode())]
        operations = [*txn.decode(data).operations]
        patched = {op.fields["address"] for op in operations if op.opcode == Opcode.DDR_PATCH}
        pairs = [*zip(operations, said, strict=False)]
        same = {
            "opcode": sum(op.name == name for op, (name, _) in pairs),
            "address": sum(op.fields["address"] == numbers[0] for op, (_, numbers) in pairs),
            "operands": sum(_operands(op) == numbers[1:] for op, (_, numbers) in pairs),
            "operands that no patch sets": sum(_same_but(op, numbers[1:], patched) for op, (_, numbers) in pairs),
        }
        counts = Counter(op.name for op in operations)
        print(f"{path}: {len(said)} lines, {len(operations)} operations:", end=" ")
        print(", ".join(f"{count} {name}" for name, count in counts.most_common()))
        _print_table(("the same in both", "operations"), [(what, str(count)) for what, count in same.items()])
        wanted = max(len(said), len(operations))
        # A text has 0 where a patch puts an address, and the binary the offset that the patch adds to.
        wrong += [f"{path}: {what}" for what, count in same.items() if count != wanted and what != "operands"]
    return _print_wrong(wrong)


def _said(text: str) -> Iterator[tuple[str, list[int]]]:
    for line in text.splitlines():
        if found := LINE.match(line):
            yield found[1], [int(number, 0) for number in found[2].split(",")]


def _operands(op: Operation) -> list[int]:
    if op.opcode == Opcode.BLOCKWRITE:
        return op.payload.tolist()
    return [op.fields[name] for name in OPERANDS.get(Opcode(op.opcode), ())]


def _same_but(op: Operation, numbers: Sequence[int], patched: set[int]) -> bool:
    """Whether operands are the same, but for words of a block that are patched later."""
    ours = _operands(op)
    is_block = op.opcode == Opcode.BLOCKWRITE
    free = [is_block and op.fields["address"] + WORD_BYTES * index in patched for index in range(len(ours))]
    return len(ours) == len(numbers) and all(a == b or it for a, b, it in zip(ours, numbers, free, strict=True))


# Lint


def lint_all(clone: Clone, args: Namespace) -> bool:
    """These streams run on hardware, so that more than a remark about one is a mistake of the linter."""
    corpus = Corpus(clone)
    findings, places, files = (Counter[tuple[str, str]]() for _ in range(3))
    above = list[str]()
    silent = 0
    for path, data in corpus.streams():
        found = list[LintFinding]()
        with _refusals(path, above):
            stream = txn.decode(data)
            model = model_of(stream.header)
            if model is None:
                raise txn.TxnError(0, "its header describes no device that is known")
            found = lint(stream, model)
        silent += not found
        for finding in found:
            findings[finding.level, finding.rule.name] += 1
            places[finding.level, finding.rule.name] += finding.places
        files.update({(finding.level, finding.rule.name) for finding in found})
        above += [f"{path}: {line}" for it in found if it.level != LintLevel.REMARK for line in it.lines()]
    print(f"{corpus}; of {silent:,} nothing is said")
    rows = [
        (level, rule, f"{count:,}", f"{places[level, rule]:,}", f"{files[level, rule]:,}")
        for (level, rule), count in findings.most_common()
    ]
    _print_table(("level", "rule", "findings", "places", "files"), rows)
    by_level = Counter[str]()
    for (level, _), count in findings.items():
        by_level[level] += count
    print(", ".join(f"{by_level[level]:,} of level {level}" for level in LintLevel))
    return _print_wrong(above)


# Lift


@dataclass(frozen=True)
class Reached:
    """Files of a family that were given back, and for each of SEEDS how many of the unseen fifth were predicted."""

    given_back: int
    exact: tuple[int, ...]
    """Byte for byte."""
    read_bits: tuple[int, ...]
    """In every bit that something reads."""

    def is_worse_than(self, other: Reached) -> bool:
        ours, theirs = ((it.given_back, *it.exact, *it.read_bits) for it in (self, other))
        return any(now < before for now, before in zip(ours, theirs, strict=True))


FAMILIES = {
    "mladfrmsnorm": Reached(101, (19, 17, 20), (19, 17, 20)),
    "gpn": Reached(28, (2, 6, 4), (6, 6, 6)),
    "maskedsoftmax": Reached(297, (56, 55, 59), (56, 55, 59)),
    "quant": Reached(21, (0, 0, 0), (3, 3, 4)),
    "silu": Reached(209, (29, 18, 29), (38, 28, 35)),
}


def lift_families(clone: Clone, args: Namespace) -> bool:
    """Families as one sequence each; less than what was reached before is wrong."""
    rows, wrong = list[tuple[str, ...]](), list[str]()
    for family in args.families:
        corpus = Corpus(clone, f"transaction/stx/{family}/*.bin")
        streams = {PurePosixPath(path).name: txn.encode(txn.decode(data)) for path, data in corpus.streams()}
        began = time.process_time()
        parameters = from_names([*streams])
        lifted = lift(streams, parameters)
        zeroed = lift(streams, parameters, zero_unused=True) if lifted.model.has_images else None
        unseen = [predict_unseen(streams, parameters, SHARE, seed) for seed in SEEDS]
        exact, read_bits = tuple(it.exact for it in unseen), tuple(it.read_bits for it in unseen)
        found = Reached(len(lifted.files), exact, read_bits)
        row = (
            family,
            f"{found.given_back} of {len(streams)}",
            f"{len(lifted.text) / lifted.bytes:.1%}",
            f"{len(zeroed.text) / zeroed.bytes:.1%}" if zeroed else "",
            f"{unseen[0].files}",
            ", ".join(map(str, exact)),
            ", ".join(map(str, read_bits)),
            f"{time.process_time() - began:.0f} s",
        )
        print(*row, sep="  ", file=sys.stderr, flush=True)
        rows.append(row)
        if found.is_worse_than(FAMILIES[family]):
            wrong.append(f"{family}: {FAMILIES[family]} before")
    heads = ("family", "byte for byte", "MLIR", "unread bits 0", "unseen", "predicted", "in read bits", "CPU")
    _print_table(heads, rows)
    print(f"unseen: a random {SHARE:.0%} of the files, with seeds {', '.join(map(str, SEEDS))}")
    return _print_wrong(wrong)


# What all parts have


def _print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_wrong(wrong: Sequence[str]) -> bool:
    """Whether all is well."""
    for line in wrong[:MOST_SHOWN]:
        print(f"differs: {line}")
    if len(wrong) > MOST_SHOWN:
        print(f"... {len(wrong) - MOST_SHOWN:,} more")
    return not wrong


@dataclass(frozen=True)
class Part:
    """A comparison, and the files that it needs."""

    run: Callable[[Clone, Namespace], bool]
    pattern: str


PARTS = {
    "twin": Part(twin, TWINS),
    "lift": Part(lift_families, STREAMS),
    "roundtrip": Part(roundtrip, STREAMS),
    "lint": Part(lint_all, STREAMS),
}


def main() -> int:
    parser = ArgumentParser(
        "outside.production_streams", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("clone", type=Path, metavar="CLONE")
    parser.add_argument("--part", nargs="+", choices=PARTS, help="default: all that the clone has files for")
    parser.add_argument("--commit", default="HEAD", help="whose files to take (default: HEAD)")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES], help="to lift (default: all)")
    args = parser.parse_args()
    clone = Clone(args.clone, args.commit)
    chosen = [name for name in PARTS if (args.part is None or name in args.part) and clone.files(PARTS[name].pattern)]
    if missing := [name for name in args.part or () if name not in chosen] or (not chosen and [*PARTS]):
        parser.error(f"{args.clone} has no files for {', '.join(missing)}")
    is_well = True
    for name in chosen:
        began = time.monotonic()
        print(f"== {name}", flush=True)
        is_well &= PARTS[name].run(clone, args)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
