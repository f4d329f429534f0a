"""Shape parameters of files: from the numbers in their names, or as they are given."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewright.errors import Error
from tilewright.lift.expressions import Column, varying

_NUMBER = re.compile(r"\d+")
_WORD_BEFORE = re.compile(r"[A-Za-z]{1,8}$")
_VALUES = re.compile(r"-?\d+(,-?\d+)*")
_NAME = re.compile(r"[A-Za-z_]\w*")
LIMITS = range(-(1 << 31), 1 << 31)
"""They become i32 arguments."""


class ParameterError(Error, ValueError):
    """Parameters that cannot be read off, or do not fit the files."""


@dataclass
class ShapeParameters:
    """One value of each parameter for each of `files`."""

    files: list[str]
    columns: dict[str, Column]
    texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What the values of a parameter stand for, where it numbers parts of names that are no numbers."""
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    """Files that have no such parameters, and why."""

    @classmethod
    def of_rows(
        cls,
        files: Sequence[str],
        names: Iterable[str],
        rows: Mapping[str, Mapping[str, int]],
        left_out: Mapping[str, str],
    ) -> ShapeParameters:
        """Parameters of these names, from a row of values for each file that is not left out."""
        kept = [file for file in files if file not in left_out]
        columns = {name: np.array([rows[file][name] for file in kept], dtype=np.int64) for name in names}
        return cls(kept, columns, left_out=dict(left_out))

    @property
    def inputs(self) -> dict[str, Column]:
        """What expressions are over: the columns, or one of zeros where there are none, as long as there are files."""
        return self.columns or {"": np.zeros(len(self.files), dtype=np.int64)}

    def of_file(self, index: int) -> dict[str, int]:
        return {name: int(column[index]) for name, column in self.columns.items()}

    def take(self, indices: Sequence[int]) -> ShapeParameters:
        columns = {name: column[list(indices)] for name, column in self.columns.items()}
        return ShapeParameters([self.files[index] for index in indices], columns, self.texts)


def from_names(files: Sequence[str]) -> ShapeParameters:
    """A parameter for each number in the names that is not the same in all of them, and for texts that differ.

    A number is called as the letters before it, or d0, d1, ... where there are none. Files whose names have another
    count of numbers than most are left out.
    """
    numbers = {name: [int(number) for number in _NUMBER.findall(_stem(name))] for name in files}
    counts = Counter(len(found) for found in numbers.values())
    usual = max(counts, key=lambda count: (counts[count], count), default=0)
    left_out = {
        name: f"its name has {len(found)} numbers, and most have {usual}"
        for name, found in numbers.items()
        if len(found) != usual
    }
    for name, found in numbers.items():
        if name not in left_out and any(number not in LIMITS for number in found):
            left_out[name] = "a number in its name does not fit in 32 bits"
    kept = [name for name in files if name not in left_out]
    texts = [_NUMBER.split(_stem(name)) for name in kept]
    columns, meanings = dict[str, Column](), dict[str, list[str]]()
    for position in range(usual + 1):
        parts = [text[position] for text in texts]
        if len(set(parts)) > 1:
            name = f"variant{len(meanings)}" if meanings else "variant"
            meanings[name] = sorted(set(parts))
            columns[name] = np.array([meanings[name].index(part) for part in parts], dtype=np.int64)
        if position < usual:
            values = np.array([numbers[name][position] for name in kept], dtype=np.int64)
            columns[_fresh(_name(Counter(parts).most_common(1)[0][0], position), columns)] = values
    return ShapeParameters(kept, _telling(columns), meanings, left_out)


def given(files: Sequence[str], definitions: Sequence[str]) -> ShapeParameters:
    """Parameters as `NAME=PATTERN`, a regular expression on the name of a file, or `NAME=VALUE,...` in their order."""
    names, left_out = list[str](), dict[str, str]()
    found: dict[str, dict[str, int]] = {name: {} for name in files}
    for definition in definitions:
        name, equals, how = definition.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise ParameterError(f"--param {definition}: expected NAME=PATTERN or NAME=VALUE,VALUE,...")
        values = _listed(definition, how, files) if _VALUES.fullmatch(how) else _matched(definition, how, files)
        for file, value in values.items():
            if value is None:
                left_out.setdefault(file, f"the pattern of parameter {name} finds no number in its name")
            elif value not in LIMITS:
                left_out.setdefault(file, f"parameter {name} = {value} does not fit in 32 bits")
            else:
                found[file][name] = value
        names.append(name)
    return ShapeParameters.of_rows(files, names, found, left_out)


def from_table(files: Sequence[str], table: Mapping[str, Mapping[str, int]]) -> ShapeParameters:
    """Parameters as `lifted.json` has them, by the names of files."""
    names = list(dict.fromkeys(name for values in table.values() for name in values))
    left_out = {file: "the table of parameters has no row for it" for file in files if file not in table}
    left_out |= {
        file: f"the table has no {name} for it"
        for file in files
        if file in table
        for name in names
        if name not in table[file]
    }
    return ShapeParameters.of_rows(files, names, table, left_out)


def _listed(definition: str, how: str, files: Sequence[str]) -> dict[str, int | None]:
    values = [int(value) for value in how.split(",")]
    if len(values) != len(files):
        raise ParameterError(f"--param {definition}: {len(values)} values for {len(files)} files")
    return dict(zip(files, values, strict=True))


def _matched(definition: str, how: str, files: Sequence[str]) -> dict[str, int | None]:
    try:
        pattern = re.compile(how)
    except re.error as error:
        raise ParameterError(f"--param {definition}: {error}") from None
    found = dict[str, int | None]()
    for file in files:
        match = pattern.search(_base(file))
        text = (match.group(1) if match.re.groups else match.group(0)) if match else None
        number = _NUMBER.search(text) if text else None
        found[file] = int(number.group()) if number else None
    return found


def _base(name: str) -> str:
    return name.replace("\\", "/").rsplit("/", 1)[-1]


def _stem(name: str) -> str:
    return _base(name).rsplit(".", 1)[0]


def _name(before: str, position: int) -> str:
    letters = _WORD_BEFORE.search(before)
    return letters.group().lower() if letters else f"d{position}"


def _fresh(name: str, taken: Mapping[str, Column]) -> str:
    return next(name + suffix for suffix in ("", *map(str, range(2, 1000))) if name + suffix not in taken)


def _telling(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Those that differ between files, and from each other."""
    seen = set[bytes]()
    telling = dict[str, Column]()
    for name, column in varying(columns).items():
        if column.tobytes() not in seen:
            seen.add(column.tobytes())
            telling[name] = column
    return telling
