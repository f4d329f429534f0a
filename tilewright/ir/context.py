"""Every dialect that we read, registered by name and imported only when a program mentions it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.ir import Dialect

XDSL_DIALECTS = {
    "affine": "affine:Affine",
    "arith": "arith:Arith",
    "bufferization": "bufferization:Bufferization",
    "builtin": "builtin:Builtin",
    "cf": "cf:Cf",
    "complex": "complex:Complex",
    "dlti": "dlti:DLTI",
    "emitc": "emitc:EmitC",
    "func": "func:Func",
    "gpu": "gpu:GPU",
    "linalg": "linalg:Linalg",
    "llvm": "llvm:LLVM",
    "math": "math:Math",
    "memref": "memref:MemRef",
    "scf": "scf:Scf",
    "tensor": "tensor:Tensor",
    "transform": "transform:Transform",
    "ub": "ub:UB",
    "vector": "vector:Vector",
}
"""What xDSL defines well enough to read as it is: dialect name, and `module:object` under `xdsl.dialects`."""


def dialect_table() -> dict[str, str]:
    """Where each dialect is defined, as `module:object`.

    A module of `tilewright.dialects` defines the dialect of its name, and replaces xDSL's.
    """
    table = {name: f"xdsl.dialects.{where}" for name, where in XDSL_DIALECTS.items()}
    # Looked up by file names: importing all dialects would make every command slow.
    for path in (Path(__file__).parent.parent / "dialects").iterdir():
        name = path.name.removesuffix(".py")
        if not name.startswith("_") and (path.suffix == ".py" or (path / "__init__.py").is_file()):
            table[name] = f"tilewright.dialects.{name}:{name.upper()}"
    return table


def make_context(allow_unregistered: bool = False) -> Context:
    """A context that knows all dialects and has loaded `builtin` alone."""
    ctx = Context(allow_unregistered)
    for name, where in dialect_table().items():
        ctx.register_dialect(name, _loader(where))
    ctx.load_registered_dialect("builtin")
    return ctx


def _loader(where: str) -> Callable[[], Dialect]:
    def load() -> Dialect:
        module, _, name = where.partition(":")
        return _without_resources(getattr(import_module(module), name))

    return load


def _without_resources(dialect: Dialect) -> Dialect:
    """The dialect with a store of its own for the resources of programs, which else all contexts would share."""
    interfaces = [OpAsmDialectInterface() if isinstance(i, OpAsmDialectInterface) else i for i in dialect._interfaces]
    # Only `builtin` keeps resources.
    if all(old is new for old, new in zip(dialect._interfaces, interfaces, strict=True)):
        return dialect
    return Dialect(dialect.name, list(dialect.operations), list(dialect.attributes), interfaces)
