"""Takes the pictures of reports that pages in docs/ show: `make pictures`, with Chromium."""

from __future__ import annotations

import sys
from contextlib import chdir
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from typing import NamedTuple

DOCS = Path(__file__).parent
BENCH = DOCS.parent / "bench"
sys.path += [str(DOCS.parent / "tests"), str(BENCH)]

from browser import Page, open_browser  # noqa: E402
from gemm_design import gemm_text  # noqa: E402

from tilewright.cli.main import main as tilewright  # noqa: E402


class Picture(NamedTuple):
    name: str
    report: str
    selector: str
    scheme: str = "light"


PICTURES = (
    Picture("report-array", "gemm", "#array"),
    Picture("report-timeline", "gemm", "#timeline", "dark"),
    Picture("report-stalls", "gemm", "#stalls"),
    Picture("report-tokens", "tokens", "#timeline"),
    Picture("report-sequence", "tokens", "#sequence"),
    Picture("report-hang", "forgotten_consumer", "#why", "dark"),
    Picture("memcpy-timeline", "add_one", "#timeline"),
    Picture("iron-first", "first", "#array"),
    Picture("iron-passthrough", "passthrough", "#timeline"),
    Picture("iron-vector-add", "vector_add", "#array"),
    Picture("iron-transpose", "transpose", "#array"),
    Picture("iron-softmax", "softmax", "#array"),
    Picture("iron-gemv", "gemv", "#timeline"),
    Picture("gemm-array", "gemm_whole_array", "#array"),
    Picture("gemm-single-core", "gemm_single_core", "#timeline"),
    Picture("read-array", "gemm_128_64_256", "#array"),
    Picture("read-order", "gemm_128_64_256", "#order"),
)
ARGUMENTS = {
    "passthrough": ("length=5000",),
    "vector_add": ("tiles=8",),
    "transpose": ("rows=64", "columns=96"),
    "softmax": ("pairs=4",),
    "gemv": ("M=64", "K=96"),
    "gemm_whole_array": ("M=256", "K=256", "N=256"),
    "gemm_single_core": ("M=64", "K=96", "N=64"),
}
"""Numbers that sequences take."""


def write_reports(folder: Path) -> None:
    """Run the designs where they have short names: pages show what files are called."""
    (folder / "gemm.mlir").write_text(gemm_text(256, 256, 256))
    for path in (*DOCS.glob("examples/*.mlir"), *DOCS.glob("examples/*.py"), *DOCS.glob("examples/*.txn")):
        copy(path, folder)
    with chdir(folder):
        for name in dict.fromkeys(picture.report for picture in PICTURES):
            if Path(f"{name}.txn").is_file():
                tilewright(["txn", "dis", f"{name}.txn", "--html", f"{name}.html"])
                continue
            (design,) = (found for ending in ("py", "mlir") if (found := Path(f"{name}.{ending}")).is_file())
            numbers = [word for number in ARGUMENTS.get(name, ()) for word in ("--set", number)]
            tilewright(["run", str(design), *numbers, "--report", f"{name}.html"])


def take(page: Page, picture: Picture, folder: Path) -> None:
    page.prefer(color_scheme=picture.scheme, reduced_motion="reduce")
    page.open(folder / f"{picture.report}.html")
    page.settle()
    page.screenshot(DOCS / "images" / f"{picture.name}.webp", picture.selector)


def main() -> None:
    with TemporaryDirectory() as folder, open_browser(1180, 900) as page:
        write_reports(Path(folder))
        for picture in PICTURES:
            take(page, picture, Path(folder))


if __name__ == "__main__":
    main()
