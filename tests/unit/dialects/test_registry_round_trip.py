"""Every operation of our dialects goes round: printed, read and printed again it is the same text.

The operations come from the registry and are made up from their own definitions, inside small designs that give them
tiles, buffers, locks and symbols to refer to. An operation is covered by being defined.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NamedTuple

import pytest
from xdsl.dialects import builtin as b
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import AnyOf, AttrSizedOperandSegments, IRDLOperation, OptionalDef, VariadicDef, VerificationContext
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import EnumConstraint, IntConstraint, ParentOp
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.printer import module_text
from tilewright.ir.verifier import verify

DIALECTS = ("aie", "aiex")
ATTEMPTS = 1500
WANTED = 4
"""How many valid operations of each class go round, and at most how many invalid ones."""

CONTEXT = make_context(allow_unregistered=True)
for dialect in DIALECTS:
    CONTEXT.load_registered_dialect(dialect)
OPERATIONS = {
    op.name: op
    for name in DIALECTS
    for op in CONTEXT.get_dialect(name).operations
    if issubclass(op, IRDLOperation) and op.name != "aiex.runtime_sequence"  # an older name, for reading only
}
ATTRIBUTES = {attr.name: attr for name in DIALECTS for attr in CONTEXT.get_dialect(name).attributes}

LENGTHS = (0, 1, 2, 4)
HERE = '"test.here"() : () -> ()'
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
    "#aie.bd_iteration<size = 4, stride = 8, current = 0>",
    '#aie.trace_event<"LOCK_STALL">',
    "#aie.trace_event<CoreEventAIE2P::ACTIVE>",
    "!aie.objectfifo<memref<16xi32>>",
    "!aie.objectfifosubview<memref<16xi32>>",
    '!aiex.bfp<"v8bfp16ebs8">',
]

TOP = """
aiex.scratchpad_parameter @parameter : i32
aie.device(npu2) @other {
  aie.runtime_sequence @once(%a: memref<16xi32>) {
  }
}
"""
DEVICE = (
    TOP
    + """
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %next = aie.tile(0, 3)
  %lock = aie.lock(%core, 0) {sym_name = "lock"}
  %buffer = aie.buffer(%core) {address = 1024 : i32, sym_name = "buffer"} : memref<16xi32>
  %i32 = arith.constant 1 : i32
  memref.global "private" constant @words : memref<4xi32> = dense<[1, 2, 3, 4]>
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.shim_dma_allocation @allocation(%shim, MM2S, 0)
"""
)
PLACES = [
    "HERE",
    "aie.switchbox(%next) { %select = aie.amsel<0>(1) HERE }",
    "aie.switchbox(%next) { %select = aie.amsel<0>(1) aie.packet_rules(North : 0) { HERE } }",
    "aie.shim_mux(%shim) { HERE }",
    "aie.packet_flow(1) { aie.packet_source<%core, Trace : 0> aie.packet_dest<%shim, South : 0> HERE }",
    "aiex.multicast(%core, DMA : 0) { HERE }",
    "aiex.broadcast_packet(%core, DMA : 0) { aiex.bp_id(1) { HERE } }",
    "aiex.broadcast_packet(%core, DMA : 0) { HERE }",
    "aie.mem(%core) { HERE aie.end ^bd: aie.dma_bd(%buffer : memref<16xi32>) aie.next_bd ^bd ^end: aie.end }",
    "aie.mem(%core) { HERE aie.end }",
    """aie.core(%core) {
      %window = aie.objectfifo.acquire @out(Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
      HERE
      aie.end
    }""",
    "aie.trace @trace(%core) { HERE }",
    "aie.trace.config @registers(%core) { HERE }",
    "aie.bd_chain @chain(%a: memref<16xi32>) { HERE aie.end }",
    """aie.bd_chain @chain(%a: memref<16xi32>) { aie.end }
    aie.runtime_sequence(%a: memref<16xi32>, %n: i32) {
      %words = memref.get_global @words : memref<4xi32>
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<16xi32> offset = 0 len = 8) {bd_id = 1 : i32}
        aie.end
      } {issue_token = true}
      HERE
    }""",
    "aie.runtime_sequence(%a: memref<16xi32>) { aiex.configure @other { HERE } }",
    "aiex.cert.uc_dma_chain @chain { HERE }",
    "aiex.cert.section @section { HERE }",
    "aiex.cert.attach_to_group(1) { aiex.cert.page { aiex.cert.job(0) { HERE } } }",
]
BODIES = [
    "aie.packet_source<%core, DMA : 0> aie.packet_dest<%mem, DMA : 0>",
    """aie.use_lock(%lock, AcquireGreaterEqual, %i32)
    aie.dma_bd(%buffer : memref<16xi32>)
    aie.use_lock(%lock, Release, %i32)""",
]
"""What may stand in the regions of an operation, in front of the terminator."""


class Place:
    """A design with a hole at the end of one of its blocks."""

    def __init__(self, text: str):
        self.module = parse_source(CONTEXT, text, "design")
        unknown = [op for op in self.module.walk() if isinstance(op, UnregisteredOp)]
        *bodies, self.hole = unknown
        self.bodies = [Region(Block()), *(body.regions[0] for body in bodies)]
        for body in bodies:
            body.detach()
        assert self.hole.parent is not None
        self.block = self.hole.parent
        self.end = self.hole.next_op
        if self.end is not None:
            self.end.detach()
        self.values = list(_values_before(self.hole))
        names = (op.get_attr_or_prop("sym_name") for op in self.module.walk())
        symbols = [b.SymbolRefAttr(name) for name in names if isinstance(name, b.StringAttr)]
        self.symbols: list[Attribute] = [*symbols, *(b.ArrayAttr([symbol]) for symbol in symbols)]

    @property
    def parent_name(self) -> str:
        parent = self.block.parent_op()
        assert parent is not None
        return parent.name

    @property
    def other_blocks(self) -> list[Block]:
        assert self.block.parent is not None
        return [block for block in self.block.parent.blocks if block is not self.block]

    @contextmanager
    def holding(self, *ops: Operation) -> Generator[b.ModuleOp]:
        """The design with operations in the hole."""
        self.hole.detach()
        end = () if self.end is None or ops[-1].has_trait(IsTerminator) else (self.end.clone(),)
        inside = (*ops, *end)
        self.block.add_ops(inside)
        try:
            yield self.module
        finally:
            for op in reversed(inside):
                op.detach()
                op.erase()
            self.block.add_op(self.hole)


def _values_before(op: Operation) -> Iterator[SSAValue]:
    """What may be used where an operation is."""
    at: Operation | None = op
    while at is not None and not at.has_trait(IsolatedFromAbove, value_if_unregistered=False):
        block = at.parent
        assert block is not None
        yield from block.args
        for earlier in block.ops:
            if earlier is at:
                break
            yield from earlier.results
        at = block.parent_op()


@cache
def places() -> list[Place]:
    bodies = "".join(f'"test.body"() ({{ {body} }}) : () -> ()\n' for body in BODIES)
    device = [f"{DEVICE}\n{bodies}\n{place.replace('HERE', HERE)} }}" for place in PLACES]
    return [Place(text) for text in (TOP + HERE, *device)]


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
        for _ in range(ATTEMPTS):
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


class Sample(NamedTuple):
    """A design with one operation made up."""

    valid: bool
    custom: str
    generic: str


@cache
def samples(name: str) -> list[Sample]:
    """Valid operations until there are enough, and the first invalid ones met on the way."""
    found: dict[bool, list[Sample]] = {True: [], False: []}
    for place, ops in Draw(OPERATIONS[name]).operations():
        with place.holding(*ops) as module:
            valid = not verify(ops[-1]) and not verify(module)
            if len(found[valid]) < WANTED:
                found[valid].append(Sample(valid, module_text(module), module_text(module, generic=True)))
        if len(found[True]) == WANTED:
            break
    return found[True] + found[False]


def again(text: str) -> tuple[str, str]:
    """What a text is printed as when it is read, in both forms."""
    module = parse_source(CONTEXT, text, "text")
    return module_text(module), module_text(module, generic=True)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_valid_operations_go_round(name: str) -> None:
    """In either form, and either form says all that the other says."""
    valid = [sample for sample in samples(name) if sample.valid]
    assert valid, "no draw was valid: PLACES, BODIES or the attributes lack something"
    for sample in valid:
        assert again(sample.custom) == (sample.custom, sample.generic)
        assert again(sample.generic) == (sample.custom, sample.generic)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_invalid_operations_go_round_in_generic_form(name: str) -> None:
    for sample in samples(name):
        if not sample.valid:
            assert again(sample.generic) == (sample.custom, sample.generic)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_custom_form_of_invalid_operations_is_stable(name: str) -> None:
    """Where it can be read: the custom form need not be able to say what is wrong."""
    for sample in samples(name):
        if not sample.valid:
            with suppress(DiagnosedError):
                assert again(sample.custom)[0] == sample.custom


def test_every_attribute_is_drawn() -> None:
    assert {attribute.name for attribute in own_attributes()} == set(ATTRIBUTES)
