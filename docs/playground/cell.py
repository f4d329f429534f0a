"""A program of the playground: executed like a cell of a notebook, in a browser or here."""

from __future__ import annotations

import json
import traceback
from typing import Any

from notebooks import outputs

NAME = "cell 1"
"""What lines of the program are called in messages."""


def show(source: str) -> str:
    """What a program prints, shows, or says when it goes wrong, as a list in JSON: `text`, `html` or `error`."""
    return json.dumps(list(_items(source)))


def _items(source: str) -> list[dict[str, str]]:
    import tilewright as tw

    try:
        found = outputs(source, 1, {"__name__": "__main__"})
    except tw.Error as error:
        return [{"error": str(error)}]
    except BaseException as error:  # whatever a program raises is for its author
        return [{"error": _explained(error)}]
    return [_item(output) for output in found]


def _item(output: dict[str, Any]) -> dict[str, str]:
    data = output.get("data", {})
    if "text/html" in data:
        return {"html": "".join(data["text/html"])}
    return {"text": "".join(output.get("text", data.get("text/plain", ""))).rstrip("\n")}


def _explained(error: BaseException) -> str:
    """The lines of the program that led to an error, and the error."""
    if isinstance(error, SyntaxError) and error.filename == NAME:
        return "".join(traceback.format_exception_only(error)).rstrip("\n")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == NAME]
    lines = traceback.format_list(frames) + traceback.format_exception_only(error)
    return "".join(lines).rstrip("\n")
