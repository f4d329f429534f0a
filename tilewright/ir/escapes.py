r"""Names, file names and strings of programs inside texts of other languages, where they must stay what they are.

What a reader would not see, or would see in another place, is shown as an escape: `\n`, `\x1b`, `\u202e`. For a new
kind of text that programs' names go into, the function that makes them harmless belongs here.
"""

from __future__ import annotations

import json
import re

# Without a picture of their own, though not control or format characters: fillers, joiners and variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# None for the zero: `\0` before a digit is another character to Python and C.
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Inside comments of C and C++: what ends or begins one, and `??`, which begins a trigraph such as `??/`, a backslash.
_COMMENT_SIGNS = re.compile(r"(?<=\*)/|(?<=/)\*|(?<=\?)\?|\\(?=\s*$)")
_WORD = re.compile(r"[A-Za-z_.$/][\w.$/+@%=~-]*", re.ASCII)


def visible(text: str, keep: str = "") -> str:
    """The text with everything that is not to be seen as an escape, apart from the characters to keep."""
    # Nearly always.
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or not _is_hidden(c) else _escape(c) for c in text)


def visible_lines(text: str) -> str:
    """A text of several lines, whose line breaks and tabs stay."""
    return visible(text, keep="\n\t")


def comment_text(text: str) -> str:
    """A text inside a comment of C or C++, of either kind: it neither ends the comment nor takes in the next line."""
    return _COMMENT_SIGNS.sub(lambda found: _escape(found[0]), visible(text))


def python_string(text: str) -> str:
    """A string literal of Python."""
    return '"' + visible(text.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def shown_json(value: object) -> str:
    """JSON whose strings are there to be shown; it can stand in a script element of HTML too."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    # JSON's own escapes are for those below the space: what deletes is ASCII, and is left as it is
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c).replace("\\", "\\\\") if _is_hidden(c) else c for c in text)


def console_text(text: str) -> str:
    """A text as `rich` prints it, in which brackets are no markup."""
    from rich.markup import escape

    escaped = escape(visible(text))
    # `escape` sees to one at the end alone: the last of three would take the bracket of what follows
    behind = len(escaped) - len(escaped.rstrip("\\"))
    return escaped + "\\" * (behind % 2)


def is_plain_word(text: str) -> bool:
    """Whether a text is one word to linkers and assemblers, whose languages know no escapes."""
    return _WORD.fullmatch(text) is not None


def _is_hidden(character: str) -> bool:
    return not character.isprintable() or _INVISIBLE.match(character) is not None


def _escape(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
