"""Ctrl-C is answered within a second of computing, whatever goes on: in Python by `KeyboardInterrupt`, by status 130.

Each phase runs in a process of its own, which is sent SIGINT in the middle of it; what is short is done over and over.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from bare_streams import binary, loopback
from helpers import ANSWER_S, TESTS

from tilewright import txn

BUSY_S = 1.5
"""CPU time after which a command is past its imports."""
PRESSES = 3
"""Of Ctrl-C: Python loses one that comes while it finalizes an object."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

CORE_LOOP = """
aie.device(npu1_1col) {
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%tile}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.core(%tile) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f1 = arith.constant 1.0 : f32
    %view = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<8xi32>>
    %e = aie.objectfifo.subview.access %view[0] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>
    %read = memref.load %e[%c0] : memref<8xi32>
    %many = arith.index_cast %read : i32 to index
    %r = scf.for %i = %c0 to %many step %c1 iter_args(%acc = %f1) -> f32 {
      %exp = math.exp %acc : f32
      %sin = math.sin %exp : f32
      scf.yield %sin : f32
    }
    %n = arith.fptosi %r : f32 to i32
    memref.store %n, %e[%c0] : memref<8xi32>
    aie.objectfifo.release @in(Consume, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<8xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,8][0,0,0,1]) {id = 0 : i64, issue_token = true, metadata = @in} : memref<8xi32>
    aiex.npu.dma_wait {symbol = @in}
    aiex.npu.dma_wait {symbol = @in}
  }
}
"""  # noqa: E501
"""A core whose loop is as long as a word from the host says, and does nothing but compute."""

BEFORE = """
import sys
import numpy as np
import tilewright as tw
from bare_streams import binary, loopback
from programs import WRITES
from tilewright.device import DEVICES
from tilewright.device.enums import DeviceName
from tilewright.sim.models import Model

def arrays():
    return {n: np.zeros(64, np.int32) for n in (0, 2)}

def ready():
    print("ready", flush=True)

def again(work):
    ready()
    while True:
        work()
"""
LOOPBACK = """
device = tw.BareDevice(DEVICES[DeviceName.npu2_1col], model=Model("fast"))
ready()
device.run(binary(loopback(64, for_ever=True)), arrays())
"""
PHASES = {
    "the fast model": LOOPBACK,
    "the plain model": LOOPBACK.replace("fast", "plain"),
    "a core's loop": f'''
device = tw.compile("""{CORE_LOOP}""").load()
ready()
device.run(np.full(8, 2**31 - 1, np.int32))
''',
    "the passes": """
body = "".join(f"    aiex.npu.write32(%a, %n) {{column = 0 : i32, row = {2 + n % 4} : i32}} : i32, i32\\n" for n in range(2000))
text = "aie.device(npu2) { aie.runtime_sequence @s(%n: i32) {\\n %a = arith.constant 4096 : i32\\n" + body + "} }"
again(lambda: tw.compile(text))
""",  # noqa: E501
    "LLVM": """
from llvmlite import ir
from tilewright.native.host import NativeModule
number = ir.IntType(64)
module = ir.Module()
function = ir.Function(module, ir.FunctionType(number, [number]), "f")
builder, value = ir.IRBuilder(function.append_basic_block()), function.args[0]
for n in range(20_000):
    small, on = function.append_basic_block(), function.append_basic_block()
    builder.cbranch(builder.icmp_signed("<", value, number(3 * n)), small, on)
    builder.position_at_end(small)
    builder.ret(builder.mul(value, value))
    builder.position_at_end(on)
    value = builder.add(value, builder.mul(value, value))
builder.ret(value)
ready()
NativeModule(module)
""",
    "a kernel": """
again(lambda: np.sort(np.arange(1 << 20)[::-1]))
""",
    "words of a sequence": """
design = tw.compile(WRITES)
design.txn(n=1)
again(lambda: design.txn(n=1 << 20))
""",
    "reading words": """
stream = tw.compile(WRITES).txn(n=100_000)
again(lambda: tw.txn.decode(stream))
""",
    "a report": """
import tempfile
folder = tempfile.TemporaryDirectory()
result = tw.BareDevice(DEVICES[DeviceName.npu2_1col]).run(binary(loopback(64)), arrays())
again(lambda: result.report(folder.name + "/report.html"))
""",
    "what the first run makes": """
from tilewright.native.host import host_object
from tilewright.sim.fast import loop, state
again(lambda: host_object(state.native.build()))
""",
}


def python(code: str) -> list[str]:
    return [sys.executable, "-c", dedent(code)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.mark.parametrize("phase", PHASES)
def test_python_answers_ctrl_c(phase: str) -> None:
    code = f"{BEFORE}\ntry:\n" + "\n".join(f"    {line}" for line in PHASES[phase].strip("\n").split("\n"))
    code += "\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
    process = subprocess.Popen(python(code), stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        assert any(answers(process) for _ in range(PRESSES))
        assert process.stdout.readline() == "interrupted\n"
    finally:
        process.kill()
        process.communicate()


def answers(process: subprocess.Popen[str]) -> bool:
    """Whether Ctrl-C makes it print something in time."""
    assert process.stdout is not None
    before = cpu_seconds(process)
    process.send_signal(signal.SIGINT)
    while cpu_seconds(process) - before < ANSWER_S:
        if select.select([process.stdout], [], [], 0.05)[0]:
            return True
    return False


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """What it has computed: other work on this computer makes the time of the clock longer, not this."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs that commands are busy with for a long time."""
    path = tmp_path_factory.mktemp("inputs")
    np.save(path / "a.npy", np.zeros(64, np.int32))
    (path / "for_ever.bin").write_bytes(binary(loopback(64, for_ever=True)))
    words = txn.encode(txn.Stream.of(txn.Header(columns=1), [txn.write(0x1D000, n) for n in range(1000)]))
    rows = np.tile(words[4:].reshape(1000, -1), (1000, 1))
    # Operations that come again take no time: each has another value.
    rows[:, np.ptp(rows, axis=0) > 0] = np.arange(len(rows))[:, None]
    many = np.concatenate([words[:4], rows.reshape(-1)])
    many[2:4] = len(rows), many.nbytes
    many.astype("<u4").tofile(path / "long.bin")
    writes = "    aiex.npu.write32(%a, %n) {column = 0 : i32, row = 2 : i32} : i32, i32\n" * 100_000
    head = "aie.device(npu2) {\n  aie.runtime_sequence @s(%n: i32) {\n    %a = arith.constant 4096 : i32\n"
    (path / "long.mlir").write_text(f"{head}{writes}  }}\n}}\n")
    return path


RUN = ("run", "--device", "npu2_1col", "--txn", "for_ever.bin", "--arg", "0=a.npy", "--arg", "2=a.npy")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(RUN, id="run"),
        pytest.param((*RUN, "--model", "plain"), id="run, plain model"),
        pytest.param(("txn", "dis", "long.bin"), id="txn dis"),
        pytest.param(("compile", "long.mlir", "-o", "out"), id="compile"),
    ],
)
def test_commands_end_with_status_130(arguments: Sequence[str], folder: Path) -> None:
    command = [sys.executable, "-m", "tilewright", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        while process.poll() is None and cpu_seconds(process) < BUSY_S:
            time.sleep(0.05)
        before = cpu_seconds(process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        # What has ended keeps its times until somebody waits for it.
        errors = process.stderr.read()
        assert cpu_seconds(process) - before < ANSWER_S
        process.wait(timeout=60)
        assert process.returncode == 130, errors
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()


def test_status_is_130_after_an_interrupt_in_text_that_python_runs(tmp_path: Path) -> None:
    """Dataclasses and named tuples are made by `exec`; `python -m` remembers an interrupt in it to the end."""
    code = """
    import sys
    from tilewright.cli import main
    main._run = lambda arguments: exec("raise KeyboardInterrupt")
    sys.exit(main.main([]))
    """
    (tmp_path / "interrupted.py").write_text(dedent(code))
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stderr) == (130, "")
