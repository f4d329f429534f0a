"""Operations that say something about a program while it runs."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects import cf
from tilewright.native.lanes import constant
from tilewright.native.lowering import Handler, Lowering


def _assert(lowering: Lowering, op: Operation) -> None:
    assert isinstance(op, cf.AssertOp)
    message = op.msg.data.replace("{", "{{").replace("}", "}}")
    lowering.trap_unless(op, lowering[op.arg], f"stops the program: {message}")


def _poison(lowering: Lowering, op: Operation) -> None:
    """A value that nobody may rely on: always the same one, so that two runs are alike."""
    lowering[op.results[0]] = constant(op.results[0].type, 0)


HANDLERS: dict[str, Handler] = {"cf.assert": _assert, "ub.poison": _poison}
