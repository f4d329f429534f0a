"""Passing values into the bodies of ranks, launches, segments and herds, which see nothing else of what is outside."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.air.hierarchy import Hierarchy


class KernelArguments:
    """Makes values available inside of hierarchies, each once."""

    def __init__(self):
        self._passed: dict[tuple[Hierarchy, SSAValue], SSAValue] = {}

    def reach(self, value: SSAValue, op: Operation) -> SSAValue:
        """What `value` is called at `op`, which is somewhere inside of where it is defined."""
        home = value.owner.parent_region() if isinstance(value.owner, Operation) else value.owner.parent
        assert home is not None
        levels: list[Hierarchy] = []
        parent = op.parent_op()
        while parent is not None and not _contains(parent, home):
            if isinstance(parent, Hierarchy):
                levels.append(parent)
            parent = parent.parent_op()
        for level in reversed(levels):
            value = self._inside(level, value)
        return value

    def _inside(self, level: Hierarchy, value: SSAValue) -> SSAValue:
        key = level, value
        if key not in self._passed:
            level.set_kernel_operands([*level.kernel_values, value])
            self._passed[key] = level.block.insert_arg(value.type, len(level.block.args))
        return self._passed[key]


def _contains(op: Operation, region: object) -> bool:
    return any(found is region for found in op.regions)
