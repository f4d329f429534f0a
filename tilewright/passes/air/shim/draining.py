"""Waiting at the end of a launch for all that it started."""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import scf
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.types import TOKEN, AsyncTokenType
from tilewright.rewrite.folding.regions import recreate
from tilewright.rewrite.insertion import building_before

LAUNCH_END = "air.launch_end"


def open_tokens(block: Block) -> list[SSAValue]:
    """The tokens of a block that nobody waits for."""
    values = [*block.args, *(result for op in block.ops for result in op.results)]
    return [value for value in values if isinstance(value.type, AsyncTokenType) and value.first_use is None]


def join_open_tokens(block: Block) -> SSAValue:
    """A token, made at the end of a block, for all that is open there."""
    end = block.last_op
    assert end is not None
    join = WaitAllOp.create(operands=open_tokens(block), result_types=[TOKEN])
    return building_before(end).insert(join).results[0]


def drain(block: Block) -> None:
    """Block, at the end of a block, until all that is open there has ended."""
    end = block.last_op
    assert end is not None
    building_before(end).insert(blocking_wait(open_tokens(block)))


def blocking_wait(tokens: list[SSAValue]) -> WaitAllOp:
    return WaitAllOp.create(operands=tokens, attributes={LAUNCH_END: UnitAttr()})


def hand_on_tokens(switch: scf.IndexSwitchOp) -> None:
    """Let a switch give a token for what the branch that is taken leaves open, for the code around it to wait for."""
    has_token = any(isinstance(result.type, AsyncTokenType) for result in switch.results)
    blocks = [block for region in switch.regions for block in region.blocks]
    if has_token or not any(open_tokens(block) for block in blocks):
        return
    for block in blocks:
        token = join_open_tokens(block)
        end = block.last_op
        assert end is not None
        end.operands = [*end.operands, token]
    new = building_before(switch).insert(recreate(switch, result_types=[*switch.result_types, TOKEN]))
    for old, result in zip(switch.results, new.results, strict=False):
        old.replace_all_uses_with(result)
    Rewriter.erase_op(switch)
