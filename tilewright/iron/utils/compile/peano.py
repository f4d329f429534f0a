"""Kernels for cores of real devices, by Peano. The simulator needs none of this: it compiles sources for itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tilewright.errors import Error
from tilewright.iron.kernel import ExternalFunction
from tilewright.iron.utils import config
from tilewright.native.peano import TARGETS, KernelUnit, PeanoError, find_peano, kernel_object
from tilewright.support.output_files import FileNames, is_file_name, write_file, write_files

_PATH_FLAGS = "-I", "-isystem", "-iquote", "-idirafter", "-include"


class KernelBuildError(Error, RuntimeError):
    """The vendor's compiler has not made an object file; the text is what it said."""


def compile_cxx_core_function(
    source_path: str | Path,
    target_arch: str,
    output_path: str | Path,
    include_dirs: Sequence[str] | None = None,
    compile_args: Sequence[str] | None = None,
    cwd: str | Path | None = None,
    use_chess: bool = False,
    inline: bool = False,
    symbol_name: str | None = None,
) -> None:
    """Have Peano make an object file for cores of a C++ source.

    Args:
        source_path: the source
        target_arch: `aie2` or `aie2p`
        output_path: the object file
        include_dirs: folders with headers
        compile_args: more flags
        cwd: the folder that paths begin in
        use_chess: the vendor's other compiler, which is not called from here; nor are `inline` and `symbol_name` used,
            which are for objects that are merged into a core's program
    """
    _refuse_other_builds(str(source_path), use_chess, inline)
    base = Path(cwd or ".").absolute()
    source = base / source_path
    try:
        text = source.read_bytes()
    except OSError as error:
        raise KernelBuildError(f"{source_path}: error: it cannot be read: {error.strerror}") from error
    flags = _flags(base, include_dirs or (), compile_args or ())
    data = _object(KernelUnit(FileNames().stem(source.name), text, flags, source.parent), target_arch)
    write_file(base / output_path, data)


def compile_external_kernel(func: ExternalFunction, kernel_dir: str | Path, target_arch: str) -> None:
    """Have Peano make the object file of a kernel in a folder, unless it is there; its source is put beside it."""
    folder, file = Path(kernel_dir), func.object_file_name or f"{func.name}.o"
    if not is_file_name(file):
        raise KernelBuildError(
            f"ExternalFunction '{func.name}': object_file_name={file!r} is no name of a file: it is made of letters, "
            "digits, _, -, . and $, without folders"
        )
    if (folder / file).exists():
        return
    _refuse_other_builds(f"ExternalFunction '{func.name}'", func.use_chess, func.inline)
    includes, given = list(func.include_dirs), None if func.source_file is None else Path(func.source_file).absolute()
    if func.source_string is not None:
        text = func.source_string.encode(errors="surrogateescape")
    elif given is not None and given.is_file():
        text = given.read_bytes()
        includes.append(str(given.parent))  # headers beside the source are found from the copy, too
    else:
        raise FileNotFoundError(f"ExternalFunction '{func.name}': source file not found: {func.source_file}")
    source = f"{FileNames(file).stem(func.original_name, '.cc')}.cc"
    if (folder / source).absolute() != given:
        write_files(folder, {source: text})
    renamed = None if func.name == func.original_name else {func.original_name: func.name}
    unit = KernelUnit(source, text, _flags(Path.cwd(), includes, func.compile_flags), folder.absolute(), renamed)
    write_files(folder, {file: _object(unit, target_arch)})


def _refuse_other_builds(what: str, use_chess: bool, inline: bool) -> None:
    if use_chess or inline:
        raise KernelBuildError(f"{what}: error: {'Chess' if use_chess else 'inline'} builds are not made here")


def _flags(base: Path, folders: Sequence[str], others: Sequence[str]) -> list[str]:
    """Flags for the compiler, which runs elsewhere: relative paths begin in `base`."""
    return [f"-I{config.cxx_header_path()}", *(f"-I{base / folder}" for folder in folders), *_absolute(base, others)]


def _absolute(base: Path, flags: Sequence[str]) -> Iterator[str]:
    given = iter(flags)
    for flag in given:
        option = next((each for each in _PATH_FLAGS if flag.startswith(each)), None)
        if option is None:
            yield flag
            continue
        path = flag.removeprefix(option) or next(given, "")
        # a file for -include may be in any folder with headers
        yield from (option, str(base / path) if (base / path).exists() else path)


def _object(unit: KernelUnit, target_arch: str) -> bytes:
    arch = next((arch for arch, target in TARGETS.items() if target == target_arch), None)
    if arch is None:
        known = ", ".join(TARGETS.values())
        raise KernelBuildError(f"{unit.name}: error: '{target_arch}' is no architecture of cores: {known} are")
    try:
        return kernel_object(find_peano(config.peano_install_dir()), unit, arch)
    except PeanoError as error:
        raise KernelBuildError(f"[Peano] compilation failed:\n{error.message or error}") from error


__all__ = ["KernelBuildError", "compile_cxx_core_function", "compile_external_kernel"]
