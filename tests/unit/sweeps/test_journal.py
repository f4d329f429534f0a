"""Journals of sweeps: rows are there after any end, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.errors import ArgumentError, InUseError
from tilewright.sweeps.journal import Journal
from tilewright.sweeps.rows import Status, SweepRow


def rows(count: int) -> list[SweepRow]:
    return [
        SweepRow(n, {"a": n, "tile": (n, 2)}, Status.OK, {"time": n / 7}, "", f"reports/{n}.html") for n in range(count)
    ]


def journal(path: Path, count: int = 0) -> Journal:
    made = Journal(path, "definition", {"design": "d"})
    for row in rows(count):
        made.add(row)
    made.close()
    return made


def test_rows_are_read_back_as_they_were(tmp_path: Path) -> None:
    journal(tmp_path / "j", 3)
    assert list(journal(tmp_path / "j").rows.values()) == rows(3)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_is_cut_off_loses_no_more_than_the_last_row(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("j") / "journal"
    journal(path, 4)
    whole = path.read_bytes()
    end = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:end])
    kept = journal(path, 0)
    complete = max(whole[:end].count(b"\n") - 1, 0)
    assert list(kept.rows.values()) == rows(complete) and kept.damaged == 0
    journal(path, 4)
    assert list(journal(path).rows.values()) == rows(4)


def test_a_damaged_line_in_the_middle_costs_its_own_row(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal(path, 3)
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"ok", b"OK")
    path.write_bytes(b"\n".join(lines))
    found = journal(path)
    assert [row.number for row in found.rows.values()] == [0, 2] and found.damaged == 1


def test_the_last_line_of_a_point_counts(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal(path, 2)
    with Journal(path, "definition", {}) as made:
        made.add(SweepRow(1, {"a": 1, "tile": (1, 2)}, Status.HANG, reason="who waits"))
    assert journal(path).rows['{"a": 1, "tile": [1, 2]}'].status is Status.HANG


def test_a_point_whose_process_ended_is_not_kept(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", "definition", {}) as made:
        made.add(SweepRow(0, {"a": 0}, Status.LOST, reason="killed"))
    assert not journal(tmp_path / "j").rows


def test_another_sweep_is_refused_unless_it_is_to_begin_anew(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal(path, 2)
    with pytest.raises(ArgumentError, match=r"of another sweep.*--fresh"):
        Journal(path, "another", {})
    with Journal(path, "another", {}, fresh=True) as made:
        assert not made.rows
    with Journal(path, "another", {}) as made:
        assert not made.rows


@pytest.mark.parametrize("content", [b"no journal at all\nx\n", b"\xff\x00\n\n", b'00000000 {"format":1}\n\n'])
def test_what_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(content)
    with pytest.raises(ArgumentError, match="is no journal"):
        journal(path)
    assert path.read_bytes() == content


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", "definition", {}), pytest.raises(InUseError, match="in use by another sweep"):
        Journal(tmp_path / "j", "definition", {})
