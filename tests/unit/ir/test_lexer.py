"""Spellings, places and kinds of tokens, checked against xDSL's own lexer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from tilewright.ir.lexer import END, Tokens, string_value

TOKENS = [
    *["%0", "%a.b$c-d_1", "%-x", "^bb0", "!t", "!dialect.type", "#map", "#0", "@f", '@"a b"', "bare.id", "_x", "x4"],
    *["0", "42", "007", "0x1F", "1.5", "1.", "2.0e-3", "1.E+4", '"s"', '""', '"a\\"b\\\\\\n\\t\\41"'],
    *["->", ":", ",", "...", "=", ">", "{", "(", "[", "<", "-", "+", "?", "}", ")", "]", "/", "*", "|", "{-#", "#-}"],
]


def lex(text: str) -> Tokens:
    return Tokens(Input(text, "test.mlir"))


@given(st.lists(st.tuples(st.sampled_from(TOKENS), st.sampled_from([" ", "\n", "\t\r\n", " // note: x\n"]))))
def test_tokens_are_those_of_xdsl(parts: list[tuple[str, str]]) -> None:
    text = "".join(token + space for token, space in parts)
    stock = MLIRLexer(Input(text, "test.mlir"))
    ours = lex(text)
    for index in range(len(ours.texts) - 1):
        theirs = stock.lex()
        token = ours.token(index)
        assert (token.kind, token.span.start, token.span.end) == (theirs.kind, theirs.span.start, theirs.span.end)
    assert ours.token(len(ours.texts) - 1).kind is stock.lex().kind is MLIRTokenKind.EOF


@pytest.mark.parametrize(
    "text, texts",
    [
        pytest.param("memref<4x?x8xi32>", "memref < 4 x ? x 8 x i32 >", id="dimensions"),
        pytest.param("vector<[4]x2xf32>", "vector < [ 4 ] x 2 x f32 >", id="scalable dimension"),
        pytest.param("tensor<*xf32>", "tensor < * x f32 >", id="unranked"),
        pytest.param("max x8 xor 0xor", "max x8 xor 0 x or", id="identifiers that begin with x"),
        pytest.param("%a#1:%b", "%a #1 : %b", id="result number"),
        pytest.param("a->b>=-1", "a -> b > = - 1", id="arrow and comparison"),
        pytest.param("// only a comment", "", id="comment"),
        pytest.param("a // x // y\n/ b", "a / b", id="slash"),
        pytest.param("0x 0xg 0xF", "0 x 0 x g 0xF", id="hexadecimal needs a digit"),
        pytest.param("1e5 1.e5", "1 e5 1.e5", id="exponent needs a dot"),
    ],
)
def test_spellings(text: str, texts: str) -> None:
    assert lex(text).texts == [*texts.split(), END]


@pytest.mark.parametrize(
    "text, offset, message",
    [
        pytest.param("a & b", 2, "unexpected character", id="character that is no token"),
        pytest.param("\0", 0, "unexpected character", id="NUL"),
        pytest.param("é", 0, "unexpected character", id="letter outside ASCII"),
        pytest.param("\udcff", 0, "invalid UTF-8", id="undecodable byte"),
        pytest.param("% = ", 0, "invalid SSA name", id="value without a name"),
        pytest.param('"abc', 4, "expected '\"' in string literal", id="string without end"),
        pytest.param('"ab\ncd"', 3, "expected '\"' in string literal", id="string over two lines"),
        pytest.param('"a\\q"', 2, "unknown escape in string literal", id="escape"),
        pytest.param("@ x", 1, "@ identifier expected to start with letter or '_'", id="symbol"),
        pytest.param('@"x', 3, "expected '\"' in string literal", id="quoted symbol"),
        pytest.param("..", 1, "expected three consecutive dots for an ellipsis", id="dots"),
    ],
)
def test_what_is_no_token_says_why_when_looked_at(text: str, offset: int, message: str) -> None:
    tokens = lex(text)
    bad = next(index for index in range(len(tokens.texts)) if tokens.texts[index][0] == "\0")
    with pytest.raises(ParseError) as error:
        tokens.token(bad)
    assert (error.value.span.start, error.value.msg) == (offset, message)


def test_lexing_can_go_on_inside_a_token() -> None:
    tokens = lex("tensor<0x10xi32> // >\n after")
    index = tokens.index_at(len("tensor<0"))
    assert tokens.texts[index - 1 :] == ["0", "x", "10", "x", "i32", ">", "after", END]


def test_lexing_can_go_on_inside_a_comment() -> None:
    tokens = lex("#d.raw<http://host> rest\nnext")
    index = tokens.index_at(len("#d.raw<http://host"))
    assert tokens.texts[index:] == [">", "rest", "next", END]


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f'%{i} = "op{i}"() : () -> i32 // {i}\n\n' for i in range(100))
    whole = lex(text)
    monkeypatch.setattr("tilewright.ir.lexer._CHUNK", 7)
    pieces = lex(text)
    assert (pieces.texts, pieces.starts) == (whole.texts, whole.starts)


@pytest.mark.parametrize(
    "literal, value",
    [
        pytest.param('"plain"', "plain", id="plain"),
        pytest.param(r'"\22\\\n\t\41"', '"\\\n\tA', id="escapes"),
        pytest.param(r'"\C3\A9"', "é", id="escaped UTF-8"),
        pytest.param(r'"\FF"', b"\xff", id="bytes that are no text"),
    ],
)
def test_string_value(literal: str, value: str | bytes) -> None:
    assert string_value(literal) == value
