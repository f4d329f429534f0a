"""Control code of a device as text for the assembler of the columns' microcontrollers.

Source of the syntax: AIETargetUcCert.cpp of mlir-aie at 3ca0193cea9e.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, SymbolRefAttr
from xdsl.ir import Operation

from tilewright.device.layout import WORD_MASK
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.cert import (
    CertApplyOffset57Op,
    CertAttachToGroupOp,
    CertJobOp,
    CertLoadPdiOp,
    CertLocalBarrierOp,
    CertMaskWrite32Op,
    CertNopOp,
    CertPageOp,
    CertPreemptOp,
    CertRemoteBarrierOp,
    CertSectionOp,
    CertUcDmaBdOp,
    CertUcDmaChainOp,
    CertUcDmaWriteDesSyncOp,
    CertWaitTCTSOp,
    CertWrite32Op,
)
from tilewright.dialects.memref.buffers import GlobalOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.escapes import is_plain_word, visible

END_OF_PAGE = ".eop\n\n"


def _word(attr: Any) -> str:
    return f"0x{attr.value.data & WORD_MASK:08x}"


def _number(attr: Any) -> str:
    return str(attr.value.data)


def _short(attr: Any) -> str:
    return str(attr.value.data & 0xFFFF)


def _label(symbol: SymbolRefAttr) -> str:
    return f"@{_name(None, symbol.string_value())}"


def _name(op: Operation | None, name: str) -> str:
    """A name that the assembler reads as one; sections are files as well, and lie beside the main text."""
    # It becomes the name of a file, which must not lead elsewhere.
    if not is_plain_word(name) or "/" in name or name.startswith("."):
        fail(op, f"'{visible(name)}' is no name for the assembler: letters, digits, '_', '.' and '$' can be in one")
    return name


Operands = Callable[[Any], Sequence[str]]
INSTRUCTIONS: Mapping[type[Operation], tuple[str, Operands]] = {
    CertNopOp: ("NOP", lambda op: ()),
    CertMaskWrite32Op: ("MASK_WRITE_32", lambda op: (_word(op.address), _word(op.mask), _word(op.value))),
    CertWrite32Op: ("WRITE_32", lambda op: (_word(op.address), _word(op.value))),
    CertUcDmaWriteDesSyncOp: ("uC_DMA_WRITE_DES_SYNC", lambda op: (_label(op.symbol),)),
    CertWaitTCTSOp: ("WAIT_TCTS", lambda op: (_number(op.tile_id), _number(op.channel_id), _number(op.target_tcts))),
    CertApplyOffset57Op: (
        "APPLY_OFFSET_57",
        lambda op: (_label(op.symbol), _short(op.num_entries), _short(op.offset)),
    ),
    CertLocalBarrierOp: (
        "LOCAL_BARRIER",
        lambda op: (f"$lb{_number(op.local_barrier_id)}", _number(op.num_participants)),
    ),
    CertRemoteBarrierOp: (
        "REMOTE_BARRIER",
        lambda op: (f"$rb{_number(op.remote_barrier_id)}", _number(op.party_mask)),
    ),
    CertLoadPdiOp: ("LOAD_PDI", lambda op: (_number(op.pdi_id), _label(op.symbol))),
    CertPreemptOp: (
        "PREEMPT",
        lambda op: (f"0x{op.id.value.data:04x}", _label(op.save_section), _label(op.restore_section)),
    ),
}
"""The name of each instruction, and its operands as text."""


@dataclass
class Assembly:
    """The main text, and those of sections, which it includes as files called after them: `NAME.asm`."""

    text: str = ""
    sections: dict[str, str] = field(default_factory=dict[str, str])


def cert_assembly(device: DeviceOp) -> Assembly:
    """All control code of a device: first that of group 0, then that of the other groups."""
    assembly = Assembly()
    groups = [op for op in device.body.ops if isinstance(op, CertAttachToGroupOp)]
    groups.sort(key=lambda group: group.group_id.value.data)
    first = f".partition {device.model.columns}column\n.attach_to_group 0\n\n"
    codes = [first + _sections(device.body.ops, assembly) + _code(device.body.ops)]
    # The first group's code follows that of the device in the same text, as upstream writes it.
    for position, group in enumerate(groups):
        number = group.group_id.value.data
        attach = f".attach_to_group {number}\n\n" if number else ""
        text = _sections(group.body.ops, assembly) + attach + _code(group.body.ops)
        if position:
            codes.append(text)
        else:
            codes[0] += text
    chains, data = _chains(device)
    for position, code in enumerate(codes):
        # All groups refer to the same tables, which are written once.
        tables = (chains, data) if position == 0 else ("", "")
        assembly.text += f"{_title('Code')}{code}EOF\n{_title('Data (chains)')}{tables[0]}\n{_title('Data')}{tables[1]}"
    return assembly


def _title(text: str) -> str:
    return f"\n;\n; {text}\n;\n\n"


def _code(ops: Iterable[Operation]) -> str:
    """Pages, and jobs that are in none: each of these is a page."""
    pages = [_by_number(op.jobs) for op in ops if isinstance(op, CertPageOp)]
    text = "".join(f".align 16\n{''.join(map(_job, jobs))}{END_OF_PAGE}" for jobs in pages)
    return text + "".join(_job(job) + END_OF_PAGE for job in _by_number(ops))


def _by_number(ops: Iterable[Operation]) -> list[CertJobOp]:
    return sorted((op for op in ops if isinstance(op, CertJobOp)), key=lambda job: job.number)


def _sections(ops: Iterable[Operation], assembly: Assembly) -> str:
    text = ""
    for section in ops:
        if isinstance(section, CertSectionOp):
            name, code = _name(section, section.sym_name.data), _code(section.body.ops)
            assembly.sections[name] = (f";\n;text\n;\n{code}" if code else "") + "EOF\n\n"
            text += f"{name}:\n.include {name}.asm\n.endl {name}\n\n"
    return text


def _job(job: CertJobOp) -> str:
    return f"START_JOB {job.number}\n{''.join(_instructions(job))}END_JOB\n\n"


def _instructions(job: CertJobOp) -> Iterator[str]:
    for op in job.body.ops:
        if isinstance(op, EndOp):
            continue
        if type(op) not in INSTRUCTIONS:
            fail(op, "Unsupported operation in CertJobOp", (op, "run --aie-npu-to-cert first"))
        name, operands = INSTRUCTIONS[type(op)]
        yield f"  {name:<23}{', '.join(operands(op))}".rstrip() + "\n"


def _chains(device: DeviceOp) -> tuple[str, str]:
    """The descriptors of all chains, and the words that they copy, each once."""
    globals = {op.sym_name.data: op for op in device.body.ops if isinstance(op, GlobalOp)}
    chains, data = "", dict[str, str]()
    for chain in device.body.ops:
        if not isinstance(chain, CertUcDmaChainOp):
            continue
        chains += f"  .align 16\n{_name(chain, chain.sym_name.data) if chain.sym_name is not None else ''}:\n"
        for bd in chain.bds:
            name, follows = _name(bd, bd.remote_address.string_value()), int(bd.next_bd.value.data != 0)
            operands = ("0", _word(bd.local_address), f"@{name}", _number(bd.length), "0", str(follows))
            chains += f"  UC_DMA_BD       {', '.join(operands)}\n"
            # Several descriptors may copy the same words.
            if name not in data:
                data[name] = _data(bd, name, globals.get(name))
    return chains, "".join(data.values())


def _data(bd: CertUcDmaBdOp, name: str, source: GlobalOp | None) -> str:
    if source is None:
        fail(bd, "Global symbol not found", (bd, f"there is no memref.global @{name}"))
    values = source.initial_value
    if values is None:
        fail(bd, "Global symbol has no initial value", (source, "this is the global"))
    if not isinstance(values, DenseIntOrFPElementsAttr):
        fail(bd, "Global symbol initial value is not a dense int array", (source, "this is the global"))
    words = "".join(f"  .long           0x{int(word) & WORD_MASK:08x}\n" for word in values.get_values())
    return f"  .align 16\n{name}:\n{words}"
