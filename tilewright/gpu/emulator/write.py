"""Python code for the blocks of a program: one function per block, on NumPy arrays over lanes.

A block's function gets the frame `f` (registers that live longer than a block), the mask `m` of active lanes (None for
all), their number `n`, and the group `g`. It returns the number of the next block, or what a parting of lanes needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.gpu.emulator import arithmetic, lane_operations
from tilewright.gpu.emulator.order import definitions, is_uniform, uses
from tilewright.gpu.emulator.program import (
    LDS_WINDOW,
    PRIVATE_SHIFT,
    PRIVATE_WINDOW,
    Block,
    Branch,
    Computed,
    Constant,
    Edge,
    Expression,
    Goto,
    Instruction,
    KernelProgram,
    Kind,
    Operand,
    Register,
    Space,
    Unsupported,
)
from tilewright.gpu.emulator.write_numbers import NUMBERS, Write

TURN = -1_000_000
"""Added to the number of the next block: others have a turn first."""
BARRIER = -2_000_000
EXIT = -3_000_000


class Writer:
    """Text of all blocks, and the objects that it names."""

    def __init__(self, program: KernelProgram, careful: bool, profiled: bool = False):
        self.program, self.careful, self.profiled = program, careful, profiled
        # globals of the generated functions
        self.names: dict[str, Any] = {
            "np": np,
            **{name: getattr(arithmetic, name) for name in _FUNCTIONS},
            **{function.__name__: function for function in lane_operations.FUNCTIONS},
            **{f"I{bits}": np.dtype(f"i{bits // 8}") for bits in (8, 16, 32, 64)},
            **{f"U{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
        }
        self.sites: list[Instruction] = []
        self.framed = _framed(program)
        self.lines: list[str] = []
        self.local: set[Register] = set()

    def source(self) -> str:
        return "\n".join(line for block in self.program.blocks for line in self.block(block))

    def block(self, block: Block) -> list[str]:
        self.lines = [f"def b{block.number}(f, m, n, g):"]
        self.local = set()
        if self.profiled:
            self.line(f"g.profiler.enter(g, {block.number}, m)")
        for instruction in block.instructions:
            self.instruction(instruction)
        self.end(block)
        return self.lines

    def line(self, text: str) -> None:
        self.lines.append("    " + text)

    def is_array(self, operand: Computed) -> bool:
        return bool(operand.kind.shape) or not is_uniform(operand)

    def makes_array(self, instruction: Instruction) -> bool:
        """Whether the expression of a result is an array; a register that must be one may get a number to spread."""
        return any(map(self.is_array, instruction.ins)) or bool(instruction.outs[0].kind.shape)

    def text(self, operand: Computed) -> str:
        if isinstance(operand, Register):
            if operand not in self.local:
                self.line(f"r{operand.number} = f[{operand.number}]")
                self.local.add(operand)
            return f"r{operand.number}"
        if isinstance(operand, Expression):
            return f"({operand.text})"
        if operand.kind.is_float or operand.kind.shape:
            return self.typed(operand)
        return f"({operand.value})" if operand.value < 0 else repr(operand.value)

    def typed(self, operand: Computed) -> str:
        """A value with its NumPy type."""
        if not isinstance(operand, Constant):
            text = self.text(operand)
            return text if self.is_array(operand) else f"{self.dtype(operand.kind)}.type({text})"
        # vectors cannot be written down: the code names the array
        if operand.kind.shape:
            return self.name(f"v{id(operand.value)}", operand.value)
        value = operand.kind.dtype.type(operand.value)
        return self.name(f"k_{operand.kind.code}_{value.tobytes().hex()}", value)

    def spread(self, operand: Computed) -> str:
        """A value as an array over lanes."""
        if operand.kind.shape and is_uniform(operand):
            return f"np.broadcast_to({self.text(operand)}, {(*operand.kind.shape,)} + (g.lanes,))"
        if self.is_array(operand):
            return self.text(operand)
        return f"np.full(g.lanes, {self.text(operand)}, {self.dtype(operand.kind)})"

    def dtype(self, kind: Kind) -> str:
        return self.name(f"t_{kind.code}", kind.dtype)

    def name(self, name: str, value: Any) -> str:
        self.names[name] = value
        return name

    def site(self, instruction: Instruction) -> int:
        self.sites.append(instruction)
        return len(self.sites) - 1

    def instruction(self, instruction: Instruction) -> None:
        name = instruction.name
        if name in EFFECTS:
            EFFECTS[name](self, instruction)
        else:
            text = EXPRESSIONS[name](self, instruction)
            self.assign(instruction.outs[0], text, name in LANES or self.makes_array(instruction))

    def assign(self, register: Register, text: str, is_array: bool) -> None:
        """Set a register in the lanes that are active."""
        if not register.uniform and not is_array:
            text = f"np.full(g.lanes, {text}, {self.dtype(register.kind)})"
        elif not register.uniform and register.kind.shape:
            text = f"np.broadcast_to({text}, {(*register.kind.shape,)} + (g.lanes,))"
        name, old = f"r{register.number}", f"f[{register.number}]"
        self.line(f"{name} = {text}")
        # lanes that are elsewhere keep theirs
        if register.merges and register in self.framed:
            self.line(f"if m is not None and {old} is not None: {name} = np.where(m, {name}, {old})")
        self.local.add(register)
        if register in self.framed:
            self.line(f"{old} = {name}")

    def end(self, block: Block) -> None:
        match block.end:
            case Goto() as end:
                self.moves(end.edge, "m")
                number = end.edge.target.number
                if end.barrier is not None:
                    number += BARRIER
                elif end.turn:
                    number += TURN
                self.line(f"return {number}")
            case Branch() as end:
                self.branch(end)
            case _:
                self.line(f"return {EXIT}")

    def branch(self, end: Branch) -> None:
        condition = self.text(end.condition)
        # registers that both ways take along are loaded before the ways part
        for argument in (*end.yes.arguments, *end.no.arguments):
            self.text(argument)
        if is_uniform(end.condition):
            self.way(f"if {condition}:", end.yes)
            self.moves(end.no, "m")
            self.line(f"return {end.no.target.number}")
            return
        self.line(f"y = {condition} if m is None else {condition} & m")
        self.line("k = int(np.count_nonzero(y))")
        # lanes that all go one way keep their mask
        self.way("if k == n:", end.yes)
        self.way("if k == 0:", end.no)
        self.line(f"o = ~{condition} if m is None else m & ~{condition}")
        self.moves(end.yes, "y")
        self.moves(end.no, "o")
        self.line(f"return {end.yes.target.number}, y, k, {end.no.target.number}, o, n - k")

    def way(self, question: str, edge: Edge) -> None:
        """Go to a block with all lanes if the answer is yes."""
        self.line(question)
        before = len(self.lines)
        self.moves(edge, "m")
        self.line(f"return {edge.target.number}")
        self.lines[before:] = ["    " + line for line in self.lines[before:]]

    def moves(self, edge: Edge, mask: str) -> None:
        """Parameters of the next block, all at once."""
        pairs = [
            (register, argument)
            for register, argument in zip(edge.target.parameters, edge.arguments, strict=True)
            if register is not argument
        ]
        # all are computed before any is set: an argument may be a parameter of the same block
        texts = [self.moved(register, argument, mask) for register, argument in pairs]
        for number, text in enumerate(texts):
            self.line(f"p{number} = {text}")
        for number, (register, _) in enumerate(pairs):
            self.line(f"f[{register.number}] = p{number}")

    def moved(self, register: Register, argument: Operand, mask: str) -> str:
        if register.uniform:
            return self.typed(argument) if register.kind.is_float else self.text(argument)
        text, old = self.spread(argument), f"f[{register.number}]"
        return f"{text} if {mask} is None or {old} is None else np.where({mask}, {text}, {old})"


def _shuffle(w: Writer, i: Instruction) -> None:
    value, offset, width = i.ins
    call = f"g.shuffle({w.spread(value)}, {w.text(offset)}, {w.text(width)}, {i.extra['mode']!r}, m, {w.site(i)})"
    w.line(f"s0, s1 = {call}")
    for number, register in enumerate(i.outs):
        w.assign(register, f"s{number}", True)


def _printf(w: Writer, i: Instruction) -> None:
    w.line(f"g.printf({i.extra['format']!r}, m, [{', '.join(map(w.spread, i.ins))}])")


def _reduce(w: Writer, i: Instruction) -> str:
    combine, size, stride = (i.extra[name] for name in ("combine", "size", "stride"))
    return f"g.reduce({w.spread(i.ins[0])}, {combine!r}, {size}, {stride}, m)"


def _number(i: Instruction, text: str) -> str:
    """A result that is no vector; of a uniform vector it is a single number."""
    return f"one({text})" if i.outs[0].uniform and not i.outs[0].kind.shape else text


def _pick(w: Writer, i: Instruction) -> str:
    lanes = "1" if i.outs[0].uniform else "g.lanes"
    return _number(i, f"vpick({w.text(i.ins[0])}, {w.text(i.ins[1])}, {lanes})")


def _broadcast(w: Writer, i: Instruction) -> str:
    return f"vbroadcast({w.text(i.ins[0])}, {i.outs[0].kind.shape}, {w.dtype(i.outs[0].kind)})"


def _gather(w: Writer, i: Instruction) -> str:
    return f"vgather([{', '.join(map(w.text, i.ins))}], {i.outs[0].kind.shape}, {w.dtype(i.outs[0].kind)})"


def _contract(w: Writer, i: Instruction) -> str:
    values = ", ".join(map(w.text, i.ins))
    return _number(i, f"vcontract({values}, {i.extra['dims']}, {w.dtype(i.outs[0].kind)})")


_FUNCTIONS = (
    *("wrap8", "wrap16", "wrap32", "wrap64", "divs", "rems", "floordivs", "ceildivs", "modulo", "divu", "remu"),
    *("ceildivu", "mulhigh", "to_integer", "bitcast", "call_math", "place", "shl", "shrs", "shru"),
    *("maximumf", "minimumf"),
)


def _framed(program: KernelProgram) -> set[Register]:
    """Registers that are used outside of the block that they are set in, and all that come in from outside."""
    home = {register: block for block in program.blocks for register in (r for i in block.instructions for r in i.outs)}
    framed = {register for block in program.blocks for register in block.parameters}
    for block in program.blocks:
        for operand in uses(block):
            if isinstance(operand, Register) and home.get(operand) is not block:
                framed.add(operand)
    framed |= program.kept
    return framed | {register for block in program.blocks for register in definitions(block) if register.merges}


def _private(w: Writer, pointer: Operand, place: Operand, size: int) -> tuple[int, str] | None:
    """Which private buffer a pointer points into, and at which element."""
    if not isinstance(pointer, Constant) or pointer.value < PRIVATE_WINDOW:
        return None
    number, start = divmod(pointer.value - PRIVATE_WINDOW, 1 << PRIVATE_SHIFT)
    if start % size:
        raise Unsupported("an address inside of a private buffer lies between two elements")
    return number, w.text(place) if start == 0 else f"{w.text(place)} + {start // size}"


def _shared_start(pointer: Operand) -> int | None:
    """At which byte of the block's memory a pointer points."""
    if isinstance(pointer, Constant) and LDS_WINDOW <= pointer.value < PRIVATE_WINDOW:
        return pointer.value - LDS_WINDOW
    return None


def _address(w: Writer, i: Instruction, pointer: Operand, place: Operand) -> str:
    size, limit = i.extra["kind"].bytes, i.extra.get("limit")
    if isinstance(place, Constant) and place.value == 0 and (limit is None or limit > 0) and _pattern(w, i) == "None":
        return w.text(pointer)
    return f"g.address({w.text(pointer)}, {w.text(place)}, {size}, m, {limit}, {w.site(i)}, {_pattern(w, i)})"


def _pattern(w: Writer, i: Instruction) -> str:
    """Which elements behind the first one a vector is made of."""
    pattern = i.extra.get("pattern")
    return "None" if pattern is None else w.name(f"pattern{id(pattern)}", pattern)


def _profile(w: Writer, i: Instruction, pointer: Operand, place: Operand) -> None:
    """Tell the profiler where lanes access memory that others see."""
    if w.profiled:
        address, size = _address(w, i, pointer, place), i.extra["kind"].bytes
        w.line(f"g.profiler.access(g, {address}, {size}, m, {w.site(i)}, {_pattern(w, i)})")


def _reach(w: Writer, i: Instruction, pointer: Operand, place: Operand) -> None:
    """Lanes access memory that may be of another block of the cluster."""
    if i.extra["space"] is Space.CLUSTER:
        w.line(f"g.reach({_address(w, i, pointer, place)}, m, {w.site(i)})")


def _load(w: Writer, i: Instruction) -> None:
    pointer, place = i.ins
    kind, result = i.extra["kind"], i.outs[0]
    private = _private(w, pointer, place, kind.bytes)
    if private is not None:
        number, text = private
        name = "gather" if w.is_array(place) else "load"
        w.assign(result, f"g.private[{number}].{name}({text}, m, {w.site(i)}, {_pattern(w, i)})", True)
    else:
        _profile(w, i, pointer, place)
        _reach(w, i, pointer, place)
        w.assign(result, _shared_load(w, i, pointer, place), not result.uniform or bool(result.kind.shape))


def _shared_load(w: Writer, i: Instruction, pointer: Operand, place: Operand) -> str:
    kind, limit, site, pattern = w.dtype(i.extra["kind"]), i.extra["limit"], w.site(i), _pattern(w, i)
    one = i.outs[0].uniform
    if w.careful:
        address = _address(w, i, pointer, place)
        return f"g.access.{'load_one' if one else 'load'}(g, {address}, {kind}, m, {site}, {pattern})"
    # the common case: a buffer of the block, known when the code is written
    start = _shared_start(pointer)
    if start is not None:
        return f"g.load_lds({start}, {w.text(place)}, {kind}, m, {limit}, {site}, {pattern})"
    # one pointer into global memory is one range, which all lanes index; anything else is sorted by ranges first
    if w.is_array(pointer) or i.extra["space"] is not Space.GLOBAL:
        return f"g.load_any({_address(w, i, pointer, place)}, {kind}, m, {site}, {pattern})"
    name = "load_one" if one else "load"
    return f"g.{name}({w.text(pointer)}, {w.text(place)}, {kind}, m, {limit}, {site}, {pattern})"


def _store(w: Writer, i: Instruction) -> None:
    value, pointer, place = i.ins
    kind, limit, site, pattern = w.dtype(i.extra["kind"]), i.extra["limit"], w.site(i), _pattern(w, i)
    private = _private(w, pointer, place, i.extra["kind"].bytes)
    if private is not None:
        number, text = private
        name = "scatter" if w.is_array(place) else "store"
        w.line(f"g.private[{number}].{name}({text}, {w.spread(value)}, m, {site}, {pattern})")
        return
    _profile(w, i, pointer, place)
    _reach(w, i, pointer, place)
    start = _shared_start(pointer)
    text = w.typed(value)
    if w.careful:
        w.line(f"g.access.store(g, {_address(w, i, pointer, place)}, {text}, {kind}, m, {site}, {pattern})")
    elif start is not None:
        w.line(f"g.store_lds({start}, {w.text(place)}, {text}, {kind}, m, {limit}, {site}, {pattern})")
    elif w.is_array(pointer) or i.extra["space"] is not Space.GLOBAL:
        w.line(f"g.store_any({_address(w, i, pointer, place)}, {text}, {kind}, m, {site}, {pattern})")
    else:
        w.line(f"g.store({w.text(pointer)}, {w.text(place)}, {text}, {kind}, m, {limit}, {site}, {pattern})")


def _atomic(w: Writer, i: Instruction) -> None:
    value, pointer, place, *expected = i.ins
    if _private(w, pointer, place, i.extra["kind"].bytes) is not None:
        raise Unsupported("no other thread sees private memory: an atomic update of it makes no sense")
    if i.outs[0].kind.shape:
        raise Unsupported("vectors cannot be updated atomically")
    _profile(w, i, pointer, place)
    _reach(w, i, pointer, place)
    arguments = [_address(w, i, pointer, place), w.spread(value), w.dtype(i.extra["kind"]), "m", str(w.site(i))]
    arguments += [repr(i.extra["update"]), *map(w.spread, expected)]
    call = "g.access.atomic(g, " if w.careful else "g.atomic("
    w.assign(i.outs[0], f"{call}{', '.join(arguments)})", True)


def _fence(w: Writer, i: Instruction) -> None:
    # without an access model every store is seen at once
    if w.careful:
        w.line(f"g.access.fence(g, m, {w.site(i)})")


def _tensor_copy(w: Writer, i: Instruction) -> None:
    target, described, barrier, *rest = map(w.spread, i.ins)
    blocks = rest.pop() if i.extra["multicast"] else "None"
    w.line(f"g.tensor_copy({target}, {described}, {barrier}, {blocks}, [{', '.join(rest)}], m, {w.site(i)})")


def _tensor_store(w: Writer, i: Instruction) -> None:
    described, source, *places = map(w.spread, i.ins)
    w.line(f"g.tensor_store({described}, {source}, [{', '.join(places)}], m, {w.site(i)})")


def _cluster_arrive(w: Writer, i: Instruction) -> None:
    w.line(f"g.batch.clusters.arrive(g, g.active(m), {w.site(i)})")


def _product(w: Writer, i: Instruction) -> None:
    """Of matrices: sums of all lanes come out, one register each."""
    about = w.name(f"about{id(i)}", i.extra["row"] if "row" in i.extra else i.extra["about"])
    call = f"g.{i.name}([{', '.join(map(w.spread, i.ins))}], {about}, m, {w.site(i)})"
    w.line(f"s = {call}")
    for number, register in enumerate(i.outs):
        w.assign(register, f"s[{number}]", True)


def _products_end(w: Writer, i: Instruction) -> None:
    """What was multiplied has been read by then; without an access model it was at once."""
    if w.careful:
        w.line(f"g.access.products_end(g, {i.extra['left']!r})")


def _stores_end(w: Writer, i: Instruction) -> None:
    """What the engine stores has been read by then."""
    if w.careful:
        w.line(f"g.access.stores_end(g, m, {i.extra['left']!r})")


def _proxy_fence(w: Writer, i: Instruction) -> None:
    if w.careful:
        w.line("g.access.proxy_fence(g)")


def _check(w: Writer, i: Instruction) -> None:
    w.line(f"g.check({w.text(i.ins[0])}, m, {w.site(i)}, {i.extra['text']!r})")


LANES: dict[str, Write] = {
    "readlane": lambda w, i: f"g.read_lane({w.spread(i.ins[0])}, {w.text(i.ins[1])}, m, {w.site(i)})",
    "ballot": lambda w, i: f"g.ballot({w.spread(i.ins[0])}, m, {w.dtype(i.outs[0].kind)})",
    "vote": lambda w, i: f"g.vote({w.spread(i.ins[0])}, m, {i.extra['all']})",
    "wavereduce": _reduce,
    "mapa": lambda w, i: f"g.mapa({w.spread(i.ins[0])}, {w.spread(i.ins[1])}, m, {w.site(i)})",
    "mbcnt": lambda w, i: f"g.count_below({', '.join(map(w.text, i.ins))}, {i.extra['high']})",
}
"""Operations that lanes of a wave do together, as calls that give arrays over lanes."""
EXPRESSIONS: dict[str, Write] = {
    **NUMBERS,
    **LANES,
    "vbroadcast": _broadcast,
    "vextract": lambda w, i: _number(i, f"vextract({w.text(i.ins[0])}, {i.extra['position']})"),
    "vpick": _pick,
    "vinsert": lambda w, i: f"vinsert({w.typed(i.ins[0])}, {w.text(i.ins[1])}, {i.extra['position']})",
    "vreshape": lambda w, i: f"vreshape({w.text(i.ins[0])}, {i.outs[0].kind.shape})",
    "vbitcast": lambda w, i: f"vbitcast({w.text(i.ins[0])}, {i.outs[0].kind.shape}, {w.dtype(i.outs[0].kind)})",
    "vslice": lambda w, i: f"vslice({w.text(i.ins[0])}, {i.extra['starts']}, {i.extra['ends']})",
    "vtranspose": lambda w, i: f"vtranspose({w.text(i.ins[0])}, {i.extra['order']})",
    "vcontract": _contract,
    "vgather": _gather,
    "vreduce": lambda w, i: _number(i, f"vreduce({w.text(i.ins[0])}, {i.extra['combine']!r})"),
}
"""Instructions as the expressions of their results; vectors are short rows of numbers in every lane."""
EFFECTS: dict[str, Callable[[Writer, Instruction], None]] = {
    "load": _load,
    "store": _store,
    "atomic": _atomic,
    "cmpxchg": _atomic,
    "fence": _fence,
    "check": _check,
    "shuffle": _shuffle,
    "printf": _printf,
    "cluster_arrive": _cluster_arrive,
    "tensor_copy": _tensor_copy,
    "tensor_store": _tensor_store,
    "stores_end": _stores_end,
    "proxy_fence": _proxy_fence,
    "wgmma": _product,
    "mma": _product,
    "matrices": _product,
    "products_end": _products_end,
}
"""Instructions that write their results themselves."""
