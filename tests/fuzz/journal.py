"""What was done so far: a file with a line for each batch of cases, so that a later run goes on from there."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

FILE = "journal.jsonl"


@dataclass(frozen=True)
class Finding:
    """A case that ended as none must."""

    seed: int
    defect: str
    detail: str

    @property
    def signature(self) -> str:
        """What findings with one cause have in common, most likely."""
        return f"{self.defect}: {re.sub(r'(?<!py:)(?<![0-9])[0-9]+', 'N', self.detail)[:120]}"


@dataclass(frozen=True)
class Batch:
    """Cases of a target from one seed on."""

    target: str
    first: int
    cases: int
    seconds: float
    endings: Mapping[str, int] = field(default_factory=dict[str, int])
    findings: tuple[Finding, ...] = ()


@dataclass
class Totals:
    """What is known of a target."""

    cases: int = 0
    seconds: float = 0.0
    endings: Counter[str] = field(default_factory=Counter[str])
    findings: list[Finding] = field(default_factory=list[Finding])
    next_seed: int = 0

    def add(self, batch: Batch) -> None:
        self.cases += batch.cases
        self.seconds += batch.seconds
        self.endings.update(batch.endings)
        self.findings += batch.findings
        self.next_seed = max(self.next_seed, batch.first + batch.cases)


class Journal:
    """The batches in a folder; each is on the disk before the next one begins."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.totals = dict[str, Totals]()
        for batch in self._stored():
            self.totals.setdefault(batch.target, Totals()).add(batch)

    def of(self, target: str) -> Totals:
        return self.totals.setdefault(target, Totals())

    def add(self, batch: Batch) -> None:
        with open(self.folder / FILE, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(batch)) + "\n")
        self.of(batch.target).add(batch)

    def _stored(self) -> Iterator[Batch]:
        path = self.folder / FILE
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # cut off when the machine stopped
                continue
            findings = tuple(Finding(**finding) for finding in entry.pop("findings"))
            yield Batch(**entry, findings=findings)

    def summary(self) -> str:
        all_of_it = self.totals.values()
        rows = [f"{'target':16}{'cases':>10}{'per s':>9}{'findings':>10}   endings"]
        for name, it in sorted(self.totals.items()):
            endings = ", ".join(f"{ending} {count}" for ending, count in it.endings.most_common(6))
            rate = it.cases / it.seconds if it.seconds else 0.0
            rows.append(f"{name:16}{it.cases:>10,}{rate:>9,.0f}{len(it.findings):>10,}   {endings}")
        cases, found = sum(it.cases for it in all_of_it), sum(len(it.findings) for it in all_of_it)
        return "\n".join([*rows, f"{'all':16}{cases:>10,}{'':9}{found:>10,}"])

    def to_json(self) -> dict[str, object]:
        return {
            name: {
                "cases": it.cases,
                "seconds": it.seconds,
                "endings": it.endings,
                "findings": [*map(asdict, it.findings)],
            }
            for name, it in sorted(self.totals.items())
        }
