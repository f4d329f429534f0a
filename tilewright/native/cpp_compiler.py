"""The C and C++ compilers of this computer: a source becomes a shared library, once for each content.

What is kept is found by the source, every header that the compiler read, the flags, the compiler and the processor.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.errors import Error
from tilewright.native import has_llvm
from tilewright.native.object_cache import CacheFolder
from tilewright.support.lazy import KeyedLocks

CPP_SUFFIXES = frozenset({".cc", ".cpp", ".cxx", ".c++", ".C"})
_NAMES = {"c": ("cc", "gcc", "clang"), "c++": ("c++", "g++", "clang++")}
_VARIABLES = {"c": "CC", "c++": "CXX"}
_ALSO_READ = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"),
    *("COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"),
)
"""Environment: what compilers take folders and flags from beside those that they are given."""
_LIBRARIES, _READ = CacheFolder(".so", "kernels"), CacheFolder(".d", "kernels")
_MESSAGE = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<text>.*)$", re.M)
_PREREQUISITE = re.compile(r"(?:\\.|[^\s\\])+")


class CompilerError(Error):
    """A source that cannot be compiled here, with all that the compiler says; where it is wrong, if that is known."""

    def __init__(self, text: str, message: str = "", position: tuple[str, int, int] | None = None):
        super().__init__(text)
        self.message, self.position = message, position


class NoCompilerError(CompilerError):
    """There is no compiler."""


@dataclass(frozen=True)
class Compiler:
    """A program that compiles, and what it says that it is."""

    command: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version

    def run(self, arguments: Sequence[str]) -> str:
        """Run it; its message if it fails, else nothing."""
        try:
            # In English: places of errors are read out of what it says.
            environment = {**os.environ, "LC_ALL": "C"}
            done = subprocess.run([*self.command, *arguments], capture_output=True, check=False, env=environment)
        except OSError as error:
            raise NoCompilerError(f"{self.command[0]} cannot be run: {error.strerror}") from error
        said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
        return (said or f"it ends with status {done.returncode}") if done.returncode else ""


@cache
def _processor() -> str:
    """What code that is compiled for just this computer depends on."""
    if has_llvm():
        from tilewright.native.host import host_key

        return host_key()
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # no Linux
        return f"{platform.machine()} {platform.processor()}"
    lines = [line for line in described.splitlines() if line.startswith(("model name", "flags", "CPU ", "Features"))]
    return "\n".join((platform.machine(), *sorted(set(lines))))


def find_compiler(language: str) -> Compiler:
    """The compiler for `c` or `c++`: what CC or CXX names, else the system's, else the one of the package ziglang."""
    return _asked(_command(language))


def _command(language: str) -> tuple[str, ...]:
    variable = _VARIABLES[language]
    if named := os.environ.get(variable, "").strip():
        try:
            return tuple(shlex.split(named))
        except ValueError as error:
            raise NoCompilerError(f"{variable}={named!r} names no compiler: {error}") from error
    for name in _NAMES[language]:
        if (found := shutil.which(name)) is not None:
            return (found,)
    if find_spec("ziglang") is not None:
        return sys.executable, "-m", "ziglang", "cc" if language == "c" else "c++"
    names = ", ".join(_NAMES[language])
    raise NoCompilerError(
        f"there is no compiler for {language.upper()}: none of {names}; install one, or `pip install 'tilewright[cpp]'`"
    )


def _asked(command: tuple[str, ...]) -> Compiler:
    try:
        status = os.stat(shutil.which(command[0]) or command[0])
    except OSError as error:
        raise NoCompilerError(f"{command[0]} cannot be run: {error.strerror}") from error
    return _identified(command, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@cache
def _identified(command: tuple[str, ...], *file: int) -> Compiler:
    """A compiler, asked once for as long as it stays the same file: what it makes is kept under what it says."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, check=False)
    except OSError as error:
        raise NoCompilerError(f"{command[0]} cannot be run: {error.strerror}") from error
    if done.returncode:
        raise NoCompilerError(f"{command[0]} is no compiler: --version gives status {done.returncode}")
    return Compiler(command, done.stdout.decode("utf-8", "replace"))


@dataclass(frozen=True)
class Translation:
    """What a compiler is told: the text of one source, with the files beside which it is read, and flags."""

    compiler: Compiler
    text: bytes
    name: str
    """Of the file that the text is put into, which messages about the text show."""
    flags: tuple[str, ...]
    inputs: tuple[bytes, ...] = ()
    """Object files to link with."""
    beside: tuple[tuple[str, bytes], ...] = ()
    """Files in the same folder, by name."""

    @property
    def key(self) -> str:
        environment = [os.environ.get(variable) for variable in _ALSO_READ]
        parts = (self.compiler.command, self.compiler.version, environment, self.name, self.flags, _processor())
        digest = sha256(repr(parts).encode("utf-8", "surrogateescape"))
        beside = [part for name, data in self.beside for part in (name.encode(), data)]
        for part in (self.text, *self.inputs, *beside):
            digest.update(f"{len(part)} ".encode() + part)
        return digest.hexdigest()


_locks = KeyedLocks()


def translated(translation: Translation) -> tuple[str, bytes]:
    """The library or object that flags ask for, and a key for its content; made unless it is kept from before."""
    key = translation.key
    # One thread makes it, the others wait; several processes may make the same, and the last one is kept.
    with _locks.holding(key):
        if (read := _READ.read(key)) is not None and _same(headers := json.loads(read)):
            content = _content_key(key, headers)
            if (data := _LIBRARIES.read(content)) is not None:
                return content, data
        data, paths = _translate(translation)
        headers = {path: digest for path in paths if (digest := _digest(path)) is not None}
        content = _content_key(key, headers)
        # The library first: a list of headers without one would only be looked at in vain.
        _LIBRARIES.keep(content, data)
        _READ.keep(key, json.dumps(headers).encode())
        return content, data


def _content_key(key: str, headers: dict[str, str]) -> str:
    return sha256(json.dumps([key, headers], sort_keys=True).encode()).hexdigest()


def _same(headers: dict[str, str]) -> bool:
    return all(_digest(path) == digest for path, digest in headers.items())


def _digest(path: str) -> str | None:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _translate(translation: Translation) -> tuple[bytes, list[str]]:
    """What the compiler makes, and the headers that it read, but for the system's, which belong to the compiler."""
    try:
        folder = TemporaryDirectory(prefix="tilewright-")
    except OSError as error:
        raise CompilerError(f"there is no room for temporary files: {error.strerror}") from error
    with folder as name:
        source, out, read = (Path(name) / file for file in (translation.name, "out", "read"))
        source.write_bytes(translation.text)
        for file, data in translation.beside:
            (Path(name) / file).write_bytes(data)
        inputs = [Path(name) / f"{number}.o" for number in range(len(translation.inputs))]
        for path, data in zip(inputs, translation.inputs, strict=True):
            path.write_bytes(data)
        depending = ["-MMD", "-MF", str(read)] if translation.text else []
        files = [str(source)] if translation.text else []
        arguments = [*translation.flags, *depending, *files, *map(str, inputs), "-o", str(out)]
        if message := translation.compiler.run(arguments):
            raise _failure(message, f"{name}{os.sep}")
        paths = _prerequisites(read.read_text("utf-8", "surrogateescape")) if depending else []
        return out.read_bytes(), [path for path in paths if not path.startswith(name)]


def _prerequisites(rule: str) -> list[str]:
    """The files in a rule for make, in which spaces of names have a backslash."""
    _, _, right = rule.replace("\\\n", " ").partition(": ")
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in _PREREQUISITE.findall(right)]


def _failure(message: str, folder: str) -> CompilerError:
    """An error at the first place that a message names."""
    lines = message.replace(folder, "").splitlines()
    # The file that includes the user's is ours.
    told = "\n".join(line for line in lines if not line.startswith(f"In file included from {WRAPPER}:"))
    found = _MESSAGE.search(told)
    if found is None:
        return CompilerError("it does not compile", told)
    position = found["file"], int(found["line"]), int(found["column"] or 1)
    return CompilerError(found["text"], told, position)


WRAPPER = "tilewright-entries.cc"
"""The file around a user's source."""


def portable_flags(flags: Iterable[str]) -> list[str]:
    """The flags that mean the same to the compiler of this computer: macros, folders, the language.

    What is said to a compiler for cores about its target, its optimizations and its output is left out.
    """
    kept, given = list[str](), iter(flags)
    for flag in given:
        if flag in _WITH_VALUE:
            value = next(given, "")
            kept += [flag, value] if flag in _KEPT else []
        elif flag.startswith(_KEPT):
            kept.append(flag)
        elif not flag.startswith(_TARGET):
            raise CompilerError(f"'{flag}' is no flag that is known here: macros (-D, -U) and folders (-I) are")
    return kept


_KEPT = ("-D", "-U", "-I", "-isystem", "-iquote", "-include", "-std=", "-ffast-math", "-fno-fast-math", "-fwrapv")
_WITH_VALUE = frozenset({*_KEPT[:6], "-target", "-mllvm", "-Xclang", "-o", "-x"})
_TARGET = (
    *("-O", "-W", "-w", "-f", "-m", "-g", "-P", "-c", "-v", "+"),
    *("--target", "--sysroot", "-target", "-nostd", "-aie"),
)
"""What is about the core, about warnings or about output."""
