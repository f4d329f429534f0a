"""Random kernels as small trees, as MLIR text, and as what one thread after the other computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

VARIABLES = 3
OPERATIONS = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "xori": lambda a, b: a ^ b,
    "andi": lambda a, b: a & b,
    "maxsi": max,
    "shrsi": lambda a, b: a >> (b & 3),
}
COMPARISONS = {"eq": lambda a, b: a == b, "slt": lambda a, b: a < b, "sge": lambda a, b: a >= b}


def wrap(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


operands = st.one_of(
    st.tuples(st.just("var"), st.integers(0, VARIABLES - 1)),
    st.tuples(st.just("const"), st.integers(-3, 9)),
    st.tuples(st.just("tid"), st.just(0)),
    st.tuples(st.just("count"), st.just(0)),
)
conditions = st.tuples(operands, st.sampled_from(sorted(COMPARISONS)), operands)
variables = st.integers(0, VARIABLES - 1)
simple = st.one_of(
    st.tuples(st.just("set"), variables, st.sampled_from(sorted(OPERATIONS)), operands, operands),
    st.tuples(st.just("private"), variables, operands, operands),
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    bodies = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just("if"), conditions, bodies, st.lists(inner, max_size=2)),
        st.tuples(st.just("for"), operands, bodies),
        st.tuples(st.just("while"), variables, bodies),
    )


statements = st.recursive(simple, _nested, max_leaves=8)
together = st.tuples(st.just("shuffle"), variables, st.sampled_from(["xor", "up", "down", "idx"]), st.integers(0, 5))
programs = st.lists(st.one_of(statements, statements, together), min_size=1, max_size=5)


@dataclass
class Text:
    """Writes a program as a kernel that takes and gives `VARIABLES` numbers per thread."""

    lines: list[str] = field(default_factory=list[str])
    names: int = 0

    def fresh(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def emit(self, text: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def operand(self, operand: Any, variables: list[str], count: str) -> str:
        kind, number = operand
        if kind == "var":
            return variables[number]
        if kind == "const":
            return self.emit(f"arith.constant {number} : i32")
        return "%tid" if kind == "tid" else count

    def block(self, body: list[Any], variables: list[str], count: str) -> list[str]:
        for statement in body:
            variables = getattr(self, "_" + statement[0])(variables, count, *statement[1:])
        return variables

    def _set(self, variables: list[str], count: str, target: int, name: str, a: Any, b: Any) -> list[str]:
        left, right = self.operand(a, variables, count), self.operand(b, variables, count)
        if name == "shrsi":
            right = self.emit(f"arith.andi {right}, %three : i32")
        return _with(variables, target, self.emit(f"arith.{name} {left}, {right} : i32"))

    def _private(self, variables: list[str], count: str, target: int, place: Any, value: Any) -> list[str]:
        """Store to one of eight private places, then read the one after it."""
        place, value = self.operand(place, variables, count), self.operand(value, variables, count)
        at = self.emit(f"arith.andi {place}, %seven : i32")
        index = self.emit(f"arith.index_cast {at} : i32 to index")
        self.lines.append(f"memref.store {value}, %p[{index}] : memref<8xi32, 5>")
        following = self.emit(f"arith.addi {at}, %one : i32")
        wrapped = self.emit(f"arith.andi {following}, %seven : i32")
        index = self.emit(f"arith.index_cast {wrapped} : i32 to index")
        return _with(variables, target, self.emit(f"memref.load %p[{index}] : memref<8xi32, 5>"))

    def _if(self, variables: list[str], count: str, condition: Any, yes: list[Any], no: list[Any]) -> list[str]:
        a, name, b = condition
        left, right = self.operand(a, variables, count), self.operand(b, variables, count)
        asked = self.emit(f"arith.cmpi {name}, {left}, {right} : i32")
        return self._region(f"scf.if {asked} -> ({TYPES})", [(yes, ""), (no, "")], variables, count)

    def _for(self, variables: list[str], count: str, times: Any, body: list[Any]) -> list[str]:
        limit = self.emit(f"arith.andi {self.operand(times, variables, count)}, %three : i32")
        return self._counted(variables, limit, body)

    def _counted(self, variables: list[str], limit: str, body: list[Any]) -> list[str]:
        counter, inner = self.fresh(), [self.fresh() for _ in variables]
        pairs = ", ".join(f"{name} = {value}" for name, value in zip(inner, variables, strict=True))
        head = f"scf.for {counter} = %zero to {limit} step %one iter_args({pairs}) -> ({TYPES}) : i32"
        return self._region(head, [(body, "")], inner, counter)

    def _while(self, variables: list[str], count: str, which: int, body: list[Any]) -> list[str]:
        """As long as a counter is below the lowest two bits of a variable, which the body may change."""
        names, inner = [self.fresh() for _ in range(VARIABLES + 1)], [self.fresh() for _ in range(VARIABLES + 1)]
        types = f"i32, {TYPES}"
        pairs = ", ".join(f"{n} = {v}" for n, v in zip(names, ["%zero", *variables], strict=True))
        result = self.fresh()
        self.lines.append(f"{result}:{VARIABLES + 1} = scf.while ({pairs}) : ({types}) -> ({types}) {{")
        limit = self.emit(f"arith.andi {names[1 + which]}, %three : i32")
        below = self.emit(f"arith.cmpi slt, {names[0]}, {limit} : i32")
        self.lines.append(f"scf.condition({below}) {', '.join(names)} : {types}")
        arguments = ", ".join(f"{name}: i32" for name in inner)
        self.lines.append(f"}} do {{ ^bb0({arguments}):")
        values = self.block(body, inner[1:], inner[0])
        following = self.emit(f"arith.addi {inner[0]}, %one : i32")
        self.lines.append(f"scf.yield {', '.join([following, *values])} : {types} }}")
        return [f"{result}#{number + 1}" for number in range(VARIABLES)]

    def _region(self, head: str, bodies: list[Any], variables: list[str], count: str) -> list[str]:
        result = self.fresh()
        self.lines.append(f"{result}:{VARIABLES} = {head} {{")
        for number, (body, _) in enumerate(bodies):
            if number:
                self.lines.append("} else {")
            values = self.block(body, variables, count)
            self.lines.append(f"scf.yield {', '.join(values)} : {TYPES}")
        self.lines.append("}")
        return [f"{result}#{number}" for number in range(VARIABLES)]

    def _shuffle(self, variables: list[str], count: str, target: int, mode: str, offset: int) -> list[str]:
        by = self.emit(f"arith.constant {offset} : i32")
        name = self.fresh()
        self.lines.append(f"{name}, {name}_ok = gpu.shuffle {mode} {variables[target]}, {by}, %width : i32")
        return _with(variables, target, name)


TYPES = ", ".join(["i32"] * VARIABLES)


def _with(variables: list[str], target: int, name: str) -> list[str]:
    return [name if number == target else old for number, old in enumerate(variables)]


def kernel_text(program: list[Any], threads: int, width: int) -> str:
    """A kernel of blocks with so many threads, which stores its variables in %out, one row each."""
    text = Text()
    start = ["%tid", text.emit("arith.muli %tid, %seven : i32"), text.emit("arith.xori %tid, %one : i32")]
    final = text.block(program, start, "%zero")
    stores = "\n".join(
        f"%row{n} = arith.constant {n} : index\nmemref.store {value}, %out[%row{n}, %me] : memref<{VARIABLES}x?xi32>"
        for n, value in enumerate(final)
    )
    body = "\n".join(text.lines)
    return f"""gpu.module @m {{ gpu.func @k(%out: memref<{VARIABLES}x?xi32>) private(%p : memref<8xi32, 5>) kernel {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %three = arith.constant 3 : i32
      %seven = arith.constant 7 : i32
      %width = arith.constant {width} : i32
      %threads = arith.constant {threads} : index
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %base = arith.muli %b, %threads : index
      %me = arith.addi %base, %t : index
      %tid = arith.index_cast %me : index to i32
      {body}
      {stores}
      gpu.return }} }}"""


@dataclass
class Thread:
    """One thread, on its own."""

    tid: int
    variables: list[int]
    private: list[int] = field(default_factory=lambda: [0] * 8)

    def value(self, operand: Any, count: int) -> int:
        kind, number = operand
        return {"var": lambda: self.variables[number], "const": lambda: number, "tid": lambda: self.tid}.get(
            kind, lambda: count
        )()

    def block(self, body: list[Any], count: int) -> None:
        for statement in body:
            self.step(statement, count)

    def step(self, statement: Any, count: int) -> None:
        match statement:
            case ("set", target, name, a, b):
                self.variables[target] = wrap(OPERATIONS[name](self.value(a, count), self.value(b, count)))
            case ("private", target, place, value):
                at = self.value(place, count) & 7
                self.private[at] = self.value(value, count)
                self.variables[target] = self.private[(at + 1) & 7]
            case ("if", (a, name, b), yes, no):
                self.block(yes if COMPARISONS[name](self.value(a, count), self.value(b, count)) else no, count)
            case ("for", times, body):
                for number in range(self.value(times, count) & 3):
                    self.block(body, number)
            case ("while", which, body):
                number = 0
                while number < self.variables[which] & 3:
                    self.block(body, number)
                    number += 1
            case _:
                raise AssertionError(statement)


def expected(program: list[Any], blocks: int, threads: int, width: int) -> list[list[int]]:
    """What each thread ends with, computed thread after thread."""
    everyone = [Thread(tid, [tid, wrap(tid * 7), tid ^ 1]) for tid in range(blocks * threads)]
    for statement in program:
        if statement[0] == "shuffle":
            _shuffle(everyone, threads, width, *statement[1:])
        else:
            for thread in everyone:
                thread.step(statement, 0)
    return [thread.variables for thread in everyone]


def _shuffle(everyone: list[Thread], threads: int, width: int, target: int, mode: str, offset: int) -> None:
    old = [thread.variables[target] for thread in everyone]
    for number, thread in enumerate(everyone):
        lane = number % threads % width
        aim = {"xor": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": offset}[mode]
        if 0 <= aim < width:
            thread.variables[target] = old[number - lane + aim]
