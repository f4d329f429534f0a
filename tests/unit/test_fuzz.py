"""Damaged inputs end in success or in an error meant for users, whatever tool they are given to; see `make fuzz`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from fuzz.cases import Case, execute
from fuzz.journal import FILE, Batch, Finding, Journal
from fuzz.runner import Runner, run_batch
from fuzz.targets import TARGETS, Target

import tilewright as tw

CASES = {
    "read": 150,
    "opt": 60,
    "run-txn": 80,
    "txn-decode": 300,
    "txn-assemble": 200,
    "txn-container": 500,
    "txn-tools": 60,
    "containers": 500,
    "inspect": 80,
    "package": 150,
    "run-xclbin": 40,
    "pyxrt": 60,
}
FEW = 12
"""Of targets that take long."""


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_are_handled(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = run_batch(TARGETS[name], 0, CASES.get(name, FEW))
    assert not report["findings"]


def test_a_case_is_made_again_from_its_seed() -> None:
    for target in TARGETS.values():
        first, second = target.case(7), target.case(7)
        assert (first.files, first.argv) == (second.files, second.argv), target.name


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    "case, defect",
    [
        pytest.param(Case(call=lambda: None), None, id="success"),
        pytest.param(Case(call=lambda: _raise(tw.ArgumentError("n is too large"))), None, id="an error for users"),
        pytest.param(Case(call=lambda: _raise(tw.ArgumentError(""))), "silent", id="an error that says nothing"),
        pytest.param(Case(call=lambda: _raise(KeyError("n"))), "traceback", id="an error for nobody"),
        pytest.param(Case(argv=["txn", "dis", "missing"]), None, id="a command that fails"),
        pytest.param(Case(argv=["--version"]), None, id="a command"),
    ],
)
def test_endings_that_are_defects(
    case: Case, defect: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(case).defect == defect


def test_work_without_end_is_a_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None:
        while True:
            pass

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fuzz.cases.CPU_SECONDS", 0.2)
    assert execute(Case(call=work)).defect == "slow"


def test_memory_is_what_a_case_adds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fuzz.cases.MEMORY_BYTES", 64 << 20)
    before = np.ones(1 << 24)  # 128 MiB that another test still holds
    np.ones(1 << 24)  # and as many that one held before
    assert execute(Case(call=int)).defect is None
    assert execute(Case(call=lambda: np.ones(1 << 24))).defect == "memory"
    assert execute(Case(call=lambda: np.ones(1 << 22))).defect is None
    assert before.all()


def _dies_at(seed: int, death: Callable[[], object]) -> Target:
    """A target one of whose cases ends its process, or fills the memory, or never ends."""

    def make(random: Random) -> Case:
        return Case(call=death if random.random() == chosen else int)

    chosen = Random(f"deadly:{seed}").random()
    return Target("deadly", make, 1)


@pytest.mark.parametrize(
    "death, defect, detail",
    [
        pytest.param(lambda: os.kill(os.getpid(), signal.SIGSEGV), "signal", "SIGSEGV", id="signal"),
        pytest.param(lambda: os._exit(1), "exit", "status 1", id="a library that exits"),
        pytest.param(lambda: (np.ones(1 << 28), time.sleep(9)), "memory", "MB", id="memory"),
    ],
)
def test_a_process_that_dies_is_a_finding_and_the_next_goes_on(
    death: Callable[[], object], defect: str, detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz.runner.MEMORY_BYTES", 1 << 30)
    journal = Journal(tmp_path)
    Runner([_dies_at(3, death)], journal).run(20, most=10)
    [finding] = journal.of("deadly").findings
    assert (finding.seed, finding.defect) == (3, defect)
    assert detail in finding.detail
    assert journal.of("deadly").cases == 10
    assert "seed 3" in (tmp_path / "inputs" / "deadly-3" / "about.txt").read_text()


def test_a_journal_goes_on_where_it_stopped(tmp_path: Path) -> None:
    target = TARGETS["txn-container"]
    Runner([target], Journal(tmp_path)).run(20, most=30)
    with open(tmp_path / FILE, "a", encoding="utf-8") as file:
        file.write('{"target": "txn-cont')  # as it is after a power failure
    journal = Journal(tmp_path)
    assert journal.of(target.name).next_seed == 30
    Runner([target], journal).run(20, most=50)
    assert journal.of(target.name).cases == 50


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_a_run_stops_after_so_many_cases_of_all_targets(jobs: int, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add(Batch("a", 0, 30, 1.0))
    targets = [Target(name, lambda random: Case(call=int), share) for name, share in (("a", 1), ("b", 4), ("c", 1))]
    Runner(targets, journal, jobs, batch_seconds=0.01).run(60, total=1000)
    assert [journal.of(target.name).cases for target in targets] == [30 + 166, 667, 167]
    assert Journal(tmp_path).totals == journal.totals


def test_targets_get_their_shares(tmp_path: Path) -> None:
    often, seldom = (
        Target("often", lambda random: Case(call=int), 3),
        Target("seldom", lambda random: Case(call=int), 1),
    )
    journal = Journal(tmp_path)
    journal.add(Batch("often", 0, 30, 1.0))
    journal.add(Batch("seldom", 0, 9, 1.0, findings=(Finding(4, "slow", "x"),)))
    assert Runner([often, seldom], journal)._next() is seldom
    journal.add(Batch("seldom", 9, 2, 1.0))
    assert Runner([often, seldom], journal)._next() is often
    assert "seldom" in journal.summary()
