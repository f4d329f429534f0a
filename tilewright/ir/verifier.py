"""Checks a whole module: each operation against its definition, then the rules between operations.

The order is MLIR's: an operation's own rules, what is in its regions, then rules about the regions as a whole. An
operation that is isolated from above is checked by itself, so a module with two broken functions gives two errors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from io import StringIO
from types import FunctionType
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    OpTrait,
    SingleBlockImplicitTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.definition_check import DefinitionCheck
from tilewright.ir.diagnostics import BROKEN_PROMISES, Diagnostic, Severity, VerifyError, from_verify_exception
from tilewright.ir.dominance import first_misuse
from tilewright.ir.symbols import unchanging_symbols


def verify(root: Operation) -> list[Diagnostic]:
    """What is wrong with `root` and everything in it; nothing if it is valid."""
    with unchanging_symbols():
        return _verify(root)


def _verify(root: Operation) -> list[Diagnostic]:
    errors = list[Diagnostic]()
    definitions = DefinitionCheck()
    pending: list[tuple[_Walk, int | None]] = [(_Walk(root, definitions), None)]
    while pending:
        # Each walk twice: before the isolated operations inside it, and after them for the rest.
        walk, errors_before = pending.pop()
        try:
            if errors_before is None:
                walk.run()
                pending.append((walk, len(errors)))
                pending += [(_Walk(op, definitions), None) for op in reversed(walk.isolated)]
            # Rules about the whole only make sense where the parts are right.
            elif errors_before == len(errors):
                walk.finish()
        except VerifyException as error:
            errors.append(from_verify_exception(walk.current, _without_name(error, walk.current)))
        except BROKEN_PROMISES:
            broken = _first_broken(root, definitions)
            if broken is None:
                raise
            errors.append(broken)
    return errors


def _first_broken(root: Operation, definitions: DefinitionCheck) -> Diagnostic | None:
    """What is wrong with an operation that others look at before its turn: a tile without a column, say."""
    for op in root.walk():
        rules = _rules(type(op))
        try:
            if rules.definition is not None:
                definitions.check(rules.definition, op)
            for check in rules.traits:
                check(op)
        except VerifyException as error:
            return from_verify_exception(op, _without_name(error, op))
        except BROKEN_PROMISES:
            continue
    return None


def _without_name(error: VerifyException, op: Operation) -> VerifyException:
    """xDSL's verifiers often begin with the operation's name, which the diagnostic says already."""
    if isinstance(error, VerifyError):
        return error
    text = str(error)
    # The ways in which xDSL's verifiers begin.
    for prefix in (f"'{op.name}' ", f"'{op.name} ", f"{op.name} ", f"Operation {op.name} "):
        text = text.removeprefix(prefix)
    return VerifyException(text)


class _Rules(NamedTuple):
    """What has to hold for the operations of one class."""

    definition: OpDef | None
    traits: tuple[Check, ...]
    own: tuple[Check, ...]
    of_regions: tuple[Check, ...]
    isolated: bool
    may_end_block: bool
    needs_terminator: bool
    graph: bool
    """Whether values may be used before they are defined in its regions."""


def _trait_order(trait: OpTrait) -> tuple[bool, str]:
    """xDSL keeps traits in a set. As in MLIR, the place in the block comes last."""
    return isinstance(trait, IsTerminator), type(trait).__name__


@cache
def _rules(op_type: type[Operation]) -> _Rules:
    registered = not issubclass(op_type, UnregisteredOp)
    traits = sorted(op_type.traits, key=_trait_order) if registered else ()
    definition = op_type.get_irdl_definition() if issubclass(op_type, IRDLOperation) else None
    checks = [trait_check(trait) for trait in traits]
    own = [trait_check(trait) for trait in traits if not isinstance(trait, REGION_TRAITS)]
    of_regions = [trait_check(trait) for trait in traits if isinstance(trait, REGION_TRAITS)]
    # After the traits, as in MLIR.
    own.append(_custom_verifier(op_type))
    of_regions.append(getattr(op_type, "verify_regions", None))

    def has(trait_type: type[OpTrait]) -> bool:
        return any(isinstance(trait, trait_type) for trait in traits)

    return _Rules(
        definition=definition,
        traits=tuple(check for check in checks if check),
        own=tuple(check for check in own if check),
        of_regions=tuple(check for check in of_regions if check),
        isolated=has(IsolatedFromAbove),
        may_end_block=not registered or has(IsTerminator),
        needs_terminator=registered and not has(NoTerminator),
        # MLIR takes the regions of what it does not know for graphs.
        graph=not registered or issubclass(op_type, ModuleOp),
    )


def _custom_verifier(op_type: type[Operation]) -> Check | None:
    """The `verify_` that the class was written with; xDSL wraps it in one that checks the definition first."""
    wrapped = op_type.verify_
    if not isinstance(wrapped, FunctionType) or wrapped is Operation.verify_:
        return None
    # The wrapper holds both in its closure: the definition, and what the class was written with.
    captured = dict(zip(wrapped.__code__.co_freevars, wrapped.__closure__ or (), strict=True))
    if "op_def" not in captured:
        return wrapped
    custom = captured["custom_verify"].cell_contents if "custom_verify" in captured else None
    return None if custom is Operation.verify_ else custom


class _Frame:
    """An operation whose regions are being walked, and how far."""

    __slots__ = "at", "block", "isolated", "next_block", "next_region", "op", "rules"

    def __init__(self, op: Operation, rules: _Rules, isolated: int):
        self.op, self.rules = op, rules
        self.isolated = isolated
        """How many isolated operations were met before."""
        self.next_region = 0
        self.next_block: Block | None = None
        self.block: Block | None = None
        self.at: Operation | None = None
        """The operation of `block` that comes next."""

    def advance(self) -> bool:
        """Go to the next block, if there is one."""
        self.block = self.next_block
        while self.block is None and self.next_region < len(self.op.regions):
            self.block = self.op.regions[self.next_region]._first_block
            self.next_region += 1
        if self.block is None:
            return False
        self.at, self.next_block = self.block._first_op, self.block._next_block
        return True


class _Walk:
    """Checks one isolated operation; raises at the first thing that is wrong with `current`.

    `run` looks at everything but the isolated operations inside. `finish` has what comes after those.
    """

    def __init__(self, root: Operation, definitions: DefinitionCheck):
        self.current = self.root = root
        self.definitions = definitions
        self.isolated = list[Operation]()
        """Isolated operations inside, left for walks of their own."""
        self.postponed = list[tuple[Operation, Check]]()
        """Rules about regions with isolated operations in them."""

    def run(self) -> None:
        rules = _rules(type(self.root))
        self._check(self.root, rules)
        frames = [self._enter(self.root, rules)]
        while frames:
            frame = frames[-1]
            if inner := self._walk_block(frame):
                frames.append(inner)
                continue
            if frame.block:
                self._check_end(frame, frame.block)
            if not frame.advance():
                self._leave(frames.pop())

    def finish(self) -> None:
        for op, check in self.postponed:
            self.current = op
            check(op)
        misuse = first_misuse(self.root, _is_isolated, _is_graph)
        if misuse:
            self._explain(*misuse)

    def _enter(self, op: Operation, rules: _Rules) -> _Frame:
        """Look at the shape of an operation's regions and get ready to walk them."""
        for number, region in enumerate(op.regions):
            entry = region._first_block
            if entry is not region._last_block and rules.graph and rules.definition:
                raise VerifyException(f"expects graph region #{number} to have 0 or 1 blocks")
            # A branch back to the entry would need values for its arguments.
            if entry is not None and entry.first_use is not None:
                raise VerifyError("entry block of region may not have predecessors", bare=True)
        return _Frame(op, rules, len(self.isolated))

    def _walk_block(self, frame: _Frame) -> _Frame | None:
        """Check operations, up to one with regions that belong to this walk; then give the frame for those."""
        op = frame.at
        while op is not None:
            rules = _rules(op.__class__)
            if not op.regions:
                self._check(op, rules)
            # Later, in a walk of its own: an error there must not hide errors here.
            elif rules.isolated:
                self.isolated.append(op)
            else:
                self._check(op, rules)
                frame.at = op._next_op
                return self._enter(op, rules)
            op = op._next_op
        frame.at = None
        return None

    def _check(self, op: Operation, rules: _Rules) -> None:
        """The rules about an operation alone."""
        self.current = op
        if rules.definition is not None:
            self.definitions.check(rules.definition, op)
        for check in rules.own:
            check(op)
        if op._successors and op._next_op is not None:
            raise VerifyError("operation with block successors must terminate its parent block", bare=True)

    def _check_end(self, frame: _Frame, block: Block) -> None:
        """A block ends with a terminator, unless it is the only one of a region that can do without."""
        region, last = block.parent, block._last_op
        self.current = last or frame.op
        if last and any(successor.parent is not region for successor in last._successors):
            raise VerifyException("branching to block of a different region")
        # Several blocks need terminators whatever the operation is: nothing else leads from one to the next.
        single = region is not None and region._first_block is region._last_block
        if single and not frame.rules.needs_terminator:
            return
        if last is None:
            raise VerifyError("empty block: expect at least a terminator", bare=True)
        if not _rules(type(last)).may_end_block:
            raise VerifyError(f"block with no terminator, has {operation_text(last)}", bare=True)

    def _leave(self, frame: _Frame) -> None:
        self.current = frame.op
        checks = frame.rules.of_regions
        # Rules about regions come after all that is in them, and isolated operations come later.
        if len(self.isolated) > frame.isolated:
            self.postponed += [(frame.op, check) for check in checks]
        else:
            for check in checks:
                check(frame.op)

    def _explain(self, op: Operation, number: int) -> None:
        self.current = op
        operand = op._operands[number]
        # Outside of an isolated operation, which is another rule than dominance.
        if operand.owner is self.root or not self.root.is_ancestor(operand.owner):
            note = "required by region isolation constraints"
            raise VerifyError("using value defined outside the region", (self.root, note))
        note = _definition_note(op, operand)
        raise VerifyError(f"operand #{number} does not dominate this use", note, bare=True)


def _is_isolated(op: Operation) -> bool:
    return _rules(type(op)).isolated


def _is_graph(op: Operation) -> bool:
    return _rules(type(op)).graph


def _definition_note(op: Operation, operand: SSAValue) -> tuple[Operation | None, str]:
    """Where a value that does not reach its use comes from."""
    owner = operand.owner
    block = owner if isinstance(owner, Block) else owner.parent
    relation = _relation(op.parent, block)
    if isinstance(owner, Operation):
        return owner, f"operand defined here (op {relation})"
    number = owner.parent.get_block_index(owner) if owner.parent else 0
    return owner.parent_op(), f"operand defined as a block argument (block #{number} {relation})"


def _relation(use: Block | None, definition: Block | None) -> str:
    if use is None or definition is None or use.parent is None or definition.parent is None:
        return "in no region"
    if use is definition:
        return "in the same block"
    if use.parent is definition.parent:
        return "in the same region"
    if definition.parent.is_ancestor(use.parent):
        return "in a parent region"
    if use.parent.is_ancestor(definition.parent):
        return "in a child region"
    return "neither in a parent nor in a child region"


def operation_text(op: Operation, severity: Severity = Severity.ERROR) -> str:
    """An operation as a diagnostic shows it. An error shows the generic form, which prints whatever is wrong."""
    from tilewright.ir.printer import Printer

    text = StringIO()
    Printer(text, print_generic_format=severity is Severity.ERROR).print_op(op)
    return ("\n" if op.regions else "") + text.getvalue()


Check: TypeAlias = Callable[[Operation], None]

REGION_TRAITS = SingleBlockImplicitTerminator, SymbolTable
"""What these demand is looked at after the operations in the regions."""

VISIBILITIES = "public", "private", "nested"


def trait_check(trait: OpTrait) -> Check | None:
    """The rule of one trait; None where the verifier's walk sees to it, or there is none."""
    match trait:
        # The walk and the dominance check see to them.
        case IsolatedFromAbove() | NoTerminator():
            return None
        case IsTerminator():
            return _is_last
        case HasParent():
            return lambda op: _has_parent(op, trait)
        case SingleBlockImplicitTerminator():
            return lambda op: _ends_with(op, trait.op_type)
        case SymbolTable():
            return _symbols_are_unique
        case SymbolOpInterface():
            return lambda op: _is_symbol(op, trait)
        case _:
            return None if type(trait).verify is OpTrait.verify else trait.verify


def _is_last(op: Operation) -> None:
    if op.parent is None or op.parent._last_op is not op:
        raise VerifyException("must be the last operation in the parent block")


def _has_parent(op: Operation, trait: HasParent) -> None:
    parent = op.parent_op()
    # An operation without parent is being built, or is the root.
    if parent is None or isinstance(parent, trait.op_types):
        return
    names = ", ".join(parent.name for parent in trait.op_types)
    raise VerifyException(f"expects parent op {'' if len(trait.op_types) == 1 else 'to be one of '}'{names}'")


def _ends_with(op: Operation, terminator: type[Operation]) -> None:
    for number, region in enumerate(op.regions):
        if region._first_block is not region._last_block:
            raise VerifyException(f"expects region #{number} to have 0 or 1 blocks")
        block = region._first_block
        if block is None:
            continue
        last = block.last_op
        if last is None:
            raise VerifyException("expects a non-empty block")
        if not isinstance(last, terminator):
            raise VerifyError(
                f"expects regions to end with '{terminator.name}', found '{last.name}'",
                (last, f"in custom textual format, the absence of terminator implies '{terminator.name}'"),
            )


def _symbols_are_unique(op: Operation) -> None:
    if len(op.regions) != 1:
        raise VerifyException("Operations with a 'SymbolTable' must have exactly one region")
    if len(op.regions[0].blocks) != 1:
        raise VerifyException("Operations with a 'SymbolTable' must have exactly one block")
    owners = dict[str, Operation]()
    for child in op.regions[0].blocks[0].ops:
        symbol = child.properties.get("sym_name") or child.attributes.get("sym_name")
        if isinstance(symbol, StringAttr) and owners.setdefault(symbol.data, child) is not child:
            raise VerifyError(
                f"redefinition of symbol named '{symbol.data}'",
                (owners[symbol.data], "see existing symbol definition here"),
                at=child,
                bare=True,
            )


def _is_symbol(op: Operation, trait: SymbolOpInterface) -> None:
    symbol = op.get_attr_or_prop("sym_name")
    # Such as a `builtin.module`, which may have a name.
    if symbol is None and trait.is_optional_symbol(op):
        return
    if not isinstance(symbol, StringAttr):
        raise VerifyException("requires string attribute 'sym_name'")
    visibility = op.get_attr_or_prop("sym_visibility")
    if isinstance(visibility, StringAttr) and visibility.data not in VISIBILITIES:
        expected = ", ".join(f'"{word}"' for word in VISIBILITIES)
        raise VerifyException(f"visibility expected to be one of [{expected}], but got {visibility}")
    parent = op.parent_op()
    # What is not registered might be a symbol table.
    if parent and not isinstance(parent, UnregisteredOp) and not parent.has_trait(SymbolTable):
        raise VerifyException("symbol's parent must have the SymbolTable trait")
