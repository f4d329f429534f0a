"""The Python programs of the documents: they compute what NumPy does, and are as short as is claimed."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import EXAMPLES

import tilewright as tw
from tilewright.cli.main import main

IN_MLIR = sorted(path.stem for pattern in ("air_*.mlir", "gpu_*.mlir") for path in EXAMPLES.glob(pattern))
BESIDE_TRITON = "air_add", "air_softmax", "air_matmul", "air_layer_norm", "air_attention", "air_channel_allgather"
MOST_LINES = 25


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="example")


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("name", IN_MLIR)
def test_every_program_for_gpus_is_there_in_python(name: str) -> None:
    assert (EXAMPLES / f"{name}.py").is_file()


@pytest.mark.parametrize("name", BESIDE_TRITON)
def test_programs_beside_triton_are_short(name: str) -> None:
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text())
    parts = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.Assign)]
    lines = {line for part in parts for line in range(part.lineno, (part.end_lineno or 0) + 1)}
    assert 0 < len(lines) + 1 <= MOST_LINES, "with the decorator"


def test_add() -> None:
    add = example("air_add")["add"]
    for count in (1, 1000, 2048):
        a, b = draw(2, count)
        total = np.zeros_like(a)
        add(a, b, total)
        assert np.array_equal(total, a + b)


def test_softmax_and_layer_norm() -> None:
    softmax, layer_norm = example("air_softmax")["softmax"], example("air_layer_norm")["layer_norm"]
    for rows, columns in ((3, 300), (2, 512)):
        x, y = draw(rows, columns), np.zeros((rows, columns), np.float32)
        softmax(x, y, width=512)
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        assert np.allclose(y, powers / powers.sum(axis=1, keepdims=True), atol=1e-6)
        weight, bias = draw(2, columns)
        layer_norm(x, weight, bias, y, 1e-5, width=512)
        mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
        assert np.allclose(y, (x - mean) / np.sqrt(variance + 1e-5) * weight + bias, atol=1e-5)


def test_matmul() -> None:
    matmul = example("air_matmul")["matmul"]
    for m, n, k in ((64, 64, 16), (33, 70, 20)):
        a, b, c = draw(m, k), draw(k, n), np.zeros((m, n), np.float32)
        matmul(a, b, c, bm=32, bn=32, bk=8)
        assert np.allclose(c, a @ b, atol=1e-4)


@pytest.mark.parametrize("chip, dtype, causal", [("sm_90", np.float16, False), ("gfx942", np.float32, True)])
def test_attention(chip: str, dtype: Any, causal: bool) -> None:
    attention = example("air_attention")["attention"].options(chip=chip, settings={"check": "races"})
    (q,), (k, v) = draw(1, 40, 64).astype(dtype), draw(2, 70, 64).astype(dtype)
    y = np.zeros((40, 64), np.float32)
    attention(q, k, v, y, causal=causal)
    scores = q.astype(np.float32) @ k.T.astype(np.float32) / 8
    powers = np.where(np.tri(40, 70, dtype=bool) | (not causal), np.exp(scores), 0)
    assert np.allclose(y, powers @ v / powers.sum(axis=1, keepdims=True), atol=2e-3 if dtype == np.float16 else 1e-5)


@pytest.mark.parametrize("chip, instruction", [("sm_90", "mma.sync"), ("gfx942", "v_mfma")])
def test_attention_compiles(chip: str, instruction: str, tmp_path: Path) -> None:
    q, y = np.zeros((4, 64), np.float16), np.zeros((4, 64), np.float32)
    source = tmp_path / "attention.mlir"
    source.write_text(example("air_attention")["attention"].options(chip=chip).mlir(q, q, q, y), encoding="utf-8")
    assert main(["air", "compile", str(source), "--target", chip, "-o", str(tmp_path / "bundle")]) == 0
    (text,) = [
        path.read_text(encoding="utf-8") for path in (tmp_path / "bundle").iterdir() if path.suffix in (".ptx", ".s")
    ]
    assert instruction in text


def test_allgather() -> None:
    allgather = example("air_channel_allgather")["allgather"]
    sent, gathered = draw(16, 100), np.zeros((16, 100), np.float32)
    result = allgather.options(ranks=3).run(sent, gathered)
    assert all(np.array_equal(rank.arrays[1][:3], sent[:3]) for rank in result.ranks)


def test_stream() -> None:
    send = example("air_channel_stream")["send"]
    sent = np.arange(20 * 31, dtype=np.int32).reshape(20, 31)
    result = send(sent, np.zeros_like(sent))
    assert np.array_equal(result.ranks[1].arrays[1], sent)


def test_ring_and_exchange_print_what_they_found() -> None:
    ring = example("air_channel_ring")["exchange"]()
    assert sorted(ring.output.splitlines()) == [
        f"rank {rank} got {' '.join(str(10 * ((rank + 3) % 4) + k) for k in range(4))}" for rank in range(4)
    ]
    exchange = example("air_exchange")["exchange"]()
    assert sorted(exchange.output.splitlines()) == [f"rank {rank} found 100 101 102" for rank in range(3)]


def test_the_hang_and_the_race_are_found_at_their_lines() -> None:
    with pytest.raises(tw.Hang, match=r"gpu_hang.py:16:\d+: error: .* waits in this loop for ever"):
        example("gpu_hang")["wait"]()
    with pytest.raises(tw.Fault, match=r"gpu_race.py:17:\d+: error: data race"):
        example("gpu_race")["reverse"](np.arange(128, dtype=np.int32))
