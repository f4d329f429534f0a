"""Every operation of our dialects goes round: printed, read and printed again it is the same text.

The operations come from the registry and are made up from their own definitions: operand and result types, properties
and regions are drawn from pools of what their constraints accept. An operation is covered by being defined.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from xdsl.dialects import builtin as b
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    OptRegionDef,
    OptResultDef,
    VarOperandDef,
    VarRegionDef,
    VarResultDef,
    VerificationContext,
)
from xdsl.traits import NoTerminator, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text

DIALECTS = ("aie", "aiex")
DRAWS = 40

CONTEXT = make_context(allow_unregistered=True)
for dialect in DIALECTS:
    CONTEXT.load_registered_dialect(dialect)
OPERATIONS = {
    op.name: op
    for name in DIALECTS
    for op in CONTEXT.get_dialect(name).operations
    if issubclass(op, IRDLOperation)
}

UNSIGNED = [b.IntegerType(width, b.Signedness.UNSIGNED) for width in (8, 16, 32, 64)]
TYPES: list[Attribute] = [
    b.IndexType(),
    b.i32,
    b.i64,
    b.i1,
    b.i8,
    b.f32,
    b.MemRefType(b.i32, [4]),
    b.MemRefType(b.bf16, [4, 8]),
    b.VectorType(b.i32, [16]),
    b.IntegerType(512),
    *UNSIGNED,
]


def attribute_pool() -> list[Attribute]:
    """Values for properties: builtin ones, then instances of the dialects' own attributes."""
    integers = [
        b.IntegerAttr(value, type) for type in (b.i32, b.i64, b.i8, b.i1, b.IndexType(), *UNSIGNED) for value in (0, 1)
    ] + [b.IntegerAttr(value, b.i32) for value in (3, 4, 5, 6)]
    pool: list[Attribute] = [
        *integers,
        b.StringAttr("name"),
        b.SymbolRefAttr("symbol"),
        b.UnitAttr(),
        b.DenseArrayBase.from_list(b.i32, [1, 0]),
        b.DenseArrayBase.from_list(b.i64, [2, 1]),
        b.DenseArrayBase.from_list(b.i1, [True, False]),
        b.DenseIntOrFPElementsAttr.from_list(b.TensorType(b.i32, [4]), [1, 2, 3, 4]),
        b.FunctionType.from_lists([b.i32], []),
        *TYPES,
    ]
    own = list(own_attributes(pool))
    pool += own
    pool += [b.ArrayAttr([attr]) for attr in [*own, b.SymbolRefAttr("symbol"), b.StringAttr("name"), *integers[:4]]]
    pool += [b.ArrayAttr([b.ArrayAttr([attr])]) for attr in own] + [b.ArrayAttr([])]
    return pool


def own_attributes(pool: list[Attribute]):
    """An instance of each attribute and type that our dialects define, read from text drawn from the pool's values."""
    texts = [
        "#aie.packet_info<pkt_type = 1, pkt_id = 2>",
        "#aie.bd_dim_layout<size = 2, stride = 4>",
        "#aie<bd_dim_layout_array[<size = 2, stride = 4>, <size = 8, stride = 1>]>",
        "#aie<bd_dim_layout_array_array[[<size = 2, stride = 4>]]>",
        "#aie.bd_pad_layout<const_pad_before = 1, const_pad_after = 2>",
        "#aie<bd_pad_layout_array[<const_pad_before = 1, const_pad_after = 2>]>",
        "#aie.bd_iteration<size = 4, stride = 8, current = 0>",
        "!aie.objectfifo<memref<16xi32>>",
        "!aie.objectfifosubview<memref<16xi32>>",
    ]
    for text in texts:
        try:
            module = parse_source(CONTEXT, f'"test.op"() {{a = {text}}} : () -> ()', "pool")
        except DiagnosedError:
            continue
        yield module.body.block.first_op.attributes["a"]


POOL = attribute_pool()


@cache
def accepted(constraint) -> list[Attribute]:
    """The members of the pool that a constraint takes."""
    found: list[Attribute] = []
    for attribute in POOL:
        try:
            constraint.verify(attribute, VerificationContext())
        except (VerifyException, AttributeError, TypeError, ValueError, KeyError):
            continue
        found.append(attribute)
    return found


def types_of(definition, count: int, choose: random.Random) -> list[Attribute]:
    """Types for `count` operands or results; SSA types have to satisfy the definition's range constraint."""
    candidates = accepted_types(definition.constr)
    return [choose.choice(candidates)] * count if candidates else []


@cache
def accepted_types(constraint) -> list[Attribute]:
    return [t for t in POOL if isinstance(t, TypeAttribute) and (takes(constraint, [t]) or takes(constraint, [t, t]))]


def takes(constraint, types: list[Attribute]) -> bool:
    try:
        constraint.verify(types, VerificationContext())
    except (VerifyException, AttributeError, TypeError, ValueError):
        return False
    return True


def amount(definition, optional: type, variadic: type, choose: random.Random) -> int:
    if isinstance(definition, optional):
        return choose.randint(0, 1)
    return choose.randint(0, 2) if isinstance(definition, variadic) else 1


def make_operation(cls: type[IRDLOperation], choose: random.Random) -> tuple[Operation, Operation]:
    """An operation of a class, behind the one that defines its operands."""
    definition = cls.get_irdl_definition()
    operand_types = [
        types_of(operand, amount(operand, OptOperandDef, VarOperandDef, choose), choose)
        for _, operand in definition.operands
    ]
    result_types = [
        types_of(result, amount(result, OptResultDef, VarResultDef, choose), choose) for _, result in definition.results
    ]
    properties: dict[str, Attribute] = {}
    for name, prop in definition.properties.items():
        candidates = accepted(prop.constr)
        if prop.default_value is not None:  # reading fills it in, so it is never absent
            properties[name] = choose.choice([prop.default_value, *candidates[:2]])
        elif candidates and (not is_optional(prop) or choose.random() < 0.5):
            properties[name] = choose.choice(candidates)
    for option in definition.options:
        if isinstance(option, AttrSizedOperandSegments):
            sizes = b.DenseArrayBase.from_list(b.i32, [len(types) for types in operand_types])
            properties[option.attribute_name] = sizes
    regions = [
        make_region(cls)
        for _, region in definition.regions
        for _ in range(amount(region, OptRegionDef, VarRegionDef, choose))
    ]
    source = UnregisteredOp.with_name("test.source").create(result_types=list(itertools.chain(*operand_types)))
    successors = [Block() for _ in definition.successors]
    op = cls.create(
        operands=source.results,
        result_types=list(itertools.chain(*result_types)),
        properties=properties,
        regions=regions,
        successors=successors,
    )
    return source, op


def is_optional(prop) -> bool:
    return type(prop).__name__.startswith("Opt")


def make_region(cls: type[IRDLOperation]) -> Region:
    """One empty block, ended as the class wants its blocks to end."""
    block = Block()
    for trait in cls.traits:
        if isinstance(trait, SingleBlockImplicitTerminator):
            block.add_op(trait.op_type.create())
            return Region(block)
    if not any(isinstance(trait, NoTerminator) for trait in cls.traits):
        block.add_op(CONTEXT.get_op("aie.end").create())
    return Region(block)


def in_module(source: Operation, op: Operation) -> b.ModuleOp:
    """The two operations where text can hold them: successors are blocks beside them."""
    if not op.successors:
        return b.ModuleOp([source, op])
    end = CONTEXT.get_op("aie.end")
    blocks = [Block([source, op]), *op.successors]
    for block in op.successors:
        block.add_op(end.create())
    return b.ModuleOp([UnregisteredOp.with_name("test.region").create(regions=[Region(blocks)])])


def is_valid(op: Operation) -> bool:
    """Whether the operation stands on its own; what it demands of its surroundings cannot be drawn at random."""
    try:
        op.get_irdl_definition().verify(op)
        op.verify_()
    except (VerifyException, AttributeError, AssertionError, IndexError, KeyError, TypeError, ValueError, StopIteration):
        return False
    return True


def draws(cls: type[IRDLOperation]) -> Iterator[tuple[b.ModuleOp, bool]]:
    """Modules around operations of the class, and whether the operation is valid by itself."""
    choose = random.Random(cls.name)
    for _ in range(DRAWS):
        source, op = make_operation(cls, choose)
        valid = is_valid(op)
        yield in_module(source, op), valid


def check(name: str, form: Callable[[b.ModuleOp], str], expected: Callable[[b.ModuleOp], str]) -> None:
    """Reading `form` of each draw must give a module whose `expected` is as before.

    An invalid operation need not be readable; but of each class something has to be.
    """
    read = 0
    for module, valid in draws(OPERATIONS[name]):
        text = form(module)
        try:
            again = parse_source(CONTEXT, text, name)
        except DiagnosedError:
            assert not valid, text
            continue
        assert expected(again) == expected(module)
        read += 1
    assert read, f"no draw of {name} could be read back"


def custom(module: b.ModuleOp) -> str:
    return module_text(module)


def generic(module: b.ModuleOp) -> str:
    return module_text(module, generic=True)


@pytest.mark.parametrize("form", [custom, generic])
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_text_is_stable(name: str, form: Callable[[b.ModuleOp], str]):
    check(name, form, form)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_custom_form_says_what_the_generic_form_spells_out(name: str):
    check(name, custom, generic)
