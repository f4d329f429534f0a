"""The site: built from docs/ and the README without a warning, every page and every link in it."""

from __future__ import annotations

import logging
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers import DOCS, ROOT
from mkdocs.commands.build import build
from mkdocs.config import load_config


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "1.0"
    logger = logging.getLogger("mkdocs")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder))
    complaints = list[str]()

    class Complaints(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            complaints.append(record.getMessage())

    logger.addHandler(handler := Complaints(logging.WARNING))
    try:
        build(config)
    finally:
        logger.removeHandler(handler)
    assert not complaints
    return folder


class Links(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, page: Path):
        super().__init__()
        self.targets, self.loaded, self.places = list[str](), list[str](), set[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        targets = [given[name] for name in ("href", "src") if given.get(name)]
        self.targets += targets
        if tag in ("script", "img") or (tag == "link" and given.get("rel") in ("stylesheet", "icon", "preconnect")):
            self.loaded += targets
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}


def test_every_page_and_notebook_is_in_it(site: Path) -> None:
    expected = {path.relative_to(DOCS).with_suffix("") for path in (*DOCS.glob("*.md"), *DOCS.rglob("*.ipynb"))}
    assert expected <= {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}


def test_links_lead_to_pages_and_places_that_are_there(site: Path) -> None:
    pages = {page.resolve(): Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    lost = set[str]()
    for page, links in pages.items():
        for link in links.targets:
            path, _, place = link.partition("#")
            if "://" in path or path.startswith(("mailto:", "data:")) or (not path and not place):
                continue
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if path.startswith(("..", ".")) and target == site.parent:
                continue
            if not target.exists() or (place and target in pages and place not in pages[target].places):
                lost.add(f"{page.name}: {link}")
    assert not lost
    assert sum(len(links.targets) for links in pages.values()) > 1000


def test_the_gallery_has_reports_of_runs(site: Path) -> None:
    reports = {page.stem: page.read_text(encoding="utf-8") for page in (site / "gallery").glob("*.html")}
    assert {"first", "forgotten_consumer", "softmax", "gemm_whole_array"} <= set(reports)
    assert "most likely cause" in reports["forgotten_consumer"]
    leads = Links(site / "gallery.html").targets
    assert {f"gallery/{name}.html" for name in reports} <= set(leads)


def test_lists_of_the_reference_are_lists(site: Path) -> None:
    page = (site / "reference.html").read_text(encoding="utf-8")
    assert "Args: -" not in page and page.count("<p>Args:</p>") > 20


def test_the_playground_says_where_python_comes_from(site: Path) -> None:
    """Nothing is loaded before someone asks for it."""
    page = (site / "playground.html").read_text(encoding="utf-8")
    assert 'data-pyodide="https://' in page and 'data-xdsl="xdsl==' in page
    assert {path.name for path in (site / "playground").iterdir()} == {
        *("playground.js", "python.js", "worker.js"),
        *("programs.json", "tilewright.zip"),
    }


def test_versions_are_listed_beside_it(site: Path) -> None:
    assert '"version": "1.0"' in (site.parent / "versions.json").read_text()
    assert "url=1.0/index.html" in (site.parent / "index.html").read_text()


def test_no_page_asks_other_hosts_for_fonts_or_scripts(site: Path) -> None:
    """A laptop without a network shows all of it."""
    loaded = [(page.name, target) for page in site.rglob("*.html") for target in Links(page).loaded]
    assert len(loaded) > 100
    assert not [where for where in loaded if "://" in where[1]]
