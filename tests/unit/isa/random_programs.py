"""Bundles and registers at random: every instruction whose meaning is known, with every operand that it can have."""

from __future__ import annotations

from random import Random
from typing import Any

from tilewright.isa import CoreBundle, CoreInstruction, InstructionSet, assemble
from tilewright.isa.meaning import JUMPS, definition_of
from tilewright.isa.numbers import UnknownMeaningError
from tilewright.isa.product_modes import FLOAT_PRODUCTS, PRODUCTS
from tilewright.isa.registers import RegisterClass
from tilewright.isa.schedule import STREAMS
from tilewright.isa.tables import InstructionRow
from tilewright.isa.width_meaning import ROUNDINGS

LEFT_OUT = {*JUMPS, *STREAMS, "done", "acq", "rel"}
"""What moves on in the program or waits has tests of its own."""
LOOP = ("ls", "le", "lc")
MODES = [*PRODUCTS, *((amode, 3, variant) for amode in (2, 3) for variant in FLOAT_PRODUCTS)]
CONFIGURATIONS = [
    parts << 16 | signs << 8 | amode << 1 | bmode << 3 | variant << 5 | zeroes
    for amode, bmode, variant in MODES
    for zeroes in (0, 1)
    for signs in (0, 3)
    for parts in (0, 0x0A, 0xC5A3)
]


def is_known(row: InstructionRow) -> bool:
    try:
        definition_of(row.meaning)
    except UnknownMeaningError:
        return False
    return row.meaning[0] not in LEFT_OUT


def random_instruction(random: Random, isa: InstructionSet, slot: str) -> CoreInstruction:
    """Of a slot; all meanings are as likely, however many rows they have."""
    rows = [row for row in isa.by_slot[slot] if is_known(row)]
    meaning = random.choice(sorted({row.meaning for row in rows}))
    row = random.choice([row for row in rows if row.meaning == meaning])
    operands = dict[str, Any]()
    for letter, kind in row.coded.items():
        if isinstance(kind, RegisterClass):
            operands[letter] = random.choice([it for it in kind.by_code.values() if it.name not in LOOP])
        else:
            operands[letter] = kind.value(random.getrandbits(kind.bits))
    return CoreInstruction(row, operands)


def random_program(random: Random, isa: InstructionSet, length: int) -> bytes:
    """Some bundles, and the end."""
    formats = [it for it in isa.formats if "nop" not in it.slots]
    chosen = [random.choice(formats) for _ in range(length)]
    bundles = [CoreBundle(it, tuple(random_instruction(random, isa, slot) for slot in it.slots)) for it in chosen]
    return b"".join(it.encode() for it in bundles) + assemble("done\n" + "nop\n" * 8)


def random_unit(random: Random, name: str, bits: int) -> int | bytes:
    """What a unit of storage holds: now and then what means something."""
    if bits >= 64 and name != "cntr":
        return random.randbytes(bits // 8)
    if name in LOOP:
        return 0
    if name == "crRnd":
        return random.choice(list(ROUNDINGS))
    if name.startswith(("cr", "sr")):
        return random.choice([0, 1, 3])
    any_value = random.getrandbits(bits)
    return random.choice([any_value, any_value & 63, random.choice(CONFIGURATIONS) & ((1 << bits) - 1)])
