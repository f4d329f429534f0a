"""Passes and translations of modules, as `opt` and `translate` and callers from Python name them."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import fail
from tilewright.ir.pass_manager import Pipeline, build_pipeline, run_pipeline
from tilewright.ir.pipeline_text import parse_pipeline
from tilewright.ir.symbols import symbol_in
from tilewright.passes import find_pass

MAIN_DEVICE = "main"


def read_pipeline(text: str) -> Pipeline:
    """The passes that a text such as `builtin.module(aie.device(aie-place-tiles))` names."""
    return build_pipeline(parse_pipeline(text), find_pass)


def run_passes(op: Operation, pipeline: Pipeline, verify_each: bool = True) -> None:
    """Run passes on an operation, which they change."""
    run_pipeline(make_context(), op, pipeline, verify_each)


def find_device(module: ModuleOp, name: str) -> DeviceOp | None:
    """The device of that name; without one, `main`."""
    found = symbol_in(module, name or MAIN_DEVICE)
    return found if isinstance(found, DeviceOp) else None


def device_in(module: ModuleOp, name: str) -> DeviceOp:
    """The same, which has to be there."""
    device = find_device(module, name)
    if device is None:
        fail(module, f"No such device: {name}" if name else "No 'main' device in module")
    return device


def sequence_in(device: DeviceOp, name: str) -> RuntimeSequenceOp:
    """The sequence of that name; without one, the first."""
    sequences = [op for op in device.body.ops if isinstance(op, RuntimeSequenceOp)]
    found = next((sequence for sequence in sequences if not name or sequence.sym_name.data == name), None)
    if found is None:
        fail(device, f"No such runtime sequence: {name}" if name else "No runtime sequence in device")
    return found


def npu_words(module: ModuleOp, device: str = "", sequence: str = "") -> list[int]:
    """The TXN words of a lowered sequence; without names, of the first sequence of `main`."""
    from tilewright.codegen.static_words import static_words
    from tilewright.codegen.txn_words import TxnEmitter

    found = device_in(module, device)
    return static_words(sequence_in(found, sequence), TxnEmitter(found)).words


def packet_words(module: ModuleOp, device: str = "", sequence: str = "") -> list[int]:
    """The words of a sequence's control packets."""
    from tilewright.dialects.aiex.control_packets import control_packet_words

    found = device_in(module, device)
    return control_packet_words(found, sequence_in(found, sequence))
