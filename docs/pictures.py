"""Takes the pictures that docs/report.md shows: `make pictures`, with Chromium installed."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "tests"), str(HERE.parent / "bench")]

from browser import Page, open_browser  # noqa: E402
from gemm_design import KERNELS, gemm_text  # noqa: E402

import tilewright as tw  # noqa: E402
from tilewright.report.page import page_html  # noqa: E402
from tilewright.sim.faults import Unfinished  # noqa: E402
from tilewright.sim.record import RunRecord  # noqa: E402


class Picture(NamedTuple):
    name: str
    report: str
    selector: str
    scheme: str = "light"
    before: str = ""
    """What is done on the page first."""


PICTURES = (
    Picture("report-array", "gemm", "#array"),
    Picture("report-timeline", "gemm", "#timeline", "dark"),
    Picture("report-stalls", "gemm", "#stalls"),
    Picture("report-tokens", "tokens", "#timeline"),
    Picture("report-sequence", "tokens", "#sequence"),
    Picture("report-hang", "hang", "#why", "dark"),
)
TEXTS = {
    "gemm": gemm_text(256, 256, 256),
    "tokens": (HERE / "examples" / "tokens.mlir").read_text(),
    "hang": (HERE / "examples" / "circle.mlir").read_text(),
}


def run_text(name: str, text: str) -> RunRecord:
    """Run the first sequence of a design on zeros."""
    from tilewright.cli.run_values import typed_arguments
    from tilewright.design import argument_names, compile_text

    design = compile_text(text, f"{name}.mlir")
    op = design.operation()
    arrays = typed_arguments(argument_names(op), [argument.type for argument in op.body.block.args], {}, {})
    try:
        return design.run(*arrays, kernels=KERNELS).record
    except Unfinished as error:
        assert error.record is not None
        return error.record


def take(page: Page, picture: Picture, folder: Path) -> None:
    page.prefer(color_scheme=picture.scheme, reduced_motion="reduce")
    page.open(folder / f"{picture.report}.html")
    page.evaluate(picture.before or "0")
    page.settle()
    page.screenshot(HERE / "images" / f"{picture.name}.webp", picture.selector)


def main() -> None:
    with TemporaryDirectory() as folder, open_browser(1180, 900) as page:
        for name, text in TEXTS.items():
            html = page_html(run_text(name, text), f"{name}.mlir", {f"{name}.mlir": text})
            Path(folder, f"{name}.html").write_text(html)
        for picture in PICTURES:
            take(page, picture, Path(folder))


if __name__ == "__main__":
    assert tw
    main()
