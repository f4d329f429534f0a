"""A kernel ready to run: its function as a flat program, and that as Python functions, compiled once.

Control flow of `scf`, `cf`, `affine` and calls becomes blocks and branches here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Block as IrBlock
from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tilewright.dialects import affine, cf, func, scf
from tilewright.dialects.gpu.kernels import GPUFuncOp
from tilewright.dialects.nvgpu import TensorMapDescriptorType
from tilewright.gpu.emulator import (
    lower_lanes,
    lower_llvm,
    lower_memory,
    lower_numbers,
    lower_tensor_cores,
    lower_views,
)
from tilewright.gpu.emulator.builder import Handler, ProgramBuilder, whole_memref
from tilewright.gpu.emulator.hangs import Spin, find_spins
from tilewright.gpu.emulator.lower_memory import extreme, holds, results
from tilewright.gpu.emulator.operation_kinds import CONTROL
from tilewright.gpu.emulator.order import arrange, find_uniform
from tilewright.gpu.emulator.program import (
    I1,
    Block,
    Constant,
    CountedOperation,
    Edge,
    Instruction,
    KernelProgram,
    Operand,
    Register,
    Space,
    Unsupported,
    Value,
    index,
    kind_of,
    postorder,
)
from tilewright.gpu.emulator.write import Writer
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.symbols import lookup_symbol


@dataclass(eq=False)
class Plan:
    """What a kernel's waves need to run."""

    program: KernelProgram
    source: str
    """The generated code, for those who look."""
    functions: list[Callable[..., Any]]
    sites: list[Instruction]
    """Accesses and operations across lanes, by the numbers that the code knows them by."""
    spins: dict[int, Spin]
    """Loops that wait, by the number of the block that goes back."""
    arrays: list[Register]
    """Registers that hold arrays over lanes."""
    writers: list[Instruction] = field(default_factory=list[Instruction])
    """Everything that writes to memory that others see."""

    @property
    def name(self) -> str:
        return self.program.name


def make_plan(kernel: GPUFuncOp, wave_size: int, careful: bool = False, profiled: bool = False) -> Plan:
    """Compile a kernel; `careful` code leaves every access to the group's access model, and `profiled` code tells the
    group's profiler of blocks and accesses."""
    program = _translate(kernel, wave_size)
    arrange(program, careful)
    find_uniform(program)
    # after `arrange`: it looks at loops, and marks their ways back
    spins = find_spins(program)
    _keep_for_reports(program, spins)
    writer = Writer(program, careful, profiled)
    try:
        source = writer.source()
    except Unsupported as error:
        fail(kernel, f"kernel @{program.name} cannot be run by the emulator: {error}")
    # the file's name is what a traceback of generated code shows
    names = writer.names
    exec(compile(source, f"<kernel @{program.name}>", "exec"), names)
    return Plan(
        program,
        source,
        [names[f"b{block.number}"] for block in program.blocks],
        writer.sites,
        {block.number: spin for block, spin in spins.items()},
        [register for register in program.registers if not register.uniform],
        [i for block in program.blocks for i in block.instructions if i.name in ("store", "atomic", "cmpxchg")],
    )


def _keep_for_reports(program: KernelProgram, spins: dict[Block, Spin]) -> None:
    """Let registers survive that a report of a wait shows."""
    for spin in spins.values():
        for instruction in [*spin.reads, *([spin.comparison] if spin.comparison is not None else [])]:
            for operand in (*instruction.ins, *instruction.outs):
                if isinstance(operand, Register):
                    program.kept.add(operand)


@cache
def _handlers() -> Mapping[str, Handler]:
    """All operations that the emulator runs, by name."""
    modules = lower_numbers, lower_memory, lower_views, lower_llvm, lower_lanes, lower_tensor_cores
    return {name: handler for module in modules for name, handler in module.HANDLERS.items()} | _CONTROL_FLOW


def _translate(kernel: GPUFuncOp, wave_size: int) -> KernelProgram:
    """The program of a kernel for waves of that size."""
    b = ProgramBuilder(_handlers(), wave_size)
    arguments, maps = list[Register | None](), set[Register | None]()
    inputs = len(kernel.function_type.inputs)
    for number, argument in enumerate(kernel.body.blocks[0].args[:inputs]):
        arguments += _parameter(b, kernel, argument, argument.name_hint or f"arg{number}")
        if isinstance(argument.type, TensorMapDescriptorType):
            maps.add(arguments[-1])
    for argument in kernel.workgroup_buffers:
        type = cast(MemRefType, argument.type)
        made = b.shared_buffer(kind_of(type.element_type), _elements(kernel, type), argument.name_hint)
        b[argument] = whole_memref(type, made.pointer, Space.LDS)
    for argument in kernel.private_buffers:
        type = cast(MemRefType, argument.type)
        elements = _elements(kernel, type)
        pointer = b.private_buffer(kind_of(type.element_type), elements, kernel.location, argument.name_hint)
        b[argument] = whole_memref(type, pointer, Space.PRIVATE)
    values = [b.values[argument] for argument in kernel.body.blocks[0].args]
    entry = b.block
    # a block that no edge leaves ends in `Return`
    lower_region(b, kernel.body, values, lambda _: None)
    return KernelProgram(
        kernel.symbol,
        kernel.location,
        entry,
        b.registers,
        arguments,
        b.inputs,
        b.private,
        b.lds_bytes,
        b.lds_names,
        kernel.known_size("cluster") or (1, 1, 1),
        frozenset(maps),
    )


def _parameter(b: ProgramBuilder, kernel: GPUFuncOp, argument: BlockArgument, name: str) -> list[Register | None]:
    """Registers for the flattened parameters of an argument."""
    type = argument.type
    try:
        if not isinstance(type, MemRefType):
            register = b[argument] = b.register(kind_of(type), name)
            return [register]
        buffer = b.fresh_memref(cast(MemRefType, type), name)
    except Unsupported as error:
        fail(kernel, f"argument {name} of kernel @{kernel.symbol} cannot be passed to the emulator: {error}")
    b[argument] = buffer
    # LLVM's descriptor has the allocated pointer first, which no kernel reads
    return [None, *(part if isinstance(part, Register) else None for part in buffer.parts)]


def _elements(kernel: GPUFuncOp, type: MemRefType) -> int:
    if not type.has_static_shape():
        fail(kernel, f"a buffer of kernel @{kernel.symbol} has type {type}, whose size is not known")
    return prod(type.get_shape())


RETURNS = ("gpu.return", "func.return", "llvm.return", "scf.yield")
NEVER_REACHED = ("llvm.unreachable", "ub.unreachable")
Leave = Callable[[Sequence[SSAValue]], None]
"""What becomes of the values that a region returns."""


def lower_region(b: ProgramBuilder, region: Region, arguments: Sequence[Value], leave: Leave) -> None:
    """A region of any number of blocks, entered from the current one."""
    blocks = {block: Block() for block in region.blocks}
    first, *others = region.blocks
    b.values.update(zip(first.args, arguments, strict=True))
    for block in others:
        b.parameters(blocks[block], block.args)
    b.goto(blocks[first])
    for block in in_order(region):
        b.block = blocks[block]
        _terminate(b, b.lower_block(block), blocks, leave)


def in_order(region: Region) -> list[IrBlock]:
    """Blocks so that a definition comes before its uses: what dominates a block is on every way to it."""
    return postorder(region.blocks[0], lambda block: reversed(block.last_op.successors if block.last_op else ()))[::-1]


def _terminate(b: ProgramBuilder, op: Operation, blocks: dict[IrBlock, Block], leave: Leave) -> None:
    match op:
        case cf.BranchOp():
            b.goto(blocks[op.successor], b.all_leaves(op.arguments))
        case cf.ConditionalBranchOp():
            yes = Edge(blocks[op.then_block], b.all_leaves(op.then_arguments))
            b.branch(b[op.cond], yes, Edge(blocks[op.else_block], b.all_leaves(op.else_arguments)))
        case cf.SwitchOp():
            _switch(b, op, blocks)
        case _ if op.name in RETURNS:
            leave(op.operands)
        case _ if op.name in NEVER_REACHED:
            # lanes that get here say so, rather than run on into anything
            b.effect("check", Constant(I1, False), text=f"reaches {op.name}, which the program says cannot be")
        case _:
            fail_op(op, "cannot end a block of a kernel")


def _switch(b: ProgramBuilder, op: cf.SwitchOp, blocks: dict[IrBlock, Block]) -> None:
    """One question after the other."""
    flag, values = b[op.flag], op.case_values.get_values() if op.case_values is not None else ()
    for number, target, arguments in zip(values, op.case_blocks, op.case_operand, strict=True):
        rest = Block()
        asked = b.emit("eq", I1, flag, Constant(flag.kind, number))
        b.branch(asked, Edge(blocks[target], b.all_leaves(arguments)), Edge(rest))
        b.block = rest
    b.goto(blocks[op.default_block], b.all_leaves(op.default_operands))


def _if(b: ProgramBuilder, op: scf.IfOp) -> None:
    two_ways(b, op, b[op.cond], op.true_region, op.false_region)


def two_ways(b: ProgramBuilder, op: Operation, condition: Operand, yes: Region, no: Region) -> None:
    after, ways = Block(), [Block(), Block()]
    b.branch(condition, Edge(ways[0]), Edge(ways[1]))
    for block, region in zip(ways, (yes, no), strict=True):
        b.block = block
        b.goto(after, b.all_leaves(b.yielded(region)) if region.blocks else [])
    b.parameters(after, op.results)
    b.block = after


def _index_switch(b: ProgramBuilder, op: scf.IndexSwitchOp) -> None:
    after, chosen = Block(), b[op.arg]
    for number, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        here, rest = Block(), Block()
        b.branch(b.emit("eq", I1, chosen, index(number)), Edge(here), Edge(rest))
        b.block = here
        b.goto(after, b.all_leaves(b.yielded(region)))
        b.block = rest
    b.goto(after, b.all_leaves(b.yielded(op.default_region)))
    b.parameters(after, op.results)
    b.block = after


def counted(
    b: ProgramBuilder,
    bounds: tuple[Operand, Operand, Operand],
    body: IrBlock,
    initial: Sequence[SSAValue],
    results: Sequence[SSAValue],
    unsigned: bool = False,
) -> None:
    """A loop from the first bound up to below the second, by the third."""
    start, end, step = bounds
    # MLIR does not say what such a loop does
    if not isinstance(step, Constant) or step.value <= 0:
        goes_up = b.emit("sgt", I1, step, Constant(step.kind, 0))
        b.effect("check", goes_up, text="never ends this loop: its step is not positive")
    head, inside, after = Block(), Block(), Block()
    b.goto(head, [start, *b.all_leaves(initial)])
    b.parameters(head, body.args)
    b.block = head
    # the comparison and the step are instructions of the loop that no operation stands for
    b.block.operations.append(CountedOperation(CONTROL, b.where))
    goes_on = b.emit("ult" if unsigned else "slt", I1, b[body.args[0]], end)
    b.branch(goes_on, Edge(inside), Edge(after, [*head.parameters[1:]]))
    b.block = inside
    last = b.lower_block(body)
    b.block.operations.append(CountedOperation(CONTROL, b.where))
    following = b.emit("arith.addi", b[body.args[0]].kind, b[body.args[0]], step)
    b.goto(head, [following, *b.all_leaves(last.operands)])
    b.parameters(after, results)
    b.block = after


def _for(b: ProgramBuilder, op: scf.ForOp) -> None:
    bounds, unsigned = (b[op.lb], b[op.ub], b[op.step]), isinstance(op.properties.get("unsignedCmp"), UnitAttr)
    counted(b, bounds, op.body.block, op.iter_args, op.results, unsigned)


def _affine_for(b: ProgramBuilder, op: affine.ForOp) -> None:
    low = extreme(b, "arith.maxsi", results(b, op.lowerBoundMap.data, op.lowerBoundOperands))
    high = extreme(b, "arith.minsi", results(b, op.upperBoundMap.data, op.upperBoundOperands))
    counted(b, (low, high, index(op.step.value.data)), op.body.block, op.inits, op.results)


def _affine_if(b: ProgramBuilder, op: affine.IfOp) -> None:
    two_ways(b, op, holds(b, op.condition.data, op.operands), op.then_region, op.else_region)


def _while(b: ProgramBuilder, op: scf.WhileOp) -> None:
    head, inside, after = Block(), Block(), Block()
    test, body = op.before_region.block, op.after_region.block
    b.goto(head, b.all_leaves(op.arguments))
    b.parameters(head, test.args)
    b.block = head
    condition = b.lower_block(test)
    assert isinstance(condition, scf.ConditionOp)
    # a report of a loop that waits names the loop, not its condition
    b.where = op.location
    passed = b.all_leaves(condition.operands[1:])
    b.branch(b[condition.operands[0]], Edge(inside, passed), Edge(after, list(passed)))
    b.parameters(inside, body.args)
    b.block = inside
    b.goto(head, b.all_leaves(b.lower_block(body).operands))
    b.parameters(after, op.results)
    b.block = after


def _call(b: ProgramBuilder, op: func.CallOp) -> None:
    name = op.callee.string_value()
    callee = lookup_symbol(op, op.callee)
    if callee is None or not callee.regions or not callee.regions[0].blocks:
        fail_op(op, f"calls @{name}, which has no body in its gpu.module", (op, "define it beside the kernel"))
    # calls are inlined
    if name in b.calls:
        fail_op(op, f"calls @{name} again while it runs", (op, "kernels of the emulator do not call themselves"))
    b.calls.append(name)
    _inline(b, callee.regions[0], [b.values[value] for value in op.arguments], op.results)
    b.calls.pop()


def _inline(b: ProgramBuilder, region: Region, arguments: Sequence[Value], results: Sequence[SSAValue]) -> None:
    after = Block()
    lower_region(b, region, arguments, lambda values: b.goto(after, b.all_leaves(values)))
    b.parameters(after, results)
    b.block = after


def _parallel(b: ProgramBuilder, op: Operation) -> None:
    raise Unsupported("loops that may run in parallel have no lanes of their own here: run convert-scf-to-cf on it")


def _assert(b: ProgramBuilder, op: cf.AssertOp) -> None:
    b.effect("check", b[op.arg], text=f"stops the program: {op.msg.data}")


_CONTROL_FLOW: dict[str, Handler] = {
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
    "scf.index_switch": _index_switch,
    "scf.execute_region": lambda b, op: _inline(b, op.regions[0], [], op.results),
    "scf.parallel": _parallel,
    "scf.forall": _parallel,
    "affine.for": _affine_for,
    "affine.if": _affine_if,
    "func.call": _call,
    "cf.assert": _assert,
}
