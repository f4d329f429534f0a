"""xDSL's parser interface at the level of tokens, on spellings instead of token objects, worded as MLIR words errors.

Every method here keeps the contract of the method of the same name in `xdsl.parser`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NoReturn, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.parser import Parser as XdslParser
from xdsl.parser import ParserState
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

from tilewright.ir.lexer import (
    DIGITS,
    END,
    IDENTIFIER_STARTS,
    ReaderState,
    Tokens,
    integer_value,
    string_value,
    token_kind,
)
from tilewright.ir.locations import SourceFile

_T = TypeVar("_T")
_BOOLEANS = {"true": True, "false": False}
_MOST_PLAIN_DIGITS = 19  # any number with fewer fits 64 bits with sign
_MOST_NUMBER_LISTS = 1 << 10
_MAX_INTEGER_BITS = 64  # of numbers in custom syntax; those of attributes have their types


class SyntaxFault(ParseError):
    """A parse error with notes, each a text and the offset that it is about."""

    def __init__(self, span: Span[str], message: str, *notes: tuple[int, str]):
        super().__init__(span, message)
        self.notes = notes


class TokenParser(XdslParser):
    """The part of the reader that knows tokens, and nothing of what they mean."""

    tokens: Tokens
    source: SourceFile
    custom_op: str | None
    """The operation whose own syntax is being read; MLIR names it in errors which that syntax raises."""

    custom_op_offset: int
    """Where the name of that operation stands."""

    def __init__(self, ctx: Context, input: str | bytes, name: str = "<unknown>"):
        # Bytes that are not UTF-8 stay as surrogates, so that offsets and an error about them are possible.
        text = _encodable(input) if isinstance(input, str) else input.decode(errors="surrogateescape")
        self.tokens = Tokens(Input(text, name))
        self.source = SourceFile(text, name)
        self._number_lists: dict[tuple[str, ...], tuple[int, ...]] = {}
        self.custom_op = None
        self.custom_op_offset = 0
        self.ctx = ctx
        self.attribute_aliases = {}
        self.dialect_resources = set()
        self._parser_state = ReaderState(self.tokens)

    # Errors

    def raise_error(
        self, msg: str, at_position: Span[str] | int | None = None, end_position: int | None = None
    ) -> NoReturn:
        if at_position is None:
            self.tokens.check(self.tokens.index)
            at_position = self.tokens.starts[self.tokens.index]
        # xDSL gives the whole span of what is wrong; MLIR points at its first character.
        if isinstance(at_position, Span):
            at_position = at_position.start
        if msg.startswith("Expected "):
            msg = _as_mlir_words(msg)
        self._fail(at_position, f"custom op '{self.custom_op}' {msg}" if self.custom_op else msg)

    def _fail(self, offset: int, message: str, *notes: tuple[int, str]) -> NoReturn:
        # At the end of the file MLIR points at its last character, not behind it.
        if 0 < offset == self.tokens.input.len:
            offset -= 1
        raise SyntaxFault(Span(offset, offset, self.tokens.input), message, *notes)

    def _fail_expecting(self, message: str) -> NoReturn:
        """The current token is not what must come here: say so behind the last token, or at the token if it is none."""
        self.tokens.check(self.tokens.index)
        self._fail(self._offset_behind_last(), message)

    def _offset_behind_last(self) -> int:
        """Where MLIR points when something is missing: behind what stands before it, over blank lines and comments."""
        content = self.tokens.input.content
        start = self.tokens.starts[self.tokens.index]
        # The same at the end of the file: nothing is to be seen behind the last character.
        if self.tokens.texts[self.tokens.index] is END and start > 0:
            start -= 1
        offset = start
        while True:
            offset = len(content[:offset].rstrip(" \t")) if content[offset - 1 : offset] in " \t" else offset
            if offset == 0:
                return start
            if content[offset - 1] not in "\r\n":
                return offset
            offset -= 1
            line = max(content.rfind("\n", 0, offset), content.rfind("\r", 0, offset)) + 1
            # Found without looking for strings: a `//` inside one hides what is behind it, as it does in MLIR.
            comment = content.find("//", line, offset)
            offset = offset if comment == -1 else comment

    # Tokens

    @property
    def _current_token(self) -> MLIRToken:
        return self.tokens.token(self.tokens.index)

    @property
    def pos(self) -> int:
        return self.tokens.starts[self.tokens.index]

    def _resume_from(self, pos: int | ParserState[MLIRTokenKind, str]) -> None:
        if isinstance(pos, int):
            self.tokens.index = self.tokens.index_at(pos)
        else:
            self._parser_state = pos

    def _consume_token(self, expected_kind: MLIRTokenKind | None = None) -> MLIRToken:
        token = self.tokens.token(self.tokens.index)
        assert expected_kind is None or token.kind is expected_kind
        self.tokens.index += 1
        return token

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> MLIRToken | None:
        text = self.tokens.texts[self.tokens.index]
        return self._consume_token() if token_kind(text) is expected_kind else None

    def _parse_token(self, expected_kind: MLIRTokenKind, error_msg: str) -> MLIRToken:
        token = self._parse_optional_token(expected_kind)
        return self._fail_expecting(error_msg[:1].lower() + error_msg[1:].rstrip(".!")) if token is None else token

    def _parse_optional_token_in(self, expected_kinds: Iterable[MLIRTokenKind]) -> MLIRToken | None:
        return self._consume_token() if token_kind(self.tokens.texts[self.tokens.index]) in expected_kinds else None

    # Punctuation and keywords

    def parse_optional_characters(self, text: str) -> str | None:
        tokens = self.tokens
        if tokens.texts[tokens.index] == text:
            tokens.index += 1
            return text
        return None

    def parse_characters(self, text: str, context_msg: str = "") -> str:
        tokens = self.tokens
        if tokens.texts[tokens.index] != text:
            self._fail_expecting(f"expected '{text}'{context_msg}")
        tokens.index += 1
        return text

    # A token is its spelling here, so what xDSL keeps apart by kinds of tokens is one method.
    parse_optional_punctuation = parse_optional_characters  # pyright: ignore[reportAssignmentType]
    parse_punctuation = parse_characters  # pyright: ignore[reportAssignmentType]
    parse_optional_keyword = parse_optional_characters  # pyright: ignore[reportAssignmentType]

    def parse_keyword(self, keyword: str, context_msg: str = "") -> str:
        if self.parse_optional_keyword(keyword) is None:
            self.raise_error(f"expected '{keyword}'{context_msg}")
        return keyword

    def parse_optional_keyword_in(self, keywords: Collection[str]) -> str | None:
        text = self.tokens.texts[self.tokens.index]
        return self.parse_optional_characters(text) if text in keywords else None

    def parse_keyword_in(self, keywords: Collection[str], context_msg: str = "") -> str:
        choices = ", ".join(f"'{choice}'" for choice in sorted(keywords))
        keyword = self.parse_optional_keyword_in(keywords)
        return self.raise_error(f"expected one of {choices}{context_msg}") if keyword is None else keyword

    def parse_optional_identifier(self) -> str | None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text[0] not in IDENTIFIER_STARTS:
            return None
        tokens.index += 1
        return text

    def parse_identifier(self, context_msg: str = "") -> str:
        identifier = self.parse_optional_identifier()
        return self.raise_error(f"expected valid keyword{context_msg}") if identifier is None else identifier

    # Literals

    def parse_optional_boolean(self) -> bool | None:
        tokens = self.tokens
        value = _BOOLEANS.get(tokens.texts[tokens.index])
        if value is not None:
            tokens.index += 1
        return value

    def parse_boolean(self, context_msg: str = "") -> bool:
        value = self.parse_optional_boolean()
        return self.raise_error(f"expected boolean literal{context_msg}") if value is None else value

    def parse_optional_integer(self, allow_boolean: bool = True, allow_negative: bool = True) -> int | None:
        tokens = self.tokens
        negative = allow_negative and tokens.texts[tokens.index] == "-"
        index = tokens.index + negative
        text = tokens.texts[index]
        if text[0] in DIGITS and "." not in text:
            value = integer_value(text)
            # MLIR's parseInteger takes 64 bits, whatever the attribute that the number is for.
            if value.bit_length() > _MAX_INTEGER_BITS:
                self.raise_error("integer value too large", tokens.starts[index])
            tokens.index = index + 1
            return -value if negative else value
        if negative:
            tokens.index = index
            self._fail_expecting("expected integer literal after '-'")
        # xDSL reads `true` as 1 where its callers do not forbid it.
        boolean = self.parse_optional_boolean() if allow_boolean else None
        return None if boolean is None else int(boolean)

    def parse_optional_numbers(self) -> tuple[int, ...] | None:
        """`[1, 2]`: numbers without signs, as most lists are; nothing is read of others."""
        tokens = self.tokens
        texts, index = tokens.texts, tokens.index
        if texts[index] != "[" or texts[index + 1] is END:
            return None
        end = index + 2
        while texts[end] == "," and texts[end + 1] is not END:
            end += 2
        if texts[end] != "]":
            return None
        spellings = tuple(texts[index + 1 : end : 2])
        found = self._number_lists.get(spellings)
        if found is None:
            # others are read one by one, for their limits and errors
            if not all(text.isdecimal() and len(text) < _MOST_PLAIN_DIGITS for text in spellings):
                return None
            found = tuple(map(int, spellings))
            if len(self._number_lists) < _MOST_NUMBER_LISTS:
                self._number_lists[spellings] = found
        tokens.index = end + 1
        return found

    def parse_integer(self, allow_boolean: bool = True, allow_negative: bool = True, context_msg: str = "") -> int:
        value = self.parse_optional_integer(allow_boolean, allow_negative)
        return self.raise_error(f"expected integer value{context_msg}") if value is None else value

    def parse_optional_float(self, *, allow_negative: bool = True) -> float | None:
        tokens = self.tokens
        negative = allow_negative and tokens.texts[tokens.index] == "-"
        index = tokens.index + negative
        text = tokens.texts[index]
        if text[0] not in DIGITS or "." not in text:
            return None
        tokens.index = index + 1
        return -float(text) if negative else float(text)

    def parse_float(self, *, allow_negative: bool = True) -> float:
        value = self.parse_optional_float(allow_negative=allow_negative)
        return self.raise_error("expected floating point literal") if value is None else value

    def parse_optional_number(self, *, allow_boolean: bool = False) -> int | float | None:
        value = self.parse_optional_float()
        return self.parse_optional_integer(allow_boolean) if value is None else value

    def parse_number(self, allow_boolean: bool = False, context_msg: str = "") -> int | float:
        value = self.parse_optional_number(allow_boolean=allow_boolean)
        return self.raise_error(f"expected integer or floating point literal{context_msg}") if value is None else value

    def parse_optional_str_literal(self) -> str | None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text[0] != '"' or not isinstance(value := string_value(text), str):
            return None
        self._check_text(value)
        tokens.index += 1
        return value

    def _check_text(self, value: str) -> None:
        """Refuse the stand-ins for bytes that were not UTF-8 in the source: nothing could print them."""
        # Most texts are ASCII, for which the first test is the only one.
        if not value.isascii() and any("\udc80" <= character <= "\udcff" for character in value):
            self._fail(self.pos, "invalid UTF-8 in string literal")

    def parse_str_literal(self, context_msg: str = "") -> str:
        value = self.parse_optional_str_literal()
        return self.raise_error(f"expected string{context_msg}") if value is None else value

    def parse_optional_bytes_literal(self) -> bytes | None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        # Escapes may stand for bytes that are no text: then the literal is one of bytes.
        if text[0] != '"' or isinstance(value := string_value(text), str):
            return None
        tokens.index += 1
        return value

    def parse_optional_symbol_name(self) -> StringAttr | None:
        tokens = self.tokens
        text = tokens.texts[tokens.index]
        if text[0] != "@":
            return None
        name = text[1:] if text[1] != '"' else string_value(text[1:])
        if not isinstance(name, str):
            self.raise_error("expected symbol name to be UTF-8")
        self._check_text(name)
        tokens.index += 1
        return StringAttr(name)

    def parse_symbol_name(self) -> StringAttr:
        name = self.parse_optional_symbol_name()
        return self.raise_error("expected valid '@'-identifier for symbol name") if name is None else name

    # Lists

    def parse_list(
        self,
        delimiter: XdslParser.Delimiter,
        parse: Callable[[], _T],
        separator: str = ",",
        context_msg: str = "",
    ) -> list[_T]:
        tokens = self.tokens
        texts = tokens.texts
        # None for lists without brackets, which cannot be empty.
        brackets = delimiter.value
        if brackets is not None:
            self.parse_characters(brackets[0], context_msg)
            if texts[tokens.index] == brackets[1]:
                tokens.index += 1
                return []
        elements = [parse()]
        while texts[tokens.index] == separator:
            tokens.index += 1
            elements.append(parse())
        if brackets is not None:
            self.parse_characters(brackets[1], context_msg)
        return elements

    def parse_optional_comma_separated_list(
        self, delimiter: XdslParser.Delimiter, parse: Callable[[], _T], context_msg: str = ""
    ) -> list[_T] | None:
        if delimiter.value is None or self.tokens.texts[self.tokens.index] != delimiter.value[0]:
            return None
        return self.parse_list(delimiter, parse, ",", context_msg)

    def parse_optional_undelimited_comma_separated_list(
        self, parse_optional: Callable[[], _T | None], parse: Callable[[], _T]
    ) -> list[_T] | None:
        first = parse_optional()
        if first is None:
            return None
        elements = [first]
        while self.parse_optional_characters(",") is not None:
            elements.append(parse())
        return elements


def _encodable(text: str) -> str:
    """The text; what no UTF-8 can stand for is as it is in a text that was read from a file with such bytes."""
    try:
        text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass").decode(errors="surrogateescape")
    return text


def _as_mlir_words(message: str) -> str:
    """A message of xDSL's in MLIR's style: a small letter first, no mark at the end."""
    return message[:1].lower() + message[1:].rstrip(".!")
