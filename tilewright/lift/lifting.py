"""Lifting, with its checks: what is written has given every file back, byte for byte, through the ordinary pipeline."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.driver.compiled_design import Design, compile_text
from tilewright.errors import Error
from tilewright.lift.decisions import Decision, ShapeBranch
from tilewright.lift.expressions import ShapeConstant, ShapeExpression
from tilewright.lift.model import (
    UNUSED,
    Explained,
    ExplainedLoop,
    FamilyModel,
    Group,
    Progress,
    learn,
)
from tilewright.lift.parameters import ParameterError, ShapeParameters
from tilewright.lift.sequence import FIELD_BY_FIELD, LIFTED, SEQUENCE, model_text, stream_text
from tilewright.txn.codec import decode, unread_mask, without_unread
from tilewright.txn.stream import TxnError, Words

MOST_SHOWN = 400
"""Expressions in a report."""
LEAST_FILES = 2


@dataclass
class Prediction:
    """How streams that were not looked at came out, from their parameters alone."""

    files: int
    exact: int
    """Byte for byte."""
    read_bits: int
    """In every bit that something reads."""
    wrong: list[str] = field(default_factory=list[str])


@dataclass
class Lifted:
    """A family as one sequence."""

    text: str
    """The module, `lifted.mlir`."""
    model: FamilyModel
    files: dict[str, dict[str, int]]
    """The arguments that give each file."""
    left_out: dict[str, str]
    """Files that the sequence does not give, and why."""
    bytes: int
    """Of the files that it stands for."""
    prediction: Prediction | None = None
    is_zeroed: bool = False
    """Whether bits that nothing reads are 0, not those of the files."""

    def manifest(self) -> dict[str, Any]:
        """`lifted.json`."""
        model = self.model
        return {
            "sequence": SEQUENCE,
            "parameters": model.names,
            "files": self.files,
            "variants": {name: texts for name, texts in model.parameters.texts.items() if name in model.names},
            "left_out": self.left_out,
        }

    def to_json(self) -> dict[str, Any]:
        """What was found, for machines."""
        return self.manifest() | {
            "unexplained": [vars(word) for word in self.model.unexplained[:MOST_SHOWN]],
            "bytes": {"files": self.bytes, "mlir": len(self.text)},
            "groups": [_group_json(group) for group in self.model.groups],
            "prediction": None if self.prediction is None else vars(self.prediction),
        }

    def report(self) -> Iterator[str]:
        """What was found, line by line."""
        model = self.model
        how = "in every bit that something reads" if self.is_zeroed else "byte for byte"
        yield f"{len(self.files)} of {len(self.files) + len(self.left_out)} files, {how}, from {_named(model)}"
        if self.bytes:
            size = len(self.text)
            yield f"{size:,} bytes of MLIR for {self.bytes:,} bytes of files: {size / self.bytes:.1%}"
        if model.has_images:
            most = max(len(group.images) for group in model.groups)
            yield f"bits that nothing reads do not follow from the shape: {UNUSED} chooses among {most} contents"
        if self.prediction is not None:
            seen = self.prediction
            exactly = "" if self.is_zeroed else f"{seen.exact} are predicted byte for byte, "
            yield f"of {seen.files} files not looked at, {exactly}{seen.read_bits} in every bit that something reads"
        yield from _branches(model.decision, model.groups, "")
        for number, group in enumerate(model.groups):
            yield f"group {number}: {len(group.files)} files, {_count(group.body)} operations written"
            yield from (f"  {line}" for line in _found(group))
        for word in model.unexplained[:MOST_SHOWN]:
            yield f"unexplained: {word}"
        for name, reason in self.left_out.items():
            yield f"left out: {name}: {reason}"


def lift(
    streams: Mapping[str, Words],
    parameters: ShapeParameters,
    *,
    hold_out: float = 0,
    seed: int = 0,
    zero_unused: bool = False,
    progress: Progress = lambda text: None,
) -> Lifted:
    """One sequence for a family of streams.

    Args:
        streams: words by name
        parameters: the shape of each of them
        hold_out: learn first from all but this share, chosen at random, and say how many of these are predicted
        seed: of that choice
        zero_unused: give 0 in all bits that nothing reads, and compare the others
        progress: told what is being done
    """
    if len(parameters.files) < LEAST_FILES:
        reasons = "".join(f"; {name}: {reason}" for name, reason in [*parameters.left_out.items()][:3])
        raise ParameterError(f"a family has {LEAST_FILES} files at least, with parameters{reasons}")
    if zero_unused:
        streams = {name: without_unread(words) for name, words in streams.items()}
    prediction = predict_unseen(streams, parameters, hold_out, seed, progress) if hold_out else None
    model = learn(streams, parameters, progress)
    progress("compiling the sequence")
    text, design = _compiled(model)
    progress("comparing with the files")
    lifted = Lifted(text, model, {}, dict(model.left_out), 0, prediction, is_zeroed=zero_unused)
    for index, name in enumerate(parameters.files):
        if name in model.left_out:
            continue
        values = model.values_of(index)
        reason = _difference(design, values, streams[name])
        if reason is None:
            lifted.files[name] = values
            lifted.bytes += streams[name].nbytes
        else:
            lifted.left_out[name] = reason
    return lifted


def _compiled(model: FamilyModel) -> tuple[str, Design]:
    """The sequence at the highest level that compiles; instructions as they are where that does not."""
    if not model.groups:
        raise TxnError(None, _nothing(model))
    text = model_text(model)
    try:
        return text, compile_text(text, "lifted.mlir")
    except Error:
        text = model_text(model, FIELD_BY_FIELD)
        return text, compile_text(text, "lifted.mlir")


def _nothing(model: FamilyModel) -> str:
    words = "".join(f"; {word}" for word in model.unexplained[:3])
    return f"no file is explained by its parameters ({', '.join(model.parameters.columns) or 'there are none'}){words}"


def _difference(design: Design, values: Mapping[str, int], wanted: Words) -> str | None:
    try:
        words = design.txn(SEQUENCE, **values)
    except Error as error:
        return f"the sequence refuses its parameters: {error}"
    if words.tobytes() == wanted.tobytes():
        return None
    shared = min(len(words), len(wanted))
    first = np.flatnonzero(words[:shared] != wanted[:shared])
    return f"the sequence gives another word {int(first[0]) if len(first) else shared}"


def predict_unseen(
    streams: Mapping[str, Words],
    parameters: ShapeParameters,
    share: float,
    seed: int,
    progress: Progress = lambda text: None,
) -> Prediction:
    """Learn from all but a share of the files, chosen at random, and predict these."""
    order = list(range(len(parameters.files)))
    random.Random(seed).shuffle(order)
    count = max(1, min(round(len(order) * share), len(order) - LEAST_FILES))
    unseen, seen = sorted(order[:count]), sorted(order[count:])
    progress(f"learning from {len(seen)} files, to predict {len(unseen)}")
    model = learn(streams, parameters.take(seen), progress)
    found = Prediction(len(unseen), 0, 0)
    for index in unseen:
        name = parameters.files[index]
        words = predicted(model, parameters.of_file(index)) if model.groups else np.empty(0, dtype=np.uint32)
        exact = words.tobytes() == streams[name].tobytes()
        found.exact += exact
        found.read_bits += exact or _same_where_read(words, streams[name])
        if not exact:
            found.wrong.append(name)
    return found


def predicted(model: FamilyModel, values: Mapping[str, int]) -> Words:
    """The stream of a shape; its unread bits are those of a file with the same numbers, if there is one."""
    shape = {name: value for name, value in values.items() if name not in model.parameters.texts}
    same = np.ones(len(model.unused), dtype=np.bool_)
    for name, value in shape.items():
        same &= model.parameters.columns[name] == value
    image = int(model.unused[np.argmax(same)]) if same.any() else 0
    columns = {name: np.array([value], dtype=np.int64) for name, value in {**values, UNUSED: image}.items()}
    return model.predict(columns)[0]


def _same_where_read(words: Words, wanted: Words) -> bool:
    if len(words) != len(wanted):
        return False
    return not ((words ^ wanted) & ~unread_mask(decode(wanted))).any()


def to_mlir(data: Words) -> str:
    """One stream as a sequence without arguments, which compiles to the same words."""
    stream = decode(data)
    for style in (LIFTED, FIELD_BY_FIELD):
        text = stream_text(stream, data, style)
        try:
            words = compile_text(text, "stream.mlir").txn(SEQUENCE)
        except Error:
            if style is FIELD_BY_FIELD:
                raise
            continue
        if words.tobytes() == data.tobytes():
            return text
    raise TxnError(None, "the sequence of this stream does not give the same words: please report it")


# Reports


def _named(model: FamilyModel) -> str:
    return f"{SEQUENCE}({', '.join(model.names)})"


def _count(body: Sequence[Explained]) -> int:
    return sum(_count(part.body) if isinstance(part, ExplainedLoop) else 1 for part in body)


def _branches(decision: Decision, groups: Sequence[Group], indent: str) -> Iterator[str]:
    if isinstance(decision, ShapeBranch):
        yield f"{indent}if {decision.condition}:"
        yield from _branches(decision.then, groups, f"{indent}  ")
        yield f"{indent}else:"
        yield from _branches(decision.otherwise, groups, f"{indent}  ")
    elif indent:
        yield f"{indent}group {decision}"


def _found(group: Group) -> Iterator[str]:
    """Each expression once, with the words that it gives."""
    places = dict[ShapeExpression, list[tuple[int, int]]]()
    loops = list[str]()

    def visit(body: Sequence[Explained]) -> None:
        for part in body:
            if isinstance(part, ExplainedLoop):
                first, size = _first(part), _count(part.body)
                loops.append(f"loop of {size} operations from operation {first} on: {part.count} turns")
                visit(part.body)
                continue
            for number, word in enumerate(part.words):
                if not isinstance(word, ShapeConstant):
                    places.setdefault(word, []).append((part.number, number))

    visit(group.body)
    yield from loops
    for expression, found in [*places.items()][:MOST_SHOWN]:
        yield f"{_places(found)}: {expression}"


def _first(part: Explained) -> int:
    return _first(part.body[0]) if isinstance(part, ExplainedLoop) else part.number


def _places(found: Sequence[tuple[int, int]]) -> str:
    operation, first = found[0]
    last = first
    for other, word in found[1:]:
        if (other, word) != (operation, last + 1):
            break
        last = word
    shown = f"words {first}..{last}" if last > first else f"word {first}"
    rest = len(found) - (last - first + 1)
    return f"{shown} of operation {operation}" + (f" and {rest} more" if rest else "")


def _group_json(group: Group) -> dict[str, Any]:
    return {"files": len(group.files), "operations": _count(group.body), "unused_contents": len(group.images)}
