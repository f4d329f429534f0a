"""Random lowered runtime sequences, as text, with values to call them with."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from helpers import WIDTHS

INTEGERS = tuple(type for type in WIDTHS if type != "i1")
WRAPPING = ("addi", "subi", "muli", "andi", "ori", "xori")
DIVISIONS = ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
SHIFTS = ("shli", "shrui", "shrsi")
EXTREMES = ("maxsi", "minsi", "maxui", "minui")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CORNERS = (0, 1, -1, 2, 3, 7, 31, 32, 33, 63, 64, 255, 1023, 4096, -128, 127, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))


def wrapped(number: int, type: str) -> int:
    """The number as the program's text writes it in this type."""
    width = WIDTHS[type]
    number %= 1 << width
    return number if width == 1 or number < 1 << width - 1 else number - (1 << width)


@dataclass
class Program:
    """The text of a module with one sequence, and the types of its scalar arguments."""

    text: str
    name: str
    types: list[str]
    calls: list[list[int]]


@dataclass
class Writer:
    """Writes one sequence, statement by statement; values in scope are kept by type."""

    random: Random
    lines: list[str] = field(default_factory=list[str])
    named: bool = True
    """Whether values have names that C++ variables can have, or just numbers."""
    count: int = 0
    depth: int = 3

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}" if self.named else f"%{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def constant(self, scope: dict[str, list[str]], type: str, number: int | None = None) -> str:
        if number is None:
            number = self.random.choice(CORNERS) if self.random.random() < 0.6 else self.random.randrange(-100, 100)
        name = self.fresh()
        value = wrapped(number, type)
        text = ("true" if value else "false") if type == "i1" else f"{value} : {type}"
        self.line(f"{name} = arith.constant {text}")
        scope[type].append(name)
        return name

    def value(self, scope: dict[str, list[str]], type: str) -> str:
        if not scope[type] or self.random.random() < 0.2:
            return self.constant(scope, type)
        return self.random.choice(scope[type])

    def compute(self, scope: dict[str, list[str]]) -> None:
        kind, name = self.random.randrange(10), self.fresh()
        type = self.random.choice(INTEGERS)
        pick = self.random.choice
        if kind < 6:
            op = pick(pick((WRAPPING, DIVISIONS, SHIFTS, EXTREMES)))
            lhs, rhs = self.value(scope, type), self.value(scope, type)
            # Most divisors are no zeros, or few calls would have words.
            if op in DIVISIONS and self.random.random() < 0.95:
                rhs = self.odd(scope, type, rhs)
            self.line(f"{name} = arith.{op} {lhs}, {rhs} : {type}")
        elif kind == 6:
            operand = pick((*INTEGERS, "i1"))
            lhs, rhs = self.value(scope, operand), self.value(scope, operand)
            self.line(f"{name} = arith.cmpi {pick(PREDICATES)}, {lhs}, {rhs} : {operand}")
            type = "i1"
        elif kind == 7:
            condition, yes, no = self.value(scope, "i1"), self.value(scope, type), self.value(scope, type)
            self.line(f"{name} = arith.select {condition}, {yes}, {no} : {type}")
        elif kind == 8:
            type = "i1"
            self.line(f"{name} = arith.{pick(WRAPPING)} {self.value(scope, 'i1')}, {self.value(scope, 'i1')} : i1")
        else:
            type = self.convert(scope, name)
        scope[type].append(name)

    def odd(self, scope: dict[str, list[str]], type: str, number: str) -> str:
        name, one = self.fresh(), self.constant(scope, type, 1)
        self.line(f"{name} = arith.ori {number}, {one} : {type}")
        return name

    def convert(self, scope: dict[str, list[str]], name: str) -> str:
        """A change of width; gives the type of the result."""
        source, target = self.random.sample(tuple(WIDTHS), 2)
        operand = self.value(scope, source)
        if "index" in (source, target):
            op = self.random.choice(("index_cast", "index_castui"))
        elif WIDTHS[source] > WIDTHS[target]:
            op = "trunci"
        else:
            op = self.random.choice(("extsi", "extui"))
        self.line(f"{name} = arith.{op} {operand} : {source} to {target}")
        return target

    def instruction(self, scope: dict[str, list[str]]) -> None:
        value = lambda: self.value(scope, "i32")  # noqa: E731
        match self.random.randrange(13):
            case 0 | 1 | 2:
                address = self.constant(scope, "i32", 4 * self.random.randrange(1 << 20))
                self.line(f"aiex.npu.write32({address}, {value()}) : i32, i32")
            case 3:
                address = self.constant(scope, "i32", 4 * self.random.randrange(1 << 18))
                place = "{column = 1 : i32, row = 2 : i32} " if self.random.random() < 0.5 else ""
                name = self.random.choice(("maskwrite32", "maskpoll"))
                self.line(f"aiex.npu.{name}({address}, {value()}, {value()}) {place}: i32, i32, i32")
            case 4 | 5:
                address, name = value(), self.fresh()
                self.line(f"{name} = arith.ori {address}, {value()} : i32")
                self.line(f"aiex.npu.write32({name}, {value()}) : i32, i32")
            case 6:
                self.line(f"aiex.npu.sync({', '.join(value() for _ in range(6))}) : {', '.join(['i32'] * 6)}")
            case 7 | 8:
                index = self.random.randrange(8)
                runtime = f" addr {value()} : i32" if self.random.random() < 0.3 else ""
                self.line(
                    f"aiex.npu.address_patch({value()} : i32){runtime} "
                    f"{{addr = {4 * self.random.randrange(1 << 18)} : ui32, arg_idx = {index} : i32}}"
                )
            case 9:
                name = self.fresh()
                self.line(f"{name} = memref.get_global @data : memref<5xi32>")
                self.line(f"aiex.npu.blockwrite({name}) {{address = 4096 : ui32}} : memref<5xi32>")
            case 10:
                self.line(f"aiex.npu.preempt {{level = {self.random.randrange(4)} : ui8}}")
            case 11:
                function = self.random.choice(("mul", "incr", "decr"))
                self.line(
                    f"aiex.npu.update_from_scratchpad<{function}> {{address = 118788 : ui32, "
                    f"func_arg = {self.random.randrange(100)} : ui32, state_table_idx = 3 : ui8}}"
                )
            case _:
                self.line("aiex.npu.load_pdi {address = 0xabc12345678 : ui64, id = 2 : i32, size = 1024 : i32}")

    def guard(self, scope: dict[str, list[str]]) -> None:
        value = self.value(scope, "i32")
        if self.random.random() < 0.5:
            type = self.random.choice(INTEGERS)
            low, high = self.random.choice(((-(2**63), 2**63 - 1), (-(2**31), 2**31 - 1), (-100, 2**40)))
            lowest = -(1 << WIDTHS[type] - 1)
            limits = f"{{min = {max(low, lowest)} : i64, max = {min(high, -lowest - 1)} : i64}}"
            checked = self.fresh()
            self.line(f"{checked} = arith.ori {self.value(scope, type)}, {self.value(scope, type)} : {type}")
            self.line(f"aiex.npu.assert_range({checked}) {limits} : {type}")
        elif self.random.random() < 0.5:
            masked, mask = self.fresh(), self.constant(scope, "i32", 1023)
            self.line(f"{masked} = arith.andi {value}, {mask} : i32")
            limit = self.random.choice((1000, 1022, 1023))
            self.line(f"aiex.npu.assert_bd_field({masked}) {{max = {limit} : i32}} : i32")
        else:
            factor, product = self.constant(scope, "i32", self.random.choice((2, 4, 6))), self.fresh()
            self.line(f"{product} = arith.muli {value}, {factor} : i32")
            unit = ", allow_unit" if self.random.random() < 0.3 else ""
            self.line(f"aiex.npu.assert_bd_divisible({product}) {{divisor = 2 : i32{unit}}} : i32")

    def pool(self, scope: dict[str, list[str]]) -> None:
        name, tile = self.fresh(), self.random.choice(("(0, 0)", "(0, 1)"))
        channel = " {channel = 1 : i32}" if self.random.random() < 0.5 else ""
        self.line(f"{name} = aiex.dma_bd_pool_pop{tile}{channel} : i32")
        scope["i32"].append(name)
        if self.random.random() < 0.7:
            self.line(f"aiex.dma_bd_pool_push{tile} bd_id {name}{channel} : i32")

    def bound(self, scope: dict[str, list[str]], type: str) -> str:
        """A small number that is not known when compiling, of either sign."""
        name, limit = self.fresh(), self.constant(scope, type, 4)
        self.line(f"{name} = arith.remsi {self.value(scope, type)}, {limit} : {type}")
        return name

    def nested(self, scope: dict[str, list[str]], size: int, ends: str) -> str:
        """A block one deeper; gives a value of type `ends` that is computed in it."""
        inner = {type: list(names) for type, names in scope.items()}
        self.depth += 1
        self.body(inner, size)
        result = self.value(inner, ends)
        self.depth -= 1
        return result

    def loop(self, scope: dict[str, list[str]], size: int) -> None:
        type, carried = self.random.choice(INTEGERS), self.random.choice(tuple(WIDTHS))
        lower, upper = self.bound(scope, type), self.bound(scope, type)
        if self.random.random() < 0.5:
            lower = self.constant(scope, type, self.random.choice((0, 1)))
        step = self.constant(scope, type, self.random.choice((1, 1, 2, 3)))
        if self.random.random() < 0.2:
            step = self.bound(scope, type)  # not always positive
        elif self.random.random() < 0.1:
            upper = self.constant(scope, type, (1 << WIDTHS[type] - 1) - 1)
            step = self.constant(scope, type, 1 << WIDTHS[type] - 2)
        initial, name, variable, argument = self.value(scope, carried), self.fresh(), self.fresh(), self.fresh()
        suffix = "" if type == "index" else f" : {type}"
        self.line(
            f"{name} = scf.for {variable} = {lower} to {upper} step {step} "
            f"iter_args({argument} = {initial}) -> ({carried}){suffix} {{"
        )
        inner = {key: list(names) for key, names in scope.items()}
        inner[type].append(variable)
        inner[carried].append(argument)
        result = self.nested(inner, size, carried)
        self.line(f"  scf.yield {result} : {carried}")
        self.line("}")
        scope[carried].append(name)

    def branch(self, scope: dict[str, list[str]], size: int) -> None:
        condition, type, name = self.value(scope, "i1"), self.random.choice(tuple(WIDTHS)), self.fresh()
        self.line(f"{name} = scf.if {condition} -> ({type}) {{")
        self.line(f"  scf.yield {self.nested(scope, size, type)} : {type}")
        self.line("} else {")
        self.line(f"  scf.yield {self.nested(scope, size // 2, type)} : {type}")
        self.line("}")
        scope[type].append(name)

    def switch(self, scope: dict[str, list[str]], size: int) -> None:
        """One of a few numbers, of which some may not be meant."""
        number, type, name = self.bound(scope, "index"), self.random.choice(INTEGERS), self.fresh()
        self.line(f"{name} = scf.index_switch {number} -> {type}")
        for case in ("case 0", "case 2", "case -1", "default"):
            self.line(f"{case} {{")
            self.line(f"  scf.yield {self.nested(scope, size // 2, type)} : {type}")
            self.line("}")
        scope[type].append(name)

    def repeat(self, scope: dict[str, list[str]], size: int) -> None:
        """A while loop that counts up to a small number."""
        start, end, one = self.constant(scope, "i32", 0), self.bound(scope, "i32"), self.constant(scope, "i32", 1)
        first, name, a, b, c, d = self.value(scope, "i64"), self.fresh(), *(self.fresh() for _ in range(4))
        self.line(f"{name}:2 = scf.while ({a} = {start}, {b} = {first}) : (i32, i64) -> (i64, i32) {{")
        condition = self.fresh()
        inner = {key: list(names) for key, names in scope.items()}
        inner["i32"].append(a)
        inner["i64"].append(b)
        passed = self.nested(inner, size // 2, "i64")
        self.line(f"  {condition} = arith.cmpi slt, {a}, {end} : i32")
        self.line(f"  scf.condition({condition}) {passed}, {a} : i64, i32")
        self.line("} do {")
        self.line(f"^bb0({c}: i64, {d}: i32):")
        inner = {key: list(names) for key, names in scope.items()}
        inner["i64"].append(c)
        inner["i32"].append(d)
        value, following = self.nested(inner, size // 2, "i64"), self.fresh()
        self.line(f"  {following} = arith.addi {d}, {one} : i32")
        self.line(f"  scf.yield {following}, {value} : i32, i64")
        self.line("}")
        scope["i64"].append(f"{name}#0")
        scope["i32"].append(f"{name}#1")

    def body(self, scope: dict[str, list[str]], size: int) -> None:
        for _ in range(size):
            chance = self.random.random()
            if chance < 0.5:
                self.compute(scope)
            elif chance < 0.82 or self.depth > 5:
                self.instruction(scope)
            elif chance < 0.86:
                self.guard(scope)
            elif chance < 0.89:
                self.pool(scope)
            else:
                self.random.choice((self.loop, self.branch, self.repeat, self.switch))(scope, max(size // 2, 2))


def program(seed: int, size: int = 14, calls: int = 6) -> Program:
    """A sequence called `s<seed>` and some sets of values for its scalar arguments, corner cases among them."""
    random = Random(seed)
    writer = Writer(random, named=seed % 2 == 0)
    types = [random.choice((*INTEGERS, "i1", "i32")) for _ in range(random.randrange(1, 5))]
    scope: dict[str, list[str]] = {type: [] for type in WIDTHS}
    outer = _outer_lines(writer, scope, random.randrange(6))
    for number, type in enumerate(types):
        scope[type].append(f"%a{number}")
    if random.random() < 0.3:
        writer.line(f"aiex.npu.create_scratchpad {{size = {4 * random.randrange(4, 33)} : ui32}}")
    writer.body(scope, size)
    writer.instruction(scope)
    arguments = ", ".join(["%buffer: memref<64xi32>", *(f"%a{n}: {type}" for n, type in enumerate(types))])
    device = random.choice(("npu1", "npu2", "npu1_1col", "npu2_4col"))
    name = f"s{seed}"
    text = "\n".join(
        [
            f"aie.device({device}) {{",
            '  memref.global "private" constant @data : memref<5xi32> = dense<[1, -1, 2147483647, -2147483648, 7]>',
            *outer,
            f"  aie.runtime_sequence @{name}({arguments}) {{",
            *writer.lines,
            "  }",
            "}",
        ]
    )
    values = [[wrapped(_number(random), type) for type in types] for _ in range(calls)]
    return Program(text, name, types, values)


def _outer_lines(writer: Writer, scope: dict[str, list[str]], count: int) -> list[str]:
    """Computations on constants that stand beside the sequence, which uses their results."""
    writer.depth = 1
    for _ in range(count):
        writer.compute(scope)
    lines, writer.lines, writer.depth = writer.lines, [], 3
    return lines


def _number(random: Random) -> int:
    return random.choice(CORNERS) if random.random() < 0.5 else random.randrange(-50, 200)
