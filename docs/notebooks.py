"""Runs the notebooks of docs/ from the top to their end and stores what their cells show.

python docs/notebooks.py            writes all of them
python docs/notebooks.py FILE...    writes these
"""

from __future__ import annotations

import ast
import io
import json
import linecache
import os
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DOCS = Path(__file__).parent
NOTEBOOKS = [DOCS / "tour.ipynb", *sorted((DOCS / "notebooks").glob("*.ipynb"))]


def main() -> None:
    for path in [Path(name) for name in sys.argv[1:]] or NOTEBOOKS:
        path.write_text(executed(path.read_text(encoding="utf-8")), encoding="utf-8")


def executed(text: str) -> str:
    """A notebook with what its cells show now; they share their names, as in a kernel."""
    notebook: dict[str, Any] = json.loads(text)
    names: dict[str, Any] = {"__name__": "__main__"}
    with TemporaryDirectory() as folder, chdir(folder):
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        for number, cell in enumerate(cells, 1):
            cell["execution_count"] = number
            cell["outputs"] = outputs("".join(cell["source"]), number, names)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def outputs(source: str, number: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    """What a cell prints, and what its last line is."""
    file = f"cell {number}"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # for messages that quote it
    body = ast.parse(source, file).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), file, "exec"), names)
        value = eval(compile(ast.Expression(last.value), file, "eval"), names) if last else None
    shown = (
        [{"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())}] if printed.getvalue() else []
    )
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines(value._repr_html_())
        shown.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return shown


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    main()
