"""HTML and SVG text: everything that comes from outside is escaped here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import NamedTuple

from tilewright.ir.escapes import visible_lines

MOST_ROWS = 24


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Content = str | int | float | None


def text(content: Content) -> Markup:
    """Any content as markup."""
    if isinstance(content, Markup):
        return content
    return Markup("" if content is None else escape(visible_lines(str(content))))


def join(parts: Iterable[Content]) -> Markup:
    return Markup("".join(text(part) for part in parts))


def element(name: str, *contents: Content, **attributes: Content) -> Markup:
    """An element; `class_` is its class, other underscores are hyphens, and attributes that are None are left out."""
    given = (
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    # always with an end tag, which HTML and SVG both understand
    return Markup(f"<{name}{''.join(given)}>{join(contents)}</{name}>")


def template(name: str) -> str:
    """A file that pages are made of."""
    return (files("tilewright.report") / "template" / name).read_text(encoding="utf-8")


class Heading(NamedTuple):
    """A column of a table."""

    title: str
    is_number: bool = False


def headings_of(*titles: str) -> list[Heading]:
    """Columns of a table; those of numbers have a `#` behind their titles."""
    return [Heading(title.rstrip("#"), title.endswith("#")) for title in titles]


def table(caption: str, headings: Sequence[Heading], rows: Iterable[Sequence[Content]], name: str = "") -> Markup:
    """A table whose rows begin with what they are about; too wide or too long a one scrolls by itself."""
    head = join(element("th", h.title, scope="col", class_="number" if h.is_number else None) for h in headings)
    body = join(element("tr", *_cells(headings, row)) for row in rows)
    parts = (element("caption", caption), element("thead", element("tr", head)), element("tbody", body))
    shown = element("table", *parts, id=name or None)
    return element("div", shown, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _cells(headings: Sequence[Heading], row: Sequence[Content]) -> Iterable[Markup]:
    for number, (heading, content) in enumerate(zip(headings, row, strict=True)):
        kind = "number" if heading.is_number else None
        yield element("th", content, scope="row") if number == 0 else element("td", content, class_=kind)


def disclosure(summary: str, *contents: Content) -> Markup:
    """Something that is folded away at first."""
    return element("details", element("summary", summary), *contents)


def percent(share: float) -> str:
    """A share as people read it: what is there is never 0 %."""
    return "< 1 %" if 0 < share < 0.01 else f"{share:.0%}".replace("%", " %")


def size(count: int) -> str:
    """Bytes with a unit."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"


# Cards are for notebooks: each brings its style, which follows the notebook's theme, and needs no more.


def card(title: Content, *contents: Content) -> str:
    """A box with a heading, with the style of all that can be in it."""
    colours = template("colours.css").split("*/", 1)[-1]
    # notebooks keep what is shown in their file: no more than it needs
    style = " ".join(template("inline.css").replace("<!-- colours -->", colours).split())
    return element("div", element("style", Markup(style)), element("b", title), *contents, class_="tilewright")


def facts_html(title: str, facts: Mapping[str, str]) -> str:
    """A thing with a few properties."""
    rows = join(element("tr", element("th", name, class_="quiet"), element("td", fact)) for name, fact in facts.items())
    return card(title, element("table", rows))


def listing_html(title: str, tables: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]]) -> str:
    """Things of several kinds, a table for each; of long ones the beginning."""
    parts = list[Markup]()
    for headings, rows in tables:
        parts.append(table("", [Heading(heading) for heading in headings], rows[:MOST_ROWS]))
        if len(rows) > MOST_ROWS:
            parts.append(element("div", f"and {len(rows) - MOST_ROWS} more", class_="quiet"))
    return card(title, *parts)
