"""Mistakes that designs for these devices have, one in a file of `seeded_bugs`, each beside its correction.

A line that ends in `// BUG` is only in the wrong design, one that ends in `// FIX` only in the right one. In comments
`RAISES` says what the wrong design ends with: `hang`, `compile`, or a kind of fault; each `SAYS` below a line is part
of a message about that line, and each `SAYS` before the first line is part of some message. `GIVES` is what holds after
a run of the right design, whose first argument is 1, 2, 3 and so on and whose others are zeros. `LEVEL` sets what is
made of a hazard, `KERNEL` binds one, `TXN` adds an operation to the end of the sequence. Both models have to agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from helpers import DOCS

import tilewright as tw
from tilewright.driver.run_result import RunResult
from tilewright.native import has_llvm
from tilewright.sim.faults import FaultKind
from tilewright.txn.text import assemble, disassemble

Array = npt.NDArray[np.int32]

FILES = sorted((Path(__file__).parent / "seeded_bugs").glob("*.mlir"))
PAGE = DOCS / "simulator.md"
MODELS = ["plain", "fast"]
ERRORS = {"hang": tw.Hang, "compile": tw.CompileError}
_DIRECTIVE = re.compile(r"\s*// (RAISES|GIVES|SAYS|LEVEL|KERNEL|TXN):? (.*)")


@dataclass
class Seeded:
    """One file: a design, right or wrong, and what is said about it."""

    text: str = ""
    directives: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    says: list[tuple[int | None, str]] = field(default_factory=list[tuple[int | None, str]])
    """Line, if it matters, and a part of the message."""

    @property
    def levels(self) -> dict[str, str]:
        return {kind: level for kind, _, level in (text.partition("=") for text in self.directives.get("LEVEL", []))}

    @property
    def kernels(self) -> dict[str, Any]:
        named = (kernel.split(" = ", 1) for kernel in self.directives.get("KERNEL", []))
        return {name: eval(function, {"np": np}) for name, function in named}


def read(path: Path, keep: str) -> Seeded:
    """The design with the lines that end in `keep`; all lines stay where they are."""
    seeded, kept, at = Seeded(), list[str](), None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code, marker = line.rsplit("  // ", 1) if re.search(r"  // (BUG|FIX)$", line) else (line, keep)
        found = _DIRECTIVE.match(code) if marker == keep else None
        kept.append(code if marker == keep and not found else "")
        if found and found[1] == "SAYS":
            seeded.says.append((at, found[2]))
        elif found:
            seeded.directives.setdefault(found[1], []).append(found[2])
        elif marker == keep and not code.lstrip().startswith("//"):
            at = number
    seeded.text = "\n".join(kept)
    return seeded


def kind_of(path: Path) -> str:
    """What the wrong design ends with."""
    (kind,) = read(path, "BUG").directives["RAISES"]
    return kind


def run(seeded: Seeded, design: tw.Design, model: str) -> tuple[RunResult, dict[str, Array]]:
    arrays, words = dict(_arrays(seeded.text)), None
    if added := seeded.directives.get("TXN"):
        words = tw.txn.encode(assemble("\n".join([*disassemble(tw.txn.decode(design.txn())), *added])))
    result = design.run(*arrays.values(), txn=words, kernels=seeded.kernels, levels=seeded.levels, model=model)
    return result, arrays


def error_of(seeded: Seeded, design: tw.Design, model: str) -> tw.Error:
    """How a run of a wrong design ends."""
    with pytest.raises(tw.Error) as raised:
        run(seeded, design, model)
    return raised.value


def _arrays(text: str) -> Iterator[tuple[str, Array]]:
    """The sequence's arguments: numbers from 1 on, then zeros."""
    found = re.search(r"aie.runtime_sequence @\w+\((.*?)\) {", text)
    for number, (name, count) in enumerate(re.findall(r"%(\w+): memref<(\d+)xi32>", found[1] if found else "")):
        yield name, np.arange(1, int(count) + 1, dtype=np.int32) * np.int32(number == 0)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer looks at something that does not change are a hang, to save time."""
    for module in ("tilewright.sim.engine", *(("tilewright.sim.fast.engine",) if has_llvm() else ())):
        # In Python each look of a core takes milliseconds.
        monkeypatch.setattr(f"{module}.PATIENCE", 10_000 if has_llvm() else 300)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_wrong_design_is_explained(path: Path) -> None:
    seeded = read(path, "BUG")
    design, expected = tw.compile(seeded.text), kind_of(path)
    error, other = (error_of(seeded, design, model) for model in MODELS)
    assert type(error) is ERRORS.get(expected, tw.Fault), error
    if isinstance(error, tw.Fault):
        assert isinstance(error.kind, FaultKind) and error.kind.option == expected, error
    assert missing(seeded, str(error)) == [], error
    assert str(other) == str(error)


def missing(seeded: Seeded, message: str) -> list[tuple[int | None, str]]:
    """What a message should say and does not."""
    places = [(at, text, f"<text>:{at}:" if at else "") for at, text in seeded.says]
    lines = message.splitlines()
    return [
        (at, text) for at, text, place in places if not any(line.startswith(place) and text in line for line in lines)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_right_design_runs_clean(path: Path) -> None:
    seeded = read(path, "FIX")
    design, claims = tw.compile(seeded.text), seeded.directives.get("GIVES", [])
    for model in MODELS:
        result, arrays = run(seeded, design, model)
        assert [str(note) for note in result.notes] == []
        assert all(np.all(eval(claim, {"np": np}, arrays)) for claim in claims), arrays


@pytest.mark.parametrize("path", [path for path in FILES if kind_of(path) not in ERRORS], ids=lambda path: path.stem)
def test_a_fault_can_be_a_note(path: Path) -> None:
    """The run goes on as well as it can, the same on both models, and says so unless it ends with something worse."""
    seeded = read(path, "BUG")
    seeded.directives["LEVEL"], design = [f"{kind_of(path)}=note"], tw.compile(seeded.text)
    outcome, other = (_outcome(seeded, design, model) for model in MODELS)
    assert outcome == other
    said = [text.removeprefix("error: ") for _, text in seeded.says if text.startswith("error: ")]
    assert outcome.error or all(any(text in note for note in outcome.notes) for text in said)


class Outcome(NamedTuple):
    error: str
    notes: list[str]
    memory: list[list[int]]


def _outcome(seeded: Seeded, design: tw.Design, model: str) -> Outcome:
    try:
        result, arrays = run(seeded, design, model)
    except tw.Error as error:
        return Outcome(str(error), [], [])
    return Outcome("", [str(note) for note in result.notes], [array.tolist() for array in arrays.values()])


def test_every_kind_of_fault_is_there() -> None:
    assert set(map(kind_of, FILES)) >= {kind.option for kind in FaultKind}


def test_the_documentation_lists_every_mistake() -> None:
    assert {f"| `{path.stem}` | {kind_of(path)} | {about(path)} |" for path in FILES} <= set(
        PAGE.read_text().splitlines()
    )


def about(path: Path) -> str:
    """What a file says about itself: the comment that it begins with."""
    lines = takewhile(lambda line: not _DIRECTIVE.match(line), path.read_text().splitlines())
    return " ".join(line.removeprefix("// ") for line in lines)


def test_the_documentation_shows_a_real_message() -> None:
    path = next(path for path in FILES if path.stem == "lock_initial_value")
    seeded = read(path, "BUG")
    message = str(error_of(seeded, tw.compile(seeded.text), "plain"))
    assert message.replace("<text>", path.name) in PAGE.read_text()
