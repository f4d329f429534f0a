"""Several programs in one file, kept apart by marker lines."""

from __future__ import annotations

from collections.abc import Iterator

DEFAULT_MARKER = "// -----"


def split_input(text: str, marker: str = DEFAULT_MARKER) -> Iterator[tuple[int, str]]:
    """Yield `(lines before it, text)` for each part of `text`.

    A marker stands alone on its line, white space aside: one inside a string, or with words behind it, splits nothing.
    """
    first_line, part = 0, list[str]()
    for number, line in enumerate(text.split("\n")):
        if line.strip() == marker:
            yield first_line, "".join(f"{kept}\n" for kept in part)
            first_line, part = number + 1, []
        else:
            part.append(line)
    yield first_line, "\n".join(part)
