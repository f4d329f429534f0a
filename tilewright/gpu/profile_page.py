"""A profile as one page of HTML: kernels under their roofs, a timeline of blocks and waves, and what lines cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10

from tilewright.device.gpu_targets import PEAKS
from tilewright.gpu.emulator.operation_kinds import KINDS
from tilewright.gpu.profile import GLOBAL, LEVELS, SHARED, KernelProfile, Profile, WaveTrack
from tilewright.gpu.profile_text import global_text, occupancy_text, roof_text, shared_text
from tilewright.ir.escapes import shown_json
from tilewright.report.markup import Markup, element, headings_of, join, percent, size, table, template
from tilewright.report.page import PageSection, fill_page
from tilewright.report.phases import LOOKS, Phase

EXECUTES, WAITS = Phase.COMPUTE, Phase.LOCK
"""As reports of NPUs colour them."""
MOST_LINES = 200
WIDTH, HEIGHT, LEFT, BOTTOM = 720, 360, 70, 44
"""Of the roofline, in pixels; the last two are for its scales."""
ROOF_COLOURS = ("compute", "kernel", "host", "cascade", "token", "room")
REMARK = "Counts are exact; steps are the emulator's, one for each operation of a wave: no time was measured. "


def page_html(profile: Profile, title: str) -> str:
    """The whole page."""
    page = _ProfilePage(profile)
    return fill_page(
        f"{title} · tilewright air",
        page.head(title),
        page.sections(),
        data=shown_json(page.data()),
        script=template("page.js"),
        command="tilewright air run --profile",
        remark=REMARK,
    )


class _ProfilePage:
    def __init__(self, profile: Profile):
        self.profile, self.kernels = profile, profile.kernels

    def head(self, title: str) -> Markup:
        facts = join(element("div", element("dt", what), element("dd", value)) for what, value in self._facts())
        lead = element("p", f"kernels on an emulated {self._chips()}", class_="lead")
        return join([element("h1", title), lead, element("dl", facts, class_="facts")])

    def _chips(self) -> str:
        return ", ".join(dict.fromkeys(kernel.target.chip for kernel in self.kernels)) or "GPU"

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "kernels", f"{len(self.kernels)}"
        yield "launches", f"{sum(kernel.launches.launches for kernel in self.kernels):,}"
        yield "operations of waves", f"{sum(kernel.launches.operations for kernel in self.kernels):,}"
        yield "flop", f"{sum(kernel.flops for kernel in self.kernels):,}"
        yield "global memory", size(sum(kernel.space(GLOBAL).bytes for kernel in self.kernels))
        yield "shared memory", size(sum(kernel.space(SHARED).bytes for kernel in self.kernels))

    def sections(self) -> Iterator[PageSection]:
        yield self._kernels()
        if any(kernel.flops and kernel.least_bytes for kernel in self.kernels):
            yield self._roofline()
        yield self._timeline()
        yield self._memory()
        yield self._operations()
        yield self._lines()

    def _kernels(self) -> PageSection:
        headings = headings_of("kernel", "launches#", "grid", "block", "occupancy", "global memory", "shared memory")
        rows = [
            [
                f"@{kernel.name}",
                f"{kernel.launches.launches:,}",
                " x ".join(map(str, kernel.launches.grid)),
                " x ".join(map(str, kernel.launches.block)),
                occupancy_text(kernel),
                global_text(kernel),
                shared_text(kernel),
            ]
            for kernel in self.kernels
        ]
        lead = "Occupancy is what registers, memory and threads of a block leave of a unit's waves."
        return PageSection("kernels", "Kernels", lead, table("Kernels", headings, rows, "kernels-table"))

    def _roofline(self) -> PageSection:
        lead = (
            "Each bar is a kernel: its right end is how much it computes for each byte if a cache keeps everything, "
            "its left end if there is none. The roofs are what the maker says of the product. Nothing here is a "
            "measurement: a kernel is at the roof above it at best."
        )
        headings = headings_of("kernel", "flop#", "least bytes#", "without a cache#", "bound")
        rows = [
            [f"@{k.name}", f"{k.flops:,}", f"{k.least_bytes:,}", f"{k.moved_bytes:,}", roof_text(k)]
            for k in self.kernels
        ]
        figure = element("figure", join(_rooflines(self.kernels)), class_="picture")
        shown = join([figure, table("Kernels under their roofs", headings, rows, "roofline-table")])
        return PageSection("roofline", "Roofline", lead, shown)

    def data(self) -> dict[str, object]:
        """What the script of the timeline needs."""
        tracks, groups, start = list[dict[str, object]](), list[str](), 0
        for kernel in self.kernels:
            for track in kernel.launches.tracks:
                group = f"@{kernel.name}, block {track.block}"
                if not groups or groups[-1] != group:
                    groups.append(group)
                name = f"wave {track.wave}, unit {track.unit}"
                tracks.append(
                    {"name": name, "group": len(groups) - 1, "kind": "wave", "spans": _spans(track, start), "about": {}}
                )
            start += kernel.launches.track_steps
        looks = [{"label": look.label, "kind": look.kind.value, "colour": look.colour} for look in LOOKS.values()]
        looks[EXECUTES]["label"], looks[WAITS]["label"] = "executes", "waits at a barrier"
        return {
            "cycles": start,
            "unit": "step",
            "clock": None,
            "overview": int(EXECUTES),
            "hint": "block (0, 0, 0)",
            "phases": looks,
            "groups": groups,
            "tracks": tracks,
            "tasks": [],
            "binCycles": None,
            "steps": [],
            "places": [],
        }

    def _timeline(self) -> PageSection:
        lead = (
            "Waves of the first blocks of each kernel's longest launch. In a step a wave does one operation; blocks go "
            "to units in their order, as soon as there is room. That is the emulator's order of things, not a GPU's "
            "time. Drag or scroll sideways to move, Ctrl and wheel to zoom."
        )
        return PageSection("timeline", "Timeline", lead, Markup(template("timeline.html")))

    def _memory(self) -> PageSection:
        headings = headings_of("kernel", "memory", "accesses of waves#", "bytes#", "served in#", "at the least#", "")
        rows = [
            [
                f"@{kernel.name}",
                level,
                *(f"{number:,}" for number in (found.accesses, found.bytes, found.served, found.least)),
                percent(found.efficiency),
            ]
            for kernel in self.kernels
            for level in LEVELS
            if (found := kernel.launches.traffic(level)).accesses
        ]
        lead = (
            "Global memory is served in transactions, shared memory in turns of its banks; what is over the least are "
            "lanes that do not access neighbours, or that meet in a bank."
        )
        return PageSection("memory", "Memory", lead, table("Accesses", headings, rows, "memory-table"))

    def _operations(self) -> PageSection:
        kinds = [kind for kind in KINDS if any(kernel.launches.kinds[kind] for kernel in self.kernels)]
        headings = headings_of("kernel", *(f"{kind}#" for kind in kinds), "lanes active#", "waits#")
        rows = list[list[str]]()
        for kernel in self.kernels:
            launches = kernel.launches
            shares = [launches.kinds[kind] / max(launches.operations, 1) for kind in kinds]
            waits = launches.waited_steps / max(launches.wave_steps, 1)
            numbers = [*shares, kernel.active_lanes, waits]
            rows.append([f"@{kernel.name}", *(percent(number) if number else "" for number in numbers)])
        lead = "Operations of the lowered program by what they do; compilers fuse and remove some of them."
        return PageSection("operations", "Operations", lead, table("Operations", headings, rows, "operations-table"))

    def _lines(self) -> PageSection:
        headings = headings_of(
            *("line", "source", "kernel", "operations#", "share#", "flop#", "global#", "transactions#"),
            *("at the least#", "shared#", "conflicts#"),
        )
        rows = [list(row) for kernel in self.kernels for row in self._rows(kernel)]
        lead = (
            f"Lines by the operations of waves, at most {MOST_LINES} of a kernel; conflicts are turns that banks lose."
        )
        return PageSection("lines", "Hot lines", lead, table("Hot lines", headings, rows, "lines-table"))

    def _rows(self, kernel: KernelProfile) -> Iterator[Sequence[str]]:
        for place, line in kernel.hot_lines()[:MOST_LINES]:
            parts = {space: line.space(space) for space in (GLOBAL, SHARED)}
            numbers = [
                *(line.flops, parts[GLOBAL].bytes, parts[GLOBAL].served, parts[GLOBAL].least),
                *(parts[SHARED].bytes, parts[SHARED].served - parts[SHARED].least),
            ]
            where = f"{place[0].rsplit('/', 1)[-1]}:{place[1]}" if place[1] else "no line"
            yield [
                where,
                element("code", self.profile.line_text(place)),
                f"@{kernel.name}",
                f"{line.operations:,}",
                percent(line.operations / max(kernel.launches.operations, 1)),
                *(f"{number:,}" if number else "" for number in numbers),
            ]


def _spans(track: WaveTrack, start: int) -> list[int]:
    """Gap, steps, phase and two zeros for each stretch, as the script of the timeline wants them."""
    made, before, gap = list[int](), 0, start + track.start
    for number, edge in enumerate(track.edges):
        phase = WAITS if number % 2 else EXECUTES
        if edge > before:
            made += [gap, edge - before, int(phase), 0, 0]
            gap = 0
        before = edge
    return made


def _rooflines(kernels: Sequence[KernelProfile]) -> Iterator[Markup]:
    """A picture for each chip."""
    for chip in dict.fromkeys(kernel.target.chip for kernel in kernels):
        yield Roofline([k for k in kernels if k.target.chip == chip and k.flops and k.least_bytes]).svg()


class Roofline:
    """Kernels of one chip over how much they compute for a byte; both scales are powers of ten."""

    def __init__(self, kernels: Sequence[KernelProfile]):
        self.kernels, self.peaks = kernels, PEAKS[kernels[0].target.chip]
        self.roofs = {roof.name: roof.tflops for kernel in kernels for roof in kernel.roofs}
        reach = [x for kernel in kernels for x in self._reach(kernel)]
        ridge = [tflops * 1000 / self.peaks.memory_gbs for tflops in self.roofs.values()]
        self.low, self.high = floor(log10(min(reach))) - 0.2, log10(max([*reach, *ridge])) + 0.6
        tops = [log10(tflops) for tflops in self.roofs.values()] or [0.0]
        self.top, self.base = max(tops) + 0.5, min(self._under(10**self.low), min(tops)) - 0.3

    def _reach(self, kernel: KernelProfile) -> tuple[float, float]:
        """Flop for a byte, without a cache and with a perfect one."""
        return kernel.flops / max(kernel.moved_bytes, kernel.least_bytes), kernel.flops / kernel.least_bytes

    def _under(self, intensity: float) -> float:
        """What memory allows, as a power of ten of Tflop/s."""
        return log10(intensity * self.peaks.memory_gbs / 1000)

    def x(self, intensity: float) -> float:
        return LEFT + (log10(intensity) - self.low) / (self.high - self.low) * (WIDTH - LEFT - 10)

    def y(self, power: float) -> float:
        return 10 + (self.top - power) / (self.top - self.base) * (HEIGHT - BOTTOM - 10)

    def svg(self) -> Markup:
        label = f"Roofline of {self.peaks.product}"
        view = f"0 0 {WIDTH} {HEIGHT}"
        parts = [*self._scales(), *self._roof_lines(), *self._bars()]
        return element("svg", element("title", label), *parts, viewBox=view, role="img", width=WIDTH, height=HEIGHT)

    def _scales(self) -> Iterator[Markup]:
        for power in range(-floor(-self.low), floor(self.high) + 1):
            x = self.x(10.0**power)
            yield _line(x, 10, x, HEIGHT - BOTTOM, "line")
            yield _text(x, HEIGHT - BOTTOM + 16, f"{10.0**power:g}", "middle")
        for power in range(-floor(-self.base), floor(self.top) + 1):
            yield _line(LEFT, self.y(power), WIDTH - 10, self.y(power), "line")
            yield _text(LEFT - 6, self.y(power) + 4, f"{10.0**power:g}", "end")
        yield _text((LEFT + WIDTH) / 2, HEIGHT - 8, "flop for a byte of global memory", "middle")
        yield _text(6, 20, "Tflop/s", "start")

    def _roof_lines(self) -> Iterator[Markup]:
        gbs, end = self.peaks.memory_gbs, 10**self.high
        top = max(self.roofs.values(), default=1.0)
        ridge = top * 1000 / gbs
        start = 10**self.low
        yield _line(self.x(start), self.y(self._under(start)), self.x(ridge), self.y(log10(top)), "move", 2)
        yield _text(self.x(start) + 8, self.y(self._under(start)) - 10, f"{self.peaks.product}, {gbs:g} GB/s", "start")
        for number, (name, tflops) in enumerate(self.roofs.items()):
            colour, y = ROOF_COLOURS[number % len(ROOF_COLOURS)], self.y(log10(tflops))
            yield _line(self.x(tflops * 1000 / gbs), y, self.x(end), y, colour, 2)
            yield _text(self.x(end) - 4, y - 5, f"{name}: {tflops:g} Tflop/s", "end")

    def _bars(self) -> Iterator[Markup]:
        for kernel in self.kernels:
            low, high = self._reach(kernel)
            roof = kernel.roofs[0].tflops if kernel.roofs else 10**self.top
            ridge = roof * 1000 / self.peaks.memory_gbs
            places = [low, *([ridge] if low < ridge < high else []), high]
            points = [(self.x(place), self.y(min(self._under(place), log10(roof)))) for place in places]
            title = f"@{kernel.name}: {low:.3g} to {high:.3g} flop/B; {roof_text(kernel)}"
            way = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
            pen = {"stroke": "var(--hot)", "stroke_width": "5", "stroke_linecap": "round", "fill": "none"}
            (x, y), name = points[-1], _text(points[-1][0] + 8, points[-1][1] + 16, f"@{kernel.name}", "start")
            end = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, fill="var(--hot)")
            yield element("g", element("title", title), element("path", d=way, **pen), end, name)


def _line(x0: float, y0: float, x1: float, y1: float, colour: str, width: float = 1) -> Markup:
    ends = {"x1": f"{x0:.1f}", "y1": f"{y0:.1f}", "x2": f"{x1:.1f}", "y2": f"{y1:.1f}"}
    return element("line", **ends, stroke=f"var(--{colour})", stroke_width=width)


def _text(x: float, y: float, content: str, anchor: str) -> Markup:
    return element("text", content, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, font_size=12, fill="var(--quiet)")
