"""Manifest: sha256 of what the product makes of every input in a checkout. Equal manifests mean equal behaviour.

    python tests/manifest.py --inputs CHECKOUT > before.txt
    python tests/manifest.py --compare before.txt after.txt

The inputs are named apart from the code, since tests move too: compare two trees on the inputs of one of them.
For each design: all files that `compile` writes, each translation and the simulated cycles where it runs; for each
filecheck input: what its RUN lines write; for the shipped Python designs: their words and cycles.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import Pool
from pathlib import Path
from unittest.mock import patch

TRANSLATIONS = (
    "--aie-npu-to-binary", "--aie-npu-to-cpp", "--aie-generate-txn-cpp", "--aie-ctrlpkt-to-bin", "--aie-generate-cdo",
    "--aie-flows-to-json", "--aie-generate-bcf", "--aie-generate-ldscript", "--aie-generate-mmap",
    "--aie-generate-corelist", "--aie-generate-json", "--aie-generate-target-arch",
)  # fmt: skip
DESIGN_FOLDERS = ("docs/examples", "tests/e2e/designs", "tests/e2e/seeded_bugs", "tests/golden")
AIR = re.compile(r"\bair\.|\bgpu\.")
TIMES = re.compile(r'("seconds": )[0-9.e-]+|(\bin )[0-9.]+ m?s\b|(runtime\.zip +)[0-9,]+')
ZIP = b"PK\x03\x04"
"""The runtime in a GPU bundle: our own sources, which differ between trees that behave the same."""
MUTANTS = 600
"""Of each tool."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=Path, default=Path(__file__).parents[1], help="a checkout (default: this one)")
    parser.add_argument("--only", default="", help="inputs whose path contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--compare", nargs=2, metavar=("BEFORE", "AFTER"), type=Path)
    args = parser.parse_args()
    if args.compare:
        return compare(*args.compare)
    root: Path = args.inputs.resolve()
    tasks = [task for task in all_tasks(root) if args.only in task[1]]
    with Pool(args.jobs, maxtasksperchild=50) as pool:
        for lines in pool.imap(run_task, [(str(root), *task) for task in tasks]):
            for line in lines:
                print(line, flush=True)
    return 0


def compare(before: Path, after: Path) -> int:
    """Name the lines that differ."""
    old, new = (dict(line.rsplit(" ", 1) for line in path.read_text().splitlines()) for path in (before, after))
    differing = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
    for key in differing:
        print(f"{'missing' if key not in new else 'new' if key not in old else 'differs'}: {key}")
    print(f"{len(old)} and {len(new)} lines, {len(differing)} differ")
    return int(bool(differing))


def all_tasks(root: Path) -> Iterator[tuple[str, str]]:
    for folder in DESIGN_FOLDERS:
        for path in sorted((root / folder).rglob("*.mlir")):
            yield ("air" if AIR.search(path.read_text(encoding="utf-8")) else "design"), str(path.relative_to(root))
    for path in sorted((root / "tests/filecheck").rglob("*.mlir")):
        yield "run-lines", str(path.relative_to(root))
    for path in sorted((root / "docs/examples").glob("*.py")):
        yield "python", str(path.relative_to(root))
    yield "gemm", "tilewright.designs"
    yield "simulated", "tests/e2e/simulated_designs.py"
    for target in ("opt", "translate", "compile-run", "air-compile", "run-txn"):
        for first in range(0, MUTANTS, 100):
            yield "mutants", f"{target}-{first}"


def run_task(task: tuple[str, str, str]) -> list[str]:
    root, kind, name = task
    makers: dict[str, Callable[[str, str], Iterator[tuple[str, bytes]]]] = {
        "design": of_design, "air": of_air, "run-lines": of_run_lines, "python": of_python, "gemm": of_gemm,
        "simulated": of_simulated, "mutants": of_mutants,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made = list(makers[kind](root, name))
        os.chdir("/")
        return [f"{name} {what} {hashlib.sha256(plain(data, root, folder)).hexdigest()}" for what, data in made]


def plain(data: bytes, root: str, folder: str) -> bytes:
    """Without what depends on the place and the hour."""
    if data.startswith(ZIP):
        return b""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    for place, name in ((product(), "PRODUCT"), (root, "ROOT"), (folder, "FOLDER")):
        text = text.replace(place, name)
    return TIMES.sub(r"\1\2\3T", text).encode()


def product() -> str:
    """The folder that the code is in: locations in shipped designs name it."""
    import tilewright

    return str(Path(tilewright.__file__).parent)


def command(*argv: str) -> bytes:
    """Status and everything that a command of ours writes to the terminal."""
    from tilewright.cli.main import main as tilewright

    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace") for raw in written)
    with redirect_stdout(out), redirect_stderr(err), patch("sys.stdin", io.TextIOWrapper(io.BytesIO())):
        try:
            status: object = tilewright(list(argv))
        except BaseException as error:
            status = f"{type(error).__name__}: {error}"
    for stream in (out, err):
        stream.flush()
    return b"%s\n%s\n%s" % (str(status).encode(), *(raw.getvalue() for raw in written))


def written(folder: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            yield f"wrote:{path.relative_to(folder)}".replace(" ", "_"), path.read_bytes()


def of_design(root: str, name: str) -> Iterator[tuple[str, bytes]]:
    file = f"{root}/{name}"
    yield "compile", command("compile", file, "-o", "out")
    yield from written("out")
    for flag in TRANSLATIONS:
        Path(flag).mkdir()
        yield f"translate{flag}", command("translate", flag, file, f"--work-dir-path={flag}")
        yield from written(flag)
    for model in ("fast", "plain"):
        yield f"run:{model}", command("run", file, "--model", model, "--max-cycles", "20000", "--json")


def of_air(root: str, name: str) -> Iterator[tuple[str, bytes]]:
    file = f"{root}/{name}"
    for target in ("gfx942", "sm_90", "emulator"):
        yield f"air:{target}", command("air", "compile", file, "--target", target, "-o", target)
        yield from written(target)
    if "hang" not in name and "race" not in name:
        yield "air:run", command("air", "run", file, "--ranks", "1", "--timeout", "20")


def of_run_lines(root: str, name: str) -> Iterator[tuple[str, bytes]]:
    sys.path.append(str(Path(__file__).parent / "filecheck"))
    from test_filecheck import run_lines, split_list, split_words

    file = Path(root) / name
    places = {"%s": str(file), "%S": str(file.parent), "%t": "t", "%T": "."}
    for number, line in enumerate(run_lines(file.read_text(encoding="utf-8"))):
        for words in split_list(split_words(line), "&&"):
            first = [w for w in split_list(words, "|")[0] if w not in ("2>&1", "not")]
            argv = [re.sub(r"%[sStT]\b", lambda m: places[m[0]], word) for word in first]
            if argv[0] == "tilewright":
                yield f"RUN{number}", command(*argv[1:])
    yield from written(".")


def of_python(root: str, name: str) -> Iterator[tuple[str, bytes]]:
    file = f"{root}/{name}"
    yield "compile", command("compile", file, "-o", "out")
    yield from written("out")
    yield "run", command("run", file, "--json")


def of_gemm(root: str, name: str) -> Iterator[tuple[str, bytes]]:
    """Words and cycles of every shipped product of matrices."""
    import numpy as np

    from tilewright import designs

    single = (designs.SingleCoreGemm, designs.SingleCoreGemmTasks, designs.SingleCoreGemmPlaced)
    gemms = [kind(device) for kind in single for device in ("npu1", "npu2")]
    gemms += [designs.WholeArrayGemm(device, columns) for device in ("npu1", "npu2") for columns in (1, 4)]
    random = np.random.default_rng(1)
    a, b = random.integers(-8, 8, (70, 90)), random.integers(-8, 8, (90, 50))
    for number, gemm in enumerate(gemms):
        built = designs.Gemm(gemm)
        product = built.run(a.astype(np.int16), b.astype(np.int16))
        yield f"gemm{number}", product.matrix.tobytes() + str(product.result.cycles).encode()
        yield f"gemm{number}:txn", built.design.txn(**dict(zip("MKN", built.padded(40, 40, 40), strict=True))).tobytes()


def of_simulated(root: str, name: str) -> Iterator[tuple[str, bytes]]:
    """Cycles and results of the designs that the end-to-end tests run."""
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "e2e")]
    from simulated_designs import DESIGNS

    for design in DESIGNS:
        for model in ("fast", "plain"):
            loaded = design.load(model)
            arguments = design.arguments(1)
            result = design.run(loaded, arguments)
            yield f"{design.name}:{model}", f"{result.cycles} {[repr(a) for a in arguments]}".encode()


def of_mutants(root: str, name: str) -> Iterator[tuple[str, bytes]]:
    """What commands say about damaged inputs. The fuzzer draws them from the files of a checkout."""
    sys.path[:0] = [str(Path(__file__).parent)]
    from fuzz import corpus
    from fuzz.targets import TARGETS

    corpus.ROOT = Path(root)
    target, _, first = name.rpartition("-")
    for seed in range(int(first), int(first) + 100):
        case = TARGETS[target].case(seed)
        case.write(Path("."))
        yield str(seed), command(*case.argv)


if __name__ == "__main__":
    sys.exit(main())
