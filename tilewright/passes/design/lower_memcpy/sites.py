"""Sites of tokens. A token is a counter, a lock, on each tile where something takes from it or gives to it.

A core uses the lock of its own tile. A copy takes a token where it reads and gives it where it writes, except that the
host has no locks. So a token that a copy between tiles both takes and gives goes along with the data. Any other has one
lock for all of its users if some tile is in reach of them all: then a copy may also take a token where it writes (there
is room in the destination) or give it where it reads (the source may be overwritten).

Some uses are wrong whatever a program does: waiting for what is never given, or being alone with a token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Operation

from tilewright.device import LockAction, TileId
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.interfaces import TileElement
from tilewright.dialects.aie.lookup import parent_tile_element, symbol_name
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.token_memcpy import MemcpyOp, TokenUse
from tilewright.dialects.aiex.tokens import TokenOp, UseTokenOp
from tilewright.ir.diagnostics import emit_warning, fail_op, op_text
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.lower_memcpy.copies import CopySide, LockName, TokenCopy, TokenLockUse
from tilewright.rewrite.pass_bases import ops_of

NEIGHBOUR_COST = 16  # a lock in a neighbour, in units of a copy's second choice
Site: TypeAlias = frozenset[TileId]
"""Tiles that each have a lock for a token: several where a copy has several destinations."""


@dataclass(eq=False)
class TokenDemand:
    """A use of a token, by a core or a copy, that takes some of it or gives some."""

    op: Operation
    token: str
    amount: int
    is_acquire: bool
    sites: Sequence[Site]
    """Where that can be done; the best first."""
    meet: Callable[[TokenLockUse], None]
    """Have it done with a lock."""
    is_settled: bool = True
    """Whether only the first site will do, unless all can meet elsewhere."""
    goes_along: bool = False
    """Whether the token is to be somewhere else after the copy than before."""
    site: Site = frozenset()
    """Where it is done."""
    separate: Site = frozenset()
    """Tiles on which the values of the token are told apart."""

    @property
    def locks(self) -> list[LockName]:
        # sorted: a site is a set, whose order is not the same in every run
        names = ((place, self.amount if place in self.separate else None) for place in sorted(self.site))
        return [LockName(self.token, place, value) for place, value in names]

    def cost(self, site: Site) -> int:
        """How far a site is from the best one. A copy has two equal sides, a core is at home in one place."""
        return self.sites.index(site) * (NEIGHBOUR_COST if isinstance(self.op, UseTokenOp) else 1)


class TokenSites:
    """Finds the tiles of all tokens, and tells copies which side takes or gives which."""

    def __init__(self, device: DeviceOp, copies: Sequence[TokenCopy]):
        self.device, self.limit = device, device.model.max_lock_value
        self.tokens = {symbol_name(op) or "": op for op in ops_of(device.body.ops, TokenOp)}
        self.demands: dict[str, list[TokenDemand]] = {name: [] for name in self.tokens}
        self.uses: dict[UseTokenOp, LockName] = {}
        """The lock that each use in a core means."""
        for copy in copies:
            self._add_copy(copy)
        for use in ops_of(all_operations(device), UseTokenOp):
            self._add_use(use)
        for demands in self.demands.values():
            for demand, site in zip(demands, meeting_sites(demands), strict=True):
                demand.site = site
            places = {place for demand in demands for place in demand.site}
            separate = frozenset(place for place in places if _needs_separate_values(self.tokens, demands, place))
            for demand in demands:
                demand.separate = separate

    @property
    def locks(self) -> list[LockName]:
        """Those that somebody takes from, in the order in which they are named. What nobody takes need not be given."""
        every = [demand for demands in self.demands.values() for demand in demands]
        taken = {name for demand in every if demand.is_acquire for name in demand.locks}
        return list(dict.fromkeys(name for demand in every for name in demand.locks if name in taken))

    def settle(self) -> None:
        """Tell copies and cores where to take tokens and to give them."""
        locks = set(self.locks)
        for demand in (demand for demands in self.demands.values() for demand in demands):
            for name in demand.locks:
                if name in locks:
                    demand.meet(TokenLockUse(name, demand.amount))

    def _add_copy(self, copy: TokenCopy) -> None:
        source, targets = [copy.source], list(copy.destinations)
        for use in copy.op.token_uses:
            goes_along = use.acquired > 0 and use.released > 0
            self._add(copy, use, [source, targets], goes_along, is_acquire=True)
            self._add(copy, use, [targets, source], goes_along, is_acquire=False)

    def _add(
        self,
        copy: TokenCopy,
        use: TokenUse,
        groups: Sequence[Sequence[CopySide]],
        goes_along: bool,
        *,
        is_acquire: bool,
    ) -> None:
        amount = use.acquired if is_acquire else use.released
        if not self._check(copy.op, use.name, amount):
            return
        sides = {side.place: side for group in groups for side in group}

        def meet(lock: TokenLockUse) -> None:
            side = sides[lock.name.place]
            (side.acquired if is_acquire else side.released).append(lock)

        tiles = (frozenset(side.place for side in group if not side.is_host) for group in groups)
        sites = [site for site in tiles if site]  # the host has no locks
        has_choice = len(sites) > 1
        demand = TokenDemand(
            copy.op, use.name, amount, is_acquire, sites, meet, not has_choice, goes_along and has_choice
        )
        self.demands[use.name].append(demand)

    def _add_use(self, use: UseTokenOp) -> None:
        token, amount = use.token_name.root_reference.data, use.value.value.data
        if not self._check(use, token, amount):
            return
        holder, home = parent_tile_element(use), place_of(use)
        if holder is None or home is None:
            fail_op(use, "is not in a core, so that nobody can tell which tile it is for")

        def meet(lock: TokenLockUse) -> None:
            self.uses[use] = lock.name

        is_acquire = use.lock_action is not LockAction.Release
        sites = [frozenset({place}) for place in self._reached(holder, home)]
        self.demands[token].append(TokenDemand(use, token, amount, is_acquire, sites, meet))

    def _reached(self, holder: TileElement, home: TileId) -> list[TileId]:
        """Tiles whose locks a core reaches, its own first; a DMA has only its own here."""
        if not isinstance(holder, CoreOp):
            return [home]
        cores, affine = (tile.place for tile in self.device.tiles if tile.is_core), self.device.model
        return [home, *(p for p in cores if p != home and affine.is_legal_memory_affinity(*home, *p))]

    def _check(self, op: UseTokenOp | MemcpyOp, token: str, amount: int) -> bool:
        """Whether there is anything to do; a complaint if a lock cannot do it."""
        if token not in self.tokens:
            fail_op(op, f"uses a token @{token} that the device does not have")
        if not 0 <= amount <= self.limit:
            fail_op(op, f"takes or gives {amount} of a token, but a lock holds 0 to {self.limit}")
        return amount > 0  # none of a token is no use of it


def place_of(use: UseTokenOp) -> TileId | None:
    """The tile that a use of a token is on."""
    holder = parent_tile_element(use)
    return None if holder is None else holder.place


def meeting_sites(demands: Sequence[TokenDemand]) -> list[Site]:
    """A site for each demand on a token: one tile for all of them, or else each where the token is on its way."""
    every = dict.fromkeys(site for demand in demands for site in demand.sites)
    # several destinations would need a lock each
    common = [site for site in every if len(site) == 1 and all(site in demand.sites for demand in demands)]
    if common and not any(demand.goes_along for demand in demands):
        return [min(common, key=lambda site: sum(demand.cost(site) for demand in demands))] * len(demands)
    settled: Mapping[bool, set[TileId]] = {
        kind: {place for d in demands if d.is_settled and d.is_acquire is kind for place in d.sites[0]}
        for kind in (True, False)
    }
    return [_nearest_site(demand, settled[not demand.is_acquire]) for demand in demands]


def _nearest_site(demand: TokenDemand, partners: set[TileId]) -> Site:
    """The site of a demand of the opposite kind; the best one if that does not decide."""
    if demand.is_settled or demand.goes_along:
        return demand.sites[0]
    return next((site for site in demand.sites if site & partners), demand.sites[0])


def _needs_separate_values(tokens: Mapping[str, TokenOp], demands: Sequence[TokenDemand], place: TileId) -> bool:
    """Whether values of a token stand for steps: a core takes one and gives another, which it must not take itself.

    Then taking a value pairs with giving the same value.
    """
    here = [demand for demand in demands if place in demand.site]
    taken, given = ({d.amount for d in here if d.is_acquire is kind} for kind in (True, False))
    if len(taken) < 2 or taken != given or tokens[here[0].token].value.value.data > 0:
        return False
    takers, givers = ({parent_tile_element(d.op) for d in here if d.is_acquire is kind} for kind in (True, False))
    return any(isinstance(holder, CoreOp) for holder in takers & givers)


def check_sides(copies: Sequence[TokenCopy]) -> None:
    """A descriptor waits for one lock and tells one."""
    for copy in copies:
        for side in copy.sides:
            for uses, verb in ((side.acquired, "takes"), (side.released, "gives")):
                if len(uses) > 1:
                    names = ", ".join(f"@{use.name.token}" for use in uses)
                    fail_op(
                        copy.op,
                        f"{verb} {len(uses)} tokens on tile {tuple(side.place)} ({names}), whose descriptors have "
                        "one lock for that",
                        (copy.op, "let one token stand for all of them, with a value that is the sum"),
                    )


def check_tokens(sites: TokenSites) -> None:
    for name, token in sites.tokens.items():
        demands, value = sites.demands[name], token.value.value.data
        if not 0 <= value <= sites.limit:
            fail_op(token, f"starts with {value}, but a lock holds 0 to {sites.limit}")
        _check_partners(name, token, demands)
        _check_given(name, token, demands)
        _warn_of_untaken(name, token, demands)
        _warn_of_rivals(name, token, demands)


def _check_partners(name: str, token: TokenOp, demands: Sequence[TokenDemand]) -> None:
    """A token tells one from another: one that a single core uses tells nothing."""
    holders: set[Operation | None] = {parent_tile_element(demand.op) for demand in demands}
    if len(holders) == 1 and None not in holders:
        fail_op(
            demands[0].op,
            f"uses @{name}, which no copy and no other core uses",
            (token, f"name @{name} in the copy that is to wait for this core, or to be waited for"),
        )


def _check_given(name: str, token: TokenOp, demands: Sequence[TokenDemand]) -> None:
    """Taking more than there is at first needs giving, on the same tile."""
    given = {place: demand for demand in demands if not demand.is_acquire for place in demand.site}
    for demand in demands:
        if demand.is_acquire and demand.amount > token.value.value.data and not demand.site <= given.keys():
            elsewhere = next(iter(given.values()), None)
            where = " there" if elsewhere is not None else ""
            notes = [(elsewhere.op, "it is given here, on another tile")] if elsewhere is not None else []
            fail_op(
                demand.op,
                f"waits for {demand.amount} of @{name} on tile {_tiles(demand)}, which nobody gives{where}",
                (token, f"it starts with {token.value.value.data}"),
                *notes,
            )


def _tiles(demand: TokenDemand) -> str:
    return ", ".join(str(tuple(place)) for place in sorted(demand.site))


def _warn_of_untaken(name: str, token: TokenOp, demands: Sequence[TokenDemand]) -> None:
    """A lock that is only given to would overflow after some runs."""
    taken = {place for demand in demands if demand.is_acquire for place in demand.site}
    for demand in demands:
        if not demand.is_acquire and not demand.site <= taken:
            text = op_text(demand.op, f"gives @{name} on tile {_tiles(demand)}, where nobody takes it")
            emit_warning(demand.op, text).note(token, "so it is not given")


def _warn_of_rivals(name: str, token: TokenOp, demands: Sequence[TokenDemand]) -> None:
    """A core and a copy that take the same rarely mean it: the copy may get what was meant for the core."""
    takers = [demand for demand in demands if demand.is_acquire]
    cores = [demand for demand in takers if isinstance(demand.op, UseTokenOp)]
    for copy in (demand for demand in takers if isinstance(demand.op, MemcpyOp)):
        rival = next((core for core in cores if not set(core.locks).isdisjoint(copy.locks)), None)
        if rival is not None:
            text = op_text(copy.op, f"takes @{name} on tile {_tiles(copy)}, and so does a core: whoever comes first")
            warning = emit_warning(copy.op, text).note(rival.op, "the core takes it here")
            warning.note(token, "let one of them wait for another token")
