"""Pushes that may be dropped and descriptors that are rewritten in flight, found in TXN streams and in IR alike."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.cli.main import main
from tilewright.device import TASK_QUEUE_DEPTH, DmaDirection, model
from tilewright.device.hazards import findings
from tilewright.driver.compiled_design import GUARDED_LOWERING, compile_text
from tilewright.ir.diagnostics import collect
from tilewright.txn import Operation, block_write, mask_write, sync, write
from tilewright.txn.analysis import hazards
from tilewright.txn.opcodes import Opcode

NPU2 = model("npu2")
HEADER = tw.txn.Header(device_generation=4, columns=8)
QUEUE, STATUS = 0x1D214, 0x1D228  # of MM2S 0 in shim tile (0, 0)
TOKEN = 1 << 31
IDLE = 0x0078003C  # queue size, running and stall bits of a status register: what production streams poll for


def push(bd: int, token: bool = True) -> Operation:
    return write(QUEUE, bd | (TOKEN if token else 0))


def poll(mask: int, address: int = STATUS) -> Operation:
    return Operation(Opcode.MASKPOLL, address=address, value=0, mask=mask)


def lint(operations: Sequence[Operation]) -> list[tuple[str, int, bool]]:
    """Rule, operation and whether nothing makes it unlikely."""
    found = findings(hazards(tw.txn.Stream.of(HEADER, operations), NPU2))
    return [(each.hazard.rule.name, each.hazard.origin, each.is_likely) for each in found]


WAIT = sync(0, 0, DmaDirection.MM2S, 0)
DESCRIPTOR = block_write(0x1D000, [1] * 8)


@pytest.mark.parametrize(
    "operations, found",
    [
        pytest.param([push(n) for n in range(4)], [], id="a queue holds four"),
        pytest.param([push(n) for n in range(5)], [("queue-overflow", 4, True)], id="the fifth may be dropped"),
        pytest.param([*[push(n) for n in range(4)], WAIT, push(4)], [], id="a token makes room for one"),
        pytest.param(
            [*[push(n) for n in range(4)], WAIT, push(4), push(5)], [("queue-overflow", 6, True)], id="not for two"
        ),
        pytest.param([*[push(n) for n in range(4)], poll(IDLE), *[push(n) for n in range(4)]], [], id="idle: all done"),
        pytest.param(
            [*[push(n) for n in range(4)], poll(0x00700000), *[push(n) for n in range(5)]],
            [("queue-overflow", 9, True)],
            id="an empty queue has room for four, whatever runs",
        ),
        pytest.param(
            [*[push(n) for n in range(4)], poll(0x00700000), block_write(0x1D060, [0] * 8)],
            [("descriptor-in-flight", 5, True)],
            id="an empty queue leaves one running",
        ),
        pytest.param(
            [*[push(n) for n in range(4)], poll(0x00400000), push(4), push(5)],
            [("queue-overflow", 6, True)],
            id="a queue that is not full has room for one",
        ),
        pytest.param(
            [*[push(n) for n in range(4)], poll(IDLE, STATUS + 4), push(4)],
            [("queue-overflow", 5, False)],
            id="a poll of another channel makes it unlikely",
        ),
        pytest.param(
            [*[push(n) for n in range(4)], Operation(Opcode.MERGE_SYNC), push(4)],
            [("queue-overflow", 5, False)],
            id="so does a wait for several tiles",
        ),
        pytest.param([push(0), DESCRIPTOR], [("descriptor-in-flight", 1, True)], id="rewritten in flight"),
        pytest.param([push(1), DESCRIPTOR], [], id="another descriptor"),
        pytest.param([push(0), WAIT, DESCRIPTOR], [], id="rewritten when done"),
        pytest.param(
            [push(0), tw.txn.address_patch(0x1D004, 0, 0)], [("descriptor-in-flight", 1, True)], id="patched in flight"
        ),
        pytest.param(
            [block_write(0x1D020, [0] * 7 + [1 << 26]), push(1), DESCRIPTOR],
            [("descriptor-in-flight", 2, True)],
            id="next in the chain",
        ),
        pytest.param(
            [*[write(0x21DE14, 0)] * 4, mask_write(0x21DE10, 2, 2), write(0x21DE14, 0)], [], id="reset of a core's DMA"
        ),
        pytest.param([push(0), Operation(Opcode.LOADPDI), DESCRIPTOR], [], id="another image of the device"),
        pytest.param([write(0x1D214 + (9 << 25), 0)] * 9, [], id="no such column"),
        pytest.param([], [], id="nothing at all"),
    ],
)
def test_a_stream_is_followed_operation_by_operation(operations, found):
    assert lint(operations) == found


def test_what_is_found_is_said_once_for_each_channel_with_the_oldest_task_and_a_remedy():
    (finding,) = findings(hazards(tw.txn.Stream.of(HEADER, [push(n, token=False) for n in range(8)]), NPU2))
    assert finding.hazard.text(NPU2) == (
        "push of BD 4 on shim tile (0, 0) MM2S 0 may be dropped: "
        "its queue may hold 4 tasks already, none of them awaited"
    )
    assert list(finding.notes()) == [
        (0, "the oldest of them, BD 0, is pushed here"),
        (
            4,
            "await one of these tasks before this push, or move some of them to another channel; "
            "so far there is no token to wait for (issue_token)",
        ),
        (4, "there are 3 more places like this one on this channel"),
    ]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["in", "out", "more"]), st.integers(0, 5), st.booleans()),
        st.sampled_from(["in", "out"]),
    ),
    max_size=14,
)


def source(steps) -> str:
    lines = []
    for step in steps:
        if isinstance(step, str):
            lines.append(f"aiex.npu.dma_wait {{symbol = @{step}}}")
        else:
            name, bd, token = step
            attributes = f"id = {bd} : i64, issue_token = {str(token).lower()}, metadata = @{name}"
            lines.append(f"aiex.npu.dma_memcpy_nd(%a[0,0,0,0][1,1,1,64][0,0,0,1]) {{{attributes}}} : memref<64xi32>")
    body = "\n".join(lines)
    return f"""aie.device(npu2) {{
      %shim = aie.tile(0, 0)
      aie.shim_dma_allocation @in(%shim, MM2S, 0)
      aie.shim_dma_allocation @out(%shim, S2MM, 0)
      aie.shim_dma_allocation @more(%shim, MM2S, 1)
      aie.runtime_sequence @s(%a: memref<64xi32>) {{
        {body}
      }}
    }}"""


@settings(max_examples=20)
@given(STEPS)
def test_the_lint_of_a_program_and_of_its_words_say_the_same(steps):
    text = source(steps)
    said = []
    for lowering in (("tilewright-lint-queue-depth",), (*GUARDED_LOWERING, "tilewright-lint-queue-depth")):
        with collect() as found:
            design = compile_text(text, "s.mlir", lowering)
        said.append([(str(each.severity), each.text) for each in found])
    stream = tw.txn.decode(design.txn("s"))
    of_words = findings(hazards(stream, NPU2))
    severities = {True: "warning", False: "remark"}
    assert said[0] == said[1] == [(severities[f.is_likely], f.hazard.text(NPU2)) for f in of_words]


def test_every_push_beyond_the_depth_of_the_queue_is_a_place():
    for extra in range(4):
        found = findings(hazards(tw.txn.Stream.of(HEADER, [push(0)] * (TASK_QUEUE_DEPTH + extra)), NPU2))
        assert [each.places for each in found] == ([extra] if extra else [])


def stored(path: Path, operations: Sequence[Operation]) -> str:
    path.write_bytes(tw.txn.encode(tw.txn.Stream.of(HEADER, operations)).tobytes())
    return str(path)


def test_the_command_names_file_and_operation_and_ends_with_1(tmp_path, capsys):
    fine, risky = stored(tmp_path / "a.bin", [push(0)]), stored(tmp_path / "b.bin", [push(n) for n in range(5)])
    assert main(["txn", "lint", fine, risky]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{risky}: operation 4: warning: push of BD 4 on shim tile (0, 0) MM2S 0 may be dropped")
    assert lines[1] == f"{risky}: operation 0: note: the oldest of them, BD 0, is pushed here"
    assert main(["txn", "lint", fine]) == 0
    assert capsys.readouterr().out == ""


def test_what_is_unlikely_is_counted_and_shown_on_demand(tmp_path, capsys):
    path = stored(tmp_path / "a.bin", [push(0), sync(0, 0, 0, 1), DESCRIPTOR])
    assert main(["txn", "lint", path]) == 0
    assert capsys.readouterr().out.startswith(f"{path}: 1 more hazard is unlikely")
    assert main(["txn", "lint", "--all", path]) == 0
    assert f"{path}: operation 2: remark: BD 0 of shim tile (0, 0)" in capsys.readouterr().out


def test_machines_get_json(tmp_path, capsys):
    path = stored(tmp_path / "a.bin", [push(0), DESCRIPTOR])
    assert main(["txn", "lint", "--json", path]) == 1
    (finding,) = json.loads(capsys.readouterr().out)[path]
    assert finding | {"text": "", "notes": []} == {
        "rule": "descriptor-in-flight", "severity": "warning", "operation": 1, "tile": [0, 0], "channel": "MM2S 0",
        "text": "", "places": 1, "notes": [],
    }  # fmt: skip


def test_a_stream_for_an_unknown_device_is_refused(tmp_path, capsys):
    path = tmp_path / "a.bin"
    path.write_bytes(tw.txn.encode(tw.txn.Stream.of(tw.txn.Header(columns=77), [])).tobytes())
    assert main(["txn", "lint", str(path)]) == 1
    assert "describes no device that is known" in capsys.readouterr().err


OVERFLOW = source([("in", bd, False) for bd in range(5)])


@pytest.mark.parametrize("level, status, severity", [("off", 0, None), ("warn", 0, "warning"), ("error", 1, "error")])
def test_compile_lints_what_it_lowers(tmp_path, capsys, level, status, severity):
    path, out = tmp_path / "s.mlir", tmp_path / "out"
    path.write_text(OVERFLOW)
    assert main(["compile", str(path), "-o", str(out), f"--lint={level}"]) == status
    said = capsys.readouterr().err
    assert (f"s.mlir:11:1: {severity}: push of BD 4 on shim tile (0, 0) MM2S 0 may be dropped" in said) == bool(
        severity
    )
    assert out.exists() == (status == 0)
