"""Takes kernels that stand in place out into modules of their own, for a compiler of the device."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.dialects import affine, arith, memref, scf
from tilewright.dialects.air.hierarchy import Hierarchy
from tilewright.dialects.air.memcpy import DmaMemcpyNdOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu.attributes import Dimension
from tilewright.dialects.gpu.attributions import WORKGROUP_COUNT, count_attr, workgroup_count
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.ids import (
    BlockDimOp,
    BlockIdOp,
    ClusterDimOp,
    ClusterIdOp,
    DimensionOp,
    GridDimOp,
    ThreadIdOp,
)
from tilewright.dialects.gpu.kernels import CONTAINER, KERNEL, LEAST_BLOCKS, GPUFuncOp, GPUModuleOp, ReturnOp
from tilewright.dialects.gpu.launches import LaunchOp, TerminatorOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import symbol_in, symbol_name
from tilewright.ir.traversal import all_operations, ops_of
from tilewright.passes.air.copy_loops import lower_copy
from tilewright.passes.air.ended_tokens import drop_tokens
from tilewright.rewrite.affine_lowering import lower_affine
from tilewright.rewrite.driver import rewrite
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.constants import defining, scalar_int
from tilewright.rewrite.scf_lowering import lower_structured_control
from tilewright.rewrite.symbols import references_in

IDS: tuple[type[DimensionOp], ...] = (BlockIdOp, ThreadIdOp, GridDimOp, BlockDimOp, ClusterIdOp, ClusterDimOp)
"""What the first arguments of a launch's body are, three dimensions of each; the last two where there are clusters."""


class AirGpuOutliningPass(Pass):
    name = "air-gpu-outlining"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        _check_is_lowered(op)
        # launches block by now, so that nothing of the host's has to wait
        drop_tokens(op)
        for copy in ops_of(all_operations(op), DmaMemcpyNdOp):
            lower_copy(copy, None)
            Rewriter.erase_op(copy)
        # compilers of devices take branches, no structured control flow
        lower_affine(op)
        lower_linalg(op)
        lower_structured_control(op)
        names = {name for child in op.body.block.ops if (name := symbol_name(child)) is not None}
        for function in [child for child in op.body.block.ops if isinstance(child, FuncOp)]:
            for launch in ops_of(all_operations(function), LaunchOp):
                name = _unused(f"{function.sym_name.data}_module", names)
                _outline(op, launch, name, f"{function.sym_name.data}_module")


def _check_is_lowered(module: ModuleOp) -> None:
    """Control flow becomes branches, for which the bodies of AIR's operations have no blocks."""
    for op in ops_of(all_operations(module), Hierarchy):
        remedy = "run --air-rank-to-mgpu and --air-to-rocdl before this pass"
        fail_op(op, "is left; kernels are taken out of programs that have no more of it", (op, remedy))


def _unused(name: str, names: set[str]) -> str:
    """`name`, or the first of `name_0`, `name_1` that nothing has."""
    # as MLIR's symbol tables make names unique: the first has no number
    unique, number = name, 0
    while unique in names:
        unique, number = f"{name}_{number}", number + 1
    names.add(unique)
    return unique


def _outline(module: ModuleOp, launch: LaunchOp, module_name: str, kernel_name: str) -> None:
    _check(launch)
    module.attributes[CONTAINER] = UnitAttr()
    outer = _from_outside(launch)
    # constants are made again inside
    captured = list(dict.fromkeys(value for _, _, value in outer if defining(value, arith.ConstantOp) is None))
    kernel = _kernel(launch, kernel_name, outer, captured)
    kernels = GPUModuleOp(module_name, [kernel])
    kernels.location = launch.location
    _copy_symbols(kernels, module)
    module.body.block.add_op(kernels)
    symbol = SymbolRefAttr(module_name, [kernel_name])
    Emitter.before(launch).insert(LaunchFuncOp.of(symbol, launch.grid_sizes, launch.block_sizes, captured))
    Rewriter.erase_op(launch)


def _copy_symbols(kernels: GPUModuleOp, module: ModuleOp) -> None:
    """Give the kernel's module the functions and globals that it refers to, and those that these refer to."""
    pending = all_operations(kernels)
    while pending:
        for reference in references_in(pending.pop()):
            name = reference.root_reference.data
            found = symbol_in(module, name)
            if found is not None and symbol_in(kernels, name) is None:
                copy = found.clone()
                kernels.body.block.add_op(copy)
                pending += all_operations(copy)


def _check(launch: LaunchOp) -> None:
    if launch.async_dependencies or launch.async_token is not None:
        fail_op(launch, "has tokens; only launches that block are outlined here")
    if launch.cluster_sizes and not _known_sizes("known_cluster_size", launch.cluster_sizes):
        fail_op(launch, "has clusters whose size is not known when it is compiled")
    if launch.dynamic_shared_memory_size is not None:
        fail_op(launch, "asks for shared memory at run time; buffers of memory space 1 are counted when compiling")


def _from_outside(launch: LaunchOp) -> list[tuple[Operation, int, SSAValue]]:
    """What the body takes from outside, in the order of its use: which operation, as which operand, and the value."""
    ops, inside = all_operations(launch.body), set[int]()
    for op in (launch, *ops):
        inside.update(map(id, op.results))
        for region in op.regions:
            for block in region.blocks:
                inside.update(map(id, block.args))
    return [(op, number, value) for op in ops for number, value in enumerate(op.operands) if id(value) not in inside]


def _kernel(
    launch: LaunchOp, name: str, outer: Sequence[tuple[Operation, int, SSAValue]], captured: Sequence[SSAValue]
) -> GPUFuncOp:
    """A kernel with the body of the launch."""
    buffers = [*launch.workgroup_buffers, *launch.private_buffers]
    entry = Block(arg_types=[value.type for value in (*captured, *buffers)])
    body = Region(entry)
    _pull_in(launch, entry, outer, captured)
    _define_ids(launch, entry)
    # attributions are arguments behind those of the function's type
    for buffer, argument in zip(buffers, entry.args[len(captured) :], strict=True):
        buffer.replace_all_uses_with(argument)
    _take_blocks(launch, body)
    kernel = GPUFuncOp.create(
        properties={
            "function_type": FunctionType.from_lists([value.type for value in captured], []),
            **_known_sizes("known_block_size", launch.block_sizes),
            **_known_sizes("known_grid_size", launch.grid_sizes),
            **(_known_sizes("known_cluster_size", launch.cluster_sizes) if launch.cluster_sizes else {}),
        },
        attributes={
            "sym_name": StringAttr(name),
            KERNEL: UnitAttr(),
            WORKGROUP_COUNT: count_attr(workgroup_count(launch)),
            **{key: launch.attributes[key] for key in (LEAST_BLOCKS,) if key in launch.attributes},
        },
        regions=[body],
    )
    kernel.location = launch.location
    return kernel


def _known_sizes(name: str, sizes: Sequence[SSAValue]) -> dict[str, Attribute]:
    """An attribute that tells the device's compiler the sizes, if they are known."""
    numbers = [scalar_int(size) for size in sizes]
    known = [number for number in numbers if number is not None and 0 < number < 1 << 31]
    return {name: DenseArrayBase.from_list(i32, known)} if len(known) == len(numbers) else {}


def _pull_in(
    launch: LaunchOp, entry: Block, outer: Sequence[tuple[Operation, int, SSAValue]], captured: Sequence[SSAValue]
) -> None:
    """Use the arguments of the kernel for what is captured, and make constants again."""
    inner: dict[SSAValue, SSAValue] = dict(zip(captured, entry.args, strict=False))
    for op, number, value in outer:
        constant = defining(value, arith.ConstantOp)
        if constant is not None and value not in inner:
            copy = constant.clone()
            # the kernel's line, not that of the host code it was taken from
            copy.location = launch.location
            entry.add_op(copy)
            inner[value] = copy.results[0]
        op.operands[number] = inner[value]


def _define_ids(launch: LaunchOp, entry: Block) -> None:
    """Ask for ids and sizes, which arguments gave before."""
    emit = Emitter.at_end(entry, launch.location)
    for number, argument in enumerate(launch.ids_and_sizes):
        if argument.first_use is not None:
            argument.replace_all_uses_with(emit.value(IDS[number // 3](list(Dimension)[number % 3])))


def _take_blocks(launch: LaunchOp, body: Region) -> None:
    """Move the blocks of the launch into the kernel; what was in the first comes behind the ids."""
    first, entry = launch.block, body.block
    for moved in list(first.ops):
        moved.detach()
        entry.add_op(moved)
    for block in list(launch.body.blocks)[1:]:
        launch.body.detach_block(block)
        body.add_block(block)
    for block in body.blocks:
        if isinstance(end := block.last_op, TerminatorOp):
            Rewriter.replace_op(end, ReturnOp.create(location=end.location))


MADE_BY_XDSL: dict[type[Operation], type[Operation]] = {
    ours.__mro__[1]: ours
    for ours in (
        affine.ApplyOp,
        arith.ConstantOp,
        memref.DimOp,
        memref.LoadOp,
        memref.StoreOp,
        scf.ForOp,
        scf.YieldOp,
    )
}


def lower_linalg(op: Operation) -> None:
    """Lower what there is of linalg in `op`; most programs have none, and do not load it."""
    found = [inner for inner in all_operations(op) if inner.regions and inner.name.startswith("linalg.")]
    if not found:
        return
    from xdsl.transforms.convert_linalg_to_loops import LowerLinalgStructuredOpPattern

    for inner in found:
        if not all(isinstance(value.type, MemRefType) for value in inner.operands[-1:]):
            fail_op(inner, "works on tensors; bufferize it before kernels are taken out")
    rewrite(op, LowerLinalgStructuredOpPattern())
    # xDSL's pattern makes operations of its own classes: ours take their places
    for inner in all_operations(op):
        if (ours := MADE_BY_XDSL.get(type(inner))) is not None:
            new = ours.create(
                operands=inner.operands,
                result_types=inner.result_types,
                properties=inner.properties,
                attributes=inner.attributes,
                regions=[inner.detach_region(region) for region in [*inner.regions]],
                location=inner.location,
            )
            Rewriter.replace_op(inner, new)
