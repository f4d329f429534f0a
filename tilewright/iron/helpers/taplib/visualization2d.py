"""Pictures of access patterns: SVG or HTML with arrows and numbers, or plain PNG; nothing has to be installed."""

from __future__ import annotations

import sys
import warnings
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

import numpy as np

from tilewright.iron.helpers.taplib.raster import Pixels, coloured, draw_line, enlarged, png
from tilewright.iron.helpers.taplib.tap import NOT_ACCESSED, Accesses

MANY_ELEMENTS = 1024
"""With so many, arrows hide what they should show."""
_SIDE = 480
_MARGIN = 40
_INK = 0x20


def visualize_from_accesses(
    access_order_tensor: Accesses,
    access_count_tensor: Accesses | None,
    title: str = "Access Visualization",
    show_arrows: bool | None = None,
    file_path: str | None = None,
    show_plot: bool = True,
) -> None:
    """Write a picture of a pattern, and show it where this is a notebook."""
    if show_arrows and access_order_tensor.size >= MANY_ELEMENTS:
        warnings.warn(f"show_arrows not recommended for tensor sizes > {MANY_ELEMENTS} elements", stacklevel=3)
    arrows = access_order_tensor.size < MANY_ELEMENTS if show_arrows is None else show_arrows
    panels = list(_panels(access_order_tensor, access_count_tensor, arrows))
    # drawn only for a notebook: scripts ask for pictures all the same
    if show_plot and (display := sys.modules.get("IPython.display")) is not None:
        display.display(display.SVG(_svg(panels, title)))
    if file_path:
        _write(Path(file_path), panels, title)


def animate_from_accesses(
    access_order_tensors: Sequence[Accesses],
    access_count_tensors: Sequence[Accesses] | None,
    title: str = "Animated Access Visualization",
) -> Animation:
    """A picture for each pattern of a sequence."""
    if len(access_order_tensors) < 1:
        raise ValueError("At least one access order tensor is required.")
    if access_count_tensors is not None and len(access_count_tensors) < 1:
        raise ValueError("access_count_tensor should be None or requires at least one tensor")
    if access_count_tensors is not None and len(access_count_tensors) != len(access_order_tensors):
        raise ValueError("Number of access count tensors and number of access order tensors should be equal")
    counts = access_count_tensors or [None] * len(access_order_tensors)
    pictures = [
        _svg(list(_panels(order, count, False)), title)
        for order, count in zip(access_order_tensors, counts, strict=True)
    ]
    return Animation(pictures, max(400, 100 + 5 * len(pictures)))


@dataclass(frozen=True)
class Animation:
    """Pictures that follow each other, for a notebook or a page."""

    pictures: Sequence[str]
    interval_ms: int

    def to_jshtml(self) -> str:
        """HTML that shows one picture after the other; a slider stops it at any of them."""
        frames = "".join(
            f'<div class="frame"{"" if number == 0 else " hidden"}>{picture}</div>'
            for number, picture in enumerate(self.pictures)
        )
        last = len(self.pictures) - 1
        return (
            f'<div class="tap-animation"><div>{frames}</div>'
            f'<input type="range" min="0" max="{last}" value="0" aria-label="step">'
            "<script>(() => { const all = document.querySelectorAll('.tap-animation');"
            "const root = all[all.length - 1], bar = root.querySelector('input');"
            "const frames = root.querySelectorAll('.frame');"
            "const show = n => frames.forEach((frame, k) => frame.hidden = k !== n);"
            "let held = false; bar.oninput = () => { held = true; show(+bar.value); };"
            f"setInterval(() => {{ if (!held) {{ bar.value = (+bar.value + 1) % {last + 1};"
            f" show(+bar.value); }} }}, {self.interval_ms}); }})();</script></div>"
        )

    to_html5_video = to_jshtml
    _repr_html_ = to_jshtml  # what a notebook asks for

    def save(self, path: str | Path) -> None:
        Path(path).write_text(_page("Access patterns", self.to_jshtml()), encoding="utf-8")


@dataclass(frozen=True)
class _Panel:
    """One matrix of a picture."""

    caption: str
    pixels: Pixels
    path: list[tuple[int, int]]
    """Elements (column, row) with an arrow from each to the next."""


def _panels(order: Accesses, count: Accesses | None, arrows: bool) -> Iterator[_Panel]:
    yield _Panel("Access Order", coloured(order, order == NOT_ACCESSED), _path(order) if arrows else [])
    if count is not None:
        yield _Panel(f"Access Counts (max={count.max()})", coloured(count, count == 0), [])


def _path(order: Accesses) -> list[tuple[int, int]]:
    rows, columns = np.nonzero(order != NOT_ACCESSED)
    return [(int(columns[visit]), int(rows[visit])) for visit in np.argsort(order[rows, columns], kind="stable")]


def _write(path: Path, panels: Sequence[_Panel], title: str) -> None:
    # it is written all the same; the text is upstream's
    if path.exists():
        warnings.warn(f"Cannot save plot to {path}; file already exists", stacklevel=4)
    if path.suffix.lower() == ".png":
        path.write_bytes(_png(panels))
    else:
        picture = _svg(panels, title)
        page = path.suffix.lower() in (".html", ".htm")
        path.write_text(_page(title, picture) if page else picture, encoding="utf-8")


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><body>{body}</body></html>'
    )


def _cell(pixels: Pixels) -> float:
    """How wide an element is drawn."""
    return _SIDE / max(pixels.shape[:2])


def _svg(panels: Sequence[_Panel], title: str) -> str:
    parts = list[str]()
    top = _MARGIN
    for panel in panels:
        parts.append(f'<g transform="translate({_MARGIN} {top + _MARGIN:g})">{_panel(panel)}</g>')
        top += panel.pixels.shape[0] * _cell(panel.pixels) + 2 * _MARGIN
    width = _SIDE + 2 * _MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top:g}" width="{width}" '
        'font-family="sans-serif" font-size="12"><defs><marker id="tip" viewBox="0 0 6 6" refX="5" refY="3" '
        'markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0L6 3L0 6Z"/></marker></defs>'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="{width / 2}" y="24" text-anchor="middle">{escape(title)}</text>{"".join(parts)}</svg>\n'
    )


def _panel(panel: _Panel) -> str:
    cell = _cell(panel.pixels)
    height, width = panel.pixels.shape[:2]
    image = b64encode(png(panel.pixels)).decode()
    arrows = "".join(_arrow(a, b, cell) for a, b in pairwise(panel.path))
    return (
        f'<text x="0" y="-6">{panel.caption}</text>'
        f'<image width="{width * cell:g}" height="{height * cell:g}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{image}"/>'
        f'<text x="{width * cell:g}" y="-6" text-anchor="end">{height} x {width}</text>{arrows}'
    )


def _arrow(start: tuple[int, int], end: tuple[int, int], cell: float) -> str:
    x1, y1, x2, y2 = ((place + 0.5) * cell for place in (*start, *end))
    points = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    # a white line below makes the arrow stand out from any colour
    return f'<line {points} stroke="white" stroke-width="3"/><line {points} stroke="black" marker-end="url(#tip)"/>'


def _png(panels: Sequence[_Panel]) -> bytes:
    drawn = [_drawn(panel) for panel in panels]
    width = max(picture.shape[1] for picture in drawn)
    gap = np.full((_MARGIN // 2, width, 3), 0xFF, np.uint8)
    rows = list[Pixels]()
    for picture in drawn:
        side = np.full((picture.shape[0], width - picture.shape[1], 3), 0xFF, np.uint8)
        rows += [np.concatenate([picture, side], axis=1), gap]
    return png(np.concatenate(rows[:-1]))


def _drawn(panel: _Panel) -> Pixels:
    factor = max(1, round(_cell(panel.pixels)))
    picture = enlarged(panel.pixels, factor)
    for start, end in pairwise([((column + 0.5) * factor, (row + 0.5) * factor) for column, row in panel.path]):
        draw_line(picture, start, end, _INK)
    return picture
