"""The AIR programs of bench/gpu, on the emulator: what is measured on a GPU has to be right first."""

import numpy as np
import pytest
from matmul import Tiles, matmul_f32
from messages import all_to_all_writes, round_trips

import tilewright as tw
from tilewright.cli.main import main

TILES = Tiles(32, 32, 8, 8, 4, 4)


@pytest.mark.parametrize(
    "m, n, k",
    [
        pytest.param(64, 32, 16, id="whole tiles"),
        pytest.param(40, 36, 20, id="edges inside of tiles"),
        pytest.param(33, 35, 9, id="rows that are no multiple of 16 bytes"),
    ],
)
def test_matmul(m, n, k):
    random = np.random.default_rng(m)
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, np.float32)
    tw.air.compile(matmul_f32(m, n, k, TILES)).run(a, b, c, chip="sm_90", wave_size=32)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5)


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
