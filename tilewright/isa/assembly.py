"""Assembly text to bundles: the syntax of listings, a bundle in a line, instructions between semicolons.

    loop: lda r0, [p0], #4; mov r18, p6     a label is its address wherever a number may stand
    jnz r0, #loop

An instruction takes the slot that its row says; the smallest format with all slots is taken, and slots that are left
over do nothing. `.align 16` fills with `nop` up to such an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tilewright.errors import Error, near_match
from tilewright.isa.bundles import CoreBundle, CoreInstruction
from tilewright.isa.registers import CoreRegister, RegisterClass
from tilewright.isa.tables import BundleFormat, InstructionRow, InstructionSet, instruction_set, placeholders

_LABEL = re.compile(r"\s*([A-Za-z_]\w*):(?!\w)")
_ALIGN = re.compile(r"\.align\s+(\d+)$")
_OPERAND = r"([^,;\[\]\s]+)"
NOP_BYTES = 2


class AssemblyError(Error, ValueError):
    """A line that is no bundle, and why."""

    def __init__(self, reason: str, line: int | None = None):
        self.reason, self.line = reason, line
        super().__init__(reason if line is None else f"line {line}: {reason}")


def assemble(text: str, isa: InstructionSet | None = None, *, address: int = 0) -> bytes:
    """The bytes of lines of assembly; the first is at `address`."""
    isa = isa or instruction_set()
    labels = dict[str, int]()
    # a number takes the same bits whatever it is, so that sizes are known before labels are
    for name, at, _, _ in _lines(text, isa, {}, address):
        if name:
            if name in labels:
                raise AssemblyError(f"the label {name!r} stands in two places")
            labels[name] = at
    return b"".join(code for _, _, code, _ in _lines(text, isa, labels, address))


def _lines(
    text: str, isa: InstructionSet, labels: Mapping[str, int], address: int
) -> Iterator[tuple[str, int, bytes, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("//")[0].strip()
        while found := _LABEL.match(line):
            yield found[1], address, b"", number
            line = line[found.end() :].strip()
        if not line:
            continue
        try:
            if aligned := _ALIGN.match(line):
                code = _fill(-address % int(aligned[1]), isa)
            else:
                code = assemble_bundle(line, isa, labels=labels).encode()
        except AssemblyError as error:
            raise AssemblyError(error.reason, number) from None
        yield "", address, code, number
        address += len(code)


def _fill(size: int, isa: InstructionSet) -> bytes:
    if size % NOP_BYTES:
        raise AssemblyError("an odd address cannot be aligned")
    return assemble_bundle("nop", isa).encode() * (size // NOP_BYTES)


def assemble_bundle(
    text: str, isa: InstructionSet | None = None, *, labels: Mapping[str, int] | None = None
) -> CoreBundle:
    """The bundle of a line. Names of `labels` are numbers; where there are none, every name is 0."""
    isa = isa or instruction_set()
    parts = [part.strip() for part in text.split(";")]
    found = [[*_candidates(part, isa, labels or {})] for part in parts if part]
    chosen = _slots(found, isa)
    if chosen is None:
        slots = "; ".join("/".join(sorted({it.row.slot for it in options})) for options in found)
        raise AssemblyError(f"no bundle has these slots together: {slots}")
    form, instructions = chosen
    nops = {slot: CoreInstruction(isa.nops[slot], {}) for slot in form.slots}
    by_slot = nops | {it.row.slot: it for it in instructions}
    return CoreBundle(form, tuple(by_slot[slot] for slot in isa.slots.values() if slot in form.slots))


def _slots(
    options: list[list[CoreInstruction]], isa: InstructionSet
) -> tuple[BundleFormat, list[CoreInstruction]] | None:
    """The smallest format with a slot for each instruction; instructions with several rows take the first that fits."""
    best: tuple[tuple[int, int], BundleFormat, list[CoreInstruction]] | None = None
    for chosen in _choices(options, []):
        slots = {it.row.slot for it in chosen}
        for form in isa.formats:
            rank = (form.size, len(form.slots))
            if slots <= form.slots.keys() and (best is None or rank < best[0]):
                best = rank, form, chosen
    return best and best[1:]


def _choices(options: list[list[CoreInstruction]], chosen: list[CoreInstruction]) -> Iterator[list[CoreInstruction]]:
    if len(chosen) == len(options):
        yield chosen
        return
    for it in options[len(chosen)]:
        if all(it.row.slot != other.row.slot for other in chosen):
            yield from _choices(options, [*chosen, it])


def _candidates(text: str, isa: InstructionSet, labels: Mapping[str, int]) -> Iterable[CoreInstruction]:
    mnemonic, _, rest = " ".join(text.split()).partition(" ")
    rows = isa.by_mnemonic.get(mnemonic.lower())
    if rows is None:
        raise AssemblyError(f"no instruction {mnemonic!r}{near_match(mnemonic, isa.by_mnemonic)}")
    found = [made for row in rows if (made := _matched(row, f"{mnemonic.lower()} {rest}".strip(), labels))]
    if not found:
        syntaxes = " or ".join(f"`{it}`" for it in dict.fromkeys(row.syntax for row in rows))
        raise AssemblyError(f"`{text}` has other operands than {syntaxes}, or registers and numbers that do not fit")
    return found


def _matched(row: InstructionRow, text: str, labels: Mapping[str, int]) -> CoreInstruction | None:
    pieces = [*placeholders(row.syntax)]
    pattern = "".join(re.escape(before) + (_OPERAND if letter else "") for before, letter in pieces)
    pattern = re.sub(r",\\ ", r",\\s*", pattern)
    found = re.fullmatch(pattern, text, re.IGNORECASE)
    if found is None:
        return None
    operands = dict[str, CoreRegister | int]()
    for (_, letter), word in zip(pieces, found.groups(), strict=False):
        value = _value(word, row, letter, labels)
        if value is None or (letter in operands and operands[letter] != value):
            return None
        operands[letter] = value
    return CoreInstruction(row, operands)


def _value(word: str, row: InstructionRow, letter: str, labels: Mapping[str, int]) -> CoreRegister | int | None:
    kind = row.coded[letter]
    if isinstance(kind, RegisterClass):
        return next((it for it in kind.by_code.values() if it.name.lower() == word.lower()), None)
    if not word.startswith("#"):
        return None
    try:
        value = int(word[1:], 0)
    except ValueError:
        if labels and word[1:] not in labels:
            raise AssemblyError(f"no label {word[1:]!r}{near_match(word[1:], labels)}") from None
        value = labels.get(word[1:], 0)
    return None if kind.code(value) is None else value
