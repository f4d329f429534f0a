"""Version 1.0 with the address patches of version 0.1, as the AIE driver has it: tools read the right words."""

import numpy as np
import pytest
from bare_streams import bare, loopback
from drawn_streams import FORMATS

from tilewright import txn
from tilewright.containers.preemption import preemption_code
from tilewright.device import model
from tilewright.lift import to_mlir
from tilewright.txn.analysis import statistics
from tilewright.txn.intent_text import intent_lines
from tilewright.txn.lint import lint
from tilewright.txn.text import TextError, assemble, disassemble
from tilewright.txn.transfers import intent_of

HEADER = [0x06040001, 0x00000101]
# As the driver lays them out: two words of its own, then a structure with the register at its bytes 16 to 23.
LONG_PATCH = [0x81, 48, 0, 0, 0, 0, 0x1D024, 0, 2, 0, 64, 0]
SHORT_PATCH = [0x81, 24, 0x1D024, 2, 64, 0]
WRITE = [0, 0x1D214, 1]


def words(*operations: list[int]) -> np.ndarray:
    body = [word for operation in operations for word in operation]
    return np.array([*HEADER, len(operations), 4 * (4 + len(body)), *body], dtype=np.uint32)


@pytest.mark.parametrize("patch, is_long", [(LONG_PATCH, 1), (SHORT_PATCH, 0)], ids=["long", "short"])
def test_the_size_of_a_patch_tells_where_its_fields_are(patch: list[int], is_long: int):
    given = words(WRITE, patch, WRITE)
    stream = txn.decode(given)
    op = stream.operations[1]
    assert (op.address, op.argument_index, op.argument_offset) == (0x1D024, 2, 64)
    assert stream.header.long_patches == is_long
    assert (txn.encode(stream) == given).all()
    for by_register, said in ((False, "patch shim(0,0) DMA.BD1.word1 = argument 2 + 0x00000040"),
                              (True, "shim(0,0) BD1: address is argument 2 + 64")):  # fmt: skip
        text = [*disassemble(stream, by_register=by_register)]
        assert text[0].endswith(" long_patches") == bool(is_long)
        assert text[2] == said
        assert (txn.encode(assemble("\n".join(text))) == given).all()


def test_two_forms_in_one_stream_are_refused_at_the_second():
    with pytest.raises(txn.TxnError, match="of another form") as error:
        txn.decode(words(SHORT_PATCH, WRITE, LONG_PATCH))
    assert error.value.offset == 4 * (4 + len(SHORT_PATCH) + len(WRITE))


def test_version_0_1_has_no_other_form():
    with pytest.raises(txn.TxnError, match="long_patches = 1 does not fit"):
        txn.Header(long_patches=1)
    with pytest.raises(TextError, match="long_patches = 1 does not fit"):
        assemble("txn 0.1 generation 4 columns 1 rows 6 mem_tile_rows 1 long_patches")


def test_tools_see_the_register_and_the_argument():
    stream = txn.decode(words([0x81, 48, 0, 0, 0, 0, 0xFE01D024, 0, 3, 0, 0, 0]))
    assert statistics(stream).patched_arguments == {3: 1}
    assert [finding.rule.name for finding in lint(stream, model("npu2_1col"))] == ["no-such-tile"]


@pytest.mark.parametrize("format", FORMATS, ids=["0.1", "1.0", "1.0 with long patches"])
def test_all_forms_do_the_same_on_the_array(format: txn.Header):
    header = txn.Header(*format.version, 4, columns=1, long_patches=format.long_patches)
    data = txn.encode(txn.Stream.of(header, loopback(64))).tobytes()
    source, target = np.arange(64, dtype=np.int32), np.zeros(64, dtype=np.int32)
    bare().run(data, {0: source, 2: target})
    assert (source == target).all()


@pytest.mark.parametrize("format", FORMATS, ids=["0.1", "1.0", "1.0 with long patches"])
def test_all_forms_are_sequences_that_give_their_bytes(format: txn.Header):
    header = txn.Header(*format.version, 4, columns=1, long_patches=format.long_patches)
    text = to_mlir(txn.encode(txn.Stream.of(header, loopback(64))))
    assert text.count("arg_idx = 2" if format.version == (0, 1) else "argument_index = 2") == 1


def test_code_of_the_driver_reads_as_transfers():
    """The bytes are aiebu's, whose sums `test_preemption` has."""
    stream = txn.decode(preemption_code(1, saves=True))
    assert stream.header.long_patches == 1
    shown = [*intent_lines(intent_of(stream))]
    assert "27  shim(0,0) S2MM1 writes 65536 words of argument 0 from byte 262144, with a token" in shown
