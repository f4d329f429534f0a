"""Peano, AMD's LLVM for cores: where it is, what it is called with, and the objects and programs that it makes.

The commands are those of mlir-aie at 3ca0193cea9e: for programs of tools/aiecc/aiecc.cpp (`buildObjectSubgraph` and
`peanoElfs`), for kernels of python/utils/compile/utils.py (`compile_cxx_core_function`). Results are kept, by content.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.device import Arch
from tilewright.errors import Error
from tilewright.native.cpp_compiler import Compiler, CompilerError, Translation, translated
from tilewright.native.object_cache import CacheFolder
from tilewright.support.lazy import KeyedLocks
from tilewright.support.output_files import write_files

VARIABLE = "PEANO_INSTALL_DIR"
"""Environment: the folder that Peano is installed in."""
WHEEL = "llvm-aie"
"""The folder that Peano's Python package installs itself in."""
TOOLS = ("opt", "llc", "clang")
INSTALL = f"the releases of Xilinx/llvm-aie have it; name its folder with --peano DIR or {VARIABLE}"
TARGETS = {Arch.AIE1: "aie", Arch.AIE2: "aie2", Arch.AIE2p: "aie2p"}
OPTIMIZATION = 2
"""The level of upstream's driver."""
MOST_OPTIMIZED = 1
"""The highest level of `opt`: beyond it vectors appear that `llc` has no rules for."""
INLINE_LIMIT = 10
MEMSET_LEVEL = 3
"""From this level on, `opt` is kept from making calls of `memset` out of loops."""
KERNEL_FLAGS = (
    *("-std=c++20", "-Wno-parentheses", "-Wno-attributes", "-Wno-macro-redefined", "-Wno-empty-body"),
    # Kernels need nothing of the header that the guard keeps out, and Peano does not have it.
    *("-O2", "-DNDEBUG", "-D__AIE_API_AIE_ADF_HPP__"),
)
_ELFS = CacheFolder(".elf", "cores")
_locks = KeyedLocks()


class PeanoError(Error):
    """There is no Peano, or it refuses what it is given: then with all that it says."""

    def __init__(self, text: str, message: str = "", position: tuple[str, int, int] | None = None):
        super().__init__(text)
        self.message, self.position = message, position


@dataclass(frozen=True)
class Peano:
    """An installation."""

    folder: Path
    version: str
    """What its compiler says that it is."""

    def tool(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    @property
    def linker(self) -> str:
        """What names the linker: with its path where it is beside the compiler."""
        found = shutil.which("ld.lld", path=str(self.folder / "bin"))
        return f"-fuse-ld={found or 'lld'}"


def find_peano(named: str | os.PathLike[str] | None = None) -> Peano:
    """The Peano that is named, else the environment's, else the Python package's; `PeanoError` if there is none."""
    found = _folder(named)
    if found is None:
        raise PeanoError(f"there is no Peano, which compiles programs of cores: {INSTALL}")
    return _asked(found)


def has_peano(named: str | os.PathLike[str] | None = None) -> bool:
    """Whether one is named, or there."""
    return _folder(named) is not None


def _folder(named: str | os.PathLike[str] | None) -> Path | None:
    if given := os.fspath(named or ""):
        return Path(given).absolute()
    # A variable may be left over from what is gone: then it says nothing.
    if (variable := os.environ.get(VARIABLE, "")) and os.path.isdir(variable):
        return Path(variable).absolute()
    package = Path(sysconfig.get_path("purelib")) / WHEEL
    return package if (package / "bin").is_dir() else None


def _asked(folder: Path) -> Peano:
    for name in TOOLS:
        if shutil.which(name, path=str(folder / "bin")) is None:
            raise PeanoError(f"there is no Peano in '{folder}': no program 'bin/{name}'; {INSTALL}")
    program = folder / "bin" / "clang"
    status = program.stat()
    return _identified(folder, status.st_size, status.st_mtime_ns)


@cache
def _identified(folder: Path, size: int, time: int) -> Peano:
    """An installation, asked once for as long as its compiler stays the same file."""
    return Peano(folder, f"{_run([str(folder / 'bin' / 'clang'), '--version'])}{size}")


def _run(command: Sequence[str], folder: Path | None = None) -> str:
    """What a program says; `PeanoError` with that if it fails."""
    try:
        # In English: what it says is shown as it is.
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)
    except OSError as error:
        raise PeanoError(f"{command[0]} cannot be run: {error.strerror}") from error
    said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
    if done.returncode:
        name = Path(command[0]).name
        raise PeanoError(f"{name} fails with status {done.returncode}", said or "it says nothing")
    return said


@dataclass(frozen=True)
class CoreUnit:
    """What a program is made of, apart from the compiler."""

    name: str
    """As upstream calls a core: `main_core_0_2`."""
    arch: Arch
    ir: str
    script: str
    """For the linker, with the names of the objects."""
    objects: Mapping[str, bytes]
    level: int = OPTIMIZATION

    def key(self, peano: Peano) -> str:
        parts = (str(peano.folder), peano.version, peano.linker, self.name, self.arch.name, self.level)
        digest = sha256(repr(parts).encode("utf-8", "surrogateescape"))
        texts = (self.ir.encode(), self.script.encode())
        for part in (*texts, *(each for name, data in sorted(self.objects.items()) for each in (name.encode(), data))):
            digest.update(f"{len(part)} ".encode() + part)
        return digest.hexdigest()

    def files(self) -> dict[str, bytes]:
        """What the commands begin with."""
        return {
            self.file("llvmIR", ".ll"): self.ir.encode(),
            self.file("ldScripts", ".ld.script"): self.script.encode(),
        }

    def file(self, kind: str, suffix: str) -> str:
        """The name of an intermediate file, as upstream's driver has it."""
        return f"{kind}_{self.name}{suffix}"

    def commands(self, peano: Peano) -> list[list[str]]:
        """The commands, for the folder with the files, one after the other."""
        target, level = TARGETS[self.arch], f"-O{self.level}"
        ir, opted, object = self.file("llvmIR", ".ll"), self.file("opted", ".ll"), self.file("objects", ".o")
        before = ["-disable-loop-idiom-memset"] if self.level >= MEMSET_LEVEL else []
        passes = f"--passes=default<O{min(self.level, MOST_OPTIMIZED)}>"
        return [
            [peano.tool("opt"), *before, passes, f"-inline-threshold={INLINE_LIMIT}", "-S", ir, "-o", opted],
            [
                *(peano.tool("llc"), opted, level, f"--march={target}", "--function-sections", "--filetype=obj"),
                *("-o", object),
            ],
            [
                *(peano.tool("clang"), level, f"--target={target}-none-unknown-elf", peano.linker, object),
                *("-Wl,--gc-sections", "-Wl,--orphan-handling=error"),
                *(f"-Wl,-T,{self.file('ldScripts', '.ld.script')}", "-o", self.file("elfs", ".elf")),
            ],
        ]


def make_elf(
    peano: Peano,
    program: CoreUnit,
    check: Callable[[bytes], None],
    keep: Path | None = None,
) -> bytes:
    """The ELF file of a program, made unless it is kept from before; all files on the way go to `keep`, if given.

    What `check` raises an error for is not kept.
    """
    key = program.key(peano)
    # One thread makes it, others that want the same wait.
    with _locks.holding(key):
        data = _ELFS.read(key)
        if data is not None:
            if keep is not None:
                write_files(keep, {**program.files(), **program.objects, program.file("elfs", ".elf"): data})
            return data
        with TemporaryDirectory(prefix="tilewright-") as name:
            folder = Path(name)
            write_files(folder, {**program.files(), **program.objects})
            try:
                for command in program.commands(peano):
                    _run(command, folder)
                data = _made(folder / program.file("elfs", ".elf"))
            finally:
                if keep is not None:
                    write_files(keep, {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()})
        check(data)
        _ELFS.keep(key, data)
        return data


def _made(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PeanoError(f"clang says that all is well, and leaves no '{path.name}'") from error


@dataclass(frozen=True)
class KernelUnit:
    """A source of kernels for cores."""

    name: str
    """Of the file, which messages show."""
    text: bytes
    flags: Sequence[str] = ()
    folder: Path | None = None
    """Where the file is: it includes others from there."""
    renamed: Mapping[str, str] | None = None
    """Names that functions have in the source, and what the program calls them."""


def kernel_object(peano: Peano, unit: KernelUnit, arch: Arch) -> bytes:
    """The object of a source, of C++ unless its name says otherwise; made unless it is kept from before."""
    is_c, is_ir = unit.name.endswith(".c"), unit.name.endswith((".ll", ".bc"))
    language = [flag for flag in KERNEL_FLAGS if not (is_c and flag.startswith("-std="))]
    target = f"--target={TARGETS[arch]}-none-unknown-elf"
    flags = ["-c", "-O2", target] if is_ir else ["-c", *language, target, *_quoted(unit.folder), *unit.flags]
    tool = "clang" if is_c or is_ir else "clang++"
    compiler = Compiler((peano.tool(tool),), peano.version)
    try:
        _, data = translated(Translation(compiler, unit.text, unit.name, tuple(flags)))
    except CompilerError as error:
        raise PeanoError(f"{tool} refuses '{unit.name}'", error.message or str(error), error.position) from error
    return _renamed(peano, data, unit.renamed) if unit.renamed else data


def _quoted(folder: Path | None) -> list[str]:
    return [] if folder is None else ["-iquote", str(folder)]


def _renamed(peano: Peano, data: bytes, names: Mapping[str, str]) -> bytes:
    """An object in which functions have other names."""
    beside = shutil.which("llvm-objcopy", path=str(peano.folder / "bin"))
    versions = (f"llvm-objcopy-{version}" for version in range(25, 13, -1))
    tool = beside or next((found for name in ("llvm-objcopy", *versions) if (found := shutil.which(name))), None)
    if tool is None:
        raise PeanoError("there is no llvm-objcopy, which gives functions of kernels other names; install LLVM's")
    with TemporaryDirectory(prefix="tilewright-") as name:
        path = Path(name) / "kernel.o"
        path.write_bytes(data)
        _run([tool, *(f"--redefine-sym={old}={new}" for old, new in sorted(names.items())), str(path)])
        return path.read_bytes()
