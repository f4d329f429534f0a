"""A folder that stands in for an installed XRT: headers, the library that talks to the simulator, files for CMake.

The library is compiled by the computer's compiler when the folder is first asked for, and kept like other native code;
the folder is in the cache too, named after what is in it and the user's alone, and its files are compared each time.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import tilewright
from tilewright.native.cpp_compiler import Compiler, Translation, find_compiler, translated
from tilewright.native.object_cache import private_files, private_folder

SOURCES = Path(__file__).parent / "cpp"
INCLUDE = SOURCES / "include"
LIBRARY = "libxrt_coreutil.so"
VERSION = "2.20.0"
EMPTY_ARCHIVE = b"!<arch>\n"

CMAKE = """# find_package(XRT) for tilewright's stand-in.
get_filename_component(_xrt_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(XRT_FOUND TRUE)
set(XRT_VERSION "@version@")
set(XRT_INCLUDE_DIR "${_xrt_prefix}/include")
set(XRT_INCLUDE_DIRS "${_xrt_prefix}/include")
set(XRT_LIB_DIR "${_xrt_prefix}/lib")
set(XRT_LINK_DIRS "${_xrt_prefix}/lib")
set(XRT_LIBRARIES "${_xrt_prefix}/lib/@library@")
if(NOT TARGET XRT::xrt_coreutil)
  add_library(XRT::xrt_coreutil SHARED IMPORTED)
  set_target_properties(XRT::xrt_coreutil PROPERTIES
    IMPORTED_LOCATION "${_xrt_prefix}/lib/@library@"
    INTERFACE_INCLUDE_DIRECTORIES "${_xrt_prefix}/include")
endif()
"""
CMAKE_VERSION = """set(PACKAGE_VERSION "@version@")
set(PACKAGE_VERSION_COMPATIBLE TRUE)
"""
PKG_CONFIG = """prefix=${pcfiledir}/../..
Name: xrt
Description: XRT's interface on tilewright's simulated NPU
Version: @version@
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib -lxrt_coreutil
"""
SETUP = """# What a shell needs to build and run programs for XRT on tilewright's simulated NPU: `source setup.sh`.
export XILINX_XRT="@prefix@"
export LD_LIBRARY_PATH="@prefix@/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export CMAKE_PREFIX_PATH="@prefix@${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
export PKG_CONFIG_PATH="@prefix@/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
export PYTHONPATH="@python@${PYTHONPATH:+:$PYTHONPATH}"
"""


def xrt_folder() -> Path:
    """The folder, made if it is not there; `CompilerError` if there is no compiler, `CacheError` if no place for it."""
    compiler = find_compiler("c++")
    files = _files(compiler)
    digest = sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name} {len(data)} ".encode() + data)
    name = digest.hexdigest()[:16]
    files["setup.sh"] = _filled(SETUP, private_folder("xrt", name))
    # what is linked to programs has to be what was made here
    return private_files(f"xrt/{name}", files)


def xrt_flags() -> list[str]:
    """What a C++ compiler is told to build a program for XRT with the stand-in; it is found when the program runs."""
    folder = xrt_folder()
    return [f"-I{folder / 'include'}", f"-L{folder / 'lib'}", f"-Wl,-rpath,{folder / 'lib'}", "-lxrt_coreutil"]


def _files(compiler: Compiler) -> dict[str, bytes]:
    found = {
        f"include/{path.relative_to(INCLUDE).as_posix()}": path.read_bytes() for path in sorted(INCLUDE.rglob("*.h"))
    }
    cmake = _filled(CMAKE), _filled(CMAKE_VERSION)
    for folder in ("lib/cmake/XRT", "share/cmake/XRT"):
        found |= {f"{folder}/xrt-config.cmake": cmake[0], f"{folder}/xrt-config-version.cmake": cmake[1]}
    found["lib/pkgconfig/xrt.pc"] = _filled(PKG_CONFIG)
    found[f"lib/{LIBRARY}"] = _library(compiler)
    # command lines for XRT name it, and nothing here needs it
    if not _has_uuid(compiler):
        found["lib/libuuid.a"] = EMPTY_ARCHIVE
    return found


def _filled(text: str, folder: Path | None = None) -> bytes:
    values = {
        "version": VERSION,
        "library": LIBRARY,
        "prefix": str(folder),
        "python": str(Path(tilewright.__file__).parent / "children" / "xrt"),
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text.encode()


def _library(compiler: Compiler) -> bytes:
    home = str(Path(tilewright.__file__).parent.parent)
    flags = (
        *("-std=c++17", "-O2", "-fPIC", "-shared", "-w", f"-I{INCLUDE}", f"-Wl,-soname,{LIBRARY}", "-pthread"),
        *(f"-DTILEWRIGHT_PYTHON={_literal(sys.executable)}", f"-DTILEWRIGHT_HOME={_literal(home)}"),
    )
    source = SOURCES / "xrt_coreutil.cpp"
    return translated(Translation(compiler, source.read_bytes(), source.name, flags))[1]


def _literal(text: str) -> str:
    """A C++ string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@cache
def _has_uuid(compiler: Compiler) -> bool:
    with TemporaryDirectory(prefix="tilewright-") as folder:
        source = Path(folder) / "empty.cpp"
        source.write_text("")
        return not compiler.run(["-shared", str(source), "-luuid", "-o", str(Path(folder) / "empty.so")])
