"""A stand-in for Peano: takes exactly the arguments that the real tools are to get, and leaves files like theirs.

Its objects are ELF files with a list of the names that they define and need; linking checks these against the linker
script. `install` puts it into a folder as `bin/opt`, `bin/llc` and so on; each call is noted in `calls.jsonl` there.
"""

from __future__ import annotations

import json
import re
import stat
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

TOOLS = ("opt", "llc", "clang", "clang++", "ld.lld", "llvm-objcopy")
EM_AIE = 264
HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
PROGRAM_HEADER = struct.Struct("<8I")
RELOCATABLE, EXECUTABLE, PT_LOAD = 1, 2, 1
WARNINGS = ("-Wno-parentheses", "-Wno-attributes", "-Wno-macro-redefined", "-Wno-empty-body")
LIBRARY = re.compile(
    r"(exp2?|expm1|log1?p?|log10|log2|cbrt|erfc?|atan2|pow|a?(sin|cos|tan)h?)f?"
    r"|(sqrt|floor|ceil|trunc|round(even)?|fma)f?|mem(cpy|set|move)"
)
"""What the C library of cores has."""


def install(folder: Path) -> Path:
    """A folder that looks like an installation."""
    (folder / "bin").mkdir(parents=True)
    for name in TOOLS:
        path = folder / "bin" / name
        path.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{__file__}' '{folder}' {name} \"$@\"\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


def calls(folder: Path) -> list[list[str]]:
    """Name and arguments of each call so far."""
    log = folder / "calls.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def refuse(text: str) -> NoReturn:
    print(text, file=sys.stderr)
    sys.exit(1)


def read_arguments(name: str, words: Sequence[str], exact: Sequence[str], with_value: Sequence[str]) -> dict[str, Any]:
    """Arguments by their flags, `inputs` for the rest; what is not expected, or is missing, is a failure."""
    found: dict[str, Any] = {"inputs": []}
    pending, wanted = iter(words), set(exact)
    for word in pending:
        prefix = next((each for each in with_value if word.startswith(each) and len(word) > len(each)), None)
        if word in wanted:
            wanted.remove(word)
        elif word in with_value:
            found.setdefault(word, []).append(next(pending))
        elif prefix is not None:
            found.setdefault(prefix, []).append(word[len(prefix) :])
        elif word.startswith("-"):
            refuse(f"{name}: unknown argument '{word}'")
        else:
            found["inputs"].append(word)
    if wanted:
        refuse(f"{name}: arguments are missing: {sorted(wanted)}")
    return found


def one(name: str, found: dict[str, Any], flag: str) -> str:
    if len(found.get(flag, ())) != 1:
        refuse(f"{name}: {flag} is given {len(found.get(flag, ()))} times")
    return found[flag][0]


def elf(kind: int, contents: bytes, segments: Sequence[tuple[int, bytes]] = ()) -> bytes:
    start = HEADER.size + PROGRAM_HEADER.size * len(segments)
    headers, data = b"", b""
    for address, part in segments:
        place = start + len(data)
        headers += PROGRAM_HEADER.pack(PT_LOAD, place, address, address, len(part), len(part), 5, 4)
        data += part
    identity = b"\x7fELF\x01\x01\x01" + b"\0" * 9
    at = HEADER.size if segments else 0
    header = HEADER.pack(
        identity, kind, EM_AIE, 1, 0, at, 0, 0, HEADER.size, PROGRAM_HEADER.size, len(segments), 0, 0, 0
    )
    return header + headers + data + contents


def object_file(defined: Sequence[str], needed: Sequence[str]) -> bytes:
    return elf(RELOCATABLE, json.dumps({"defined": list(defined), "needed": list(needed)}).encode())


def names_in(data: bytes) -> dict[str, list[str]]:
    return json.loads(data[HEADER.size :])


def opt(words: list[str]) -> None:
    level = next((word for word in words if word.startswith("--passes=")), "")
    if level not in ("--passes=default<O0>", "--passes=default<O1>"):
        refuse(f"opt: passes are {level!r}")
    optional = [word for word in words if word == "-disable-loop-idiom-memset"]
    found = read_arguments("opt", words, [level, "-inline-threshold=10", "-S", *optional], ["-o"])
    (source,) = found["inputs"]
    text = Path(source).read_text()
    if not text.startswith("target triple = ") or text.count("\ndefine ") < 1:
        refuse(f"opt: {source}: expected a module with a target and a function")
    Path(one("opt", found, "-o")).write_text(text)


def llc(words: list[str]) -> None:
    levels = [word for word in words if re.fullmatch("-O[0-3]", word)]
    found = read_arguments("llc", words, ["--function-sections", "--filetype=obj", *levels], ["-o", "--march="])
    (source,) = found["inputs"]
    text = Path(source).read_text()
    march = one("llc", found, "--march=")
    if f'target triple = "{march}"' not in text or march not in ("aie2", "aie2p"):
        refuse(f"llc: --march={march} is not what the module is for")
    defined = re.findall(r'^define .*@"([^"]+)"\(', text, re.M)
    declared = re.findall(r'^declare .*@"([^"]+)"\(', text, re.M)
    outside = re.findall(r'^@"([^"]+)" = external global', text, re.M)
    needed = [name for name in (*declared, *outside) if not name.startswith("llvm.") and not LIBRARY.fullmatch(name)]
    rules = f"llvm.{march}.", "llvm.fabs.", "llvm.ctlz.i32"
    unknown = [name for name in declared if name.startswith("llvm.") and not name.startswith(rules)]
    if unknown:
        refuse(f"llc: unable to legalize instruction: {unknown[0]}")
    Path(one("llc", found, "-o")).write_bytes(object_file(defined, needed))


def compile_kernel(name: str, words: list[str]) -> None:
    targets = ["--target=aie2-none-unknown-elf", "--target=aie2p-none-unknown-elf"]
    target = [word for word in words if word in targets]
    source = next((word for word in words if word.endswith((".cc", ".cpp", ".c", ".ll"))), "")
    fixed = ["-c", "-O2", *(target[:1] or targets[:1])]
    if not source.endswith(".ll"):
        fixed += [*WARNINGS, "-DNDEBUG", "-D__AIE_API_AIE_ADF_HPP__", *(["-std=c++20"] if name == "clang++" else [])]
    found = read_arguments(name, words, [*fixed, "-MMD"], ["-o", "-MF", "-iquote", "-I", "-D"])
    text = Path(source).read_text()
    for number, line in enumerate(text.splitlines(), 1):
        if "syntax error" in line:
            refuse(f"{source}:{number}:1: error: expected expression\n{line}\n1 error generated.")
        if (header := re.match(r'#include "(.+)"', line)) and not any(
            (Path(folder) / header[1]).is_file() for folder in (*found.get("-iquote", ()), *found.get("-I", ()))
        ):
            refuse(f"{source}:{number}:10: fatal error: '{header[1]}' file not found")
    Path(one(name, found, "-MF")).write_text(f"out: {source}\n")
    defined = re.findall(r"^(?:extern \"C\" )?void (\w+)\(", text, re.M) or re.findall(r'define .*@"?(\w+)"?\(', text)
    Path(one(name, found, "-o")).write_bytes(object_file(defined, []))


def link(words: list[str]) -> None:
    target = next((word for word in words if word.startswith("--target=")), "")
    if not re.fullmatch(r"--target=aie2p?-none-unknown-elf", target):
        refuse(f"clang: the target is {target!r}")
    levels = [word for word in words if re.fullmatch("-O[0-3]", word)]
    exact = [target, "-Wl,--gc-sections", "-Wl,--orphan-handling=error", *levels]
    found = read_arguments("clang", words, exact, ["-o", "-fuse-ld=", "-Wl,-T,"])
    if not one("clang", found, "-fuse-ld=").endswith("ld.lld"):
        refuse("clang: the linker is not Peano's")
    (source,) = found["inputs"]
    core, script = names_in(Path(source).read_bytes()), Path(one("clang", found, "-Wl,-T,")).read_text()
    known = set(re.findall(r"^(\w[\w.$]*) = \.;", script, re.M)) | set(core["defined"])
    for file in re.findall(r"^INPUT\((.+)\)$", script, re.M):
        if not Path(file).is_file():
            refuse(f"ld.lld: error: {source}.script: unable to find {file}")
        data = Path(file).read_bytes()
        known |= {*names_in(data)["defined"]} if data.startswith(b"\x7fELF") else set()
    (main,) = re.findall(r"^PROVIDE\(main = (\w+)\);", script, re.M)
    for name in (main, *core["needed"]):
        if name not in known:
            refuse(f"ld.lld: error: undefined symbol: {name}\n>>> referenced by {source}")
    regions = dict[str, int](
        (name, int(start, 0)) for name, start in re.findall(r"^\s*(\w+) \(.*\) : ORIGIN = (\w+), LENGTH", script, re.M)
    )
    program = json.dumps(core).encode().ljust(64, b"\0")
    segments = [(regions["program"], program[: len(program) // 4 * 4]), (regions["data"], b"data")]
    Path(one("clang", found, "-o")).write_bytes(elf(EXECUTABLE, b"", segments))


def rename(words: list[str]) -> None:
    found = read_arguments("llvm-objcopy", words, [], ["--redefine-sym="])
    (path,) = map(Path, found["inputs"])
    pairs = dict(pair.split("=") for pair in found["--redefine-sym="])
    names = names_in(path.read_bytes())
    path.write_bytes(object_file([pairs.get(name, name) for name in names["defined"]], names["needed"]))


def main(folder: str, tool: str, words: list[str]) -> None:
    if words == ["--version"]:
        print("clang version 21.0.0 (a stand-in)\nTarget: none")
        return
    with (Path(folder) / "calls.jsonl").open("a") as log:
        log.write(json.dumps([tool, *words]) + "\n")
    match tool:
        case "opt":
            opt(words)
        case "llc":
            llc(words)
        case "llvm-objcopy":
            rename(words)
        case "clang" | "clang++" if "-c" in words:
            compile_kernel(tool, words)
        case "clang":
            link(words)
        case _:
            refuse(f"{tool} is called by clang alone")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
