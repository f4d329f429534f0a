"""The cache: what is in it is used only if it is whole and nobody but the user can have written it."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import STRESS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright.errors import CacheWarning
from tilewright.native import object_cache
from tilewright.native.object_cache import OBJECTS, CacheError, cached_object, private_files, private_folder

KEY = "0123abcd"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    object_cache._said.clear()
    return tmp_path / "cache"


def entry() -> Path:
    """The file of an object that has been kept."""
    assert cached_object(KEY, lambda: b"code") == b"code"
    return OBJECTS.path(KEY)


def is_used() -> bool:
    return cached_object(KEY, lambda: b"made anew") == b"code"


def test_what_was_made_once_is_not_made_again(folder: Path) -> None:
    path = entry()
    assert is_used() and path.parent == folder
    assert not cached_object("another", lambda: b"") and cached_object("another", lambda: b"x") == b""


def test_new_folders_and_files_are_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "a" / "b"))
    before = os.umask(0)
    try:
        path = entry()
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (tmp_path / "a", tmp_path / "a" / "b", path)]
    assert modes == [0o700, 0o700, 0o600]
    assert os.listdir(path.parent) == [path.name], "nothing else is left"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut off": lambda data: data[:-1],
    "half": lambda data: data[: len(data) // 2],
    "only the first line": lambda data: data.partition(b"\n")[0],
    "one bit": lambda data: data[:-2] + bytes([data[-2] ^ 1]) + data[-1:],
    "longer": lambda data: data + b"x",
    "another key": lambda data: data.replace(KEY.encode(), KEY[::-1].encode()),
    "no first line": lambda data: data.partition(b"\n")[2],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_made_again(damage: Callable[[bytes], bytes]) -> None:
    path = entry()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert not is_used()
    assert cached_object(KEY, lambda: b"") == b"made anew", "and kept again"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300 if STRESS else 60)
@given(data=st.binary(max_size=200), at=st.integers(0, 400), put=st.binary(max_size=20), cut=st.integers(0, 40))
def test_whatever_is_done_to_a_file_no_other_data_come_back(data: bytes, at: int, put: bytes, cut: int) -> None:
    OBJECTS.keep(KEY, data)
    path = OBJECTS.path(KEY)
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + put + whole[at + cut :])
    assert OBJECTS.read(KEY) in (None, data)


def test_an_entry_for_another_key_is_not_taken(folder: Path) -> None:
    path = entry()
    path.rename(OBJECTS.path("another"))
    assert OBJECTS.read("another") is None


def test_a_change_of_this_package_is_a_change_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    entry()
    monkeypatch.setattr(object_cache, "package_key", lambda *parts: "another version")
    assert not is_used()


def make_link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def make_hard_link(path: Path) -> None:
    os.link(path, path.with_suffix(".other"))


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    path.unlink()
    here = os.getcwd()
    os.chdir(path.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def writable_by_group(path: Path) -> None:
    path.chmod(0o620)


def writable_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def linked_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("real"))
    path.parent.symlink_to("real")


DOUBTS = [
    make_link, make_hard_link, make_pipe, make_socket, make_folder, writable_by_group, writable_folder, linked_folder
]  # fmt: skip


@pytest.mark.parametrize("doubt", DOUBTS, ids=lambda doubt: doubt.__name__.replace("_", " "))
def test_what_others_may_have_written_is_neither_used_nor_repaired(doubt: Callable[[Path], None]) -> None:
    path = entry()
    doubt(path)
    before = os.lstat(path)
    with pytest.warns(CacheWarning, match="is not used: ") as said:
        assert not is_used()
        assert not is_used()
    assert len(said) == 1, "once in a process"
    after = os.lstat(path)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("whose", ["file", "folder"])
def test_what_belongs_to_another_user_is_not_used(whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = entry()
    true_status = os.fstat if whose == "folder" else os.stat
    stranger = os.geteuid() + 1

    def status(target: Any, **options: Any) -> os.stat_result:
        found = true_status(target, **options)
        return os.stat_result([*found[:4], stranger, *found[5:]])

    monkeypatch.setattr(os, true_status.__name__, status)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert not is_used()
    monkeypatch.undo()
    assert path.name


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_an_object_that_another_user_planted_is_not_used() -> None:
    path = entry()
    os.chown(path, 12345, 12345)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert not is_used()


# Folders of the cache that programs are given: without them nothing goes on, so that doubts are errors.

FILES = {"setup.sh": b"export A=1\n", "lib/cmake/config.cmake": b"set(A 1)\n"}


def test_files_for_programs_are_the_users_alone_and_are_repaired(folder: Path) -> None:
    before = os.umask(0)
    try:
        made = private_files("tools/1", FILES)
    finally:
        os.umask(before)
    assert made == folder / "tools" / "1" == private_folder("tools", "1")
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()} == {0o600}
    (made / "setup.sh").write_bytes(b"damaged")
    (made / "lib" / "cmake" / "config.cmake").unlink()
    assert private_files("tools/1", FILES) == made
    assert {name: (made / name).read_bytes() for name in FILES} == FILES
    assert not [path for path in folder.rglob("*") if path.name.endswith(".new")], "nothing else is left"


def replaced_by_link(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def replaced_by_file(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.write_bytes(b"")


FOLDER_DOUBTS = {
    "link": (replaced_by_link, "is no folder that can be used"),
    "file": (replaced_by_file, "is no folder that can be used"),
    "group": (lambda path: path.chmod(0o770), "can be written to by others: chmod go-w would change that"),
    "everyone": (lambda path: path.chmod(0o707), "can be written to by others"),
}


@pytest.mark.parametrize("place", ["", "tools", "tools/1", "tools/1/lib", "tools/1/lib/cmake"])
@pytest.mark.parametrize("doubt, text", FOLDER_DOUBTS.values(), ids=FOLDER_DOUBTS)
def test_a_folder_that_others_may_have_written_to_is_refused(
    folder: Path, place: str, doubt: Callable[[Path], object], text: str
) -> None:
    file = private_files("tools/1", FILES) / "lib" / "cmake" / "config.cmake"
    file.write_bytes(b"of somebody else")
    doubt(folder / place)
    with pytest.raises(CacheError, match=rf"cache.* cannot be used: .*{text}.*; TILEWRIGHT_CACHE names another"):
        private_files("tools/1", FILES)
    found = [path.read_bytes() for path in folder.parent.rglob("config.cmake")]
    assert found == [b"of somebody else"], "it is not repaired either"


@pytest.mark.parametrize("whose", ["file", "folder"])
def test_a_folder_of_another_user_is_refused(whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    private_files("tools/1", FILES)
    true_status = os.fstat if whose == "folder" else os.stat

    def status(target: Any, **options: Any) -> os.stat_result:
        found = true_status(target, **options)
        return os.stat_result([*found[:4], os.geteuid() + 1, *found[5:]])

    monkeypatch.setattr(os, true_status.__name__, status)
    with pytest.raises(CacheError, match="belongs to another user; TILEWRIGHT_CACHE names another cache"):
        private_files("tools/1", FILES)


@pytest.mark.parametrize("doubt", [make_link, make_hard_link, make_folder, writable_by_group])
def test_a_file_that_others_may_have_written_is_refused(doubt: Callable[[Path], None]) -> None:
    doubt(private_files("tools/1", FILES) / "setup.sh")
    with pytest.raises(CacheError, match=r"cannot be used: setup\.sh (is a link|can be written to by others)"):
        private_files("tools/1", FILES)


@pytest.mark.parametrize("place", ["/dev/null/nowhere", "/proc/nowhere"])
def test_a_folder_that_cannot_be_made_is_an_error(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", place)
    with pytest.raises(CacheError, match=f"{place}/tools cannot be used: .*; TILEWRIGHT_CACHE names another cache"):
        private_folder("tools")


@pytest.mark.parametrize("place", ["/dev/null/nowhere", "/proc/nowhere", "/dev/full"])
def test_a_place_where_nothing_can_be_kept_only_costs_time(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        assert [cached_object(KEY, lambda data=data: data) for data in (b"a", b"b")] == [b"a", b"b"]


def test_without_a_home_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TILEWRIGHT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    assert cached_object(KEY, lambda: b"a") == b"a" and not list(tmp_path.iterdir())


def test_a_full_disk_leaves_nothing_half_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert cached_object(KEY, lambda: b"code") == b"code"
    assert os.listdir(folder) == []


DRIVER = """
import os, random, sys
from pathlib import Path
import numpy as np, tilewright as tw, tilewright.iron as iron
from tilewright.sim.fast import engine
from tilewright.iron import In, ObjectFifo, Out, Program, Runtime

@iron.jit
def copy(a: In, b: Out):
    line, vector = np.ndarray[(16,), np.dtype[np.int32]], np.ndarray[(64,), np.dtype[np.int32]]
    incoming = ObjectFifo(line, name="in")
    runtime = Runtime()
    with runtime.sequence(vector, vector) as (x, y):
        runtime.fill(incoming.prod(), x)
        runtime.drain(incoming.cons().forward().cons(), y, wait=True)
    return Program(iron.get_current_device(), runtime).resolve_program()

def run():
    a, b = iron.arange(64, dtype=np.int32), iron.zeros(64, dtype=np.int32)
    copy(a, b)
    return 0 if (a.numpy() == b.numpy()).all() else 1

def damage(path, chance):
    data = bytearray(path.read_bytes())
    match chance.randrange(5):
        case 0: data = data[: chance.randrange(len(data) + 1)]
        case 1: data = b""
        case 2: data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        case 3: data = data[:200] + os.urandom(200) + data[400:]
        case 4: path.unlink(); os.mkfifo(path); return
    path.write_bytes(data)

def in_a_process():
    child = os.fork()
    if child == 0:
        os._exit(run())
    return os.waitpid(child, 0)[1]

cache, chance = Path(os.environ["TILEWRIGHT_CACHE"]), random.Random(int(sys.argv[1]))
statuses = [in_a_process()]
files = [path for path in cache.rglob("*") if path.is_file()]
assert {path.suffix for path in files} == {".o", ".mlir"}, files
whole = {path: path.read_bytes() for path in files}
for number in range(int(sys.argv[2])):
    path = sorted(files)[number % len(files)]
    damage(path, chance)
    statuses.append(in_a_process())
    if not path.is_file():
        path.unlink()
    path.write_bytes(whole[path])
print(statuses)
sys.exit(any(statuses))
"""


def test_random_damage_changes_no_result_and_ends_no_process(tmp_path: Path) -> None:
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    rounds = 60 if STRESS else 2
    command = [sys.executable, "-W", "ignore", str(driver), "1", str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + 10 * rounds, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]


def test_processes_that_begin_at_the_same_time_do_not_disturb_each_other(folder: Path) -> None:
    program = "from tilewright.native.object_cache import cached_object as c\n"
    program += (
        "for i in range(300): assert c(str(i % 7), lambda: str(i % 7).encode() * 999) == str(i % 7).encode() * 999"
    )
    started = [subprocess.Popen([sys.executable, "-W", "error", "-c", program]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in started] == [0] * 4
    assert len(os.listdir(folder)) == 7
