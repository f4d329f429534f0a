"""Launches become loops over their points, in a launch that has one point and stands for the life of its hardware;
at its end is a wait for all that it started.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.dialects import scf
from tilewright.dialects._syntax import segments
from tilewright.dialects.air.asynchronous import SEGMENT_SIZES
from tilewright.dialects.air.execution import WaitAllOp
from tilewright.dialects.air.levels import LaunchOp, LaunchTerminatorOp
from tilewright.dialects.air.types import TOKEN, AsyncTokenType
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.shim.host_transfers import LAUNCH_END
from tilewright.passes.air.shim.loops import copy_body
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import INDEX, scalar_int
from tilewright.rewrite.folding.regions import recreate

# upstream's mark of a launch that has been serialized
DUMMY = "dummyLaunch"


def launches_in(op: Operation) -> list[LaunchOp]:
    return [found for found in op.walk() if isinstance(found, LaunchOp)]


def serialize_launch(launch: LaunchOp) -> None:
    """Run the points of a launch one after the other."""
    if DUMMY in launch.attributes:
        return
    build = Emitter.before(launch)
    block = Block(arg_types=[value.type for value in launch.kernel_values])
    _fill(launch, block)
    new = LaunchOp.create(
        operands=launch.kernel_values,
        result_types=[TOKEN],
        properties={SEGMENT_SIZES: segments(0, 0, len(launch.kernel_values))},
        attributes=launch.attributes | {DUMMY: BoolAttr.from_bool(True)},
        regions=[Region(block)],
    )
    build.insert(new)
    if launch.token is not None:
        # the new launch blocks: what waited for the old one waits for what that had waited for
        started = build.value(WaitAllOp.create(operands=launch.dependencies, result_types=[TOKEN]))
        launch.token.replace_all_uses_with(started)
    Rewriter.erase_op(launch)


def _fill(launch: LaunchOp, block: Block) -> None:
    """Loops, the first dimension outermost, with the body of the launch in the innermost."""
    build = Emitter.at_end(block, launch.location)
    counts = [_extent(launch, number) for number in range(len(launch.extents))]
    zero, one = build.index(0), build.index(1)
    # a launch without dimensions has one point
    bounds = [build.index(count) for count in counts] or [one]
    tokens = [] if launch.token is None else [build.value(WaitAllOp.create(result_types=[TOKEN]))]
    ids, inner = _nest(bounds, zero, one, tokens, block, launch)
    arguments = [*ids[: len(counts)], *bounds[: len(counts)], *block.args]
    at = InsertPoint.before(inner.last_op) if inner.last_op is not None else InsertPoint.at_end(inner)
    copy_body(launch.block, arguments, Emitter(at, launch.location))
    if tokens:
        # a point has ended when all that it started has
        _end_of(inner).operands = [join_open_tokens(inner)]
    build.insert(LaunchTerminatorOp())


def _nest(
    bounds: Sequence[SSAValue], zero: SSAValue, one: SSAValue, tokens: list[SSAValue], outer: Block, launch: LaunchOp
) -> tuple[list[SSAValue], Block]:
    """The counters of a nest of loops, and its innermost body, which yields what comes in."""
    ids: list[SSAValue] = []
    block = outer
    for bound in bounds:
        body = Block(arg_types=[INDEX, *(token.type for token in tokens)])
        loop = scf.ForOp(zero, bound, one, tokens, Region(body))
        if block is not outer:
            Emitter(InsertPoint.before(_end_of(block)), launch.location).insert(loop)
            _end_of(block).operands = loop.results
        else:
            Emitter.at_end(block, launch.location).insert(loop)
        tokens = list(body.args[1:])
        Emitter.at_end(body, launch.location).insert(scf.YieldOp(*tokens))
        ids.append(body.args[0])
        block = body
    return ids, block


def _extent(launch: LaunchOp, number: int) -> int:
    extent = scalar_int(launch.extents[number])
    if extent is None:
        fail_op(
            launch,
            f"size {number} of the launch is not a constant, so its transfers cannot be planned",
            (launch.extents[number], "make this an arith.constant, or keep the loop over it on the host"),
        )
    return extent


def open_tokens(block: Block) -> list[SSAValue]:
    """The tokens of a block that nothing waits for."""
    values = [*block.args, *(result for op in block.ops for result in op.results)]
    return [value for value in values if isinstance(value.type, AsyncTokenType) and value.first_use is None]


def join_open_tokens(block: Block) -> SSAValue:
    """A token, made at the end of a block, for all that is open there."""
    join = WaitAllOp.create(operands=open_tokens(block), result_types=[TOKEN])
    return Emitter.before(_end_of(block)).value(join)


def drain(block: Block) -> None:
    """Block, at the end of a block, until all that is open there has ended."""
    Emitter.before(_end_of(block)).insert(blocking_wait(open_tokens(block)))


def _end_of(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def blocking_wait(tokens: list[SSAValue]) -> WaitAllOp:
    return WaitAllOp.create(operands=tokens, attributes={LAUNCH_END: UnitAttr()})


def hand_on_tokens(switch: scf.IndexSwitchOp) -> None:
    """Let a switch give a token for what the branch that is taken leaves open, for the code around it to wait for."""
    has_token = any(isinstance(result.type, AsyncTokenType) for result in switch.results)
    blocks = [block for region in switch.regions for block in region.blocks]
    if has_token or not any(open_tokens(block) for block in blocks):
        return
    for block in blocks:
        end = _end_of(block)
        end.operands = [*end.operands, join_open_tokens(block)]
    new = Emitter.before(switch).insert(recreate(switch, result_types=[*switch.result_types, TOKEN]))
    Rewriter.replace_op(switch, (), new.results[:-1])
