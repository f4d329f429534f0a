"""Sweeps: points are compiled and run, whatever becomes of them is a row, and a sweep that ended early goes on."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import EXAMPLES

import tilewright as tw
from tilewright.errors import ArgumentError
from tilewright.iron.utils.compile.jit import design_cache
from tilewright.sweeps import Status, SweepRow, Trial, trials
from tilewright.sweeps.engines import Job, LocalEngine, WorkQueue
from tilewright.sweeps.spaces import ParameterSpace
from tilewright.sweeps.trials import WrongSweep

COPIES = """
aie.device(npu1_1col) {{
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  aie.objectfifo @in(%shim, {{%mem}}, {depth} : i32) : !aie.objectfifo<memref<{tile}xi32>>
  aie.objectfifo @out(%mem, {{%shim}}, {depth} : i32) : !aie.objectfifo<memref<{tile}xi32>>
  aie.objectfifo.link [@in] -> [@out]([] [])
  aie.runtime_sequence @copy(%a: memref<?xi32>, %b: memref<?xi32>, %tiles: i64) {{
    %one = arith.constant {tile} : i64
    %count = arith.muli %tiles, %one : i64
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, %count][0, 0, 0, 1]) {{id = 0 : i64, metadata = @in}} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, %count][0, 0, 0, 1])
        {{id = 1 : i64, issue_token = true, metadata = @out}} : memref<?xi32>
    aiex.npu.dma_wait {{symbol = @out}}
  }}
}}
"""


def copies(tile: int = 64, depth: int = 2) -> str:
    return COPIES.format(tile=tile, depth=depth)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    design_cache.forget_designs()


def by_status(result: tw.SweepResult) -> dict[str, list[int]]:
    return {status.value: [row.number for row in result if row.status is status] for status in result.counts}


def test_all_engines_give_the_same_table(tmp_path: Path) -> None:
    parameters = {"tile": [32, 64], "tiles": [2, 6]}
    settings: dict[str, Any] = {"arguments": {"a": "random:1"}, "fields": ["busy", "host_bytes"]}
    tables = {jobs: tw.sweep(copies, parameters, jobs=jobs, **settings).to_csv() for jobs in (0, 1, 2)}
    assert tables[0] == tables[1] == tables[2]
    lines = tables[0].splitlines()
    assert len(lines) == 5 and lines[0].startswith("point,tile,tiles,status,cycles,time,words,host_bytes")
    assert all(",ok," in line for line in lines[1:])


def test_points_that_differ_at_run_time_share_one_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design_cache, "statistics", statistics := design_cache.Statistics())
    result = tw.sweep(copies, {"tile": [32, 64], "tiles": range(1, 6)}, jobs=0)
    assert by_status(result) == {"ok": list(range(10))} and statistics.compiled == 2
    cycles = [row.fields["cycles"] for row in result]
    assert cycles[:5] == sorted(cycles[:5]) and result.best is result.rows[0]


def test_rows_are_what_plain_calls_give() -> None:
    [row] = tw.sweep(copies, {"tile": 64, "tiles": 5}, jobs=0, arguments={"a": "arange"})
    design = tw.compile(copies(64))
    a, b = np.arange(320, dtype=np.int32), np.zeros(320, np.int32)
    plain = design.run(a, b, 5)
    assert (row.fields["cycles"], row.fields["time"]) == (plain.cycles, plain.time)
    assert row.fields["words"] == design.txn(tiles=5).size and row.fields["l2_bytes"] == 2 * 64 * 4


def whatever(kind: str) -> Any:
    match kind:
        case "compile error":
            return EXAMPLES / "two_mistakes.mlir"
        case "hang":
            return EXAMPLES / "forgotten_consumer.mlir"
        case "error":
            raise ValueError(f"no {kind}\nand more")
        case "lost":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stopped":
            return Trial(copies(1024), {"tiles": 64})
        case _:
            return Trial(copies(), {"tiles": 2})


def test_whatever_goes_wrong_is_a_row_with_its_reason() -> None:
    kinds = ["ok", "compile error", "hang", "error", "lost", "stopped"]
    result = tw.sweep(whatever, {"kind": kinds}, jobs=2, max_cycles=20_000)
    assert [row.status.value for row in result] == kinds
    reasons = {row.status: row.reason for row in result}
    assert "two_mistakes.mlir:5:10: " in reasons[Status.COMPILE_ERROR]
    assert "waits for a token" in reasons[Status.HANG]
    assert reasons[Status.ERROR].endswith("ValueError: no error") and "test_sweeps.py" in reasons[Status.ERROR]
    assert "ended, 3 times" in reasons[Status.LOST] and reasons[Status.STOPPED]
    assert result.best is not None and result.best.number == 0


def test_constraints_keep_points_from_being_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_memory", trials._Memory())
    made, initialise = list[tw.Design](), tw.Design.__init__
    monkeypatch.setattr(tw.Design, "__init__", lambda self, module: (made.append(self), initialise(self, module))[1])
    parameters = {"tile": [64, 1024, 4096], "depth": [1, 2], "tiles": [1, 2]}
    constraints = ["tile * tiles <= 4096", "l2_bytes <= 8192"]
    result = tw.sweep(copies, parameters, jobs=0, constraints=constraints)
    ok = [row.values for row in result if row.is_ok]
    assert ok and all(values["tile"] * values["tiles"] <= 4096 for values in ok)  # pyright: ignore
    found = {(row.values["tile"], row.values["depth"]): row.fields["l2_bytes"] for row in result if row.fields}
    assert {key for key, size in found.items() if size > 8192} == {(4096, 1), (4096, 2)}
    assert {row.reason for row in result if row.status is Status.PRUNED} == {f"constraint: {c}" for c in constraints}
    assert len(made) == 4 and not any("cycles" in row.fields for row in result if not row.is_ok)


def test_a_function_may_know_more_about_its_program() -> None:
    def known(tile: int) -> Trial:
        return Trial(copies(tile), {"tiles": 128 // tile, "a": "arange"}, {"words_moved": 128})

    result = tw.sweep(known, {"tile": [32, 64]}, jobs=0, columns={"rate": "words_moved / cycles"}, objective="-rate")
    assert by_status(result) == {"ok": [0, 1]}
    assert result.best is not None and result.best.fields["rate"] == max(row.fields["rate"] for row in result)


def test_a_parameter_may_set_several_scalars() -> None:
    result = tw.sweep(copies(), {"kilobytes": [1, 2]}, jobs=0, arguments={"tiles": "kilobytes * 4"})
    assert by_status(result) == {"ok": [0, 1]}


def test_results_are_measured_by_a_function() -> None:
    def measure(result: tw.RunResult, arrays: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
        assert (arrays["a"] == arrays["b"]).all() and values["tiles"] < 3, "too many"
        return {"sum": arrays["b"].sum()}

    result = tw.sweep(copies(), {"tiles": [1, 2, 3]}, jobs=0, arguments={"a": "arange"}, measure=measure)
    assert [row.fields.get("sum") for row in result] == [2016, 8128, None]
    assert "too many" in result.rows[2].reason


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"parameters": {"tiles": 1, "tyle": 2}}, "nothing takes the parameter tyle; .* take tiles"),
        ({"parameters": {"tiles": 1}, "objective": "tim"}, "there is no 'tim', did you mean 'time'"),
        ({"parameters": {"tiles": 1}, "constraints": ["l3_bytes < 1"]}, "there is no 'l3_bytes'"),
        ({"parameters": {"other": 1}, "arguments": {"a": "zeros"}}, "nothing takes the parameter other"),
    ],
)
def test_what_is_wrong_with_all_points_ends_the_sweep(settings: Any, text: str) -> None:
    with pytest.raises(WrongSweep, match=text):
        tw.sweep(copies(), jobs=0, **settings)


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"fields": ["bussy"]}, "no field 'bussy', did you mean 'busy'"),
        ({"reports": "some"}, "one of none, front, all"),
        ({"reports": "all"}, "reports need a folder"),
        ({"jobs": -1}, "number of processes"),
        ({"scheduler": "tcp://127.0.0.1:9"}, "no scheduler at|need Dask"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: Any, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.sweeps.dask_engine.SECONDS_TO_CONNECT", 1)
    with pytest.raises(ArgumentError, match=text):
        tw.sweep(copies(), {"tiles": 1}, **settings)


def test_a_sweep_goes_on_where_it_ended(tmp_path: Path) -> None:
    class SweepWatch:
        def __init__(self, most: int = 99):
            self.computed, self.most = list[Any](), most

        def begin(self, total: int, engine: str) -> None:
            assert total

        def row(self, row: SweepRow, is_new: bool) -> None:
            if is_new:
                self.computed.append(row.values)
                if len(self.computed) == self.most:
                    raise KeyboardInterrupt

        def reports(self, total: int) -> None:
            pass

    parameters, out = {"tile": [32, 64], "tiles": [1, 2, 3]}, tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        tw.sweep(copies, parameters, out=out, jobs=2, watch=(first := SweepWatch(3)))
    result = tw.sweep(copies, parameters, out=out, jobs=1, watch=(again := SweepWatch()))
    assert len(first.computed) == len(again.computed) == 3
    assert not any(values in first.computed for values in again.computed)
    assert result.to_csv() == tw.sweep(copies, parameters, jobs=0).to_csv()
    larger = {"tile": [32, 64], "tiles": [1, 2, 3, 4]}
    tw.sweep(copies, larger, out=out, jobs=0, watch=(more := SweepWatch()))
    assert [values["tiles"] for values in more.computed] == [4, 4]  # only what is new


def slow(tile: int) -> str:
    time.sleep(0.05)
    return copies(tile)


def test_a_killed_sweep_leaves_its_rows_and_no_processes(tmp_path: Path) -> None:
    parameters, journal = {"tile": [8, 16, 24, 32, 40, 48], "tiles": 1}, tmp_path / "journal.jsonl"
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.setpgid(0, 0)
        tw.sweep(slow, parameters, out=tmp_path, jobs=2)
        os._exit(0)
    os.close(writer)
    end = time.monotonic() + 60
    while time.monotonic() < end and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b""  # ends when the workers have ended, who have its other end, too
    os.close(reader)
    before = journal.read_bytes()
    result = tw.sweep(slow, parameters, out=tmp_path, jobs=2)
    after = journal.read_bytes()
    points = [json.loads(line[9:])["point"] for line in after.splitlines()[1:]]
    assert after.startswith(before[: before.rindex(b"\n") + 1]) and sorted(points) == list(range(6))
    assert by_status(result) == {"ok": list(range(6))}


def test_a_cluster_gives_the_same_table_whatever_becomes_of_a_worker() -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: no cluster")
    parameters = {"tile": [16, 32, 64, 128], "tiles": [1, 2]}
    settings: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=False, **settings) as cluster:

        class SweepWatch:
            rows = 0

            def begin(self, total: int, engine: str) -> None:
                assert "cluster" in engine

            def row(self, row: SweepRow, is_new: bool) -> None:
                self.rows += 1
                if self.rows == 2:
                    cluster.sync(cluster.workers[0].close)  # with what it has and what it is at

            def reports(self, total: int) -> None:
                pass

        found = tw.sweep(copies, parameters, scheduler=cluster.scheduler_address, watch=SweepWatch())
    assert found.to_csv() == tw.sweep(copies, parameters, jobs=0).to_csv()


def test_workers_of_another_version_are_refused() -> None:
    definition = replace(tw.Sweep(copies(), {"tiles": 1}).definition, package="another")
    with pytest.raises(WrongSweep, match="another tilewright"):
        trials.check_package(definition)


def test_reports_of_the_front_and_of_all_points(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"objective": ["time", "l2_bytes"], "out": tmp_path, "jobs": 0}
    result = tw.sweep(copies, {"depth": [1, 2], "tiles": [1, 4]}, reports="front", **settings)
    assert {row.number for row in result if row.report} == {row.number for row in result.front}
    result = tw.sweep(copies, {"depth": [1, 2], "tiles": [1, 4]}, reports="all", **settings)
    pages = [(tmp_path / row.report).read_text() for row in result if row.report is not None]
    assert len(pages) == 4 and all("tilewright run --report" in page for page in pages)


def test_halving_ranks_what_went_furthest() -> None:
    parameters = {"tiles": [1, 4], "tile": [16, 32, 64]}
    result = tw.sweep(copies, parameters, jobs=0, search="halving", budget="tiles")
    assert len(result) == 3 + 1 and [row.values["tiles"] for row in result.ranked] == [4]


def test_the_queue_compiles_each_build_once_before_others_use_it() -> None:
    points = [ParameterSpace.of({"a": range(2), "n": range(3)})[number] for number in range(6)]
    queue = WorkQueue(Job(point, str(point.values["a"])) for point in points)
    first, second = queue.take(), queue.take()
    assert first is not None and second is not None and (first.build, second.build) == ("0", "1")
    assert queue.take() is None and len(queue) == 4  # both builds are being compiled
    queue.done(second)
    third = queue.take("1")
    assert third is not None and third.build == "1"
    other = queue.take("0")  # its own build is not ready: it helps with the other one
    assert other is not None and other.build == "1"
    queue.put_back(other)
    assert queue.take("1") is other


def test_large_points_go_first_so_that_no_worker_is_left_with_one() -> None:
    points = ParameterSpace.of({"n": [1, 8, 2]})
    jobs = [Job(points[number], "shared", size=float(points[number].values["n"])) for number in range(3)]  # pyright: ignore
    queue = WorkQueue([Job(points[0], "single"), *jobs])
    first, second = queue.take(), queue.take()
    assert first is jobs[1] and second is not None and second.build == "single"
    queue.done(jobs[1])
    assert queue.take() is jobs[2] and queue.take() is jobs[0] and queue.take() is None


def test_a_worker_has_its_next_point_before_its_row_is_kept() -> None:
    sweep = tw.Sweep(copies, {"tile": [32, 64], "tiles": 1})
    jobs = [Job(sweep.space[number], str(number)) for number in range(2)]
    engine = LocalEngine(sweep.definition, 1)
    try:
        results = engine.results(WorkQueue(jobs))
        done, _ = next(results)
        assert engine.workers[0].job in jobs and engine.workers[0].job is not done
        assert [outcome.status for _, outcome in results] == [Status.OK]
    finally:
        engine.close()
