"""Lint: pushes that may be dropped and descriptors rewritten in flight, in TXN streams and IR alike; other rules."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.cli.main import main
from tilewright.device import TASK_QUEUE_DEPTH, DmaDirection, model
from tilewright.device.bd import CoreBd, MemTileBd
from tilewright.device.hazards import findings
from tilewright.driver.compiled_design import GUARDED_LOWERING, compile_text
from tilewright.ir.diagnostics import collect
from tilewright.txn import Operation, block_write, mask_write, sync, write
from tilewright.txn.analysis import hazards
from tilewright.txn.lint import lint as lint_stream
from tilewright.txn.lint.register_checks import reach
from tilewright.txn.lint.rules import RULES
from tilewright.txn.opcodes import Opcode
from tilewright.txn.text import disassemble, model_of

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
    first = f"{risky}: operation 4 at byte 0x70: warning: push of BD 4 on shim tile (0, 0) MM2S 0 may be dropped"
    assert lines[0].startswith(first) and lines[0].endswith("[queue-overflow]")
    assert lines[1] == f"{risky}: operation 0 at byte 0x10: note: the oldest of them, BD 0, is pushed here"
    assert main(["txn", "lint", fine]) == 0
    assert capsys.readouterr().out == ""


def test_what_is_unlikely_is_counted_and_shown_on_demand(tmp_path, capsys):
    path = stored(tmp_path / "a.bin", [push(0), poll(IDLE, STATUS + 4), DESCRIPTOR])
    assert main(["txn", "lint", path]) == 0
    assert capsys.readouterr().out == f"{path}: 1 remark is not shown (--all shows them)\n"
    assert main(["txn", "lint", "--all", path]) == 0
    assert f"{path}: operation 2 at byte 0x44: remark: BD 0 of shim tile (0, 0)" in capsys.readouterr().out


def test_machines_get_json(tmp_path, capsys):
    path = stored(tmp_path / "a.bin", [push(0), DESCRIPTOR])
    assert main(["txn", "lint", "--json", path]) == 1
    (finding,) = json.loads(capsys.readouterr().out)[path]
    assert finding | {"text": "", "notes": []} == {
        "rule": "descriptor-in-flight", "severity": "warning", "operation": 1, "offset": 40, "tile": [0, 0],
        "channel": "MM2S 0", "text": "", "places": 1, "notes": [],
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


def found_by(rules: Sequence[Operation], header: tw.txn.Header = HEADER) -> list[tuple[str, str, int]]:
    """Rule, level and operation of everything that the lint says."""
    found = lint_stream(tw.txn.Stream.of(header, rules), NPU2)
    return [(each.rule.name, str(each.level), each.operation) for each in found]


WHOLE = block_write(0x1D000, [64, 0, 0, 0, 0, 0, 0, 1 << 25])
MEM_QUEUE = 0x1A0634  # of MM2S 0 in mem tile (0, 1)
MEM_BD = 0x1A0000
CORE_BD = 0x21D000
PADDING = [Operation(Opcode.NOOP)] * 20


@pytest.mark.parametrize(
    "operations, found",
    [
        pytest.param([write(9 << 25, 0)], [("no-such-tile", "error", 0)], id="a column that the device does not have"),
        pytest.param(
            [Operation(Opcode.MASKPOLL, address=6 << 20)], [("no-such-tile", "error", 0)], id="a row, in a poll"
        ),
        pytest.param([write(QUEUE + 1, 0)], [("unaligned-address", "error", 0)], id="a part of a word"),
        pytest.param([write(0x50000, 0)], [("reserved-register", "warning", 0)], id="no register there"),
        pytest.param(
            [block_write(0x20FFFC, [1, 2])], [("reserved-register", "warning", 0)], id="a block runs out of memory"
        ),
        pytest.param([write(0x340F8, 1)], [("read-only-register", "warning", 0)], id="a timer"),
        pytest.param([write(0x14000, 64)], [("reserved-bits", "warning", 0)], id="more than a lock can hold"),
        pytest.param([mask_write(0x14000, 64, 63)], [("value-outside-mask", "warning", 0)], id="beyond a mask"),
        pytest.param([write(0x1D210, 1)], [("reserved-bits", "remark", 0)], id="the enable bit of AIE1"),
        pytest.param([write(MEM_QUEUE, 48)], [("field-range", "error", 0)], id="a descriptor of 48 that is number 48"),
        pytest.param(
            [block_write(MEM_BD, [64, 0x20000 | 50 << 20 | 1 << 19, 0, 0, 0, 0, 0, 1 << 31])],
            [("field-range", "error", 0)],
            id="a next descriptor that is not there",
        ),
        pytest.param(
            [write(0x3F008, 1 << 31 | 40)], [("field-range", "error", 0)], id="a slave port that is not there"
        ),
        pytest.param([write(0x3F008, 1 << 30 | 7)], [("field-range", "error", 0)], id="an arbiter that is not there"),
        pytest.param([mask_write(0x3F008, 40, 0x7F)], [], id="a port of which only a part is known"),
        pytest.param(
            [block_write(CORE_BD, [0x3FFF << 14 | 2, 0, 0, 0, 0, 1 << 25])],
            [("outside-memory", "error", 0)],
            id="beyond a core's memory",
        ),
        pytest.param([block_write(CORE_BD, [0x3FFF << 14 | 1, 0, 0, 0, 0, 1 << 25])], [], id="its last word"),
        pytest.param(
            [block_write(MEM_BD, [1, 0, 0, 0, 0, 0, 0, 1 << 31])],
            [("outside-memory", "error", 0)],
            id="west of the first column",
        ),
        pytest.param(
            [block_write(MEM_BD, [0x5A00, 0, 0x01FE0000, 0x07F800FE, 0x78000000, 0, 0, 1 << 31])],
            [],
            id="words that are all padding",
        ),
        pytest.param([write(MEM_QUEUE, 24)], [("unreachable-descriptor", "error", 0)], id="the other half"),
        pytest.param([write(MEM_QUEUE + 8, 24)], [], id="the half of odd channels"),
        pytest.param([DESCRIPTOR, push(0)], [("invalid-descriptor", "error", 1)], id="not marked valid"),
        pytest.param([WHOLE, push(0)], [], id="marked valid"),
        pytest.param(
            [DESCRIPTOR, block_write(0x1D020, [64, 0, 0, 0, 0, 0, 0, 3 << 25]), push(1)],
            [("invalid-descriptor", "error", 2)],
            id="leads to one that is not",
        ),
        pytest.param([DESCRIPTOR, Operation(Opcode.LOADPDI), push(0)], [], id="another image of the device"),
        pytest.param(
            [tw.txn.address_patch(0x1D008, 0, 0)], [("patch-not-address", "error", 0)], id="a patch beside the address"
        ),
        pytest.param(
            [tw.txn.address_patch(0x1D004, 0, 0), WHOLE, push(0)],
            [("lost-patch", "warning", 0)],
            id="a patch that is overwritten",
        ),
        pytest.param(
            [
                WHOLE,
                tw.txn.address_patch(0x1D004, 0, 0),
                push(0),
                WAIT,
                WHOLE,
            ],
            [],
            id="a patch that was used",
        ),
        pytest.param([sync(0, 0, 1, 2)], [("no-such-channel", "error", 0)], id="a channel that is not there"),
        pytest.param(
            [sync(7, 0, 1, 0, columns=2)],
            [("no-such-channel", "error", 0), ("wait-without-token", "warning", 0)],
            id="a rectangle that leaves the device",
        ),
        pytest.param([push(0, token=False), WAIT], [("wait-without-token", "warning", 1)], id="a task without token"),
        pytest.param([push(0), push(1), WAIT, WAIT, WAIT], [("wait-without-token", "warning", 4)], id="one too many"),
        pytest.param(
            [Operation(Opcode.MASKPOLL, address=STATUS, value=3, mask=1)],
            [("endless-poll", "error", 0)],
            id="beyond a mask",
        ),
        pytest.param(
            [Operation(Opcode.MASKPOLL, address=STATUS, value=5 << 20, mask=7 << 20)],
            [("endless-poll", "error", 0)],
            id="a queue of five",
        ),
        pytest.param(
            [Operation(Opcode.MASKPOLL, address=QUEUE, value=1, mask=1)],
            [("endless-poll", "error", 0)],
            id="write-only",
        ),
        pytest.param(
            [Operation(Opcode.MASKPOLL, address=0x43C04, value=1, mask=1)], [], id="a lock request, as production asks"
        ),
        pytest.param([write(0x1D204, 0)], [("unfinished-transfer", "remark", 0)], id="nobody waits for the result"),
        pytest.param([write(0x1D204, 0), poll(IDLE, 0x1D220)], [], id="somebody polls for it"),
        pytest.param(
            [write(0x1D204, 0), Operation(Opcode.MASKPOLL, address=0x40604, value=1, mask=1)],
            [],
            id="somebody asks for the lock that it releases",
        ),
        pytest.param([write(0x1D204, 0), Operation(Opcode.MERGE_SYNC)], [], id="somebody waits for several tiles"),
        pytest.param([Operation(0x86)], [("unknown-operation", "remark", 0)], id="nobody knows"),
        pytest.param([push(0), DESCRIPTOR], [("descriptor-in-flight", "warning", 1)], id="rewritten at once"),
        pytest.param([push(0), *PADDING, DESCRIPTOR], [("descriptor-in-flight", "remark", 21)], id="rewritten late"),
        pytest.param(
            [write(QUEUE, 1 << 16), *PADDING, DESCRIPTOR], [("descriptor-in-flight", "warning", 21)], id="it runs twice"
        ),
    ],
)
def test_rules_find_what_they_say(operations, found):
    assert found_by(operations) == found


@pytest.mark.parametrize(
    "columns, level",
    [
        pytest.param(4, "warning", id="of eight that the array has, the header has four"),
        pytest.param(8, "error", id="the header has all that there are"),
    ],
)
def test_columns_beside_those_of_the_header(columns: int, level: str) -> None:
    """Streams of xdna-driver for partitions of eight columns have headers of four."""
    header = tw.txn.Header(device_generation=4, columns=columns)
    described = model_of(header)
    assert described is not None
    operations = [write(columns << 25 | QUEUE, 0), sync(columns, 0, 1, 0)]
    found = lint_stream(tw.txn.Stream.of(header, operations), described)
    assert [(it.rule.name, it.level) for it in found] == [("no-such-tile", level), ("no-such-channel", level)]


def test_every_rule_has_a_case_above():
    marks = [mark for test in (test_rules_find_what_they_say,) for mark in test.pytestmark]
    seen = {name for mark in marks for case in mark.args[1] for name, _, _ in case.values[1]}
    assert seen | {"queue-overflow"} == {*RULES}


def word_addresses(layout, words) -> list[int]:
    """The bytes that a descriptor's words are at, one by one; padding has none."""
    fields = layout.decode(words)
    start = fields["address"] + fields["iteration_current"] * fields["iteration_step"]
    found = []
    for left in range(fields["buffer_length"]):
        offset, is_real = 0, True
        for level in range(4):
            wrap, step = fields.get(f"d{level}_wrap", 0), fields.get(f"d{level}_step", 0)
            before, after = (fields.get(f"d{level}_zero_{side}", 0) for side in ("before", "after"))
            left, digit = divmod(left, before + wrap + after) if wrap else (0, left)
            is_real &= before <= digit and (not wrap or digit < before + wrap)
            offset += (digit - before) * step
            if not wrap:
                break
        found += [4 * (start + offset)] if is_real else []
    return found


@settings(max_examples=150)
@given(st.sampled_from([CoreBd, MemTileBd]), st.randoms(use_true_random=False))
def test_the_reach_of_a_descriptor_is_that_of_its_words(layout, random):
    values = {
        name: random.choice([field.limits[0], random.choice(field.limits[:8])])
        for name, field in layout.fields.items()
        if name.startswith(("d0", "d1", "d2", "d3", "iteration", "address"))
    }
    words = layout.encode(buffer_length=random.randrange(600), **values)
    first, end = reach(layout, np.array([words], dtype=np.int64).T)
    addresses = word_addresses(layout, words)
    assert (end > first) == bool(addresses)
    if addresses:
        assert (first, end) == (min(addresses), max(addresses) + 4)


@given(st.lists(st.integers(0, 7), max_size=8), st.integers(0, 30))
def test_a_finding_is_told_once_for_each_tile_with_its_places(columns, extra):
    operations = [write(0x340F8 + (column << 25), 1) for column in columns] * (1 + extra)
    found = lint_stream(tw.txn.Stream.of(HEADER, operations), NPU2)
    told = {each.tile[0]: each.places for each in found if each.tile}
    assert told == {column: columns.count(column) * (1 + extra) for column in columns}


def test_offsets_are_those_of_the_file(tmp_path, capsys):
    stream = tw.txn.Stream.of(HEADER, [push(0), write(0x340F8, 1)])
    words = tw.txn.encode(stream)
    hexadecimal = tmp_path / "a.txt"
    hexadecimal.write_text("\n".join(f"{word:08X}" for word in words.tolist()))
    text = tmp_path / "a.txn"
    text.write_text("\n".join(disassemble(stream)))
    for path, offset in ((stored(tmp_path / "a.bin", [*stream.operations]), 40), (hexadecimal, 90), (text, None)):
        assert main(["txn", "lint", "--json", str(path)]) == 1
        (finding,) = json.loads(capsys.readouterr().out)[str(path)]
        assert (finding["operation"], finding["offset"]) == (1, offset)


def test_continuous_integration_gets_a_status_and_sarif(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stored(tmp_path / "a b.bin", [push(0), DESCRIPTOR, write(0x1D204, 1)])
    assert main(["txn", "lint", "a b.bin", "--sarif", "-", "--fail-on", "error"]) == 0
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (log["version"], driver["name"], [rule["id"] for rule in driver["rules"]]) == (
        "2.1.0",
        "tilewright",
        [*RULES],
    )
    assert run["artifacts"] == [{"location": {"uri": "a%20b.bin"}}]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"] == {"uri": "a%20b.bin", "index": 0}
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("descriptor-in-flight", "warning"),
        ("unfinished-transfer", "note"),
    ]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"byteOffset": 40}
    for more, status in (
        (["--fail-on", "remark"], 1),
        ([], 1),
        (["--fail-on", "never"], 0),
        (["--ignore", "descriptor-in-flight"], 0),
    ):
        assert main(["txn", "lint", "a b.bin", *more]) == status
    capsys.readouterr()
    assert main(["txn", "lint", "a b.bin", "--ignore", "descriptor-inflight"]) == 2
    assert "did you mean 'descriptor-in-flight'?" in capsys.readouterr().err


def test_the_table_of_rules_is_printed(capsys):
    assert main(["txn", "lint", "--rules"]) == 0
    out = capsys.readouterr().out
    assert all(f"{rule.name} ({rule.level})\n  finds: " in out for rule in RULES.values())
    assert main(["txn", "lint", "--rules", "--json"]) == 0
    assert [rule["name"] for rule in json.loads(capsys.readouterr().out)] == [*RULES]
    assert main(["txn", "lint"]) == 2
