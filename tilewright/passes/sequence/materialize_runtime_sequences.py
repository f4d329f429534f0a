"""Puts the sequences of other devices where they are run, and loads those devices before."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.configure import ConfigureOp
from tilewright.dialects.aiex.firmware import NpuCreateScratchpadOp, NpuLoadPdiOp
from tilewright.ir.diagnostics import fail
from tilewright.ir.pass_manager import Pass
from tilewright.ir.symbols import unchanging_symbols
from tilewright.ir.traversal import all_operations
from tilewright.rewrite.driver import Config, rewrite
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.folding.aiex import DropRepeatedLoad
from tilewright.rewrite.pass_bases import ops_of
from tilewright.rewrite.sequence_inlining import InlineRun, check_calls, check_references, dissolve, reaches_cycle

# mlir-aie runs its greedy driver here, which also folds and drops what is dead around the pattern.
AS_UPSTREAM = Config(top_down=False, fold=True, remove_dead=True)


class MaterializeRuntimeSequencesPass(Pass):
    name = "aie-materialize-runtime-sequences"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        for device in ops_of(op.body.block.ops, DeviceOp):
            sequences = ops_of(device.body.ops, RuntimeSequenceOp)
            with unchanging_symbols():
                _check(sequences)
            if sequences:
                _materialize(device, sequences)


def _check(sequences: list[RuntimeSequenceOp]) -> None:
    for sequence in sequences:
        check_references(sequence)
        check_calls(sequence)
    # Before inlining, which would not end on a cycle.
    acyclic: set[RuntimeSequenceOp] = set()
    for sequence in sequences:
        if reaches_cycle(sequence, acyclic):
            fail(sequence, "Runtime sequence call graph contains a cycle")


def _materialize(device: DeviceOp, sequences: list[RuntimeSequenceOp]) -> None:
    with unchanging_symbols():  # of what is looked up: callees, and what they refer to
        rewrite(device, InlineRun(device, sequences[0]), config=AS_UPSTREAM)
    for sequence in sequences:
        _keep_one_scratchpad(sequence)
    inside = [op for sequence in sequences for op in all_operations(sequence)]
    configures = ops_of(inside, ConfigureOp)
    for configure in configures:
        _load_first(configure)
    if configures or ops_of(inside, NpuLoadPdiOp):
        rewrite(device, DropRepeatedLoad(), config=AS_UPSTREAM)
    for configure in configures:
        dissolve(configure)


def _keep_one_scratchpad(sequence: RuntimeSequenceOp) -> None:
    """The scratchpad belongs to the whole module: all that is called agrees on it, and creates it once."""
    first, *others = ops_of(sequence.body.ops, NpuCreateScratchpadOp) or [None]
    for other in others:
        assert first is not None and other is not None
        sizes = other.size.value.data, first.size.value.data
        if sizes[0] != sizes[1]:
            text = "create_scratchpad size mismatch after inlining: {} != {}".format(*sizes)
            fail(other, text, (first, "the other one is here"))
        Rewriter.erase_op(other)


def _load_first(configure: ConfigureOp) -> None:
    if configure.body.first_block is None:
        configure.body.add_block(Block())
    load = NpuLoadPdiOp(configure.find_device().sym_name.data, configure.expand_mode)
    Emitter.at_start(configure.body.block, configure.location).insert(load)
