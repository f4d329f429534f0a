"""The TXN words of a sequence in which everything is known, and which operation each of them came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.ir import Operation

from tilewright.codegen.interpreter import TO_BINARY, EmittedWords, Interpreter, Refused
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aiex import firmware, instructions, operation, queue
from tilewright.ir.diagnostics import CompileError, Diagnostic, Severity, diagnose, op_text
from tilewright.txn.codec import header_words
from tilewright.txn.opcodes import LAYOUTS, VERSION, Opcode

HEADER_WORDS = 4

NOT_CONSTANT: dict[type[Operation], str] = {
    instructions.NpuSyncOp: f"Cannot translate sync with non-constant operands {TO_BINARY}",
    instructions.NpuWrite32Op: f"Cannot translate write32 with non-constant address or value {TO_BINARY}",
    instructions.NpuMaskWrite32Op: (
        f"Cannot translate maskwrite32 with non-constant address, value, or mask {TO_BINARY}"
    ),
    instructions.NpuMaskPollOp: f"Cannot translate maskpoll with non-constant address, value, or mask {TO_BINARY}",
    queue.NpuAddressPatchOp: f"Cannot translate address_patch with non-constant arg_plus {TO_BINARY}",
    operation.NpuOperationOp: f"Cannot translate operation with non-constant words {TO_BINARY}",
    instructions.NpuWriteWordsOp: f"Cannot translate write_words with non-constant address or words {TO_BINARY}",
}
RUNTIME_REGISTER = (
    f"Cannot translate address_patch with a runtime register address (addr_val) {TO_BINARY}; "
    "the runtime-bd_id pool path targets the C++ TXN target only"
)

# What location maps call the operations of a stream, and whether these have an address there.
MAP_NAMES: dict[type[Operation], tuple[str, bool]] = {
    firmware.NpuCreateScratchpadOp: ("CREATE_SCRATCHPAD", False),
    firmware.NpuLoadPdiOp: ("LOAD_PDI", False),
    firmware.NpuPreemptOp: ("PREEMPT", False),
    firmware.NpuUpdateFromScratchpadOp: ("UPDATE_FROM_SCRATCHPAD", False),
    instructions.NpuBlockWriteOp: ("BLOCKWRITE", True),
    instructions.NpuWriteWordsOp: ("BLOCKWRITE", True),
    instructions.NpuMaskPollOp: ("MASKPOLL", True),
    instructions.NpuMaskWrite32Op: ("MASKWRITE", True),
    instructions.NpuSyncOp: ("TCT", False),
    instructions.NpuWrite32Op: ("WRITE32", True),
    operation.NpuOperationOp: ("OPERATION", False),
    queue.NpuAddressPatchOp: ("ADDRESS_PATCH", True),
}


@dataclass(frozen=True)
class StreamEntry:
    """Some words of a stream, and the operation that they came from."""

    start: int
    """Number of the first word, the header's counted."""
    count: int
    op: Operation
    kind: str
    address: int | None
    """The register that the operation is about."""


@dataclass(frozen=True)
class StaticWords:
    """A whole stream, header included, with the entry of each operation."""

    words: list[int]
    entries: list[StreamEntry]


def static_words(sequence: RuntimeSequenceOp, emitter: TxnEmitter) -> StaticWords:
    """The stream; a `DiagnosedError` names every operation that depends on what is known only at run time."""
    errors: list[Diagnostic] = []
    words, entries = [0] * HEADER_WORDS, list[StreamEntry]()
    try:
        for emitted in Interpreter(sequence, emitter, report=errors.append).run():
            # Goes on after an error, to report all operations that depend on runtime values.
            if None in emitted.words:
                errors.append(diagnose(Severity.ERROR, emitted.op, op_text(emitted.op, _complaint(emitted))))
                continue
            known = cast(list[int], emitted.words)
            kind, has_address = MAP_NAMES[type(emitted.op)]
            at = LAYOUTS[VERSION][Opcode(known[0] & 0xFF)].fields["address"].word if has_address else None
            entries.append(StreamEntry(len(words), len(known), emitted.op, kind, None if at is None else known[at]))
            words += known
    except Refused as error:
        errors.append(diagnose(Severity.ERROR, error.op, op_text(error.op, error.text)))
    if errors:
        # Each error once, however often what it is about is executed.
        raise CompileError(list({(error.text, error.location): error for error in errors}.values()))
    words[:HEADER_WORDS] = header_words(emitter.header, len(entries), len(words) * WORD_BYTES)
    return StaticWords(words, entries)


def _complaint(emitted: EmittedWords) -> str:
    if isinstance(emitted.op, queue.NpuAddressPatchOp):
        fields = LAYOUTS[VERSION][Opcode.DDR_PATCH].fields
        if emitted.words[fields["address"].word] is None:
            return RUNTIME_REGISTER
        if emitted.words[fields["argument_index"].word] is None:
            return f"Cannot translate address_patch with a runtime argument {TO_BINARY}"
    return NOT_CONSTANT[type(emitted.op)]
