"""Names of mlir-aie beyond programs themselves: passes, registers, layouts, tensors, designs as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.iron import CompileTime, In, Out, ir
from tilewright.iron.dialects import aie, aiex, arith
from tilewright.iron.extras import types as T
from tilewright.iron.extras.context import mlir_mod_ctx
from tilewright.iron.extras.runtime.passes import Pipeline, run_pipeline
from tilewright.iron.helpers.dialects.func import func
from tilewright.iron.helpers.taplib.utils import validate_and_clean_sizes_strides, validate_offset, validate_tensor_dims
from tilewright.iron.passmanager import PassManager
from tilewright.iron.utils import HostRuntime, TraceConfig, tensor, zeros
from tilewright.iron.utils.compile.cache.utils import file_lock
from tilewright.iron.utils.compile.jit.compilabledesign import CompilableDesign
from tilewright.iron.utils.hostruntime.buffer import HostOnlyTransport, Storage
from tilewright.iron.utils.ml import DataShaper
from tilewright.iron.utils.regdb import AIEAddressDecoder, MLIRModuleAnnotator, main

GRANULE = 64


def unplaced() -> ir.Module:
    return ir.Module.parse("aie.device(npu1) { %t = aie.logical_tile<CoreTile>(?, ?)  aie.core(%t) { aie.end } }")


def test_a_pass_manager_changes_the_module() -> None:
    module = unplaced()
    PassManager.parse("builtin.module(aie.device(aie-place-tiles))", context=module.context).run(module.operation)
    assert "aie.tile(0, 2)" in str(module) and "logical" not in str(module)


def test_passes_are_added_one_by_one() -> None:
    manager = PassManager("builtin.module")
    manager.add("aie.device(aie-place-tiles)")
    manager.add("canonicalize")
    assert str(manager) == "builtin.module(aie.device(aie-place-tiles),canonicalize)"
    with pytest.raises(ValueError, match="passes run on a module"):
        manager.run("no module")


def test_an_unknown_pass_is_refused_when_it_is_named() -> None:
    with pytest.raises(ir.MLIRError, match="'no-such-pass' does not refer to a registered pass"):
        PassManager.parse("builtin.module(no-such-pass)")


def test_pipelines_are_chains_of_calls() -> None:
    chain = Pipeline().Nested("aie.device", Pipeline().aie_place_tiles(placer="sequential_placer")) + Pipeline().cse()
    assert chain.materialize() == "builtin.module(aie.device(aie-place-tiles{placer=sequential_placer}),cse)"
    assert "aie.tile(0, 2)" in str(run_pipeline(unplaced(), chain))


def test_control_packets_become_words() -> None:
    """Header of the stream, header of the packet, and what is written: parity, opcode and beats in between."""
    with mlir_mod_ctx() as ctx:

        @aie.device(aie.AIEDevice.npu1)
        def body() -> None:
            aie.tile(0, 0).attributes["controller_id"] = aiex.AttrBuilder.get("PacketInfoAttr")([2, 3])

            @aiex.runtime_sequence()
            def sequence() -> None:
                aiex.control_packet(address=0x1F000, opcode=0, stream_id=0, data=[2])

    assert [*map(hex, aie.generate_control_packets(ctx.module.operation))] == ["0x2003", "0x1f000", "0x2"]
    assert aie.generate_control_packets(ctx.module, "main") == aie.generate_control_packets(ctx.module)
    with pytest.raises(ValueError, match="no builder for 'NothingAttr'"):
        aiex.AttrBuilder.get("NothingAttr")


def test_lowered_sequences_become_words() -> None:
    text = """
aie.device(npu1_1col) {
  aie.runtime_sequence @seq() {
    %a = arith.constant 16 : i32
    %v = arith.constant 7 : i32
    aiex.npu.write32(%a, %v) {column = 0 : i32, row = 2 : i32} : i32, i32
  }
}
"""
    module = ir.Module.parse(text)
    words = aie.translate_npu_to_binary(module.operation, sequence_name="seq")
    assert (2 << 20) + 16 in words and 7 in words
    with pytest.raises(ir.MLIRError, match=r"No such runtime sequence: other"):
        aie.translate_npu_to_binary(module, sequence_name="other")


def test_vectors_are_built() -> None:
    from tilewright.iron.dialects import aievec, vector

    with mlir_mod_ctx() as ctx:

        @func(emit=True)
        def multiply(A: T.memref(32, T.i16()), C: T.memref(32, T.i16())):  # pyright: ignore[reportInvalidTypeForm]
            at = arith.constant(T.index(), 0)
            lanes = aievec.upd(T.vector(32, T.i16()), A, [at])
            product = aievec.mul_elem(T.vector(32, T.i32()), lanes, aievec.broadcast(lanes.type, lanes, idx=3))
            more = aievec.mac_elem(T.vector(32, T.i32()), lanes, lanes, product)
            result = aievec.srs(T.vector(32, T.i16()), more, arith.constant(T.i32(), 4))
            vector.transfer_write(None, result, C, [at], ir.AffineMap.get_identity(1), in_bounds=[True])

    ctx.module.verify()
    text = str(ctx.module)
    assert "aievec.broadcast %0 {idx = 3 : i8} : vector<32xi16>, vector<32xi16>" in text
    assert "vector.transfer_write %4, %arg1[%c0] {in_bounds = [true]} : vector<32xi16>, memref<32xi16>" in text


@pytest.mark.parametrize(
    "made, text, kind",
    [
        (ir.IntegerAttr.get(T.i32(), 3), "3 : i32", ir.IntegerAttr),
        (ir.StringAttr.get("a"), '"a"', ir.StringAttr),
        (ir.MemRefType.get([4], ir.IntegerType.get_signless(8)), "memref<4xi8>", ir.MemRefType),
        (ir.VectorType.get([8], ir.BF16Type.get()), "vector<8xbf16>", ir.VectorType),
        (ir.IndexType.get(), "index", ir.IndexType),
        (ir.Type.parse("memref<2x?xf32>"), "memref<2x?xf32>", ir.MemRefType),
        (ir.Attribute.parse("[1 : i8, unit]"), "[1 : i8, unit]", ir.ArrayAttr),
        (ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(1)]), "affine_map<(d0, d1) -> (d1)>", ir.AffineMapAttr),
    ],
)
def test_attributes_go_by_the_names_of_mlirs_bindings(made: Any, text: str, kind: type) -> None:
    assert str(made) == text and isinstance(made, kind) and not isinstance(made, ir.UnitAttr)


def test_text_that_is_no_type_is_refused_with_its_place() -> None:
    with pytest.raises(ir.MLIRError, match=r"<text>:1:\d+: error"):
        ir.Type.parse("memref<")


ADDRESSES = {
    0x0232000: (0, 2, "core_tile", "core", "Core_Control"),
    0x2232000: (1, 2, "core_tile", "core", "Core_Control"),
    0x0220010: (0, 2, "core_tile", "core", "Program_Memory+0x10"),
    0x0100100: (0, 1, "memory_tile", "memory_tile", "DataMemory+0x100"),
    0x001D000: (0, 0, "shim_tile", "shim", "DMA_BD0_0"),
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_have_the_vendors_names(address: int, capsys: pytest.CaptureFixture[str]) -> None:
    decoder = AIEAddressDecoder()
    found = decoder.parse_address(address)
    assert tuple(found[key] for key in ("col", "row", "tile_type", "module", "register")) == ADDRESSES[address]
    if "+" not in found["register"]:
        assert decoder.encode_address(found["col"], found["row"], found["register"]) == address
    assert main([hex(address), "-b"]) == 0
    assert found["register"] in capsys.readouterr().out


def test_register_writes_get_comments(tmp_path: Path) -> None:
    text = """
aie.device(npu1) {
  aie.runtime_sequence() {
    %a = arith.constant 0x32000 : i32
    %v = arith.constant 1 : i32
    aiex.npu.write32(%a, %v) {column = 0 : i32, row = 2 : i32} : i32, i32
  }
}
"""
    (tmp_path / "in.mlir").write_text(text)
    assert main(["-a", str(tmp_path / "in.mlir"), "-o", str(tmp_path / "out.mlir")]) == 0
    assert (
        'comment = "Tile(0, 2), Offset 0x32000, Name: Core_Control | Value 0x1: ' in (tmp_path / "out.mlir").read_text()
    )
    assert MLIRModuleAnnotator().decode_bit_field_value(0x1FF, "15:8") == 1
    assert main(["--col", "0", "--row", "2", "-r", "Nothing"]) == 1


def blocks(order: str, axes: str) -> dict[str, int]:
    """What an axis has to be a multiple of."""
    sizes = dict.fromkeys(axes, 1)
    for place, letter in enumerate(order):
        digits = order[place + 1 :]
        number = digits[: len(digits) - len(digits.lstrip("0123456789"))]
        if letter in sizes and number:
            sizes[letter] *= int(number)
    return sizes


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([("YCXC8", "CYX"), ("OIYXI4O2", "OIYX"), ("CC8", "C"), ("YXC", "CYX"), ("CDYX", "YCXD")]),
    st.lists(st.integers(1, 5), min_size=4, max_size=4),
)
def test_a_layout_can_be_taken_back(layout: tuple[str, str], factors: list[int]) -> None:
    order, axes = layout
    shape = [factor * blocks(order, axes)[axis] for factor, axis in zip(factors, axes, strict=False)]
    data = np.arange(np.prod(shape)).reshape(shape)
    flat = DataShaper().reorder_mat(data, order, axes)
    assert sorted(flat) == sorted(data.reshape(-1))
    assert (DataShaper().reorder_mat(flat.reshape(shape), order, axes, inverse=True) == data.reshape(-1)).all()


def test_a_layout_by_hand() -> None:
    """Two rows of three columns of four channels, channels in pairs: row, pair, column, channel of the pair."""
    data = np.arange(24).reshape(4, 2, 3)  # C Y X
    wanted = [data[2 * pair + c, y, x] for y in range(2) for pair in range(2) for x in range(3) for c in range(2)]
    assert DataShaper().reorder_mat(data, "YCXC2", "CYX").tolist() == wanted
    assert DataShaper().reorder_mat(np.arange(1, 4), "CC2", "C").tolist() == [1, 2, 3, 0]
    for wrong in ("YC|8", "ZC"):
        with pytest.raises(ValueError, match="the layout"):
            DataShaper().reorder_mat(data, wrong, "CYX")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 8), st.sampled_from(["cpu", "npu"])), max_size=12))
def test_the_map_of_writers_is_that_of_each_byte(writes: Sequence[tuple[int, int, str]]) -> None:
    storage = Storage(HostOnlyTransport(8 * GRANULE), 8 * GRANULE, "npu")
    plain = ["npu"] * 8
    for start, count, writer in writes:
        end = min(8, start + count)
        storage.coherence.set(start * GRANULE, end * GRANULE, writer)
        plain[start:end] = [writer] * (end - start)
    found = storage.coherence.ranges(0, 8 * GRANULE, "cpu")
    assert [any(low <= place * GRANULE < high for low, high in found) for place in range(8)] == [
        w == "cpu" for w in plain
    ]
    assert storage.coherence.uniform == (plain[0] if len(set(plain)) == 1 else None)
    assert all(low > before for (_, before), (low, _) in pairwise(found)), "neighbours are joined"


def test_parts_of_tensors_know_their_own_writer() -> None:
    whole = zeros(4 * GRANULE, dtype=np.uint8)
    part = whole.subview(GRANULE, (GRANULE,))
    part.device = "cpu"
    assert (whole.subview(0, (GRANULE,)).device, part.device, whole.device) == ("npu", "cpu", "cpu")
    assert part.storage is whole.storage and whole.to("npu").device == part.device == "npu"
    with pytest.raises(ValueError, match="64-byte coherence granule"):
        whole.storage.coherence.set(0, GRANULE + 8, "cpu")


@pytest.mark.parametrize("behind", [True, False], ids=["behind the output", "in a buffer of its own"])
def test_traces_go_with_the_arguments(behind: bool) -> None:
    out = np.arange(4, dtype=np.int32)
    config = TraceConfig(64, reuse_output_buffer=behind, last_tensor_shape=out.shape, last_tensor_dtype=out.dtype)
    arguments: list[Any] = HostRuntime.prepare_args_for_trace([tensor(out)], config)
    assert [argument.nbytes for argument in arguments] == ([16 + 64] if behind else [16, 64])
    memory = arguments[-1].numpy()
    memory[-64:] = 5
    if behind:
        memory[:16] = out.view(np.uint8)
    words, packets = HostRuntime.extract_trace_from_args(arguments, config)
    assert packets is None and words.tolist() == [0x05050505] * 16
    assert np.asarray(arguments[0]).tolist() == [0, 1, 2, 3]


def design(a: In, b: Out, *, M: CompileTime[int], rate: CompileTime[float] = 0.5) -> None:
    """Never built."""


@given(st.dictionaries(st.sampled_from(["M", "rate"]), st.integers() | st.booleans() | st.text() | st.floats(0, 1)))
def test_designs_come_back_from_their_text(arguments: dict[str, Any]) -> None:
    before = CompilableDesign(
        design, compile_kwargs=arguments, use_cache=False, compile_flags=["-O3"], source_files=["k.cc"]
    )
    text = before.to_json()
    after = CompilableDesign.from_json(text, generator=design)
    assert (after.compile_kwargs, after.use_cache, after.compile_flags) == (arguments, False, ("-O3",))
    assert [*map(type, after.compile_kwargs.values())] == [*map(type, arguments.values())]
    assert hash(after) == hash(before) and json.loads(text)["generator_name"] == "design"
    with pytest.raises(ValueError, match="generator must be supplied"):
        CompilableDesign.from_json(text)


def test_designs_differ_by_what_they_are_made_of(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cc"
    source.write_text("int a;")
    made = [CompilableDesign(design, compile_kwargs={"M": 1}, source_files=[source])]
    first = made[0].artifact_hash
    made += [made[0].specialize(M=2), made[0].specialize(compile_flags=["-O1"])]
    assert len({one.recipe_hash for one in made}) == 3 and made[0].get_artifacts() is None
    source.write_text("int b;")
    assert made[0].artifact_hash != first and made[0].get_pdi_path() is None


def test_checks_of_patterns_by_upstreams_names() -> None:
    assert validate_and_clean_sizes_strides([1, 3, 1], [7, 1, 1]) == ([1, 3, 1], [0, 1, 1])
    assert validate_and_clean_sizes_strides(None, [1, 2], allow_none=True) == (None, [1, 2])
    assert (validate_tensor_dims([5]), validate_offset(3, [2, 2])) == ([1, 5], 3)
    for call in (
        lambda: validate_and_clean_sizes_strides(None, [1]),
        lambda: validate_and_clean_sizes_strides([2], [1], expected_dims=2),
        lambda: validate_and_clean_sizes_strides([2], [1], expected_dims=0),
        lambda: validate_offset(4, [2, 2]),
    ):
        with pytest.raises(ValueError):
            call()


def test_a_lock_is_one_processs_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "lock"
    with file_lock(path), pytest.raises(TimeoutError, match=r"within 0\.02 seconds"), file_lock(path, 0.02):
        pass
    with file_lock(path, 0.02):
        pass


def test_a_runtime_refuses_what_its_device_cannot_load() -> None:
    from tilewright.iron import set_current_device
    from tilewright.iron.device import NPU1, NPU2, NPU1Col1

    class Runtime(HostRuntime):
        def device(self) -> Any:
            return NPU1()

    try:
        set_current_device(NPU1Col1())
        Runtime().check_device_consistency()
        set_current_device(NPU2())
        with pytest.raises(RuntimeError, match="not loadable on runtime device"):
            Runtime().check_device_consistency()
    finally:
        set_current_device(None)


def test_a_trace_needs_a_design_that_records_one() -> None:
    import tilewright.iron as iron

    vector = np.ndarray[(16,), np.dtype[np.int32]]

    @iron.jit
    def copy(a: In, b: Out, *, trace_config: CompileTime[TraceConfig | None] = None) -> Any:
        fifo = iron.ObjectFifo(vector, name="in")

        def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
            source.fill(a)
            target.drain(b, wait=True)

        through = fifo.cons().forward()
        runtime = iron.Runtime(sequence, [vector, vector, fifo.prod(), through.cons()])
        return iron.Program(iron.get_current_device(), runtime).resolve_program()

    a, b = iron.arange(16, dtype=np.int32), iron.zeros(16, dtype=np.int32)
    assert copy(a, b).is_success() and np.array_equal(a.numpy(), b.numpy())
    with pytest.raises(RuntimeError, match=r"2 host buffer argument\(s\), none of them for a trace"):
        copy(a, b, trace_config=TraceConfig(1024))


def test_the_driver_is_called_from_programs(tmp_path: Path) -> None:
    from tilewright.iron.compiler.aiecc import main as aiecc

    text = "aie.device(npu1_1col) { aie.runtime_sequence @seq() { } }"
    aiecc.run(ir.Module.parse(text), ["--get-npu-insts", f"--npu-insts-name={tmp_path / 'insts.bin'}"])
    assert (tmp_path / "insts.bin").read_bytes()[:1] == b"\x00"
    with pytest.raises(aiecc.CompilerDriverError, match="no-such-flag"):
        aiecc.run(text, ["--no-such-flag"])
