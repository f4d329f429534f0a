"""The `airrt` dialect: what a host asks of an AIR runtime: load segments and herds, move data, wait for events."""

from xdsl.ir import Dialect

from tilewright.dialects.airrt import events, loading, transfers

OPERATIONS = [loading, transfers, events]

AIRRT = Dialect("airrt", [op for module in OPERATIONS for op in module.OPS], events.ATTRS)
