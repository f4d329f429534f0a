"""CUDA's and HIP's devices on a stand-in for the driver: what is called with what, and what becomes of failures."""

import ctypes
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from stand_in import built, needs_compiler

from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.device.tensor_maps import DataType, TensorMap
from tilewright.gpu.cuda import CudaDevice, open_driver
from tilewright.gpu.cuda import open_device as open_cuda_device
from tilewright.gpu.device import DeviceError, DeviceOptions, Heap, Size3
from tilewright.gpu.driver_device import LoadableCode, NoDriver
from tilewright.gpu.hip import HipDevice, open_library
from tilewright.native.kernel_facts import KernelFacts

pytestmark = needs_compiler
ADD_ONE = KernelFacts("add_one", (8, 8, 8, 8, 8), 0, None)
CHIPS = {"cuda": "sm_90", "hip": "gfx942"}


@dataclass
class World:
    rank: int = 0
    size: int = 1
    folder: Path | None = None

    def barrier(self) -> None: ...

    def exchange(self, data: bytes) -> list[bytes]:
        return [data] * self.size

    def make_heap(self, size_bytes: int) -> Heap:
        pytest.fail("the heap of a real GPU is its own memory, not the world's")

    def drop_heap(self, heap: Heap) -> None:
        pytest.fail("there is no heap to drop: none was made")


@pytest.fixture(params=["cuda", "hip"])
def device(request, tmp_path_factory, tmp_path, monkeypatch):
    monkeypatch.setenv("STAND_IN_FOLDER", str(tmp_path))
    return open_one(request.param, tmp_path_factory)


def open_one(kind, tmp_path_factory, world=None, **settings) -> CudaDevice | HipDevice:
    library = built(tmp_path_factory.getbasetemp(), f"lib{kind}-stand-in.so")
    options = DeviceOptions(GPU_TARGETS[CHIPS[kind]], 64, settings=settings)
    if kind == "cuda":
        return CudaDevice(world or World(), options, open_driver.__wrapped__(str(library)))
    return HipDevice(world or World(), options, open_library.__wrapped__((str(library),)))


def flat(address: int, count: int) -> list[bytes]:
    return [number.to_bytes(8, "little") for number in (address, address, 0, count, 1)]


def test_memory_is_allocated_filled_copied_and_freed(device):
    data = (ctypes.c_uint32 * 4)(1, 2, 3, 4)
    address = device.allocate(16)
    device.fill(address, b"\x05\x00\x00\x00", 4)
    device.copy(ctypes.addressof(data), address, 16)
    assert list(data) == [5] * 4
    device.fill(address, b"\x01\x02", 2)
    device.copy(ctypes.addressof(data), address, 4)
    assert data[0] == 0x02010201
    device.free(address)


def test_a_kernel_gets_its_flattened_parameters(device):
    data = (ctypes.c_int32 * 3)(10, 20, 30)
    address = device.allocate(12, host_shared=True)
    device.copy(address, ctypes.addressof(data), 12)
    kernel = device.load_code(LoadableCode(b"code", (ADD_ONE,))).kernel("add_one")
    device.launch(kernel, Size3(1), Size3(3), 0, flat(address, 3))
    device.synchronize()
    device.copy(ctypes.addressof(data), address, 12)
    assert list(data) == [11, 21, 31] and device.counters() == {"launches": 1}
    device.close()


MAP = TensorMap(4096, DataType.TFLOAT32, (100, 7, 3), (4, 400, 2800), (32, 8, 1), swizzle=3, l2_promotion=2)
MAP_WORDS = [
    4096,
    11 | 3 << 8 | 3 << 16 | 2 << 24,
    100,
    7,
    3,
    0,
    0,
    400,
    2800,
    0,
    0,
    *(n | 1 << 32 for n in (32, 8, 1)),
]


def test_a_tensor_map_is_the_drivers_and_passed_by_value(tmp_path_factory, tmp_path, monkeypatch):
    monkeypatch.setenv("STAND_IN_FOLDER", str(tmp_path))
    device, data = open_one("cuda", tmp_path_factory), (ctypes.c_uint64 * 16)()
    copy_map = KernelFacts("copy_map", (128, 8, 8, 8, 8, 8), 0, None)
    kernel = device.load_code(LoadableCode(b"code", (copy_map,))).kernel("copy_map")
    arguments = [device.tensor_map(MAP), *flat(ctypes.addressof(data), 16)]
    device.launch(kernel, Size3(1), Size3(1), 0, arguments)
    assert list(data) == [*MAP_WORDS, 0, 0]


def test_kernels_that_wait_for_the_launch_before_are_launched_early(tmp_path_factory, tmp_path, monkeypatch):
    monkeypatch.setenv("STAND_IN_FOLDER", str(tmp_path))
    device, data = open_one("cuda", tmp_path_factory), (ctypes.c_int32 * 3)(10, 20, 30)
    counted = ctypes.CDLL(str(built(tmp_path_factory.getbasetemp(), "libcuda-stand-in.so")))
    launched_early = ctypes.c_int.in_dll(counted, "launched_early")
    for facts, early in ((ADD_ONE, 0), (replace(ADD_ONE, begins_early=True), 1)):
        before = launched_early.value
        kernel = device.load_code(LoadableCode(b"code", (facts,))).kernel("add_one")
        device.launch(kernel, Size3(1), Size3(3), 48, flat(ctypes.addressof(data), 3))
        assert launched_early.value - before == early
    assert list(data) == [12, 22, 32]


def test_amds_gpus_have_no_tensor_maps(tmp_path_factory, tmp_path, monkeypatch):
    monkeypatch.setenv("STAND_IN_FOLDER", str(tmp_path))
    with pytest.raises(DeviceError, match="has a tensor map; gfx942 has no copy engine"):
        open_one("hip", tmp_path_factory).tensor_map(MAP)


@pytest.mark.parametrize(
    "facts, block, given, text",
    [
        (ADD_ONE, Size3(32), 4, "takes parameters of"),
        (ADD_ONE, Size3(2048), 5, "2048 threads per block"),
        (KernelFacts("add_one", (8,) * 5, 0, (64, 1, 1)), Size3(32), 5, "compiled for blocks of 64 x 1 x 1 threads"),
        (KernelFacts("add_one", (8,) * 5, 0, None, 15), Size3(1024), 5, "can have 15"),
        (KernelFacts("add_one", (8,) * 5, 1 << 20, None), Size3(32), 5, "bytes of shared memory"),
    ],
)
def test_launches_that_cannot_be_are_refused_with_the_reason(device, facts, block, given, text):
    kernel = device.load_code(LoadableCode(b"code", (facts,))).kernel("add_one")
    with pytest.raises(DeviceError, match=text):
        device.launch(kernel, Size3(1), block, 0, flat(0, 1)[:given])


def test_a_kernel_that_goes_wrong_is_reported_with_a_remedy(device):
    facts = KernelFacts("wild", (), 0, None)
    device.launch(device.load_code(LoadableCode(b"code", (facts,))).kernel("wild"), Size3(1), Size3(1), 0, [])
    with pytest.raises(DeviceError, match=r"wait for the kernels: .*IllegalAddress|ILLEGAL_ADDRESS.*emulator"):
        device.synchronize()


def test_what_the_driver_lacks_is_named(device):
    with pytest.raises(DeviceError, match=r"load the kernels: .*GetFunction"):
        device.load_code(LoadableCode(b"code", (KernelFacts("missing", (), 0, None),)))
    with pytest.raises(DeviceError, match=r"allocate 8589934592 bytes: .*no memory left"):
        device.allocate(1 << 33)


def test_the_compilers_words_come_with_the_error(tmp_path_factory, tmp_path, monkeypatch):
    monkeypatch.setenv("STAND_IN_FOLDER", str(tmp_path))
    device = open_one("cuda", tmp_path_factory)
    with pytest.raises(DeviceError, match=r"cannot load the kernels: .*line 1; fatal: Parsing error near 'nonsense'"):
        device.load_code(LoadableCode(b"nonsense", ()))


def test_objects_that_nobody_linked_are_refused(tmp_path_factory, tmp_path, monkeypatch):
    monkeypatch.setenv("STAND_IN_FOLDER", str(tmp_path))
    with pytest.raises(DeviceError, match=r"not linked: link them with ld.lld"):
        open_one("hip", tmp_path_factory).load_code(LoadableCode(b"\x7fELF".ljust(16, b"\0") + b"\1\0", ()))


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_ranks_share_a_gpu_only_when_asked_to_and_it_is_said(kind, tmp_path_factory, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("STAND_IN_FOLDER", str(tmp_path))
    with pytest.raises(DeviceError, match=r"2 ranks and 1 GPU: .*--set share-gpu=yes"):
        open_one(kind, tmp_path_factory, World(0, 2))
    device = open_one(kind, tmp_path_factory, World(0, 2), **{"share-gpu": "yes"})
    assert "ranks share a GPU" in capfd.readouterr().err
    heap = device.make_heap(1000)
    ctypes.memset(heap.bases[0], 7, 4)
    assert heap.bases[0] != heap.bases[1] and ctypes.string_at(heap.bases[1], 5) == b"\7\7\7\7\0"
    device.drop_heap(heap)
    monkeypatch.setenv("STAND_IN_GPUS", "2")
    open_one(kind, tmp_path_factory, World(1, 2))


@pytest.mark.parametrize(
    "variable, value, text",
    [
        ("STAND_IN_INIT", "100", "finds no GPU"),
        ("STAND_IN_VERSION", "11080", "for CUDA 11.8 and the kernels need 12.0"),
    ],
)
def test_no_gpu_and_an_old_driver_are_told_apart(variable, value, text, tmp_path_factory, monkeypatch):
    monkeypatch.setenv(variable, value)
    library = built(tmp_path_factory.getbasetemp(), "libcuda-stand-in.so")
    with pytest.raises(NoDriver, match=text):
        open_driver.__wrapped__(str(library))


def test_no_driver_says_what_to_do():
    with pytest.raises(NoDriver, match=r"no NVIDIA driver on this machine.*air compile"):
        open_driver.__wrapped__("libcuda-is-not-here.so")
    with pytest.raises(NoDriver, match=r"no HIP runtime on this machine.*air compile"):
        open_library.__wrapped__(("libhip-is-not-here.so",))


def test_unknown_settings_are_refused():
    with pytest.raises(DeviceError, match="cuda has no setting speed; there is share-gpu"):
        open_cuda_device(World(), DeviceOptions(GPU_TARGETS["sm_90"], 64, settings={"speed": "high"}))
