"""The fields that operations set in registers, as comments have them: `buffer_length = 64, valid_bd = 1`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import getitem
from typing import NamedTuple

from tilewright.device import DEVICES, DeviceModel, DeviceName
from tilewright.device.layout import WORD_BYTES, Layout
from tilewright.device.register_fields import fields_at, layout_at, word_fields
from tilewright.txn.opcodes import Opcode
from tilewright.txn.register_text import MOST_ADDRESSES, MOST_VALUES, PIECE, Kept

EXPLAINED = (Opcode.WRITE, Opcode.MASKWRITE, Opcode.BLOCKWRITE)


class DescribedWords(NamedTuple):
    """Words of a block that belong together, those of a descriptor for instance."""

    start: int
    texts: list[Kept[int, str]]
    """For each of them what its values mean."""


class RegisterMeanings:
    """What values mean in the registers of one device. Streams write the same few again and again, so they are kept."""

    def __init__(self, model: DeviceModel):
        self.model = model
        self._blocks = Kept[tuple[int, int], list[DescribedWords]](self._find_block, MOST_ADDRESSES)
        self._writes = Kept[tuple[int, int], str](lambda write: self.of_block(write[0], [write[1]]), MOST_ADDRESSES)
        self._masked = Kept[tuple[int, int, int], str](self._masked_write, MOST_ADDRESSES)

    def of_operations(
        self, opcode: int, columns: Mapping[str, list[int]], payloads: Sequence[list[int]]
    ) -> Iterator[str]:
        """The fields that operations of an opcode set; empty texts where they are not known."""
        match opcode:
            case Opcode.BLOCKWRITE:
                return map(self.of_block, columns["address"], payloads)
            case Opcode.WRITE:
                return map(self._writes.__getitem__, zip(columns["address"], columns["value"], strict=True))
            case _:
                parts = zip(columns["address"], columns["value"], columns["mask"], strict=True)
                return map(self._masked.__getitem__, parts)

    def of_block(self, address: int, words: list[int]) -> str:
        """The fields that words set in consecutive registers, from an address on."""
        texts = [
            PIECE.join(filter(None, map(getitem, described, words[start:])))
            for start, described in self._blocks[address, len(words)]
        ]
        return texts[0] if len(texts) == 1 else "; ".join(filter(None, texts))

    def _find_block(self, block: tuple[int, int]) -> list[DescribedWords]:
        (column, row), offset = self.model.locate(block[0])
        if not self.model.is_valid_tile(column, row):
            return []
        tile_type = self.model.tile_type(column, row)
        found: list[DescribedWords] = []
        names = set[str]()
        for index in range(block[1]):
            if (register := layout_at(self.model, tile_type, offset + WORD_BYTES * index)) is None:
                continue
            fields = word_fields(*register, 0).keys()
            # A field that comes a second time belongs to the next descriptor, as does what comes after a gap.
            if not found or names & fields or found[-1].start + len(found[-1].texts) != index:
                found.append(DescribedWords(index, []))
                names.clear()
            found[-1].texts.append(_word_texts(*register))
            names |= fields
        return found

    def _masked_write(self, write: tuple[int, int, int]) -> str:
        address, value, mask = write
        kept = fields_at(self.model, address, mask)
        fields = fields_at(self.model, address, value).items()
        return PIECE.join(f"{name} = {value}" for name, value in fields if value and kept.get(name))


@cache
def _word_texts(layout: type[Layout], word: int) -> Kept[int, str]:
    def text(value: int) -> str:
        fields = word_fields(layout, word, value).items()
        return PIECE.join(f"{name} = {number}" for name, number in fields if number)

    return Kept(text, MOST_VALUES)


@cache
def register_meanings(device: DeviceName) -> RegisterMeanings:
    """The meanings of a device, with what they keep."""
    return RegisterMeanings(DEVICES[device])
