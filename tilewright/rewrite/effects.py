"""Effects of operations besides computing their results, and whether one can be dropped or run early.

The answers are MLIR's. Operations of our own dialects declare their effects with xDSL's traits; for the upstream
dialects the table below is the authority, because xDSL declares some of them differently and some not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Flag, auto

from xdsl.dialects.builtin import MemRefType, UnrankedMemRefType, UnregisteredOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import (
    Commutative,
    ConditionallySpeculatable,
    ConstantLike,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    NoMemoryEffect,
    RecursiveMemoryEffect,
    SymbolOpInterface,
    is_speculatable,
)


class Effect(Flag):
    """The effects of one operation, without those of the operations nested in it."""

    NONE = 0
    READ = auto()
    WRITE = auto()
    FREE = auto()
    ALLOCATE = auto()
    """Allocates something other than a result, or something that its results do not tell apart."""
    ALLOCATE_RESULT = auto()
    """Allocates what its results name: unobservable once they are unused."""
    NESTED = auto()
    """Has the effects of the operations in its regions."""
    UNKNOWN = auto()
    """Says nothing of its effects: anything may happen."""

    OBSERVABLE = WRITE | FREE | ALLOCATE | UNKNOWN


_NONE, _NESTED, _READ, _WRITE = Effect.NONE, Effect.NESTED, Effect.READ, Effect.WRITE

_UPSTREAM: dict[str, Effect] = {
    "affine.delinearize_index": _NONE,
    "affine.for": _NESTED,
    "affine.if": _NESTED,
    "affine.linearize_index": _NONE,
    "affine.load": _READ,
    "affine.max": _NONE,
    "affine.min": _NONE,
    "affine.parallel": _NESTED,
    "affine.prefetch": _READ | _WRITE,
    "affine.store": _WRITE,
    "affine.vector_load": _READ,
    "affine.vector_store": _WRITE,
    "arith.ceildivsi": _NONE,
    "arith.ceildivui": _NONE,
    "arith.extsi": _NONE,
    "arith.floordivsi": _NONE,
    "arith.index_castui": _NONE,
    "arith.remf": _NONE,
    "arith.remui": _NONE,
    "bufferization.clone": _READ | Effect.ALLOCATE_RESULT,
    "bufferization.to_buffer": _NONE,
    "bufferization.to_tensor": _NONE,
    "cf.assert": _WRITE,  # it may end the program, so that it must stay
    "cf.br": _NONE,
    "cf.cond_br": _NONE,
    "cf.switch": _NONE,
    "func.constant": _NONE,
    "func.return": _NONE,
    "linalg.index": _NONE,
    "linalg.yield": _NONE,
    "llvm.alloca": Effect.ALLOCATE_RESULT,
    "llvm.intr.fabs": _NONE,
    "llvm.store": _WRITE,
    "memref.alloc": Effect.ALLOCATE_RESULT,
    "memref.alloca": Effect.ALLOCATE_RESULT,
    "memref.alloca_scope": _NESTED,
    "memref.alloca_scope.return": _NONE,
    "memref.assume_alignment": _NONE,
    "memref.atomic_rmw": _READ | _WRITE,
    "memref.copy": _READ | _WRITE,
    "memref.dealloc": Effect.FREE,
    "memref.dim": _NONE,
    "memref.distinct_objects": _NONE,
    "memref.dma_start": Effect.UNKNOWN,
    "memref.dma_wait": Effect.UNKNOWN,
    "memref.generic_atomic_rmw": _NESTED | _READ | _WRITE,
    "memref.atomic_yield": _NONE,
    "memref.global": Effect.UNKNOWN,
    "memref.load": _READ,
    "memref.prefetch": _READ | _WRITE,
    "memref.realloc": Effect.FREE | Effect.ALLOCATE_RESULT,
    "memref.reshape": _NONE,
    "memref.store": _WRITE,
    "memref.transpose": _NONE,
    "scf.execute_region": _NESTED,
    "scf.forall": _NESTED,
    "scf.forall.in_parallel": _NONE,
    "scf.in_parallel": _NONE,
    "tensor.generate": _NESTED,
    "tensor.yield": _NONE,
    "vector.bitcast": _NONE,
    "vector.constant_mask": _NONE,
    "vector.contract": _NONE,
    "vector.create_mask": _NONE,
    "vector.extract_strided_slice": _NONE,
    "vector.flat_transpose": _NONE,
    "vector.from_elements": _NONE,
    "vector.gather": _READ,
    "vector.insert_strided_slice": _NONE,
    "vector.interleave": _NONE,
    "vector.load": _READ,
    "vector.maskedload": _READ,
    "vector.maskedstore": _WRITE,
    "vector.multi_reduction": _NONE,
    "vector.outerproduct": _NONE,
    "vector.print": _WRITE,
    "vector.reduction": _NONE,
    "vector.scatter": _WRITE,
    "vector.shape_cast": _NONE,
    "vector.step": _NONE,
    "vector.store": _WRITE,
    "vector.to_elements": _NONE,
    "vector.transpose": _NONE,
    "vector.type_cast": _NONE,
}


def _depends_on_operands(op: type[Operation]) -> bool:
    """Operations that read and write the buffers they are given, and are pure on tensors."""
    return op.name.startswith("linalg.") or op.name == "bufferization.materialize_in_destination"


_KINDS = {
    MemoryEffectKind.READ: Effect.READ,
    MemoryEffectKind.WRITE: Effect.WRITE,
    MemoryEffectKind.FREE: Effect.FREE,
}

# divisions: a divisor of 0 is undefined behaviour where the operation would not have run
_NOT_SPECULATABLE = {"arith.ceildivsi", "arith.ceildivui", "arith.floordivsi", "arith.remsi", "arith.remui"}

_COMMUTATIVE = {
    *(
        f"arith.{name}"
        for name in ("addi", "addf", "addui_extended", "muli", "mulf", "mulsi_extended", "mului_extended")
    ),
    *(f"arith.{name}" for name in ("andi", "ori", "xori", "maxsi", "maxui", "minsi", "minui")),
    *(f"arith.{name}" for name in ("maximumf", "maxnumf", "minimumf", "minnumf")),
    *(f"index.{name}" for name in ("add", "mul", "and", "or", "xor", "maxs", "maxu", "mins", "minu")),
}


class Facts:
    """What the definition of an operation says about all operations of its kind."""

    __slots__ = (
        "commutative",
        "constant",
        "dynamic",
        "effect",
        "free",
        "isolated",
        "mortal",
        "nested",
        "observable",
        "symbol",
        "terminator",
    )

    def __init__(self, op: type[Operation]):
        unregistered = issubclass(op, UnregisteredOp)
        # of an unregistered operation everything must be assumed, as MLIR does
        self.terminator: bool = unregistered or op.has_trait(IsTerminator)
        self.isolated: bool = unregistered or op.has_trait(IsolatedFromAbove)
        self.constant: bool = not unregistered and op.has_trait(ConstantLike)
        self.commutative: bool = op.name in _COMMUTATIVE or (not unregistered and op.has_trait(Commutative))
        self.symbol: SymbolOpInterface | None = None if unregistered else op.get_trait(SymbolOpInterface)
        self.effect, self.dynamic = _declared_effect(op)
        self.observable = bool(self.effect & Effect.OBSERVABLE)
        self.nested = Effect.NESTED in self.effect
        self.free = not self.effect & ~Effect.NESTED
        """Touches no memory itself, as far as its kind tells."""
        self.mortal = not self.terminator and not self.observable
        """Some of its kind may be dropped once their results are unused."""


def _declared_effect(op: type[Operation]) -> tuple[Effect, bool]:
    """The effects that the definition fixes; and whether an operation must be asked for more."""
    if op.name in _UPSTREAM:
        return _UPSTREAM[op.name], False
    if _depends_on_operands(op):
        return Effect.NESTED, True
    if issubclass(op, UnregisteredOp):
        return Effect.UNKNOWN, False
    traits = [trait for trait in op.traits if isinstance(trait, MemoryEffect)]
    if not traits:
        return Effect.UNKNOWN, False
    effect = Effect.NONE
    for trait in traits:
        if isinstance(trait, RecursiveMemoryEffect):
            effect |= Effect.NESTED
        elif not isinstance(trait, NoMemoryEffect):
            # any other trait is asked again for each operation
            return effect, True
    return effect, False


_facts: dict[type[Operation], Facts] = {}
_UNREGISTERED = Facts(UnregisteredOp)


def facts_of(op: Operation) -> Facts:
    cls = type(op)
    facts = _facts.get(cls)
    if facts is None:
        if isinstance(op, UnregisteredOp):  # each has a class of its own, not worth remembering
            return _UNREGISTERED
        facts = _facts[cls] = Facts(cls)
    return facts


def effects_of(op: Operation) -> Effect:
    """The effects of `op` itself; those of nested operations count only as `Effect.NESTED`."""
    facts = facts_of(op)
    return facts.effect | _instance_effect(op) if facts.dynamic else facts.effect


def _instance_effect(op: Operation) -> Effect:
    if _depends_on_operands(type(op)):
        has_buffers = any(isinstance(value.type, MemRefType | UnrankedMemRefType) for value in op.operands)
        return Effect.READ | Effect.WRITE if has_buffers else Effect.NONE
    effect = Effect.NONE
    for trait in op.get_traits_of_type(MemoryEffect):
        if isinstance(trait, RecursiveMemoryEffect):
            continue
        instances = trait.get_effects(op)
        if instances is None:
            return Effect.UNKNOWN
        for instance in instances:
            if instance.kind is MemoryEffectKind.ALLOC:
                own = isinstance(instance.value, SSAValue) and instance.value.owner is op
                effect |= Effect.ALLOCATE_RESULT if own else Effect.ALLOCATE
            else:
                effect |= _KINDS[instance.kind]
    return effect


def nested_effects(op: Operation) -> Effect:
    """The effects of `op` and, where it has those of its regions, of everything in them."""
    effect = effects_of(op)
    if Effect.NESTED in effect:
        for nested in children(op):
            effect |= nested_effects(nested)
    return effect


def children(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops


def is_unused(op: Operation) -> bool:
    results = op.results
    return results[0].first_use is None if len(results) == 1 else all(result.first_use is None for result in results)


def is_symbol(op: Operation) -> bool:
    trait = facts_of(op).symbol
    return trait is not None and (not trait.is_optional_symbol(op) or trait.get_sym_attr_name(op) is not None)


def is_trivially_dead(op: Operation) -> bool:
    """Whether erasing `op` could not be observed."""
    return is_unused(op) and would_be_dead(op)


def would_be_dead(op: Operation) -> bool:
    """Whether erasing `op` could not be observed, once its results are unused."""
    return facts_of(op).mortal and not is_symbol(op) and _is_unobservable(op)


def _is_unobservable(op: Operation) -> bool:
    facts = facts_of(op)
    if facts.observable or (facts.dynamic and _instance_effect(op) & Effect.OBSERVABLE):
        return False
    return not facts.nested or all(map(_is_unobservable, children(op)))


def is_memory_effect_free(op: Operation) -> bool:
    """Whether `op`, and what is nested in it, touches no memory at all."""
    facts = facts_of(op)
    if not facts.free or (facts.dynamic and _instance_effect(op)):
        return False
    return not facts.nested or all(map(is_memory_effect_free, children(op)))


def can_speculate(op: Operation) -> bool:
    """Whether `op` may run where it would not have run."""
    if op.name in _NOT_SPECULATABLE or isinstance(op, UnregisteredOp):
        return False
    # xDSL does not say it of every operation that MLIR calls pure: the table does for those
    if op.get_trait(ConditionallySpeculatable) is None:
        return not op.regions and effects_of(op) is Effect.NONE and op.name in _UPSTREAM
    return is_speculatable(op)


def is_pure(op: Operation) -> bool:
    return can_speculate(op) and is_memory_effect_free(op)
