"""Each builder of the placed style makes its operation, with upstream's arguments in upstream's order."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from iron_programs import vector

from tilewright.iron.builders import mlir_mod_ctx
from tilewright.iron.builders.location import UsageError
from tilewright.iron.dialects.aie import (
    AIEDevice,
    AIETileType,
    CascadeDir,
    ComboLogic,
    DMAChannelDir,
    EdgeTrigger,
    EndOp,
    LockAction,
    TraceMode,
    TracePacketType,
    WireBundle,
    amsel,
    another_bd,
    bd_chain,
    bd_dim_layout,
    buffer,
    cascade_flow,
    configure_cascade,
    connect,
    core,
    device,
    dma,
    dma_bd,
    event,
    external_buffer,
    external_func,
    get_cascade,
    get_stream,
    get_target_model,
    lock,
    logical_tile,
    masterset,
    memtile_dma,
    next_bd,
    object_fifo,
    packet_rules,
    packetflow,
    put_cascade,
    put_stream,
    rule,
    shim_dma_allocation,
    shim_mux,
    switchbox,
    tile,
    trace,
    trace_combo_event,
    trace_edge_event,
    trace_event,
    trace_host_config,
    trace_mode,
    trace_packet,
    trace_port,
    trace_start,
    trace_start_config,
    trace_stop,
    use_lock,
)
from tilewright.iron.dialects.aiex import (
    bds,
    configure,
    control_packet,
    dma_await_task,
    dma_channel_reset,
    dma_configure_task,
    dma_configure_task_for,
    dma_free_task,
    dma_start_bd_chain,
    dma_start_bd_chain_for,
    dma_start_task,
    npu_blockwrite,
    npu_dma_memcpy_nd,
    npu_load_pdi,
    npu_preempt,
    npu_rtp_write,
    npu_writebd,
    read_scratchpad_parameter,
    run,
    runtime_sequence,
    scratchpad_parameter,
    set_lock_value,
    shim_dma_bd,
    shim_dma_single_bd_task,
    sync_scratchpad_parameters_from_host,
    v8bfp16ebs8,
)
from tilewright.iron.extras import types as T
from tilewright.iron.extras.dialects import arith, memref
from tilewright.iron.helpers.util import pack_pad_value

LINE = vector(16)
WRITE_BD_FIELDS = """
column bd_id buffer_length buffer_offset enable_packet out_of_order_id packet_id packet_type d0_size d0_stride d1_size
d1_stride d2_size d2_stride iteration_current iteration_size iteration_stride next_bd row use_next_bd valid_bd
lock_rel_val lock_rel_id lock_acq_enable lock_acq_val lock_acq_id d0_zero_before d1_zero_before d2_zero_before
d0_zero_after d1_zero_after d2_zero_after
"""


def on_device(build: Callable[[], Any]) -> str:
    """What is built in a device, on one line, without the numbers that tell constants apart."""
    with mlir_mod_ctx() as ctx:
        device(AIEDevice.npu2)(build)
    ctx.module.verify()
    return re.sub(r"(%c-?\d+(?:_i\d+)?)_\d+\b", r"\1", " ".join(str(ctx.module).split()))


def in_core(build: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: core(tile(0, 2))(build)


def in_sequence(build: Callable[..., Any], *types: Any) -> Callable[[], Any]:
    return lambda: runtime_sequence(*types, sym_name="run")(build)


def tiles() -> None:
    logical_tile(AIETileType.MemTile, col=2)
    tile(2, 3, allocation_scheme="basic-sequential")


def cascade() -> None:
    cascade_flow(tile(0, 3), tile(0, 2))
    configure_cascade(tile(1, 3), CascadeDir.North, CascadeDir.South)


def core_values() -> None:
    port = arith.constant(0)
    put_stream(port, get_stream(np.int32, port))
    put_cascade(get_cascade(T.vector(16, T.i32())))
    event(1)


def switches() -> None:
    @switchbox(tile(0, 2))
    def _() -> None:
        connect(WireBundle.South, 0, WireBundle.North, 1)
        chosen = amsel(0, 1)
        masterset(WireBundle.DMA, 0, [chosen], keep_pkt_header=True)

        @packet_rules(WireBundle.South, 3)
        def _() -> None:
            rule(31, 7, chosen)

    @shim_mux(tile(0, 0))
    def _() -> None:
        connect(WireBundle.DMA, 0, WireBundle.North, 3)
        EndOp()


def packets() -> None:
    to = [{"dest": tile(0, 1), "port": WireBundle.DMA, "channel": n} for n in (0, 1)]
    packetflow(3, tile(0, 0), WireBundle.DMA, 1, to, keep_pkt_header=True)


def allocations() -> None:
    shim_dma_allocation("fill", tile(0, 0), DMAChannelDir.MM2S, 1, packet=(0, 3))
    external_buffer(LINE, name="host", address=0x1000)


def channel_as_a_list() -> None:
    place = tile(0, 1)
    data, free = buffer(place, LINE, name="data"), lock(place, init=1, sym_name="free")

    @memtile_dma(place)
    def _() -> None:
        @dma(DMAChannelDir.MM2S, 0, num_blocks=2, loop=False, pad_value=5)
        def channel() -> None:
            use_lock(free, LockAction.AcquireGreaterEqual)
            dma_bd(data, transfer_len=8, pad_dimensions=[(1, 2)], sizes=[5], strides=[1])
            use_lock(free, LockAction.Release)

        @another_bd(channel)
        def _() -> None:
            use_lock(free, LockAction.AcquireGreaterEqual)
            dma_bd(data, offset=8, transfer_len=8, iteration=(2, 4, 0), burst_length=0)
            use_lock(free, LockAction.Release)

        EndOp()


def traces() -> None:
    place = tile(0, 2)

    @trace(place, "watch")
    def _() -> None:
        trace_mode(TraceMode.EventTime)
        trace_packet(id=1, type=TracePacketType.Core)
        trace_event("INSTR_VECTOR", label="v")
        trace_port(0, WireBundle.DMA, 0, DMAChannelDir.S2MM)
        trace_combo_event(0, "LOCK_STALL", ComboLogic.AND, "INSTR_LOCK_ACQUIRE_REQ")
        trace_edge_event(0, "LOCK_STALL", EdgeTrigger.RISING)
        trace_start(broadcast=15)
        trace_stop(event="USER_EVENT_0")

    @runtime_sequence(LINE)
    def _(a: Any) -> None:
        del a
        trace_host_config(8192, egress_shim_col=1)
        trace_start_config("watch")


def fifos() -> None:
    fifo = object_fifo(
        "wide",
        tile(0, 1),
        [tile(0, 2), tile(0, 3)],
        [2, 2, 3],
        vector(32),
        [bd_dim_layout(4, 8), (8, 1)],
        [[(32, 1)], []],
        via_DMA=True,
        padDimensions=[(0, 1), (1, 0)],
        padValue=9,
        initValues=[np.arange(32), np.zeros(32)],
        consumer_datatype=LINE,
    )
    fifo.set_prod_dma_channel(3)
    fifo.set_cons_dma_channels([-1, 1])


def chains() -> None:
    shim = tile(0, 0)
    shim_dma_allocation("fill", shim, DMAChannelDir.MM2S, 0)

    @bd_chain(LINE, vector(8))
    def chain(bd: Any, first: Any, second: Any) -> None:
        with bd[0]:
            dma_bd(first)
            next_bd(bd[1])
        with bd[1]:
            dma_bd(second)
            EndOp()

    @runtime_sequence(LINE, vector(8))
    def _(a: Any, b: Any) -> None:
        dma_start_bd_chain(chain, [a, b], shim, DMAChannelDir.MM2S, 1)
        dma_start_bd_chain_for(chain, [a, b], "fill", issue_token=True)


def tasks() -> None:
    shim = tile(0, 0)
    shim_dma_allocation("fill", shim, DMAChannelDir.MM2S, 0)

    @runtime_sequence(vector(64), np.int64)
    def _(a: Any, n: Any) -> None:
        by_hand = dma_configure_task(shim, DMAChannelDir.S2MM, 1, issue_token=True, packet=(1, 2))
        with bds(by_hand) as bd, bd[0]:
            shim_dma_bd(a, sizes=[1, 1, 4, 8], strides=[0, 0, 16, 1], offset=8, burst_length=128)
            EndOp()
        with bds(dma_configure_task_for("fill", repeat_count=2)) as bd, bd[0]:
            dma_bd(a, sizes=[n, 4], strides=[4, 1])
            EndOp()
        repeated = shim_dma_single_bd_task("fill", a, sizes=[n, 1, 2, 8], strides=[0, 0, 8, 1])
        dma_start_task(by_hand, repeated)
        dma_await_task(by_hand)
        dma_free_task(repeated)


def memcpy(a: Any, n: Any) -> None:
    pattern = {"offsets": [0, 0, 0, n], "sizes": [1, 1, n, 8], "strides": [0, 0, 16, 1]}
    npu_dma_memcpy_nd("fill", 2, a, **pattern, issue_token=True, packet=(0, 4), burst_length=64)


def transfers() -> None:
    shim_dma_allocation("fill", tile(0, 0), DMAChannelDir.MM2S, 0)
    runtime_sequence(vector(512), np.int64)(memcpy)


def controls() -> None:
    place = tile(0, 2)
    turn = lock(place, lock_id=3, init=0)
    parameters = buffer(place, LINE, name="parameters")
    memref.global_(np.arange(2, dtype=np.int32), sym_name="words", constant=True)

    @runtime_sequence()
    def _() -> None:
        set_lock_value(turn, 2)
        npu_rtp_write(parameters, 5, 42)
        npu_blockwrite(0x1D000, memref.get_global(vector(2), "words"), column=0, row=0)
        dma_channel_reset(place, DMAChannelDir.MM2S, 0)
        npu_preempt(1)
        control_packet(0x1000, 0, 1, length=2, data=[1, 2])


def write_bd(_: Any) -> None:
    set_here = {"bd_id": 3, "buffer_length": 16, "next_bd": 4, "valid_bd": 1}
    npu_writebd(*(set_here.get(name, 0) for name in WRITE_BD_FIELDS.split()))


@pytest.mark.parametrize(
    "build, parts",
    [
        pytest.param(
            tiles,
            ["aie.logical_tile<MemTile>(2, ?)", 'aie.tile(2, 3) {allocation_scheme = "basic-sequential"}'],
            id="tiles",
        ),
        pytest.param(
            cascade,
            ["aie.cascade_flow(%tile_0_3, %tile_0_2)", "aie.configure_cascade(%tile_1_3, North, South)"],
            id="cascade",
        ),
        pytest.param(
            in_core(core_values),
            [
                "%0 = aie.get_stream(%c0_i32 : i32) : i32",
                "aie.put_stream(%c0_i32 : i32, %0 : i32)",
                "%1 = aie.get_cascade() : vector<16xi32>",
                "aie.put_cascade(%1 : vector<16xi32>)",
                "aie.event(1)",
            ],
            id="streams and cascade of a core",
        ),
        pytest.param(
            switches,
            [
                "aie.connect<South : 0, North : 1>",
                "%0 = aie.amsel<0> (1)",
                "aie.masterset(DMA : 0, %0) {keep_pkt_header = true}",
                "aie.packet_rules(South : 3) { aie.rule(31, 7, %0) }",
                "aie.shim_mux(%shim_noc_tile_0_0) { aie.connect<DMA : 0, North : 3> }",
            ],
            id="switches, with a terminator or without",
        ),
        pytest.param(
            packets,
            [
                "aie.packet_flow(3) { aie.packet_source<%shim_noc_tile_0_0, DMA : 1> "
                "aie.packet_dest<%mem_tile_0_1, DMA : 0> aie.packet_dest<%mem_tile_0_1_0, DMA : 1> } "
                "{keep_pkt_header = true}"
            ],
            id="packet flows to several places",
        ),
        pytest.param(
            allocations,
            [
                "aie.shim_dma_allocation @fill(%shim_noc_tile_0_0, MM2S, 1, <pkt_type = 0, pkt_id = 3>)",
                'aie.external_buffer {address = 4096 : i64, sym_name = "host"} : memref<16xi32>',
            ],
            id="the host's side",
        ),
        pytest.param(
            channel_as_a_list,
            [
                "aie.dma(MM2S, 0) {loop = false, pad_value = 5 : i32} [{",
                "aie.dma_bd(%data : memref<16xi32> len = 8 sizes = [5] strides = [1] pad "
                "[<const_pad_before = 1, const_pad_after = 2>])",
                "}, { %c1_i32 = arith.constant 1 : i32 aie.use_lock(%free, AcquireGreaterEqual, %c1_i32) "
                "aie.dma_bd(%data : memref<16xi32> offset = 8 len = 8) {iteration = "
                "#aie.bd_iteration<size = 2, stride = 4, current = 0>}",
            ],
            id="a channel as a list of descriptors",
        ),
        pytest.param(
            traces,
            [
                "aie.trace.packet id = 1 type = core",
                'aie.trace.event <"INSTR_VECTOR"> label = "v"',
                "aie.trace.port<0> port = DMA channel = 0 direction = S2MM",
                'aie.trace.combo_event<0> <"LOCK_STALL"> AND <"INSTR_LOCK_ACQUIRE_REQ">',
                'aie.trace.edge_event<0> event = <"LOCK_STALL"> trigger = RISING',
                "aie.trace.start broadcast = 15",
                'aie.trace.stop event = <"USER_EVENT_0">',
                "aie.trace.host_config {buffer_size = 8192 : i32, egress_shim_col = 1 : i32}",
                "aie.trace.start_config @watch",
            ],
            id="traces",
        ),
        pytest.param(
            fifos,
            [
                "dimensionsToStream [<size = 4, stride = 8>, <size = 8, stride = 1>], {%tile_0_2 dimensionsFromStream "
                "[<size = 32, stride = 1>], %tile_0_3}, [2 : i32, 2 : i32, 3 : i32])",
                "cons_dma_channels = array<i32: -1, 1>",
                "padValue = 9 : i32, prod_dma_channel = 3 : i32, via_DMA = true}",
                ": !aie.objectfifo<memref<32xi32>> -> !aie.objectfifo<memref<16xi32>>",
                "dense<0> : memref<32xi32>]",
            ],
            id="an object FIFO with everything",
        ),
        pytest.param(
            chains,
            [
                "aie.bd_chain @chain(%arg0: memref<16xi32>, %arg1: memref<8xi32>)",
                "aiex.dma_start_bd_chain @chain(%arg0, %arg1) : (memref<16xi32>, memref<8xi32>) "
                "on (%shim_noc_tile_0_0, MM2S, 1)",
                "aiex.dma_start_bd_chain_for @chain(%arg0, %arg1) : (memref<16xi32>, memref<8xi32>) for @fill "
                "{issue_token = true}",
            ],
            id="chains",
        ),
        pytest.param(
            tasks,
            [
                "aiex.dma_configure_task(%shim_noc_tile_0_0, S2MM, 1, <pkt_type = 1, pkt_id = 2>) { "
                "aie.dma_bd(%arg0 : memref<64xi32> offset = 8 len = 32 sizes = [1, 1, 4, 8] strides = [0, 0, 16, 1]) "
                "{burst_length = 128 : i32}",
                "aie.dma_bd(%arg0 : memref<64xi32> sizes = [%arg1, 4] strides = [4, 1])",
                "{repeat_count = 2 : i32}",
                "arith.trunci %arg1 : i64 to i32",
                "%3 = aiex.dma_configure_task_for @fill repeat %2 : i32 {",
                "len = 16 sizes = [%arg1, 1, 2, 8] strides = [0, 0, 8, 1])",
            ],
            id="tasks, repeated as often as the host says",
        ),
        pytest.param(
            transfers,
            [
                "aiex.npu.dma_memcpy_nd(%arg0[0, 0, 0, %arg1][1, 1, %arg1, 8][0, 0, 16, 1], packet = "
                "<pkt_type = 0, pkt_id = 4>) {burst_length = 64 : i64, id = 2 : i64, issue_token = true, "
                "metadata = @fill} : memref<512xi32>"
            ],
            id="transfers",
        ),
        pytest.param(
            controls,
            [
                "aiex.set_lock(%lock_0_2, 2)",
                "aiex.npu.rtp_write(@parameters, 5, %c42_i32) : i32",
                "aiex.npu.blockwrite(%0) {address = 118784 : ui32, column = 0 : i32, row = 0 : i32} : memref<2xi32>",
                "aiex.dma_channel_reset(%tile_0_2, MM2S, 0)",
                "aiex.npu.preempt {level = 1 : ui8}",
                "aiex.control_packet {address = 4096 : ui32, data = array<i32: 1, 2>, length = 2 : i32, "
                "opcode = 0 : i32, stream_id = 1 : i32}",
            ],
            id="the controller",
        ),
        pytest.param(
            in_sequence(write_bd, LINE),
            [
                "bd_id = 3 : i32, buffer_length = 16 : i32, buffer_offset = 0 : i32",
                "next_bd = 4 : i32",
                "valid_bd = 1 : i32",
            ],
            id="every field of a descriptor, in order",
        ),
    ],
)
def test_operations(build: Callable[[], Any], parts: list[str]):
    text = on_device(build)
    for part in parts:
        assert part in text, text


def test_designs_that_load_others():
    with mlir_mod_ctx() as ctx:
        scratchpad_parameter("scale", T.bf16())

        @device(AIEDevice.npu2, sym_name="first")
        def _() -> None:
            @core(tile(0, 2))
            def _() -> None:
                read_scratchpad_parameter("scale", T.bf16())

            @runtime_sequence(LINE)
            def go(_: Any) -> None: ...

        @device(AIEDevice.npu2)
        def _() -> None:
            @runtime_sequence(LINE)
            def sequence(a: Any) -> None:
                npu_load_pdi(device_ref="first")
                sync_scratchpad_parameters_from_host()

                @configure("first")
                def _() -> None:
                    run("go", [a])

    ctx.module.verify()
    text = str(ctx.module)
    assert "aiex.scratchpad_parameter @scale : bf16" in text
    assert "aiex.read_scratchpad_parameter @scale : bf16" in text
    assert "aiex.npu.load_pdi {device_ref = @first}" in text
    assert "aiex.configure @first" in text
    assert "aiex.run @go(%arg0) : (memref<16xi32>)" in text


def test_functions_carry_what_they_are_linked_with():
    text = on_device(lambda: external_func("merged", [np.int32], [np.int32], link_with="k.ll", link_with_mode="merge"))
    assert 'func.func private @merged(i32) -> i32 attributes {link_with = "k.ll", link_with_mode = "merge"}' in text


def test_block_floats_are_elements():
    assert 'memref<4x!aiex.bfp<"v8bfp16ebs8">>' in on_device(lambda: buffer(tile(0, 2), vector(4, v8bfp16ebs8)))


def test_a_device_can_be_asked():
    model = get_target_model(AIEDevice.npu2)
    assert (model.columns(), model.rows(), model.is_npu()) == (8, 6, True)
    assert model.is_mem_tile(0, 1) and model.is_core_tile(0, 2) and model.is_shim_noc_tile(0, 0)
    assert get_target_model("npu1_2col").columns() == 2


@pytest.mark.parametrize(
    "value, size, word", [(-1, 1, 0xFFFFFFFF), (0x12, 1, 0x12121212), (0x1234, 2, 0x12341234), (5, 4, 5)]
)
def test_pad_values_fill_a_word(value: int, size: int, word: int):
    assert pack_pad_value(value, size) == word


def test_one_initial_value_fills_a_buffer():
    text = on_device(lambda: buffer(tile(0, 2), vector(4, np.int16), name="filled", initial_value=np.array([7])))
    assert ": memref<4xi16> = dense<7>" in text


def test_a_view_begins_so_many_elements_into_a_buffer():
    def body() -> None:
        data = buffer(tile(0, 2), vector(64, np.int8), name="data")

        @core(tile(0, 2))
        def _() -> None:
            memref.view(data, [4, 2], np.int32, shift=3)

    text = on_device(body)
    assert "%c12 = arith.constant 12 : index" in text
    assert re.search(r"memref.view %data\[%c12\]\[\] : memref<64xi8> to memref<4x2xi32>", text)


def test_a_view_is_of_bytes():
    def body() -> None:
        data = buffer(tile(0, 2), vector(64), name="data")
        core(tile(0, 2))(lambda: memref.view(data, [4]))

    with pytest.raises(UsageError, match="a view is of bytes, a flat buffer of i8, not of memref<64xi32>"):
        on_device(body)
