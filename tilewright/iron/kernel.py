"""Kernels: functions of cores that are written elsewhere, and called in workers' functions."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.ir import Attribute

from tilewright.ir.diagnostics import shortened
from tilewright.iron.buffer import Buffer
from tilewright.iron.builders.functions import FuncOp, call
from tilewright.iron.builders.handles import OpView, Value
from tilewright.iron.builders.location import UPSTREAM, refuse
from tilewright.iron.builders.types import array_dtype, array_shape, convert_type, is_array_type
from tilewright.iron.resolvable import Emitted, NotResolvedError, current_resolution
from tilewright.kernels.declaration import Declaration
from tilewright.support.tracebacks import user_facing


class BaseKernel(Emitted[FuncOp]):
    """A function with a name and the types of its arguments."""

    def __init__(self, name: str, arg_types: Sequence[Any] | None = None):
        super().__init__()
        if not name:
            refuse("Kernel name cannot be empty.")
        self.name = name
        self._arg_types = list(arg_types or ())

    def __repr__(self) -> str:
        types = shortened(", ".join(str(convert_type(wanted)) for wanted in self._arg_types))
        return f"{type(self).__name__}({self.name!r}, {types or 'no arguments'})"

    @property
    def symbol(self) -> str:
        """What the program that is being resolved calls it."""
        return self.name

    def arg_types(self) -> list[Any]:
        """The types of its arguments, as the program has them."""
        return list(self._arg_types)

    def arg_shape(self, arg_index: int = 0) -> tuple[int, ...]:
        """The shape of an argument that is an array."""
        return array_shape(self._array_argument(arg_index))

    def arg_dtype(self, arg_index: int = 0) -> np.dtype[Any]:
        """The element type of an argument that is an array."""
        return np.dtype(array_dtype(self._array_argument(arg_index)))

    def tile_size(self, arg_index: int = 0) -> int:
        """The first dimension of an argument that is an array."""
        return self.arg_shape(arg_index)[0]

    def _array_argument(self, index: int) -> Any:
        if not 0 <= index < len(self._arg_types):
            refuse(f"argument {index} is out of range: kernel '{self.name}' has {len(self._arg_types)} arguments")
        if not is_array_type(self._arg_types[index]):
            refuse(f"argument {index} of kernel '{self.name}' is not an array: {self._arg_types[index]}")
        return self._arg_types[index]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, in a worker's function. An array of more dimensions goes where a flat one of its size is taken."""
        wanted = [convert_type(type) for type in self._arg_types]
        if len(args) != len(wanted):
            refuse(
                f"Kernel '{self.name}' expects {len(wanted)} argument(s), but {len(args)} were provided.",
                (self.where, f"it takes ({', '.join(map(str, wanted))})"),
            )
        given = [arg.op if isinstance(arg, Buffer) else arg for arg in args]
        fitting = [self._fit(*each) for each in zip(range(len(given)), given, wanted, strict=True)]
        try:
            function = self.op
        except NotResolvedError:
            remedy = "give it to the worker in fn_args, and call what the function gets"
            refuse(f"kernel '{self.name}' is called, but no worker has it", (self.where, remedy))
        return call(function, fitting, **kwargs)

    def _fit(self, number: int, given: Any, wanted: Attribute) -> Any:
        """An argument with the type that the kernel wants; a complaint if it has another."""
        if not isinstance(given, Value | OpView):
            # `call` makes constants of the types that are wanted
            if not isinstance(wanted, MemRefType) and isinstance(given, int | float | np.number):
                return cast(Any, given)
            self._refuse_argument(number, wanted, repr(given))
        # `call` turns an index into the integer that is wanted
        if given.type == wanted or (isinstance(given.type, IndexType) and isinstance(wanted, IntegerType)):
            return given
        if _is_flat_version(wanted, given.type):
            from tilewright.iron.dialects.memref import collapse_shape

            return collapse_shape(wanted, given, [list(range(cast("MemRefType[Any]", given.type).get_num_dims()))])
        self._refuse_argument(number, wanted, str(given.type))

    def _refuse_argument(self, number: int, wanted: Any, given: str) -> NoReturn:
        refuse(
            f"kernel '{self.name}' takes {wanted} as argument {number}, got {given}",
            (self.where, "its arg_types are given here: make both the same"),
        )

    def resolve(self, loc: Any = None, ip: Any = None) -> None:
        """Declare it, once for all kernels of this name."""
        resolution = current_resolution()
        # a program has one declaration for a name, however many objects stand for it
        known = resolution.built.setdefault(("kernel", self.symbol), self)
        if known is self:
            super().resolve(loc, ip)
            return
        if [*map(convert_type, known.arg_types())] != [*map(convert_type, self._arg_types)]:
            self._refuse_second(known, "take different arguments")
        if isinstance(known, ExternalFunction) and isinstance(self, ExternalFunction) and not known.has_source_of(self):
            self._refuse_second(known, "have different sources or flags")
        known.resolve(loc, ip)
        resolution.built[self] = known.op

    def _refuse_second(self, first: BaseKernel, text: str) -> NoReturn:
        note = (first.where, "this is the other one: give one of them another name")
        refuse(f"two kernels are called '{self.name}' and {text}", note, at=self.where)


def _is_flat_version(flat: Any, type: Any) -> bool:
    """Whether the one is the other in one dimension; only plain row-major layouts can be seen so."""
    if not isinstance(flat, MemRefType) or not isinstance(type, MemRefType):
        return False
    flat, type = cast("MemRefType[Any]", flat), cast("MemRefType[Any]", type)
    same = (flat.element_type, flat.layout, flat.memory_space) == (type.element_type, type.layout, type.memory_space)
    sizes = type.get_shape()
    return same and flat.get_num_dims() == 1 and len(sizes) > 0 and prod(sizes) == prod(flat.get_shape())


@user_facing
class Kernel(BaseKernel):
    """A function in an object file, by its name there.

    The simulator calls what `Design.run` gets for the name; else the function of a C++ source of the object file's name
    beside the program, or of another kernel of that object file; else the one of the library.
    """

    def __init__(
        self,
        name: str,
        object_file_name: str | None = None,
        arg_types: Sequence[Any] | None = None,
        *,
        link_with_mode: str | None = None,
    ) -> None:
        """A function that cores call.

        Args:
            name: what it is called in the object file
            object_file_name: the file that hardware builds link
            arg_types: the types of its arguments
            link_with_mode: how it is linked, for the vendor's tools
        """
        super().__init__(name, arg_types)
        self.object_file_name = object_file_name
        self.link_with_mode = link_with_mode

    def _emit(self) -> FuncOp:
        from tilewright.iron.dialects.aie import external_func

        return external_func(
            self.symbol,
            inputs=list(self._arg_types),
            link_with=self.object_file_name,
            link_with_mode=self.link_with_mode,
        )


@user_facing
class ExternalFunction(Kernel):
    """A function that C++ source defines. Two with the same name, types and source are equal.

    The simulator calls the source, compiled for this computer: docs/own_kernel.md.
    """

    _instances: ClassVar[set[ExternalFunction]] = set()
    """Those of programs for mlir-aie since the last design was built: it makes an object file of each."""
    _settling: ClassVar = threading.Lock()  # no two threads settle on one object file

    def __init__(
        self,
        name: str,
        object_file_name: str | None = None,
        source_file: str | None = None,
        source_string: str | None = None,
        arg_types: Sequence[Any] | None = None,
        include_dirs: list[str] | None = None,
        compile_flags: list[str] | None = None,
        *,
        symbol_prefix: str | None = None,
        use_chess: bool = False,
        inline: bool = False,
    ) -> None:
        """A function with its source: `source_file` or `source_string`.

        Args:
            name: what it is called in the source
            object_file_name: the file that hardware builds make of it
            source_file: the path of a C++ file
            source_string: the text of one
            arg_types: the types of its arguments
            include_dirs: folders with headers
            compile_flags: what else the compiler is given
            symbol_prefix: put in front of its name, so that one source can be compiled in several ways
            use_chess: whether hardware builds use the vendor's compiler
            inline: whether it is merged into the core's program instead of called
        """
        if source_file is None and source_string is None:
            refuse("source_file or source_string must be provided.", (None, "for an object file, use Kernel"))
        if inline and use_chess:
            refuse(f"ExternalFunction '{name}': inline=True requires the Peano toolchain, use_chess=True is another")
        if inline and symbol_prefix:
            refuse(f"ExternalFunction '{name}': inline=True does not go with symbol_prefix")
        suffixes = (".ll", ".bc") if inline else (".o",)
        if inline and object_file_name and Path(object_file_name).suffix.lower() not in suffixes:
            refuse(
                f"ExternalFunction '{name}': inline=True emits LLVM IR, so object_file_name must end in '.ll' (textual "
                f"LLVM IR) or '.bc' (bitcode); got '{object_file_name}'."
            )
        symbol = f"{symbol_prefix}_{name}" if symbol_prefix else name
        file = object_file_name or symbol + suffixes[0]
        super().__init__(symbol, file, arg_types, link_with_mode="merge" if inline else None)
        self.original_name = name  # without the prefix: what the source calls it
        self.source_file, self.source_string = source_file, source_string
        self.include_dirs, self.compile_flags = include_dirs or [], compile_flags or []
        self.use_chess, self.inline = use_chess, inline
        if UPSTREAM in sys.modules:
            with self._settling:
                self._settle_object_file(is_given=bool(object_file_name))

    @classmethod
    def forget_all(cls) -> None:
        """Begin another design: object files of the one before are no concern of it."""
        with cls._settling:
            cls._instances.clear()

    def _settle_object_file(self, is_given: bool) -> None:
        """Share no object file with a function that has the name and another source, as mlir-aie has it."""
        taken = (other for other in self._instances if other.name == self.name and other != self)
        if any(other.object_file_name == self.object_file_name for other in taken):
            if is_given:
                refuse(
                    f"ExternalFunction '{self.name}' would collide with one that is there already: both have "
                    f"object_file_name='{self.object_file_name}', and their sources or flags differ",
                    (None, "give one of them another object_file_name, or another name"),
                )
            path = Path(self.object_file_name or "")
            self.object_file_name = str(path.with_stem(f"{path.stem}_{self.content_digest()[:8]}"))
        self._instances.add(self)

    def _emit(self) -> FuncOp:
        function = super()._emit()
        self._declaration().attach(function.function)
        return function

    def _declaration(self) -> Declaration:
        """What the simulator has to know to compile it."""
        # a run may have another working folder
        file = None if self.source_file is None else str(Path(self.source_file).absolute())
        flags = [*self.compile_flags, *(f"-I{Path(folder).absolute()}" for folder in self.include_dirs)]
        symbol = None if self.original_name == self.name else self.original_name
        return Declaration(self.name, flags, self.source_string, file, symbol)

    def has_source_of(self, other: ExternalFunction) -> bool:
        """Whether this one and the `other` are compiled from the same text with the same flags."""
        return self._compiled_from() == other._compiled_from()

    def _compiled_from(self) -> tuple[str, list[str], list[str]]:
        return self._source(), self.include_dirs, self.compile_flags

    def content_digest(self) -> str:
        """A hash of everything that makes it what it is, for caches."""
        parts = [self.name, *map(str, self._arg_types), self._source(), *self.include_dirs, *self.compile_flags]
        # a digest of texts, not `hash`, which differs from process to process
        parts += [str(self.object_file_name), str(self.use_chess), str(self.inline)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def _source(self) -> str:
        if self.source_string is not None:
            return self.source_string
        path = Path(self.source_file or "")
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else str(path)

    def __hash__(self) -> int:
        return hash(self.name)  # cheap, where equality reads the source

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExternalFunction) and other.content_digest() == self.content_digest()

    def __repr__(self) -> str:
        return f"ExternalFunction({self.name!r}, digest={self.content_digest()})"


__all__ = ["BaseKernel", "ExternalFunction", "Kernel"]
