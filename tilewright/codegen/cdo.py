"""Register writes as a CDO, the part of a device image that the platform's loader executes command by command.

Source: cdo_driver.c and cdo_driver.h of Xilinx's bootgen. A command is a word with its number and the count of words
that follow, then a 64-bit address (upper half first), then values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from tilewright.device.layout import WORD_BYTES, WORD_MASK
from tilewright.txn import Opcode, Operation

IDENTIFICATION, VERSION = 0x004F4443, 0x200  # the text "CDO", 2.0
HEADER_REST = 4  # words of the header after the first, which says so
HEADER_WORDS = HEADER_REST + 1
LONG_LENGTH = 255  # in a command's word: the count of words follows in a word of its own
PAYLOAD_ALIGNMENT = 4  # words; the loader copies blocks fastest from there


class Command(IntEnum):
    DMA_WRITE = 0x105
    MASK_WRITE64 = 0x107
    WRITE64 = 0x108
    NO_OPERATION = 0x111


@dataclass
class Cdo:
    """Commands, and a line of text for each."""

    body: list[int] = field(default_factory=list[int])
    listing: list[str] = field(default_factory=list[str])

    @staticmethod
    def of(operations: Iterable[Operation]) -> Cdo:
        """The commands that do what operations do. A CDO is never empty: the tools that pack it refuse that."""
        cdo = Cdo()
        cdo._no_operation(0)
        for op in operations:
            cdo._add(op)
        return cdo

    def to_bytes(self, big_endian: bool = False) -> bytes:
        header = [HEADER_REST, IDENTIFICATION, VERSION, len(self.body)]
        # The checksum is the complement of the sum of the words before it.
        words = [*header, ~sum(header) & WORD_MASK, *self.body]
        return struct.pack(f"{'>' if big_endian else '<'}{len(words)}I", *words)

    def _add(self, op: Operation) -> None:
        match op.opcode:
            case Opcode.WRITE:
                self._command(Command.WRITE64, op.address, op.value)
                self.listing.append(f"(Write64): Address:  0x{op.address:016X} Data:  0x{op.value:08X}  ")
            case Opcode.MASKWRITE:
                self._command(Command.MASK_WRITE64, op.address, op.mask, op.value)
                masked = f"Mask: 0x{op.mask:08X}  Data: 0x{op.value:08X} "
                self.listing.append(f"(MaskWrite64): Address: 0x{op.address:016X}  {masked}")
            case Opcode.BLOCKWRITE:
                self._block(op.address, op.payload.tolist())
            case _:
                raise ValueError(f"{op.name} is not an operation on registers")

    def _block(self, address: int, words: list[int]) -> None:
        is_long = len(words) + 2 >= LONG_LENGTH
        before = HEADER_WORDS + len(self.body) + (4 if is_long else 3)
        if padding := -before % PAYLOAD_ALIGNMENT:
            self._no_operation(padding - 1)
        self._command(Command.DMA_WRITE, address, *words)
        self.listing.append(f"(BlockWrite-DMAWriteCmd): Start Address: 0x{address:016X}  Size: {len(words)}")
        first = WORD_BYTES * (HEADER_WORDS + len(self.body) - len(words))
        for offset in range(0, WORD_BYTES * len(words), WORD_BYTES):
            place, word = f"Data@ 0x{first + offset:x}", words[offset // WORD_BYTES]
            self.listing.append(f"    Address: 0x{address + offset:016X}  {place} is: 0x{word:08X} ")
        self.listing.append("")

    def _command(self, command: Command, address: int, *values: int) -> None:
        length = len(values) + 2
        short = min(length, LONG_LENGTH)
        self.body.append(short << 16 | command)
        if short == LONG_LENGTH:
            self.body.append(length)
        self.body += (address >> 32, address & WORD_MASK, *values)

    def _no_operation(self, words: int) -> None:
        self.body += (words << 16 | Command.NO_OPERATION, *([0] * words))
        self.listing.append(f"(NOP Command): Payload Length: {words} ")
