"""Enumerations of XRT, by the names and numbers that programs have for them.

Sources: `ert.h`, `xrt.h`, `xrt_mem.h`, `xrt_device.h`, `xrt_ext.h`, `xrt_message.h` and `pyxrt.pyi` of XRT.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

XCL_BO_FLAGS_NONE = 0


class SyncDirection(IntEnum):
    """Which way a buffer's bytes go."""

    XCL_BO_SYNC_BO_TO_DEVICE = 0
    XCL_BO_SYNC_BO_FROM_DEVICE = 1
    XCL_BO_SYNC_BO_GMIO_TO_AIE = 2
    XCL_BO_SYNC_BO_AIE_TO_GMIO = 3


class CommandState(IntEnum):
    """How far a run has come, or how it ended."""

    ERT_CMD_STATE_NEW = 1
    ERT_CMD_STATE_QUEUED = 2
    ERT_CMD_STATE_COMPLETED = 4
    ERT_CMD_STATE_ERROR = 5
    ERT_CMD_STATE_ABORT = 6
    ERT_CMD_STATE_SUBMITTED = 7
    ERT_CMD_STATE_TIMEOUT = 8
    ERT_CMD_STATE_NORESPONSE = 9
    ERT_CMD_STATE_SKERROR = 10
    ERT_CMD_STATE_SKCRASHED = 11


class DeviceInfo(IntEnum):
    """What can be asked about a device."""

    bdf = 0
    interface_uuid = 1
    kdma = 2
    max_clock_frequency_mhz = 3
    m2m = 4
    name = 5  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride], as XRT has it
    nodma = 6
    offline = 7
    electrical = 8
    thermal = 9
    mechanical = 10
    memory = 11
    platform = 12
    pcie_info = 13
    host = 14
    dynamic_regions = 17
    vmr = 18


class MessageLevel(IntEnum):
    """How grave a message is."""

    emergency = 0
    alert = 1
    critical = 2
    error = 3
    warning = 4
    notice = 5
    info = 6
    debug = 7


class BufferFlags(IntEnum):
    """Where a buffer is."""

    normal = 0
    cacheable = 1 << 24
    svm = 1 << 27
    device_only = 1 << 28
    host_only = 1 << 29
    p2p = 1 << 30


class ContextMode(IntEnum):
    exclusive = 0
    shared = 1


class ComputeUnitMode(IntEnum):
    exclusive = 0
    shared = 1
    none = 2


class GraphMode(IntEnum):
    exclusive = 0
    primary = 1
    shared = 2


class BufferAccess(IntFlag):
    """Who may use a buffer, and how."""

    none = 0
    read = 1
    write = 2
    read_write = 3
    local = 0
    shared = 4
    process = 8
    hybrid = 16
