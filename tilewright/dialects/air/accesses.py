"""Parts of buffers that transfers read and write: offsets, sizes and strides, each an integer or a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, opt_prop_def, opt_result_def
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._mixed_indices import MixedIndices, join_mixed, split_mixed
from tilewright.dialects._syntax import Integers, segments
from tilewright.dialects.air.asynchronous import SEGMENT_SIZES, AsyncDependencies, AsyncOp
from tilewright.dialects.air.types import ANY_TOKEN

Entries: TypeAlias = "list[SSAValue | int]"
LISTS = "offsets", "sizes", "strides"
PADS = DenseArrayBase.constr(i32)
MAX_PADDING = 65535
"""What a descriptor's padding field holds."""


@dataclass(frozen=True)
class Access:
    """A buffer and the part of it that is moved; empty lists stand for all of it, in order."""

    memref: SSAValue
    offsets: Entries
    sizes: Entries
    strides: Entries

    @property
    def lists(self) -> tuple[Entries, Entries, Entries]:
        return self.offsets, self.sizes, self.strides

    @property
    def is_whole(self) -> bool:
        return not (self.offsets or self.sizes or self.strides)


class Transfer(AsyncOp):
    """An operation that moves parts of buffers; `SIDES` gives the place of each buffer among the operand groups."""

    pad_before = opt_prop_def(PADS)
    pad_after = opt_prop_def(PADS)
    async_token = opt_result_def(ANY_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (AsyncDependencies, MixedIndices)

    SIDES: ClassVar[dict[str, int]]

    @property
    def _groups(self) -> list[list[SSAValue]]:
        # by position and not by name: the names of the two sides differ, their shape does not
        groups: list[list[SSAValue]] = []
        start = 0
        for size in cast(Integers, self.properties[SEGMENT_SIZES]).get_values():
            groups.append(list(self.operands[start : start + size]))
            start += size
        return groups

    def buffer(self, side: str) -> SSAValue:
        """The buffer that is read (`src`) or written (`dst`)."""
        # without making lists of everything else: passes ask for little but the buffer
        sizes = cast(Integers, self.properties[SEGMENT_SIZES]).get_values()
        return self.operands[sum(sizes[: self.SIDES[side]])]

    def access(self, side: str) -> Access:
        """What is read (`src`) or written (`dst`)."""
        groups, first = self._groups, self.SIDES[side]
        lists = (
            join_mixed(groups[first + number], cast(Integers, self.properties[f"static_{side}_{name}"]), name[:-1])
            for number, name in enumerate(LISTS, 1)
        )
        return Access(groups[first][0], *lists)

    def set_access(self, side: str, access: Access) -> None:
        """Read or write this instead."""
        groups, first = self._groups, self.SIDES[side]
        groups[first] = [access.memref]
        for number, (name, entries) in enumerate(zip(LISTS, access.lists, strict=True), 1):
            groups[first + number] = [entry for entry in entries if isinstance(entry, SSAValue)]
            self.properties[f"static_{side}_{name}"] = split_mixed(entries)[1]
        self.operands = [value for group in groups for value in group]
        self.properties[SEGMENT_SIZES] = segments(*map(len, groups))

    def verify_access(self, side: str) -> None:
        """There are as many strides as sizes; offsets may be fewer, the outer ones being 0 then."""
        access = self.access(side)
        # whether they fit the buffer is for the lowerings, which know the hardware
        if len(access.sizes) != len(access.strides):
            raise VerifyException(
                f"{side} sizes and strides must have the same number of dimensions, "
                f"but got {len(access.sizes)} and {len(access.strides)}"
            )

    def verify_padding(self) -> None:
        """Both sides of the padding or none, of one length, each within its field."""
        if (self.pad_before is None) != (self.pad_after is None):
            raise VerifyException("pad_before and pad_after must both be present or both absent")
        if self.pad_before is None or self.pad_after is None:
            return
        before, after = self.pad_before.get_values(), self.pad_after.get_values()
        if len(before) != len(after):
            raise VerifyException("pad_before and pad_after must have the same number of dimensions")
        for pads in zip(before, after, strict=True):
            if min(pads) < 0:
                raise VerifyException("padding values must be non-negative")
            if max(pads) > MAX_PADDING:
                raise VerifyException(f"padding values must be <= {MAX_PADDING}")


def access_format(side: str) -> str:
    """`%buffer[offsets] [sizes] [strides]`."""
    lists = (f"custom<MixedIndices>($dynamic_{side}_{name}, $static_{side}_{name})" for name in LISTS)
    return f"${side} `` {' '.join(lists)}"
