"""Which GPU a machine has."""

import pytest

from tilewright.gpu.chips import chips_in, kfd_chip


@pytest.mark.parametrize(
    "version, chip",
    [
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


def test_processors_without_a_chip_are_no_gpus(tmp_path):
    for node, version in enumerate((0, 90010, 90402)):
        folder = tmp_path / str(node)
        folder.mkdir()
        folder.joinpath("properties").write_text(f"cpu_cores_count 8\nsimd_count 0\ngfx_target_version {version}\n")
    assert chips_in(tmp_path) == ["gfx90a", "gfx942"]
    assert chips_in(tmp_path / "nothing") == []
