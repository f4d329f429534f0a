"""The names of `pyxrt`: a table made from XRT's type stubs, against what `tilewright.pyxrt` has."""

from __future__ import annotations

import inspect
from enum import Enum, IntEnum
from typing import Any

import pytest

from tilewright import pyxrt
from tilewright.xrt.overloads import Overloads

ENUMERATIONS: dict[str, list[str]] = {
    "xclBOSyncDirection": [
        "XCL_BO_SYNC_BO_TO_DEVICE",
        "XCL_BO_SYNC_BO_FROM_DEVICE",
        "XCL_BO_SYNC_BO_GMIO_TO_AIE",
        "XCL_BO_SYNC_BO_AIE_TO_GMIO",
    ],
    "ert_cmd_state": [
        f"ERT_CMD_STATE_{name}"
        for name in (
            *("NEW", "QUEUED", "COMPLETED", "ERROR", "ABORT", "SUBMITTED", "TIMEOUT", "NORESPONSE", "SKERROR"),
            "SKCRASHED",
        )
    ],
    "xrt_info_device": [
        *("bdf", "interface_uuid", "kdma", "max_clock_frequency_mhz", "m2m", "name", "nodma", "offline", "electrical"),
        *("thermal", "mechanical", "memory", "platform", "pcie_info", "host", "dynamic_regions", "vmr"),
    ],
    "xrt_msg_level": ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"],
    "hw_context.access_mode": ["exclusive", "shared"],
    "kernel.cu_access_mode": ["exclusive", "shared", "none"],
    "bo.flags": ["normal", "cacheable", "device_only", "host_only", "p2p", "svm"],
    "ext.access_mode": ["none", "read", "write", "read_write", "local", "shared", "process", "hybrid"],
    "graph.access_mode": ["exclusive", "primary", "shared"],
}
VALUES = {
    "ert_cmd_state.ERT_CMD_STATE_COMPLETED": 4,
    "ert_cmd_state.ERT_CMD_STATE_ERROR": 5,
    "ert_cmd_state.ERT_CMD_STATE_TIMEOUT": 8,
    "xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE": 1,
    "bo.flags.cacheable": 1 << 24,
    "bo.flags.host_only": 1 << 29,
    "XCL_BO_FLAGS_NONE": 0,
}
"""From `ert.h`, `xrt.h` and `xrt_mem.h`."""
MEMBERS: dict[str, dict[str, list[list[str]]]] = {
    "": {"enumerate_devices": [[]], "log_message": [["level", "tag", "message"]]},
    "uuid": {"__init__": [["uuid_str"]], "to_string": [[]]},
    "hw_context": {
        "__init__": [
            [],
            ["device", "uuid"],
            ["device", "uuid", "mode"],
            ["device", "uuid", "cfg_param"],
            ["device", "xclbin"],
            ["device", "xclbin", "mode"],
            ["device", "xclbin", "cfg_param"],
            ["device", "xclbin_path"],
            ["device", "xclbin_path", "mode"],
            ["device", "xclbin_path", "cfg_param"],
            ["device", "cfg_param", "mode"],
            ["device", "elf"],
            ["device", "elf", "cfg_param", "mode"],
        ],
        "add_config": [["elf"]],
        "get_device": [[]],
        "get_xclbin_uuid": [[]],
        "get_xclbin": [[]],
        "get_mode": [[]],
    },
    "device": {
        "__init__": [[], ["index"], ["bdf"]],
        "register_xclbin": [["xclbin"]],
        "load_xclbin": [["xclbin_path"], ["xclbin"]],
        "get_xclbin_uuid": [[]],
        "get_info": [["key"]],
    },
    "run": {
        "__init__": [[], ["kernel"]],
        "start": [[]],
        "set_arg": [["index", "value"]],
        "wait": [[], ["timeout_ms"]],
        "wait2": [[], ["timeout"]],
        "state": [[]],
        "add_callback": [["state", "callback", "data"]],
        "get_ctrl_scratchpad_bo": [[]],
    },
    "kernel": {
        "__init__": [["device", "uuid", "name", "mode"], ["device", "uuid", "name"], ["ctx", "name"]],
        "group_id": [["index"]],
    },
    "bo": {
        "__init__": [
            ["device", "size", "flags", "group"],
            ["ctx", "size", "flags", "group"],
            ["ctx", "size", "group"],
            ["parent", "size", "offset"],
        ],
        "write": [["data", "seek"]],
        "read": [["size", "skip"]],
        "sync": [["direction", "size", "offset"], ["direction"]],
        "map": [[]],
        "size": [[]],
        "address": [[]],
    },
    "xclbin": {
        "__init__": [[], ["filename"], ["axlf_data"]],
        "get_kernels": [[]],
        "get_xsa_name": [[]],
        "get_uuid": [[]],
        "get_mems": [[]],
        "get_axlf": [[]],
    },
    "xclbin.xclbinip": {"__init__": [[]], "get_name": [[]]},
    "xclbin.xclbinkernel": {"__init__": [[]], "get_name": [[]], "get_num_args": [[]]},
    "xclbin.xclbinmem": {
        "__init__": [[]],
        "get_tag": [[]],
        "get_base_address": [[]],
        "get_size_kb": [[]],
        "get_used": [[]],
        "get_index": [[]],
    },
    "elf": {"__init__": [["filename"], ["data", "size"]]},
    "program": {"__init__": [["elf"]], "get_partition_size": [[]]},
    "module": {"__init__": [["elf"]], "get_hw_context": [[]]},
    "runlist": {
        "__init__": [[], ["hwctx"]],
        "add": [["run"]],
        "execute": [[]],
        "wait": [[], ["timeout"]],
    },
    "ext.bo": {
        "__init__": [
            ["device", "userptr", "size", "access"],
            ["device", "userptr", "size"],
            ["device", "size", "access"],
            ["device", "size"],
            ["device", "pid", "export_handle"],
            ["ctx", "size", "access"],
            ["ctx", "size"],
            ["ctx", "pid", "export_handle"],
        ]
    },
    "ext.kernel": {"__init__": [["ctx", "mod", "name"], ["ctx", "name"]]},
    "graph": {
        "__init__": [["ctx", "name"], ["ctx", "name", "mode"]],
        "reset": [[]],
        "get_timestamp": [[]],
        "gmio_bank_id": [["gmio_name"]],
        "run": [["iterations"]],
        "wait": [["timeout_ms"]],
        "suspend": [[]],
        "resume": [[]],
        "end": [["cycles"]],
        "update": [["port_name", "data"]],
        "read": [["port_name", "size"]],
    },
    "aie.bo": {"__init__": [["device", "size", "flags", "group"], ["ctx", "size", "flags", "group"]]},
    **{
        f"xclbin{name}_vector": {"__init__": [[]], "append": [["value"]], "clear": [[]]}
        for name in ("ip", "kernel", "mem")
    },
}


def found(name: str) -> Any:
    value: Any = pyxrt
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    return value


def forms_of(owner: Any, member: str) -> Overloads | None:
    """The forms of a function that takes several."""
    names = {"__init__": ("_ext_forms", "_forms"), "sync": ("_sync_forms",), "load_xclbin": ("_load_forms",)}
    return next(
        (made for name in names.get(member, ()) if isinstance(made := getattr(owner, name, None), Overloads)), None
    )


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_enumerations_have_the_members(name: str) -> None:
    enumeration = found(name)
    assert issubclass(enumeration, int) and issubclass(enumeration, Enum)
    assert sorted(enumeration.__members__) == sorted(ENUMERATIONS[name])


@pytest.mark.parametrize("name", VALUES)
def test_members_have_the_numbers(name: str) -> None:
    assert int(found(name)) == VALUES[name]


@pytest.mark.parametrize("name", ["hw_context", "kernel", "bo", "ext", "graph"])
def test_members_are_names_of_the_class_too(name: str) -> None:
    enumeration = next(it for it in ENUMERATIONS if it.startswith(f"{name}."))
    for member in ENUMERATIONS[enumeration]:
        assert getattr(found(name), member) == found(enumeration)[member]


def test_levels_of_messages_are_names_of_the_module() -> None:
    assert all(getattr(pyxrt, name) is level for name, level in pyxrt.xrt_msg_level.__members__.items())


@pytest.mark.parametrize(
    ("owner", "member"), [(owner, member) for owner, members in MEMBERS.items() for member in members]
)
def test_functions_take_the_arguments(owner: str, member: str) -> None:
    where, wanted = found(owner), MEMBERS[owner][member]
    if (forms := forms_of(where, member)) is not None:
        have = [list(form) for form in forms.forms]
        assert all(form in have for form in wanted), have
        return
    function = getattr(where, member)
    if owner.endswith("_vector"):
        assert callable(function)
        return
    signature = inspect.signature(function)
    for arguments in wanted:
        count = len(arguments) + (0 if not owner else 1)
        # positional: bindings without names for arguments are called so
        signature.bind(*range(count))
        names = [name for name in signature.parameters if name != "self"]
        assert names[: len(arguments)] == arguments or not set(arguments) <= set(names)


def test_enumerations_are_numbers() -> None:
    assert issubclass(pyxrt.ert_cmd_state, IntEnum)
    assert pyxrt.ext.access_mode.read | pyxrt.ext.access_mode.write == pyxrt.ext.access_mode.read_write
