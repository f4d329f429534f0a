"""What all passes on runtime sequences have in common: they know where everything came from, and take linear time."""

from __future__ import annotations

from collections.abc import Callable
from cProfile import Profile
from pathlib import Path
from pstats import Stats

import pytest
from helpers import TESTS, lowered
from xdsl.dialects.builtin import UnknownLoc

from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError, collect
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import run_pipeline
from tilewright.ir.split_input import DEFAULT_MARKER, split_input
from tilewright.passes.pipelines import NPU_DMA_LOWERING, passes_of, pipeline_of

PROGRAMS = TESTS / "filecheck" / "passes"
PASSES = {
    "assign_bd_ids": "aie-assign-bd-ids",
    "lower_core_reset": "aie-lower-core-reset",
    "lower_dma_channel_reset": "aie-lower-dma-channel-reset",
    "lower_dynamic_bd_pool": "aie-lower-dynamic-bd-pool{allow-while}",
    "lower_scratchpad_parameters": "aie-lower-scratchpad-parameters",
    "lower_set_lock": "aie-lower-set-lock",
    "materialize_bd_chains": "aie-materialize-bd-chains",
    "materialize_runtime_sequences": "aie-materialize-runtime-sequences",
    "unroll_runtime_sequence_loops": "aie-unroll-runtime-sequence-loops",
}

TASK = """
  %task{0} = aiex.dma_configure_task(%shim, MM2S, 0) {{
    aie.dma_bd(%a : memref<8xi32>)
    aie.end
  }} {{issue_token = true}}
  aiex.dma_start_task(%task{0})
  aiex.dma_await_task(%task{0})
  aiex.dma_free_task(%task{0})
"""
CARRIED = """
  %task{1} = scf.for %i{0} = %zero to %n step %one iter_args(%before{0} = %task{0}) -> (index) {{
    %next{0} = aiex.dma_configure_task(%shim, MM2S, 0) {{
      aie.dma_bd(%a : memref<8xi32>)
      aie.end
    }}
    aiex.dma_start_task(%before{0})
    aiex.dma_free_task(%before{0})
    scf.yield %next{0} : index
  }}
"""


@pytest.mark.parametrize("name", PASSES)
def test_every_operation_has_a_location(name: str) -> None:
    text = next(PROGRAMS.rglob(f"{name}.mlir")).read_text(encoding="utf-8")
    for _, part in split_input(text, DEFAULT_MARKER):
        module = lowered(part, PASSES[name])
        assert not [op.name for op in module.walk() if isinstance(op.location, UnknownLoc)]


def sequence(body: str) -> str:
    return f"""aie.device(npu1) {{
      %shim = aie.tile(0, 0)
      aie.shim_dma_allocation @in(%shim, MM2S, 0)
      aie.bd_chain @chain(%x: memref<8xi32>) {{
        aie.dma_bd(%x : memref<8xi32>)
        aie.end
      }}
      aie.runtime_sequence(%a: memref<8xi32>, %n: index, %go: i1) {{
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        {body}
      }}
    }}"""


def chains(count: int) -> str:
    start = "%task{0} = aiex.dma_start_bd_chain_for @chain(%a) : (memref<8xi32>) for @in"
    return sequence("\n".join(start.format(number) for number in range(count)))


def straight_tasks(count: int) -> str:
    return sequence("\n".join(TASK.format(number) for number in range(count)))


def branch_with_tasks(count: int) -> str:
    return sequence("scf.if %go {" + "\n".join(TASK.format(number) for number in range(count)) + "}")


def loops_in_a_row(count: int) -> str:
    first = "%task0 = aiex.dma_configure_task(%shim, MM2S, 0) { aie.dma_bd(%a : memref<8xi32>) aie.end }"
    return sequence("\n".join([first, *(CARRIED.format(number, number + 1) for number in range(count))]))


def long_loop(count: int) -> str:
    return sequence(
        f"%many = arith.constant {count} : index\nscf.for %i = %zero to %many step %one {{ {TASK.format('')} }}"
    )


def many_runs(count: int) -> str:
    runs = "aiex.run @sequence(%a, %n, %go) : (memref<8xi32>, index, i1)\n" * count
    called = sequence(TASK.format(0)).replace("aie.device(npu1)", "aie.device(npu1) @other")
    caller = f"aie.runtime_sequence(%a: memref<8xi32>, %n: index, %go: i1) {{ aiex.configure @other {{ {runs} }} }}"
    return f"{called}\naie.device(npu1) {{ {caller} }}"


@pytest.mark.parametrize(
    "program, flag",
    [
        pytest.param(chains, "aie-materialize-bd-chains", id="chains"),
        pytest.param(straight_tasks, "aie-assign-runtime-sequence-bd-ids", id="descriptors"),
        pytest.param(branch_with_tasks, "aie-lower-dynamic-bd-pool", id="pool: tasks in a branch"),
        pytest.param(loops_in_a_row, "aie-lower-dynamic-bd-pool", id="pool: tasks through loops"),
        pytest.param(long_loop, "aie-unroll-runtime-sequence-loops", id="unrolling"),
        pytest.param(many_runs, "aie-materialize-runtime-sequences", id="inlining"),
    ],
)
def test_work_is_linear(program: Callable[[int], str], flag: str) -> None:
    """Counts calls, which unlike seconds are the same every time."""
    lowered(program(1), flag)  # what is done once, such as imports
    few, many = (calls(program(count), flag) for count in (40, 160))
    assert many < 4.2 * few


def calls(text: str, flag: str) -> int:
    ctx = make_context()
    module, pipeline = parse_source(ctx, text, "program.mlir"), pipeline_of([flag])
    with Profile() as profile:
        run_pipeline(ctx, module, pipeline, verify_each=False)
    return int(vars(Stats(profile))["total_calls"])


def test_the_pipeline_is_upstreams() -> None:
    """Options aside, which widen what is accepted."""
    assert [step.name for step in passes_of(NPU_DMA_LOWERING)] == [
        "aie-materialize-bd-chains",
        "aie-substitute-shim-dma-allocations",
        "aie-unroll-runtime-sequence-loops",
        "canonicalize",
        "aie-decompose-large-dma-bd",
        "aie-lower-dynamic-bd-pool",
        "canonicalize",
        "aie-assign-runtime-sequence-bd-ids",
        "aie-dma-tasks-to-npu",
        "aie-lower-dma-channel-reset",
        "aie-dma-to-npu",
        "aie-lower-set-lock",
        "aie-lower-core-reset",
    ]


@pytest.mark.parametrize("channel, reach", [(0, 24), (1, 24)])
def test_descriptors_of_a_channel_run_out(channel: int, reach: int) -> None:
    def dma(count: int) -> str:
        blocks = [f"^{n}: aie.dma_bd(%b : memref<8xi32>) aie.next_bd ^{n + 1}\n" for n in range(count)]
        return f"""aie.device(npu1) {{
          %mem = aie.tile(0, 1)
          %b = aie.buffer(%mem) : memref<8xi32>
          %dma = aie.memtile_dma(%mem) {{
            %0 = aie.dma_start(S2MM, {channel}, ^0, ^{count})
          {"".join(blocks)}
          ^{count}: aie.end
          }}
        }}"""

    lowered(dma(reach), "aie-assign-bd-ids")
    with pytest.raises(DiagnosedError, match=rf"exhausted available BD IDs \(maximum {reach} available for channel "):
        lowered(dma(reach + 1), "aie-assign-bd-ids")


def test_there_are_at_most_32_parameters() -> None:
    lower = "aie-lower-scratchpad-parameters"
    declarations = [f"aiex.scratchpad_parameter @p{number} : i32" for number in range(33)]
    lowered("\n".join(declarations[:32]), lower)
    with pytest.raises(DiagnosedError) as caught, collect():
        lowered("\n".join(declarations), lower)
    (error,) = caught.value.diagnostics
    assert error.text.startswith("Module declares 33 parameters but the scratchpad supports at most 32.")
    assert len(error.notes) == 33


def test_parameter_file_that_cannot_be_written(tmp_path: Path) -> None:
    lower = f"aie-lower-scratchpad-parameters{{output-params-file={tmp_path}}}"
    with pytest.raises(DiagnosedError, match="failed to open params output file"):
        lowered("aiex.scratchpad_parameter @p : i32", lower)
