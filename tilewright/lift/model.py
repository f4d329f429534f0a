"""A family of streams as one: groups of files with the same operations, loops, and an expression for each word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.lift.decisions import Decision, decide, follow
from tilewright.lift.expressions import (
    Column,
    Columns,
    Condition,
    Parameter,
    ShapeChoice,
    ShapeConstant,
    ShapeExpression,
    varying,
)
from tilewright.lift.loops import Leaf, Matrix, Node, RolledLoop, joined, roll
from tilewright.lift.parameters import ShapeParameters
from tilewright.lift.search import Explainer, telling_parts
from tilewright.txn.codec import decode, header_words, lay_out, unread_mask
from tilewright.txn.stream import HEADER_WORDS, Header, Stream, Words

UNUSED = "unused"
"""The parameter that says which of the contents of unread bits a file has, where its shape does not say it."""
MOST_IMAGES = 64
Progress: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class ExplainedOperation:
    """An operation: an expression for each word, and for what it advances by in each loop around, innermost first."""

    number: int
    """Among the operations of the first file of its group."""
    opcode: int
    words: tuple[ShapeExpression, ...]
    steps: tuple[tuple[ShapeExpression, ...], ...]

    @property
    def expressions(self) -> Iterator[ShapeExpression]:
        yield from self.words
        for step in self.steps:
            yield from step


@dataclass(frozen=True)
class ExplainedLoop:
    count: ShapeExpression
    body: tuple[Explained, ...]

    @property
    def expressions(self) -> Iterator[ShapeExpression]:
        yield self.count
        for part in self.body:
            yield from part.expressions


Explained: TypeAlias = ExplainedOperation | ExplainedLoop


@dataclass
class Group:
    """Files with the same operations, but for how often loops turn."""

    files: list[int]
    nodes: list[Node]
    images: dict[bytes, int] = field(default_factory=dict[bytes, int])
    """Contents of the unread bits that nothing explains, numbered."""
    image_of_file: dict[int, int] = field(default_factory=dict[int, int])
    image_words: dict[tuple[int, int], Column] = field(default_factory=dict[tuple[int, int], Column])
    """By operation and word: the words that go with the image."""
    body: tuple[Explained, ...] = ()

    @property
    def structure(self) -> object:
        return tuple(node.structure for node in self.nodes)


@dataclass(frozen=True)
class Unexplained:
    """A word that no expression explains."""

    operation: int
    word: int
    values: int
    files: int

    def __str__(self) -> str:
        place = f"word {self.word} of operation {self.operation}"
        return f"{place}: {self.values} values in {self.files} files, and no expression gives them"


@dataclass
class FamilyModel:
    """What a family has in common: which group a shape belongs to, and the words of each group."""

    header: Header
    parameters: ShapeParameters
    groups: list[Group]
    decision: Decision
    unused: Column
    """The number of unread contents of each file."""
    left_out: dict[str, str]
    unexplained: list[Unexplained] = field(default_factory=list[Unexplained])

    @property
    def has_images(self) -> bool:
        return any(group.images for group in self.groups)

    @property
    def names(self) -> list[str]:
        return [*self.parameters.columns, *([UNUSED] if self.has_images else [])]

    def values_of(self, index: int) -> dict[str, int]:
        """The arguments that give a file."""
        values = self.parameters.of_file(index)
        return values | {UNUSED: int(self.unused[index])} if self.has_images else values

    def predict(self, columns: Columns) -> list[Words]:
        """The streams of some shapes."""
        count = len(next(iter(columns.values()), (0,)))
        kinds = follow(self.decision, columns) if columns else np.full(count, self._only(), dtype=np.int64)
        made = list[Words]()
        for index, kind in enumerate(kinds.tolist()):
            one = {name: column[index : index + 1] for name, column in columns.items()} or {"": np.zeros(1, np.int64)}
            made.append(generate(self.header, self.groups[kind].body, one))
        return made

    def _only(self) -> int:
        assert isinstance(self.decision, int)
        return self.decision


def generate(header: Header, body: Sequence[Explained], columns: Columns) -> Words:
    """The stream of one shape; each column has one value."""
    known = dict[ShapeExpression, int]()

    def value(expression: ShapeExpression) -> int:
        if expression not in known:
            known[expression] = int(expression.evaluate(columns)[0])
        return known[expression]

    words, operations = list[int](), 0

    def run(parts: Sequence[Explained], turns: tuple[int, ...]) -> None:
        nonlocal operations
        for part in parts:
            if isinstance(part, ExplainedLoop):
                for turn in range(value(part.count)):
                    run(part.body, (turn, *turns))
                continue
            operations += 1
            numbers = [value(word) for word in part.words]
            for turn, step in zip(turns, part.steps, strict=True):
                if turn:
                    numbers = [number + turn * value(by) for number, by in zip(numbers, step, strict=True)]
            words.extend(number & WORD_MASK for number in numbers)

    run(body, ())
    size = WORD_BYTES * (len(words) + HEADER_WORDS)
    return np.array([*header_words(header, operations, size), *words], dtype=np.uint32)


@dataclass
class _File:
    index: int
    stream: Stream
    words: Words
    starts: list[int]


def learn(
    streams: Mapping[str, Words], parameters: ShapeParameters, progress: Progress = lambda text: None
) -> FamilyModel:
    """What a family of streams has in common."""
    left_out = dict(parameters.left_out)
    files, header = _read(streams, parameters, left_out)
    classes = defaultdict[tuple[bytes, bytes], list[_File]](list)
    for file in files:
        key = file.stream.opcodes.tobytes(), np.array(file.starts, dtype=np.int64).tobytes()
        classes[key].append(file)
    unused = np.zeros(len(parameters.files), dtype=np.int64)
    groups = list[Group]()
    trusted = dict[ShapeExpression, None]()
    for number, members in enumerate(sorted(classes.values(), key=lambda found: -len(found))):
        progress(f"loops: kind {number + 1} of {len(classes)}, {len(members)} files")
        groups.append(_group(members, parameters, trusted))
        for index, image in groups[-1].image_of_file.items():
            unused[index] = image
    model = FamilyModel(header, parameters, [], 0, unused, left_out)
    for number, group in enumerate(_merged(groups)):
        progress(f"words: group {number + 1}, {len(group.files)} files")
        model.groups += _explained(group, groups, model, trusted)
    _settle(model, trusted)
    return model


def _read(
    streams: Mapping[str, Words], parameters: ShapeParameters, left_out: dict[str, str]
) -> tuple[list[_File], Header]:
    """The files of the most frequent header."""
    files = list[_File]()
    for index, name in enumerate(parameters.files):
        stream = decode(streams[name])
        starts, _ = lay_out(stream)
        files.append(_File(index, stream, streams[name], starts.tolist()))
    found = [file.stream.header for file in files]
    header = max(dict.fromkeys(found), key=found.count)
    for file in files:
        if file.stream.header != header:
            left_out[parameters.files[file.index]] = "its header is not that of most files: lift such files apart"
    return [file for file in files if file.stream.header == header], header


def _group(files: list[_File], parameters: ShapeParameters, trusted: dict[ShapeExpression, None]) -> Group:
    indices = [file.index for file in files]
    words = np.stack([file.words for file in files], axis=1).astype(np.int64)
    first = files[0]
    group = Group(indices, [])
    images = _image_words(first, words, parameters.take(indices), trusted)
    if images:
        _number_images(group, words[images], images, first.starts)
    ends = [*first.starts[1:], len(words)]
    alone = {operation for operation, _ in group.image_words}
    leaves: list[Node] = [
        Leaf(number, opcode, words[start:end], is_alone=number in alone)
        for number, (opcode, start, end) in enumerate(
            zip(first.stream.opcodes.tolist(), first.starts, ends, strict=True)
        )
    ]
    group.nodes = roll(leaves)
    return group


def _image_words(
    file: _File, words: Matrix, parameters: ShapeParameters, trusted: Iterable[ShapeExpression]
) -> list[int]:
    """Words that differ in unread bits only, and that no expression explains."""
    changing = np.bitwise_or.reduce(words ^ words[:, :1], axis=1).astype(np.uint32)
    mask = unread_mask(file.stream)
    suspects = np.flatnonzero((changing != 0) & (changing & ~mask == 0)).tolist()
    if not suspects:
        return []
    explainer = Explainer(parameters.inputs, trusted)
    return [word for word in suspects if explainer.explain_simply(words[word]) is None]


def _number_images(group: Group, contents: Matrix, images: list[int], starts: list[int]) -> None:
    keys = [column.tobytes() for column in contents.T]
    for key in sorted(dict.fromkeys(keys), key=lambda key: -keys.count(key)):
        group.images[key] = len(group.images)
    group.image_of_file = {index: group.images[key] for index, key in zip(group.files, keys, strict=True)}
    for row, word in enumerate(images):
        operation = int(np.searchsorted(starts, word, side="right")) - 1
        group.image_words[operation, word - starts[operation]] = contents[row]


def _merged(groups: Sequence[Group]) -> list[Group]:
    """Groups that differ in nothing but how often loops turn, as one."""
    alike = defaultdict[object, list[Group]](list)
    for group in groups:
        alike[group.structure if not group.images else id(group)].append(group)
    merged = list[Group]()
    for found in alike.values():
        nodes = [joined(parts) for parts in zip(*(group.nodes for group in found), strict=True)]
        merged.append(found[0] if len(found) == 1 else Group([f for group in found for f in group.files], nodes))
    return sorted(merged, key=lambda group: -len(group.files))


def _explained(
    group: Group, parts: Sequence[Group], model: FamilyModel, trusted: dict[ShapeExpression, None]
) -> list[Group]:
    """A group with its expressions; where its parts are explained and it is not, these; none if nothing explains it."""
    missing = _explain(group, model, trusted)
    if not missing:
        return [group]
    inner = [part for part in parts if part is not group and set(part.files) <= set(group.files)]
    if inner:
        return [found for part in inner for found in _explained(part, (), model, trusted)]
    model.unexplained += missing
    for index in group.files:
        model.left_out[model.parameters.files[index]] = str(missing[0])
    return []


def _explain(group: Group, model: FamilyModel, trusted: dict[ShapeExpression, None]) -> list[Unexplained]:
    explainer = Explainer(model.parameters.take(group.files).inputs, trusted)
    missing = list[Unexplained]()

    def explain(column: Column, operation: int, word: int) -> ShapeExpression:
        if (column == column[0]).all():
            return ShapeConstant(int(column[0]))
        found = explainer.explain(column)
        if found is None:
            missing.append(Unexplained(operation, word, len(np.unique(column)), len(column)))
        return found or ShapeConstant(0)

    def build(nodes: Sequence[Node]) -> tuple[Explained, ...]:
        built = list[Explained]()
        for node in nodes:
            if isinstance(node, RolledLoop):
                first = next(node.leaves).number
                built.append(ExplainedLoop(explain(node.count, first, 0), build(node.body)))
                continue
            words = list[ShapeExpression]()
            for number, column in enumerate(node.words):
                image = group.image_words.get((node.number, number)) if node.is_alone else None
                found = explain(column, node.number, number) if image is None else _choice_of_image(group, image)
                words.append(found)
            steps = tuple(tuple(explain(it, node.number, n) for n, it in enumerate(step)) for step in node.steps)
            built.append(ExplainedOperation(node.number, node.opcode, tuple(words), steps))
        return tuple(built)

    group.body = build(group.nodes)
    trusted.update(explainer.trusted)
    return missing


def _choice_of_image(group: Group, contents: Column) -> ShapeExpression:
    numbers = [0] * len(group.images)
    for index, content in zip(group.files, contents.tolist(), strict=True):
        numbers[group.image_of_file[index]] = content
    usual = max(dict.fromkeys(numbers), key=numbers.count)
    result: ShapeExpression = ShapeConstant(usual)
    for image, number in enumerate(numbers):
        if number != usual:
            result = ShapeChoice(Condition(Parameter(UNUSED), "==", image), ShapeConstant(number), result)
    return result


def _settle(model: FamilyModel, trusted: Iterable[ShapeExpression]) -> None:
    """Find what tells groups apart; files that it puts into the wrong group are left out."""
    kept = [index for group in model.groups for index in group.files]
    if not kept:
        return
    kinds = np.array([number for number, group in enumerate(model.groups) for _ in group.files], dtype=np.int64)
    columns = varying(model.parameters.take(kept).columns)
    telling = dict.fromkeys(part for expression in trusted for part in telling_parts(expression))
    model.decision = decide(columns, kinds, telling) if columns else int(kinds[0])
    found = follow(model.decision, columns) if columns else np.full(len(kept), kinds[0])
    for index, kind, wanted in zip(kept, found.tolist(), kinds.tolist(), strict=True):
        if kind != wanted:
            model.left_out[model.parameters.files[index]] = "files with the same parameters have other operations"
