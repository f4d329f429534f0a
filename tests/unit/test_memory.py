"""Memory that is taken for a compile or a run is given back: what a process has does not grow with what it has done.

The long form, TILEWRIGHT_STRESS=1, does each thing 1,000 times.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers import EXAMPLES, STRESS
from programs import COPY

WARM_UP, TIMES, MOST_MB = (50, 1000, 20) if STRESS else (40, 25, 16)
AIR_PROGRAM = EXAMPLES / "air_add.mlir"
SIZED = COPY.replace("memref<64xi32>", "memref<?xi32>").replace(
    "%b: memref<?xi32>)", "%b: memref<?xi32>, %n: i64, %m: i64)"
)
SIZED = SIZED.replace("BODY", """
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, %n][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<?xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, %m][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<?xi32>
    aiex.npu.dma_wait {symbol = @out}
""")  # noqa: E501  # fmt: skip
PROCESS = """
import gc
import sys
from pathlib import Path
import numpy as np
import tilewright as tw

TEXT, AIR_PROGRAM, what, warm_up, times = sys.argv[1:]
a, b = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
design = tw.compile(TEXT)
vector, total = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)

def resident_mb():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

def hang():
    try:
        design.run(a, b, 16, 64)
    except tw.Hang:
        return
    raise AssertionError("this run hangs")

things = {
    "compile and run": lambda number: tw.compile(TEXT).run(a, b, 64, 64),
    "run on the plain model": lambda number: design.run(a, b, 64, 64, model="plain"),
    "load": lambda number: design.load(),
    "hang": lambda number: hang(),
    "words": lambda number: design.txn(n=16 * number, m=64),
    "compile for words": lambda number: tw.compile(TEXT).txn(n=16, m=64),
    "air": lambda number: tw.air.compile(AIR_PROGRAM).run(vector, vector, total),
}
for number in range(int(warm_up) + int(times)):
    if number == int(warm_up):
        before = resident_mb()
    things[what](number + 1)
print(resident_mb() - before)
"""


@pytest.mark.parametrize(
    "what", ["compile and run", "run on the plain model", "load", "hang", "words", "compile for words", "air"]
)
def test_memory_stays_as_it_is(what: str) -> None:
    command = [sys.executable, "-c", PROCESS, SIZED, str(AIR_PROGRAM), what, str(WARM_UP), str(TIMES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < MOST_MB
