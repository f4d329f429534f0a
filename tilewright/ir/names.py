"""Names of values and blocks in printed text: `%0`, `%arg1`, `%c1_i32_0`, `^bb2`.

Names are dealt out before printing, as MLIR does it. A region is numbered in one sweep over its blocks, the regions
inside it follow and go on from where it stopped, so siblings reuse each other's numbers. Names asked for by operations
must be unique among those in sight; one counter, passed on to nested regions like the numbers, gives the suffixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.irdl import IRDLOperation

Names: TypeAlias = "Sequence[str | None]"
Namer: TypeAlias = "Callable[[Any], Names]"


def _constant_names(op: Operation) -> Names:
    """`%c5`, `%c5_i32`, `%true`, or `%cst` for what is not an integer."""
    value = op.properties.get("value")
    if not isinstance(value, IntegerAttr):
        return ("cst",)
    value = cast("IntegerAttr", value)
    number, type = value.value.data, value.type
    if isinstance(type, IndexType):
        return (f"c{number}",)
    if type.width.data == 1:
        return ("true" if number else "false",)
    return (f"c{number}_i{type.width.data}",)


def _dimension_names(op: Operation) -> Names:
    """`%block_id_x` for `gpu.block_id x`."""
    dimension: Any = op.properties["dimension"]
    return (f"{op.name.removeprefix('gpu.')}_{dimension.data.value}",)


RESULT_NAMES: dict[str, str | Namer] = {
    "arith.constant": _constant_names,
    "complex.constant": "cst",
    "func.constant": "f",
    "gpu.block_dim": _dimension_names,
    "gpu.block_id": _dimension_names,
    "gpu.cluster_block_id": _dimension_names,
    "gpu.cluster_dim": _dimension_names,
    "gpu.cluster_dim_blocks": _dimension_names,
    "gpu.cluster_id": _dimension_names,
    "gpu.global_id": _dimension_names,
    "gpu.grid_dim": _dimension_names,
    "gpu.thread_id": _dimension_names,
    "linalg.broadcast": "broadcasted",
    "linalg.map": "mapped",
    "linalg.reduce": "reduced",
    "linalg.transpose": "transposed",
    "memref.alloc": "alloc",
    "memref.alloca": "alloca",
    "memref.assume_alignment": "assume_align",
    "memref.cast": "cast",
    "memref.collapse_shape": "collapse_shape",
    "memref.dim": "dim",
    "memref.expand_shape": "expand_shape",
    "memref.extract_aligned_pointer_as_index": "intptr",
    "memref.memory_space_cast": "memspacecast",
    "memref.reinterpret_cast": "reinterpret_cast",
    "memref.reshape": "reshape",
    "memref.subview": "subview",
    "memref.transpose": "transpose",
    "memref.view": "view",
    "tensor.cast": "cast",
    "tensor.collapse_shape": "collapsed",
    "tensor.concat": "concat",
    "tensor.dim": "dim",
    "tensor.expand_shape": "expanded",
    "tensor.extract": "extracted",
    "tensor.extract_slice": "extracted_slice",
    "tensor.from_elements": "from_elements",
    "tensor.gather": "gather",
    "tensor.generate": "generated",
    "tensor.insert": "inserted",
    "tensor.insert_slice": "inserted_slice",
    "tensor.pad": "padded",
    "tensor.rank": "rank",
    "tensor.reshape": "reshape",
    "tensor.scatter": "scatter",
    "tensor.splat": "splat",
    "vector.vscale": "vscale",
}
"""Result names of upstream operations. Ours say so themselves, with a method `result_names`."""


def _inputs_then(name: str) -> Callable[[Operation, int], Names]:
    """`%in`, `%in_0` ... for the elements that come from inputs, and `name` for those of the outputs, one for each."""

    def names(op: Operation, region_index: int) -> Names:
        outputs = getattr(op, "outputs", None)
        # `linalg.reduce` and its like have one output of another name.
        count = len(outputs) if outputs is not None else 1
        return ("in",) * (len(op._operands) - count) + (name,) * count

    return names


BLOCK_ARGUMENT_NAMES: dict[str, Callable[[Operation, int], Names]] = {
    "linalg.generic": _inputs_then("out"),
    "linalg.map": _inputs_then("init"),
    "linalg.reduce": _inputs_then("init"),
}
"""Names of entry block arguments of upstream operations; ours have a method `block_argument_names`."""

DEFAULT_DIALECTS = {
    "builtin.module": "builtin",
    "func.func": "func",
    "emitc.do": "emitc",
    "emitc.expression": "emitc",
    "emitc.file": "emitc",
    "emitc.for": "emitc",
    "emitc.func": "emitc",
    "emitc.if": "emitc",
    "emitc.switch": "emitc",
    "pdl.pattern": "pdl",
    "pdl.rewrite": "pdl",
}
"""Operations in whose regions one dialect's operations print without its name; ours have `default_dialect`."""


def default_dialect_of(op: Operation) -> str:
    return getattr(op, "default_dialect", None) or DEFAULT_DIALECTS.get(op.name, "")


def result_namer(cls: type[Operation]) -> Namer | None:
    """What names the results of a class of operations, if any are named."""
    if (method := getattr(cls, "result_names", None)) is not None:
        return method
    named = RESULT_NAMES.get(cls.name)
    if isinstance(named, str):
        names = (named,)
        return lambda op: names
    if named is not None:
        return named
    # ODS names results after their declarations where there are several.
    if issubclass(cls, IRDLOperation) and len(cls.get_irdl_definition().results) > 1:
        return _declared_names
    return None


def _declared_names(op: IRDLOperation) -> Names:
    """Where several results are declared each declared one gives its name to the first value it stands for."""
    names: list[str | None] = []
    for name, _ in op.get_irdl_definition().results:
        group = getattr(op, name)
        count = 1 if isinstance(group, SSAValue) else len(group) if group is not None else 0
        names += [name] + [None] * (count - 1) if count else []
    return names


_PLAIN = re.compile(r"[A-Za-z$._-][A-Za-z0-9$._-]*")


def sanitized(name: str) -> str:
    """The name with the characters that identifiers cannot have spelled out."""
    if _PLAIN.fullmatch(name):
        return name
    text = "".join(
        c if c.isascii() and (c.isalnum() or c in "$._-") else "_" if c == " " else c.encode().hex().upper()
        for c in name
    )
    # A first character that was spelled out as a digit needs something before it.
    return text if name[0] == " " or not (name[0].isdigit() or not _PLAIN.match(name)) else "_" + text


class ValueNames:
    """The names of all values and blocks below one operation."""

    def __init__(self, top: Operation, *, generic: bool = False):
        self.values: dict[int, str] = {}
        """`%name` of a value, by its `id`."""
        self.results: dict[int, str] = {}
        """`%name = ` in front of an operation that has results, by its `id`."""
        self.blocks: dict[int, str] = {}
        """`^name` of a block, by its `id`."""
        self.max_depth = 0
        """How many regions lie around the innermost one."""
        self._generic = generic
        self._namers: dict[type[Operation], Namer | None] = {}
        self._next_value: int = 0
        self._next_argument = 0
        self._next_conflict = 0
        self._used: set[str] = set()
        self._used_in_order: list[str] = []
        self._name_all(top)

    def _name_all(self, top: Operation) -> None:
        # A stack instead of recursion: names are dealt out before the depth is known.
        pending: list[tuple[Region, int, int, int, int, int]] = [(region, 0, 0, 0, 0, 1) for region in top.regions]
        self._name_results(top)
        while pending:
            region, values, arguments, conflicts, in_sight, depth = pending.pop()
            if not self._generic:  # in the generic form MLIR never reuses a number
                self._next_value, self._next_argument, self._next_conflict = values, arguments, conflicts
            # Names of a sibling that is done may be used again.
            while len(self._used_in_order) > in_sight:
                self._used.discard(self._used_in_order.pop())
            self.max_depth = max(self.max_depth, depth)
            nested = self._name_region(region)
            if nested:
                counters = (self._next_value, self._next_argument, self._next_conflict, len(self._used_in_order))
                pending += [(region, *counters, depth + 1) for region in nested]

    def _name_region(self, region: Region) -> list[Region]:
        """Name what the region itself defines; give back the regions inside it."""
        nested: list[Region] = []
        block, index = region._first_block, 0
        if block is not None and block._args and not self._generic:
            self._name_entry_arguments(region, block)
        while block is not None:
            self.blocks[id(block)] = f"^bb{index}"
            if block._args:
                self._name_arguments(block, is_entry=index == 0)
            self._name_operations(block, nested)
            block, index = block._next_block, index + 1
        return nested

    def _name_entry_arguments(self, region: Region, block: Block) -> None:
        op = region.parent
        assert op is not None
        method = getattr(op, "block_argument_names", None)
        index = op.regions.index(region)
        if method is not None:
            names = cast(Names, method(index))
        elif op.name in BLOCK_ARGUMENT_NAMES:
            names = BLOCK_ARGUMENT_NAMES[op.name](op, index)
        else:
            return
        for argument, name in zip(block._args, names, strict=False):
            if name is not None:
                self.values[id(argument)] = f"%{self._unique(name)}"

    def _name_arguments(self, block: Block, is_entry: bool) -> None:
        values = self.values
        for argument in block._args:
            if id(argument) in values:
                continue
            if is_entry:
                name = self._unique(f"arg{self._next_argument}")
                self._next_argument += 1
                values[id(argument)] = f"%{name}"
            else:
                # Only entry blocks have `%arg` names; others are numbered with the results.
                values[id(argument)] = f"%{self._next_value}"
                self._next_value += 1

    def _name_operations(self, block: Block, nested: list[Region]) -> None:
        values, results = self.values, self.results
        namers, generic = self._namers, self._generic
        op = block._first_op
        while op is not None:
            if op.regions:
                nested += op.regions
            if op.results:
                cls = type(op)
                # The generic form has no names, only numbers.
                if generic:
                    namer = None
                elif cls in namers:
                    namer = namers[cls]
                else:
                    namer = namers[cls] = result_namer(cls)
                names = () if namer is None else namer(op)
                if len(op.results) > 1:
                    self._name_groups(op.results, names, op)
                elif names and names[0]:
                    values[id(op.results[0])] = name = f"%{self._unique(names[0])}"
                    results[id(op)] = f"{name} = "
                else:
                    values[id(op.results[0])] = name = f"%{self._next_value}"
                    results[id(op)] = f"{name} = "
                    self._next_value += 1
            op = op._next_op

    def _name_results(self, op: Operation) -> None:
        if op.results:
            namer = None if self._generic else result_namer(type(op))
            self._name_groups(op.results, namer(op) if namer else (), op)

    def _name_groups(self, results: Sequence[OpResult], names: Names, op: Operation) -> None:
        """A named result, like the first, begins a group that holds it and the results without name after it."""
        heads = {i: f"%{self._unique(name)}" for i, name in enumerate(names) if name}
        if 0 not in heads:
            # The first result always begins a group.
            heads = {0: f"%{self._next_value}", **heads}
            self._next_value += 1
        texts: list[str] = []
        for (start, name), end in zip(heads.items(), [*list(heads)[1:], len(results)], strict=True):
            if end - start == 1:
                self.values[id(results[start])] = name
                texts.append(name)
                continue
            for i in range(start, end):
                self.values[id(results[i])] = f"{name}#{i - start}"
            texts.append(f"{name}:{end - start}")
        self.results[id(op)] = f"{', '.join(texts)} = "

    def _unique(self, name: str) -> str:
        # The suffix counter is one for all names: `%c1_0`, then `%cst_1`.
        name = sanitized(name)
        unique = name
        while unique in self._used:
            unique = f"{name}_{self._next_conflict}"
            self._next_conflict += 1
        self._used.add(unique)
        self._used_in_order.append(unique)
        return unique
