"""Operations made cheaply are those that xDSL makes."""

from __future__ import annotations

from collections.abc import Iterator

import mlir_modules
import pytest
from xdsl.dialects.builtin import i32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Operation, Region

from tilewright.dialects.builtin import ModuleOp
from tilewright.ir.context import make_context
from tilewright.ir.create import (
    append_operation,
    clone_operation,
    create_operation,
    erase_operation,
    with_cheap_create,
)
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text


def test_rebuilt_programs_are_the_same() -> None:
    """Each operation of a random program, built again by xDSL from what the reader made, prints the same."""
    program = next(mlir_modules.modules(seed=7, count=1, operations=300))
    module = parse_source(make_context(allow_unregistered=True), program, "t.mlir")
    text = module_text(module, generic=True)
    for op in [op for op in module.walk() if not op.regions and not op.successors]:
        built = Operation.create.__func__(
            type(op),
            operands=op.operands,
            result_types=op.result_types,
            properties=op.properties,
            attributes=op.attributes,
        )
        assert op.parent is not None
        op.parent.insert_op_before(built, op)
        for old, new in zip(op.results, built.results, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()
    assert module_text(module, generic=True) == text


OUT_OF_ORDER = """
"test.op"() ({
  %early = "test.op"(%late) : (i32) -> i32
  %late = "test.op"(%early) : (i32) -> i32
}) : () -> ()
func.func @branches(%n: i32, %more: i1) {
  cf.br ^last(%n : i32)
^first(%a: i32):
  cf.cond_br %more, ^first(%n : i32), ^last(%a : i32)
^last(%b: i32):
  cf.br ^first(%b : i32)
}
"""


@pytest.mark.parametrize("seed", [None, *range(3)], ids=lambda seed: "out of order" if seed is None else f"seed {seed}")
def test_clones_are_those_of_xdsl_and_share_nothing(seed: int | None) -> None:
    text = OUT_OF_ORDER if seed is None else next(mlir_modules.modules(seed=seed, count=1, operations=300))
    module = parse_source(make_context(allow_unregistered=True), text, "t.mlir")
    before, clone = module_text(module, generic=True), clone_operation(module)
    assert module_text(clone, generic=True) == module_text(module.clone(), generic=True) == before
    for old, new in zip(module.walk(), clone.walk(), strict=True):
        assert new is not old and type(new) is type(old) and new.location == old.location
        assert [result.name_hint for result in new.results] == [result.name_hint for result in old.results]
    for op in clone.walk():
        op.attributes["seen"] = i32
    assert module_text(module, generic=True) == before


def test_a_clone_uses_what_is_outside() -> None:
    block = Block(arg_types=[i32])
    inner = AnyOp(operands=[block.args[0]])
    op = AnyOp(operands=[block.args[0]], regions=[Region(Block([inner]))])
    block.add_op(op)
    clone = clone_operation(op)
    assert clone.parent is None and clone.operands[0] is block.args[0]
    assert clone.regions[0].block.first_op is not inner
    assert len(list(block.args[0].uses)) == 4


def test_uses_and_parents_are_linked() -> None:
    block = Block(arg_types=[i32])
    region = Region(Block())
    op = create_operation(
        AnyOp, [block.args[0], block.args[0]], [i32, i32], {}, {}, [block], [region], ModuleOp([]).location
    )
    assert [use.operation for use in block.args[0].uses] == [op, op]
    assert sorted(use.index for use in block.args[0].uses) == [0, 1]
    assert [use.operation for use in block.uses] == [op]
    assert region.parent is op and [result.index for result in op.results] == [0, 1]
    op.operands = ()
    assert not block.args[0].uses


def test_region_of_another_operation_is_refused() -> None:
    first = AnyOp(regions=[Region()])
    with pytest.raises(ValueError, match="already attached"):
        create_operation(AnyOp, [], [], {}, {}, [], first.regions, first.location)


def test_cheap_create_copies_dictionaries() -> None:
    @with_cheap_create
    class CheapOp(AnyOp):
        pass

    attributes = {"a": i32}
    op = CheapOp.create(attributes=attributes, result_types=[i32])
    assert op.attributes == attributes and op.attributes is not attributes
    assert type(op) is CheapOp and len(op.results) == 1


def test_operations_are_appended_in_order() -> None:
    block, ops = Block(), [AnyOp(), AnyOp(), AnyOp()]
    for op in ops:
        append_operation(block, op)
    assert list(block.ops) == ops and list(reversed(block.ops)) == ops[::-1]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]], ids=["first", "last", "from the middle"])
def test_erased_operations_leave_block_and_uses_as_xdsl_does(order: list[int]) -> None:
    block = Block(arg_types=[i32])
    ops = [AnyOp(operands=[block.args[0], block.args[0]]) for _ in range(3)]
    block.add_ops(ops)
    left = list(ops)
    for number in order:
        erase_operation(ops[number])
        left.remove(ops[number])
        assert list(block.ops) == left
        assert list(reversed([*_backwards(block)])) == left
        assert {use.operation for use in block.args[0].uses} == set(left)
        assert ops[number].parent is None and ops[number].next_op is None and ops[number].prev_op is None


def _backwards(block: Block) -> Iterator[Operation]:
    op = block.last_op
    while op is not None:
        yield op
        op = op.prev_op
