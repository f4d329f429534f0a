"""Parts of a program, and what has been built of them so far."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeGuard, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation

from tilewright.errors import Error
from tilewright.iron.builders.location import at, user_location
from tilewright.iron.builders.operations import InsertionPoint, is_building
from tilewright.support.lazy import setting

if TYPE_CHECKING:
    from tilewright.iron.device.tile import Tile

OpT = TypeVar("OpT")


@runtime_checkable
class Resolvable(Protocol):
    """A part of a program that becomes operations when the program is resolved."""

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        """Build the operations at the current insertion point."""
        ...

    def tiles(self) -> list[Tile]:
        """Tiles that have to be there before `resolve`, beyond those of workers and fifos."""
        return []


def is_resolvable(part: Any) -> TypeGuard[Resolvable]:
    """Whether it has what a `Resolvable` has; never asks about a class, see `sources.is_program`."""
    return not isinstance(part, type) and isinstance(part, Resolvable)


class NotResolvedError(Error):
    """An operation was asked for that has not been built."""

    def __init__(self, message: str = "Cannot get operation; class not resolved."):
        self.message = message
        super().__init__(message)


class Resolution:
    """One go at building a program: what each part has become. A program can be resolved again, for another module."""

    def __init__(self) -> None:
        self.built = dict[Hashable, Any]()  # by the part itself, which stays as it was
        self.current: Hashable = None
        """Whose body is being built: a worker, or none."""


_resolution: ContextVar[Resolution | None] = ContextVar("resolution", default=None)


def resolving() -> AbstractContextManager[Resolution | None]:
    """Start building a program."""
    return setting(_resolution, Resolution())


# weak: a module that is gone takes what was built in it along
_by_module = WeakKeyDictionary[Operation, Resolution]()
"""What parts have become in modules that are built without a `Program`."""


def current_resolution() -> Resolution:
    """What is being built: a program, or a module that parts are resolved in one by one."""
    found = _resolution.get()
    if found is not None:
        return found
    root = InsertionPoint.current.block.get_toplevel_object() if is_building() else None
    if not isinstance(root, Operation):
        raise NotResolvedError("this is known only while Program.resolve_program() builds the program")
    return _by_module.setdefault(root, Resolution())


class Emitted(Resolvable, Generic[OpT]):
    """A part that becomes one operation, the first time that it is resolved, with the line that made the part."""

    def __init__(self) -> None:
        self.where: LocationAttr = user_location()

    @property
    def op(self) -> OpT:
        """What this part has become in the program that is being resolved."""
        built = current_resolution().built
        if self not in built:
            raise NotResolvedError
        return built[self]

    @property
    def is_resolved(self) -> bool:
        return self in current_resolution().built

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        if not self.is_resolved:
            with at(loc or self.where):
                current_resolution().built[self] = self._emit()

    @abstractmethod
    def _emit(self) -> OpT:
        """Build the operation."""
