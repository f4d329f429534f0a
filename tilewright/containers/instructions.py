"""Files of instruction words: TXN streams and DPU words, as bytes or as any of their texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright import txn
from tilewright.support.structure import ContainerError, Json, Opaque, Span
from tilewright.txn.codec import as_words
from tilewright.txn.dpu import DpuSequence, is_dpu
from tilewright.txn.text import TextError, assemble, disassemble
from tilewright.txn.word_files import WordFile, is_assembly, read_words


@dataclass
class InstructionFile:
    """A stream, and the file that has it."""

    content: txn.Stream | DpuSequence
    file: WordFile | None
    """None for the text that `txn dis` writes."""
    text: bytes | None = None
    """That text, where it is not written just so."""

    @classmethod
    def read(cls, span: Span) -> InstructionFile:
        """A whole file; `ContainerError` with the offset if it is none, or damaged."""
        try:
            return cls._assembly(span) if is_assembly(span.data) else cls._words(span)
        except TextError as error:
            raise ContainerError(None, f"{error.reason}, in line {error.line}, column {error.column}") from None
        except txn.TxnError as error:
            # a file that is wrong from its very beginning is more likely of another kind
            other = "" if error.offset else "neither xclbin, PDI, CDO nor ELF, and no instructions: "
            raise ContainerError(error.offset, other + error.reason) from None

    @classmethod
    def _assembly(cls, span: Span) -> InstructionFile:
        made = cls(assemble(span.data.decode("utf-8", errors="replace")), None)
        made.text = None if made.write() == span.data else span.data
        return made

    @classmethod
    def _words(cls, span: Span) -> InstructionFile:
        file = read_words(span.data)
        try:
            words = as_words(file.data)
            return cls(DpuSequence.read(words) if is_dpu(file.data) else txn.decode(file.data), file)
        except txn.TxnError as error:
            raise txn.TxnError(None if error.offset is None else file.locate(error.offset), error.reason) from None

    @property
    def kind(self) -> str:
        return "dpu" if isinstance(self.content, DpuSequence) else "txn"

    @property
    def form(self) -> str:
        return "assembly" if self.file is None else self.file.form

    def stream(self) -> txn.Stream:
        """The stream, or what does the same as DPU words."""
        try:
            return self.content.stream() if isinstance(self.content, DpuSequence) else self.content
        except txn.TxnError as error:
            raise ContainerError(error.offset, error.reason) from None

    def data(self) -> bytes:
        content = self.content
        words = content.words() if isinstance(content, DpuSequence) else txn.encode(content)
        return words.astype("<u4").tobytes()

    def write(self) -> bytes:
        if self.file is not None:
            return replace(self.file, data=self.data()).write()
        if self.text is not None:
            return self.text
        assert isinstance(self.content, txn.Stream)
        return "".join(f"{line}\n" for line in disassemble(self.content)).encode()

    def to_json(self) -> dict[str, Json]:
        found: dict[str, Json] = {"kind": self.kind, "form": self.form}
        if isinstance(self.content, DpuSequence):
            return found | {"operations": [op.to_json() for op in self.content.operations]}
        operations = [
            {"opcode": op.name, **op.fields} | ({"payload": op.payload.tolist()} if len(op.payload) else {})
            for op in self.content.operations
        ]
        return found | {"header": vars(self.content.header), "operations": operations}

    def opaque(self) -> Iterator[Opaque]:
        if self.text is not None:
            yield Opaque("a text that is not laid out as `txn dis` does it", len(self.text))
        if self.file is not None and self.file.layout_bytes:
            yield Opaque("the layout of a text", self.file.layout_bytes)
