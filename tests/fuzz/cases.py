"""One case: what a tool is given, and what it may make of it."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from tilewright.cli.main import main
from tilewright.errors import Error

CPU_SECONDS, WALL_SECONDS = 10, 60
"""Limits of one case. The first counts processor time, since others may keep the processors busy; the second is for
what sleeps for ever."""
MEMORY_BYTES = 2 << 30
"""What one case may add to the process, which other cases and, in a test run, other tests have filled before."""
STATUSES = (0, 1, 2)
SILENT = ("diff", "lint", "lift")
"""Tools of `txn` whose status 1 says what they found, not that something was wrong."""
DEFECTS = ("Traceback (most recent call last)", "internal error", "out of memory")


@dataclass(frozen=True)
class Case:
    """Files in an empty folder, and a command or a call that is given them."""

    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    argv: Sequence[str] = ()
    call: Callable[[], object] | None = None

    def write(self, folder: Path) -> None:
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


@dataclass(frozen=True)
class Outcome:
    """How a case ended: a status or the name of an error; if that must not happen, also why not."""

    ending: str
    defect: str | None = None
    detail: str = ""


class OverLimitError(BaseException):
    """Raised inside of a case that takes too long; no handler of errors catches it."""


def execute(case: Case) -> Outcome:
    """Run a case in the current folder, which is emptied first."""
    _empty(Path("."))
    case.write(Path("."))
    before = _restart_peak()
    try:
        with _limits():
            outcome = _command(case.argv) if case.call is None else _call(case.call)
    except OverLimitError as error:
        return Outcome("slow", "slow", f"{error}: {_where(error)}")
    if _memory_bytes("VmHWM") - before > MEMORY_BYTES:
        return Outcome(outcome.ending, "memory", f"over {MEMORY_BYTES >> 20} MB")
    return outcome


def _command(argv: Sequence[str]) -> Outcome:
    saved = sys.stdin, sys.stdout, sys.stderr
    written = io.BytesIO()
    errors = _stream(written)
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO()), _stream(io.BytesIO()), errors
    try:
        status = main(argv)
    except BaseException as error:
        if isinstance(error, OverLimitError):
            raise
        return Outcome(type(error).__name__, "traceback", f"{_where(error)}: {type(error).__name__}: {error}")
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved
    errors.flush()
    said = written.getvalue().decode(errors="replace")
    return Outcome(str(status), *_judged(argv, status, said))


def _stream(written: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(written, encoding="utf-8", errors="backslashreplace")


def _judged(argv: Sequence[str], status: int, said: str) -> tuple[str | None, str]:
    """Why a command must not end like this, if so."""
    for sign in DEFECTS:
        if sign in said:
            return "traceback", said[max(said.index(sign) - 200, 0) :][:2000]
    if status not in STATUSES:
        return "status", f"status {status}: {said[:1000]}"
    if status and not said.strip() and not set(SILENT) & set(argv):
        return "silent", f"status {status} without a word"
    return None, ""


def _call(call: Callable[[], object]) -> Outcome:
    try:
        call()
    except Error as error:
        if not str(error).strip():
            return Outcome(type(error).__name__, "silent", _where(error))
        return Outcome(type(error).__name__)
    except Exception as error:
        return Outcome(type(error).__name__, "traceback", f"{_where(error)}: {type(error).__name__}: {error}"[:2000])
    return Outcome("0")


def _where(error: BaseException) -> str:
    """The last lines of our own code that an error came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/tilewright/" in frame.filename]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[:-4:-1])


@contextmanager
def _limits() -> Generator[None]:
    def stop(signum: int, frame: FrameType | None) -> None:
        spent = f"{CPU_SECONDS} s of work" if signum == signal.SIGPROF else f"{WALL_SECONDS} s"
        raise OverLimitError(f"not done after {spent}")

    previous = [(number, signal.signal(number, stop)) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in previous:
            signal.signal(number, handler)


def _restart_peak() -> int:
    """Let the highest use of memory count from now on, and tell the use at this moment."""
    Path("/proc/self/clear_refs").write_text("5")  # proc_pid_clear_refs(5): resets VmHWM, and nothing else
    return _memory_bytes("VmRSS")


def _memory_bytes(name: str) -> int:
    """Of the process, by a name of proc_pid_status(5)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def _empty(folder: Path) -> None:
    # Cases run in the current folder: by hand, that may be a checkout.
    if any((parent / ".git").exists() for parent in (folder.resolve(), *folder.resolve().parents)):
        raise RuntimeError(f"{folder} is in a checkout: cases are run in a folder of their own, which is emptied")
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
