"""Modules of Python programs, transformed and translated: what `opt` and `translate` do, for callers from Python."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.codegen.static_words import static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.control_packets import control_packet_words
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import fail
from tilewright.ir.pass_manager import Pipeline, build_pipeline, run_pipeline
from tilewright.ir.pipeline_text import parse_pipeline
from tilewright.passes import find_pass

OpT = TypeVar("OpT", DeviceOp, RuntimeSequenceOp)


def read_pipeline(text: str) -> Pipeline:
    """The passes that a text such as `builtin.module(aie.device(aie-place-tiles))` names."""
    return build_pipeline(parse_pipeline(text), find_pass)


def run_passes(op: Operation, pipeline: Pipeline, verify_each: bool = True) -> None:
    """Run passes on an operation, which they change."""
    run_pipeline(make_context(), op, pipeline, verify_each)


def npu_words(module: ModuleOp, device: str = "", sequence: str = "") -> list[int]:
    """The TXN words of a lowered sequence; without names, of the first sequence of the first device."""
    found = _named(module, DeviceOp, device)
    return static_words(_named(found, RuntimeSequenceOp, sequence), TxnEmitter(found)).words


def packet_words(module: ModuleOp, device: str = "", sequence: str = "") -> list[int]:
    """The words of a sequence's control packets."""
    found = _named(module, DeviceOp, device)
    return control_packet_words(found, _named(found, RuntimeSequenceOp, sequence))


def _named(home: Operation, kind: type[OpT], name: str) -> OpT:
    found = [op for op in home.regions[0].block.ops if isinstance(op, kind)]
    for op in found:
        if not name or op.sym_name.data == name:
            return op
    fail(home, f"there is no '{kind.name}' called '{name}'" if name else f"there is no '{kind.name}'")
