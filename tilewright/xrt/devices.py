"""Devices, packages and contexts as XRT has them."""

from __future__ import annotations

import platform
import warnings
from pathlib import Path
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

import tilewright
from tilewright.device import DEVICES, DeviceName
from tilewright.device.timing import timing_with
from tilewright.xrt.enums import ContextMode, DeviceInfo
from tilewright.xrt.overloads import Overloads, integer
from tilewright.xrt.packages import ElfPackage, Package, PackagedKernel, XclbinPackage, XrtError, read_package
from tilewright.xrt.partition import Partition

BDF = "0000:00:00.0"
"""The address that a simulated device has on a bus: none."""
T = TypeVar("T")


def enumerate_devices() -> int:
    """How many devices there are: one, which is simulated."""
    return 1


class uuid:
    """What an xclbin is known by."""

    def __init__(self, uuid_str: str = ""):
        try:
            self._value = UUID(uuid_str) if uuid_str else UUID(int=0)
        except ValueError:
            raise XrtError(f"{uuid_str!r} is no uuid") from None

    def to_string(self) -> str:
        return str(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, uuid) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"<uuid {self._value}>"


class xclbin:
    """An xclbin file, and what it says about itself."""

    class xclbinip:
        """A compute unit."""

        def __init__(self, name: str = ""):
            self._name = name

        def get_name(self) -> str:
            return self._name

    class xclbinkernel:
        """A kernel."""

        def __init__(self, kernel: PackagedKernel | None = None):
            self._kernel = kernel

        def get_name(self) -> str:
            return self._kernel.name if self._kernel is not None else ""

        def get_num_args(self) -> int:
            return len(self._kernel.arguments) if self._kernel is not None else 0

    class xclbinmem:
        """A memory."""

        def __init__(self, tag: str = "", base_address: int = 0, size_kb: int = 0, used: bool = False, index: int = 0):
            self._tag, self._base, self._size, self._used, self._index = tag, base_address, size_kb, used, index

        def get_tag(self) -> str:
            return self._tag

        def get_base_address(self) -> int:
            return self._base

        def get_size_kb(self) -> int:
            return self._size

        def get_used(self) -> bool:
            return self._used

        def get_index(self) -> int:
            return self._index

    _forms = Overloads("xclbin()", {}, {"filename": (str, Path)}, {"axlf_data": (bytes, bytearray, memoryview)})

    def __init__(self, *args: Any, **named: Any):
        form, given = self._forms.bind(args, named)
        self._package: XclbinPackage | None = None
        if form == 1:
            self._package = XclbinPackage.read(read_package(str(given["filename"])), str(given["filename"]))
        elif form == 2:
            self._package = XclbinPackage.read(bytes(given["axlf_data"]), "<xclbin>")

    @property
    def package(self) -> XclbinPackage:
        if self._package is None:
            raise XrtError("an empty xclbin object: it was made without a file")
        return self._package

    def get_kernels(self) -> xclbinkernel_vector:
        return xclbinkernel_vector(map(xclbin.xclbinkernel, self.package.kernels))

    def get_xsa_name(self) -> str:
        return self.package.content.header.platform

    def get_uuid(self) -> uuid:
        return uuid(str(self.package.uuid))

    def get_mems(self) -> xclbinmem_vector:
        return xclbinmem_vector(
            xclbin.xclbinmem(it.tag, it.base_address, it.size_kib, bool(it.used), number)
            for number, it in enumerate(self.package.banks)
        )

    def get_axlf(self) -> bytes:
        return self.package.content.write()


class _Vector(list[T], Generic[T]):
    """A list of XRT's, which has no methods but these of lists."""


class xclbinip_vector(_Vector[xclbin.xclbinip]):
    """Compute units."""


class xclbinkernel_vector(_Vector[xclbin.xclbinkernel]):
    """Kernels."""


class xclbinmem_vector(_Vector[xclbin.xclbinmem]):
    """Memories."""


class elf:
    """An ELF file with control code."""

    _forms = Overloads("elf()", {"filename": (str, Path)}, {"data": (bytes, bytearray, memoryview), "size": int})

    def __init__(self, *args: Any, **named: Any):
        form, given = self._forms.bind(args, named)
        if form == 0:
            self.package = ElfPackage.read(read_package(str(given["filename"])), str(given["filename"]))
        else:
            self.package = ElfPackage.read(bytes(given["data"])[: integer(given["size"])], "<elf>")


class program:
    """A full ELF, as something that is to run."""

    def __init__(self, elf: elf):
        self._elf = elf

    def get_partition_size(self) -> int:
        """How many columns it takes."""
        return self._elf.package.columns or 0


class module:
    """The control code of an ELF file."""

    def __init__(self, elf: elf):
        self.package = elf.package
        self._context: hw_context | None = None

    def bind(self, context: hw_context) -> None:
        self._context = context

    def get_hw_context(self) -> hw_context:
        if self._context is None:
            raise XrtError("the module is in no hardware context yet: no kernel was made with it")
        return self._context


class device:
    """The simulated NPU."""

    _forms = Overloads("device()", {}, {"index": int}, {"bdf": str})
    _load_forms = Overloads("load_xclbin()", {"xclbin_path": (str, Path)}, {"xclbin": xclbin})

    def __init__(self, *args: Any, **named: Any):
        form, given = self._forms.bind(args, named)
        if form == 1 and integer(given["index"]) != 0:
            raise XrtError(f"could not open device with index '{integer(given['index'])}': there is one, number 0")
        if form == 2 and given["bdf"] not in (BDF, BDF.partition(":")[2]):
            raise XrtError(f"could not open device '{given['bdf']}': the simulated one is {BDF}")
        self.registered = dict[UUID, xclbin]()
        self.last: uuid | None = None

    def register_xclbin(self, xclbin: xclbin) -> uuid:
        """Let contexts be made for an xclbin."""
        found = xclbin.get_uuid()
        self.registered[UUID(found.to_string())] = xclbin
        self.last = found
        return found

    def load_xclbin(self, *args: Any, **named: Any) -> uuid:
        text = "pyxrt.device.load_xclbin() is deprecated; make a hw_context(device, xclbin) instead"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        form, given = self._load_forms.bind(args, named)
        return self.register_xclbin(given["xclbin"] if form else xclbin(given["xclbin_path"]))

    def get_xclbin_uuid(self) -> uuid:
        return self.last if self.last is not None else uuid()

    def get_info(self, key: DeviceInfo) -> str:
        """What is known about the simulated device; what only real ones have is `NA` or empty."""
        model = DEVICES[DeviceName.npu2]
        known = {
            DeviceInfo.bdf: BDF,
            DeviceInfo.interface_uuid: str(UUID(int=0)),
            DeviceInfo.max_clock_frequency_mhz: str(round(timing_with(model.arch, None).clock_hz / 1e6)),
            DeviceInfo.name: "NPU simulated by tilewright",
            DeviceInfo.host: f'{{"os": "{platform.system()}", "tilewright": "{tilewright.__version__}"}}',
            **dict.fromkeys((DeviceInfo.kdma, DeviceInfo.m2m, DeviceInfo.nodma, DeviceInfo.offline), "0"),
        }
        return known.get(DeviceInfo(key), "{}")


class hw_context:
    """A package on a device: what is loaded stays until the context goes."""

    access_mode = ContextMode
    exclusive, shared = ContextMode.exclusive, ContextMode.shared

    _forms = Overloads(
        "hw_context()",
        {},
        {"device": device, "uuid": uuid},
        {"device": device, "uuid": uuid, "mode": ContextMode},
        {"device": device, "uuid": uuid, "cfg_param": dict},
        {"device": device, "xclbin": xclbin},
        {"device": device, "xclbin": xclbin, "mode": ContextMode},
        {"device": device, "xclbin": xclbin, "cfg_param": dict},
        {"device": device, "xclbin_path": (str, Path)},
        {"device": device, "xclbin_path": (str, Path), "mode": ContextMode},
        {"device": device, "xclbin_path": (str, Path), "cfg_param": dict},
        {"device": device, "cfg_param": dict, "mode": ContextMode},
        {"device": device, "elf": elf},
        {"device": device, "elf": elf, "cfg_param": dict, "mode": ContextMode},
    )

    def __init__(self, *args: Any, **named: Any):
        _, given = self._forms.bind(args, named)
        self._device: device | None = given.get("device")
        self._mode: ContextMode = given.get("mode", ContextMode.shared)
        self._xclbin: xclbin | None = None
        self._partition: Partition | None = None
        if "elf" in given:
            self.add_config(given["elf"])
        elif self._device is not None and (found := self._wanted(self._device, given)) is not None:
            self._xclbin = found
            self._partition = Partition(found.package)

    @staticmethod
    def _wanted(device: device, given: dict[str, Any]) -> xclbin | None:
        if "xclbin_path" in given:
            given["xclbin"] = xclbin(given["xclbin_path"])
        if "xclbin" in given:
            given["uuid"] = device.register_xclbin(given["xclbin"])
        if "uuid" not in given:
            return None
        wanted = cast("uuid", given["uuid"]).to_string()
        found = device.registered.get(UUID(wanted))
        if found is None:
            raise XrtError(f"no xclbin with uuid {wanted} is registered with the device: call register_xclbin() first")
        return found

    @property
    def partition(self) -> Partition:
        if self._partition is None:
            raise XrtError("an empty hardware context: it was made without an xclbin or an ELF file")
        return self._partition

    @property
    def package(self) -> Package:
        return self.partition.package

    def add_config(self, elf: elf) -> None:
        """Give a context without one its configuration."""
        if self._partition is not None:
            raise XrtError("the hardware context has a configuration, and can have one only")
        if not elf.package.is_full:
            raise XrtError(f"{elf.package.file} has no images: a context is made of an xclbin or a full ELF")
        self._partition = Partition(elf.package)

    def get_device(self) -> device:
        if self._device is None:
            raise XrtError("an empty hardware context has no device")
        return self._device

    def get_xclbin_uuid(self) -> uuid:
        return self._xclbin.get_uuid() if self._xclbin is not None else uuid()

    def get_xclbin(self) -> xclbin:
        if self._xclbin is None:
            raise XrtError("the hardware context was made without an xclbin")
        return self._xclbin

    def get_mode(self) -> ContextMode:
        return self._mode

    def banks(self) -> int:
        """How many memories buffers can be in; 0 where any number is taken."""
        return len(self._xclbin.package.banks) if self._xclbin is not None else 0
