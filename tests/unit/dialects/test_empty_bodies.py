"""Operations made of lists of others may be made of none: a region of no operations is still a region."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.test import TestOp
from xdsl.ir import Operation

from tilewright.dialects.aie.trace import TracePacketType
from tilewright.dialects.aie.trace_config import TraceConfigOp
from tilewright.dialects.aiex.cert import CertPageOp, CertSectionOp, CertUcDmaChainOp

TILE = TestOp(result_types=[IndexType()]).results[0]


@pytest.mark.parametrize(
    "op",
    [
        pytest.param(TraceConfigOp("t", TILE, TracePacketType.core, []), id="aie.trace.config"),
        pytest.param(CertUcDmaChainOp("c", []), id="aiex.cert.uc_dma_chain"),
        pytest.param(CertPageOp([]), id="aiex.cert.page"),
        pytest.param(CertSectionOp("s", []), id="aiex.cert.section"),
    ],
)
def test_an_empty_list_makes_an_empty_body(op: Operation) -> None:
    assert [len(region.blocks) for region in op.regions] == [1]
