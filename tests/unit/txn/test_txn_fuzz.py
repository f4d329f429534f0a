"""Whatever bytes come: a stream is refused with a reason, or every tool on it works and its bytes come back."""

import base64
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import islice
from random import Random

import numpy as np
import pytest
from container_files import DPU_WORDS, hex_lines, words
from damaged_streams import EXAMPLE_NAMES, EXAMPLES, mutated
from elf_files import Reloc, elf_file
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import txn
from tilewright.device.hazards import findings
from tilewright.txn.analysis import differences, hazards, statistics
from tilewright.txn.containers import read_container
from tilewright.txn.lint import lint
from tilewright.txn.opcodes import LAYOUTS
from tilewright.txn.text import assemble, disassemble, explain, model_of

ROUNDS = 1200
MOST_DIFFERENCES = 40


def try_everything(data: bytes) -> bool:
    """Whether it is a stream; if so, all tools have been through it."""
    try:
        stream = txn.decode(data)
    except txn.TxnError as error:
        assert str(error) and (error.offset is None or 0 <= error.offset <= max(len(data), 16))
        return False
    assert txn.encode(stream).astype("<u4").tobytes() == data
    model = model_of(stream.header)
    text = "\n".join(disassemble(stream))
    assert txn.encode(assemble(text)).astype("<u4").tobytes() == data
    for op in stream.operations:
        explain(op, model)
    assert statistics(stream).operations == len(stream.operations)
    assert list(differences(stream, stream)) == []
    for other in map(txn.decode, EXAMPLES):
        for difference in islice(differences(other, stream), MOST_DIFFERENCES):
            assert difference.left and difference.right
    if model is not None:
        for finding in findings(hazards(stream, model)):
            assert finding.hazard.text(model) and list(finding.notes())
        for said in lint(stream, model):
            assert 0 <= said.offset < len(data) and all(said.lines())
    return True


@pytest.mark.parametrize("data", EXAMPLES, ids=EXAMPLE_NAMES)
def test_damaged_streams_are_refused_or_work(data: bytes):
    assert try_everything(data)
    random = Random(17)
    accepted = sum(try_everything(mutated(data, random)) for _ in range(ROUNDS // len(EXAMPLES)))
    assert 0 < accepted < ROUNDS // len(EXAMPLES)


def test_every_cut_is_refused():
    for data in EXAMPLES:
        assert not any(try_everything(data[:length]) for length in range(len(data)))


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40), st.sampled_from([*LAYOUTS]))
def test_any_words_behind_a_header_are_refused_or_work(words: list[int], version: tuple[int, int]):
    header = [0x06040000 | version[1] << 8 | version[0], 0x108, len(words), 4 * (len(words) + 4)]
    try_everything(np.array([*header, *words], dtype="<u4").tobytes())


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "hexadecimal": lambda data: hex_lines(np.frombuffer(data, dtype="<u4", count=len(data) // 4).tolist()),
    "base64": base64.b64encode,
    "ELF": lambda data: elf_file({".ctrltext": data}, [Reloc(".ctrltext", 20, "3")]),
}
SOURCES = [*EXAMPLES, words(*DPU_WORDS)]


@settings(max_examples=150)
@given(st.sampled_from([*FORMS]), st.sampled_from(SOURCES), st.booleans(), st.randoms(use_true_random=False))
def test_whatever_form_it_has_a_file_is_refused_or_works(form: str, source: bytes, inside: bool, random: Random):
    """Damaged before or after it took the form of a file."""
    damaged = FORMS[form](mutated(source, random)) if inside else mutated(FORMS[form](source), random)
    try:
        codes = [code.decode() for code in read_container(damaged).codes.values()]
    except txn.TxnError as error:
        assert str(error) and (error.offset is None or error.offset >= 0)
        return
    for stream in codes:
        assert try_everything(txn.encode(stream).astype("<u4").tobytes())


@given(st.text(max_size=200))
def test_any_text_is_refused_or_assembles(text: str):
    from tilewright.txn.text import TextError

    for source in (text, "txn 0.1 generation 4 columns 8 rows 6 mem_tile_rows 1\n" + text):
        with redirect_stdout(io.StringIO()) as printed:
            try:
                txn.encode(assemble(source))
            except TextError as error:
                assert error.line >= 1 and error.column >= 1 and error.reason
        assert printed.getvalue() == ""
