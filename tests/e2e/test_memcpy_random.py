"""Random token pipelines on the simulator: they give what NumPy gives, run after run, or an error says why not."""

from __future__ import annotations

import os

import numpy as np
import pytest
from random_token_pipelines import TokenPipeline

import tilewright as tw
from tilewright.ir.diagnostics import file_position

SHORT = 10
PIPELINES = int(os.environ.get("TILEWRIGHT_RANDOM_PIPELINES", SHORT))
RUNS = 2


@pytest.mark.parametrize("seed", range(PIPELINES))
def test_a_random_pipeline_is_right_or_refused(seed: int) -> None:
    """Copies in order must end. Shuffled ones may wait in a circle, as the compiler or the simulator then explains."""
    pipeline = TokenPipeline(seed)
    try:
        check_runs(pipeline)
    except (tw.CompileError, tw.Hang) as error:
        assert pipeline.is_shuffled, str(error)
        assert "error: " in str(error) and file_position(error.diagnostics[0].location) is not None


def check_runs(pipeline: TokenPipeline) -> None:
    loaded = tw.compile(pipeline.text()).load()
    for run in range(RUNS):
        given, result = pipeline.arrays(run)
        loaded.run(given, result, pipeline.rounds)
        np.testing.assert_array_equal(result, pipeline.expected(given))
