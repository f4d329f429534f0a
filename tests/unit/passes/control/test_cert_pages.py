"""Pages of control code: however code is cut, it stays the same code, and pages fit."""

from __future__ import annotations

from helpers import parsed, run_passes
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import UnknownLoc

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.cert import CertJobOp, CertPageOp, CertUcDmaChainOp, CertUcDmaWriteDesSyncOp
from tilewright.passes.control.cert_chains import PAGE_BYTES
from tilewright.passes.control.cert_legalize_pages import ALONE, CertLegalizePagesPass, PageCosts

WRITE, LOAD = "aiex.cert.write32({}, 1)", "aiex.cert.load_pdi({}, @image)"
PLAY = "aiex.cert.maskwrite32({0}, 1, 1) aiex.cert.uc_dma_write_des_sync(@chain{0})"
CHAIN = "aiex.cert.uc_dma_chain @chain{} {{ aiex.cert.uc_dma_bd @data, {}, {}, false }}"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Jobs of writes, loads of images and blocks of data."""
    jobs = draw(st.lists(st.lists(st.sampled_from([WRITE, WRITE, LOAD, PLAY]), max_size=12), min_size=1, max_size=4))
    sizes = draw(st.lists(st.integers(1, 1900), min_size=48, max_size=48))
    chains, bodies, number = list[str](), list[str](), 0
    for job, instructions in enumerate(jobs):
        body = ""
        for text in instructions:
            chains += [CHAIN.format(number, number, sizes[number])] if text is PLAY else []
            body += text.format(number) + " "
            number += 1
        bodies.append(f"aiex.cert.job({job + 1}) {{ {body} }}")
    data = 'memref.global "private" constant @data : memref<1900xi32> = dense<7>'
    return f"aie.device(npu2) {{ {data} {' '.join(chains)} {' '.join(bodies)} aiex.cert.section @image {{ }} }}"


def instructions(device: DeviceOp) -> list[str]:
    """What happens, in order: chains as the descriptors that they play."""
    chains = {op.sym_name.data: op for op in device.body.ops if isinstance(op, CertUcDmaChainOp) and op.sym_name}
    found = list[str]()
    jobs = (op for op in device.walk() if isinstance(op, CertJobOp))
    for op in (op for job in jobs for op in job.instructions):
        if isinstance(op, CertUcDmaWriteDesSyncOp):
            found += [f"play {bd.local_address}" for bd in chains[op.symbol.string_value()].bds]
        else:
            found.append(f"{op.name} {op.properties}")
    return found


def pages(device: DeviceOp) -> list[CertPageOp]:
    return [op for op in device.walk() if isinstance(op, CertPageOp)]


@settings(max_examples=30)
@given(programs())
def test_pages_fit_and_say_the_same(text: str) -> None:
    module = parsed(text)
    (device,) = module.ops
    assert isinstance(device, DeviceOp)
    before = instructions(device)
    run_passes(module, CertLegalizePagesPass())
    assert instructions(device) == before
    costs = PageCosts(device)
    for page in pages(device):
        held = [op for job in page.jobs for op in job.instructions]
        assert costs.page(page) < PAGE_BYTES
        assert len(held) == 1 or not any(isinstance(op, ALONE) for op in held)
    numbers = [job.number for page in pages(device) for job in page.jobs]
    assert len(set(numbers)) == len(numbers)
    assert not [op.name for op in module.walk() if isinstance(op.location, UnknownLoc)]
