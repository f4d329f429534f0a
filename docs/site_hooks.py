"""Hooks of mkdocs: the README as the first page, notebooks as pages, the gallery, what the playground loads, and files
outside of docs/ that pages link to."""

from __future__ import annotations

import ast
import io
import json
import os
import posixpath
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
SOURCES = "sources"
PYODIDE = "https://cdn.jsdelivr.net/pyodide/v314.0.7/full/"
"""Where the playground gets Python from when it is started; PYODIDE in the environment names another place."""
PLAYGROUND = "playground.md"
IN_BROWSER = (".py", ".css", ".js", ".html", ".txt", ".json")
"""Files of the package that are of use there: nothing can be compiled."""
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^( *```\w+) .*$", re.MULTILINE)
"""The beginning of code that tests compare with a file, whose name is behind the language."""
ITEM, INNER = re.compile(r" *(- |\d+\. )"), re.compile(r"  (- |[A-Z]\w+:$)")
CALL = re.compile(r"^((?:<code>)?[\w.]+)\(.*\)((?:</code>)?)$", re.DOTALL)
"""A heading that is a function with its parameters."""
LANGUAGES = {".py": "python", ".mlir": "mlir", ".cpp": "cpp", ".h": "cpp", ".cc": "cpp"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Pages that are made of other files."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "index.md", content=LINK.sub(lambda link: _moved(link, "", "docs"), readme)))
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        files.remove(notebook)
        text = notebook_page(Path(notebook.abs_src_path or "").read_text(encoding="utf-8"))
        files.append(File.generated(config, _page_of(notebook.src_uri), content=text))
    gallery = runpy.run_path(str(ROOT / "docs" / "gallery.py"))
    files.append(File.generated(config, "gallery.md", content=gallery["page"]()))
    for path, report in gallery["reports"]().items():
        files.append(File.generated(config, path, content=report))
    files.append(File.generated(config, "playground/programs.json", content=playground_programs()))
    files.append(File.generated(config, "playground/tilewright.zip", content=playground_archive()))
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

    if page.file.src_uri == PLAYGROUND:
        markdown = markdown.replace("PYODIDE", os.environ.get("PYODIDE", PYODIDE)).replace("XDSL", xdsl_requirement())
    return FENCE.sub(r"\1", spaced_lists(LINK.sub(target, markdown)))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Names alone in the contents beside a page: what functions take is under their headings."""
    waiting = list(page.toc)
    while waiting:
        entry = waiting.pop()
        waiting += entry.children
        entry.title = CALL.sub(r"\1\2", entry.title)
    return html


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


def playground_programs() -> str:
    """The programs that the playground offers: the first line of each is its title."""
    rows = list[dict[str, str]]()
    for path in sorted((ROOT / "docs" / "playground" / "programs").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        title = ast.get_docstring(ast.parse(text)) or path.stem
        rows.append({"title": title, "source": text.partition("\n\n")[2]})
    return json.dumps(rows)


def playground_archive() -> bytes:
    """The package as it is, with what runs programs of the playground; always the same bytes for the same files."""
    docs, archive = ROOT / "docs", io.BytesIO()
    found = {f"tilewright/{path.relative_to(ROOT / 'tilewright')}": path for path in (ROOT / "tilewright").rglob("*")}
    found |= {"cell.py": docs / "playground" / "cell.py", "notebooks.py": docs / "notebooks.py"}
    with ZipFile(archive, "w", ZIP_DEFLATED) as file:
        for name, path in sorted(found.items()):
            if path.suffix in IN_BROWSER:
                file.writestr(ZipInfo(name), path.read_bytes(), ZIP_DEFLATED)
    return archive.getvalue()


def xdsl_requirement() -> str:
    """The version of xDSL that this package wants."""
    wanted: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return next(requirement for requirement in wanted if requirement.startswith("xdsl"))


def spaced_lists(markdown: str) -> str:
    """Lists as this reader of Markdown wants them: behind a blank line, and four columns deeper than their item."""
    lines, is_code = list[str](), False
    for line in markdown.split("\n"):
        is_code ^= line.lstrip().startswith("```")
        inner = INNER.match(line)
        if not is_code and inner:
            line = f"    {line[2:]}"
        begins = not is_code and (ITEM.match(line) or inner) and lines and lines[-1] and not ITEM.match(lines[-1])
        # Also before a line in an item that begins a list of its own, such as `Args:`.
        if begins or (inner and not is_code and line.endswith(":")):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


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
