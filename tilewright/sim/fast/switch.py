"""Switches whose routes native code follows: they are looked up in the registers when a word needs one."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tilewright.device.registers import SlaveSlot
from tilewright.sim.fast.blocks import FastFifo, FastSlave
from tilewright.sim.fast.engine import FastEngine
from tilewright.sim.fast.state import MAX_TARGETS, SLOTS, SlaveKind, State
from tilewright.sim.switch import Slave, Switch, Target


class FastSwitch(Switch):
    """After a change all its slave ports lead nobody knows where."""

    fast: FastEngine
    number: int
    before_change: Callable[[], None]

    def bind(self, engine: FastEngine, number: int, before_change: Callable[[], None]) -> None:
        """Let native code know of changes; `number` is that of the tile."""
        self.fast, self.number, self.before_change = engine, number, before_change

    def reconfigure(self) -> None:
        self.before_change()
        for slave in self.slaves.values():
            self.fast.state.slave_known[cast(FastSlave, slave).index] = 0
        super().reconfigure()

    def tell_route(self, slave: FastSlave) -> None:
        """Write down where a slave port leads."""
        state, first = self.fast.state, slave.index * SLOTS
        state.slave_known[slave.index] = 1
        if not self.is_enabled(slave):
            state.slave_kind[slave.index] = SlaveKind.NOWHERE
        elif self.is_packet(slave):
            state.slave_kind[slave.index] = SlaveKind.PACKET
            for slot in range(SLOTS):
                self._tell_rule(slave, slot, first + slot)
        else:
            targets = self.circuit(slave).targets
            state.slave_kind[slave.index] = SlaveKind.CIRCUIT if targets else SlaveKind.NOWHERE
            _put_targets(state, first, targets)

    def _tell_rule(self, slave: Slave, slot: int, rule: int) -> None:
        state, fields = self.fast.state, SlaveSlot.decode([self._slot(slave.number, slot)])
        state.rule_on[rule] = fields["enable"]
        state.rule_id[rule] = fields["id"]
        state.rule_mask[rule] = fields["mask"]
        state.rule_arbiter[rule] = self.number * len(self.arbiters) + fields["arbit"]
        _put_targets(state, rule, tuple(self._selected(fields["arbit"], fields["msel"])))


def _put_targets(state: State, rule: int, targets: tuple[Target, ...]) -> None:
    state.rule_targets[rule] = len(targets)
    for number, target in enumerate(targets, rule * MAX_TARGETS):
        state.target_fifo[number] = cast(FastFifo, target.fifo).number
        state.target_drops[number] = int(target.drops_header)
