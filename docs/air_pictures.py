"""Draws the pictures of docs/air.md: `python docs/air_pictures.py`. They are readable on light and on dark pages."""

from __future__ import annotations

from html import escape
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2328 }
  .code { font: 13px ui-monospace, monospace }
  .small { font-size: 12px }
  .middle { text-anchor: middle }
  rect { stroke: #59636e; stroke-width: 1.2; rx: 6 }
  .a { fill: #dbe9ff } .b { fill: #c8f0d8 } .c { fill: #fff0c2 } .d { fill: #ffdccb } .e { fill: #ecdcff }
  .n { fill: none } .page { fill: #ffffff; stroke: none }
  path { stroke: #0969da; stroke-width: 1.6; fill: none; marker-end: url(#tip) }
  .tip { fill: #0969da }
  .tie { stroke: #59636e; stroke-dasharray: 3 4; marker-end: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    rect { stroke: #8b949e }
    .page { fill: #0d1117 }
    .a { fill: #14305c } .b { fill: #12402a } .c { fill: #4a3c0c } .d { fill: #532a17 } .e { fill: #3a2460 }
    path { stroke: #4493f8 } .tip { fill: #4493f8 } .tie { stroke: #8b949e }
  }
"""
TIP = '<defs><marker id="tip" markerWidth="9" markerHeight="9" refX="7" refY="3.5" orient="auto">'
TIP += '<path class="tip" d="M0,0 L8,3.5 L0,7 z" style="stroke:none;marker-end:none"/></marker></defs>'


def box(x: int, y: int, width: int, height: int, kind: str) -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}"/>'


def text(x: int, y: int, words: str, kind: str = "") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(words)}</text>'


def line(points: str, kind: str = "") -> str:
    return f'<path class="{kind}" d="{points}"/>'


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    body = "\n".join(f"  {part}" for part in [TIP, box(0, 0, width, height, "page"), *parts])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
    return f"{head}\n<style>{STYLE}</style>\n{body}\n</svg>\n"


LEVELS = [
    ("air.rank (%r) in (%n=%c4)", "a process with a GPU of its own", "its symmetric heap is mapped by all"),
    ("air.launch (%bx, %by) in ...", "a grid: a block for each point", "in any order; device memory, L3"),
    ("air.segment", "one block, all of it at once", "shared memory or LDS, L2"),
    ("air.herd tile (%x, %y) in ...", "the waves of the block", "one wave is one processing element"),
    ("gpu.lane_id", "the lanes of a wave", "64 of them, or 32; registers, L1"),
]


def model() -> str:
    """What is inside of what: in AIR on the left, on a GPU on the right."""
    parts = [text(20, 24, "in the program"), text(420, 24, "on the machine")]
    for level, (code, place, more) in enumerate(LEVELS):
        x, y, width = 20 + 14 * level, 40 + 58 * level, 350 - 28 * level
        height = 330 - 64 * level
        parts += [box(x, y, width, height, "abcde"[level]), text(x + 12, y + 24, code, "code")]
        right, wide = 420 + 14 * level, 370 - 28 * level
        parts += [box(right, y, wide, height, "abcde"[level]), text(right + 12, y + 22, place)]
        parts += [text(right + 12, y + 40, more, "small")]
        parts += [line(f"M{x + width},{y + 20} L{right},{y + 20}", "tie")]
    return picture(810, 390, "the levels of AIR and what they are on a GPU", parts)


def heap() -> str:
    """Three heaps with the same offsets, and a store of rank 0 to that of rank 2."""
    parts: list[str] = []
    for rank in range(3):
        x = 20 + 260 * rank
        parts += [text(x + 110, 24, f"rank {rank}", "middle"), box(x, 36, 220, 70, "a"), text(x + 12, 58, "kernel")]
        parts += [box(x, 150, 220, 150, "n"), text(x + 12, 172, f"symmetric heap, bases[{rank}]", "small")]
        parts += [box(x + 10, 184, 200, 32, "b"), text(x + 20, 205, "%data", "code")]
        parts += [box(x + 10, 224, 200, 32, "c"), text(x + 20, 245, "%flags", "code")]
        parts += [text(x + 12, 284, "allocated alike on all ranks", "small")]
    parts += [text(32, 80, "air.translate %data, 0, 2", "code"), text(32, 98, "store to what it gives", "small")]
    parts += [line("M130,106 L130,132 L520,132 L520,200 L546,200")]
    parts += [text(142, 126, "to bases[2] + offset of %data", "small")]
    return picture(790, 320, "the symmetric heaps of three ranks", parts)


PICTURES = {"air-model.svg": model, "air-heap.svg": heap}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (IMAGES / name).write_text(draw(), encoding="utf-8")
