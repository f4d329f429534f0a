"""The devices, one row each. Source: AIETargetModel.h and AIEDialect.cpp of mlir-aie at 3ca0193cea9e."""

from collections.abc import Iterator

from .architecture import AIE1, AIE2, AIE2P
from .enums import DeviceName
from .model import DeviceModel


def _rows() -> Iterator[DeviceModel]:
    yield DeviceModel(
        DeviceName.xcvc1902,
        AIE1,
        columns=50,
        rows=9,
        mem_rows=0,
        noc_columns=frozenset({2, 3, 6, 7, 10, 11, 18, 19, 26, 27, 34, 35, 42, 43, 46, 47}),
    )
    yield DeviceModel(
        DeviceName.xcve2302, AIE2, columns=17, rows=4, mem_rows=1, noc_columns=frozenset({2, 3, 6, 7, 10, 11})
    )
    yield DeviceModel(
        DeviceName.xcve2802,
        AIE2,
        columns=38,
        rows=11,
        mem_rows=2,
        noc_columns=frozenset({2, 3, 6, 7, 14, 15, 22, 23, 30, 31, 34, 35}),
    )
    npu1 = (DeviceName.npu1_1col, DeviceName.npu1_2col, DeviceName.npu1_3col, DeviceName.npu1)
    for columns, name in enumerate(npu1, start=1):  # npu1 is the partition of four columns
        yield DeviceModel(
            name,
            AIE2,
            columns=columns,
            rows=6,
            mem_rows=1,
            noc_columns=None,
            is_npu=True,
            is_virtualized=True,
            txn_generation=3,
        )
    for columns in range(1, 9):
        name = DeviceName.npu2 if columns == 8 else DeviceName[f"npu2_{columns}col"]
        yield DeviceModel(
            name,
            AIE2P,
            columns=columns,
            rows=6,
            mem_rows=1,
            noc_columns=None,
            is_npu=True,
            is_virtualized=columns < 8,
            txn_generation=4,
        )


DEVICES = {row.name: row for row in sorted(_rows(), key=lambda row: row.name)}


def whole_array(model: DeviceModel) -> DeviceModel:
    """The device with all columns of an array that a device has some of; that device itself if it has all."""
    alike = (it for it in DEVICES.values() if _but_for_columns(it) == _but_for_columns(model))
    return max(alike, key=lambda it: it.columns)


def _but_for_columns(model: DeviceModel) -> tuple[object, ...]:
    return model.arch, model.txn_generation, model.rows, model.mem_rows


def device_of(name: DeviceName) -> DeviceModel:
    """The device of a name."""
    return DEVICES[name]
