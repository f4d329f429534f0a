"""An operation that cannot be made into words is an error on every way to words, however deep it stands: never dropped.

What the lowering passes know is lowered by `compile`, so they are given programs here that claim to be lowered.
"""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.driver.compiled_design import design_from_text

DESCRIPTOR = "{\n aie.dma_bd(%a : memref<8xi32> len = 8) {bd_id = 0 : i32}\n aie.end\n }"
OPERATIONS = {
    "aiex.npu.dma_memcpy_nd": "(%a[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<8xi32>",
    "aiex.npu.dma_wait": "{symbol = @in}",
    "aiex.dma_configure_task": f"(%shim, MM2S, 0) {DESCRIPTOR}",
    "aiex.dma_configure_task_for": f"@in {DESCRIPTOR}",
    "aiex.npu.push_queue": "(0, 0, MM2S : 0) bd_id %zero repeat %zero {issue_token = true} : i32, i32",
    "aiex.npu.rtp_write": "(@rtp, 0, %zero) : i32",
    "memref.store": "%zero, %a[%i0] : memref<8xi32>",
    "memref.load": "%a[%i0] : memref<8xi32>",
    "memref.alloc": "() : memref<8xi32>",
    "affine.for": "%p = 0 to 4 {\n aiex.npu.write32(%zero, %zero) : i32, i32\n }",
    "scf.execute_region": "{\n aiex.npu.write32(%zero, %zero) : i32, i32\n scf.yield\n }",
    "scf.parallel": "(%p) = (%i0) to (%i1) step (%i1) {\n aiex.npu.write32(%zero, %zero) : i32, i32\n scf.reduce\n }",
}
ONLY_OUTSIDE = {
    "aiex.control_packet": "{address = 0 : ui32, data = array<i32: 1>, opcode = 0 : i32, stream_id = 0 : i32}",
    "aiex.set_lock": "(%lock, 1)",
    "aiex.core_reset": "(%core)",
    "aiex.dma_channel_reset": "(%core, MM2S, 0)",
    "aiex.sync_scratchpad_parameters_from_host": "",
}
NESTINGS = {
    "sequence": "{}",
    "loop": "scf.for %k = %i0 to %n step %i1 {{\n{}\n}}",
    "branch": "scf.if %c {{\n{}\n}}",
    "other branch": "scf.if %d {{\n}} else {{\n{}\n}}",
    "condition of a loop": "scf.while : () -> () {{\n{}\nscf.condition(%d)\n}} do {{\nscf.yield\n}}",
    "case": "scf.index_switch %n\ncase 1 {{\n{}\nscf.yield\n}}\ndefault {{\nscf.yield\n}}",
    "loop in a branch in a loop": (
        "scf.for %k = %i0 to %n step %i1 {{\nscf.if %c {{\nscf.for %j = %i0 to %n step %i1 {{\n{}\n}}\n}}\n}}"
    ),
}
RESULTS = {"aiex.dma_configure_task", "aiex.dma_configure_task_for", "memref.load", "memref.alloc"}
CASES = [
    *((name, rest, nesting) for name, rest in OPERATIONS.items() for nesting in NESTINGS),
    *((name, rest, "sequence") for name, rest in ONLY_OUTSIDE.items()),
]
IDS = [f"{name} in {nesting}" for name, _, nesting in CASES]


def program(name: str, rest: str, nesting: str, *, known: bool) -> str:
    """A sequence whose numbers are constants with which the operation is reached, or arguments."""
    numbers = "%n = arith.constant 1 : index\n%c = arith.constant true\n%d = arith.constant false" if known else ""
    written = f"{'%r = ' if name in RESULTS else ''}{name}{'' if rest.startswith('(') else ' '}{rest}"
    return f"""aie.device(npu1) {{
      %shim = aie.tile(0, 0)
      %core = aie.tile(0, 2)
      %lock = aie.lock(%core, 0)
      %rtp = aie.buffer(%core) {{address = 1024 : i32, sym_name = "rtp"}} : memref<16xi32>
      aie.shim_dma_allocation @in(%shim, MM2S, 0)
      aie.runtime_sequence @s(%a: memref<8xi32>{"" if known else ", %n: index, %c: i1, %d: i1"}) {{
        {numbers}
        %zero = arith.constant 0 : i32
        %i0 = arith.constant 0 : index
        %i1 = arith.constant 1 : index
        {NESTINGS[nesting].format(written)}
      }}
    }}"""


def line_of(text: str, name: str) -> int:
    return next(
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip().removeprefix("%r = ").startswith(name)
    )


def check(said: str, text: str, name: str) -> None:
    """The operation is named with its line, and there is a note about what to do."""
    first, *others = said.splitlines()
    assert first.startswith(f"s.mlir:{line_of(text, name)}:")
    assert f"error: '{name}' op" in first
    assert any(": note: " in line and "see current operation" not in line for line in others), said


@pytest.mark.parametrize("name, rest, nesting", CASES, ids=IDS)
def test_native_code_refuses_it(name: str, rest: str, nesting: str):
    text = program(name, rest, nesting, known=False)
    with pytest.raises(tw.CompileError) as refused:
        design_from_text(text, "s.mlir").txn("s", n=1, c=1, d=0)
    check(str(refused.value), text, name)


@pytest.mark.parametrize("flag, known", [("--aie-npu-to-binary", True), ("--aie-npu-to-cpp", False)])
@pytest.mark.parametrize("name, rest, nesting", CASES, ids=IDS)
def test_translations_refuse_it(name, rest, nesting, flag, known, tmp_path, capsys, monkeypatch):
    text = program(name, rest, nesting, known=known)
    (tmp_path / "s.mlir").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["translate", flag, "s.mlir", "-o", "out"]) == 1
    check(capsys.readouterr().err, text, name)
    assert [path.name for path in tmp_path.iterdir()] == ["s.mlir"]


def test_what_depends_on_a_refused_operation_is_not_mentioned(tmp_path, capsys, monkeypatch):
    nested = "%x = scf.if %c -> (index) {{\n{}\nscf.yield %r : index\n}} else {{\nscf.yield %i0 : index\n}}"
    monkeypatch.setitem(NESTINGS, "value of a branch", nested)
    text = program("aiex.dma_configure_task", OPERATIONS["aiex.dma_configure_task"], "value of a branch", known=False)
    (tmp_path / "s.mlir").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["translate", "--aie-npu-to-cpp", "s.mlir", "-o", "out"]) == 1
    said = capsys.readouterr().err
    check(said, text, "aiex.dma_configure_task")
    assert said.count("error: ") == 1
