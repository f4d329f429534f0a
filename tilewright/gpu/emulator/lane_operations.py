"""Operations that lanes of a wave do together, and vectors, arrays with lanes as their last dimension."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from tilewright.gpu.emulator.arithmetic import maximumf, minimumf

Array = np.ndarray[Any, np.dtype[Any]]
COMBINE: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": np.minimum,
    "maxui": np.maximum,
    "minnumf": np.fmin,
    "maxnumf": np.fmax,
    "minimumf": minimumf,
    "maximumf": maximumf,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def c_format(format: str) -> str:
    """A format of C's as Python has it."""
    return format.replace("%lu", "%d").replace("%ld", "%d").replace("%lld", "%d").replace("%llu", "%d")


class LaneGroup(ABC):
    """Lanes of some waves side by side; `m` masks those that are active, None means all."""

    lanes: int
    wave_size: int

    @abstractmethod
    def fault(self, site: int, text: str, m: Any = None, *notes: str) -> NoReturn: ...

    def active(self, m: Any) -> Array:
        return np.ones(self.lanes, bool) if m is None else m


class LaneOperations(LaneGroup):
    """Operations across lanes, for any number of waves side by side."""

    def shuffle(self, value: Array, offset: Any, width: Any, mode: str, m: Any, site: int) -> tuple[Array, Array]:
        """The value of another lane among `width` neighbours, and whether there is such a lane."""
        size = self.wave_size
        wide = np.unique(np.asarray(width)) if m is None else np.unique(np.broadcast_to(width, self.lanes)[m])
        if wide.size != 1 or not 0 < wide[0] <= size or wide[0] & (wide[0] - 1):
            note = f"waves of this target have {size} lanes; write a width that divides that"
            self.fault(site, f"shuffle over {', '.join(map(str, wide))} lanes", m, note)
        # a power of two, so that segments never reach over the end of a wave
        width = int(wide[0])
        lane = np.arange(self.lanes) % width
        first = np.arange(self.lanes) - lane
        aim = {
            "idx": lambda: np.broadcast_to(offset, self.lanes),
            "xor": lambda: lane ^ offset,
            "up": lambda: lane - offset,
            "down": lambda: lane + offset,
        }[mode]()
        valid = (aim >= 0) & (aim < width)
        source = np.where(valid, first + aim, np.arange(self.lanes))
        # what a GPU gives then is undefined
        if m is not None and not m[source[m]].all():
            reader = int(np.flatnonzero(m & ~m[source])[0])
            text = f"lane {reader % size} reads the value of lane {int(source[reader]) % size}, which is not active"
            self.fault(site, text, None, "move the shuffle to where all lanes of the wave are, or read an active lane")
        return value[source], valid

    def read_lane(self, value: Array, lane: Any, m: Any, site: int) -> Array:
        """The value of one lane of each wave; of the first active one if the number is below zero."""
        rows = value.reshape(-1, self.wave_size)
        if isinstance(lane, int) and lane < 0:
            chosen = self.active(m).reshape(-1, self.wave_size).argmax(1)
        else:
            chosen = np.broadcast_to(lane, self.lanes).reshape(-1, self.wave_size)[:, 0] % self.wave_size
        return np.repeat(rows[np.arange(len(rows)), chosen], self.wave_size)

    def ballot(self, value: Array, m: Any, dtype: np.dtype[Any]) -> Array:
        """A mask of the active lanes that say yes."""
        rows = (value if m is None else value & m).reshape(-1, self.wave_size)
        weights = np.left_shift(np.uint64(1), np.arange(self.wave_size, dtype=np.uint64))
        masks = (rows * weights).sum(1, dtype=np.uint64)
        return np.repeat(masks.astype(f"u{dtype.itemsize}").view(dtype), self.wave_size)

    def vote(self, value: Array, m: Any, all_of_them: bool) -> Array:
        active = self.active(m)
        answers = (value | ~active if all_of_them else value & active).reshape(-1, self.wave_size)
        return np.repeat(answers.all(1) if all_of_them else answers.any(1), self.wave_size)

    def reduce(self, value: Array, combine: str, size: int, stride: int, m: Any) -> Array:
        """Combine the values of clusters of lanes; lanes that are not active count for nothing."""
        work, join = _for_combining(value, combine), COMBINE[combine]
        result, active, lane = work.copy(), self.active(m), np.arange(self.lanes)
        cluster = (lane // (size * stride)) * stride + lane % stride
        for number in np.unique(cluster[active]):
            members = (cluster == number) & active
            # NumPy's own reduction adds short integers without a warning when they wrap.
            result[members] = join.reduce(work[members]) if isinstance(join, np.ufunc) else reduce(join, work[members])
        return result.view(value.dtype)

    def count_below(self, mask: Any, start: Any, lane: Any, high: bool) -> Array:
        """How many lanes of a mask, of the lower or the upper 32, are below each lane."""
        # v_mbcnt_lo looks at lanes 0 to 31 of a mask, v_mbcnt_hi at the others
        below = np.clip(np.asarray(lane) - (32 if high else 0), 0, 32).astype(np.uint64)
        kept = (np.left_shift(np.uint64(1), below) - np.uint64(1)) & (
            np.asarray(mask).astype(np.int64) & 0xFFFFFFFF
        ).astype(np.uint64)
        return (np.bitwise_count(kept).astype(np.int32) + np.asarray(start)).astype(np.int32)

    def printf(self, format: str, m: Any, values: list[Array]) -> None:
        """Print for each active lane, as C does."""
        for lane in range(self.lanes) if m is None else np.flatnonzero(m):
            sys.stdout.write(format % tuple(value[lane].item() for value in values))
        sys.stdout.flush()


def vbroadcast(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    lanes = lanes_of(x)
    if lanes is None:
        return np.full((*shape, 1), x, dtype)
    given = (1,) * (len(shape) + 1 - x.ndim) + x.shape
    return np.broadcast_to(x.reshape(given), (*shape, lanes))


def lanes_of(x: Any) -> int | None:
    """How many lanes an array has; None for a single number."""
    return int(x.shape[-1]) if hasattr(x, "shape") and x.ndim else None


def vextract(x: Any, position: tuple[int, ...]) -> Any:
    return x[position]


def one(x: Any) -> Any:
    """The only element of a uniform value."""
    return x[0] if x.dtype.kind in "fV" else x[0].item()


def vpick(x: Any, place: Any, lanes: int) -> Any:
    """An element of a vector, another one in each lane."""
    wide = np.broadcast_to(x, (*x.shape[:-1], lanes))
    # lanes that are not active may ask for anything
    return wide[np.broadcast_to(place, lanes) % x.shape[0], np.arange(lanes)]


def vinsert(value: Any, x: Any, position: tuple[int, ...]) -> Any:
    lanes = max(x.shape[-1], lanes_of(value) or 1)
    # registers may share the array
    made = np.broadcast_to(x, (*x.shape[:-1], lanes)).copy()
    made[position] = value
    return made


def vreshape(x: Any, shape: tuple[int, ...]) -> Any:
    return x.reshape(*shape, x.shape[-1])


def vbitcast(x: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The same bytes as elements of another type; those of the last dimension lie one behind the other."""
    words = np.ascontiguousarray(np.moveaxis(x, -1, 0)).view(dtype)
    return np.moveaxis(words.reshape(x.shape[-1], *shape), 0, -1)


def vslice(x: Any, starts: tuple[int, ...], ends: tuple[int, ...]) -> Any:
    return x[tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))]


def vgather(parts: list[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A vector of elements."""
    lanes = max(lanes_of(part) or 1 for part in parts)
    rows = [np.broadcast_to(np.asarray(part, dtype), lanes) for part in parts]
    return np.stack(rows).reshape(*shape, lanes)


def _for_combining(x: Any, combine: str) -> Any:
    """Numbers without signs where NumPy has to compare them so."""
    return x.view(f"u{x.dtype.itemsize}") if combine in ("minui", "maxui") else x


def vreduce(x: Any, combine: str) -> Any:
    """All elements combined, one after the other."""
    rows = _for_combining(x.reshape(-1, x.shape[-1]), combine)
    return reduce(COMBINE[combine], rows).astype(rows.dtype).view(x.dtype)


def vtranspose(x: Any, order: tuple[int, ...]) -> Any:
    return x.transpose(*order, x.ndim - 1)


def vcontract(a: Any, b: Any, total: Any, dims: tuple[list[int], ...], dtype: np.dtype[Any]) -> Any:
    """Products of all lanes, added to what there is; `dims` says of each operand which dimensions it has."""
    lanes = len({place for side in dims for place in side})
    left, right, wanted = ([*side, lanes] for side in dims)
    return total + np.einsum(a.astype(dtype), left, b.astype(dtype), right, wanted)


FUNCTIONS = (
    *(vbroadcast, vextract, one, vpick, vinsert, vreshape, vbitcast, vslice, vgather, vreduce, vtranspose, vcontract),
)
