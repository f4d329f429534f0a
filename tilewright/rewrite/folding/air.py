"""Folding and canonical forms of AIR programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tilewright.dialects.air.addressing import TranslateOp
from tilewright.rewrite.folding.air_bodies import (
    carry_tokens_into_loops,
    drop_unused_arguments,
    drop_unused_channel,
    fold_execute,
)
from tilewright.rewrite.folding.air_tokens import drop_false_dependencies, fold_wait_all
from tilewright.rewrite.folding.air_transfers import constants_to_numbers, drop_self_copy, views_to_buffers

Pattern: TypeAlias = Callable[[Any, PatternRewriter], None]


def _fold_translate(op: TranslateOp) -> Sequence[SSAValue] | None:
    return (op.source,) if op.is_identity else None


FOLDERS = {"air.translate": _fold_translate}

_HIERARCHY: tuple[Pattern, ...] = (drop_unused_arguments, drop_false_dependencies, carry_tokens_into_loops)
_CHANNEL_END: tuple[Pattern, ...] = (constants_to_numbers, views_to_buffers, drop_false_dependencies)

PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "air.channel": (drop_unused_channel,),
    "air.channel.get": _CHANNEL_END,
    "air.channel.put": _CHANNEL_END,
    "air.dma_memcpy_nd": (constants_to_numbers, drop_self_copy, views_to_buffers, drop_false_dependencies),
    "air.execute": (fold_execute, drop_false_dependencies, carry_tokens_into_loops),
    "air.herd": _HIERARCHY,
    "air.launch": _HIERARCHY,
    "air.rank": _HIERARCHY,
    "air.segment": _HIERARCHY,
    "air.wait_all": (fold_wait_all, drop_false_dependencies),
}
