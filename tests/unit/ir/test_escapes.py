"""Texts of programs inside other texts: nothing hides, nothing gets out."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tilewright as tw
from tilewright.cli.main import main
from tilewright.ir.escapes import comment_text, console_text, is_plain_word, python_string, shown_json, visible

HOSTILE = st.text(max_size=40) | st.text(st.sampled_from("\\/*?\n\r\"'<>#{}[]%\x1b\u202e\u2028\0 a"), max_size=30)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain text, größe, 漢字", "plain text, größe, 漢字"),
        ("two\nlines\r\t", "two\\nlines\\r\\t"),
        ("\x1b[31mred\x9b", "\\x1b[31mred\\x9b"),
        ("user\u202e}\u2066 // admin", "user\\u202e}\\u2066 // admin"),
        ("zero\u200bwidth\ufeff\u00ad", "zero\\u200bwidth\\ufeff\\xad"),
        ("filler\u3164, tag\U000e0041, selector\ufe0f", "filler\\u3164, tag\\U000e0041, selector\\ufe0f"),
        ("half\ud800", "half\\ud800"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(HOSTILE)
def test_no_control_or_format_character_is_left(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable() and not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown)


@given(HOSTILE)
def test_a_comment_holds_its_text(text: str) -> None:
    shown = comment_text(text)
    assert "\n" not in shown and "*/" not in shown and "/*" not in shown and "??" not in shown
    assert not shown.rstrip().endswith("\\")


@example("\x000")
@given(HOSTILE)
def test_a_string_of_python_is_one(text: str) -> None:
    literal = python_string(text)
    assert literal.isprintable() and ast.literal_eval(literal) == text


@example({"\x7f": ""})
@given(st.dictionaries(HOSTILE, HOSTILE | st.integers() | st.lists(HOSTILE)))
def test_json_that_is_shown_is_json_and_ends_no_script(value: dict[str, object]) -> None:
    text = shown_json(value)
    assert isinstance(json.loads(text), dict) and "<" not in text
    assert text.isprintable() and all(visible(key, keep="\n\r\t\0\x1b") for key in json.loads(text) if key)


@example("\\" * 3)
@given(HOSTILE)
def test_brackets_are_no_markup_on_the_console(text: str) -> None:
    from rich.text import Text

    shown = Text.from_markup(f"[bold]{console_text(text)}[/]", emoji=False)
    assert shown.plain.replace("\\", "") == visible(text).replace("\\", "")  # rich drops some of them
    assert len(shown.spans) <= 1, "nothing but the style around it"


@pytest.mark.parametrize(
    "text, plain", [("a.o", True), ("lib/a-1.o", True), ("a b", False), ("a;b", False), ("", False)]
)
def test_a_word_for_linkers(text: str, plain: bool) -> None:
    assert is_plain_word(text) == plain


WRONG = 'aie.device(npu2) {{ %a = aie.tile(99, 99) loc("{file}":3:4) }}'


def test_a_name_in_a_message_hides_nothing() -> None:
    with pytest.raises(tw.CompileError) as raised:
        tw.compile('aie.device(npu2) { aie.buffer(%"\u202e\x1b[2J") }\n')
    assert visible(str(raised.value), keep="\n\t") == str(raised.value)


def test_a_file_name_cannot_forge_a_diagnostic() -> None:
    text = WRONG.format(file="x.mlir:1:1: error: forged\\0Ay\\1B[2J\\E2\\80\\AE")
    with pytest.raises(tw.CompileError) as raised:
        tw.compile(text)
    first = str(raised.value).splitlines()[0]
    assert first.startswith("x.mlir:1:1: error: forged\\ny\\x1b[2J\\u202e:3:4: error: ")


@pytest.mark.parametrize("text", ["\x1b]0;title\x07", "\u202e", "\x9b31m", "\u2028"])
def test_what_a_terminal_would_obey_is_shown(text: str, tmp_path: Path) -> None:
    path = tmp_path / "in.mlir"
    path.write_text(f'module {{}} // {text}\n"{text}"')
    out = io.StringIO()
    with contextlib.redirect_stderr(out), contextlib.redirect_stdout(out):
        commands = ["opt", str(path)], ["opt", str(tmp_path / text)], ["compile", str(path), "-o", text], [text]
        assert [main(command) for command in commands] == [1, 1, 1, 2]
        assert main(["run", str(path), "--set", text]) and main(["show", str(path)]) and main(["opt", f"--{text}"])
    assert text not in out.getvalue() and visible(text) in out.getvalue()
