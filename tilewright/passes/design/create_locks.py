"""Gives tokens their locks: one for each release that an acquire of the same value waits for.

The two stand at tiles that share memory, and the lock is in that. Uses of tokens stay as they are, as in upstream's: a
descriptor has room for one lock, and a token that is passed on takes two; --aie-lower-memcpy lowers them otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import LockAction, TileId
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.dma import DmaBody
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import ancestors, device_symbol
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.tokens import TokenOp, UseTokenOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.pass_bases import DevicePass, located, ops_of

EMPTY = 0


class CreateLocksPass(DevicePass):
    name = "aie-create-locks"

    def apply_to(self, device: DeviceOp) -> None:
        tokens = Tokens(device)
        tokens.check()
        for chain in tokens.chains():
            tokens.add_lock(chain)


class Chain(NamedTuple):
    """A release, and an acquire that waits for its value."""

    release: UseTokenOp
    acquire: UseTokenOp


class Tokens:
    """The uses of a device's tokens, in order, and the locks that they become."""

    def __init__(self, device: DeviceOp):
        self.device, self.model = device, device.model
        self.uses = ops_of(all_operations(device.body), UseTokenOp)
        self.tiles = {tile.place: tile for tile in reversed(ops_of(device.body.ops, TileOp))}
        self.taken: dict[TileOp, set[int]] = defaultdict(set)
        for lock in ops_of(device.body.ops, LockOp):
            if isinstance(lock.tile.owner, TileOp) and lock.lock_id is not None:
                self.taken[lock.tile.owner].add(lock.lock_id.value.data)

    def check(self) -> None:
        """Each acquire has a release behind it."""
        waiting = defaultdict[str, list[UseTokenOp]](list)
        for use in self.uses:
            if not isinstance(device_symbol(use, use.token_name), TokenOp):
                fail_op(use, f"names @{use.token_name.root_reference.data}, which is no token of this device")
            before = waiting[use.token_name.root_reference.data]
            if use.lock_action is not LockAction.Release:
                before.append(use)
            elif before:
                before.pop()
        for acquire in (acquire for acquires in waiting.values() for acquire in acquires):
            fail_op(acquire, "is followed by no release of this token: who waits for it would wait for ever")

    def chains(self) -> list[Chain]:
        """By token, in the order of their first releases."""
        releases, acquires = defaultdict[str, list[UseTokenOp]](list), defaultdict[str, list[UseTokenOp]](list)
        for use in self.uses:
            by_token = releases if use.lock_action is LockAction.Release else acquires
            by_token[use.token_name.root_reference.data].append(use)
        return [
            Chain(release, acquire)
            for token, ops in releases.items()
            for release in ops
            for acquire in acquires[token]
            if release.value == acquire.value
        ]

    def add_lock(self, chain: Chain) -> None:
        users = [_user(use) for use in chain]
        tile = self._shared_tile(*users)
        if tile is None:
            # both ends of a transfer use one token with one value, of which a core shares memory with one only
            if sum(isinstance(user, CoreOp) for user in users) == 1:
                return
            text = "waits for a release in a tile that it shares no memory with"
            fail_op(chain.acquire, text, (chain.release, "this one"))
        limit = self.model.num_locks(*tile.place)
        number = next((number for number in range(limit) if number not in self.taken[tile]), None)
        if number is None:
            fail_op(chain.release, f"needs a lock of tile {tuple(tile.place)}, and all {limit} of them are in use")
        self.taken[tile].add(number)
        Rewriter.insert_op(located(LockOp(tile.result, number, EMPTY), tile.location), InsertPoint.after(tile))

    def _shared_tile(self, first: Operation, second: Operation) -> TileOp | None:
        """The tile in whose memory two can have a lock: a DMA has those of its own tile, a core those it reaches."""
        places = [_place(user) for user in (first, second)]
        is_core = [isinstance(user, CoreOp) for user in (first, second)]
        for owner in (0, 1) if not all(is_core) else (1, 0):
            user = 1 - owner
            if is_core[user] and self.model.is_legal_memory_affinity(*places[user], *places[owner]):
                return self.tiles[places[owner]]
        return None


def _user(use: UseTokenOp) -> CoreOp | DmaBody:
    found = next((op for op in ancestors(use) if isinstance(op, CoreOp | DmaBody)), None)
    if found is None:
        fail_op(use, "is neither in a core nor in the DMA of a tile")
    return found


def _place(user: Operation) -> TileId:
    assert isinstance(user, CoreOp | DmaBody)
    if user.place is None:
        fail_op(user, "is at a tile that is not placed; run --aie-place-tiles first")
    return user.place
