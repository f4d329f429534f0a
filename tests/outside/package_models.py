"""Kernels of public packages in NumPy, from what their C++ sources compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Frame = npt.NDArray[np.uint8]
Words = npt.NDArray[np.int64]
Integers = npt.NDArray[np.integer]
Model = Callable[[Frame], Frame]
CHANNELS = 4
MAX = 255
THRESHOLD_TYPES = 5
SIXTH, HUE_BITS = 85, 9
"""A sixth of the circle of hues, doubled, and the bits of its reciprocals behind the point."""
SHARE_BITS = 14
BLOCK = 32
"""Pixels that the vector kernels do at once."""
EDGE = np.array([[0, -1, 0], [-1, 4, -1], [0, -1, 0]])


def copy(frame: Frame) -> Frame:
    return frame.copy()


def red_threshold(limit: int) -> Model:
    """The red channel becomes 0 below a limit, else 255; the others stay."""

    def model(frame: Frame) -> Frame:
        made = frame.copy()
        made[..., 0] = np.where(frame[..., 0] < limit, 0, MAX)
        return made

    return model


def above(limits: Sequence[int]) -> Model:
    """255 for bytes above the limit of their channel; alpha has the limit 0."""
    return lambda frame: np.where(frame > np.array((*limits, 0)), MAX, 0).astype(np.uint8)


def below(limits: Sequence[int]) -> Model:
    """255 for bytes below it."""
    return lambda frame: np.where(frame < np.array((*limits, 0)), MAX, 0).astype(np.uint8)


def rgba_threshold(limits: Sequence[int], kind: int, *, is_swapped: bool) -> Model:
    """The five types of OpenCV, of four channels; `is_swapped` where both choices of each selection trade places."""
    kind = {0: 1, 1: 0, 3: 4, 4: 3}.get(kind, kind) if is_swapped else kind

    def model(frame: Frame) -> Frame:
        limit = np.array(limits)
        kept = (MAX, 0, 0, frame, 0)[kind], (0, MAX, 0, 0, frame)[kind]
        made = np.minimum(frame, limit) if kind == 2 else np.where(frame > limit, *kept)
        return made.astype(np.uint8)

    return model


# Hues


def hue(frame: Frame) -> Frame:
    """With reciprocals of 16 bits, of which 9 are behind the point; half of it, cut to a byte."""
    r, g, b = channels(frame)
    largest, least = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    apart = largest - least
    reciprocal = (SIXTH << HUE_BITS) // np.maximum(apart, 1)

    def part(turn: int, first: Words, second: Words) -> Words:
        return (((2 * turn * SIXTH + 1) << HUE_BITS) + (first - second) * reciprocal) >> (HUE_BITS + 1)

    made = np.where(largest == r, part(0, g, b), part(2, r, g))
    made = np.where(largest == g, part(1, b, r), made)
    return np.where(apart == 0, 0, made).astype(np.uint8)


def scalar_hue(frame: Frame) -> Frame:
    """With a division that rounds to zero."""
    r, g, b = channels(frame)
    largest, least = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    apart = np.maximum(largest - least, 1)

    def part(turn: int, first: Words, second: Words) -> Words:
        return 2 * turn * SIXTH + np.trunc(SIXTH * (first - second) / apart).astype(np.int64)

    made = np.where(largest == g, part(1, b, r), part(2, r, g))
    made = np.where(largest == r, part(0, g, b), made)
    return np.where(largest == least, 0, (made + 1) >> 1).astype(np.uint8)


def hues_in_range(low: int, high: int, hues: Model) -> Model:
    """Pixels whose hue lies between two limits, and black for the others."""

    def model(frame: Frame) -> Frame:
        found = hues(frame)
        return frame & as_rgba(np.where((found >= low) & (found <= high), MAX, 0))

    return model


def color_detect(ranges: Sequence[tuple[int, int]], hues: Model) -> Model:
    """Pixels with a hue above the lower limit of a range and not above its upper one."""

    def model(frame: Frame) -> Frame:
        found = hues(frame)
        is_in = np.any([(found > low) & (found <= high) for low, high in ranges], axis=0)
        return frame & as_rgba(np.where(is_in, MAX, 0))

    return model


def channels(frame: Frame) -> Sequence[Words]:
    return [frame[..., number].astype(np.int64) for number in range(3)]


def as_rgba(gray: Integers) -> Frame:
    alpha = np.full_like(gray, MAX)
    return np.stack([gray, gray, gray, alpha], axis=-1).astype(np.uint8)


# Grey values


def gray_values(frame: Frame, *, is_vector: bool) -> Words:
    """Weights of 15 bits in the vector kernel, of 16 in the other."""
    bits = 15 if is_vector else 16
    weights = [round(share * (1 << bits)) for share in (0.299, 0.587, 0.114)]
    total = np.tensordot(weights, channels(frame), 1)
    return (total + (1 << bits - 1)) >> bits


def median(gray: Words) -> Words:
    """Of three in a line; the ends stand twice."""
    wide = np.pad(gray, ((0, 0), (1, 1)), mode="edge")
    return np.median([wide[:, :-2], gray, wide[:, 2:]], axis=0).astype(np.int64)


def weighted_sum(first: Integers, second: Integers, shares: Sequence[int], *, is_vector: bool) -> Words:
    """The vector kernel rounds down, and adds gamma before its shift; the scalar one rounds, and adds it behind."""
    alpha, beta, gamma = shares
    total = first.astype(np.int64) * alpha + second.astype(np.int64) * beta
    if is_vector:
        made = (total + gamma) >> SHARE_BITS
    else:
        made = ((total + (1 << SHARE_BITS - 1)) >> SHARE_BITS) + gamma
    return np.clip(made, 0, MAX)


def neighbours(size: int) -> Sequence[Words]:
    """Numbers of the places before all places, of these themselves, and of those behind them."""
    places = np.arange(size, dtype=np.int64)
    return [np.clip(places + step, 0, size - 1) for step in (-1, 0, 1)]


def filtered(gray: Words, weights: Words, *, is_vector: bool) -> Words:
    """A filter of 3x3 with weights of 12 bits, lines and columns at the border twice.

    The vector kernel has 8 bits of the weights, rounds down, and from the third block on takes the left neighbour of
    the first pixel of a block from one pixel too far left.
    """
    lines, columns = neighbours(gray.shape[0]), neighbours(gray.shape[1])
    if is_vector:
        columns[0][2 * BLOCK :: BLOCK] -= 1
        weights = weights >> 8
    total = np.zeros_like(gray)
    for row in range(3):
        for column in range(3):
            total += gray[lines[row]][:, columns[column]] * weights[row, column]
    return np.clip(total >> 4 if is_vector else (total + (1 << 11)) >> 12, 0, MAX)


def edge_detect(weights: Words, limit: int, shares: Sequence[int], *, is_vector: bool) -> Model:
    """The mask of edges and the frame, each with its share."""

    def model(frame: Frame) -> Frame:
        edges = filtered(gray_values(frame, is_vector=is_vector), weights, is_vector=is_vector)
        mask = as_rgba(np.where(edges > limit, MAX, 0))
        return weighted_sum(mask, frame, shares, is_vector=is_vector).astype(np.uint8)

    return model


def denoise(shares: Sequence[int], threshold: Sequence[int], *, is_vector: bool, is_swapped: bool) -> Model:
    """Grey values and their medians, each with its share, and a threshold."""
    limit, kind, _ = threshold

    def model(frame: Frame) -> Frame:
        gray = gray_values(frame, is_vector=is_vector)
        made = weighted_sum(gray, median(gray), shares, is_vector=is_vector)
        return rgba_threshold((limit,), kind, is_swapped=is_swapped)(made.astype(np.uint8)[..., np.newaxis])

    return model
