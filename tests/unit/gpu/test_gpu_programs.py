"""The AIR programs of bench/gpu, on the emulator: what is measured on a GPU has to be right first."""

import pytest
from messages import all_to_all_writes, round_trips

import tilewright as tw
from tilewright.cli.main import main


@pytest.mark.parametrize("protocol", ["line", "ordered"])
def test_round_trips_get_every_word_right(protocol):
    result = tw.air.compile(round_trips(protocol, 5)).run(chip="sm_90", wave_size=32)
    assert result.output.count("wrong: 0") == 2


def test_all_ranks_get_what_all_wrote():
    result = tw.air.compile(all_to_all_writes(3, 256, 2, 2, waves=1)).run(chip="sm_90", wave_size=32)
    assert result.output.count("wrong: 0") == 3


@pytest.mark.parametrize("target", ["sm_80", "gfx942", "emulator"])
def test_a_kernel_calls_only_what_has_a_body(target, tmp_path, capsys):
    text = """module attributes {gpu.container_module} {
  gpu.module @k {
    func.func private @barrier()
    gpu.func @f() kernel {
      func.call @barrier() : () -> ()
      gpu.return
    }
  }
  func.func @main() {
    %one = arith.constant 1 : index
    gpu.launch_func @k::@f blocks in (%one, %one, %one) threads in (%one, %one, %one)
    return
  }
}"""
    (tmp_path / "program.mlir").write_text(text)
    if target == "emulator":
        with pytest.raises(tw.Error, match="calls @barrier, which has no body"):
            tw.air.compile(text).run(timeout=20)
    else:
        assert main(["air", "compile", str(tmp_path / "program.mlir"), "--target", target, "--emit", "llvm"]) == 1
        assert "calls @barrier, which has no body" in capsys.readouterr().err
