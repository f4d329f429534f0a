"""Checks a whole module: each operation against its definition, then the rules between operations.

The order is MLIR's: an operation's own rules, what is in its regions, then rules about the regions as a whole. An
operation that is isolated from above is checked by itself, so a module with two broken functions gives two errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from io import StringIO
from types import FunctionType
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, OpTrait
from xdsl.utils.exceptions import VerifyException

from tilewright.ir.constraints import verify_definition
from tilewright.ir.diagnostics import Diagnostic, VerifyError, from_verify_exception
from tilewright.ir.dominance import dominator_preorder
from tilewright.ir.symbols import unchanging_symbols
from tilewright.ir.trait_rules import REGION_TRAITS, Check, trait_check


def verify(root: Operation) -> list[Diagnostic]:
    """What is wrong with `root` and everything in it; nothing if it is valid."""
    with unchanging_symbols():
        return _verify(root)


def _verify(root: Operation) -> list[Diagnostic]:
    errors = list[Diagnostic]()
    definitions = _Definitions()
    pending: list[tuple[_Walk, int | None]] = [(_Walk(root, definitions), None)]
    while pending:
        walk, errors_before = pending.pop()
        try:
            if errors_before is None:
                walk.run()
                pending.append((walk, len(errors)))
                pending += [(_Walk(op, definitions), None) for op in reversed(walk.isolated)]
            elif errors_before == len(errors):
                walk.finish()
        except VerifyException as error:
            errors.append(from_verify_exception(walk.current, _without_name(error, walk.current)))
    return errors


def _without_name(error: VerifyException, op: Operation) -> VerifyException:
    """xDSL's verifiers often begin with the operation's name, which the diagnostic says already."""
    if isinstance(error, VerifyError):
        return error
    text = str(error)
    for prefix in (f"'{op.name}' ", f"'{op.name} ", f"{op.name} ", f"Operation {op.name} "):
        text = text.removeprefix(prefix)
    return VerifyException(text)


class _Rules(NamedTuple):
    """What has to hold for the operations of one class."""

    definition: OpDef | None
    own: tuple[Check, ...]
    of_regions: tuple[Check, ...]
    isolated: bool
    may_end_block: bool
    needs_terminator: bool
    graph: bool
    """Whether values may be used before they are defined in its regions."""


@cache
def _rules(op_type: type[Operation]) -> _Rules:
    registered = not issubclass(op_type, UnregisteredOp)
    traits = tuple(op_type.traits) if registered else ()
    definition = op_type.get_irdl_definition() if issubclass(op_type, IRDLOperation) else None
    own = [trait_check(trait) for trait in traits if not isinstance(trait, REGION_TRAITS)]
    of_regions = [trait_check(trait) for trait in traits if isinstance(trait, REGION_TRAITS)]
    own.append(_custom_verifier(op_type))
    of_regions.append(getattr(op_type, "verify_regions", None))

    def has(trait_type: type[OpTrait]) -> bool:
        return any(isinstance(trait, trait_type) for trait in traits)

    return _Rules(
        definition=definition,
        own=tuple(check for check in own if check),
        of_regions=tuple(check for check in of_regions if check),
        isolated=has(IsolatedFromAbove),
        may_end_block=not registered or has(IsTerminator),
        needs_terminator=registered and not has(NoTerminator),
        graph=not registered or issubclass(op_type, ModuleOp),
    )


def _custom_verifier(op_type: type[Operation]) -> Check | None:
    """The `verify_` that the class was written with; xDSL wraps it in one that checks the definition first."""
    wrapped = op_type.verify_
    if not isinstance(wrapped, FunctionType) or wrapped is Operation.verify_:
        return None
    captured = dict(zip(wrapped.__code__.co_freevars, wrapped.__closure__ or (), strict=True))
    if "op_def" not in captured:
        return wrapped
    custom = captured["custom_verify"].cell_contents if "custom_verify" in captured else None
    return None if custom is Operation.verify_ else custom


class _Definitions:
    """Checks operations against their definitions, each shape of operation once."""

    def __init__(self):
        self.allowed = set[tuple[object, ...]]()
        """Shapes that were found to be right."""
        self.numbers = dict[Attribute, int]()
        self.known = dict[int, int]()
        """Numbers of the attributes met so far, by identity: most of them are met often."""

    def check(self, definition: OpDef, op: Operation) -> None:
        shape = self._shape(op)
        if shape not in self.allowed:
            verify_definition(definition, op)
            self.allowed.add(shape)

    def _shape(self, op: Operation) -> tuple[object, ...]:
        """All that a definition can speak about; operations of one shape are equally right."""
        known, properties, attributes = self.known.get, op.properties, op.attributes
        parts: list[Attribute] = [value._type for value in op._operands]
        parts += [result._type for result in op.results]
        if properties:
            parts += properties.values()
        if attributes:
            parts += attributes.values()
        regions = list[int]()
        for region in op.regions:
            entry = region._first_block
            regions.append(len(entry._args) if entry else -1)
            regions.append(entry is region._last_block)
            if entry:
                parts += [argument._type for argument in entry._args]
        return (
            op.__class__,
            len(op._operands),
            len(op.results),
            len(op._successors),
            *properties,
            *attributes,
            *regions,
            *[known(id(part)) or self._canonical(part) for part in parts],
        )

    def _canonical(self, attribute: Attribute) -> int:
        """A number that all attributes equal to this one have in common."""
        number = self.numbers.setdefault(attribute, len(self.numbers) + 1)
        self.known[id(attribute)] = number
        return number


class _Frame:
    """An operation whose regions are being walked, and how far."""

    __slots__ = "at", "block", "blocks", "isolated", "marks", "op", "reached", "rules"

    def __init__(self, op: Operation, rules: _Rules, reached: bool, isolated: int, visible: int):
        self.op, self.rules, self.reached = op, rules, reached
        self.isolated = isolated
        """How many isolated operations were met before."""
        self.blocks: list[tuple[Block, int, bool]] = []
        """Blocks to come, last one first, with depth in the dominator tree, and whether anything leads to them."""
        self.marks = [visible]
        """How many values were visible before the block of each depth on the way to the current one."""
        self.block: Block | None = None
        self.at: Operation | None = None
        """The operation of `block` that comes next."""


class _Walk:
    """Checks one isolated operation; raises at the first thing that is wrong with `current`.

    `run` looks at everything but the isolated operations inside. `finish` has what comes after those.
    """

    def __init__(self, root: Operation, definitions: _Definitions):
        self.current = self.root = root
        self.definitions = definitions
        self.isolated = list[Operation]()
        """Isolated operations inside, left for walks of their own."""
        self.postponed = list[tuple[Operation, Check]]()
        """Rules about regions with isolated operations in them."""
        self.visible = set[int]()
        """Identities of the values that may be used here."""
        self.trail = list[int]()
        """The same values in the order in which they became visible."""
        self.misuse: tuple[Operation, int] | None = None
        """The first operation and operand that use a value which is not visible."""

    def run(self) -> None:
        rules = _rules(type(self.root))
        self._check(self.root, rules)
        frames = [self._enter(self.root, rules, reached=True)]
        while frames:
            frame = frames[-1]
            if inner := self._walk_block(frame):
                frames.append(inner)
                continue
            if frame.block:
                self._check_end(frame, frame.block)
            if frame.blocks:
                self._start_block(frame)
                continue
            frames.pop()
            self._leave(frame)
            if frames:
                self._show(frame.op.results)

    def finish(self) -> None:
        for op, check in self.postponed:
            self.current = op
            check(op)
        if self.misuse:
            self._explain(*self.misuse)

    def _enter(self, op: Operation, rules: _Rules, reached: bool) -> _Frame:
        """Look at the shape of an operation's regions and get ready to walk them."""
        frame = _Frame(op, rules, reached, len(self.isolated), len(self.trail))
        for number, region in enumerate(op.regions):
            entry = region._first_block
            if entry is None:
                continue
            if entry.first_use is not None:
                raise VerifyError("entry block of region may not have predecessors", bare=True)
            if entry is region._last_block:
                frame.blocks.append((entry, 0, reached))
                continue
            if rules.graph and rules.definition:
                raise VerifyException(f"expects graph region #{number} to have 0 or 1 blocks")
            self._check_successors(region)
            tree, unreached = dominator_preorder(region)
            frame.blocks += [(block, depth, reached) for block, depth in tree]
            frame.blocks += [(block, 0, False) for block in unreached]
        frame.blocks.reverse()
        return frame

    def _check_successors(self, region: Region) -> None:
        for block in region.blocks:
            if block.last_op and any(successor.parent is not region for successor in block.last_op.successors):
                self.current = block.last_op
                raise VerifyException("branching to block of a different region")

    def _start_block(self, frame: _Frame) -> None:
        frame.block, depth, frame.reached = frame.blocks.pop()
        frame.at = frame.block._first_op
        self._hide(frame.marks[depth])
        del frame.marks[depth + 1 :]
        self._show(frame.block._args)
        if frame.rules.graph:
            for op in frame.block.ops:
                self._show(op.results)

    def _walk_block(self, frame: _Frame) -> _Frame | None:
        """Check operations, up to one with regions that belong to this walk; then give the frame for those."""
        op, visible, trail = frame.at, self.visible, self.trail
        while op is not None:
            rules = _rules(op.__class__)
            if not rules.isolated or not op.regions:
                self._check(op, rules)
            for operand in op._operands:
                if id(operand) not in visible and frame.reached and self.misuse is None:
                    self._note_misuse(op, operand)
            if op.regions:
                if not rules.isolated:
                    frame.at = op._next_op
                    return self._enter(op, rules, frame.reached)
                self.isolated.append(op)
            for result in op.results:
                visible.add(id(result))
                trail.append(id(result))
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
        frame.block = None
        frame.marks.append(len(self.trail))
        region, last = block.parent, block._last_op
        single = region is not None and region._first_block is region._last_block
        if single and not frame.rules.needs_terminator:
            return
        if last is None:
            self.current = frame.op
            raise VerifyError("empty block: expect at least a terminator", bare=True)
        if not _rules(type(last)).may_end_block:
            self.current = last
            raise VerifyError(f"block with no terminator, has {operation_text(last)}", bare=True)

    def _leave(self, frame: _Frame) -> None:
        self.current = frame.op
        checks = frame.rules.of_regions
        if len(self.isolated) > frame.isolated:
            self.postponed += [(frame.op, check) for check in checks]
        else:
            for check in checks:
                check(frame.op)
        self._hide(frame.marks[0])

    def _show(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self.visible.add(id(value))
            self.trail.append(id(value))

    def _hide(self, keep: int) -> None:
        self.visible.difference_update(self.trail[keep:])
        del self.trail[keep:]

    def _note_misuse(self, op: Operation, operand: SSAValue) -> None:
        outside = not self.root.is_ancestor(operand.owner)
        if not outside or _rules(type(self.root)).isolated:
            self.misuse = op, op._operands.index(operand)

    def _explain(self, op: Operation, number: int) -> None:
        self.current = op
        operand = op._operands[number]
        if operand.owner is self.root or not self.root.is_ancestor(operand.owner):
            note = "required by region isolation constraints"
            raise VerifyError("using value defined outside the region", (self.root, note))
        note = _definition_note(op, operand)
        raise VerifyError(f"operand #{number} does not dominate this use", note, bare=True)


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


def operation_text(op: Operation) -> str:
    """An operation as a diagnostic shows it: in generic form, which prints whatever is wrong; regions on own lines."""
    from tilewright.ir.printer import Printer

    text = StringIO()
    Printer(text, print_generic_format=True).print_op(op)
    return ("\n" if op.regions else "") + text.getvalue()
