"""What object FIFOs refuse, in upstream's words, and what they know about themselves."""

from __future__ import annotations

import pytest
from helpers import complaint, first, parsed

from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoLinkOp

DESIGN = """
aie.device({device}) {{
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 3)
  %lock = aie.lock(%a, 0)
  aie.objectfifo @plain(%a, {{%b}}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @repeated(%a, {{%b}}, 2 : i32) {{repeat_count = 3 : i32}} : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @wide(%a, {{%b, %mem}}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @in1(%a, {{%mem}}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
  aie.objectfifo @in2(%b, {{%mem}}, 2 : i32) : !aie.objectfifo<memref<24xi32>>
  aie.objectfifo @columns(%a, {{%mem dimensionsFromStream [<size = 3, stride = 4>]}}, 2 : i32)
    : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out1(%mem, {{%b}}, 2 : i32) : !aie.objectfifo<memref<32xi32>>
  aie.objectfifo @out2(%mem, {{%a}}, 2 : i32) {{repeat_count = 2 : i32}} : !aie.objectfifo<memref<32xi32>>
  aie.objectfifo @rows(%mem dimensionsToStream [<size = 2, stride = 8>], {{%a}}, 2 : i32)
    : !aie.objectfifo<memref<16xi32>>
  {body}
}}
"""


def design(body: str, device: str = "npu1") -> str:
    return DESIGN.format(body=body, device=device)


PAD = "padDimensions = #aie<bd_pad_layout_array[<const_pad_before = 1, const_pad_after = 0>]>"
UNALLOCATABLE = "cannot allocate a shared memory module to objectfifo "


@pytest.mark.parametrize(
    "ends, attributes, type, text",
    [
        ("%a, {%b}, [2, 2, 2]", "", "", "does not have enough depths specified for producer and for each consumer."),
        ("%a, {%b}, 2 : i64", "", "", "attribute 'elemNumber' failed to satisfy constraint"),
        ("%lock, {%b}, 2 : i32", "", "", "producer tile must implement TileLike interface"),
        ("%b, {%lock}, 2 : i32", "", "", "consumer tile must implement TileLike interface"),
        (
            "%shim dimensionsToStream [<size = 8, stride = 1>], {%a}, 2 : i32",
            "",
            "",
            "`dimensionsToStream` data layout transformations are not supported on shim tile producers",
        ),
        (
            "%a, {%b, %shim dimensionsFromStream [<size = 8, stride = 1>]}, 2 : i32",
            "",
            "",
            "`dimensionsFromStreamPerConsumer` data layout transformations are not supported on shim tile consumers",
        ),
        ("%shim, {%a}, 2 : i32", "repeat_count = 2 : i32", "", "`repeat_count` unavailable for shim tiles"),
        ("%mem, {%a}, 2 : i32", "padValue = 7 : i32", "", "`padValue` requires `padDimensions`"),
        (
            "%mem, {%a}, 2 : i32",
            f"{PAD}, padValue = 7 : i32",
            "",
            "`padValue` requires the CONSTANT_PAD_VALUE register, unavailable on this target",
        ),
        ("%a, {%b}, 2 : i32", "aie_stream_port = 0 : i32", "", "`aie_stream` must be defined"),
        ("%a, {%b}, 2 : i32", "aie_stream = 0 : i32", "", "`aie_stream_port` must be defined"),
        (
            "%a, {%b, %mem}, 2 : i32",
            "aie_stream = 0 : i32, aie_stream_port = 0 : i32",
            "",
            "`aie_stream` can only be used in 1-to-1 object FIFOs",
        ),
        (
            "%a, {%mem}, 2 : i32",
            "aie_stream = 1 : i32, aie_stream_port = 0 : i32",
            "",
            "`aie_stream` is not available for shim and mem tiles",
        ),
        (
            "%a, {%b}, 2 : i32",
            "aie_stream = 2 : i32, aie_stream_port = 0 : i32, iter_count = 2 : i32",
            "",
            "`iter_count` unavailable on stream end",
        ),
        ("%a, {%b}, 2 : i32", "iter_count = 256 : i32", "", "`iter_count` is currently only supported on MemTiles"),
        ("%a, {%mem}, 2 : i32", "iter_count = 257 : i32", "", "`iter_count` must be between 1 and 256"),
        (
            "%a, {%mem}, 2 : i32",
            "",
            "-> !aie.objectfifo<memref<3xi32>>",
            "producer element size (8) must be an integer multiple of consumer element size (3)",
        ),
        (
            "%a, {%mem}, 2 : i32",
            "",
            "-> !aie.objectfifo<memref<4xf32>>",
            "producer and consumer must have the same scalar element type, but got 'i32' vs 'f32'",
        ),
        (
            "%shim, {%a}, 1 : i32",
            "",
            "= [dense<0> : memref<8xi32>]",
            "`init_values` unavailable for shim tiles",
        ),
        ("%a, {%b}, 2 : i32", "", "= [dense<0> : memref<8xi32>]", "initial values should initialize all objects"),
        ("%a, {%b}, 1 : i32", "", "= [7]", "initial value should be an elements attribute"),
        ("%a, {%b}, 1 : i32", "", "-> memref<8xi32>", "expected an !aie.objectfifo<memref<...>> type"),
    ],
)
def test_refused_fifo(ends: str, attributes: str, type: str, text: str) -> None:
    said = complaint(design(f"aie.objectfifo @f({ends}) {{{attributes}}} : !aie.objectfifo<memref<8xi32>> {type}"))
    assert said is not None and text in said


def test_dynamic_buffers_are_refused() -> None:
    said = complaint(design("aie.objectfifo @f(%a, {%b}, 1 : i32) : !aie.objectfifo<memref<?xi32>>"))
    assert said is not None and said.endswith("type should be static shaped memref, but got memref<?xi32>")


def test_padding_needs_a_register_that_came_later() -> None:
    fifo = f"aie.objectfifo @f(%mem, {{%a}}, 2 : i32) {{{PAD}, padValue = 7 : i32}} : !aie.objectfifo<memref<8xi32>>"
    assert complaint(design(fifo, device="npu2")) is None


@pytest.mark.parametrize(
    "fifo, text",
    [
        ("nobody", "cannot retrieve associated object FIFO"),
        ("wide", "can only be used in 1-to-1 object FIFOs"),
        ("repeated", f"{UNALLOCATABLE}with set `repeat_count` attribute"),
        ("rows", f"{UNALLOCATABLE}with set dimensions attribute"),
    ],
)
def test_refused_allocation(fifo: str, text: str) -> None:
    assert complaint(design(f"aie.objectfifo.allocate @{fifo}(%b)")) == text


@pytest.mark.parametrize(
    "link, text",
    [
        (
            "[@in1, @in2] -> [@out1, @out2]([0, 8] [0, 8])",
            "ObjectFifoLinkOp does not support 'join' and 'distribute' at the same time",
        ),
        (
            "[@in1] -> [@plain]([] [])",
            "ObjectFifoLinkOp must have a link point, i.e., a shared tile between objectFifos",
        ),
        (
            "[@nobody, @in1] -> [@nobody]([] [])",
            "ObjectFifoLinkOp must have a link point, i.e., a shared tile between objectFifos",
        ),
        (
            "[@in1, @plain] -> [@out1]([0, 8] [])",
            "ObjectFifoLinkOp must have a link point, i.e., a shared tile between objectFifos",
        ),
        (
            "[@in1, @in2] -> [@out1]([0] [])",
            "'aie.objectfifo.link' op number of provided src offsets must be equal to the number of input objectFifos",
        ),
        ("[@in1, @in2] -> [@out1]([0, 8] [0])", "'aie.objectfifo.link' op dst offsets should be empty for join"),
        (
            "[@in1] -> [@out1, @rows]([] [0])",
            "'aie.objectfifo.link' op number of provided dst offsets must be equal to the number of output objectFifos",
        ),
        ("[@in1] -> [@out1, @rows]([0] [0, 8])", "'aie.objectfifo.link' op src offsets should be empty for distribute"),
        ("[@in1] -> [@out1, @out2]([] [0, 8])", "repeat counts of output object FIFOs must be equal"),
        (
            "[@in1, @in2] -> [@rows]([0, 8] [])",
            "'aie.objectfifo.link' op specified output stride(s) and size(s) result in out of bounds access in join "
            "input, for index 8 in transfer of length 8.",
        ),
        (
            "[@columns] -> [@out1, @rows]([] [0, 12])",
            "'aie.objectfifo.link' op specified input stride(s) and size(s) result in out of bounds access in "
            "distribute output, for index 8 in transfer of length 4.",
        ),
        (
            "[@in1] -> [@out1]([0] [0])",
            "'aie.objectfifo.link' op all offsets should be empty if there is no join or distribute",
        ),
        ("[@in1] -> [@out1]([0] [])", None),
        ("[@in1, @in2] -> [@out1]([0, 8] [])", None),
    ],
)
def test_link(link: str, text: str | None) -> None:
    assert complaint(design(f"aie.objectfifo.link {link}")) == text


def test_link_knows_the_parts() -> None:
    module = parsed(design("aie.objectfifo.link [@in1, @in2] -> [@out2]([0, 8] [])"))
    link = first(ObjectFifoLinkOp, module)
    assert link.is_join and not link.is_distribute
    assert [fifo.sym_name.data for fifo in link.inputs] == ["in1", "in2"]
    assert link.join_lengths == [8, 24]
    assert link.repeat_count == 2


def test_fifo_knows_its_depths() -> None:
    module = parsed(design("aie.objectfifo @each(%a, {%b}, [3, 4]) : !aie.objectfifo<memref<8xi32>>"))
    depths = {op.sym_name.data: op.depths for op in module.walk() if isinstance(op, ObjectFifoOp)}
    assert depths["each"] == [3, 4] and depths["plain"] == [2]


@pytest.mark.parametrize(
    "tile, access, text",
    [
        (
            "%b",
            "aie.objectfifo.release @plain(Produce, 1)",
            "'aie.core' op producer port of objectFifo accessed by core running on non-producer tile",
        ),
        (
            "%a",
            "aie.objectfifo.release @plain(Consume, 1)",
            "'aie.core' op consumer port of objectFifo accessed by core running on non-consumer tile",
        ),
        ("%a", "aie.objectfifo.release @nobody(Consume, 1)", "cannot retrieve associated object FIFO"),
        (
            "%a",
            "aie.objectfifo.release @plain(Produce, 0)",
            "'aie.objectfifo.release' op attribute 'size' failed to satisfy constraint: 32-bit signless integer "
            "attribute whose minimum value is 1",
        ),
        (
            "%b",
            "%w = aie.objectfifo.acquire @plain(Consume, 1) : !aie.objectfifosubview<memref<4xi32>>",
            "'aie.objectfifo.acquire' op ObjectFifo element and ObjectFifoSubview element must match.",
        ),
        (
            "%b",
            "%w = aie.objectfifo.acquire @plain(Consume, 1) : !aie.objectfifosubview<memref<8xi32>> "
            "%e = aie.objectfifo.subview.access %w[1] : !aie.objectfifosubview<memref<8xi32>> -> memref<8xi32>",
            "'aie.objectfifo.subview.access' op accessed farther than number of acquired elements (index out of "
            "bounds).",
        ),
    ],
)
def test_refused_access(tile: str, access: str, text: str) -> None:
    assert complaint(design(f"aie.core({tile}) {{ {access} aie.end }}")) == text


def test_access_needs_a_core() -> None:
    said = complaint(design("aie.objectfifo.release @plain(Produce, 1)"))
    assert said == "'aie.objectfifo.release' op must be called from inside a CoreOp"


@pytest.mark.parametrize(
    "binding, text",
    [
        (
            "channels(%a : index) locks() {channel_dirs = array<i32: 0, 1>, channel_indices = array<i32: 0>, "
            "lock_inits = array<i32>}",
            "expected one channel_dirs entry per channel tile (1 tiles, 2 dirs)",
        ),
        (
            "channels(%a : index) locks(%lock : index) {channel_dirs = array<i32: 0>, channel_indices = array<i32: 0>, "
            "lock_inits = array<i32>}",
            "expected one lock_inits entry per lock (1 locks, 0 inits)",
        ),
        (
            "channels(%a : index) locks() {channel_dirs = array<i32: 0>, channel_indices = array<i32: 0>, "
            "lock_inits = array<i32>, head_bd_ids = array<i32: 0>}",
            "head_bd_ids and repeat_counts must both be set or both be absent",
        ),
        (
            "channels(%a : index) locks() {channel_dirs = array<i32: 2>, channel_indices = array<i32: 0>, "
            "lock_inits = array<i32>}",
            "channel_dirs entries must be 0 (S2MM) or 1 (MM2S), got 2",
        ),
        (
            "channels(%lock : index) locks() {channel_dirs = array<i32: 0>, channel_indices = array<i32: 0>, "
            "lock_inits = array<i32>}",
            "channel_tiles operands must be aie.tile values",
        ),
        (
            "channels(%shim : index) locks() {channel_dirs = array<i32: 0>, channel_indices = array<i32: 0>, "
            "lock_inits = array<i32>}",
            "channel_tiles must be non-shim tiles; a shim DMA endpoint is host-managed and is not re-armed here",
        ),
        (
            "channels() locks(%a : index) {channel_dirs = array<i32>, channel_indices = array<i32>, "
            "lock_inits = array<i32: 0>}",
            "locks operands must be aie.lock values",
        ),
    ],
)
def test_refused_binding(binding: str, text: str) -> None:
    said = complaint(design(f"aie.objectfifo_rearm_binding @r {binding}"))
    assert said == f"'aie.objectfifo_rearm_binding' op {text}"
