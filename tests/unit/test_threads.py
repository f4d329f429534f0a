"""Everything can be used from several threads, from the first call on; one loaded device by one thread at a time."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from helpers import EXAMPLES, STRESS
from programs import COPY

import tilewright as tw

AIR_PROGRAM = EXAMPLES / "air_add.mlir"
REPEATS = 10 if STRESS else 1
WAITS = """
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<64xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<64xi32>
    aiex.npu.dma_wait {symbol = @out}
"""  # noqa: E501
COPIES = COPY.replace("BODY", WAITS)

THREADS = """
import sys
import threading
import traceback
import numpy as np
import tilewright as tw

COPIES, AIR_PROGRAM = sys.argv[1:3]

def runs(design):
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    design.run(a, b)
    assert (a == b).all()

def loads(design):
    a, b, device = np.arange(64, dtype=np.int32), np.zeros(64, np.int32), design.load()
    device.run(a, b)
    assert (a == b).all()

def words(design):
    assert design.txn().size > 4

def compiles(design):
    runs(tw.compile(COPIES))

def air(design):
    a, total = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    tw.air.compile(AIR_PROGRAM).run(a, a, total)
    assert (total == 2 * a).all()

entries = [globals()[name] for name in sys.argv[3:]] * 3
design = tw.compile(COPIES) if any(entry in (runs, loads, words) for entry in entries) else None
gate, failures = threading.Barrier(len(entries)), []

def work(entry):
    gate.wait()
    try:
        entry(design)
    except BaseException:
        failures.append(traceback.format_exc())

threads = [threading.Thread(target=work, args=(entry,)) for entry in entries]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit("".join(failures) or 0)
"""


@pytest.mark.parametrize("entries", ["runs", "words", "compiles", "runs words loads compiles", "air"])
def test_many_threads_begin_at_once(entries: str) -> None:
    """Each time in a fresh process: what is made for the first call is made once."""
    for _ in range(REPEATS):
        command = [sys.executable, "-c", THREADS, COPIES, str(AIR_PROGRAM), *entries.split()]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr


def test_a_device_in_use_by_another_thread_says_so() -> None:
    started, on = threading.Event(), threading.Event()
    device = tw.compile(COPIES).load()
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)

    def hold(_: object) -> None:
        started.set()
        on.wait(60)

    thread = threading.Thread(target=lambda: device.run(a, b, progress=hold))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tilewright.sim.runs.SECONDS_BETWEEN_REPORTS", 0)
        thread.start()
        assert started.wait(60)
        with pytest.raises(RuntimeError, match="in use by another thread") as raised:
            device.run(a, b)
        assert isinstance(raised.value, tw.Error)
        on.set()
        thread.join()
    assert np.array_equal(a, b)
    b[:] = 0
    device.run(a, b)
    assert np.array_equal(a, b)


def test_devices_of_one_design_run_side_by_side() -> None:
    """What cores share is their machine code alone."""
    design, failures = tw.compile(COPIES), list[str]()

    def work(number: int) -> None:
        device = design.load()
        for turn in range(3):
            a, b = np.arange(64, dtype=np.int32) + 1000 * number + turn, np.zeros(64, np.int32)
            device.run(a, b)
            if not np.array_equal(a, b):
                failures.append(f"thread {number}, turn {turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
