"""Devices, tiles and the cores on them."""

from __future__ import annotations

from typing import Any, cast

from xdsl.ir import Region

from tilewright.device import Arch, DeviceModel, DeviceName, TileType, model
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie import core as core_ops
from tilewright.dialects.aie import tiles as ops
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import UsageTypeError, refuse
from tilewright.iron.builders.operations import build, builder, region_op

AIEDevice = DeviceName
AIETileType = TileType
AIEArch = Arch


class EndOp(OpView):
    """The end of a body or of a chain of descriptors."""

    OP = core_ops.EndOp

    def __init__(self, *, loc: Any = None, ip: Any = None):
        super().__init__(build(core_ops.EndOp, loc=loc, ip=ip))


end = builder(core_ops.EndOp)


class Device(OpView):
    """A design for one device."""

    OP = ops.DeviceOp

    def __init__(self, device: Any, sym_name: str | None = None, *, loc: Any = None, ip: Any = None):
        # other texts and numbers are for the operation to refuse: it knows which there are
        chosen = DeviceName[device] if isinstance(device, str) and device in DeviceName.__members__ else device
        super().__init__(build(ops.DeviceOp, regions=[Region()], device=chosen, sym_name=sym_name, loc=loc, ip=ip))


class Core(OpView):
    """The program of a core."""

    OP = core_ops.CoreOp

    def __init__(
        self,
        tile: Any,
        link_with: str | None = None,
        dynamic_objfifo_lowering: bool | None = None,
        stack_size: int | None = None,
    ):
        # upstream has moved this argument, and says so in these words
        if link_with is not None:
            refuse(
                "Core() no longer accepts link_with. Set link_with= on each external_func() declaration instead; the "
                "aie-assign-core-link-files pass aggregates them onto the core.",
                kind=UsageTypeError,
            )
        settings: dict[str, Any] = {"stack_size": stack_size, "dynamic_objfifo_lowering": dynamic_objfifo_lowering}
        super().__init__(build(core_ops.CoreOp, results=[INDEX], regions=[Region()], tile=tile, **settings))


device = region_op(Device, terminator=EndOp, name="device")
core = region_op(Core, terminator=EndOp, name="core")


class _Tile(OpView):
    """What placed and logical tiles can be asked."""

    @property
    def _tile(self) -> ops.TileOp | ops.LogicalTileOp:
        return cast("ops.TileOp | ops.LogicalTileOp", self.op)

    def is_core_tile(self) -> bool:
        return self._tile.is_core

    def is_mem_tile(self) -> bool:
        return self._tile.is_mem

    def is_shim_noc_tile(self) -> bool:
        return self._tile.tile_type is TileType.ShimNOCTile

    def is_shim_pl_tile(self) -> bool:
        return self._tile.tile_type is TileType.ShimPLTile

    def is_shim_tile(self) -> bool:
        return self._tile.is_shim


class TileOp(_Tile):
    """A tile at a place on the array."""

    OP = ops.TileOp

    def __init__(self, col: int, row: int, *, allocation_scheme: str | None = None, loc: Any = None, ip: Any = None):
        fields: dict[str, Any] = {"col": col, "row": row, "allocation_scheme": allocation_scheme}
        op = build(ops.TileOp, results=[INDEX], loc=loc, ip=ip, **fields)
        super().__init__(op)
        _verify_place(op)

    @property
    def place(self) -> tuple[int, int]:
        return cast(ops.TileOp, self.op).place

    def flows(self, filter_source: bool = False, filter_dest: bool = False, **annotations: Any) -> list[Any]:
        """The flows that begin or end here."""
        from tilewright.iron.placed.searches import find_matching_flows

        return find_matching_flows([self], filter_source, filter_dest, **annotations)

    def locks(self, sym_name: str | None = None, annot: str | None = None, device: Any = None) -> list[Any]:
        """The locks of this tile."""
        from tilewright.iron.placed.searches import find_matching_locks

        return find_matching_locks([self], sym_name, annot, device)

    def __lt__(self, other: TileOp) -> bool:
        return self.place < other.place


def _verify_place(op: ops.TileOp) -> None:
    """Refuse a tile that the device around it does not have, while its line is known."""
    parent = op.parent_op()
    if not isinstance(parent, ops.DeviceOp):
        return
    # upstream's words, but now and not when the module is checked
    column, row = op.place
    for what, index, count in (("column", column, parent.model.columns), ("row", row, parent.model.rows)):
        if index >= count:
            refuse(
                f"'aie.tile' op {what} index ({index}) must be less than the number of {what}s in the device ({count})",
                (parent.location, f"the device is {parent.model}"),
            )


class LogicalTileOp(_Tile):
    """A tile of some kind that placement finds a place for."""

    OP = ops.LogicalTileOp

    def __init__(
        self,
        tile_type: Any,
        *,
        col: int | None = None,
        row: int | None = None,
        allocation_scheme: str | None = None,
        loc: Any = None,
        ip: Any = None,
    ):
        place: dict[str, Any] = {"col": col, "row": row, "allocation_scheme": allocation_scheme}
        super().__init__(build(ops.LogicalTileOp, results=[INDEX], tile_type=tile_type, loc=loc, ip=ip, **place))


def tile(col: int, row: int, *, loc: Any = None, ip: Any = None, allocation_scheme: str | None = None) -> TileOp:
    """The tile at (column, row)."""
    return TileOp(col, row, allocation_scheme=allocation_scheme, loc=loc, ip=ip)


def logical_tile(
    tile_type: Any,
    *,
    col: int | None = None,
    row: int | None = None,
    allocation_scheme: str | None = None,
    loc: Any = None,
    ip: Any = None,
) -> LogicalTileOp:
    """A tile of a kind, anywhere or in a column or a row."""
    return LogicalTileOp(tile_type, col=col, row=row, allocation_scheme=allocation_scheme, loc=loc, ip=ip)


class TargetModel:
    """Facts about a device."""

    def __init__(self, device: DeviceModel):
        self.device = device

    def columns(self) -> int:
        return self.device.columns

    def rows(self) -> int:
        return self.device.rows

    def is_npu(self) -> bool:
        return self.device.is_npu

    def get_target_arch(self) -> Arch:
        return self.device.arch

    def is_core_tile(self, col: int, row: int) -> bool:
        return self.device.is_core_tile(col, row)

    def is_mem_tile(self, col: int, row: int) -> bool:
        return self.device.is_mem_tile(col, row)

    def is_shim_noc_tile(self, col: int, row: int) -> bool:
        return self.device.is_shim_noc(col, row)

    def is_shim_pl_tile(self, col: int, row: int) -> bool:
        return self.device.is_shim_pl(col, row)

    def is_shim_noc_or_pl_tile(self, col: int, row: int) -> bool:
        return self.device.is_shim_tile(col, row)

    def get_num_mem_tile_rows(self) -> int:
        return len(self.device.mem_tile_rows)

    def get_num_locks(self, col: int, row: int) -> int:
        return self.device.num_locks(col, row)

    def get_num_bds(self, col: int, row: int) -> int:
        return self.device.num_bds(col, row)

    def get_local_memory_size(self) -> int:
        return self.device.local_memory_bytes

    def get_mem_tile_size(self) -> int:
        return self.device.mem_tile_bytes


def get_target_model(device: Any) -> TargetModel:
    """The model of a device, given by name or as a member of `AIEDevice`."""
    # a member of `AIEDevice` is equal to MLIR's number for it, too
    found = next((known for known in DeviceName if device == known.name or device == known), None)
    if found is None:
        refuse(f"{device!r} is not a device", (None, f"there are {', '.join(DeviceName.__members__)}"))
    return TargetModel(model(found))
