"""Structure of the product in numbers: modules, statements, comments, modules with one importer, repeated class names.

    python tests/structure.py            the numbers
    python tests/structure.py --list     also each module and class that is counted, with the reason where there is one

Rules, so that two trees can be compared:

- Modules are the `.py` files under `tilewright/`; statements are counted by `ast`, docstrings are not among them.
- A comment is a line or the end of one; directives to tools (`fmt`, `noqa`, `pyright`, `ruff`) are none.
- An importer is another module of the product that imports it, anywhere in its text. A package that only re-exports
  names (an `__init__` without definitions) is none, nor are the registry of passes, the table of commands and the
  loader of dialects, which name modules as text: passes, commands and dialects are reached through them.
- A module with one importer stays if programs import its path, if it is in another room than its importer, if both
  together would have more than 400 lines, or for a reason that is given in `REASONS`.
- A class name is repeated if two modules of the product define it at top level. Operations named after MLIR's in
  different dialects, and `_Private` classes, do not count.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

PRODUCT = Path(__file__).parents[1] / "tilewright"
DIRECTIVES = ("fmt:", "noqa", "pyright", "type:", "ruff")
QUESTIONS = ("What", "Where", "Who", "How", "Which", "When", "Why")
NAMED_AS_TEXT = ("tilewright.cli.", "tilewright.dialects.")
"""Packages whose modules are loaded by name."""
IMPORT_PATHS = Path(__file__).parent / "unit" / "import_paths.txt"
"""Paths that users' programs import; `test_import_paths.py` says more."""
LONGEST_MODULE = 400
"""Lines that a module may have after another one joined it."""
REASONS = {
    "tilewright.driver.artifacts": "`tilewright.load` opens what its other half writes for the command",
    "tilewright.native.affine_maps": "operations of one dialect, as its neighbours",
    "tilewright.native.gpu_loops": "works on LLVM functions, not on operations",
    "tilewright.native.gpu_math": "functions of one dialect, as its neighbours",
    "tilewright.native.gpu_nvptx": "one target, beside the other",
    "tilewright.native.gpu_operations": "the table of what kernels may do, beside what makes a module of them",
    "tilewright.native.vector_memory": "operations of one dialect, as its neighbours",
    "tilewright.passes.air.air_gpu_channel_to_cacheline.line_in_place": "one protocol, beside the others",
    "tilewright.passes.air.air_gpu_channel_to_cacheline.protocol_ordered": "one protocol, beside the others",
    "tilewright.report.perfetto": "a format of its own, beside the page and the summary",
    "tilewright.txn.lint.task_checks": "rules about tasks in order, beside those about registers alone",
    "tilewright.sim.fast.loop": "native code, which its importer calls from Python",
}
"""Modules with one importer that stay for a reason of their own."""
NAME_REASONS = {
    "Access": "of AIR's programs as their operations say it, and of a Python program's transfers",
    "AsyncDependencies": "the directive of MLIR's name in the formats of two dialects, each with tokens of its own",
    "Buffer": "mlir-aie's name in programs for NPUs, and mlir-air's in those for GPUs",
    "Channel": "the operand of `aie.dma_start`, the simulated part, and mlir-air's name in programs for GPUs",
    "Device": "both under paths and names of mlir-aie",
    "Lock": "mlir-aie's name in Python programs, and the simulated part",
    "Pipeline": "of passes, and mlir-aie's name for one that is written as a chain of calls",
    "QueuedTask": "as the words of a stream tell it, and as the simulated channel has it",
    "Scope": "mlir-air's name for where memory is, and names of expressions",
    "Storage": "of object FIFOs in tiles, and mlir-aie's name for the memory of tensors",
    "Tile": "mlir-aie's name in Python programs, and the simulated part",
    "TraceShimRouting": "the attribute, and mlir-aie's name for Python programs",
    "Transfer": "of AIR's programs as their operations say it, and of a Python program",
}
"""Class names that stand in several modules, and why."""


class Module:
    """A file of the product, read."""

    def __init__(self, path: Path):
        self.path = path
        parts = path.relative_to(PRODUCT.parent).with_suffix("").parts
        self.is_package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts)
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        body = self.tree.body
        self.only_exports = self.is_package and not any(
            isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body
        )

    @property
    def statements(self) -> int:
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        return sum(not _is_docstring(node) for node in found)

    @property
    def comments(self) -> int:
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        texts = (token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT)
        return sum(not text.startswith(DIRECTIVES) for text in texts)

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def classes(self) -> list[str]:
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    def imports(self, known: set[str]) -> set[str]:
        """Modules of the product that it names in imports."""
        found = set[str]()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                base = self._base(node)
                for alias in node.names:
                    found.add(f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base)
        return (found & known) - {self.name}

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*parts, *filter(None, [node.module])])


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def modules() -> list[Module]:
    return [Module(path) for path in sorted(PRODUCT.rglob("*.py"))]


def one_importer(found: list[Module]) -> dict[str, str]:
    """Modules with one importer, and that one."""
    known = {module.name for module in found}
    importers = defaultdict[str, set[str]](set)
    for module in found:
        for name in module.imports(known):
            if not module.only_exports:
                importers[name].add(module.name)
    reached = _registered()
    return {
        module.name: next(iter(importers[module.name]))
        for module in found
        if len(importers[module.name]) == 1
        and not module.is_package
        and module.name not in reached
        and not (module.name.startswith(NAMED_AS_TEXT) and module.name.count(".") == 2)
    }


def reason_to_stay(module: Module, importer: Module, paths: set[str]) -> str:
    """Why a module with one importer is a module of its own; nothing where it could join the importer."""
    if module.name in REASONS:
        return REASONS[module.name]
    if module.name in paths:
        return "programs import this path"
    if module.name.split(".")[1] != importer.name.split(".")[1]:
        return "in another room than its importer"
    whole = module.lines + importer.lines
    return f"{whole} lines together" if whole > LONGEST_MODULE else ""


def _registered() -> set[str]:
    """Modules that the registry of passes loads by name."""
    sys.path.insert(0, str(PRODUCT.parent))
    from tilewright.passes import PASSES

    return {f"tilewright.passes.{place.partition(':')[0]}" for place in PASSES.values()}


def repeated_classes(found: list[Module]) -> dict[str, list[str]]:
    """Class names that several modules define, and those modules."""
    places = defaultdict[str, list[str]](list)
    for module in found:
        for name in module.classes:
            is_operation = name.endswith(("Op", "Attr", "Type")) and ".dialects." in module.name
            if not name.startswith("_") and not is_operation:
                places[name].append(module.name)
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def asking_docstrings(found: list[Module]) -> list[str]:
    """Modules whose docstring begins with a question's word."""
    return [m.name for m in found if (ast.get_docstring(m.tree) or "").split(" ", 1)[0] in QUESTIONS]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    found = modules()
    singles, repeated, asking = one_importer(found), repeated_classes(found), asking_docstrings(found)
    lines, comments = sum(m.lines for m in found), sum(m.comments for m in found)
    print(f"{len(found):7,} modules")
    print(f"{sum(m.statements for m in found):7,} statements")
    print(f"{lines:7,} lines, {comments:,} comments ({100 * comments / lines:.1f} %)")
    by_name = {module.name: module for module in found}
    paths = {line.partition(":")[0] for line in IMPORT_PATHS.read_text(encoding="utf-8").splitlines()}
    reasons = {name: reason_to_stay(by_name[name], by_name[importer], paths) for name, importer in singles.items()}
    print(f"{len(singles):7,} modules with one importer")
    print(f"{sum(not reason for reason in reasons.values()):7,} of them without a reason to be modules of their own")
    print(f"{len(repeated):7,} class names in several modules")
    print(f"{len(asking):7,} module docstrings that begin with a question's word")
    if args.list:
        for name, importer in singles.items():
            print(f"one importer: {name} <- {importer}{f' ({reasons[name]})' if reasons[name] else ''}")
        for name, where in repeated.items():
            print(f"class {name}: {', '.join(where)}{f' ({NAME_REASONS[name]})' if name in NAME_REASONS else ''}")
        for name in asking:
            print(f"docstring: {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
