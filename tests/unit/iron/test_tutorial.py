"""The code in docs/iron.md is that of the examples, and does what the text says."""

import re
from pathlib import Path

import pytest

import tilewright as tw

DOCS = Path(__file__).parents[3] / "docs"
BLOCKS = re.findall(r"```python\n(.*?)```", (DOCS / "iron.md").read_text(encoding="utf-8"), re.DOTALL)
EXAMPLES = [path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("examples/*.py"))]


@pytest.mark.parametrize(
    "block", [block for block in BLOCKS if "tw." not in block], ids=lambda text: text.split("\n")[0]
)
def test_code_comes_from_an_example(block: str):
    assert any(block.strip("\n") in example for example in EXAMPLES)


def test_what_a_program_of_the_host_does(monkeypatch: pytest.MonkeyPatch):
    first, second = (block for block in BLOCKS if "tw." in block)
    monkeypatch.syspath_prepend(DOCS / "examples")
    monkeypatch.chdir(DOCS.parent)
    names: dict[str, object] = {"tw": tw}
    exec(first, names)
    assert getattr(names["result"], "cycles") == 2284  # noqa: B009, nothing says what it is
    assert list(names["b"]) == list(range(1, 257))  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(tw.RangeError, match=r"passthrough\.py:32:5: error: length is 6 but must be divisible by 4"):
        exec(second, names)
