"""How pipelines are put together and run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, Region

from tilewright.dialects.builtin import ModuleOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import DiagnosedError, collect, emit_error, emit_op_error, emit_remark, emit_warning
from tilewright.ir.pass_manager import Pass, Pipeline, build_pipeline, make_pass, run_pipeline
from tilewright.ir.pass_options import options_of
from tilewright.ir.pipeline_text import parse_pipeline


class Mode(StrEnum):
    FAST = "fast"
    EXACT = "exact"


@dataclass(frozen=True)
class Marks(Pass):
    """Notes where it ran."""

    name = "marks"
    anchor = None

    label: str = "mark"
    count: int = field(default=1, metadata={"help": "how often"})
    quiet: bool = False
    limit: int | None = None
    rows: tuple[int, ...] = ()
    mode: Mode = Mode.EXACT
    camelCase: bool = field(default=False, metadata={"option": "camelCase"})

    def apply(self, ctx: Context, op: Operation) -> None:
        visits.append(f"{self.label}:{op.name}")


class OnFunctions(Pass):
    """Runs on functions alone."""

    name = "on-functions"
    anchor = "func.func"

    def apply(self, ctx: Context, op: Operation) -> None:
        visits.append(f"{self.name}:{op.name}")


class Complains(Pass):
    """Reports a warning and two errors."""

    name = "complains"

    def apply(self, ctx: Context, op: Operation) -> None:
        emit_warning(op, "careful")
        emit_error(op, "wrong")
        emit_op_error(op, "also wrong")


class Remarks(Pass):
    """Reports, and is content."""

    name = "remarks"

    def apply(self, ctx: Context, op: Operation) -> None:
        emit_remark(op, "seen")


class Breaks(Pass):
    """Leaves a function without a terminator behind."""

    name = "breaks"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, ModuleOp)
        op.body.block.add_op(FuncOp("broken", ((), ()), Region(Block())))


visits: list[str] = []
PASSES = {p.name: p for p in (Marks, OnFunctions, Complains, Remarks, Breaks)}


@pytest.fixture(autouse=True)
def forget_visits() -> None:
    visits.clear()


@pytest.fixture
def module() -> ModuleOp:
    functions = [FuncOp.external(name, (), ()) for name in ("f", "g")]
    return ModuleOp([*functions])


def run(module: ModuleOp, text: str, verify_each: bool = True) -> None:
    run_pipeline(Context(), module, build_pipeline(parse_pipeline(text), PASSES.get), verify_each)


def test_passes_run_in_order_on_each_operation_of_their_anchor(module: ModuleOp) -> None:
    run(module, "builtin.module(marks{label=a},func.func(marks{label=b},marks{label=c}),marks{label=d})")
    assert visits == [
        "a:builtin.module",
        *["b:func.func", "c:func.func"] * 2,
        "d:builtin.module",
    ]


def test_any_stands_for_every_isolated_operation(module: ModuleOp) -> None:
    run(module, "any(any(marks))")
    assert visits == ["mark:func.func"] * 2


def test_flags_nest_by_themselves(module: ModuleOp) -> None:
    pipeline = Pipeline()
    for step in (OnFunctions(), OnFunctions(), Marks(), OnFunctions()):
        pipeline.add(step)
    assert str(pipeline) == "builtin.module(func.func(on-functions,on-functions),marks,func.func(on-functions))"
    run_pipeline(Context(), module, pipeline)
    assert visits == ["on-functions:func.func"] * 4 + ["mark:builtin.module"] + ["on-functions:func.func"] * 2


@pytest.mark.parametrize(
    "text, words",
    [
        ("builtin.module(nonsense)", "'nonsense' does not refer to a registered pass or pass pipeline"),
        ("builtin.module(on-functions)", "Can't add pass 'OnFunctions' restricted to 'func.func' on a PassManager"),
        ("func.func(marks)", "can't run 'func.func' pass manager on 'builtin.module' op"),
        ("any(on-functions)", "trying to schedule pass 'OnFunctions' on an unsupported operation"),
        ("builtin.module(marks{nonsense=1})", "<Pass-Options-Parser>: no such option nonsense"),
        ("builtin.module(marks{count=x})", "for the --count option: 'x' value invalid for integer argument!"),
        ("builtin.module(marks{count})", "for the --count option: requires a value!"),
        ("builtin.module(marks{quiet=maybe})", "'maybe' is invalid value for boolean argument! Try 0 or 1"),
        ("builtin.module(marks{mode=slow})", "for the --mode option: Cannot find option named 'slow'!"),
    ],
)
def test_mistakes_are_worded_as_mlir_words_them(module: ModuleOp, text: str, words: str) -> None:
    with pytest.raises(DiagnosedError) as error:
        run(module, text)
    assert words in str(error.value)


def test_options_are_read_by_the_type_of_their_field() -> None:
    made = make_pass(Marks, "label='a b' count=0x10 quiet limit=3 rows=1,2 mode=fast camelCase=true")
    assert made == Marks("a b", 16, True, 3, (1, 2), Mode.FAST, True)
    assert make_pass(Marks, "quiet=false") == Marks()


def test_options_describe_themselves() -> None:
    shown = {option.name: option.placeholder for option in options_of(Marks)}
    assert shown == {
        "label": "string",
        "count": "int",
        "quiet": "bool",
        "limit": "int",
        "rows": "int,...",
        "mode": "fast|exact",
        "camelCase": "bool",
    }


def test_a_pass_that_reports_an_error_has_failed_and_all_it_said_is_kept(module: ModuleOp) -> None:
    with pytest.raises(DiagnosedError) as error:
        run(module, "builtin.module(complains,marks)")
    assert [str(d) for d in error.value.diagnostics] == [
        "warning: careful",
        "error: wrong",
        "error: 'builtin.module' op also wrong",
    ]
    assert not visits


def test_milder_reports_go_on(module: ModuleOp) -> None:
    with collect() as found:
        run(module, "builtin.module(remarks,marks)")
    assert [str(d) for d in found] == ["remark: seen"]
    assert visits


def test_what_a_pass_leaves_behind_is_checked(module: ModuleOp) -> None:
    with pytest.raises(DiagnosedError) as error:
        run(module, "builtin.module(breaks,marks)")
    assert "empty block: expect at least a terminator" in str(error.value)
    assert "this is what --breaks left behind" in str(error.value)
    last = module.body.block.last_op
    assert last is not None
    last.detach()
    run(module, "builtin.module(breaks,marks)", verify_each=False)


def test_an_operation_erased_by_a_pass_is_not_visited_later(module: ModuleOp) -> None:
    first, second = module.body.block.ops

    class EraseOther(Pass):
        name = "erase-other"
        anchor = "func.func"

        def apply(self, ctx: Context, op: Operation) -> None:
            visits.append("erase")
            op.attributes["kept"] = UnitAttr()
            if second.parent:
                second.detach()

    pipeline = Pipeline()
    pipeline.add(EraseOther())
    run_pipeline(Context(), module, pipeline)
    assert visits == ["erase"]
    assert list(module.body.block.ops) == [first]
