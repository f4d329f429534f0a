"""Sources of kernels in C++, C or as objects, and the libraries that the compiler of this computer makes of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import tilewright
from tilewright.device import Arch
from tilewright.native.cpp_compiler import (
    CPP_SUFFIXES,
    WRAPPER,
    CompilerError,
    Translation,
    find_compiler,
    portable_flags,
    translated,
)
from tilewright.native.object_cache import CacheFolder
from tilewright.sim.c_signature import function_type
from tilewright.sim.kernels import KernelError

INCLUDE = Path(tilewright.__file__).parent / "kernels" / "include"
PLAIN_SUFFIXES = frozenset({".c", ".o", ".a", ".so"})
_OVERLOADED = CacheFolder(".names", "kernels")
_ARCH_MACROS = {
    Arch.AIE2: ("-D__AIE2__", "-D__AIEARCH__=20", "-D__AIE_ARCH__=20"),
    Arch.AIE2p: ("-D__AIE2P__", "-D__AIEARCH__=21", "-D__AIE_ARCH__=21"),
}
"""What the compiler for cores defines."""
_COMMON = (
    *("-std=c++20", "-fPIC", "-fno-strict-aliasing", "-fpermissive", "-w", "-ffp-contract=off"),
    *("-fno-semantic-interposition", "-D__AIENGINE__=2", "-DNDEBUG", f"-I{INCLUDE}"),
)
_FAST = ("-O3", "-march=native", "-g1", "-gdwarf-4")
_CHECKED = (
    *("-O1", "-g", "-gdwarf-4", "-fno-inline", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"),
    "-DTILEWRIGHT_CHECKED",
)
_SANITIZERS = "-fsanitize=kernel-address,integer-divide-by-zero,bounds,alignment,null"
_WRAPPED = "-Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset"


class SourceError(KernelError):
    """A source that does not compile: what the compiler says, and where."""

    def __init__(self, source: KernelSource, error: CompilerError):
        whole = error.message or str(error)
        super().__init__(f"{source.shown} does not compile: {whole}")
        self.first, self.message, self.position = str(error), whole, error.position
        self.sources = {source.shown: source.read()}


@dataclass(frozen=True)
class KernelSource:
    """A source and how it is compiled: all functions that are called in it make one library."""

    path: Path | None
    text: str | None = None
    """The source itself, if it is in no file."""
    flags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """What messages call it."""
        if self.path is not None:
            return str(self.path)
        # It is also the name of a file, which a name from a program may become only if it is a plain one.
        return f"{next(iter(self.identifiers), 'kernel')[:64]}.cc"

    @property
    def identifiers(self) -> list[str]:
        """The names that C++ can have."""
        return [name for name in self.names if name.isidentifier() and name.isascii()]

    @property
    def is_cpp(self) -> bool:
        return self.path is None or self.path.suffix in CPP_SUFFIXES

    def bytes(self) -> bytes:
        return self.path.read_bytes() if self.path is not None else (self.text or "").encode("utf-8", "surrogateescape")

    def read(self) -> str:
        if self.text is not None:
            return self.text
        assert self.path is not None
        return self.path.read_text(errors="replace")


@dataclass(frozen=True)
class LibraryImage:
    """The bytes of a compiled library."""

    key: str
    data: bytes
    source: KernelSource
    arch: Arch
    is_checked: bool

    def lines(self, offsets: Sequence[int]) -> list[tuple[str, int]]:
        """Files and lines of places in the code, from the innermost function outwards, as debuggers tell them."""
        tool = _line_tool()
        if tool is None:
            return []
        with TemporaryDirectory(prefix="tilewright-") as folder:
            path = Path(folder) / "kernel.so"
            path.write_bytes(self.data)
            # A return address is behind the call that it is about.
            places = [hex(max(offset - 1, 0)) for offset in offsets]
            done = subprocess.run([tool, "-i", "-e", str(path), *places], capture_output=True, text=True, check=False)
        found = [line.split(" (")[0].rpartition(":") for line in done.stdout.splitlines()]
        return [(file, int(number)) for file, _, number in found if number.isdecimal() and int(number)]


@cache
def _line_tool() -> str | None:
    names = ("addr2line", "llvm-addr2line", *(f"llvm-addr2line-{version}" for version in range(25, 13, -1)))
    return next((found for name in names if (found := shutil.which(name))), None)


def compile_source(source: KernelSource, arch: Arch = Arch.AIE2, checked: bool = False) -> LibraryImage:
    """The library of a source; `SourceError` if it does not compile, `KernelError` if there is no such file."""
    if source.path is not None and not source.path.is_file():
        raise KernelError(f"there is no file {source.path}")
    try:
        key, data = _translated(source, arch, checked)
    except CompilerError as error:
        raise SourceError(source, error) from error
    return LibraryImage(key, data, source, arch, checked and source.is_cpp)


def _translated(source: KernelSource, arch: Arch, checked: bool) -> tuple[str, bytes]:
    """The key and the bytes of a library. Functions with names that headers overload are found out by trying."""
    if not source.is_cpp:
        return translated(_plain_unit(source))
    first = _cpp_unit(source, arch, checked)
    known = _OVERLOADED.read(first.key)
    if known is not None:
        return translated(_cpp_unit(source, arch, checked, json.loads(known)))
    try:
        return translated(first)
    except CompilerError as error:
        names = sorted(set(re.findall(r"\bTILEWRIGHT_ENTRY\((\w+)\)", error.message)) & {*source.identifiers})
        if not names:
            raise
    text = source.read()
    # As the source spells the type, if that can be read and said again; else the call alone tells it.
    for spelt in ({name: function_type(text, name) for name in names}, dict.fromkeys(names)):
        try:
            made = translated(_cpp_unit(source, arch, checked, spelt))
        except CompilerError:
            if not any(spelt.values()):
                raise
            continue
        _OVERLOADED.keep(first.key, json.dumps(spelt).encode())
        return made
    raise AssertionError("the last one is made or raises")


def _cpp_unit(
    source: KernelSource, arch: Arch, checked: bool, spelt: Mapping[str, str | None] = MappingProxyType({})
) -> Translation:
    """What the compiler is told; `spelt` has the functions whose names are overloaded, with their types if known."""
    compiler = find_compiler("c++")
    apart = () if compiler.is_clang else ("-fno-gnu-unique",)  # clang never makes such symbols
    flags = (*_COMMON, *_ARCH_MACROS.get(arch, _ARCH_MACROS[Arch.AIE2]), *apart)
    runtime_object = _runtime("call.cc", *apart, "-c", *(("-DTILEWRIGHT_CHECKED",) if checked else ()))
    kind = (*_CHECKED, _SANITIZERS, *_outlined(compiler.is_clang), _WRAPPED) if checked else _FAST
    included = source.shown if source.path is None else str(source.path.absolute())
    lines = ['#include "tilewright/call.hpp"', '#include "tilewright/core.hpp"']
    lines += [f"#include {_quoted(included)}"]
    lines += [f"TILEWRIGHT_MISSING({name})" for name in source.identifiers if name not in spelt]
    lines += ["namespace tilewright_missing {}", "using namespace tilewright_missing;"]
    lines += [_entry(name, spelt) for name in source.identifiers]
    # Text that was no UTF-8 goes to the compiler byte for byte, which may be fine in a comment.
    beside = () if source.text is None else ((source.shown, source.text.encode("utf-8", "surrogateescape")),)
    given = tuple(portable_flags(source.flags))
    all_flags = (*flags, *kind, "-include", "aie_api/aie.hpp", *given, "-shared", "-Wl,-Bsymbolic")
    text = ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")
    return Translation(compiler, text, WRAPPER, all_flags, (runtime_object,), beside)


def _entry(name: str, spelt: Mapping[str, str | None]) -> str:
    if name not in spelt:
        return f"TILEWRIGHT_ENTRY({name})"
    type = spelt[name]
    return f"TILEWRIGHT_PLAIN_ENTRY({name})" if type is None else f"TILEWRIGHT_ENTRY_AS({name}, {type})"


def _runtime(file: str, *flags: str) -> bytes:
    """A part of the runtime, compiled."""
    # Fortified jumps refuse to change stacks.
    own = (*_COMMON, "-O2", "-U_FORTIFY_SOURCE", "-fno-omit-frame-pointer", *flags)
    text = (INCLUDE / "tilewright" / file).read_bytes()
    return translated(Translation(find_compiler("c++"), text, file, own))[1]


def signal_library() -> bytes:
    """What catches signals for kernels, see signals.cc."""
    return _runtime("signals.cc", "-shared")


def _quoted(path: str) -> str:
    """A path in an #include, which knows no escapes."""
    if '"' in path or "\n" in path:
        raise CompilerError(f"a path with quotes or line breaks in it cannot be compiled: {path!r}")
    return f'"{path}"'


def _outlined(is_clang: bool) -> tuple[str, ...]:
    """Checks as calls of functions, which are ours, and none around variables."""
    settings = ("asan-instrumentation-with-call-threshold=0", "asan-stack=0", "asan-globals=0")
    if is_clang:
        return tuple(part for setting in settings for part in ("-mllvm", f"-{setting}"))
    return tuple(part for setting in settings for part in ("--param", setting))


def _plain_unit(source: KernelSource) -> Translation:
    """C, or an object that a compiler for this computer made: nothing is added to it."""
    assert source.path is not None
    if source.path.suffix not in PLAIN_SUFFIXES:
        raise CompilerError(
            f"'{source.path.suffix}' is no kind of source: C++ (.cc, .cpp), C (.c) and objects (.o) are"
        )
    flags = ("-shared", "-fPIC", "-O2", *portable_flags(source.flags), f"-I{source.path.absolute().parent}")
    if source.path.suffix == ".c":
        return Translation(find_compiler("c"), source.path.read_bytes(), source.path.name, flags)
    return Translation(find_compiler("c++"), b"", "none", ("-shared",), (source.path.read_bytes(),))
