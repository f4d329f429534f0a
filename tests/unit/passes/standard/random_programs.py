"""Random functions with much to simplify, as text: valid MLIR that a seed reproduces.

Every family is a class; `Family(seed).function(size)` is one function. Values keep to their scope, constants are chosen
where folding has corners: zeros, ones, extremes, widths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

WIDTHS = {"i1": 1, "i8": 8, "i32": 32, "i64": 64, "index": 64}
FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGER_OPS = [
    *["addi", "subi", "muli", "divui", "divsi", "ceildivui", "ceildivsi", "floordivsi", "remui", "remsi"],
    *["andi", "ori", "xori", "shli", "shrui", "shrsi", "maxsi", "maxui", "minsi", "minui"],
]
FLOAT_OPS = ["addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"]
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
FLOAT_PREDICATES = ["false", "true", "ord", "uno", *(o + p for o in "ou" for p in ("eq", "gt", "ge", "lt", "le", "ne"))]
INFINITIES = {"f16": "0x7C00", "bf16": "0xFF80", "f32": "0x7F800000", "f64": "0xFFF0000000000000"}
NANS = {"f16": "0x7E00", "bf16": "0x7FC0", "f32": "0x7FC00000", "f64": "0x7FF8000000000000"}


class Family:
    """Grows one function, line by line; `scopes` are the values that can be used, by type."""

    arguments: Sequence[str] = ()
    results: Sequence[str] = ()

    def __init__(self, seed: int):
        self.random = Random(seed)
        self.seed = seed
        self.lines: list[str] = []
        self.scopes: list[dict[str, list[str]]] = [{}]
        self.count = 0

    def step(self) -> None:
        raise NotImplementedError

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.lines.append("  " * len(self.scopes) + text)

    def add(self, name: str, type: str) -> str:
        self.scopes[-1].setdefault(type, []).append(name)
        return name

    def emit(self, text: str, type: str) -> str:
        name = self.name()
        self.line(f"{name} = {text}")
        return self.add(name, type)

    def visible(self, type: str) -> list[str]:
        return [name for scope in self.scopes for name in scope.get(type, [])]

    def constant(self, type: str) -> str:
        return self.emit(f"arith.constant {self.literal(type)}", type)

    def literal(self, type: str) -> str:
        if type == "i1":
            return self.random.choice(["true", "false"])
        if type == "index":
            return f"{self.random.choice([0, 1, 2, 3, 5, 8, -1, -5, 10, 100])} : index"
        if type in FLOATS:
            number = self.random.choice(["0.0", "-0.0", "1.0", "-1.0", "2.5", "-3.75", "0.1", "1.0e3"])
            return f"{self.random.choice([number] * 5 + [INFINITIES[type], NANS[type]])} : {type}"
        width = WIDTHS[type]
        extreme = 1 << (width - 1)
        number = self.random.choice([0, 1, -1, 2, 3, 7, -5, width - 1, width, 100, extreme, ~extreme])
        return f"{(number + extreme) % (1 << width) - extreme} : {type}"

    def value(self, type: str, constants: float = 0.3) -> str:
        found = self.visible(type)
        if not found or self.random.random() < constants:
            return self.constant(type)
        return self.random.choice(found[-4:] if self.random.random() < 0.6 else found)

    def use(self, type: str) -> None:
        self.line(f'"test.use"({self.value(type)}) : ({type}) -> ()')

    def function(self, size: int) -> str:
        arguments = [f"{self.add(self.name(), type)}: {type}" for type in self.arguments]
        for _ in range(size):
            self.step()
        results = [(self.value(type, 0), type) for type in self.results]
        signature = f"func.func @f{self.seed}({', '.join(arguments)}) -> ({', '.join(self.results)})"
        returned = f" {', '.join(name for name, _ in results)} : {', '.join(self.results)}" if results else ""
        return "\n".join([f"{signature} {{", *self.lines, f"  return{returned}", "}", ""])


class Arithmetic(Family):
    """Straight-line arithmetic on all scalar types."""

    arguments = [*WIDTHS, *WIDTHS, *FLOATS, *FLOATS]
    results = [*WIDTHS, *WIDTHS, *FLOATS]

    def step(self) -> None:
        self.random.choices(
            [self.integer, self.real, self.comparison, self.selection, self.extension, self.conversion, self.extended],
            [45, 12, 13, 8, 12, 9, 1],
        )[0]()
        if self.random.random() < 0.15:
            self.use(self.random.choice(self.arguments))

    def pick(self, text: str) -> str:
        return self.random.choice(text.split())

    def integer(self) -> None:
        type = self.pick(" ".join(WIDTHS))
        self.emit(f"arith.{self.random.choice(INTEGER_OPS)} {self.value(type)}, {self.value(type)} : {type}", type)

    def real(self) -> None:
        type = self.random.choice(FLOATS)
        if self.random.random() < 0.2:
            self.emit(f"arith.negf {self.value(type)} : {type}", type)
        else:
            self.emit(f"arith.{self.random.choice(FLOAT_OPS)} {self.value(type)}, {self.value(type)} : {type}", type)

    def comparison(self) -> None:
        if self.random.random() < 0.25:
            type, predicate, op = self.random.choice(FLOATS), self.random.choice(FLOAT_PREDICATES), "cmpf"
        else:
            type, predicate, op = self.pick(" ".join(WIDTHS)), self.random.choice(PREDICATES), "cmpi"
        self.emit(f"arith.{op} {predicate}, {self.value(type)}, {self.value(type)} : {type}", "i1")

    def selection(self) -> None:
        type = self.random.choice(self.arguments)
        self.emit(f"arith.select {self.value('i1')}, {self.value(type)}, {self.value(type)} : {type}", type)

    def extension(self) -> None:
        narrow, wide = sorted(self.random.sample(["i1", "i8", "i32", "i64"], 2), key=WIDTHS.__getitem__)
        if self.random.random() < 0.6:
            self.emit(f"arith.{self.pick('extsi extui')} {self.value(narrow)} : {narrow} to {wide}", wide)
        else:
            self.emit(f"arith.trunci {self.value(wide)} : {wide} to {narrow}", narrow)

    def conversion(self) -> None:
        integer, real = self.pick("i8 i32 i64"), self.random.choice(FLOATS)
        op, source, target = self.random.choice(
            [
                (self.pick("index_cast index_castui"), integer, "index"),
                (self.pick("index_cast index_castui"), "index", integer),
                (self.pick("sitofp uitofp"), integer, real),
                (self.pick("fptosi fptoui"), real, integer),
                ("extf", self.pick("f16 bf16"), self.pick("f32 f64")),
                ("truncf", self.pick("f32 f64"), self.pick("f16 bf16")),
                ("bitcast", "i32", "f32"),
                ("bitcast", "f64", "i64"),
            ]
        )
        self.emit(f"arith.{op} {self.value(source)} : {source} to {target}", target)

    def extended(self) -> None:
        type, op = self.pick("i8 i32 index"), self.pick("addui_extended mulsi_extended mului_extended")
        lhs, rhs, low, high = self.value(type), self.value(type), self.name(), self.name()
        second = "i1" if op == "addui_extended" else type
        self.line(f"{low}, {high} = arith.{op} {lhs}, {rhs} : {type}{', i1' if second == 'i1' else ''}")
        self.add(low, type)
        self.add(high, second)


class Simple(Family):
    """A little arithmetic on few types, and operations of which nothing is known."""

    types = ["i1", "i32", "index"]
    arguments = types * 2
    results = types * 2

    def step(self) -> None:
        self.simple()

    def simple(self) -> None:
        type = self.random.choice(self.types)
        kind = self.random.random()
        if kind < 0.4:
            op = self.random.choice(["addi", "subi", "muli", "andi", "ori", "xori", "shli", "maxsi", "minui"])
            self.emit(f"arith.{op} {self.value(type)}, {self.value(type)} : {type}", type)
        elif kind < 0.55:
            predicate = self.random.choice(["eq", "ne", "slt", "ult", "sge"])
            self.emit(f"arith.cmpi {predicate}, {self.value(type)}, {self.value(type)} : {type}", "i1")
        elif kind < 0.65:
            self.emit(f"arith.select {self.value('i1')}, {self.value(type)}, {self.value(type)} : {type}", type)
        elif kind < 0.8:
            self.use(type)
        elif kind < 0.9:
            self.emit(f'"test.make"() : () -> {type}', type)
        else:
            self.emit(f"arith.index_cast {self.value('i32')} : i32 to index", "index")


def arrow(types: Sequence[str]) -> str:
    return f" -> ({', '.join(types)})" if types else ""


class Structured(Simple):
    """Nested `scf` operations that pass values around."""

    def step(self) -> None:
        if len(self.scopes) < 4 and self.random.random() < 0.3:
            self.random.choices([self.branch, self.loop, self.repeat, self.switch, self.inline], [3, 3, 1, 1, 1])[0]()
        else:
            self.simple()

    def some_types(self) -> list[str]:
        return [self.random.choice(self.types) for _ in range(self.random.choice([0, 0, 1, 1, 2, 3]))]

    def some_results(self, types: Sequence[str]) -> tuple[str, list[str]]:
        """What to write before an operation, and how to call its results afterwards."""
        if not types:
            return "", []
        name = self.name()
        if len(types) == 1:
            return f"{name} = ", [name]
        return f"{name}:{len(types)} = ", [f"{name}#{index}" for index in range(len(types))]

    def body(
        self,
        types: Sequence[str],
        arguments: Sequence[tuple[str, str]] = (),
        change: Callable[[list[str]], list[str]] = list,
        end: Callable[[], str] = lambda: "scf.yield",
    ) -> None:
        self.scopes.append({})
        for name, type in arguments:
            self.add(name, type)
        for _ in range(self.random.choice([0, 1, 1, 2, 3])):
            self.step()
        values = change([self.value(type, 0.2) for type in types])
        self.line(end() + (f" {', '.join(values)} : {', '.join(types)}" if types else ""))
        self.scopes.pop()

    def one_of_each(self, *lists: Sequence[str]) -> list[str]:
        return [self.random.choice(options) for options in zip(*lists, strict=True)]

    def add_all(self, names: Sequence[str], types: Sequence[str]) -> None:
        for name, type in zip(names, types, strict=True):
            self.add(name, type)

    def branch(self) -> None:
        types = self.some_types()
        condition = self.value("i1", 0.1)
        if self.random.random() < 0.2:
            condition = self.emit(f"arith.xori {condition}, {self.emit('arith.constant true', 'i1')} : i1", "i1")
        before, names = self.some_results(types)
        self.line(f"{before}scf.if {condition}{arrow(types)} {{")
        self.body(types)
        if types or self.random.random() < 0.5:
            self.line("} else {")
            self.body(types)
        self.line("}")
        self.add_all(names, types)

    def loop(self) -> None:
        types = self.some_types()
        low, high, step = (self.value("index", 0.6) for _ in range(3))
        initial = [self.value(type) for type in types]
        before, names = self.some_results(types)
        index, carried = self.name(), [self.name() for _ in types]
        passed = ", ".join(f"{a} = {b}" for a, b in zip(carried, initial, strict=True))
        carries = f" iter_args({passed}) -> ({', '.join(types)})" if types else ""
        self.line(f"{before}scf.for {index} = {low} to {high} step {step}{carries} {{")
        self.body(
            types,
            [(index, "index"), *zip(carried, types, strict=True)],
            lambda values: self.one_of_each(values, values, carried, initial),
        )
        self.line("}")
        self.add_all(names, types)

    def repeat(self) -> None:
        types, carried = self.some_types(), self.some_types()
        initial = [self.value(type) for type in carried]
        before, names = self.some_results(types)
        first, second = [self.name() for _ in carried], [self.name() for _ in types]
        passed = ", ".join(f"{a} = {b}" for a, b in zip(first, initial, strict=True))
        self.line(f"{before}scf.while ({passed}) : ({', '.join(carried)}) -> ({', '.join(types)}) {{")
        self.body(types, list(zip(first, carried, strict=True)), end=lambda: f"scf.condition({self.value('i1', 0.1)})")
        self.line("} do {")
        arguments = ", ".join(f"{name}: {type}" for name, type in zip(second, types, strict=True))
        self.line(f"^bb0({arguments}):" if types else "^bb0:")
        self.body(
            carried,
            list(zip(second, types, strict=True)),
            lambda values: self.one_of_each(values, values, initial),
        )
        self.line("}")
        self.add_all(names, types)

    def switch(self) -> None:
        types = self.some_types()
        on = self.value("index")
        before, names = self.some_results(types)
        self.line(f"{before}scf.index_switch {on}" + (f" -> {', '.join(types)}" if types else ""))
        for case in self.random.sample(range(-1, 4), self.random.choice([1, 2])):
            self.line(f"case {case} {{")
            self.body(types)
            self.line("}")
        self.line("default {")
        self.body(types)
        self.line("}")
        self.add_all(names, types)

    def inline(self) -> None:
        types = self.some_types()
        before, names = self.some_results(types)
        self.line(f"{before}scf.execute_region{arrow(types)} {{")
        self.body(types)
        self.line("}")
        self.add_all(names, types)


class Branches(Simple):
    """Blocks that branch anywhere, many of them unreachable or alike."""

    results = ["i32", "i1"]

    def function(self, size: int) -> str:
        arguments = [f"{self.add(self.name(), type)}: {type}" for type in self.arguments]
        blocks = {
            number: [(self.name(), self.random.choice(self.types)) for _ in range(self.random.choice([0, 0, 1, 2]))]
            for number in range(1, self.random.choice([2, 3, 4, 5, 6, 7]) + 1)
        }
        for number in range(len(blocks) + 1):
            if number:
                self.scopes = [self.scopes[0], {}]
                passed = ", ".join(f"{name}: {type}" for name, type in blocks[number])
                self.lines.append(f"^bb{number}({passed}):" if passed else f"^bb{number}:")
                for name, type in blocks[number]:
                    self.add(name, type)
            for _ in range(self.random.choice([0, 0, 0, 1, 2, 3])):
                self.simple()
            self.end(blocks)
        signature = f"func.func @f{self.seed}({', '.join(arguments)}) -> ({', '.join(self.results)})"
        return "\n".join([f"{signature} {{", *self.lines, "}", ""])

    def target(self, blocks: dict[int, list[tuple[str, str]]]) -> str:
        number = self.random.choice(list(blocks))
        types = [type for _, type in blocks[number]]
        values = [self.value(type, 0.2) for type in types]
        return f"^bb{number}({', '.join(values)} : {', '.join(types)})" if types else f"^bb{number}"

    def end(self, blocks: dict[int, list[tuple[str, str]]]) -> None:
        kind = self.random.random()
        if kind < 0.35:
            self.line(f"cf.br {self.target(blocks)}")
        elif kind < 0.7:
            self.line(f"cf.cond_br {self.value('i1', 0.15)}, {self.target(blocks)}, {self.target(blocks)}")
        elif kind < 0.82:
            cases = self.random.sample(range(-1, 5), self.random.choice([0, 1, 2, 3]))
            targets = ["default: " + self.target(blocks), *(f"{case}: {self.target(blocks)}" for case in cases)]
            self.line(f"cf.switch {self.value('i32', 0.15)} : i32, [ {', '.join(targets)} ]")
        else:
            values = [self.value(type, 0.2) for type in self.results]
            self.line(f"return {', '.join(values)} : {', '.join(self.results)}")


class Affine(Family):
    """Affine loops, maps of maps, minima and maxima."""

    arguments = ["index", "index", "memref<64xi32>", "i32", "i32"]

    def step(self) -> None:
        kinds = [self.apply, self.extreme, self.access, self.symbol, self.condition, self.loop]
        self.random.choices(kinds, [35, 15, 10, 5, 5, 20 if len(self.scopes) < 4 else 0])[0]()

    def expression(self, dims: int, symbols: int, depth: int = 0) -> str:
        kind = self.random.random()
        if depth > 2 or kind < 0.35:
            inputs = [f"d{i}" for i in range(dims)] * 2 + [f"s{i}" for i in range(symbols)]
            return self.random.choice([*inputs, str(self.random.choice([0, 1, 2, 4, 8, -1, -4, 16]))])
        inner = self.expression(dims, symbols, depth + 1)
        if kind < 0.65:
            return f"({inner} {self.random.choice('+-')} {self.expression(dims, symbols, depth + 1)})"
        if kind < 0.8:
            return f"({inner} * {self.random.choice([0, 1, 2, 4, 8, -1, 3])})"
        return (
            f"({inner} {self.random.choice(['floordiv', 'ceildiv', 'mod'])} {self.random.choice([1, 2, 4, 8, 16, 3])})"
        )

    def inputs(self) -> tuple[str, str, int, int]:
        """The names of dimensions and symbols, what they are applied to, and how many there are."""
        dims = [self.any_index() for _ in range(self.random.choice([0, 1, 1, 2, 2]))]
        symbols = [self.value("symbol", 0) for _ in range(self.random.choice([0, 0, 1, 2]))]
        names = f"({', '.join(f'd{i}' for i in range(len(dims)))})"
        values = f"({', '.join(dims)})"
        if symbols:
            names += f"[{', '.join(f's{i}' for i in range(len(symbols)))}]"
            values += f"[{', '.join(symbols)}]"
        return names, values, len(dims), len(symbols)

    def any_index(self) -> str:
        return self.random.choice([*self.visible("symbol"), *self.visible("dim")])

    def map(self, results: int) -> str:
        names, values, dims, symbols = self.inputs()
        expressions = ", ".join(self.expression(dims, symbols) for _ in range(results))
        return f"affine_map<{names} -> ({expressions})>{values}"

    def apply(self) -> None:
        self.emit(f"affine.apply {self.map(1)}", "dim")

    def extreme(self) -> None:
        name = self.name()
        self.line(f"{name} = affine.{self.random.choice(['min', 'max'])} {self.map(self.random.choice([1, 2, 3]))}")
        self.line(f'"test.use"({name}) : (index) -> ()')

    def access(self) -> None:
        buffer, op = self.value("memref<64xi32>", 0), self.random.choice(["+", "*", "mod", "floordiv"])
        index = f"{self.any_index()} {op} {self.random.choice([1, 2, 4])}"
        loaded = self.emit(f"affine.load {buffer}[{index}] : memref<64xi32>", "i32")
        self.line(f"affine.store {loaded}, {buffer}[{self.any_index()}] : memref<64xi32>")

    def symbol(self) -> None:
        self.emit(f"arith.constant {self.random.choice([0, 1, 4, 8])} : index", "symbol")

    def condition(self) -> None:
        names, values, dims, symbols = self.inputs()
        test = f"{self.expression(dims, symbols)} {self.random.choice(['>=', '=='])} 0"
        self.line(f"affine.if affine_set<{names} : ({test})>{values} {{")
        self.line('  "test.inside"() : () -> ()')
        self.line(self.random.choice(["}", "} else {\n}"]))

    def loop(self) -> None:
        low = self.random.choice(["0", "0", "2", self.map(1), f"max {self.map(2)}"])
        high = self.random.choice(["8", "16", "10", "0", self.map(1), f"min {self.map(2)}"])
        index, initial = self.name(), self.visible("i32")[0]
        result, carried = (self.name(), self.name()) if self.random.random() < 0.3 else ("", "")
        before, carries = (f"{result} = ", f" iter_args({carried} = {initial}) -> (i32)") if result else ("", "")
        self.line(f"{before}affine.for {index} = {low} to {high} step {self.random.choice([1, 1, 2, 4])}{carries} {{")
        self.scopes.append({"dim": [index]})
        for _ in range(self.random.choice([0, 1, 2, 3])):
            self.step()
        if result:
            self.line(f"affine.yield {self.random.choice([carried, initial])} : i32")
        self.scopes.pop()
        self.line("}")
        if result:
            self.line(f'"test.use"({result}) : (i32) -> ()')

    def function(self, size: int) -> str:
        self.scopes[0]["symbol"] = ["%v1", "%v2"]
        return super().function(size)


class Buffers(Family):
    """Allocations, casts and views of buffers, and what is read and written through them."""

    arguments = ["index", "index", "memref<4x8xi32>", "memref<?x?xi32>", "memref<64xi32>", "i32"]
    results = ["index", "i32"]

    def __init__(self, seed: int):
        super().__init__(seed)
        self.shapes: dict[str, list[int | None]] = {}
        self.layouts: dict[str, tuple[list[int | None], int | None] | None] = {}

    def function(self, size: int) -> str:
        for type, shape in zip(self.arguments[2:5], ([4, 8], [None, None], [64]), strict=True):
            self.shapes[type], self.layouts[type] = list(shape), None
        return super().function(size)

    def step(self) -> None:
        kinds = [self.allocate, self.cast, self.view, self.dimension, self.load, self.store, self.copy, self.escape]
        self.random.choices(kinds, [15, 15, 15, 15, 10, 15, 5, 10])[0]()

    def type_of(self, shape: list[int | None], layout: tuple[list[int | None], int | None] | None = None) -> str:
        def text(number: int | None) -> str:
            return "?" if number is None else str(number)

        suffix = ""
        if layout is not None:
            offset = "" if layout[1] == 0 else f", offset: {text(layout[1])}"
            suffix = f", strided<[{', '.join(map(text, layout[0]))}]{offset}>"
        type = f"memref<{'x'.join(map(text, shape))}xi32{suffix}>"
        self.shapes[type], self.layouts[type] = shape, layout
        return type

    def layout_of(self, type: str) -> tuple[list[int | None], int | None]:
        layout = self.layouts[type]
        if layout is not None:
            return layout
        strides: list[int | None] = [1]
        for size in reversed(self.shapes[type][1:]):
            strides.insert(0, None if size is None or strides[0] is None else strides[0] * size)
        return strides, 0

    def buffer(self) -> tuple[str, str]:
        type = self.random.choice([type for type in self.shapes if self.visible(type)])
        return self.value(type, 0), type

    def index(self) -> str:
        return self.value("index", 0.5)

    def number(self, *choices: int) -> str:
        if self.random.random() < 0.5:
            return self.emit(f"arith.constant {self.random.choice(choices)} : index", "index")
        return self.random.choice(self.visible("index")[:2])

    def allocate(self) -> None:
        shape: list[int | None] = [self.random.choice([4, 8, None]) for _ in range(self.random.choice([1, 2]))]
        sizes = [self.number(4, 8) for size in shape if size is None]
        type = self.type_of(shape)
        self.emit(f"memref.{self.random.choice(['alloc', 'alloca'])}({', '.join(sizes)}) : {type}", type)

    def cast(self) -> None:
        buffer, type = self.buffer()
        shape = [None if self.random.random() < 0.5 else size for size in self.shapes[type]]
        layout = self.layouts[type]
        if layout is not None:
            strides = [None if self.random.random() < 0.3 else stride for stride in layout[0]]
            layout = strides, None if self.random.random() < 0.3 else layout[1]
        target = self.type_of(shape, layout)
        self.emit(f"memref.cast {buffer} : {type} to {target}", target)

    def view(self) -> None:
        buffer, type = self.buffer()
        strides, offset = self.layout_of(type)
        lists: tuple[list[int | str], list[int | str], list[int | str]] = ([], [], [])
        for size in self.shapes[type]:
            length = 1 if size == 1 else self.random.choice([size or 1, 1, self.number(1)])
            first = [0, 1] if length == 1 and size is not None and size > 1 else [0]
            lists[0].append(self.random.choice([*first, self.number(0)]))
            lists[1].append(length)
            lists[2].append(self.random.choice([1, 1, 1, self.number(1)]))
        starts, sizes, steps = ([n if isinstance(n, int) else None for n in numbers] for numbers in lists)
        for start, stride in zip(starts, strides, strict=True):
            moved = _product(start, stride)
            offset = None if offset is None or moved is None else offset + moved
        target = self.type_of(sizes, ([_product(a, b) for a, b in zip(strides, steps, strict=True)], offset))
        parts = " ".join(f"[{', '.join(map(str, numbers))}]" for numbers in lists)
        self.emit(f"memref.subview {buffer}{parts} : {type} to {target}", target)

    def dimension(self) -> None:
        buffer, type = self.buffer()
        index = self.emit(f"arith.constant {self.random.randrange(len(self.shapes[type]))} : index", "index")
        self.emit(f"memref.dim {buffer}, {index} : {type}", "index")

    def place(self) -> tuple[str, str]:
        buffer, type = self.buffer()
        return f"{buffer}[{', '.join(self.index() for _ in self.shapes[type])}]", type

    def load(self) -> None:
        place, type = self.place()
        self.emit(f"memref.load {place} : {type}", "i32")

    def store(self) -> None:
        place, type = self.place()
        self.line(f"memref.store {self.value('i32')}, {place} : {type}")

    def copy(self) -> None:
        buffer, type = self.buffer()
        others = [
            (name, other)
            for other, shape in self.shapes.items()
            if shape == self.shapes[type] and None not in shape
            for name in self.visible(other)
        ]
        target, other = self.random.choice([*others, (buffer, type)])
        self.line(f"memref.copy {buffer}, {target} : {type} to {other}")

    def escape(self) -> None:
        buffer, type = self.buffer()
        self.line(f'"test.use"({buffer}) : ({type}) -> ()')


def _product(a: int | None, b: int | None) -> int | None:
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else a * b


FAMILIES: Sequence[type[Family]] = (Arithmetic, Structured, Branches, Affine, Buffers)


def program(family: type[Family], seeds: range, size: int) -> str:
    return "\n".join(family(seed).function(size) for seed in seeds)
