"""Replaces values that are always the same constant by that constant; upstream MLIR's pass.

What functions are given counts as unknown, even where all calls agree.
"""

from __future__ import annotations

from typing import TypeAlias

from xdsl.context import Context
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.ir.diagnostics import location_of
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.canonicalization import materialize
from tilewright.rewrite.constant_propagation import ConstantPropagation
from tilewright.rewrite.driver import materialization_region
from tilewright.rewrite.effects import would_be_dead

Key: TypeAlias = "tuple[str, Attribute, Attribute]"


class SccpPass(Pass):
    name = "sccp"
    anchor = None

    def apply(self, ctx: Context, op: Operation) -> None:
        propagate_constants(op)


def propagate_constants(op: Operation) -> None:
    _Replacement(ConstantPropagation(op)).replace_in(op)


class _Replacement:
    """Puts in constants in the order in which MLIR does: each once, the newest at the start of its region."""

    def __init__(self, known: ConstantPropagation):
        self._known = known
        self._constants: dict[Region, dict[Key, SSAValue]] = {}

    def replace_in(self, op: Operation) -> None:
        pending = [block for region in reversed(op.regions) for block in reversed(region.blocks)]
        while pending:
            block = pending.pop()
            for child in list(block.ops):
                if self._replace_results(child) and would_be_dead(child):
                    Rewriter.erase_op(child)
                    continue
                pending.extend(b for region in child.regions for b in reversed(region.blocks))
            for argument in block.args:
                self._replace(argument, block)

    def _replace_results(self, op: Operation) -> bool:
        """Whether all results have been replaced."""
        assert op.parent is not None
        replaced = [self._replace(result, op.parent) for result in op.results]
        return bool(replaced) and all(replaced)

    def _replace(self, value: SSAValue, block: Block) -> bool:
        attribute = self._known.constant(value)
        constant = self._constant(value, attribute, block) if attribute is not None else None
        if constant is None:
            return False
        value.replace_all_uses_with(constant)
        return True

    def _constant(self, value: SSAValue, attribute: Attribute, block: Block) -> SSAValue | None:
        op = value.owner if isinstance(value.owner, Operation) else block.parent_op()
        constant = materialize(op, attribute, value.type) if op is not None else None
        if constant is None:
            return None
        region = materialization_region(block)
        constants, key = self._constants.setdefault(region, {}), (constant.name, attribute, value.type)
        if key not in constants:
            assert region.first_block is not None
            constant.location = location_of(value)
            Rewriter.insert_op(constant, InsertPoint.at_start(region.first_block))
            constants[key] = constant.results[0]
        return constants[key]
