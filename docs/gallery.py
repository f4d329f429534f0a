"""The gallery of the site: runs of examples, each with the page that `tilewright run --report` writes about it."""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tilewright.cli.main import main as tilewright

EXAMPLES = Path(__file__).resolve().parent / "examples"


class Exhibit(NamedTuple):
    design: str
    title: str
    text: str
    picture: str
    numbers: tuple[str, ...] = ()

    @property
    def page(self) -> str:
        return f"gallery/{Path(self.design).stem}.html"

    @property
    def command(self) -> str:
        numbers = "".join(f" --set {number}" for number in self.numbers)
        return f"tilewright run docs/examples/{self.design}{numbers} --report {Path(self.page).name}"


EXHIBITS = (
    Exhibit(
        "first.py",
        "A first program",
        "Numbers go to one core and back. The array shows which channels and streams they take, the timeline that the"
        " core mostly waits: the host's memory is slower than it.",
        "iron-first",
    ),
    Exhibit(
        "forgotten_consumer.mlir",
        "A hang",
        "One stream goes to two tiles, and one of them never takes its share. The page begins with who waits for whom,"
        " as a list and on the array, down to the most likely cause.",
        "report-hang",
    ),
    Exhibit(
        "softmax.py",
        "Two cores that take turns",
        "Rows are split between two cores and joined again in a mem tile. Kernels have a colour of their own.",
        "iron-softmax",
        ("pairs=4",),
    ),
    Exhibit(
        "gemm_whole_array.py",
        "A product on the whole array",
        "Tiles of A go along the rows and those of B up the columns. The stalls say what a larger tile would buy.",
        "gemm-array",
        ("M=128", "K=128", "N=128"),
    ),
)


def page() -> str:
    """The page that leads to them, in Markdown."""
    parts = [
        "# Gallery of reports",
        "Each picture leads to the page that a run left behind, as it was written: it works offline, zooms, and names"
        " the lines of the program. [How to read one](report.md).",
    ]
    for exhibit in EXHIBITS:
        picture = f"[![{exhibit.title}](images/{exhibit.picture}.webp)]({exhibit.page})"
        parts += [f"## {exhibit.title}", exhibit.text, picture, f"```sh\n{exhibit.command}\n```"]
    return "\n\n".join(parts) + "\n"


def reports() -> dict[str, str]:
    """The pages of all runs, by where they belong."""
    with TemporaryDirectory() as folder, chdir(folder):
        return {exhibit.page: _report(exhibit) for exhibit in EXHIBITS}


def _report(exhibit: Exhibit) -> str:
    # Beside the page: it names files as the command does.
    copy(EXAMPLES / exhibit.design, exhibit.design)
    file, numbers = Path(exhibit.page).name, [word for number in exhibit.numbers for word in ("--set", number)]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        tilewright(["run", exhibit.design, *numbers, "--report", file])
    return Path(file).read_text(encoding="utf-8")
