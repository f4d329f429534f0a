"""The page: whole, self-contained, well formed, and small whatever the run was."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from run_records import MEM, SHIM, Row, channel, record_of
from xdsl.dialects.builtin import UNKNOWN_LOC

from tilewright.device import DmaDirection
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.report.page import page_html
from tilewright.sim.hangs import OpenWait
from tilewright.sim.record import HostArgument
from tilewright.sim.trace import TraceEvent
from tilewright.txn.opcodes import Opcode
from tilewright.txn.stream import address_patch, sync, write

VOID = {"meta", "link", "input", "br"}
LARGEST = 5_000_000
BD_ADDRESS = 0x1D000
READER = channel(SHIM, DmaDirection.MM2S)


class Tags(HTMLParser):
    """Checks that everything that begins ends, and gathers what there is."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("src", "href") and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()} ends something else"


def tags_of(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    assert not tags.open
    return tags


def reading_rows() -> list[Row]:
    """The host's array is patched into a descriptor, and read."""
    return [
        (0, TraceEvent.OPERATION, 0, 0, Opcode.DDR_PATCH),
        (10, TraceEvent.OPERATION_END, 0, 0),
        (10, TraceEvent.OPERATION, 0, 1, Opcode.WRITE),
        (20, TraceEvent.PUSH, READER, 0, 1),
        (20, TraceEvent.OPERATION_END, 0, 1),
        (20, TraceEvent.TASK, READER, 0),
        (20, TraceEvent.BD, READER, 0),
        (28, TraceEvent.MOVE, READER, 0, 64),
        (48, TraceEvent.FLOW, READER, 0),
        (112, TraceEvent.BD_END, READER, 0, 64),
        (113, TraceEvent.TASK_END, READER, 0, 0),
    ]


OPERATIONS = [address_patch(BD_ADDRESS + 4, 0, 0), write(0x1D214, 0)]


def test_a_page_needs_nothing_from_elsewhere() -> None:
    tags = tags_of(page_html(record_of(reading_rows(), 120, OPERATIONS), "copy.mlir"))
    assert all(link.startswith(("#", "data:")) for link in tags.links)
    assert len(tags.ids) == len(set(tags.ids))
    assert {"array", "timeline", "stalls", "sequence", "buffers"} <= set(tags.ids)


def test_host_buffers_say_what_became_of_them() -> None:
    html = page_html(record_of(reading_rows(), 120, OPERATIONS), "copy.mlir")
    table = html[html.index('id="buffers-table"') :].split("</table>")[0]
    cells = ("a", "0x100000000", "256", "shim (0, 0) MM2S 0")
    assert all(f">{cell}</t" in table for cell in cells) and table.count(">256<") == 2, table


def test_names_cannot_break_out_of_the_page() -> None:
    name = "</script><img src=x onerror=alert(1)>"
    record = record_of(reading_rows(), 120, OPERATIONS, arguments=[HostArgument(0, name, 0, 4)])
    html = page_html(record, name)
    tags_of(html)
    assert "<img" not in html and html.count("<script") == html.count("</script>") == 2


def test_a_hang_shows_its_message_and_the_waits() -> None:
    error = Diagnostic(Severity.ERROR, "hang: the controller waits for a token of S2MM 0 of tile (0, 0)", UNKNOWN_LOC)
    who = ("the controller", "S2MM 0 of tile (0, 0)", "MM2S 0 of tile (0, 1)")
    waits = [
        OpenWait(who[0], 0, None, "it waits", 10, UNKNOWN_LOC, who[1], None),
        OpenWait(who[1], 8, SHIM, "it needs a word", 20, UNKNOWN_LOC, who[2], None),
        OpenWait(who[2], 24, MEM, "it needs lock 1 >= 1", 30, UNKNOWN_LOC, who[1], None),
    ]
    rows: list[Row] = [(0, TraceEvent.OPERATION, 0, 0, Opcode.TCT)]
    html = page_html(record_of(rows, 40, [sync(0, 0, 0, 0)], error=error, waits=waits), "stuck.mlir")
    tags_of(html)
    assert "hang: the controller waits" in html and 'class="edge back"' in html and "not done" in html
    assert all(html.count(name) >= 2 for name in who), "in the picture and in the table"


@pytest.mark.parametrize("descriptors", [2_000, 60_000])
def test_pages_stay_small_and_say_what_they_leave_out(descriptors: int) -> None:
    part, rows = channel(MEM, DmaDirection.S2MM), list[Row]()
    for start in range(0, 100 * descriptors, 100):
        rows += [
            (start, TraceEvent.BD, part, 1),
            (start + 10, TraceEvent.MOVE, part, 1, 50),
            (start + 50, TraceEvent.FLOW, part, 1),
        ]
        rows += [(start + 100, TraceEvent.BD_END, part, 1, 50)]
    html = page_html(record_of(rows, 100 * descriptors), "long.mlir")
    assert len(html) < LARGEST
    assert ("more than a page can hold" in html) == (descriptors > 20_000)
