"""Random runtime sequences, as text: a seed reproduces the program and the values to call it with.

Most values are such that the hardware can do what is asked; some are zero, negative, odd or far too large.
Programs keep to what is safe whatever descriptors are chosen: transfers and tasks use different tiles,
and every task is freed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random

DEVICES = ("npu1", "npu2")
TYPES = ("i32", "i64", "index")
ELEMENTS = {"i32": 4, "f32": 4, "i16": 2, "bf16": 2, "i8": 1}
CHANNELS = {"in0": ("MM2S", 0), "in1": ("MM2S", 1), "out0": ("S2MM", 0), "out1": ("S2MM", 1)}
BAD = {
    "count": (),  # a loop of -1 iterations is fine, and one of a billion takes long
    "size": (0, -1, 63, 64, 65, 255, 256, 1023, 1024, 1025, 5000, 1 << 20, (1 << 31) - 1, 1 << 32, (1 << 32) + 4),
    "stride": (0, -1, -4, 1 << 12, (1 << 13) + 1, 1 << 17, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 1 << 22, 1 << 33),
    "offset": (-1, -4, 1, 2, 3, 1 << 20, (1 << 31) - 4, 1 << 31, 1 << 34),
    "repeat": (-1, 255, 256, 257, 1 << 16),
    "value": (-1, 0, (1 << 31) - 1, -(1 << 31)),
}
GOOD: dict[str, Sequence[int]] = {
    "count": (0, 1, 1, 2, 2, 3),
    "size": (1, 2, 3, 4, 4, 6, 8, 8, 12, 16, 20, 32),
    "stride": (1, 2, 4, 8, 8, 16, 16, 24, 32, 64, 96, 128, 512),
    "offset": (0, 0, 4, 8, 16, 32, 64, 256, 4096),
    "repeat": (0, 0, 1, 2, 7, 63),
    "value": (1, 2, 3, 100, 12345, 0x7F00FF),
}
BAD_SHARE = 0.04
WIDTHS = {"i32": 32, "i64": 64, "index": 64}


@dataclass(frozen=True)
class Scalar:
    """An argument of the sequence, and what the program mostly uses it for."""

    name: str
    type: str
    role: str

    def choose(self, random: Random) -> int:
        values = BAD[self.role] if BAD[self.role] and random.random() < BAD_SHARE else GOOD[self.role]
        limit = 1 << WIDTHS[self.type] - 1
        return max(-limit, min(limit - 1, random.choice(values)))


@dataclass
class Program:
    """A device with one sequence; `text` with values for the scalars has them as constants."""

    seed: int
    device: str
    scalars: list[Scalar]
    memories: list[str]
    lines: list[str]
    loops_with_runtime_sizes: int
    features: set[str]

    def text(self, values: dict[str, int] | None = None) -> str:
        arguments = [f"%m{index}: {type}" for index, type in enumerate(self.memories)]
        constants = list[str]()
        for scalar in self.scalars:
            if values is None:
                arguments.append(f"%{scalar.name}: {scalar.type}")
            else:
                constants.append(f"    %{scalar.name} = arith.constant {values[scalar.name]} : {scalar.type}")
        body = "\n".join([*constants, *self.lines])
        padding = "\n" * (len(self.scalars) if values is None else 0)  # operations are on the same lines in both
        return (
            HEAD.format(device=self.device)
            + f"  aie.runtime_sequence @run({', '.join(arguments)}) {{{padding}\n"
            + (f"{body}\n  }}\n}}\n")
        )

    def values(self, random: Random) -> dict[str, int]:
        return {scalar.name: scalar.choose(random) for scalar in self.scalars}


HEAD = """aie.device({device}) {{
  %transfers = aie.tile(0, 0)
  %tasks = aie.tile(1, 0)
  %mem = aie.tile(1, 1)
  %core = aie.tile(1, 2)
  %rtp = aie.buffer(%core) {{address = 1024 : i32, sym_name = "rtp"}} : memref<16xi32>
  %inside = aie.buffer(%core) {{address = 4096 : i32, sym_name = "inside"}} : memref<1024xi32>
  %large = aie.buffer(%mem) {{address = 8192 : i32, sym_name = "large"}} : memref<8192xi32>
  aie.shim_dma_allocation @in0(%transfers, MM2S, 0)
  aie.shim_dma_allocation @in1(%transfers, MM2S, 1)
  aie.shim_dma_allocation @out0(%transfers, S2MM, 0)
  aie.shim_dma_allocation @out1(%transfers, S2MM, 1)
"""


@dataclass
class Scope:
    """Values that can be used, by role."""

    values: dict[str, list[tuple[str, str]]] = field(default_factory=dict[str, list[tuple[str, str]]])


@dataclass(frozen=True)
class Pattern:
    """Names or numbers, outermost first."""

    sizes: list[str]
    strides: list[str]

    def is_runtime(self) -> bool:
        return any(size.startswith("%") for size in self.sizes)


class Generator:
    """Writes one program, line by line."""

    def __init__(self, seed: int):
        self.random = Random(seed)
        self.seed = seed
        self.lines: list[str] = []
        self.scopes: list[Scope] = [Scope()]
        self.count = 0
        self.runtime_loops = 0
        self.loops_with_runtime_sizes = 0
        self.features: set[str] = set()
        self.element = self.random.choice(list(ELEMENTS))
        self.scalars = [self.scalar(role, index) for index, role in enumerate(self.roles())]
        self.memories = [self.memory() for _ in range(self.random.choice((1, 2, 3, 6)))]

    def program(self) -> Program:
        if self.seed % 4 != 3:
            self.loop(self.transfer if self.seed % 2 else self.task)
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth=0)
        return Program(
            self.seed,
            DEVICES[self.seed // 2 % 2],
            self.scalars,
            self.memories,
            self.lines,
            self.loops_with_runtime_sizes,
            self.features,
        )

    # Names and values

    def roles(self) -> list[str]:
        fixed = ["count", "size", "size", "stride", "offset"]
        return fixed + self.random.choices(["count", "size", "stride", "repeat", "value"], k=self.random.randint(1, 3))

    def scalar(self, role: str, index: int) -> Scalar:
        scalar = Scalar(f"{role}{index}", self.random.choice(TYPES), role)
        self.scopes[0].values.setdefault(role, []).append((f"%{scalar.name}", scalar.type))
        return scalar

    def memory(self) -> str:
        return self.random.choice(
            [f"memref<?x{self.element}>"] * 3 + [f"memref<{n}x{self.element}>" for n in (1 << 20, 4096)]
        )

    def line(self, text: str) -> None:
        self.lines.append("    " + "  " * (len(self.scopes) - 1) + text)

    def emit(self, text: str) -> str:
        self.count += 1
        self.line(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    @contextmanager
    def scope(self):
        self.scopes.append(Scope())
        yield self.scopes[-1]
        self.scopes.pop()

    def constant(self, value: int, type: str) -> str:
        return self.emit(f"arith.constant {value} : {type}")

    def cast(self, name: str, source: str, target: str) -> str:
        if source == target:
            return name
        if "index" in (source, target):
            return self.emit(f"arith.index_cast {name} : {source} to {target}")
        kind = "extsi" if WIDTHS[target] > WIDTHS[source] else "trunci"
        return self.emit(f"arith.{kind} {name} : {source} to {target}")

    def runtime(self, role: str, type: str) -> str:
        """A value that is only known at run time."""
        choices = [pair for scope in self.scopes for pair in scope.values.get(role, [])]
        name, source = self.random.choice(choices)
        return self.cast(name, source, type)

    def expression(self, role: str, type: str) -> str:
        """Arithmetic on such values that mostly gives another one of the role."""
        name = self.runtime(role, type)
        match self.random.randrange(9):
            case 0:
                return self.emit(f"arith.addi {name}, {self.constant(self.random.choice((4, 8)), type)} : {type}")
            case 1:
                return self.emit(f"arith.muli {name}, {self.constant(2, type)} : {type}")
            case 2:
                return self.emit(f"arith.minsi {name}, {self.constant(16, type)} : {type}")
            case 3:
                other = self.runtime(role, type)
                flag = self.condition(depth=1)
                return self.emit(f"arith.select {flag}, {name}, {other} : {type}")
            case 4 if role != "stride":
                shift = self.constant(1, type)
                return self.emit(f"arith.shli {name}, {shift} : {type}")
            case _:
                return name

    def condition(self, depth: int = 0) -> str:
        role = self.random.choice(("count", "size"))
        type = self.random.choice(TYPES)
        left = self.runtime(role, type)
        right = self.constant(self.random.choice(GOOD[role]), type)
        predicate = self.random.choice(["eq", "ne", "slt", "sle", "sgt", "ugt", "uge"])
        return self.emit(f"arith.cmpi {predicate}, {left}, {right} : {type}")

    def number(self, role: str, type: str = "i64", share: float = 0.5) -> str:
        """A constant, or a value at run time."""
        if self.random.random() < share:
            return self.expression(role, type)
        return str(self.random.choice(GOOD[role]))

    # Patterns

    def granules(self, size: str) -> str:
        """Whole words of elements, mostly."""
        per_word = 4 // ELEMENTS[self.element]
        if per_word == 1 or self.random.random() < 0.05:
            return size
        if not size.startswith("%"):
            return str(int(size) * per_word)
        return self.emit(f"arith.muli {size}, {self.constant(per_word, 'i64')} : i64")

    def product(self, *factors: str) -> str:
        """Of names and numbers."""
        known, total = 1, ""
        for factor in factors:
            if not factor.startswith("%"):
                known *= int(factor)
            elif total:
                total = self.emit(f"arith.muli {total}, {factor} : i64")
            else:
                total = factor
        if not total:
            return str(known)
        return total if known == 1 else self.emit(f"arith.muli {total}, {self.constant(known, 'i64')} : i64")

    def pattern(self, force_runtime: bool) -> Pattern:
        share = 0.6 if force_runtime else 0.3
        size0 = self.granules(self.number("size", share=1.0 if force_runtime else share))
        size1, size2 = (self.number("size", share=share) if self.random.random() < 0.6 else "1" for _ in range(2))
        size3 = self.number("size", share=share) if self.random.random() < 0.25 else "1"
        shape = self.random.random()
        if shape < 0.4:  # row-major
            strides = ["1", self.product(size0), self.product(size0, size1)]
        else:
            first = "1" if self.random.random() < 0.8 else self.granules(self.number("stride", share=share))
            strides = [first, *(self.granules(self.number("stride", share=share)) for _ in range(2))]
        strides.append(self.granules(self.number("stride", share=share)) if self.random.random() < 0.7 else "0")
        return Pattern([size3, size2, size1, size0], strides[::-1])

    def note_size(self, pattern: Pattern) -> None:
        if self.runtime_loops and pattern.is_runtime():
            self.loops_with_runtime_sizes += 1

    # Statements

    def statement(self, depth: int) -> None:
        simple: list[Callable[[], None]] = [
            *[
                self.transfer,
                self.transfer,
                self.task,
                self.task,
                self.write,
                self.mask_write,
                self.parameter,
                self.sync,
            ]
        ]
        nested = [self.loop, self.branch, self.choice, self.ping_pong, self.until] if depth < 2 else []
        pick = self.random.choice([*simple, *nested])
        pick()

    def block(self, depth: int, first: Callable[[], None] | None = None) -> None:
        if first is not None:
            first()
        for _ in range(self.random.randint(0 if first else 1, 2)):
            self.statement(depth)

    def transfer(self) -> None:
        pattern = self.pattern(force_runtime=self.runtime_loops > 0 or self.random.random() < 0.5)
        offsets = [self.offset() if self.random.random() < 0.25 else "0" for _ in range(4)]
        memory = self.random.randrange(len(self.memories))
        name = self.random.choice(list(CHANNELS))
        direction, _ = CHANNELS[name]
        token = self.random.random() < 0.5
        lists = "".join(f"[{', '.join(entries)}]" for entries in (offsets, pattern.sizes, pattern.strides))
        extras = ", issue_token = true" if token else ""
        if self.random.random() < 0.2:
            extras += f", burst_length = {self.random.choice((64, 128, 256))} : i64"
        packet = ", packet = <pkt_type = 2, pkt_id = 5>" if self.random.random() < 0.15 else ""
        number = self.random.randrange(16)
        self.line(
            f"aiex.npu.dma_memcpy_nd(%m{memory}{lists}{packet}) {{id = {number} : i64, metadata = @{name}{extras}}} : "
            f"{self.memories[memory]}"
        )
        self.note_size(pattern)
        self.features.add("transfer")
        if token or direction == "S2MM":
            self.line(f"aiex.npu.dma_wait {{symbol = @{name}}}")

    def offset(self) -> str:
        return self.granules(self.number("offset", share=0.7))

    def as_i32(self, number: str) -> str:
        return self.cast(number, "i64", "i32") if number.startswith("%") else number

    def descriptor(self, memory: str, type: str) -> str:
        """The text of a descriptor; what it computes stands before the task."""
        pattern = self.pattern(force_runtime=self.runtime_loops > 0 or self.random.random() < 0.4)
        length = self.product(*pattern.sizes[1:])
        if self.random.random() < 0.03:
            length = self.granules(self.number("size"))
        offset = f" offset = {self.as_i32(self.offset())}" if self.random.random() < 0.5 else ""
        text = f"aie.dma_bd({memory} : {type}{offset} len = {self.as_i32(length)}"
        if self.random.random() < 0.75:
            used = 4 if pattern.sizes[0] != "1" else self.random.randint(3, 4)
            self.note_size(pattern)
            text += f" sizes = [{', '.join(pattern.sizes[-used:])}] strides = [{', '.join(pattern.strides[-used:])}]"
        elif self.runtime_loops and length.startswith("%"):
            self.loops_with_runtime_sizes += 1
        return text + ")"

    def configure(self, *, token: bool, where: str | None = None, longest: int = 2) -> str:
        """A new task, a chain of up to so many descriptors."""
        where = where or self.random.choice(["%tasks"] * 4 + ["%mem", "%core"])
        if where == "%tasks":
            index = self.random.randrange(len(self.memories))
            memory, type = f"%m{index}", self.memories[index]
            direction, channel = self.random.choice(list(CHANNELS.values()))
        else:
            memory, type = {"%mem": ("%large", "memref<8192xi32>"), "%core": ("%inside", "memref<1024xi32>")}[where]
            direction, channel = (
                self.random.choice(("MM2S", "S2MM")),
                self.random.randrange(6 if where == "%mem" else 2),
            )
            self.features.add(where)
        kept, self.element = self.element, self.element if where == "%tasks" else "i32"
        length = longest if self.random.random() < 0.2 else 1
        descriptors = [self.descriptor(memory, type) for _ in range(length)]
        self.element = kept
        repeat, attributes = "", ["issue_token = true"] if token else []
        if self.random.random() < 0.3:
            repeat = (
                f" repeat {self.expression('repeat', 'i32') if self.has('repeat') else self.constant(2, 'i32')} : i32"
            )
        elif self.random.random() < 0.3:
            attributes.append(f"repeat_count = {self.random.choice((1, 3, 255))} : i32")
        task = self.emit(f"aiex.dma_configure_task({where}, {direction}, {channel}){repeat} {{")
        for index, text in enumerate(descriptors):
            if index:
                self.line(f"^bd{index}:")
            self.line(f"  {text}")
            self.line("  aie.end" if index == length - 1 else f"  aie.next_bd ^bd{index + 1}")
        self.line("} {" + ", ".join(attributes) + "}")
        self.features.add("chain" if length > 1 else "task")
        return task

    def has(self, role: str) -> bool:
        return any(scalar.role == role for scalar in self.scalars)

    def task(self) -> None:
        token = self.random.random() < 0.7
        task = self.configure(token=token)
        self.line(f"aiex.dma_start_task({task})")
        if token:
            self.line(f"aiex.dma_await_task({task})")
        self.line(f"aiex.dma_free_task({task})")

    def ping_pong(self) -> None:
        """A loop that starts the next task before it awaits the one before."""
        first = self.configure(token=True, where="%tasks", longest=1)
        channel = self.lines[-1 - next(i for i, text in enumerate(reversed(self.lines)) if first + " =" in text)]
        self.line(f"aiex.dma_start_task({first})")
        one, bound = self.constant(1, "index"), self.runtime("count", "index")
        self.count += 1
        last = f"%v{self.count}"
        index, previous = f"%i{self.count}", f"%p{self.count}"
        self.line(
            f"{last} = scf.for {index} = {one} to {bound} step {one} iter_args({previous} = {first}) -> (index) {{"
        )
        with self.scope() as scope:
            self.runtime_loops += 1
            scope.values["offset"] = [(index, "index")]
            head = channel.split("= ", 1)[1].split("(", 1)[1].split(")", 1)[0]
            descriptor = self.descriptor("%m0", self.memories[0])
            task = self.emit(f"aiex.dma_configure_task({head}) {{")
            self.line(f"  {descriptor}")
            self.line("  aie.end")
            self.line("} {issue_token = true}")
            self.line(f"aiex.dma_start_task({task})")
            self.line(f"aiex.dma_await_task({previous})")
            self.line(f"aiex.dma_free_task({previous})")
            self.line(f"scf.yield {task} : index")
            self.runtime_loops -= 1
        self.line("}")
        self.line(f"aiex.dma_await_task({last})")
        self.line(f"aiex.dma_free_task({last})")
        self.features.add("ping-pong")

    def loop(self, first: Callable[[], None] | None = None) -> None:
        type = self.random.choice(TYPES)
        zero, one = self.constant(0, type), self.constant(self.random.choice((1, 1, 2)), type)
        is_runtime = first is not None or self.random.random() < 0.8
        bound = self.runtime("count", type) if is_runtime else self.constant(2, type)
        self.count += 1
        index, carried, result = f"%i{self.count}", f"%c{self.count}", f"%r{self.count}"
        ending = "" if type == "index" else f" : {type}"
        carries = self.random.random() < 0.4
        head = f"scf.for {index} = {zero} to {bound} step {one}"
        if carries:
            start = self.constant(8, "i64")
            self.line(f"{result} = {head} iter_args({carried} = {start}) -> (i64){ending} {{")
        else:
            self.line(f"{head}{ending} {{")
        with self.scope() as scope:
            self.runtime_loops += is_runtime
            scope.values["offset"] = [(index, type)]
            if carries:
                scope.values["size"] = [(carried, "i64")]
            self.block(len(self.scopes) - 1, first)
            if carries:
                following = self.emit(f"arith.addi {carried}, {self.constant(4, 'i64')} : i64")
                self.line(f"scf.yield {following} : i64")
            self.runtime_loops -= is_runtime
        self.line("}")
        if carries:
            self.scopes[-1].values.setdefault("size", []).append((result, "i64"))
        self.features.add("loop")

    def branch(self) -> None:
        condition = self.condition()
        self.line(f"scf.if {condition} {{")
        with self.scope():
            self.block(len(self.scopes) - 1)
        if self.random.random() < 0.5:
            self.line("} else {")
            with self.scope():
                self.block(len(self.scopes) - 1)
        self.line("}")
        self.features.add("branch")

    def choice(self) -> None:
        """A branch with a result."""
        condition = self.condition()
        self.count += 1
        result = f"%s{self.count}"
        self.line(f"{result} = scf.if {condition} -> (i64) {{")
        for after in ("} else {", "}"):
            with self.scope():
                self.write()
                self.line(f"scf.yield {self.expression('size', 'i64')} : i64")
            self.line(after)
        self.scopes[-1].values.setdefault("size", []).append((result, "i64"))
        self.features.add("choice")

    def until(self) -> None:
        """A loop that goes on while a condition holds."""
        start, bound = self.constant(0, "i64"), self.runtime("count", "i64")
        self.count += 1
        number = self.count
        self.line(f"%w{number} = scf.while (%x{number} = {start}) : (i64) -> i64 {{")
        with self.scope():
            more = self.emit(f"arith.cmpi slt, %x{number}, {bound} : i64")
            self.line(f"scf.condition({more}) %x{number} : i64")
        self.line("} do {")
        self.line(f"^bb0(%y{number}: i64):")
        with self.scope() as scope:
            scope.values["offset"] = [(f"%y{number}", "i64")]
            self.runtime_loops += 1
            self.transfer() if self.random.random() < 0.5 else self.write()
            following = self.emit(f"arith.addi %y{number}, {self.constant(1, 'i64')} : i64")
            self.line(f"scf.yield {following} : i64")
            self.runtime_loops -= 1
        self.line("}")
        self.features.add("while")

    def value(self) -> str:
        roles = ["size", "stride", "offset"]
        if self.has("value"):
            roles.append("value")
        return self.expression(self.random.choice(roles), "i32")

    def address(self) -> tuple[str, str]:
        """A word in the memory of the core, and where it is."""
        if self.random.random() < 0.5:
            return self.constant(self.random.randrange(0x2000, 0x3000, 4), "i32"), "{column = 1 : i32, row = 2 : i32} "
        if self.random.random() < 0.5:
            return self.constant(0x02202000 + self.random.randrange(0, 64, 4), "i32"), ""
        scaled = self.emit(f"arith.muli {self.runtime('count', 'i32')}, {self.constant(4, 'i32')} : i32")
        if self.random.random() < 0.5:
            return self.emit(f"arith.addi {scaled}, {self.constant(0x02203000, 'i32')} : i32"), ""
        return scaled, "{column = 1 : i32, row = 2 : i32} "

    def write(self) -> None:
        value = self.value()
        address, place = self.address()
        self.line(f"aiex.npu.write32({address}, {value}) {place}: i32, i32")

    def mask_write(self) -> None:
        value, mask = self.value(), self.constant(self.random.choice((0xFF, 0xFFFF, 0x1F00)), "i32")
        address, place = self.address()
        self.line(f"aiex.npu.maskwrite32({address}, {value}, {mask}) {place}: i32, i32, i32")

    def parameter(self) -> None:
        self.line(f"aiex.npu.rtp_write(@rtp, {self.random.randrange(16)}, {self.value()}) : i32")

    def sync(self) -> None:
        numbers = [self.constant(number, "i32") for number in (0, 0, 1, 1, 1)]
        channel = self.runtime("count", "i32") if self.random.random() < 0.5 else numbers[2]
        column, row, direction, columns, rows = numbers
        types = ", ".join(["i32"] * 6)
        self.line(f"aiex.npu.sync({column}, {row}, {direction}, {channel}, {columns}, {rows}) : {types}")


def program(seed: int) -> Program:
    return Generator(seed).program()
