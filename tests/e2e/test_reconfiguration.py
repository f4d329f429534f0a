"""One sequence that runs designs after another: by images, by register writes, by control packets."""

import json
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.txn.opcodes import Opcode

RECONFIGURE = Path(__file__).parent / "designs" / "reconfigure.mlir"
MODES: list[Literal["write32", "ctrlpkt"] | None] = [None, "write32", "ctrlpkt"]


def transposed_triple(data: np.ndarray) -> np.ndarray:
    """What the two designs of the file do, one after the other."""
    return (3 * data).reshape(4, 4).T.ravel()


def check(design: tw.Design, model: str = "fast") -> None:
    given, between, result = np.arange(16, dtype=np.int32), np.zeros(16, np.int32), np.zeros(16, np.int32)
    loaded = design.load("main", model=model)
    for turn in (0, 5):  # a second run finds the array as the first one left it
        loaded.run(given + turn, between, result, sequence="both")
        assert (between == 3 * (given + turn)).all()
        assert (result == transposed_triple(given + turn)).all()


@pytest.mark.parametrize("model", ["fast", "plain"])
@pytest.mark.parametrize("mode", MODES)
def test_each_way_to_reconfigure_gives_the_same(mode: Literal["write32", "ctrlpkt"] | None, model: str):
    check(tw.compile(RECONFIGURE, expand_load_pdis=mode), model)


def test_control_packets_replace_all_writes_of_the_configuration():
    """The instructions load the overlay, push transfers and wait; what configures the tiles is in the packets alone."""
    design = tw.compile(RECONFIGURE, expand_load_pdis="ctrlpkt")
    operations = tw.txn.decode(design.txn("both")).operations
    model = design.device("main").model
    shim = {op.address for op in operations if op.opcode in (Opcode.WRITE, Opcode.BLOCKWRITE, Opcode.MASKWRITE)}
    assert {model.locate(address)[0].row for address in shim} == {0}
    packets = design.operation("both").control_packets
    assert packets is not None and packets.argument == 3
    # an image of its own for each device that is configured, since the programs of its cores come with it
    assert [op.id for op in operations if op.opcode == Opcode.LOADPDI] == [6, 5]


@pytest.mark.parametrize("flag, mode", [("--expand-load-pdis", "write32"), ("--load-pdi-to-ctrl-pkt", "ctrlpkt")])
def test_files_of_a_design_keep_what_it_needs(flag: str, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["compile", str(RECONFIGURE), flag, "-o", str(tmp_path)]) == 0
    check(tw.load(tmp_path))
    manifest = json.loads((tmp_path / "design.json").read_text())
    (both,) = next(device for device in manifest["devices"] if device["name"] == "main")["sequences"]
    contents = [argument.get("contents") for argument in both["arguments"]]
    if mode == "write32":
        assert contents == [None] * 3
        return
    assert contents == [None, None, None, "both.ctrlpkt.bin"]
    packets = tw.load(tmp_path).operation("both").control_packets
    assert packets is not None
    assert np.fromfile(tmp_path / "both.ctrlpkt.bin", "<i4").tolist() == list(packets.words)
    # compiled in another way, the file is of no more use
    assert main(["compile", str(RECONFIGURE), "-o", str(tmp_path)]) == 0
    assert not (tmp_path / "both.ctrlpkt.bin").exists()


def test_two_ways_at_once_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    flags = ["--expand-load-pdis", "--load-pdi-to-ctrl-pkt"]
    assert main(["compile", str(RECONFIGURE), *flags, "-o", str(tmp_path / "out")]) == 2
    assert "--expand-load-pdis and --load-pdi-to-ctrl-pkt exclude each other" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_unknown_way_is_refused():
    with pytest.raises(tw.Error, match="expand_load_pdis is one of None, 'write32', 'ctrlpkt', got 'pdi'"):
        tw.compile(RECONFIGURE, expand_load_pdis="pdi")  # pyright: ignore[reportArgumentType]
