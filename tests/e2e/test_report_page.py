"""Pages of `tilewright run --report` in a real browser: nothing complains, everything is there, the timeline zooms."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import Page, find_browser, open_browser
from programs import COPY
from run_records import MEM, channel, record_of

from tilewright.cli.main import main
from tilewright.cli.show import SHIPPED
from tilewright.device import DmaDirection
from tilewright.report.page import page_html
from tilewright.sim.trace import TraceEvent

pytestmark = pytest.mark.skipif(find_browser() is None, reason="there is no Chromium")

WAIT = "aiex.npu.dma_wait {symbol = @out}"


def move(buffer: str, fifo: str, first: int, words: int, bd: int) -> str:
    place = f"%{buffer}[0, 0, 0, {first}][1, 1, 1, {words}][0, 0, 0, 1]"
    return f"aiex.npu.dma_memcpy_nd({place}) {{id = {bd} : i64, metadata = @{fifo}}} : memref<64xi32>"


TOKENS = [
    line
    for number in range(4)
    for line in (move("b", "out", 16 * number, 16, number), move("a", "in", 16 * number, 16, 4 + number), WAIT)
]
TOO_LITTLE = [move("a", "in", 0, 48, 0), move("b", "out", 0, 64, 1), WAIT]
FULL_VIEW = "window.tilewright.view.to - window.tilewright.view.from === window.tilewright.run.cycles"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A design with cores, one that waits for tokens, and one that hangs, as the command line reports them."""
    folder = tmp_path_factory.mktemp("reports")
    for name, body in (("tokens", TOKENS), ("hang", TOO_LITTLE)):
        (folder / f"{name}.mlir").write_text(COPY.replace("BODY", "\n".join(body)))
    runs = {
        "cores": ([str(SHIPPED), "--arg", "a=arange", "--set", "factor=3"], 0),
        "tokens": ([str(folder / "tokens.mlir")], 0),
        "hang": ([str(folder / "hang.mlir")], 1),
    }
    for name, (arguments, status) in runs.items():
        assert main(["run", *arguments, "--report", str(folder / f"{name}.html")]) == status
    return {name: folder / f"{name}.html" for name in runs}


def opened(page: Page, path: Path) -> Page:
    page.complaints.clear()
    page.open(path)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["cores", "tokens", "hang"])
def test_everything_is_there_and_nothing_complains(
    page: Page, reports: dict[str, Path], name: str, scheme: str
) -> None:
    page.prefer(color_scheme=scheme, reduced_motion="reduce")
    opened(page, reports[name])
    assert page.complaints == []
    assert page.evaluate("document.querySelectorAll('svg.array .tile').length") == 6
    assert page.evaluate("document.querySelectorAll('#tiles-table tbody tr, #steps-table tbody tr').length") > 10
    assert page.evaluate("document.querySelectorAll('#sections a').length") == page.evaluate(
        "document.querySelectorAll('main > section').length"
    )
    assert colours_drawn(page) > 5
    is_dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 20, 27)"
    assert is_dark == (scheme == "dark")


def colours_drawn(page: Page) -> int:
    """How many colours the timeline has; an empty canvas has one."""
    page.settle()
    return page.evaluate(
        "(c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)"
        "(document.getElementById('tracks'))"
    )


def shown(page: Page) -> tuple[int, int]:
    """The first and the last cycle in view."""
    data = page.evaluate("(d => [d.from, d.to])(document.getElementById('viewport').dataset)")
    return int(data[0]), int(data[1])


def test_keys_zoom_move_and_choose(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["cores"]).evaluate("document.getElementById('viewport').focus()")
    page.settle()
    whole = shown(page)
    page.press("+")
    page.press("+")
    near = shown(page)
    assert whole[0] < near[0] < near[1] < whole[1]
    page.press("ArrowRight")
    later = shown(page)
    assert later[0] > near[0] and later[1] - later[0] == pytest.approx(near[1] - near[0], abs=1)
    page.press("-")
    assert shown(page)[1] - shown(page)[0] > near[1] - near[0]
    page.press("0")
    assert shown(page) == whole and page.evaluate(FULL_VIEW)
    for key in ("ArrowDown", "ArrowDown", "n"):
        page.press(key)
    assert "shim (0, 0) S2MM 0" in page.evaluate("document.getElementById('selection').textContent")
    page.press("Enter")
    assert shown(page)[1] - shown(page)[0] < whole[1] - whole[0]
    assert page.complaints == []


def test_buttons_and_boxes_do_what_they_say(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["cores"])
    page.settle()
    whole = shown(page)
    page.evaluate("document.querySelector('[data-do=in]').click()")
    page.settle()
    assert shown(page)[1] - shown(page)[0] < whole[1] - whole[0]
    rows = page.evaluate("window.tilewright.view.rows.length")
    page.evaluate("document.getElementById('show-locks').click()")
    assert page.evaluate("window.tilewright.view.rows.length") > rows
    page.evaluate(
        "(f => { f.value = 'MM2S'; f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))"
    )
    names = page.evaluate("window.tilewright.view.rows.filter(r => r.track).map(r => r.track.name)")
    assert names and all("MM2S" in name for name in names)


def test_a_long_wait_can_be_shown(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["cores"])
    where = "document.querySelector('#longest-table [data-track]')"
    start, end = page.evaluate(f"[+{where}.dataset.from, +{where}.dataset.to]")
    page.evaluate(f"{where}.click()")
    page.settle()
    assert shown(page)[0] <= start < end <= shown(page)[1]
    assert "waits for" in page.evaluate("document.getElementById('selection').textContent")


def test_a_tile_can_be_chosen_with_the_keyboard(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["cores"]).evaluate("document.querySelector('[data-tile=\"0,3\"]').focus()")
    page.press("Enter")
    assert page.evaluate("document.activeElement.id") == "viewport"
    track = page.evaluate("window.tilewright.run.tracks[window.tilewright.view.track].tile")
    assert track == [0, 3]


def test_the_bars_of_a_track_are_also_a_table(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["tokens"]).evaluate("document.getElementById('bars-box').open = true")
    page.settle()
    page.settle()
    assert page.evaluate("document.querySelectorAll('#bars tr').length") > 10


def test_a_hang_is_a_picture_and_a_message(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["hang"])
    assert "hang: the controller waits for a token" in page.evaluate("document.querySelector('.message').textContent")
    boxes = page.evaluate("[...document.querySelectorAll('svg.waits .wait .name')].map(t => t.textContent)")
    assert boxes[0] == "the controller" and boxes[-1] == "most likely cause" and len(boxes) >= 3
    assert page.evaluate("document.querySelectorAll('#waits-table tbody tr').length") >= 2


def test_a_hang_has_moved_what_it_moved(page: Page, reports: dict[str, Path]) -> None:
    """Descriptors that never ended count as far as they came: 48 words in, and as many out."""
    opened(page, reports["hang"])
    facts = dict(
        page.evaluate("[...document.querySelectorAll('.facts div')].map(d => [...d.children].map(c => c.textContent))")
    )
    assert facts["host traffic"] == f"{2 * 48 * 4} B" and float(facts["bytes per cycle"]) > 0
    rows = page.evaluate(
        "[...document.querySelectorAll('#buffers-table tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    assert [row[4:6] for row in rows] == [["192", "0"], ["0", "192"]]


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", ["cores", "tokens", "hang"])
def test_nothing_sticks_out(page: Page, reports: dict[str, Path], name: str, width: int) -> None:
    """The page is as wide as its window; what is wider scrolls by itself, and texts stay in the boxes around them."""
    with window(page, width):
        opened(page, reports[name])
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        outside = page.evaluate(
            "[...document.querySelectorAll('svg .wait')].filter(g => [...g.querySelectorAll('text')].some(t => "
            "t.getBoundingClientRect().right > g.querySelector('rect').getBoundingClientRect().right)).length"
        )
        assert outside == 0
        spilled = page.evaluate(
            "[...document.querySelectorAll('main p, main pre, main h1, main dd, main dt, main label, nav')]"
            ".filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'visible').length"
        )
        assert spilled == 0


@contextmanager
def window(page: Page, width: int) -> Iterator[None]:
    def resize(width: int) -> None:
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    resize(width)
    yield
    resize(1280)


def test_the_theme_can_be_chosen(page: Page, reports: dict[str, Path]) -> None:
    page.prefer(color_scheme="light", reduced_motion="reduce")
    opened(page, reports["cores"])
    seen = list[str]()
    for theme in ("dark", "light", ""):
        page.evaluate(
            f"(t => {{ t.value = '{theme}'; t.dispatchEvent(new Event('change')); }})(document.getElementById('theme'))"
        )
        page.settle()
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        pixel = page.evaluate(
            "[...document.getElementById('tracks').getContext('2d').getImageData(2, 2, 1, 1).data].join()"
        )
        seen.append(f"{ground} {pixel}")
    assert seen == ["rgb(16, 20, 27) 23,29,39,255", *["rgb(246, 247, 249) 255,255,255,255"] * 2]


def test_tables_can_be_searched(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["cores"])
    search(page, "MEM s2mm")
    rows = "[...document.querySelectorAll('main tbody tr:not(.source)')].filter(r => !r.hidden)"
    shown = page.evaluate(f"{rows}.map(r => r.textContent.toLowerCase())")
    assert shown and [row for row in shown if not ("s2mm" in row and "mem" in row)] == []
    assert page.evaluate("document.getElementById('found').textContent") == f"{len(shown)} rows"
    page.press("Enter")
    assert page.evaluate("document.querySelectorAll('tr.hit').length") == 1
    search(page, "")
    assert page.evaluate(f"{rows}.length") > len(shown)
    assert page.evaluate("document.querySelectorAll('tr[hidden], .tile.dim').length") == 0


def search(page: Page, words: str) -> None:
    put = f"s.focus(); s.value = {words!r}; s.dispatchEvent(new Event('input'));"
    page.evaluate(f"(s => {{ {put} }})(document.getElementById('search'))")


def test_tables_and_pictures_can_be_taken_away(page: Page, reports: dict[str, Path]) -> None:
    """Every table has a button for CSV, every picture one for SVG; the files say what the page does."""
    opened(page, reports["cores"])
    tables, pictures = (
        page.evaluate(f"document.querySelectorAll('{what}').length") for what in ("main table", "figure svg")
    )
    assert page.evaluate("document.querySelectorAll('caption button.save').length") == tables > 3
    assert page.evaluate("document.querySelectorAll('figure button.save').length") == pictures == 1
    text = page.evaluate("(t => t.csv(t.tableRows(document.getElementById('stalls-table'))))(window.tilewrightTools)")
    rows = list(csv.reader(text.splitlines()))
    assert rows[0][0] == "at" and "cores" in rows[0][-1] and len({len(row) for row in rows}) == 1
    picture = ElementTree.fromstring(
        page.evaluate("window.tilewrightTools.svgText(document.querySelector('figure svg'))")
    )
    paint = {element.get(what) for element in picture.iter() for what in ("fill", "stroke")}
    assert len(paint) > 8 and not any(
        word in (colour or "") for colour in paint for word in ("var(", "oklab", "color(")
    )
    timeline = ElementTree.fromstring(page.evaluate("window.tilewright.timelineSvg()"))
    assert sum(1 for _ in timeline.iter("{http://www.w3.org/2000/svg}rect")) > 100
    bars = list(csv.DictReader(page.evaluate("window.tilewright.timelineCsv()").splitlines()))
    assert {"controller", "core (0, 2) core", "shim (0, 0) S2MM 0"} <= {bar["track"] for bar in bars}
    assert all(int(bar["from cycle"]) < int(bar["to cycle"]) for bar in bars if bar["at"] != "lock value")


def test_cells_that_a_sheet_takes_for_formulas_are_text(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["cores"])
    assert (
        page.evaluate("window.tilewrightTools.csv([['=1+1', '-3', '-x', 'a,b', '\"']])")
        == '\'=1+1,-3,\'-x,"a,b",""""\n'
    )


def test_controls_have_names_for_those_who_do_not_see_them(page: Page, reports: dict[str, Path]) -> None:
    opened(page, reports["hang"])
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    wanted = {"button", "checkbox", "searchbox", "link", "application", "image", "table", "region"}
    found = [node for node in nodes if not node["ignored"] and node["role"]["value"] in wanted]
    assert {node["role"]["value"] for node in found} >= {"button", "checkbox", "searchbox", "link", "application"}
    assert all(node["name"]["value"] for node in found)


def test_a_page_of_many_events_opens_soon(page: Page, tmp_path: Path) -> None:
    descriptors, parts = 40_000, [channel(MEM, DmaDirection.S2MM, number) for number in range(6)]
    rows = np.concatenate([busy_rows(part, descriptors) for part in parts])
    record = record_of([], 100 * descriptors)
    html = page_html(replace(record, trace=rows[np.argsort(rows[:, 0], kind="stable")]), "long")
    path = tmp_path / "long.html"
    path.write_text(html)
    assert len(rows) > 900_000 and path.stat().st_size < 5_000_000
    page.complaints.clear()
    assert min(page.open(path) for _ in range(3)) < 2 and page.complaints == []
    assert "more than a page can hold" in page.evaluate("document.querySelector('.limit').textContent")
    assert colours_drawn(page) > 3


def busy_rows(part: int, descriptors: int) -> np.ndarray:
    """A channel that moves 50 words in every 100 cycles."""
    starts = 100 * np.arange(descriptors)
    steps = [(0, TraceEvent.BD, 0), (10, TraceEvent.MOVE, 50), (50, TraceEvent.FLOW, 0), (100, TraceEvent.BD_END, 50)]
    columns = [np.stack([starts + at, *(np.full(descriptors, x) for x in (e, part, 1, w))], 1) for at, e, w in steps]
    return np.stack(columns, axis=1).reshape(-1, 5)


def test_page_of_the_demo(page: Page, tmp_path: Path) -> None:
    """Its table of sizes is to be seen, and so is the rest."""
    path = tmp_path / "demo.html"
    sizes = ["128x64x64", "20x30x40"]
    assert main(["demo", *sizes, "--device", "npu1", "--columns", "1", "--report", str(path)]) == 0
    assert opened(page, path).complaints == []
    rows = page.evaluate("[...document.querySelectorAll('#sizes-table tbody tr')].map(row => row.innerText)")
    assert [row.split()[0] for row in rows] == sizes and all(row.endswith("yes") for row in rows)
    assert page.evaluate("document.querySelector('#sizes-table').checkVisibility()")
    assert page.evaluate("document.querySelectorAll('svg.array .tile').length") == 24
    assert page.evaluate("document.querySelectorAll('svg.array .tile.idle').length") == 18
    widths = page.evaluate("[...document.querySelectorAll('svg.array .box')].map(box => +box.getAttribute('width'))")
    assert sorted(set(widths)) == [44, 152], "columns where nothing is are there, but narrow"
    assert colours_drawn(page) > 5
