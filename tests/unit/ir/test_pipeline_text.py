"""Splitting of inputs, and pipelines and options as text."""

from __future__ import annotations

import pytest

from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.pipeline_text import PipelineElement, parse_options, parse_pipeline, split_list
from tilewright.ir.split_input import split_input


@pytest.mark.parametrize(
    "text, parts",
    [
        pytest.param("a\nb\n", [(0, "a\nb\n")], id="no marker"),
        pytest.param("a\n// -----\nb", [(0, "a\n"), (2, "b")], id="two parts"),
        pytest.param("  // -----  \nb", [(0, ""), (1, "b")], id="white space around the marker"),
        pytest.param("// -----\n// -----\n", [(0, ""), (1, ""), (2, "")], id="empty parts"),
        pytest.param('"// -----"\n// ----- x\n', [(0, '"// -----"\n// ----- x\n')], id="not alone on its line"),
        pytest.param("a\r\n// -----\r\nb", [(0, "a\r\n"), (2, "b")], id="DOS line ends"),
        pytest.param("", [(0, "")], id="nothing"),
    ],
)
def test_split_input(text: str, parts: list[tuple[int, str]]) -> None:
    assert list(split_input(text)) == parts


def test_split_input_at_another_marker() -> None:
    assert list(split_input("a\n//====\nb", "//====")) == [(0, "a\n"), (2, "b")]


def test_pipeline_nests_and_keeps_options() -> None:
    found = parse_pipeline(" builtin.module( func.func( cse , canonicalize{ max-iterations=3 names={a,b} } ) , cse) ")
    inner = [PipelineElement("cse"), PipelineElement("canonicalize", " max-iterations=3 names={a,b} ")]
    assert found == PipelineElement(
        "builtin.module", nested=[PipelineElement("func.func", nested=inner), PipelineElement("cse")]
    )


def test_empty_pipeline() -> None:
    assert parse_pipeline("builtin.module()").nested == []


@pytest.mark.parametrize(
    "text, words",
    [
        ("cse", "expected pass pipeline to be wrapped with the anchor operation type"),
        ("builtin.module(cse", "expected pass pipeline to be wrapped with the anchor operation type"),
        ("builtin.module(cse))", "1:4: error: encountered extra closing ')' creating unbalanced parentheses"),
        ("builtin.module(cse{a=1)", "1:4: error: missing closing '}' while processing pass options"),
        ("builtin.module(func.func(cse)", "1:10: error: expected ')'"),
    ],
)
def test_pipeline_mistakes(text: str, words: str) -> None:
    with pytest.raises(DiagnosedError) as error:
        parse_pipeline(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "text, options",
    [
        ("", []),
        ("a=1  b=x,y", [("a", "1"), ("b", "x,y")]),
        ("flag other=2", [("flag", None), ("other", "2")]),
        ("a={x y} b='p q' c=\"r s\"", [("a", "x y"), ("b", "p q"), ("c", "r s")]),
        ("a={x={1 2}}", [("a", "x={1 2}")]),
        ("a=", [("a", "")]),
    ],
)
def test_options(text: str, options: list[tuple[str, str | None]]) -> None:
    assert parse_options(text) == options


def test_list_of_values() -> None:
    assert split_list("a,{b,c},'d e'") == ["a", "b,c", "d e"]
