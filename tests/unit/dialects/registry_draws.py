"""Operations made up from their definitions: operands, properties and regions are drawn from what constraints take."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from registry_designs import CONTEXT, Place, places
from xdsl.dialects import builtin as b
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import AnyOf, AttrSizedOperandSegments, IRDLOperation, OptionalDef, VariadicDef, VerificationContext
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import EnumConstraint, IntConstraint, ParentOp
from tilewright.ir.parser import parse_source

ATTEMPTS, MOST_ATTEMPTS = 1500, 15_000
"""The second is for operations that few draws make valid ones of."""
LENGTHS = (0, 1, 2, 4)
UNSIGNED = [b.IntegerType(width, b.Signedness.UNSIGNED) for width in (8, 16, 32, 64)]
TYPES: list[Attribute] = [
    *(b.IndexType(), b.i1, b.i8, b.i32, b.i64, b.f32, b.IntegerType(512), b.VectorType(b.i32, [16]), *UNSIGNED),
    *(b.MemRefType(b.i32, [16]), b.MemRefType(b.bf16, [4, 8])),
]
OWN_ATTRIBUTES = [
    "#aie.packet_info<pkt_type = 1, pkt_id = 2>",
    "#aie.bd_dim_layout<size = 2, stride = 4>",
    "#aie<bd_dim_layout_array[<size = 2, stride = 4>, <size = 8, stride = 1>]>",
    "#aie<bd_dim_layout_array_array[[<size = 2, stride = 4>]]>",
    "#aie.bd_pad_layout<const_pad_before = 1, const_pad_after = 2>",
    "#aie<bd_pad_layout_array[<const_pad_before = 1, const_pad_after = 2>]>",
    "#aie<bd_pad_layout_array_array[[<const_pad_before = 1, const_pad_after = 2>]]>",
    "#aie.objectfifo_segment<offset = 0, size = 16>",
    "#aie.bd_iteration<size = 4, stride = 8, current = 0>",
    '#aie.trace_event<"LOCK_STALL">',
    "#aie.trace_event<CoreEventAIE2P::ACTIVE>",
    "!aie.objectfifo<memref<16xi32>>",
    "!aie.objectfifosubview<memref<16xi32>>",
    '!aiex.bfp<"v8bfp16ebs8">',
]


@cache
def attribute_pool() -> list[Attribute]:
    """Values for properties: builtin ones, then one of each of the dialects' own, then arrays of them."""
    pool: list[Attribute] = [
        *(b.IntegerAttr(value, type) for type in (b.i1, b.i32, b.i64, *UNSIGNED, b.IndexType()) for value in (0, 1)),
        b.StringAttr("name"),
        b.UnitAttr(),
        *(b.DenseArrayBase.from_list(type, [1] * length) for type in (b.i32, b.i64) for length in LENGTHS),
        b.DenseArrayBase.from_list(b.i1, [True, False]),
        b.DenseIntOrFPElementsAttr.from_list(b.TensorType(b.i32, [16]), [1]),
        b.FunctionType.from_lists([b.i32], []),
        *TYPES,
        *own_attributes(),
    ]
    single = [*own_attributes(), b.StringAttr("name"), b.IntegerAttr(2, b.i32)]
    return [*pool, b.ArrayAttr([]), *(b.ArrayAttr([attr]) for attr in single)]


@cache
def own_attributes() -> list[Attribute]:
    entries = ", ".join(f"a{number} = {text}" for number, text in enumerate(OWN_ATTRIBUTES))
    op = parse_source(CONTEXT, f'"test.op"() {{{entries}}} : () -> ()', "attributes").body.block.first_op
    assert op is not None
    return [attr for name, attr in op.attributes.items() if name != "op_name__"]


@cache
def accepted(constraint: Any) -> list[Attribute]:
    """Values that a constraint takes."""
    match constraint:
        case EnumConstraint():
            return [b.IntegerAttr(int(case), b.i32) for case in constraint.cases]
        case IntConstraint():
            least = constraint.minimum or 0
            most = 8 if constraint.maximum is None else constraint.maximum
            return [b.IntegerAttr(value, constraint.type) for value in (least, least + 1, min(most, least + 4), most)]
        case _:
            return [attribute for attribute in attribute_pool() if takes(constraint, attribute)]


@cache
def accepted_types(constraint: Any) -> list[Attribute]:
    """Types that a constraint on a list of types takes, each by itself."""
    types = [type for type in attribute_pool() if isinstance(type, TypeAttribute)]
    return [type for type in types if takes(constraint, (type,))]


def takes(constraint: Any, value: Any) -> bool:
    try:
        constraint.verify(value, VerificationContext())
    except VerifyException:
        return False
    return True


class Draw:
    """Makes operations up."""

    def __init__(self, cls: type[IRDLOperation]):
        self.cls, self.definition = cls, cls.get_irdl_definition()
        self.random = random.Random(cls.name)
        self.is_plain = False
        """Whether the next operation goes without all that is optional."""
        self.length = 0
        """How long its lists are: they often have to match."""
        parents = [name for trait in cls.traits if isinstance(trait, ParentOp) for name in trait.names]
        found = [place for place in places() if not parents or place.parent_name in parents]
        if self.definition.successors:
            found = [place for place in found if place.other_blocks]
        self.places = found or places()

    def operations(self) -> Iterator[tuple[Place, list[Operation]]]:
        for _ in range(MOST_ATTEMPTS):
            place = self.random.choice(self.places)
            self.is_plain, self.length = self.random.random() < 0.5, self.random.choice(LENGTHS)
            yield place, self.operation(place)

    def operation(self, place: Place) -> list[Operation]:
        """An operation, behind one for those of its operands that the place does not have."""
        definition = self.definition
        operands = [self.operands(declared, place) for _, declared in definition.operands]
        flat = [operand for group in operands for operand in group]
        source = UnregisteredOp.with_name("test.source").create(
            result_types=[operand for operand in flat if not isinstance(operand, SSAValue)]
        )
        made = iter(source.results)
        properties = self.properties(place)
        for option in definition.options:
            if isinstance(option, AttrSizedOperandSegments):
                sizes = b.DenseArrayBase.from_list(b.i32, [len(group) for group in operands])
                properties[option.attribute_name] = sizes
        op = self.cls.create(
            operands=[operand if isinstance(operand, SSAValue) else next(made) for operand in flat],
            result_types=[type for _, declared in definition.results for type in self.types(declared)],
            properties=properties,
            attributes=self.attributes(),
            regions=[self.region(place) for _, declared in definition.regions for _ in range(self.amount(declared))],
            successors=self.successors(place),
        )
        return [source, op] if source.results else [op]

    def amount(self, declared: object) -> int:
        match declared:
            case OptionalDef():
                return 0 if self.is_plain else self.random.randint(0, 1)
            case VariadicDef():
                return self.random.choice((0, min(self.length, 2))) if self.is_plain else self.random.randint(0, 2)
            case _:
                return 1

    def operands(self, declared: Any, place: Place) -> list[SSAValue | Attribute]:
        values = [value for value in place.values if takes(declared.constr, (value.type,))]
        pool: list[Any] = values if values and self.random.random() < 0.9 else accepted_types(declared.constr)
        return [self.random.choice(pool) for _ in range(self.amount(declared)) if pool]

    def types(self, declared: Any) -> list[Attribute]:
        pool = accepted_types(declared.constr)
        return [self.random.choice(pool) for _ in range(self.amount(declared)) if pool]

    def properties(self, place: Place) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for name, declared in self.definition.properties.items():
            optional, default = isinstance(declared, OptionalDef), declared.default_value
            constraint = declared.constr
            while isinstance(constraint, AnyOf):
                constraint = self.random.choice(constraint.attr_constrs)
            values = [symbol for symbol in place.symbols if takes(constraint, symbol)] + accepted(constraint)
            if optional:  # the custom form cannot tell a default from an absent value, and MLIR's does not either
                values = [value for value in values if value != default]
            values = [v for v in values if isinstance(v, b.DenseArrayBase) and len(v) == self.length] or values
            if values and not (optional and (self.is_plain or self.random.random() < 0.7)):
                found[name] = self.random.choice(values)
        return found

    def attributes(self) -> dict[str, Attribute]:
        """What no property says: the name of a symbol, and something unknown that must be kept."""
        found: dict[str, Attribute] = {"more": b.UnitAttr()} if self.random.random() < 0.2 else {}
        if self.cls.has_trait(SymbolOpInterface) and "sym_name" not in self.definition.properties:
            found["sym_name"] = b.StringAttr("name")
        return found

    def region(self, place: Place) -> Region:
        region = self.random.choice(place.bodies).clone()
        block = region.block
        if self.random.random() < 0.2:
            block.insert_arg(b.MemRefType(b.i32, [16]), 0)
        if block.is_empty or self.random.random() < 0.7:  # no custom form tells an empty block from none
            block.add_op(CONTEXT.get_op("aie.end").create())
        return region

    def successors(self, place: Place) -> list[Block]:
        return [self.random.choice(place.other_blocks) for _ in self.definition.successors]
