"""Descriptors as the numbers that native code works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.sim.descriptors import PAD, WORD_BYTES, Descriptor, LockUse, word_offsets
from tilewright.sim.dma import packet_header
from tilewright.sim.fast.state import BD_NUMBERS, NONE, BdField

if TYPE_CHECKING:
    from tilewright.sim.fast.blocks import FastChannel

LONG = 1 << 26
"""Words; what is longer than this does not fit into any memory, and is not looked at closely."""


def descriptor_numbers(channel: FastChannel, descriptor: Descriptor) -> list[int]:
    """All numbers of a descriptor, for a channel that runs it."""
    numbers = [0] * BD_NUMBERS
    numbers[BdField.VALID] = int(descriptor.valid)
    numbers[BdField.LENGTH] = descriptor.length
    numbers[BdField.BASE] = descriptor.base
    numbers[BdField.NEXT] = NONE if descriptor.next is None else descriptor.next
    numbers[BdField.ACQUIRE], numbers[BdField.ACQUIRE_VALUE] = _lock(channel, descriptor.acquire)
    numbers[BdField.RELEASE], numbers[BdField.RELEASE_VALUE] = _lock(channel, descriptor.release)
    packet = descriptor.packet
    numbers[BdField.HEADER] = NONE if packet is None else packet_header(channel.tile.place, packet.id, packet.type)
    numbers[BdField.SUPPRESS_LAST] = int(descriptor.suppress_tlast)
    numbers[BdField.ITERATIONS] = descriptor.iterations
    numbers[BdField.ITERATION_STEP] = descriptor.iteration_step
    numbers[BdField.ITERATION] = descriptor.iteration
    _put_pattern(numbers, descriptor)
    return numbers


def _lock(channel: FastChannel, use: LockUse | None) -> tuple[int, int]:
    if use is None:
        return NONE, 0
    return channel.tile.dma_lock(use.number, channel.number, channel.transfer).index, use.value


def _put_pattern(numbers: list[int], descriptor: Descriptor) -> None:
    numbers[BdField.DIMENSIONS] = len(descriptor.dimensions)
    for level, dimension in enumerate(descriptor.dimensions):
        numbers[BdField.WRAP + level] = dimension.wrap
        numbers[BdField.STEP + level] = dimension.step
        numbers[BdField.PAD_BEFORE + level] = dimension.pad_before
        numbers[BdField.PAD_AFTER + level] = dimension.pad_after
        numbers[BdField.PADDED] |= dimension.pad_before | dimension.pad_after
    _put_rows(numbers)
    if 0 < descriptor.length < LONG:
        offsets = word_offsets(descriptor.dimensions, descriptor.length)
        real = offsets[offsets != PAD] if numbers[BdField.PADDED] else offsets
        if len(real):
            numbers[BdField.LOW] = int(real.min()) * WORD_BYTES
            numbers[BdField.HIGH] = (int(real.max()) + 1) * WORD_BYTES


def _put_rows(numbers: list[int]) -> None:
    """Tell a matrix whose rows are apart, so that other columns of it are known to be elsewhere."""
    wrap, step, pitch = numbers[BdField.WRAP], numbers[BdField.STEP], numbers[BdField.STEP + 1]
    width, rows = (wrap - 1) * step + 1, numbers[BdField.WRAP + 1]
    is_whole = rows == 0 or wrap * rows >= numbers[BdField.LENGTH]
    if 0 < width <= pitch and is_whole and not numbers[BdField.PADDED]:
        numbers[BdField.PITCH], numbers[BdField.WIDTH] = pitch * WORD_BYTES, width * WORD_BYTES
