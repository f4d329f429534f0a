"""Finds places for the buffers of a tile: a `TileMemory` goes in, its buffers come out with addresses.

There are two schemes. Each gives True, or False after reporting why the buffers do not fit.
"""

from tilewright.passes.design.assign_buffer_addresses.bank_aware import allocate_in_banks
from tilewright.passes.design.assign_buffer_addresses.basic_sequential import allocate_sequentially
from tilewright.passes.design.assign_buffer_addresses.tile_memory import TileMemory, shown_name

__all__ = ["TileMemory", "allocate_in_banks", "allocate_sequentially", "shown_name"]
