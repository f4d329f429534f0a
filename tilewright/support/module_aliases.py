"""Modules under second names: importing the second name gives the module of the first, the same object."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, FrameType, ModuleType
from typing import Any

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


class ModuleAliases:
    """Names of a package that others define, served by modules of ours while it is `start`ed.

    `root` is the package and `targets` has the module for each name and what is below it: the longest name that fits
    counts. `absent` says of names that are the others' and not ours what to use instead, and of packages beside
    `root` why they are not there.
    """

    def __init__(self, root: str, targets: Mapping[str, str], absent: Mapping[str, str], owner: str):
        self.root, self.targets, self.absent, self.owner = root, targets, absent, owner
        self._finder, self._last = _AliasFinder(self), _AbsentFinder(self)
        self._set_aside: dict[str, ModuleType] = {}
        self._watched: list[tuple[ModuleType, Any]] = []

    @property
    def is_started(self) -> bool:
        return self._finder in sys.meta_path

    def start(self) -> None:
        """Serve the names from now on; raises ImportError if the package was imported from elsewhere before."""
        if self.is_started:
            return
        if self.root in sys.modules:
            place = getattr(sys.modules[self.root], "__file__", None) or "elsewhere"
            raise ImportError(
                f"'{self.root}' is already imported, from {place}: ask for ours before the first `import {self.root}`",
                name=self.root,
            )
        sys.meta_path.insert(0, self._finder)
        sys.meta_path.append(self._last)

    def stop(self) -> None:
        """Take back what `start` and imports since then did; modules that programs hold stay what they are."""
        if not self.is_started:
            return
        sys.meta_path.remove(self._finder)
        sys.meta_path.remove(self._last)
        for name in [name for name in sys.modules if _is_below(name, self.root)]:
            del sys.modules[name]
        for module, before in reversed(self._watched):
            if before is None:
                del vars(module)["__getattr__"]
            else:
                vars(module)["__getattr__"] = before
        self._watched.clear()

    @contextmanager
    def started(self) -> Generator[None]:
        """Serve the names inside the block. A package of that name that was imported before is set aside."""
        if self.is_started:
            yield
            return
        aside = {name: module for name, module in sys.modules.items() if _is_below(name, self.root)}
        for name in aside:
            del sys.modules[name]
        try:
            self.start()
            yield
        finally:
            self.stop()
            sys.modules.update(aside)

    def target_of(self, name: str) -> str | None:
        """The module that serves a name; None for the package itself, which has nothing but its parts."""
        if name == self.root:
            return None
        known = max((prefix for prefix in self.targets if _is_below(name, prefix)), key=len)
        return self.targets[known] + name[len(known) :]

    def load(self, name: str) -> ModuleType:
        """The module that serves a name; raises ModuleNotFoundError if there is none."""
        target = self.target_of(name)
        if target is None:
            package = ModuleType(name, f"Names of {self.owner}, served by tilewright.")
            package.__file__ = import_module(self.targets[name]).__file__
            return package
        try:
            module = import_module(target)
        except ModuleNotFoundError as error:
            # one that our module imports is another matter
            if error.name is None or not _is_below(target, error.name):
                raise
            raise ModuleNotFoundError(self.complaint(name), name=name) from None
        self._watch(name, module)
        return module

    def complaint(self, name: str) -> str:
        """An explanation of a name that is not here."""
        reasons = [prefix for prefix in self.absent if _is_below(name, prefix)]
        if reasons:
            return f"'{name}' is {self.owner}'s, and tilewright does not have it: {self.absent[max(reasons, key=len)]}"
        return f"tilewright has no '{name}', and does not know it as a name of {self.owner}"

    def _watch(self, alias: str, module: ModuleType) -> None:
        """Let a module say more of names that it does not have."""
        if any(watched is module for watched, _ in self._watched):
            return
        before: Callable[[str], Any] | None = vars(module).get("__getattr__")

        def get(name: str) -> Any:
            if before is not None:
                try:
                    return before(name)
                except AttributeError:
                    pass
            # Python, too, takes a module that is being imported from here
            if f"{module.__name__}.{name}" in sys.modules:
                return sys.modules[f"{module.__name__}.{name}"]
            # a part that another module serves: `from aie.package import part`
            if f"{alias}.{name}" in self.targets:
                return import_module(f"{alias}.{name}")
            text = self.complaint(f"{alias}.{name}")
            # `from m import n` has a text of its own for AttributeErrors, which would hide this one
            if _is_from_import(sys._getframe(1)):
                raise ImportError(text, name=alias, path=module.__file__)
            raise AttributeError(text, name=name, obj=module)

        self._watched.append((module, before))
        vars(module)["__getattr__"] = get


def is_installed(name: str) -> bool:
    """Whether a package can be imported from where packages are installed."""
    return find_spec(name) is not None


def _is_below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def _is_from_import(frame: FrameType) -> bool:
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


class _AliasFinder(MetaPathFinder, Loader):
    """Finds the names of a package, and loads them by handing out modules that are there."""

    def __init__(self, aliases: ModuleAliases):
        self.aliases = aliases

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_below(fullname, self.aliases.root):
            return None
        served = self._served_spec(fullname)
        # `-m` calls the program after the file that it is in
        origin = None if served is None else served.origin
        return ModuleSpec(fullname, self, origin=origin, is_package=fullname == self.aliases.root)

    def _served_spec(self, fullname: str) -> ModuleSpec | None:
        served = self.aliases.target_of(fullname)
        try:
            return None if served is None else find_spec(served)
        except ImportError:
            return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = self.aliases.load(spec.name)
        # the import system gives the module the spec of the second name: `exec_module` takes that back
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None and spec.loader_state is not None:
            module.__spec__ = spec.loader_state

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module that serves a name, which `-m` runs."""
        spec = self._served_spec(fullname)
        return spec.loader.get_code(spec.name) if spec and isinstance(spec.loader, InspectLoader) else None


class _AbsentFinder(MetaPathFinder):
    """Asked last: says why a package that programs import beside the served one is not there."""

    def __init__(self, aliases: ModuleAliases):
        self.aliases = aliases

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in self.aliases.absent:
            raise ModuleNotFoundError(self.aliases.complaint(fullname), name=fullname)
        return None
