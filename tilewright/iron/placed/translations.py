"""Modules as the words that they come to, by upstream's names."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.module import Module


def translate_npu_to_binary(module: Any, device_name: str = "", sequence_name: str = "") -> list[int]:
    """The TXN words of a runtime sequence that passes have lowered to register writes."""
    from tilewright.driver.translations import npu_words

    return npu_words(_module(module), device_name, sequence_name)


def generate_control_packets(module: Any, device_name: str = "") -> list[int]:
    """The words of the control packets in a runtime sequence."""
    from tilewright.driver.translations import packet_words

    return packet_words(_module(module), device_name)


def _module(given: Any) -> ModuleOp:
    op = given.op if isinstance(given, Module | OpView) else given
    if not isinstance(op, ModuleOp):
        refuse(f"expected a module, not {given!r}")
    return op


__all__ = ["generate_control_packets", "translate_npu_to_binary"]
