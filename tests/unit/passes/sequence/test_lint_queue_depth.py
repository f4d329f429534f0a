"""The linter follows loops without running them to their end, and says what it would say of them written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.designs import SingleCoreGemm, WholeArrayGemm
from tilewright.device.hazards import findings
from tilewright.driver.compiled_design import GUARDED_LOWERING, compile_source, compile_text
from tilewright.ir.diagnostics import collect
from tilewright.txn.analysis import hazards

Step: TypeAlias = "str | tuple[int, list[Step]]"

PUSH = "aiex.npu.push_queue(0, 0, MM2S : {channel}) bd_id %c{bd} repeat %c0 {{issue_token = {token}}} : i32, i32"
WAIT = "aiex.npu.sync(%c0, %c0, %c1, %c{channel}, %c1, %c1) : i32, i32, i32, i32, i32, i32"
CHANGE = "aiex.npu.write32(%word{bd}, %c0) : i32, i32"
LEAVES = [
    *(PUSH.format(channel=c, bd=bd, token=token) for c in (0, 1) for bd in (0, 1) for token in ("true", "false")),
    *(WAIT.format(channel=channel) for channel in (0, 1)),
    *(CHANGE.format(bd=bd) for bd in (0, 1)),
]
STEPS = st.recursive(
    st.lists(st.sampled_from(LEAVES), max_size=4),
    lambda inner: st.lists(st.one_of(st.sampled_from(LEAVES), st.tuples(st.integers(0, 7), inner)), max_size=4),
    max_leaves=8,
)


def looped(steps: Sequence[Step], depth: int = 0) -> str:
    lines = list[str]()
    for step in steps:
        if isinstance(step, str):
            lines.append(step)
            continue
        count, body = step
        head = f"scf.for %i{depth} = %n0 to %n{count} step %n1 {{"
        lines += [head, looped(body, depth + 1), "}"]
    return "\n".join(lines)


def written_out(steps: Sequence[Step]) -> str:
    return "\n".join(step if isinstance(step, str) else "\n".join([written_out(step[1])] * step[0]) for step in steps)


def said(body: str) -> set[tuple[str, str]]:
    """Severities and what they are about, without the numbers of descriptors."""
    numbers = "\n".join(f"%n{number} = arith.constant {number} : index" for number in range(8))
    text = f"""aie.device(npu1) {{
      aie.runtime_sequence @s() {{
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %word0 = arith.constant 0x1D000 : i32
        %word1 = arith.constant 0x1D020 : i32
        {numbers}
        {body}
      }}
    }}"""
    with collect() as found:
        compile_text(text, "s.mlir", ("tilewright-lint-queue-depth",))
    return {(str(each.severity), each.text.replace("BD 1", "BD 0")) for each in found}


@settings(max_examples=40)
@given(STEPS)
def test_a_loop_is_as_risky_as_what_it_stands_for(steps: list[Step]):
    assert said(looped(steps)) == said(written_out(steps))


@pytest.mark.parametrize("count, is_risky", [(4, False), (5, True), (1_000_000_000, True)])
def test_long_loops_take_no_longer(count: int, is_risky: bool):
    body = f"""%many = arith.constant {count} : index
        scf.for %i = %n0 to %many step %n1 {{
          {LEAVES[0]}
        }}"""
    assert bool(said(body)) == is_risky


def test_deep_nests_take_no_longer():
    body = LEAVES[0] + "\n" + WAIT.format(channel=0)
    for depth in range(6):
        body = f"%m{depth} = arith.constant 1000 : index\nscf.for %j{depth} = %n0 to %m{depth} step %n1 {{\n{body}\n}}"
    assert said(body) == set()


@pytest.mark.parametrize(
    "gemm",
    [WholeArrayGemm("npu2", 4), WholeArrayGemm("npu1", 1, "bf16"), SingleCoreGemm()],
    ids=lambda gemm: type(gemm).__name__,
)
def test_products_are_clean_as_designs_and_as_words(gemm: WholeArrayGemm | SingleCoreGemm):
    """One linter sees all ways through the sequence, the other the words for some sizes: neither finds it likely."""
    with collect() as found:
        design = compile_source(gemm.program(), (*GUARDED_LOWERING, "tilewright-lint-queue-depth{likely-only}"))
    assert [each.text for each in found] == []
    m, k, n = gemm.multiples
    for turns in (1, 2, 3, 5):
        stream = tw.txn.decode(design.txn(M=turns * m, K=2 * k, N=turns * n))
        assert not any(finding.is_likely for finding in findings(hazards(stream, design.device().model)))
