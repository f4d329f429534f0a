"""Shared libraries made of LLVM's objects, loaded by the system's own loader and read by its own tools."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from llvmlite import ir

from tilewright.native import elf
from tilewright.native.elf import RELOCATORS, LinkError, read_object
from tilewright.native.host import LIBRARY_TRIPLES, library_triple, object_code
from tilewright.native.shared_object import _hash, define_memory_functions, link_shared

I64 = ir.IntType(64)
ROW = ir.ArrayType(I64, 3)
ON_LINUX = platform.system() == "Linux" and platform.machine() in LIBRARY_TRIPLES
needs_loader = pytest.mark.skipif(not ON_LINUX, reason="no libraries for this platform")
triples = pytest.mark.parametrize("triple", LIBRARY_TRIPLES.values(), ids=LIBRARY_TRIPLES)


def squares(count: int) -> ir.Module:
    """Functions f0(x) = x * x + 0, f1(x) = x * x + 1, ... that read their constant from memory."""
    module = ir.Module("squares")
    for number in range(count):
        data = ir.GlobalVariable(module, ROW, f"data{number}")
        data.linkage, data.global_constant, data.initializer = "private", True, ir.Constant(ROW, [7, number, 9])
        function = ir.Function(module, ir.FunctionType(I64, [I64, I64]), f"f{number}")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        x, index = function.args
        addend = builder.load(builder.gep(data, [index], source_etype=I64), typ=I64)
        builder.ret(builder.add(builder.mul(x, x), addend))
    return module


def load(folder: Path, code: bytes, name: str = "libtest.so") -> ctypes.CDLL:
    path = folder / name
    path.write_bytes(code)
    return ctypes.CDLL(str(path))


@needs_loader
@pytest.mark.parametrize("count", [1, 2, 40])
def test_every_function_is_found_and_reads_its_constants(count: int, tmp_path: Path):
    names = [f"f{number}" for number in range(count)]
    library = load(tmp_path, link_shared(object_code(squares(count), library_triple()), "libtest.so", names))
    for number, name in enumerate(names):
        function = library[name]
        function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_int64, ctypes.c_int64]
        assert function(12, 1) == 144 + number
    with pytest.raises(AttributeError):
        library["f_missing"]


@needs_loader
def test_functions_that_are_not_exported_are_hidden(tmp_path: Path):
    library = load(tmp_path, link_shared(object_code(squares(2), library_triple()), "libtest.so", ["f1"]))
    assert library["f1"]
    with pytest.raises(AttributeError):
        library["f0"]


@needs_loader
def test_memory_functions_are_the_librarys_own(tmp_path: Path):
    module = ir.Module("memory")
    define_memory_functions(module)
    library = load(tmp_path, link_shared(object_code(module, library_triple()), "libtest.so", ["memcpy", "memset"]))
    for size in (0, 1, 15, 64, 1000):
        source, target = bytes(index % 251 for index in range(size)), ctypes.create_string_buffer(size + 1)
        library.memcpy(ctypes.c_void_p(ctypes.addressof(target)), source, ctypes.c_int64(size))
        assert target.raw == source + b"\0"
        library.memset(ctypes.c_void_p(ctypes.addressof(target)), 0x1AB, ctypes.c_int64(size))
        assert target.raw == b"\xab" * size + b"\0"


def library_for(triple: str, folder: Path) -> Path:
    path = folder / "libtest.so"
    path.write_bytes(link_shared(object_code(squares(5), triple), "libtest.so", [f"f{n}" for n in range(5)]))
    return path


@triples
def test_nothing_is_both_written_and_run(triple: str, tmp_path: Path):
    data = library_for(triple, tmp_path).read_bytes()
    header = elf.FILE_HEADER.unpack_from(data)
    offset, size, count = header[5], header[9], header[10]
    segments = [elf.PROGRAM_HEADER.unpack_from(data, offset + size * number) for number in range(count)]
    assert [rights for type, rights, *_ in segments if type == elf.PT_GNU_STACK] == [elf.PF_R | elf.PF_W]
    assert not any(rights & elf.PF_W and rights & elf.PF_X for _, rights, *_ in segments)


@triples
@pytest.mark.skipif(not shutil.which("eu-elflint"), reason="no eu-elflint")
def test_elflint_finds_nothing_wrong(triple: str, tmp_path: Path):
    command = ["eu-elflint", "--gnu-ld", library_for(triple, tmp_path)]
    assert subprocess.check_output(command, text=True) == "No errors\n"


@triples
@pytest.mark.skipif(not shutil.which("readelf"), reason="no readelf")
def test_readelf_finds_nothing_wrong(triple: str, tmp_path: Path):
    command = ["readelf", "-aW", library_for(triple, tmp_path)]
    read = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not read.stderr
    assert "Warning" not in read.stdout
    assert "Library soname: [libtest.so]" in read.stdout
    assert "There are no relocations in this file." in read.stdout
    assert " RWE " not in read.stdout and "TEXTREL" not in read.stdout
    (stack,) = (line for line in read.stdout.splitlines() if "GNU_STACK" in line)
    assert stack.split()[6] == "RW"


def test_the_hash_is_that_of_the_abi():
    # Values of the function in the System V ABI, computed by hand for short names.
    assert [_hash(name) for name in ("", "a", "ab", "printf")] == [0, 0x61, 0x672, 0x077905A6]


@pytest.mark.parametrize(
    "type, before, target, place, after",
    [
        pytest.param(283, 0x94000000, 0x1000, 0x2000, 0x97FFFC00, id="bl backwards"),
        pytest.param(282, 0x14000000, 0x2008, 0x2000, 0x14000002, id="b forwards"),
        pytest.param(275, 0x90000000, 0x5678, 0x1234, 0x90000020, id="adrp: 4 pages on"),
        pytest.param(275, 0x90000001, 0x1FFF, 0x2000, 0xF0FFFFE1, id="adrp: the page before"),
        pytest.param(277, 0x91000000, 0x5678, 0, 0x9119E000, id="add of the place in the page"),
        pytest.param(286, 0xF9400000, 0x5678, 0, 0xF9433C00, id="ldr of 8 bytes counts in 8 bytes"),
        pytest.param(299, 0x3DC00000, 0x5670, 0, 0x3DC19C00, id="ldr of 16 bytes counts in 16 bytes"),
    ],
)
def test_instructions_of_aarch64(type: int, before: int, target: int, place: int, after: int):
    data = bytearray(before.to_bytes(4, "little"))
    RELOCATORS[elf.EM_AARCH64][type].apply(data, 0, target, place)
    assert f"{int.from_bytes(data, 'little'):08x}" == f"{after:08x}"


def test_what_is_too_far_is_refused():
    with pytest.raises(LinkError, match="distance 4294967296"):
        RELOCATORS[elf.EM_X86_64][2].apply(bytearray(4), 0, 1 << 32, 0)


def with_writable_data() -> ir.Module:
    module = squares(1)
    counter = ir.GlobalVariable(module, I64, "counter")
    counter.initializer = ir.Constant(I64, 1)
    return module


def with_call_to_nowhere() -> ir.Module:
    module = ir.Module("calls")
    other = ir.Function(module, ir.FunctionType(I64, []), "other")
    function = ir.Function(module, ir.FunctionType(I64, []), "f0")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(builder.call(other, []))
    return module


@pytest.mark.parametrize(
    "make, exported, complaint",
    [
        pytest.param(with_writable_data, "f0", r"section .data is writable", id="variables"),
        pytest.param(with_call_to_nowhere, "f0", "refers to what it does not define: other", id="other libraries"),
        pytest.param(lambda: squares(1), "g", "does not define g", id="unknown exports"),
    ],
)
def test_what_cannot_be_linked_is_named(make: Callable[[], ir.Module], exported: str, complaint: str):
    with pytest.raises(LinkError, match=complaint):
        link_shared(object_code(make(), LIBRARY_TRIPLES["x86_64"]), "libtest.so", [exported])


@pytest.mark.parametrize(
    "triple, complaint",
    [
        ("riscv64-unknown-linux-gnu", "machine 243; known are x86-64, AArch64"),
        ("x86_64-apple-darwin", "is no 64-bit little-endian ELF file"),
    ],
)
def test_other_platforms_are_named(triple: str, complaint: str):
    with pytest.raises(LinkError, match=complaint):
        link_shared(object_code(squares(1), triple), "libtest.so", ["f0"])


def test_platforms_without_libraries_are_told_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    with pytest.raises(LinkError, match="on Linux for x86_64 and aarch64, but this is Darwin on arm64"):
        library_triple()


def test_objects_are_read():
    source = read_object(object_code(squares(1), LIBRARY_TRIPLES["x86_64"]))
    assert source.machine == elf.EM_X86_64
    (text,) = (section for section in source.sections if section.name == ".text")
    (function,) = (symbol for symbol in source.symbols if symbol.name == "f0")
    assert function.section == text.number
    assert 0 < function.size <= len(text.data)
    assert text.relocations
