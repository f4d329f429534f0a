"""Random token pipelines on the simulator: they give what NumPy gives, run after run, or an error says why not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.ir.diagnostics import file_position

sys.path.append(str(Path(__file__).parent))
from random_token_pipelines import TokenPipeline

SHORT = 10
PIPELINES = int(os.environ.get("TILEWRIGHT_RANDOM_PIPELINES", SHORT))
RUNS = 2


@pytest.mark.parametrize("seed", range(PIPELINES))
def test_a_random_pipeline_is_right_or_refused(seed: int) -> None:
    pipeline = TokenPipeline(seed)
    try:
        loaded = tw.compile(pipeline.text()).load()
    except tw.CompileError as error:
        assert file_position(error.diagnostics[0].location) is not None, str(error)
        assert pipeline.is_shuffled, f"copies are in an order in which they can end\n{error}"
        return
    for run in range(RUNS):
        given, result = pipeline.arrays(run)
        loaded.run(given, result, pipeline.rounds)
        np.testing.assert_array_equal(result, pipeline.expected(given))
