"""Which GPU a machine has."""

import pytest

from tilewright.gpu.chips import chips_in, compatible_chip, kfd_chip
from tilewright.gpu.device import DeviceError


@pytest.mark.parametrize(
    "version, chip",
    [
        (90006, "gfx906"),
        (90402, "gfx942"),
        (90500, "gfx950"),
        pytest.param(90010, "gfx90a", id="the stepping is hexadecimal"),
        (110000, "gfx1100"),
        (100306, "gfx1036"),
        (110501, "gfx1151"),
    ],
)
def test_the_drivers_number_names_the_chip(version, chip):
    assert kfd_chip(version) == chip


@pytest.mark.parametrize(
    "chip, known",
    [("sm_90", "sm_90"), ("sm_87", "sm_86"), ("sm_103", "sm_100"), ("gfx942", "gfx942"), ("gfx906", "gfx906")],
)
def test_later_gpus_run_code_for_earlier_ones(chip, known):
    assert compatible_chip(chip) == known


@pytest.mark.parametrize("chip", ["sm_52", "gfx803"])
def test_gpus_that_nothing_can_be_made_for_are_named(chip):
    with pytest.raises(DeviceError, match=f"this machine's GPU is a {chip}, which is none of gfx906, gfx908"):
        compatible_chip(chip)


def test_processors_without_a_chip_are_no_gpus(tmp_path):
    for node, version in enumerate((0, 90010, 90402)):
        folder = tmp_path / str(node)
        folder.mkdir()
        folder.joinpath("properties").write_text(f"cpu_cores_count 8\nsimd_count 0\ngfx_target_version {version}\n")
    assert chips_in(tmp_path) == ["gfx90a", "gfx942"]
    assert chips_in(tmp_path / "nothing") == []
