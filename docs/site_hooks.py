"""Hooks of mkdocs: the README as the first page, notebooks as pages, and files outside of docs/ that pages link to."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
SOURCES = "sources"
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^( *```\w+) .*$", re.MULTILINE)
"""The beginning of code that tests compare with a file, whose name is behind the language."""
LANGUAGES = {".py": "python", ".mlir": "mlir", ".cpp": "cpp", ".h": "cpp", ".cc": "cpp"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages that are made of other files."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=LINK.sub(lambda link: _moved(link, "", "docs"), readme)))
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(notebook)
        text = notebook_page(Path(notebook.abs_src_path or "").read_text(encoding="utf-8"))
        files.append(File.generated(config, _page_of(notebook.src_uri), content=text))
    for path in sorted({path for file in files.documentation_pages() for path in _outside(file)}):
        files.append(File.generated(config, _source_page(path), content=source_page(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to what became pages, and fences as the site reads them."""
    here = posixpath.dirname(page.file.src_uri)

    def target(match: re.Match[str]) -> str:
        before, path, anchor, after = match[1], match[2], match[3] or "", match[4]
        outside = _outside_path(here, path)
        if outside is not None:
            path = posixpath.relpath(_source_page(outside), here or ".")
        elif path.endswith(".ipynb"):
            path = _page_of(path)
        return f"{before}{path}{anchor}{after}"

    return FENCE.sub(r"\1", LINK.sub(target, markdown))


def on_post_build(config: MkDocsConfig) -> None:
    """The list of versions, which the theme reads, and a first page that leads to this one."""
    site = Path(config.site_dir)
    found = sorted((path.name for path in site.parent.iterdir() if (path / "index.html").is_file()), reverse=True)
    rows = [{"version": name, "title": name, "aliases": []} for name in found]
    (site.parent / "versions.json").write_text(json.dumps(rows), encoding="utf-8")
    lead = (
        f'<!doctype html><meta http-equiv="refresh" content="0; url={site.name}/index.html"><title>tilewright</title>\n'
    )
    (site.parent / "index.html").write_text(lead, encoding="utf-8")


def source_page(path: str) -> str:
    """A file of the project as a page: Markdown as it reads, everything else as it stands."""
    text, head = (ROOT / path).read_text(encoding="utf-8"), "---\nsearch: {exclude: true}\n---\n"
    if path.endswith(".md"):
        here = posixpath.join("docs", posixpath.dirname(_source_page(path)))
        return head + LINK.sub(lambda link: _moved(link, posixpath.dirname(path), here), text)
    fence = "`" * max(4, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{head}# `{path}`\n\n{fence}{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n{fence}\n"


def notebook_page(text: str) -> str:
    """A notebook as a page: its texts, its code, and what that shows."""
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _cell(cell)) + "\n"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "text/html" in data:
            # A blank line would end what Markdown takes as HTML.
            yield "<div>" + re.sub(r"\n\s*\n", "\n", "".join(data["text/html"])) + "</div>"
        else:
            yield "```text\n" + "".join(output.get("text", data.get("text/plain", ""))).rstrip("\n") + "\n```"


def _moved(link: re.Match[str], there: str, here: str) -> str:
    """A link of a page that was in one folder of the project and is now in another."""
    before, path, anchor, after = link[1], link[2], link[3] or "", link[4]
    if "://" not in path:
        path = posixpath.relpath(posixpath.join(there, path), here)
    return f"{before}{path}{anchor}{after}"


def _outside(file: File) -> Iterator[str]:
    here = posixpath.dirname(file.src_uri)
    for match in LINK.finditer(file.content_string):
        path = _outside_path(here, match[2])
        if path is not None:
            yield path


def _outside_path(here: str, path: str) -> str | None:
    """A file that a page links to, from the root of the project, if it is no page of docs/."""
    if "://" in path:
        return None
    found = posixpath.normpath(posixpath.join("docs", here, path))
    is_page = found.startswith("docs/") and not found.endswith((".py", ".mlir", ".cpp"))
    return None if is_page or found.startswith("..") or not (ROOT / found).is_file() else found


def _page_of(notebook: str) -> str:
    return notebook.removesuffix(".ipynb") + ".md"


def _source_page(path: str) -> str:
    return f"{SOURCES}/{path}.md"
