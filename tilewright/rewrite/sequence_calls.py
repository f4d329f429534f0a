"""Which sequences run which, and what they may refer to."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.flows import ShimDmaAllocationOp
from tilewright.dialects.aie.lookup import lookup_symbol
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoRearmBindingOp
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.configure import ConfigureOp, RunOp
from tilewright.dialects.memref.buffers import GlobalOp
from tilewright.ir.diagnostics import fail, fail_op
from tilewright.ir.shown import quoted
from tilewright.rewrite.symbols import references_in

CAN_BE_REFERRED_TO = (
    ShimDmaAllocationOp,
    DeviceOp,
    RuntimeSequenceOp,
    BufferOp,
    ObjectFifoRearmBindingOp,
    GlobalOp,
)


def check_references(sequence: RuntimeSequenceOp) -> None:
    """What a sequence refers to in its device must be something that it can take along, at a known address."""
    for op in sequence.walk():
        for reference in references_in(op):
            definition = lookup_symbol(sequence, reference)
            if definition is None:
                continue
            if not isinstance(definition, CAN_BE_REFERRED_TO):
                fail_op(
                    op,
                    f"references symbol '{reference.root_reference.data}' which must be either a ShimDMAAllocationOp, "
                    "DeviceOp, RuntimeSequenceOp, BufferOp, ObjectFifoRearmBindingOp, or GlobalOp, but got: "
                    f"{definition.name}",
                )
            if isinstance(definition, BufferOp) and definition.address is None:
                fail_op(
                    op,
                    "Unallocated buffer; fixed addresses are required before runtime sequence materialization.",
                    (definition, "this buffer has no address"),
                )


def check_calls(sequence: RuntimeSequenceOp) -> None:
    """Everything that a sequence runs must exist and take the arguments that it is given."""
    for configure in sequence.body.ops:
        for run in configure.inside if isinstance(configure, ConfigureOp) else ():
            if isinstance(run, RunOp):
                called_sequence(run)


def called_sequence(run: RunOp) -> RuntimeSequenceOp:
    """The sequence that is run; fails if there is none, or none for these arguments."""
    device, name = configured_device(run), run.runtime_sequence_symbol.root_reference.data
    found = lookup_symbol(device, name)
    if found is None:
        note = f"This device does not have a '{name}' runtime sequence"
        fail(run, f"No such runtime sequence for device '{device.sym_name.data}': '{name}'", (device, note))
    if not isinstance(found, RuntimeSequenceOp):
        fail(run, f"'{name}' is not a runtime sequence", (found, "the symbol is defined here"))
    block = found.body.first_block
    expected = block.arg_types if block is not None else ()
    if len(expected) != len(run.args):
        fail_op(run, f"argument count mismatch: expected {len(expected)} but got {len(run.args)}")
    for index, (wanted, given) in enumerate(zip(expected, run.args.types, strict=True)):
        if wanted != given:
            fail_op(run, f"argument {index} type mismatch: expected {quoted(wanted)} but got {quoted(given)}")
    return found


def configured_device(run: RunOp) -> DeviceOp:
    """The device whose sequence is run."""
    configure = run.parent_op()
    assert isinstance(configure, ConfigureOp), "the verifier asks for one"
    return configure.find_device()


def reaches_cycle(
    sequence: RuntimeSequenceOp, acyclic: set[RuntimeSequenceOp], callers: tuple[RuntimeSequenceOp, ...] = ()
) -> bool:
    """Whether running a sequence would never end. Collects in `acyclic` those that do."""
    if sequence in callers:
        return True
    if sequence in acyclic:
        return False
    if any(reaches_cycle(callee, acyclic, (*callers, sequence)) for callee in _callees(sequence)):
        return True
    acyclic.add(sequence)
    return False


def _callees(sequence: Operation) -> Iterator[RuntimeSequenceOp]:
    for op in sequence.walk():
        if isinstance(op, RunOp) and op.sequence is not None:
            yield op.sequence
