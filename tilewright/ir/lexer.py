"""Source text -> tokens, the whole text at once, as two parallel lists.

A token is an index: `texts[i]` is how it is spelt and `starts[i]` where. The reader compares spellings and never makes
an object per token; whoever asks xDSL's way, for a token with kind and span, gets one made on the spot.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, chain, islice
from typing import NoReturn, cast

from xdsl.parser import ParserState
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Lexer, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRToken, MLIRTokenKind

from tilewright.ir.limits import MOST_LINE_TOKENS, MOST_TOKENS

END = " "
"""The spelling of the end of the input: no token is spelt so, and it has a first character like every other."""

_BAD = "\0"
"""First character of the spelling of what is no token: nothing that the reader looks for matches it."""

IDENTIFIER_STARTS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
DIGITS = frozenset("0123456789")
_MAX_DECIMAL_DIGITS = 4000  # Python takes quadratic time for a decimal number, and refuses above 4300 digits
_MORE_THAN_ANY_TYPE_HOLDS = 1 << (1 << 24)

_TRIVIA = r"[ \t\r\n]*+(?://[^\n]*+[ \t\r\n]*+)*+"
# A possessive repeat of alternatives would stop inside the one that failed: gh-106052, in Python before 3.11.5.
_STRING = r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"'
_SUFFIX_ID = r"(?:[0-9]+|[A-Za-z$._-][\w$.-]*)"
_TOKEN = re.compile(
    rf"""({_TRIVIA})(
      [%^!]{_SUFFIX_ID}
    | (?<=[0-9?*\]])x                     # the x of a dimension list, which would be an identifier with what follows it
    | [A-Za-z_][\w$.]*
    | [,:()<>=}}\[\]]
    | \{{(?:-\#)?
    | 0x[0-9A-Fa-f]+
    | [0-9]+(?:\.[0-9]*(?:[eE][+-]?[0-9]+)?)?
    | {_STRING}
    | @(?:[A-Za-z_][\w$.]*|{_STRING})
    | ->
    | \#-\}}
    | \#{_SUFFIX_ID}
    | \.\.\.
    | [^ \t\r\n]
    | \Z                                  # trivia at the end, which must not be left to a search from its middle
    )""",
    re.ASCII | re.VERBOSE,
)
_ONLY_TRIVIA = re.compile(_TRIVIA)
_CHUNK = 1 << 20
"""Characters lexed in one go: enough to be fast, little enough that what is allocated in between stays small."""

_KIND_BY_FIRST = {
    END: MLIRTokenKind.EOF,
    "@": MLIRTokenKind.AT_IDENT,
    "#": MLIRTokenKind.HASH_IDENT,
    "%": MLIRTokenKind.PERCENT_IDENT,
    "^": MLIRTokenKind.CARET_IDENT,
    "!": MLIRTokenKind.EXCLAMATION_IDENT,
}
_WANTS_IDENTIFIER = {
    "@": "@ identifier expected to start with letter or '_'",
    "#": "invalid attribute name",
    "%": "invalid SSA name",
    "^": "invalid block name",
    "!": "invalid type identifier",
}
_BROKEN_STRING = re.compile(_STRING.removesuffix('"'))


def token_kind(text: str) -> MLIRTokenKind:
    """What kind of token is spelt so."""
    # First, since `#-}` begins as an alias does.
    if (punctuation := KIND_BY_PUNCTUATION_SPELLING.get(text)) is not None:
        return punctuation
    first = text[0]
    if (kind := _KIND_BY_FIRST.get(first)) is not None:
        return kind
    if first.isdigit():
        return MLIRTokenKind.FLOAT_LIT if "." in text else MLIRTokenKind.INTEGER_LIT
    if first == '"':
        return MLIRTokenKind.STRING_LIT if isinstance(string_value(text), str) else MLIRTokenKind.BYTES_LIT
    return MLIRTokenKind.BARE_IDENT


_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9A-Fa-f]{2})')
_ESCAPED = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}


def string_value(literal: str) -> str | bytes:
    """What a string literal stands for: text, or bytes where its escapes do not make text."""
    if "\\" not in literal:
        return literal[1:-1]
    # On bytes: two escapes may make one character of UTF-8.
    raw = _ESCAPE.sub(lambda m: _ESCAPED.get(m[1]) or bytes.fromhex(m[1].decode()), literal[1:-1].encode())
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def integer_value(literal: str) -> int:
    """The value of an integer literal, decimal or hexadecimal; more than any type holds if it has too many digits."""
    if literal[1:2] == "x":
        return int(literal, 16)
    return int(literal) if len(literal) <= _MAX_DECIMAL_DIGITS else _MORE_THAN_ANY_TYPE_HOLDS


class _Spellings(dict[str, str]):
    """One string for all tokens spelt alike, which saves memory and hashes once; what is no token is marked as such."""

    def __missing__(self, text: str) -> str:
        spelling = self[text] = _BAD + text if len(text) == 1 and _is_bad(text) else text
        return spelling


class Tokens(Lexer[MLIRTokenKind, str]):
    """The tokens of an input and the place of the reader in them; to xDSL, a lexer."""

    texts: list[str]
    starts: array[int]
    index: int
    """Where the reader is: the token that it looks at next."""

    def __init__(self, input: Input[str]):
        self.input = input
        self.texts = []
        self.starts = array("q")
        self.index = 0
        self._spellings = _Spellings()
        for first, last in self._chunks():
            # Only a line of several megabytes is longer: it must not become a list before its tokens are counted.
            if last - first > 2 * _CHUNK:
                self._lex_long_line(first, last)
            else:
                self._lex_chunk(first, last)
            self._check_count(0, MOST_TOKENS, "the program")
        # The end is a token, so that the reader may always look at the next one.
        self.texts.append(END)
        self.starts.append(self.input.len)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Ranges that end behind a line feed, which no token contains."""
        first = 0
        while first < self.input.len:
            last = self.input.content.find("\n", min(first + _CHUNK, self.input.len)) + 1 or self.input.len
            yield first, last
            first = last

    def _lex_chunk(self, first: int, last: int) -> None:
        pieces = list(chain.from_iterable(cast(list[tuple[str, str]], _TOKEN.findall(self.input.content, first, last))))
        # Trivia at the end match with an empty token.
        while pieces and not pieces[-1]:
            del pieces[-2:]
        # Pieces are trivia and token by turns, so every second sum of lengths is where a token starts.
        self.starts.extend(islice(accumulate(map(len, pieces), initial=first), 1, None, 2))
        self.texts.extend(map(self._spellings.__getitem__, pieces[1::2]))

    def _lex_long_line(self, first: int, last: int) -> None:
        """The same token by token, so that no more are made than there may be."""
        before = len(self.texts)
        for match in islice(_TOKEN.finditer(self.input.content, first, last), MOST_LINE_TOKENS + 1):
            if match[2]:
                self.starts.append(match.start(2))
                self.texts.append(self._spellings[match[2]])
        self._check_count(before, MOST_LINE_TOKENS, "the line")

    def _check_count(self, before: int, most: int, what: str) -> None:
        if len(self.texts) - before > most:
            start = self.starts[before]
            raise ParseError(Span(start, start, self.input), f"{what} has more than {most} tokens")

    def end(self, index: int) -> int:
        """The offset behind a token."""
        text = self.texts[index]
        return self.starts[index] + (0 if text is END else len(text))

    def token(self, index: int) -> MLIRToken:
        """The token as xDSL wants it."""
        self.check(index)
        return Token(token_kind(self.texts[index]), Span(self.starts[index], self.end(index), self.input))

    def check(self, index: int) -> None:
        """Say why the characters at a token's place are no token, if they are none."""
        if self.texts[index][0] == _BAD:
            self._raise_bad(index)

    def _raise_bad(self, index: int) -> NoReturn:
        start = self.starts[index]
        character = self.texts[index][1]
        message = _WANTS_IDENTIFIER.get(character, "unexpected character")
        # MLIR points behind the sign, at what should be a name.
        if character == "@":
            start += 1
            character = self.input.content[start : start + 1]
        if character == '"':
            match = _BROKEN_STRING.match(self.input.content, start)
            assert match is not None
            start = match.end()
            escape = self.input.content[start : start + 1] == "\\"
            message = "unknown escape in string literal" if escape else "expected '\"' in string literal"
        elif character == ".":
            start += 1
            message = "expected three consecutive dots for an ellipsis"
        elif "\udc80" <= character <= "\udcff":
            message = "invalid UTF-8"
        raise ParseError(Span(start, start, self.input), message)

    def lex(self) -> MLIRToken:
        """Step to the next token and give it."""
        self.index += 1
        return self.token(self.index)

    @property
    def pos(self) -> int:
        """The offset behind the current token; set, the offset at which `lex` goes on."""
        return self.end(self.index)

    @pos.setter
    def pos(self, value: int) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.index = self.index_at(value) - 1

    def index_at(self, offset: int) -> int:
        """The first token at or behind an offset, lexed anew from there if the offset is inside a token."""
        # Offsets only grow, so the list is sorted.
        index = bisect_left(self.starts, offset)
        if index == len(self.starts):
            return index - 1
        start = self.starts[index]
        if start == offset:
            return index
        trivia = _ONLY_TRIVIA.match(self.input.content, offset, start)
        # Between two tokens: nothing has to be lexed anew.
        if trivia is not None and trivia.end() == start and (index == 0 or self.end(index - 1) <= offset):
            return index
        return self._relex(offset, index)

    def _relex(self, offset: int, index: int) -> int:
        """Split what stands before token `index` at an offset, and lex from there until old and new tokens agree."""
        texts: list[str] = []
        starts: list[int] = []
        first = index
        if index > 0 and self.end(index - 1) > offset:
            first = index - 1
            starts.append(self.starts[first])
            texts.append(self.input.content[starts[0] : offset])
        found = first + len(texts)
        while (match := _TOKEN.match(self.input.content, offset)) is not None:
            start = match.start(2)
            # Old and new tokens meet again soon: a split token rarely changes more than the next one or two.
            while self.starts[index] < start:
                index += 1
            if self.starts[index] == start:
                break
            texts.append(self._spellings[match[2]])
            starts.append(start)
            offset = match.end()
        else:
            index = len(self.starts) - 1
        self.texts[first:index] = texts
        self.starts[first:index] = array("q", starts)
        return found


def _is_bad(character: str) -> bool:
    # A single character that the last alternative of `_TOKEN` caught.
    return character not in KIND_BY_PUNCTUATION_SPELLING and not (
        character.isascii() and (character.isalnum() or character == "_")
    )


class ReaderState(ParserState[MLIRTokenKind, str]):
    """xDSL's shared parser state, over `Tokens`."""

    lexer: Tokens

    def __init__(self, tokens: Tokens):
        # Not xDSL's constructor: it would lex the first token, and ours are lexed already.
        self.lexer = tokens  # pyright: ignore[reportIncompatibleVariableOverride]
        self.dialect_stack = ["builtin"]

    @property
    def current_token(self) -> MLIRToken:
        return self.lexer.token(self.lexer.index)

    @current_token.setter
    def current_token(self, value: MLIRToken) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.lexer.index = self.lexer.index_at(value.span.start)
