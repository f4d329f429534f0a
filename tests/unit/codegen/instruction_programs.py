"""Random runtime sequences as people write them, of all instructions, in which any number may be a runtime value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from helpers import WIDTHS

from tilewright.dialects.aiex.write_bd import FIELD_NAMES

UNCHECKED = (-(2**31), 2**31 - 1)
WIDE = tuple(type for type, width in WIDTHS.items() if width >= 32)
HOST = "%buffer: memref<4096xi32>"
DESIGN = """
  %shim = aie.tile(0, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 15>}
  %shim1 = aie.tile(1, 0) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 14>}
  %mem = aie.tile(0, 1) {controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 26>}
  %core = aie.tile(1, 2)
  %numbers = aie.buffer(%core) {address = 1024 : i32, sym_name = "numbers"} : memref<16xi32>
  aie.shim_dma_allocation @to_array(%shim, MM2S, 0)
  aie.shim_dma_allocation @from_array(%shim1, S2MM, 1)
  memref.global "private" constant @words : memref<3xi32> = dense<[1, -1, 7]>
"""
"""What the sequences refer to; tiles have the packet ids of their tokens, or none."""


@dataclass
class Argument:
    """A scalar of a sequence: its type, and the value in each call."""

    name: str
    type: str
    values: list[int]


@dataclass
class InstructionProgram:
    """One sequence: its statements and its scalars."""

    name: str
    lines: Sequence[str]
    arguments: list[Argument]
    operations: set[str]
    has_tasks: bool

    @property
    def text(self) -> str:
        """With scalars that are known when it is called."""
        scalars = "".join(f", %{argument.name}: {argument.type}" for argument in self.arguments)
        return self._sequence(self.name, scalars, [])

    def with_constants(self, call: int, name: str) -> str:
        """The same, with the values of one call written out."""
        constants = [f"%{a.name} = arith.constant {constant(a.values[call], a.type)}" for a in self.arguments]
        return self._sequence(name, "", constants)

    def _sequence(self, name: str, scalars: str, first: Sequence[str]) -> str:
        return "\n".join([f"  aie.runtime_sequence @{name}({HOST}{scalars}) {{", *first, *self.lines, "  }"])


def design(sequences: Sequence[str]) -> str:
    return "\n".join(["aie.device(npu2) {", DESIGN, *sequences, "}"])


def wrapped(number: int, type: str) -> int:
    width = WIDTHS[type]
    number %= 1 << width
    return number if width == 1 or number < 1 << width - 1 else number - (1 << width)


def constant(number: int, type: str) -> str:
    return ("true" if number else "false") if type == "i1" else f"{wrapped(number, type)} : {type}"


@dataclass
class InstructionWriter:
    """Writes the statements of one sequence."""

    random: Random
    calls: int
    lines: list[str] = field(default_factory=list[str])
    arguments: list[Argument] = field(default_factory=list[Argument])
    operations: set[str] = field(default_factory=set[str])
    loops: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Variables of the loops around, of type index, and how often they run at most."""
    in_while: bool = False
    has_tasks: bool = False
    tasks: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """Those that may still run, and whether they have a token."""
    count: int = 0
    depth: int = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " * (self.depth + 2) + text)

    def number(self, low: int, high: int, unit: int = 1) -> int:
        """A number of a range; its ends are likely."""
        random, last = self.random, (high - low) // unit
        return low + unit * random.choice((0, last, random.randint(0, last), min(last, random.randint(0, 20))))

    def type_for(self, low: int, high: int, types: Sequence[str]) -> str:
        """A type that holds a range; those of fewer bits than a word hold no negative numbers."""
        narrow = [type for type in types if WIDTHS[type] < 32 and low >= 0 and high < 1 << WIDTHS[type]]
        return self.random.choice([*narrow, *(type for type in types if WIDTHS[type] >= 32)])

    def value(
        self, low: int, high: int, unit: int = 1, types: Sequence[str] = tuple(WIDTHS), *, checked: bool = True
    ) -> tuple[str, str]:
        """A value that is mostly in a range, and its type: a constant, a scalar, or computed."""
        type, kind = self.type_for(low, high, types), self.random.randrange(4)
        if kind == 0:
            name = self.fresh()
            self.line(f"{name} = arith.constant {constant(self.number(low, high, unit), type)}")
            return name, type
        if kind == 1 and self.loops and WIDTHS[type] >= 32:
            variable, turns = self.random.choice(self.loops)
            step = min((high - low) // unit // max(turns, 1), 3) * unit
            return self.computed(variable, type, low, step), type
        name = f"a{len(self.arguments)}"
        values = [self.scalar(low, high, unit, type, checked) for _ in range(self.calls)]
        self.arguments.append(Argument(name, type, values))
        # In a branch that is not taken nothing is refused, unless it is known at once: so nothing is known there.
        if self.depth and WIDTHS[type] > 1:
            zero, sum = self.fresh(), self.fresh()
            self.line(f"{zero} = arith.constant {constant(1, type)}")
            self.line(f"{sum} = arith.subi %{name}, {zero} : {type}")
            name = self.fresh()
            self.line(f"{name} = arith.addi {sum}, {zero} : {type}")
            return name, type
        return f"%{name}", type

    def scalar(self, low: int, high: int, unit: int, type: str, checked: bool) -> int:
        """What a call gives for a value: now and then more, or less, than there may be."""
        if not checked or self.in_while or self.random.random() > 0.04:
            return wrapped(self.number(low, high, unit), type)
        beyond = [low - unit, high + unit, low + 1, 2**31 - 1, -(2**31), -1]
        if WIDTHS[type] > 32:
            beyond += [2**32, 2**32 + low, -(2**32), -(2**40), 2**62]
        return wrapped(self.random.choice(beyond), type)

    def computed(self, variable: str, type: str, low: int, step: int) -> str:
        """`low + step * variable`."""
        if type != "index":
            cast = self.fresh()
            self.line(f"{cast} = arith.index_cast {variable} : index to {type}")
            variable = cast
        factor, product, base, sum = (self.fresh() for _ in range(4))
        self.line(f"{factor} = arith.constant {step} : {type}")
        self.line(f"{product} = arith.muli {variable}, {factor} : {type}")
        self.line(f"{base} = arith.constant {constant(low, type)}")
        self.line(f"{sum} = arith.addi {product}, {base} : {type}")
        return sum

    def word(self) -> tuple[str, str]:
        """Any word."""
        return self.value(*UNCHECKED, checked=False)

    def instruction(self) -> None:
        write = self.random.choice(TASK_WRITERS if self.has_tasks else WRITERS)
        self.operations.add(write.__name__)
        write(self)

    def body(self, size: int) -> None:
        for _ in range(size):
            chance = self.random.random()
            if chance < 0.12 and self.depth < 2:
                self.loop(size)
            elif chance < 0.18 and self.depth < 2:
                self.while_loop(size)
            elif chance < 0.28 and self.depth < 2:
                self.branch(size)
            else:
                self.instruction()

    def nested(self, size: int) -> None:
        self.depth += 1
        outer, self.tasks = self.tasks, []
        self.body(self.random.randint(1, max(size // 2, 1)))
        self.end_tasks(0)
        self.tasks = outer
        self.depth -= 1

    def end_tasks(self, most: int) -> None:
        """Wait for tasks, or give up their descriptors, until no more are open than may be."""
        self.random.shuffle(self.tasks)
        while len(self.tasks) > most:
            task, has_token = self.tasks.pop()
            is_awaited = has_token and self.random.random() < 0.7
            self.line(f"aiex.dma_{'await' if is_awaited else 'free'}_task({task})")

    def loop(self, size: int) -> None:
        turns, name, zero, one = 3, self.fresh(), self.fresh(), self.fresh()
        self.line(f"{zero} = arith.constant 0 : index")
        self.line(f"{one} = arith.constant 1 : index")
        upper, _ = self.value(0, turns, types=("index",), checked=False)
        self.line(f"scf.for {name} = {zero} to {upper} step {one} {{")
        self.loops.append((name, turns))
        self.nested(size)
        self.loops.pop()
        self.line("}")

    def while_loop(self, size: int) -> None:
        turns, result, name, zero = 3, self.fresh(), self.fresh(), self.fresh()
        type = self.random.choice(WIDE)
        self.line(f"{zero} = arith.constant 0 : {type}")
        upper, _ = self.value(0, turns, types=(type,), checked=False)
        before, condition, after, one, next = (self.fresh() for _ in range(5))
        self.line(f"{result} = scf.while ({before} = {zero}) : ({type}) -> {type} {{")
        if self.random.random() < 0.3:
            self.nested(1)
        self.line(f"{condition} = arith.cmpi slt, {before}, {upper} : {type}")
        self.line(f"scf.condition({condition}) {before} : {type}")
        self.line("} do {")
        self.line(f"^bb0({after}: {type}):")
        if type == "index":
            name = after
        else:
            self.line(f"{name} = arith.index_cast {after} : {type} to index")
        self.loops.append((name, turns))
        # It stays where it is with constants too, also if it never runs: what is wrong in it is known at once then.
        outer, self.in_while = self.in_while, True
        self.nested(size)
        self.in_while = outer
        self.loops.pop()
        self.line(f"{one} = arith.constant 1 : {type}")
        self.line(f"{next} = arith.addi {after}, {one} : {type}")
        self.line(f"scf.yield {next} : {type}")
        self.line("}")
        self.line(f"aiex.npu.write32({zero}, {result}) : {type}, {type}")

    def branch(self, size: int) -> None:
        condition, (left, type) = self.fresh(), self.value(0, 3, types=WIDE, checked=False)
        bound = self.fresh()
        self.line(f"{bound} = arith.constant 1 : {type}")
        self.line(f"{condition} = arith.cmpi {self.random.choice(('slt', 'eq', 'ugt'))}, {left}, {bound} : {type}")
        self.line(f"scf.if {condition} {{")
        self.nested(size)
        self.line("} else {")
        self.nested(size)
        self.line("}")

    def call(self, name: str, values: Sequence[tuple[str, str]], attributes: str = "") -> None:
        """An instruction `(operands) {attributes} : types`."""
        operands, types = (", ".join(part) for part in zip(*values, strict=True))
        self.line(f"aiex.npu.{name}({operands}) {attributes}: {types}")

    def is_early(self) -> bool:
        return self.random.random() < 0.4

    def place(self) -> tuple[str, tuple[str, str]]:
        """Attributes that say where an address is, and such an address."""
        match self.random.randrange(3):
            case 0:
                return "", self.value(0, 2**30, 4)
            case 1:
                return "{column = 1 : i32, row = 2 : i32} ", self.value(0, 0xFFFFC, 4)
            case _:
                return "{buffer = @numbers} ", self.value(0, 13)


def write32(to: InstructionWriter) -> None:
    attributes, address = to.place()
    to.call("dyn_write32" if to.is_early() else "write32", [address, to.word()], attributes)


def maskwrite32(to: InstructionWriter) -> None:
    attributes, address = to.place()
    to.call("dyn_maskwrite32" if to.is_early() else "maskwrite32", [address, to.word(), to.word()], attributes)


def write_words(to: InstructionWriter) -> None:
    attributes, address = to.place()
    words = [to.word() for _ in range(to.random.randint(1, 3))]
    match to.random.randrange(3):
        case 0:
            to.call("write_words", [address, *words], attributes)
        case 1:
            to.call("dyn_blockwrite", [address, *words], attributes)
        case _:
            register = to.number(0, 0xFFFF0, 4)
            to.call("blockwrite", words, f"{{address = {register} : ui32, column = 0 : i32, row = 3 : i32}} ")


def blockwrite(to: InstructionWriter) -> None:
    name = to.fresh()
    to.line(f"{name} = memref.get_global @words : memref<3xi32>")
    to.line(f"aiex.npu.blockwrite({name}) {{address = {to.number(0, 2**20, 4)} : ui32}} : memref<3xi32>")


def sync(to: InstructionWriter) -> None:
    column, row, channel = to.value(0, 7), to.value(0, 5), to.value(0, 1)
    direction = to.value(0, 1)
    if to.random.random() < 0.3:
        to.call("dyn_sync", [column, row, channel, direction])
        return
    counts = [to.value(0, 255), to.value(0, 255)]
    to.call("dyn_sync" if to.is_early() else "sync", [column, row, direction, channel, *counts])


def address_patch(to: InstructionWriter) -> None:
    # Of 32 bits a known offset may be as large as they are without sign: no constant is refused there.
    offset = to.value(0, 2**31 - 4, 4, tuple(type for type in WIDTHS if type != "i32"))
    register, argument = to.value(0, 2**30, 4), to.value(0, 12)
    if to.is_early():
        to.call("dyn_address_patch", [register, argument, offset])
        return
    attributes = [f"addr = {to.number(0, 2**30, 4)} : ui32"]
    text = f"aiex.npu.address_patch({offset[0]} : {offset[1]})"
    if to.random.random() < 0.5:
        text += f" addr {register[0]} : {register[1]}"
    if to.random.random() < 0.5:
        text += f" arg {argument[0]} : {argument[1]}"
    else:
        attributes.append(f"arg_idx = {to.number(0, 12)} : i32")
    to.line(f"{text} {{{', '.join(attributes)}}}")


TILES = {0: (16, 2), 1: (24, 6), 2: (16, 2)}
"""By row, one of each kind: how many descriptors its first channel reaches, and how many channels it has."""


def push_queue(to: InstructionWriter) -> None:
    row, (bds, channels) = to.random.choice(list(TILES.items()))
    if to.random.random() < 0.5:
        bds, channels = 16, 2  # fits wherever the tile is
        place = [to.value(0, 7), to.value(0, 5)]
    else:
        place = [(str(to.number(0, 7)), ""), (str(row), "")]
    if row == 1 or place[1][1]:
        channels = 1  # other channels of a mem tile reach other descriptors
    bd_id, repeat, token, direction = to.value(0, bds - 1), to.value(0, 255), to.value(0, 1), to.value(0, 1)
    channel = to.value(0, channels - 1)
    if to.is_early() and place[0][1]:
        task = [token, repeat, bd_id] if to.random.random() < 0.5 else [bd_id]
        to.call("dyn_push_queue", [*place, direction, channel, *task])
        return
    direction = direction if to.random.random() < 0.5 else (to.random.choice(("MM2S", "S2MM")), "")
    channel = channel if to.random.random() < 0.5 else (str(to.number(0, channels - 1)), "")
    parts = [*place, direction, channel]
    text = "aiex.npu.push_queue({}, {}, {} : {}) bd_id {} repeat {}".format(
        *(part[0] for part in (*parts, bd_id, repeat))
    )
    if to.random.random() < 0.5:
        parts.append(token)
        text += f" issue_token {token[0]}"
    else:
        text += f" {{issue_token = {to.random.choice(('true', 'false'))}}}"
    types = [bd_id[1], repeat[1], *(type for _, type in parts if type)]
    to.line(f"{text} : {', '.join(types)}")


Limits = dict[str, tuple[int, int]]
DESCRIPTOR: dict[str, Limits] = {
    "shim": {
        "buffer_length": (0, 2**31 - 1),
        "buffer_offset": (0, 2**31 - 4),
        **dict.fromkeys(("d0_size", "d1_size"), (0, 1023)),
        **dict.fromkeys(("d0_stride", "d1_stride", "d2_stride", "iteration_stride"), (0, 2**20 - 1)),
        "burst_length": (64, 256),
    },
    "mem": {
        "buffer_length": (0, 2**17 - 1),
        "buffer_offset": (0, 2**19 - 4),
        **dict.fromkeys(("d0_size", "d1_size", "d2_size"), (0, 1023)),
        **dict.fromkeys(("d0_stride", "d1_stride", "d2_stride", "iteration_stride"), (0, 2**17 - 1)),
        "d0_zero_before": (0, 63),
        "d1_zero_before": (0, 31),
        "d2_zero_before": (0, 15),
        "d0_zero_after": (0, 63),
        "d1_zero_after": (0, 31),
        "d2_zero_after": (0, 15),
    },
    "core": {
        "buffer_length": (0, 2**14 - 1),
        "buffer_offset": (0, 2**16 - 4),
        **dict.fromkeys(("d0_size", "d1_size"), (0, 255)),
        **dict.fromkeys(("d0_stride", "d1_stride", "d2_stride", "iteration_stride"), (0, 2**13 - 1)),
    },
}
"""What fields hold that differ between kinds of tiles: taken from the registers' documentation, not from our tables."""
FIELDS: Limits = {
    "bd_id": (0, 15),
    "enable_packet": (0, 1),
    "out_of_order_id": (0, 63),
    "packet_id": (0, 31),
    "packet_type": (0, 7),
    "iteration_current": (0, 63),
    "iteration_size": (0, 63),
    "next_bd": (0, 15),
    "use_next_bd": (0, 1),
    "valid_bd": (0, 1),
    "lock_rel_val": (-64, 63),
    "lock_rel_id": (0, 15),
    "lock_acq_enable": (0, 1),
    "lock_acq_val": (-64, 63),
    "lock_acq_id": (0, 15),
}
UNITS = {"buffer_offset": 4, "burst_length": 192}
"""What fields are multiples of, from the lowest on; not all multiples of 64 are burst lengths."""
EARLY_FIELDS = "bd_id buffer_length buffer_offset d0_size d0_stride d1_size d1_stride d2_size d2_stride "
EARLY_FIELDS += "iteration_size iteration_stride"


def writebd(to: InstructionWriter) -> None:
    kind, row = to.random.choice((("shim", 0), ("mem", 1), ("core", to.random.randint(2, 5))))
    is_placed = to.random.random() < 0.6
    # A tile that is not known is of any kind: then all fields hold what the smallest of them does.
    limits = FIELDS | DESCRIPTOR[kind if is_placed else "core"]
    limits.setdefault("d2_size", (0, 0))
    if to.is_early():
        place = [to.value(0, 7), to.value(row, row) if is_placed else to.value(0, 5)]
        if is_placed and place[1][1]:
            limits = limits | {"d2_size": (0, 0)}
        values = [to.value(*limits[name], UNITS.get(name, 1)) for name in EARLY_FIELDS.split()]
        to.call("dyn_writebd", [*place, *values], "{packet_id = 3 : i32} ")
        return
    names = [name for name in FIELD_NAMES if name in limits]
    chosen = to.random.sample(names, to.random.randint(0, len(names)))
    values = {name: to.value(*limits[name], UNITS.get(name, 1)) for name in chosen}
    fields = {name: to.number(*limits[name], UNITS.get(name, 1)) for name in names if name not in values}
    if "burst_length" in fields:
        fields["burst_length"] = to.random.choice((64, 128, 256))
    if to.random.random() < 0.5 or not is_placed:
        values["column"] = to.value(0, 7)
    else:
        fields["column"] = to.number(0, 7)
    if is_placed:
        fields["row"] = row
    else:
        values["row"] = to.value(0, 5)
    if not values:
        fields = {name: fields.get(name, 0) for name in FIELD_NAMES if name != "d3_stride"}
    text = ", ".join(f"{name} = {value} : {type}" for name, (value, type) in values.items())
    attributes = ", ".join(f"{name} = {number} : i32" for name, number in fields.items())
    to.line(f"aiex.npu.writebd {f'values({text}) ' if values else ''}{{{attributes}}}")


def rtp_write(to: InstructionWriter) -> None:
    value, type = to.word()
    to.line(f"aiex.npu.rtp_write(@numbers, {to.number(0, 15)}, {value}) : {type}")


def pattern(to: InstructionWriter, type: str, count: int) -> list[list[str]]:
    """Offsets, sizes and strides of a transfer: all in range, for one that is known may be divided where one that is
    not is refused.
    """

    def number(low: int, high: int) -> str:
        return to.value(low, high, types=(type,), checked=False)[0]

    offsets, sizes = ([number(low, 8) for _ in range(count)] for low in (0, 1))
    return [offsets, sizes, [*(number(8, 64) for _ in range(count - 1)), number(1, 1)]]


def bracketed(*lists: Sequence[str]) -> list[str]:
    return [f"[{', '.join(each)}]" for each in lists]


def dma_memcpy_nd(to: InstructionWriter) -> None:
    channel = to.random.choice(("@to_array", "@from_array"))
    count, bd_id = to.random.randint(1, 3), to.number(0, 15)
    if to.is_early():
        parts = pattern(to, "index", count)
        lists = ", ".join(bracketed(*parts))
        types = ", ".join(bracketed(*(["index"] * count for _ in parts)))
        to.line(
            f"aiex.npu.dyn_dma_memcpy_nd(%buffer, {lists}, metadata = {channel}, id = {bd_id})"
            f" : memref<4096xi32>, {types}"
        )
        return
    offsets, sizes, strides = pattern(to, "i64", count)
    rest = 4 - count
    lists = "".join(bracketed(["0"] * rest + offsets, ["1"] * rest + sizes, ["0"] * rest + strides))
    token = ", issue_token = true" if to.random.random() < 0.5 else ""
    to.line(
        f"aiex.npu.dma_memcpy_nd(%buffer{lists}) {{id = {bd_id} : i64, metadata = {channel}{token}}} : memref<4096xi32>"
    )


def dma_task(to: InstructionWriter) -> None:
    """A task of one or two descriptors, whose ids are the compiler's to choose."""
    to.end_tasks(3)
    channel, task = to.random.choice(("@to_array", "@from_array")), to.fresh()
    transfers = [transfer(to) for _ in range(to.random.randint(1, 2))]
    has_token = to.random.random() < 0.7
    attributes = ["issue_token = true"] if has_token else []
    if len(transfers) == 1 and to.random.random() < 0.3:
        attributes.append(f"repeat_count = {to.number(0, 15)} : i32")
    to.line(f"{task} = aiex.dma_configure_task_for {channel} {{")
    for number, each in enumerate(transfers):
        if number:
            to.line("aie.next_bd ^second")
            to.line("^second:")
        to.line(f"  aie.dma_bd(%buffer : memref<4096xi32> {each})")
    to.line("  aie.end")
    to.line(f"}} {{{', '.join(attributes)}}}")
    to.line(f"aiex.dma_start_task({task})")
    to.tasks.append((task, has_token))


def transfer(to: InstructionWriter) -> str:
    """The offset, the length and the shape of a descriptor."""
    offset, _ = to.value(0, 64, types=("i32",), checked=False)
    if to.random.random() < 0.4:
        return f"offset = {offset} len = {to.value(1, 256, types=('i32',), checked=False)[0]}"
    _, sizes, strides = pattern(to, "i64", to.random.randint(1, 3))
    length = sizes[0]
    for size in sizes[1:]:
        product = to.fresh()
        to.line(f"{product} = arith.muli {length}, {size} : i64")
        length = product
    words = to.fresh()
    to.line(f"{words} = arith.trunci {length} : i64 to i32")
    sizes_text, strides_text = bracketed(sizes, strides)
    return f"offset = {offset} len = {words} sizes = {sizes_text} strides = {strides_text}"


WRITERS: list[Callable[[InstructionWriter], None]] = [
    write32,
    maskwrite32,
    write_words,
    blockwrite,
    sync,
    address_patch,
    push_queue,
    writebd,
    rtp_write,
    dma_memcpy_nd,
]


# Which descriptors tasks have is the compiler's to choose: what writes and pushes some by number would meet them.
TASK_WRITERS = [
    dma_task,
    dma_task,
    *(write for write in WRITERS if write not in (push_queue, writebd, dma_memcpy_nd)),
]


def instruction_program(seed: int, calls: int = 3) -> InstructionProgram:
    random = Random(seed)
    writer = InstructionWriter(random, calls, has_tasks=random.random() < 0.3)
    writer.body(random.randint(1, 4))
    writer.end_tasks(0)
    return InstructionProgram(f"s{seed}", writer.lines, writer.arguments, writer.operations, writer.has_tasks)
