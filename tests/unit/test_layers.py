"""Layers: which packages may import which, that no cycle is made at import, and that passes are where their flags say.

`ALLOWED` is the map of the house: a package imports itself, and what stands in its row. A new edge is a decision, and
is made here.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from structure import PRODUCT, Module, modules

from tilewright.passes import PASSES

VOCABULARY = {"errors", "support", "ir", "device", "dialects", "txn"}
"""What everything may be written in terms of."""
AREAS = ("standard", "design", "sequence", "control", "cpp", "air")
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "support": {"errors"},
    "ir": {"errors", "support"},
    "device": {"errors"},
    # Long streams are walked by native code, which knows nothing of streams.
    "txn": {"errors", "support", "device", "native"},
    "dialects": {"device", "ir"},
    "rewrite": {"device", "ir", "dialects"},
    **{f"passes.{area}": VOCABULARY | {"rewrite"} for area in AREAS},
    # `pipelines` alone joins areas of passes, and the passes that run a pipeline stand beside it.
    "passes": VOCABULARY | {"rewrite"} | {f"passes.{area}" for area in AREAS},
    "native": VOCABULARY - {"txn"},
    "containers": VOCABULARY,
    # Programs of cores become native code, which is kept as all of it is.
    "isa": {"errors", "support", "native"},
    "codegen": VOCABULARY | {"native", "rewrite"},
    # Operations one by one, on the numbers that folding has; of `native` what knows nothing of LLVM.
    "interpreter": VOCABULARY - {"txn"} | {"rewrite", "native"},
    "sim": VOCABULARY | {"isa", "native", "interpreter"},
    "gpu": VOCABULARY | {"native", "report"},
    "kernels": VOCABULARY | {"native", "sim"},
    "report": VOCABULARY | {"sim"},
    "driver": VOCABULARY
    | {"containers", "rewrite", "native", "codegen", "sim", "kernels", "report", "iron", "passes", "passes.*"},
    "xrt": VOCABULARY | {"containers", "native", "sim", "driver"},
    "pyxrt": {"xrt"},
    # Binaries as designs are streams of others too, under a name of mlir-aie.
    "iron": VOCABULARY | {"containers", "native", "kernels", "driver", "report", "xrt", "lift"},
    "lift": VOCABULARY | {"rewrite", "driver"},
    "designs": VOCABULARY | {"iron", "driver", "kernels"},
    "sweeps": VOCABULARY | {"native", "sim", "report", "iron", "driver"},
    # It serves `iron` by name, and a process that a served program starts asks for it by name.
    "as_aie": {"support"},
    "children": set(),
    # Its front end builds with the builders of `iron`.
    "air": VOCABULARY | {"native", "rewrite", "gpu", "report", "iron", "passes", "passes.*"},
}
"""The command line and the root package join everything, so they have no row."""
JOINING = ("cli", "__main__", "tilewright")
VERSION = "tilewright"
"""Importing the root package itself (for its version and its lazy names) is no edge."""


def room(name: str) -> str:
    parts = name.split(".")
    if len(parts) == 1:
        return parts[0]
    if parts[1] == "passes":
        return f"passes.{parts[2]}" if len(parts) > 2 and parts[2] in AREAS else "passes"
    return parts[1]


FOUND = modules()
KNOWN = {module.name for module in FOUND}


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_what_its_row_names(package: str) -> None:
    allowed = ALLOWED[package] | {package, VERSION}
    if "passes.*" in allowed:
        allowed |= {f"passes.{area}" for area in AREAS}
    edges = [
        f"{module.name} imports {name}"
        for module in FOUND
        if room(module.name) == package
        for name in sorted(module.imports(KNOWN))
        if room(name) not in allowed
    ]
    assert not edges, "\n".join(edges)


def test_every_package_has_a_row() -> None:
    assert {room(module.name) for module in FOUND} - set(JOINING) == set(ALLOWED)


def test_nothing_is_imported_in_a_circle() -> None:
    """At the top of files, that is: an import inside of a function waits until it is called."""
    graph = {module.name: _at_top(module) for module in FOUND}
    state = dict[str, int]()

    def visit(name: str, path: tuple[str, ...]) -> None:
        state[name] = 1
        for other in graph.get(name, ()):
            assert state.get(other) != 1, " -> ".join((*path, name, other))
            if other not in state:
                visit(other, (*path, name))
        state[name] = 2

    for name in graph:
        if name not in state:
            visit(name, ())


def _at_top(module: Module) -> set[str]:
    body: list[ast.stmt] = [node for node in module.tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    shallow = Module.__new__(Module)
    shallow.name, shallow.is_package, shallow.tree = module.name, module.is_package, ast.Module(body, [])
    # A package imports its own modules to gather them, and they are loaded while it is: no circle as long as they
    # do not want names of the package itself.
    inside = f"{module.name}."
    found = shallow.imports(KNOWN)
    return {name for name in found if not name.startswith(inside) and not module.name.startswith(f"{name}.")}


def stem(flag: str) -> str:
    """The name that a pass goes by in files: its flag without the tool's prefix."""
    return re.sub(r"^(aie|tilewright)-", "", flag).lower().replace("-", "_")


def registered() -> Iterator[tuple[str, str, list[str]]]:
    """Each module with passes: its area, its own name, and the stems of its flags."""
    stems = defaultdict[str, list[str]](list)
    for flag, place in PASSES.items():
        stems[place.partition(":")[0]].append(stem(flag))
    for module, found in stems.items():
        area, _, name = module.rpartition(".")
        yield area, name, found


def test_a_pass_is_found_by_its_flag() -> None:
    misplaced = [f"{area}.{name}: {stems}" for area, name, stems in registered() if name not in stems]
    assert not misplaced


def test_a_folder_of_passes_is_a_pass_or_shared_by_several() -> None:
    """Folders and files in an area that are no pass serve more than one; else they would be inside of that one."""
    passes = {f"tilewright.passes.{area}.{name}" for area, name, _ in registered()}
    importers = defaultdict[str, set[str]](set)
    for module in FOUND:
        for name in module.imports(KNOWN):
            importers[_unit(name)].add(_unit(module.name))
    units = {_unit(module.name) for module in FOUND if room(module.name).startswith("passes.")}
    lonely = [unit for unit in sorted(units - passes) if unit.count(".") == 3 and len(importers[unit] - {unit}) < 2]
    assert not lonely


def _unit(name: str) -> str:
    """The file or folder of an area that a module belongs to."""
    parts = name.split(".")
    return ".".join(parts[:4]) if parts[1:2] == ["passes"] else name


LAYOUT = (PRODUCT.parent / "docs" / "layout.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`[^|]*) \|[^|]*\| ([^|]*) \|$", re.MULTILINE)


def test_the_layout_names_what_there_is() -> None:
    """Every folder in the table of docs/layout.md, and every name to begin at that is a path, is there."""
    rows = ROW.findall(LAYOUT)
    folders = {name for cell, _ in rows for name in re.findall(r"`([^`]+)`", cell)}
    assert folders and not [name for name in sorted(folders) if not (PRODUCT / name).exists()]
    covered = {name.split("/")[0].removesuffix(".py") for name in folders}
    assert {room(module.name).split(".")[0] for module in FOUND} - {"__main__", "tilewright"} <= covered
    for name in (name for _, cell in rows for name in re.findall(r"`([a-z_]+(?:\.\w+)+)`", cell)):
        module, _, attribute = f"tilewright.{name}".rpartition(".")
        found = f"tilewright.{name}" in KNOWN or hasattr(import_module(module), attribute)
        assert found, name


def test_unit_tests_lie_where_the_product_does() -> None:
    root = PRODUCT.parent / "tests" / "unit"
    folders = {path.parent.relative_to(root) for path in root.rglob("test_*.py")}
    assert not [str(folder) for folder in sorted(folders) if not (PRODUCT / folder).is_dir()]


def test_filecheck_inputs_lie_where_their_passes_do() -> None:
    root = PRODUCT.parent / "tests" / "filecheck" / "passes"
    wanted = {(area, name): [name, *stems] for area, name, stems in registered()}
    entries = [path for area in AREAS for path in (root / area).iterdir()]
    lost = [
        str(path.relative_to(root))
        for path in entries
        if not any(_is_for(path, names) for (area, _), names in wanted.items() if area == path.parent.name)
    ]
    assert not lost


def _is_for(path: Path, names: list[str]) -> bool:
    return any(path.stem == name or path.stem.startswith(f"{name}_") for name in names)
