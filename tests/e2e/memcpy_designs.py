"""Designs whose data are moved by copies that tokens hold back, as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class TokenDesign:
    """A device with tiles, buffers, tokens and cores; `text` has it as a program with one runtime sequence."""

    device: str = "npu1"
    lines: list[str] = field(default_factory=list[str])
    tiles: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def tile(self, column: int, row: int) -> str:
        name = f"%t{column}{row}"
        if (column, row) not in self.tiles:
            self.tiles.add((column, row))
            self.lines.append(f"{name} = aie.tile({column}, {row})")
        return name

    def buffer(self, column: int, row: int, name: str, type: str) -> str:
        self.lines.append(f'%{name} = aie.buffer({self.tile(column, row)}) {{sym_name = "{name}"}} : {type}')
        return f"%{name}"

    def token(self, name: str, value: int = 0) -> str:
        self.lines.append(f'aiex.token({value}) {{sym_name = "{name}"}}')
        return name

    def core(self, column: int, row: int, *body: str) -> None:
        self.lines.append(f"aie.core({self.tile(column, row)}) {{")
        self.lines += [f"  {line}" for line in body]
        self.lines += ["  aie.end", "}"]

    def text(self, arguments: str, sequence: Iterable[str]) -> str:
        body = [f"  {line}" for line in self.lines]
        steps = [f"    {line}" for line in sequence]
        opening, closing = [f"aie.device({self.device}) {{"], ["  }", "}"]
        return "\n".join([*opening, *body, f"  aie.runtime_sequence @run({arguments}) {{", *steps, *closing])


def take(token: str, value: int = 1) -> str:
    return f"aiex.useToken @{token}(Acquire, {value})"


def give(token: str, value: int = 1) -> str:
    return f"aiex.useToken @{token}(Release, {value})"


def part(tile: str, buffer: str, offset: int | str, length: int | str, pattern: str = "") -> str:
    """One end of a copy."""
    return f"{tile} : <{buffer}, {offset}, {length}{' ' + pattern if pattern else ''}>"


def copy(tokens: str, ends: Sequence[str], types: Sequence[str]) -> str:
    return f"aiex.memcpy {tokens} ({', '.join(ends)}) : ({', '.join(types)})"


def add_loop(source: str, target: str, count: int, type: str, element: str = "i32", amount: str = "1") -> list[str]:
    """Lines of a core that put `source` + `amount` into `target`."""
    name = target.removeprefix("%")
    add = "arith.addi" if element.startswith("i") else "arith.addf"
    return [
        f"%{name}_from = arith.constant 0 : index",
        f"%{name}_step = arith.constant 1 : index",
        f"%{name}_to = arith.constant {count} : index",
        f"%{name}_amount = arith.constant {amount} : {element}",
        f"scf.for %{name}_i = %{name}_from to %{name}_to step %{name}_step {{",
        f"  %{name}_v = memref.load {source}[%{name}_i] : {type}",
        f"  %{name}_w = {add} %{name}_v, %{name}_amount : {element}",
        f"  memref.store %{name}_w, {target}[%{name}_i] : {type}",
        "}",
    ]
