"""Access to a buffer or a lock: by the core and the DMAs of tiles that reach its memory."""

from __future__ import annotations

from tilewright.dialects.aie.interfaces import SkipAccessibilityCheck, TileElement
from tilewright.dialects.aie.lookup import ancestors, device_model, is_device_body, parent_tile_element
from tilewright.ir.diagnostics import VerifyError


def verify_users_reach(element: TileElement) -> None:
    """Every user of a buffer or lock stands in a tile that reaches it; unplaced ones are checked once placed."""
    tile = element.tile_like
    if tile is None or not tile.is_placed or tile.place is None:
        return
    home = tile.place
    device = device_model(element)
    for use in element.results[0].uses:
        user = use.operation
        # at the top of a device, and where nothing is tied to a tile yet, elements of any tile may be named
        is_exempt = any(op.has_trait(SkipAccessibilityCheck) for op in (user, *ancestors(user)))
        if is_device_body(user.parent_op()) or is_exempt:
            continue
        holder = user if isinstance(user, TileElement) else parent_tile_element(user)
        if holder is None:
            raise VerifyError("is accessed outside of a tile", (user, "user"))
        place = holder.place
        if place is not None and not device.is_legal_memory_affinity(*place, *home):
            raise VerifyError(
                f"in Column {home.column} and Row {home.row} is accessed from an unreachable tile in Column "
                f"{place.column} and Row {place.row}",
                (user, "user"),
            )
