"""Transfers of views: canonicalization may name the buffer instead, but the same elements must be moved in order."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np
from helpers import first, lowered
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tilewright.dialects.air.channels import ChannelPutOp
from tilewright.passes.standard.canonicalize import CanonicalizePass


@dataclass
class View:
    """A part of a buffer, and the text that makes it."""

    shape: list[int]
    strides: list[int]
    offset: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"%v{len(self.lines)}"

    @property
    def type(self) -> str:
        layout = f", strided<{self.strides}, offset: {self.offset}>" if self.lines else ""
        return f"memref<{'x'.join(map(str, self.shape))}xi32{layout}>"

    @property
    def elements(self) -> list[int]:
        return [self.offset + int(np.dot(place, self.strides)) for place in np.ndindex(*self.shape)]

    def made_by(self, text: str, source: View) -> View:
        self.lines = [*source.lines, ""]
        self.lines[-1] = f"{self.name} = {text} : {source.type} to {self.type}"
        return self


def subview(draw: st.DrawFn, view: View) -> View:
    offsets = [draw(st.integers(0, extent - 1)) for extent in view.shape]
    steps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in view.shape]
    room = [(n - 1 - o) // s + 1 for n, o, s in zip(view.shape, offsets, steps, strict=True)]
    sizes = [draw(st.integers(1, most)) for most in room]
    strides = [stride * step for stride, step in zip(view.strides, steps, strict=True)]
    new = View(sizes, strides, view.offset + int(np.dot(offsets, view.strides)))
    return new.made_by(f"memref.subview {view.name}{offsets} {sizes} {steps}", view)


def plane(draw: st.DrawFn, view: View) -> View:
    """One index of a dimension, which the shape leaves out."""
    if len(view.shape) < 2:
        return view
    dim = draw(st.integers(0, len(view.shape) - 1))
    offsets, sizes = [0] * len(view.shape), list(view.shape)
    offsets[dim], sizes[dim] = draw(st.integers(0, view.shape[dim] - 1)), 1
    new = View(view.shape[:dim] + view.shape[dim + 1 :], view.strides[:dim] + view.strides[dim + 1 :])
    new.offset = view.offset + offsets[dim] * view.strides[dim]
    return new.made_by(f"memref.subview {view.name}{offsets} {sizes} {[1] * len(sizes)}", view)


def transpose(draw: st.DrawFn, view: View) -> View:
    order = draw(st.permutations(range(len(view.shape))))
    names, results = (", ".join(f"d{dim}" for dim in dims) for dims in (range(len(order)), order))
    new = View([view.shape[dim] for dim in order], [view.strides[dim] for dim in order], view.offset)
    return new.made_by(f"memref.transpose {view.name} ({names}) -> ({results})", view)


@st.composite
def views(draw: st.DrawFn) -> tuple[View, View]:
    """A buffer and a view of it."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    buffer = View(shape, [prod(shape[dim + 1 :]) for dim in range(len(shape))])
    view = buffer
    for kind in draw(st.lists(st.sampled_from([subview, plane, transpose]), min_size=1, max_size=3)):
        view = kind(draw, view)
    return buffer, view


def moved(put: ChannelPutOp, buffer: View) -> list[int]:
    """The elements that a put reads from a buffer: a step in a dimension, or an offset, goes as far as its stride."""
    access = put.access("src")
    if access.is_whole:
        return buffer.elements
    lists = [[entry for entry in entries if isinstance(entry, int)] for entries in access.lists]
    offsets = [0] * (len(lists[1]) - len(lists[0])) + lists[0]
    return [int(np.dot(np.add(offsets, place), lists[2])) for place in np.ndindex(*lists[1])]


LEFT_OUT = [
    "%v1 = memref.transpose %v0 (d0, d1, d2) -> (d1, d2, d0)"
    " : memref<1x2x2xi32> to memref<2x2x1xi32, strided<[2, 1, 4], offset: 0>>",
    "%v2 = memref.subview %v1[1, 0, 0] [1, 2, 1] [1, 1, 1]"
    " : memref<2x2x1xi32, strided<[2, 1, 4], offset: 0>> to memref<2x1xi32, strided<[1, 4], offset: 2>>",
    "%v3 = memref.subview %v2[1, 0] [1, 1] [1, 1]"
    " : memref<2x1xi32, strided<[1, 4], offset: 2>> to memref<1xi32, strided<[4], offset: 3>>",
]
"""Two dimensions have one element; the one that is left out is not the one at which the view begins at 0."""


@settings(max_examples=200, deadline=None)
@given(views())
@example((View([1, 2, 2], [4, 2, 1]), View([1], [4], 3, LEFT_OUT)))
def test_the_same_elements_are_moved(drawn: tuple[View, View]):
    buffer, view = drawn
    text = f"""air.channel @c []
    func.func @f(%v0: {buffer.type}) {{
      {" ".join(view.lines)}
      air.channel.put @c[] ({view.name}[] [] []) : ({view.type})
      return }}"""
    put = first(ChannelPutOp, lowered(text, CanonicalizePass()))
    if put.access("src").memref.owner is put.parent:  # else the view stays, because no lists say what it does
        assert moved(put, buffer) == view.elements
