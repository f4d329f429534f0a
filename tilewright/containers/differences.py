"""Differences of two containers by meaning: registers, words, entries and sections, not bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import cast

from tilewright import txn
from tilewright.containers import Container
from tilewright.containers.aie_partition import AiePartition
from tilewright.containers.cdo import Cdo
from tilewright.containers.effects import model_of
from tilewright.containers.elf import ControlText, ElfFile, PdiContent
from tilewright.containers.instructions import InstructionFile
from tilewright.containers.pdi import Pdi
from tilewright.containers.xclbin import Xclbin
from tilewright.device import DeviceModel
from tilewright.support.structure import Content, Json
from tilewright.txn.analysis import changes, operation_key
from tilewright.txn.analysis import differences as stream_differences
from tilewright.txn.elf import has_bytes
from tilewright.txn.intent_diff import meaning_of

LONGEST_TEXT = 160
MOST_MEANINGS = 16
DERIVED = {"length", "sections", "checksum", "section_headers", "padded_words", "words", "total_words"}
"""Fields that follow from the rest."""


@dataclass(frozen=True)
class ContainerDifference:
    """Something that is not the same: where, and what on either side (None: nothing)."""

    place: str
    left: str | None
    right: str | None
    meanings: tuple[str, ...] = ()


def differences(left: Container, right: Container) -> Iterator[ContainerDifference]:
    """Everything that is not the same, in the order of the first file."""
    match left, right:
        case Xclbin(), Xclbin():
            yield from _xclbins(left, right)
        case ElfFile(), ElfFile():
            yield from _elfs(left, right)
        case Pdi(), Pdi():
            yield from _pdis(left, right, "")
        case InstructionFile(), InstructionFile():
            yield from _streams(left.stream(), right.stream(), "")
        case _:
            a, b = _operations(left), _operations(right)
            if a is None or b is None:
                yield ContainerDifference("kind", name_of(left), name_of(right))
            else:
                yield from _commands(a, b, "")


def name_of(container: Container) -> str:
    """What a container is called in JSON."""
    match container:
        case Xclbin():
            return "xclbin"
        case Pdi():
            return "pdi"
        case Cdo():
            return "cdo"
        case _:
            return container.kind


def _operations(container: Container) -> list[txn.Operation] | None:
    """The operations that a container stands for, if it is for a single sequence of them."""
    match container:
        case Pdi():
            return container.cdo.operations()
        case Cdo():
            return container.operations()
        case InstructionFile():
            return [*container.stream().operations]
        case Xclbin() if container.partition and len(container.partition.pdis) == 1:
            return container.partition.pdis[0].image.cdo.operations()
        case _:
            return None


def _trees(left: Json, right: Json, place: str) -> Iterator[ContainerDifference]:
    """Values that differ in two trees of plain values."""
    if isinstance(left, dict) and isinstance(right, dict):
        a, b = cast("dict[str, Json]", left), cast("dict[str, Json]", right)
        for name in [*a, *(name for name in b if name not in a)]:
            if name not in DERIVED:
                yield from _trees(a.get(name), b.get(name), f"{place}.{name}" if place else name)
    elif isinstance(left, list) and isinstance(right, list):
        for number, (x, y) in enumerate(zip_longest(cast("list[Json]", left), cast("list[Json]", right))):
            yield from _trees(x, y, f"{place}[{number}]")
    elif left != right:
        yield ContainerDifference(place, _shown(left), _shown(right))


def _shown(value: Json) -> str | None:
    return None if value is None else _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."


def _xclbins(left: Xclbin, right: Xclbin) -> Iterator[ContainerDifference]:
    yield from _trees(left.header.to_json(), right.header.to_json(), "header")
    a, b = (_numbered((it.kind_name, it.content) for it in file.sections) for file in (left, right))
    yield from _sections(a, b)


def _elfs(left: ElfFile, right: ElfFile) -> Iterator[ContainerDifference]:
    yield from _trees(left.header.to_json(), right.header.to_json(), "header")
    yield from _trees([it.to_json() for it in left.segments], [it.to_json() for it in right.segments], "segment")
    a, b = (_numbered((it.name, it.content) for it in file.sections if has_bytes(it.header)) for file in (left, right))
    yield from _sections(a, b)


def _numbered(sections: Iterator[tuple[str, Content]]) -> dict[str, Content]:
    """Sections by name; those of a name that comes again are counted."""
    found = dict[str, Content]()
    for name, content in sections:
        key, number = name, 1
        while key in found:
            number += 1
            key = f"{name} ({number})"
        found[key] = content
    return found


def _sections(left: dict[str, Content], right: dict[str, Content]) -> Iterator[ContainerDifference]:
    for name in [*left, *(name for name in right if name not in left)]:
        if name not in left or name not in right:
            yield ContainerDifference(f"section {name}", _size(left.get(name)), _size(right.get(name)))
        else:
            yield from _contents(left[name], right[name], f"section {name}")


def _size(content: Content | None) -> str | None:
    return None if content is None else f"{len(content.write())} bytes"


def _contents(left: Content, right: Content, place: str) -> Iterator[ContainerDifference]:
    match left, right:
        case Pdi(), Pdi():
            yield from _pdis(left, right, place)
        case PdiContent(), PdiContent():
            yield from _pdis(left.pdi, right.pdi, place)
        case ControlText(), ControlText():
            yield from _streams(left.stream, right.stream, place)
        case AiePartition(), AiePartition():
            yield from _partitions(left, right)
        case _:
            a, b = left.write(), right.write()
            if a == b:
                return
            found = [*_trees(left.to_json(), right.to_json(), place)]
            at = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            yield from found or [
                ContainerDifference(f"{place}, from byte {at:#x} on", a[at : at + 16].hex(), b[at : at + 16].hex())
            ]


def _partitions(left: AiePartition, right: AiePartition) -> Iterator[ContainerDifference]:
    a, b = (dict(it.to_json()) | {"pdis": len(it.pdis)} for it in (left, right))
    yield from _trees(a, b, "partition")
    for number, (x, y) in enumerate(zip(left.pdis, right.pdis, strict=False)):
        place = f"PDI {number}"
        groups = [[group.to_json() for group in pdi.groups] for pdi in (x, y)]
        yield from _trees(str(x.uuid), str(y.uuid), f"{place} uuid")
        yield from _trees(groups[0], groups[1], f"{place} groups")
        yield from _pdis(x.image, y.image, place)


def _pdis(left: Pdi, right: Pdi, place: str) -> Iterator[ContainerDifference]:
    a, b = (dict(it.to_json()) for it in (left, right))
    for it in (a, b):
        del it["commands"], it["cores"]
        it["partition"] = {name: value for name, value in it["partition"].items() if name not in _OF_THE_FORM}
    yield from _trees(a, b, place)
    yield from _commands(left.cdo.operations(), right.cdo.operations(), place)


_OF_THE_FORM = ("is_transformed", "command_bytes", "transform_mark")


def _streams(left: txn.Stream, right: txn.Stream, place: str) -> Iterator[ContainerDifference]:
    found_any = False
    for found in stream_differences(left, right):
        if not found_any and (meaning := meaning_of(left, right)):
            yield ContainerDifference(f"{place} meaning".strip(), None, None, meaning)
        found_any = True
        where = "header" if found.index is None else f"operation {found.index}"
        texts = _short(found.left), _short(found.right)
        yield ContainerDifference(f"{place} {where}".strip(), *texts, _some(found.meanings))


def _some(meanings: tuple[str, ...]) -> tuple[str, ...]:
    rest = len(meanings) - MOST_MEANINGS
    return (*meanings[:MOST_MEANINGS], f"and {rest} more words") if rest > 0 else meanings


def _commands(left: list[txn.Operation], right: list[txn.Operation], place: str) -> Iterator[ContainerDifference]:
    """Operations that are in one list only, or were changed; those that only moved are found again."""
    model = model_of([*left, *right])
    for i, j, a, b in changes([*map(operation_key, left)], [*map(operation_key, right)]):
        for x, y in zip_longest(left[i:a], right[j:b]):
            # long lists are not aligned: some of a range are as they were
            if x is None or y is None or operation_key(x) != operation_key(y):
                yield _changed(x, y, model, f"{place} command {i if x is not None else j}".strip())
            i, j = i + 1, j + 1


def _changed(a: txn.Operation | None, b: txn.Operation | None, model: DeviceModel, place: str) -> ContainerDifference:
    streams = [txn.Stream.of(txn.Header.of(model), [op] if op is not None else []) for op in (a, b)]
    (found,) = stream_differences(*streams)
    left, right = (None if op is None else _short(text) for op, text in ((a, found.left), (b, found.right)))
    return ContainerDifference(place, left, right, _some(found.meanings) if a is not None and b is not None else ())
