"""Demands of a definition on an operation's operands, results, attributes and regions, worded as MLIR words it.

xDSL's `OpDef.verify` checks the same things; its texts differ from MLIR's (`operand #1 must be index, but got 'i32'`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    AnyFloatConstr,
    ArrayAttr,
    ArrayOfConstraint,
    DenseArrayBase,
    DictionaryAttr,
    FixedBitwidthType,
    FlatSymbolRefAttrConstr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Signedness,
    SignlessIntegerConstraint,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    VectorType,
)
from xdsl.ir import Attribute, Operation, Region, TypeAttribute
from xdsl.irdl import (
    AllOf,
    AnyAttr,
    AnyOf,
    AttrConstraint,
    AttrSizedOperandSegments,
    AttrSizedRegionSegments,
    AttrSizedResultSegments,
    AttrSizedSegments,
    BaseAttr,
    EqAttrConstraint,
    IntConstraint,
    OpDef,
    OptionalDef,
    ParamAttrConstraint,
    RangeConstraint,
    RangeOf,
    SameVariadicOperandSize,
    SameVariadicRegionSize,
    SameVariadicResultSize,
    SameVariadicSize,
    VarConstraint,
    VariadicDef,
    VerificationContext,
)
from xdsl.irdl.constraints import EqIntConstraint, InferenceContext, MessageConstraint, RangeLengthConstraint
from xdsl.irdl.operations import OptSingleBlockRegionDef, SingleBlockRegionDef, VarSingleBlockRegionDef
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.shown import quoted

AttributeCovT = TypeVar("AttributeCovT", bound=Attribute, covariant=True)
AttributeT = TypeVar("AttributeT", bound=Attribute)
Predicate: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True)
class Described(AttrConstraint[AttributeCovT]):
    """A constraint with the words that MLIR has for it, and optionally a predicate that must hold as well."""

    constraint: AttrConstraint[AttributeCovT]
    description: str
    holds: Predicate | None = None

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        # First the constraint: the predicate may rely on the class.
        self.constraint.verify(attr, constraint_context)
        if self.holds is not None and not self.holds(attr):
            raise VerifyException(f"expected {self.description}, but got '{attr}'")

    def variables(self) -> set[str]:
        return self.constraint.variables()

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.constraint.can_infer(var_constraint_names)

    def infer(self, context: InferenceContext) -> AttributeCovT:
        return self.constraint.infer(context)

    def get_bases(self) -> set[type[Attribute]] | None:
        return self.constraint.get_bases()

    def mapping_type_vars(
        self, type_var_mapping: Mapping[Any, AttrConstraint | IntConstraint]
    ) -> Described[AttributeCovT]:
        return Described(self.constraint.mapping_type_vars(type_var_mapping), self.description, self.holds)


class NumberConstraint(AttrConstraint[AttributeCovT]):
    """An integer of one type."""

    @property
    @abstractmethod
    def allows_all(self) -> bool:
        """Whether any number of the type will do."""


def described(
    constraint: AttrConstraint[AttributeT], description: str, holds: Predicate | None = None
) -> AttrConstraint[AttributeT]:
    """`constraint`, which MLIR calls `description`."""
    return Described(constraint, description, holds)


@dataclass(frozen=True)
class Following(Described[AttributeCovT]):
    """A type that readers of a format find from the one that the variable `name` stands for.

    That it is this one is left to `verify_`: MLIR has words of its own for each such rule.
    """

    name: str = "T"
    follow: Callable[[Any], Attribute] = field(kw_only=True)

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return self.name in var_constraint_names

    def infer(self, context: InferenceContext) -> AttributeCovT:
        return cast(AttributeCovT, self.follow(context.get_variable(self.name)))


def following(constraint: AttrConstraint[AttributeT], follow: Callable[[Any], Attribute]) -> AttrConstraint[AttributeT]:
    """`constraint` on a type that is not written: it is what `follow` makes of `T`."""
    return Following(constraint, describe(constraint) or "", follow=follow)


_BASE_DESCRIPTIONS: dict[type[Attribute], str] = {
    AffineMapAttr: "AffineMap attribute",
    AffineSetAttr: "IntegerSet attribute",
    ArrayAttr: "array attribute",
    DictionaryAttr: "dictionary of named attribute values",
    IndexType: "index",
    IntegerAttr: "arbitrary integer attribute",
    IntegerType: "integer",
    MemRefType: "memref of any type values",
    StringAttr: "string attribute",
    SymbolRefAttr: "symbol reference attribute",
    TensorType: "ranked tensor of any type values",
    TypeAttribute: "any type",
    UnitAttr: "unit attribute",
    VectorType: "vector of any type values",
}

_CONTAINERS: dict[type[Attribute], str] = {
    MemRefType: "memref of {} values",
    TensorType: "ranked tensor of {} values",
    VectorType: "vector of {} values",
}

_SIGNEDNESS = {Signedness.SIGNLESS: "signless", Signedness.SIGNED: "signed", Signedness.UNSIGNED: "unsigned"}


def describe(constraint: AttrConstraint) -> str | None:
    """MLIR's words for a constraint, where it has any; constraints of our own have them as their `summary`."""
    match constraint:
        case Described():
            return constraint.description
        # A variable says that types agree; its words are those of what each of them must be.
        case VarConstraint():
            return describe(constraint.constraint)
        case EqAttrConstraint():
            return _describe_type(constraint.attr)
        case BaseAttr():
            return _BASE_DESCRIPTIONS.get(constraint.attr)
        case AnyOf():
            return _describe_alternatives(constraint)
        # The first is what an attribute is; the others say more about it.
        case AllOf():
            return describe(constraint.attr_constrs[0])
        case ParamAttrConstraint():
            return _describe_parametrized(constraint)
        case builtin.SymbolNameConstraint():
            return "string attribute"
        case MessageConstraint() if constraint == FlatSymbolRefAttrConstr:
            return "flat symbol reference attribute"
        case ArrayOfConstraint():
            return _describe_array(constraint.elem_range_constraint)
        case _:
            return "any type" if isinstance(constraint, AnyAttr) else getattr(constraint, "summary", None)


def _describe_array(elements: RangeConstraint[Attribute]) -> str:
    if not isinstance(elements, RangeOf):
        return "array attribute"
    match elements.constr:
        case BaseAttr(attr=builtin.DictionaryAttr):
            return "Array of dictionary attributes"
        case BaseAttr(attr=builtin.StringAttr):
            return "string array attribute"
        case BaseAttr(attr=builtin.SymbolRefAttr):
            return "symbol ref array attribute"
        case _:
            return "array attribute"


def _describe_type(attribute: Attribute) -> str | None:
    match attribute:
        case IndexType():
            return "index"
        case IntegerType():
            return f"{attribute.width.data}-bit {_SIGNEDNESS[attribute.signedness.data]} integer"
        case builtin.BFloat16Type():
            return "bfloat16 type"
        case FixedBitwidthType() if isinstance(attribute, builtin.AnyFloat):
            return f"{attribute.bitwidth}-bit float"
        case _:
            return None


def _describe_alternatives(constraint: AnyOf[Attribute]) -> str | None:
    if constraint == AnyFloatConstr:
        return "floating-point"
    if (elementwise := _describe_elementwise(constraint)) is not None:
        return elementwise
    parts = [describe(part) for part in constraint.attr_constrs]
    return None if None in parts else " or ".join(cast(list[str], parts))


def _describe_elementwise(constraint: AnyOf[Attribute]) -> str | None:
    """A scalar, or vectors and tensors of such."""
    bases = constraint.get_bases()
    if bases is None or not {VectorType, TensorType} <= bases:
        return None
    scalars = bases - {VectorType, TensorType}
    # MLIR's names for these unions, which it does not spell out.
    if scalars == {IntegerType, IndexType}:
        return "signless-integer-like"
    if scalars == {IntegerType}:
        # xDSL writes `i1` as an exact type among the alternatives.
        exact = any(isinstance(part, EqAttrConstraint) for part in constraint.attr_constrs)
        return "bool-like" if exact else "signless-fixed-width-integer-like"
    return "floating-point-like" if scalars == AnyFloatConstr.get_bases() else None


def _describe_parametrized(constraint: ParamAttrConstraint[Any]) -> str | None:
    base: type[Attribute] = constraint.base_attr
    parameters: Sequence[AttrConstraint] = constraint.param_constrs
    if constraint == SignlessIntegerConstraint:
        return "signless integer"
    if base in _CONTAINERS:
        names = [name for name, _ in constraint.base_attr.get_irdl_definition().parameters]
        element = describe(parameters[names.index("element_type")])
        return _CONTAINERS[base].format(element) if element else None
    if base is IntegerAttr and isinstance(parameters[1], EqAttrConstraint):
        element = _describe_type(parameters[1].attr)
        return f"{element} attribute" if element else None
    if base is DenseArrayBase and isinstance(parameters[0], EqAttrConstraint):
        return f"{parameters[0].attr} dense array attribute"
    return _BASE_DESCRIPTIONS.get(base)


def verify_definition(definition: OpDef, op: Operation) -> None:
    """Raise what MLIR would say if `op` breaks its definition."""
    # Counts come before types, as in MLIR: types are told apart by their numbers.
    operand_sizes = _group_sizes(definition, op, _OPERANDS)
    result_sizes = _group_sizes(definition, op, _RESULTS)
    region_sizes = _group_sizes(definition, op, _REGIONS)
    _verify_successor_count(definition, op)
    context = VerificationContext()
    _verify_named(definition, op, context)
    _verify_values(definition, definition.operands, operand_sizes, op.operand_types, "operand", context)
    _verify_values(definition, definition.results, result_sizes, op.result_types, "result", context)
    _verify_regions(definition, region_sizes, op.regions, context)


@dataclass(frozen=True)
class _Kind:
    """What sets operands, results and regions apart when their number is checked."""

    name: str
    segments: type[AttrSizedSegments]
    same_size: type[SameVariadicSize]
    one: str


_OPERANDS = _Kind("operand", AttrSizedOperandSegments, SameVariadicOperandSize, "requires a single operand")
_RESULTS = _Kind("result", AttrSizedResultSegments, SameVariadicResultSize, "requires one result")
_REGIONS = _Kind("region", AttrSizedRegionSegments, SameVariadicRegionSize, "requires one region")


def _group_sizes(definition: OpDef, op: Operation, kind: _Kind) -> Sequence[int]:
    """How many of the op's operands (results, regions) belong to each declaration."""
    declared: Sequence[tuple[str, Any]]
    if kind is _OPERANDS:
        declared, count = definition.operands, len(op._operands)
    elif kind is _RESULTS:
        declared, count = definition.results, len(op.results)
    else:
        declared, count = definition.regions, len(op.regions)
    variadic = [i for i, (_, d) in enumerate(declared) if isinstance(d, VariadicDef)]
    if not variadic:
        if count != len(declared):
            raise VerifyException(_count_text(kind, len(declared), count))
        # The usual case; what follows is about variadic declarations.
        return (1,) * count
    for option in definition.options:
        if isinstance(option, kind.segments):
            return _segment_sizes(op, option, declared, count, kind)
    fixed = len(declared) - len(variadic)
    if count < fixed:
        raise VerifyException(f"expected {fixed} or more {kind.name}s, but found {count}")
    # Without segment sizes all variadic lists have the same length.
    if len(variadic) > 1 and (count - fixed) % len(variadic):
        raise VerifyException(
            f"cannot share {count - fixed} {kind.name}s among {len(variadic)} lists of the same length"
        )
    each = (count - fixed) // len(variadic)
    if each > 1 and any(isinstance(declared[i][1], OptionalDef) for i in variadic):
        raise VerifyException(f"expected {fixed} or {len(declared)} {kind.name}s, but found {count}")
    return [each if isinstance(d, VariadicDef) else 1 for _, d in declared]


def _segment_sizes(
    op: Operation, option: AttrSizedSegments, declared: Sequence[tuple[str, Any]], count: int, kind: _Kind
) -> Sequence[int]:
    name = option.attribute_name
    attribute = option.container(op).get(name)
    # A missing attribute reads as zeros, for which MLIR has the errors below.
    sizes = attribute.get_values() if isinstance(attribute, DenseArrayBase) else (0,) * len(declared)
    if len(sizes) != len(declared):
        raise VerifyException(
            f"'{name}' attribute for specifying {kind.name} segments must have {len(declared)} elements, "
            f"but got {len(sizes)}"
        )
    if any(size < 0 for size in sizes):
        raise VerifyException(f"'{name}' attribute cannot have negative elements")
    if sum(sizes) != count:
        raise VerifyException(
            f"{kind.name} count ({count}) does not match with the total size ({sum(sizes)}) "
            f"specified in attribute '{name}'"
        )
    first = 0
    for (_, declaration), size in zip(declared, sizes, strict=True):
        if size != 1 and not isinstance(declaration, VariadicDef):
            raise VerifyException(f"{kind.name} group starting at #{first} requires 1 element, but found {size}")
        if size > 1 and isinstance(declaration, OptionalDef):
            raise VerifyException(f"{kind.name} group starting at #{first} requires 0 or 1 element, but found {size}")
        first += size
    return sizes


def _count_text(kind: _Kind, expected: int, found: int) -> str:
    if expected == 0:
        return f"requires zero {kind.name}s"
    if expected == 1:
        return kind.one
    # MLIR tells the number for operands only.
    suffix = f", but found {found}" if kind is _OPERANDS else ""
    return f"expected {expected} {kind.name}s{suffix}"


def _verify_successor_count(definition: OpDef, op: Operation) -> None:
    expected, found = len(definition.successors), len(op.successors)
    if expected != found and not any(isinstance(d, VariadicDef) for _, d in definition.successors):
        raise VerifyException(f"requires {expected} successor{'s' * (expected != 1)} but found {found}")


def _verify_named(definition: OpDef, op: Operation, context: VerificationContext) -> None:
    """The attributes that the definition names, whether stored as properties or not."""
    for found, declared in ((op.properties, definition.properties), (op.attributes, definition.attributes)):
        for name, declaration in declared.items():
            attribute = found.get(name)
            if attribute is None:
                if not isinstance(declaration, OptionalDef):
                    raise VerifyException(f"requires attribute '{name}'")
                continue
            try:
                declaration.constr.verify(attribute, context)
            except VerifyException as error:
                description = describe(declaration.constr)
                raise VerifyException(
                    f"attribute '{name}' failed to satisfy constraint: {description or str(error)}"
                ) from error
    # MLIR cannot even hold one; the generic form of xDSL reads any.
    for name in op.properties:
        if name not in definition.properties:
            raise VerifyException(f"has no property '{name}'")


def _verify_values(
    definition: OpDef,
    declared: Sequence[tuple[str, Any]],
    sizes: Sequence[int],
    types: Sequence[Attribute],
    kind: str,
    context: VerificationContext,
) -> None:
    first = 0
    for (name, declaration), size in zip(declared, sizes, strict=True):
        constraint = _element_constraint(declaration.constr)
        if isinstance(constraint, RangeConstraint):
            _verify_range(constraint, name, types[first : first + size], first, kind, context)
        # Nothing to look at where anything goes.
        elif not isinstance(constraint, AnyAttr):
            for position in range(first, first + size):
                _verify_value(definition, constraint, declaration, types[position], kind, position, context)
        first += size


def _verify_value(
    definition: OpDef,
    constraint: AttrConstraint,
    declaration: object,
    type: Attribute,
    kind: str,
    position: int,
    context: VerificationContext,
) -> None:
    try:
        constraint.verify(type, context)
    except VerifyException as error:
        # Right alone, and wrong beside the others: MLIR words that as a rule between operands.
        if isinstance(constraint, VarConstraint) and constraint.constraint.verifies(type):
            raise VerifyException(_mismatch_text(definition, constraint.name)) from error
        # It has words of its own.
        if isinstance(constraint, MessageConstraint):
            raise
        description = describe(constraint)
        if description is None or (constraint.variables() and _fits_alone(constraint, type)):
            raise VerifyException(f"{kind} #{position} is wrong: {error}") from error
        variadic = "variadic of " if isinstance(declaration, VariadicDef) else ""
        raise VerifyException(f"{kind} #{position} must be {variadic}{description}, but got {quoted(type)}") from error


def _fits_alone(constraint: AttrConstraint, type: Attribute) -> bool:
    """Whether the type is wrong only beside the types of other operands and results."""
    return constraint.verifies(type)


def _mismatch_text(definition: OpDef, variable: str) -> str:
    """What to say where operands or results that share a type variable have different types."""

    def sharing(declared: Sequence[tuple[str, Any]]) -> list[str]:
        return [name for name, declaration in declared if _variable_of(declaration.constr) == variable]

    operands, results = sharing(definition.operands), sharing(definition.results)
    if len(operands) == len(definition.operands) and len(results) == len(definition.results):
        if results:
            return "requires the same type for all operands and results"
        return "requires the same type for all operands"
    return f"failed to verify that all of {{{', '.join(operands + results)}}} have same type"


def _element_constraint(constraint: RangeConstraint) -> AttrConstraint | RangeConstraint:
    """What a constraint on a list of types demands of each, if that is all it demands."""
    # A list of a fixed length, which has been counted above.
    if isinstance(constraint, RangeLengthConstraint) and isinstance(constraint.length, EqIntConstraint):
        constraint = constraint.constraint
    return constraint.constr if isinstance(constraint, RangeOf) else constraint


def _variable_of(constraint: RangeConstraint) -> str | None:
    element = _element_constraint(constraint)
    return element.name if isinstance(element, VarConstraint) else None


def _verify_range(
    constraint: RangeConstraint,
    name: str,
    types: Sequence[Attribute],
    first: int,
    kind: str,
    context: VerificationContext,
) -> None:
    try:
        constraint.verify(types, context)
    except VerifyException as error:
        raise VerifyException(f"{kind} group '{name}' starting at #{first} is wrong: {error}") from error


def _verify_regions(
    definition: OpDef, sizes: Sequence[int], regions: Sequence[Region], context: VerificationContext
) -> None:
    first = 0
    for (name, declaration), size in zip(definition.regions, sizes, strict=True):
        for position in range(first, first + size):
            region = regions[position]
            blocks = len(region.blocks)
            if blocks != 1 and isinstance(
                declaration, SingleBlockRegionDef | VarSingleBlockRegionDef | OptSingleBlockRegionDef
            ):
                # MLIR has two ways to say this, by whether there are too many or too few.
                if blocks > 1:
                    raise VerifyException(f"expects region #{position} to have 0 or 1 blocks")
                raise VerifyException(
                    f"region #{position} ('{name}') failed to verify constraint: region with 1 blocks"
                )
            entry = region.blocks.first
            if entry is not None:
                declaration.entry_args.verify(entry.arg_types, context)
        first += size
