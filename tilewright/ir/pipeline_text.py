"""Pass pipelines as text: `builtin.module(aie.device(some-pass{option=1}),cse)`, and options: `option=1 other=a,b`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from tilewright.ir.diagnostics import fail

QUOTES = {"'": "'", '"': '"', "{": "}"}


@dataclass
class PipelineElement:
    """A pass with its options, or, where `nested` is not None, the pipeline to run on the operations of that name."""

    name: str
    options: str = ""
    nested: list[PipelineElement] | None = None
    column: int = field(default=0, compare=False)


def parse_pipeline(text: str) -> PipelineElement:
    """Read what `--pass-pipeline=` takes: one pipeline with the name of the operation it runs on around it."""
    text = text.strip()
    anchor, parenthesis, rest = text.partition("(")
    if not parenthesis or not rest.endswith(")"):
        fail(None, "expected pass pipeline to be wrapped with the anchor operation type, e.g. 'builtin.module(...)'")
    body = rest[:-1]
    elements, end = _parse_elements(body, 0)
    if end < len(body):
        _fail_at(body, end, "encountered extra closing ')' creating unbalanced parentheses while parsing pipeline")
    return PipelineElement(anchor.strip(), nested=elements)


def _parse_elements(text: str, at: int) -> tuple[list[PipelineElement], int]:
    """Read `a,b{...},c(...)` from `at` up to a closing parenthesis or the end; also give where that is."""
    elements = list[PipelineElement]()
    if not text[at:].strip():
        return elements, len(text)
    while True:
        start = at
        while at < len(text) and text[at] not in ",{()":
            at += 1
        element = PipelineElement(text[start:at].strip(), column=start)
        elements.append(element)
        if text[at : at + 1] == "(":
            opened = at
            element.nested, at = _parse_elements(text, at + 1)
            if at >= len(text):
                _fail_at(text, opened, "expected ')' when parsing pass pipeline")
            at += 1
        elif text[at : at + 1] == "{":
            closed = _closing(text, at)
            if closed is None:
                _fail_at(text, at, "missing closing '}' while processing pass options")
            element.options, at = text[at + 1 : closed], closed + 1
        # Behind options or a nested pipeline; a name has been stripped.
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text) or text[at] == ")":
            return elements, at
        if text[at] != ",":
            _fail_at(text, at, "expected ',' after parsing pipeline")
        at += 1


def parse_options(text: str) -> list[tuple[str, str | None]]:
    """Read `name=value flag other={a b}` into names and values; a value loses the quotes or braces around it."""
    found = list[tuple[str, str | None]]()
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start = at
        while at < len(text) and not text[at].isspace() and text[at] != "=":
            at += 1
        name = text[start:at]
        if text[at : at + 1] != "=":
            found.append((name, None))
            continue
        start = at = at + 1
        while at < len(text) and not text[at].isspace():
            at = _skip(text, at)
        found.append((name, _unquote(text[start:at])))
    return found


def split_list(value: str) -> list[str]:
    """The items of a list option: `a,{b,c},d`."""
    items, start, at = list[str](), 0, 0
    while at < len(value):
        if value[at] == ",":
            items.append(value[start:at])
            start = at = at + 1
        else:
            at = _skip(value, at)
    return [_unquote(item) for item in [*items, value[start:]]]


def _skip(text: str, at: int) -> int:
    """The position after the character or the quoted piece that begins at `at`."""
    if text[at] not in QUOTES:
        return at + 1
    closed = _closing(text, at) if text[at] == "{" else text.find(text[at], at + 1)
    # A quote that is never closed is a character like others.
    return at + 1 if closed is None or closed < 0 else closed + 1


def _closing(text: str, opened: int) -> int | None:
    """Where the brace opened at `opened` is closed."""
    depth = 0
    for at in range(opened, len(text)):
        # Options of options: braces nest.
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return None


def _unquote(value: str) -> str:
    quoted = len(value) > 1 and QUOTES.get(value[0]) == value[-1]
    return value[1:-1] if quoted else value


def _fail_at(text: str, at: int, message: str) -> NoReturn:
    fail(None, f"MLIR Textual PassPipeline Parser:1:{at + 1}: error: {message}\n{text}\n{' ' * at}^")
