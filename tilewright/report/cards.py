"""Small pieces of HTML for notebooks: each brings its style, which follows the notebook's theme, and needs no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.report.markup import Content, Heading, Markup, element, join, table, template

MOST_ROWS = 24


def card(title: Content, *contents: Content) -> str:
    """A box with a heading, with the style of all that can be in it."""
    colours = template("colours.css").split("*/", 1)[-1]
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
