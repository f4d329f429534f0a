"""What is wrong with tokens whatever a program does: somebody waits for what nobody gives, or is alone with a token."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tilewright.dialects.aie.lookup import parent_tile_element
from tilewright.dialects.aiex.token_memcpy import MemcpyOp
from tilewright.dialects.aiex.tokens import TokenOp, UseTokenOp
from tilewright.ir.diagnostics import emit_warning, fail_op, op_text
from tilewright.passes.design.lower_memcpy.sites import Demand, TokenSites


def check_tokens(sites: TokenSites) -> None:
    for name, token in sites.tokens.items():
        demands = sites.demands[name]
        _check_value(token, sites.limit)
        _check_partners(name, token, demands)
        _check_given(name, token, demands)
        _warn_of_untaken(name, token, demands)
        _warn_of_rivals(name, token, demands)


def _check_value(token: TokenOp, limit: int) -> None:
    value = token.value.value.data
    if not 0 <= value <= limit:
        fail_op(token, f"starts with {value}, but a lock holds 0 to {limit}")


def _check_partners(name: str, token: TokenOp, demands: Sequence[Demand]) -> None:
    """A token tells one from another: what a core does with it all alone tells nobody."""
    holders: set[Operation | None] = {parent_tile_element(demand.op) for demand in demands}
    if len(holders) == 1 and None not in holders:
        fail_op(
            demands[0].op,
            f"uses @{name}, which no copy and no other core uses",
            (token, f"name @{name} in the copy that is to wait for this core, or to be waited for"),
        )


def _check_given(name: str, token: TokenOp, demands: Sequence[Demand]) -> None:
    """Whoever takes more than there is at first needs somebody who gives, on the same tile."""
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


def _tiles(demand: Demand) -> str:
    return ", ".join(str(tuple(place)) for place in sorted(demand.site))


def _warn_of_untaken(name: str, token: TokenOp, demands: Sequence[Demand]) -> None:
    """A lock that is only given to would overflow after some runs."""
    taken = {place for demand in demands if demand.is_acquire for place in demand.site}
    for demand in demands:
        if not demand.is_acquire and not demand.site <= taken:
            text = op_text(demand.op, f"gives @{name} on tile {_tiles(demand)}, where nobody takes it")
            emit_warning(demand.op, text).note(token, "so it is not given")


def _warn_of_rivals(name: str, token: TokenOp, demands: Sequence[Demand]) -> None:
    """A core and a copy that take the same rarely mean it: the copy may get what was meant for the core."""
    takers = [demand for demand in demands if demand.is_acquire]
    for copy in (demand for demand in takers if isinstance(demand.op, MemcpyOp)):
        rival = next((d for d in takers if d.op is not copy.op and _is_rival(d, copy)), None)
        if rival is not None:
            text = op_text(copy.op, f"takes @{name} on tile {_tiles(copy)}, and so does a core: whoever comes first")
            warning = emit_warning(copy.op, text).note(rival.op, "the core takes it here")
            warning.note(token, "let one of them wait for another token")


def _is_rival(core: Demand, copy: Demand) -> bool:
    return isinstance(core.op, UseTokenOp) and not set(core.locks).isdisjoint(copy.locks)
