"""Lanes that part and meet again compute what each thread would on its own."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from emulated import emulator, run
from helpers import lowered
from hypothesis import given, settings
from hypothesis import strategies as st
from random_kernels import VARIABLES, expected, kernel_text, programs, wrap

SHAPES = [(1, 32), (3, 64), (2, 48), (2, 5)]
"""Blocks and their threads; the last two leave lanes of a wave empty."""


@settings(max_examples=60, deadline=None)
@given(programs, st.sampled_from(SHAPES), st.booleans(), st.booleans())
def test_structured_kernels_agree_with_single_threads(
    program: list[Any], shape: tuple[int, int], branches: bool, careful: bool
):
    blocks, threads = shape
    if threads % 32:
        program = [statement for statement in program if statement[0] != "shuffle"]
    text = kernel_text(program, threads, 32)
    module = lowered(text, *(["convert-scf-to-cf"] if branches else []))
    out = np.zeros((VARIABLES, blocks * threads), np.int32)
    run(module, out, grid=(blocks,), block=(threads,), device=emulator("sm_90", check=careful))
    assert out.T.tolist() == expected(program, blocks, threads, 32)


def random_graph(chance: random.Random) -> list[tuple[int, int, int, int]]:
    """Blocks that change a number and go to one of two others, depending on a bit of it."""
    count = chance.randint(2, 7)
    return [
        (chance.randrange(count), chance.randrange(count), chance.choice([3, 5, 7]), chance.randrange(100))
        for _ in range(count)
    ]


def graph_text(graph: list[tuple[int, int, int, int]], fuel: int) -> str:
    """Every block burns fuel; whoever has none left stops. Nothing keeps loops from having several ways in."""
    blocks = list[str]()
    for number, (yes, no, factor, summand) in enumerate(graph):
        blocks.append(f"""
      ^b{number}(%v{number}: i32, %f{number}: i32):
        %k{number} = arith.constant {factor} : i32
        %s{number} = arith.constant {summand} : i32
        %m{number} = arith.muli %v{number}, %k{number} : i32
        %n{number} = arith.addi %m{number}, %s{number} : i32
        %g{number} = arith.subi %f{number}, %one : i32
        %e{number} = arith.cmpi sle, %g{number}, %zero : i32
        cf.cond_br %e{number}, ^end(%n{number} : i32), ^c{number}
      ^c{number}:
        %h{number} = arith.shrsi %n{number}, %one : i32
        %b{number} = arith.andi %h{number}, %one : i32
        %q{number} = arith.cmpi eq, %b{number}, %zero : i32
        cf.cond_br %q{number}, ^b{yes}(%n{number}, %g{number} : i32, i32), ^b{no}(%n{number}, %g{number} : i32, i32)""")
    return f"""gpu.module @m {{ gpu.func @k(%out: memref<?xi32>) kernel {{
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %fuel = arith.constant {fuel} : i32
        %t = gpu.thread_id x
        %v = arith.index_cast %t : index to i32
        %more = arith.addi %fuel, %v : i32
        cf.br ^b0(%v, %more : i32, i32)
      {"".join(blocks)}
      ^end(%r: i32):
        memref.store %r, %out[%t] : memref<?xi32>
        gpu.return }} }}"""


def walk(graph: list[tuple[int, int, int, int]], value: int, fuel: int) -> int:
    number = 0
    while True:
        yes, no, factor, summand = graph[number]
        value, fuel = wrap(value * factor + summand), fuel - 1
        if fuel <= 0:
            return value
        number = no if value >> 1 & 1 else yes


@pytest.mark.parametrize("seed", range(25))
def test_any_graph_of_blocks_agrees_with_single_threads(seed: int):
    graph = random_graph(random.Random(seed))
    out = np.zeros(32, np.int32)
    run(graph_text(graph, 20), out, block=(32,), device=emulator("sm_90"))
    assert out.tolist() == [walk(graph, thread, 20 + thread) for thread in range(32)]
