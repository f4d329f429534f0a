"""Kernels as PTX: the instructions that they must have, and that NVIDIA's assembler takes them."""

import pytest
from gpu_kernels import PTXAS, assembled, compiled, instructions, kernel, needs_ptxas

from tilewright.ir.diagnostics import DiagnosedError

ATOMIC_ADDRESS = """
  %at = memref.extract_aligned_pointer_as_index %data : memref<64xi32> -> index
  %at64 = arith.index_cast %at : index to i64
  %place = llvm.inttoptr %at64 : i64 to !llvm.ptr
  %one = arith.constant 1 : i32
"""
SPIN = """
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  scf.while : () -> () {
    %flag = memref.load %data[%c0] : memref<64xi32>
    %more = arith.cmpi eq, %flag, %zero : i32
    scf.condition(%more)
  } do {
    scf.yield
  }
"""
SHUFFLE = """
  %t = gpu.thread_id x
  %v = memref.load %data[%t] : memref<64xi32>
  %lane = arith.constant 31 : i32
  %width = arith.constant 64 : i32
  %w, %valid = gpu.shuffle idx %v, %lane, %width : i32
  memref.store %w, %data[%t] : memref<64xi32>
"""
SUM = """
  %t = gpu.thread_id x
  %a = memref.load %x[%t] : memref<64xf32>
  %b = memref.load %y[%t] : memref<64xf32>
  %p = arith.mulf %a, %b : f32
  %s = arith.addf %p, %a : f32
  memref.store %s, %y[%t] : memref<64xf32>
"""


def test_parameters_are_flattened_and_in_global_memory():
    code = compiled(kernel(SUM, "%x: memref<64xf32>, %y: memref<64xf32>"))
    assert code.kernels[0].parameters == (8,) * 10 and code.kernels[0].block == (64, 1, 1)
    assert ".reqntid 64, 1, 1" in code.assembly and ".target sm_90" in code.assembly
    assert [line.split()[0] for line in instructions(code) if "global" in line and line[:2] in ("ld", "st")] == [
        "ld.global.b32",
        "ld.global.b32",
        "st.global.b32",
    ]


def test_products_are_fused_unless_told_otherwise():
    text = kernel(SUM, "%x: memref<64xf32>, %y: memref<64xf32>")
    assert "fma.rn.f32" in compiled(text).assembly
    assert "fma" not in compiled(text, contract=False).assembly


@pytest.mark.parametrize(
    "operation, instruction",
    [
        (
            'llvm.load %place atomic syncscope("") acquire {alignment = 4 : i64} : !llvm.ptr -> i32',
            "ld.acquire.sys.global",
        ),
        (
            'llvm.load %place atomic syncscope("agent") acquire {alignment = 4 : i64} : !llvm.ptr -> i32',
            "ld.acquire.gpu",
        ),
        (
            'llvm.load %place atomic syncscope("workgroup") monotonic {alignment = 4 : i64} : !llvm.ptr -> i32',
            "ld.relaxed.cta",
        ),
        ("llvm.atomicrmw add %place, %one acq_rel : !llvm.ptr, i32", "atom.acq_rel.sys.add.u32"),
        ('llvm.atomicrmw xchg %place, %one syncscope("agent") release : !llvm.ptr, i32', "atom.release.gpu.exch.b32"),
        ("llvm.atomicrmw umax %place, %one monotonic : !llvm.ptr, i32", "atom.relaxed.sys.max.u32"),
        ("llvm.atomicrmw sub %place, %one acquire : !llvm.ptr, i32", "atom.acquire.sys.add.u32"),
    ],
)
def test_atomic_accesses_keep_their_order_and_scope(operation, instruction):
    """LLVM 22 itself forgets both of them for updates."""
    body = f"{ATOMIC_ADDRESS} %r = {operation} \n memref.store %r, %data[%at] : memref<64xi32>"
    assert any(line.startswith(instruction) for line in instructions(compiled(kernel(body))))


@pytest.mark.parametrize(
    "operation, instruction",
    [
        ("llvm.store %one, %place atomic release {alignment = 4 : i64} : i32, !llvm.ptr", "st.release.sys"),
        ('llvm.fence syncscope("") acq_rel', "fence.acq_rel.sys"),
        ('llvm.fence syncscope("agent") release', "fence.acq_rel.gpu"),
        ("llvm.fence seq_cst", "fence.sc.sys"),
    ],
)
def test_stores_and_fences_keep_their_order_and_scope(operation, instruction):
    assert any(line.startswith(instruction) for line in instructions(compiled(kernel(ATOMIC_ADDRESS + operation))))


def test_addresses_computed_from_those_of_buffers_are_global():
    body = """
      %at = memref.extract_aligned_pointer_as_index %data : memref<64xi32> -> index
      %other = memref.load %bases[%at] : memref<?xindex>
      %moved = arith.addi %at, %other : index
      %number = arith.index_cast %moved : index to i64
      %place = llvm.inttoptr %number : i64 to !llvm.ptr
      %v = llvm.load %place : !llvm.ptr -> i32
      %wild = arith.index_cast %other : index to i64
      %w = llvm.inttoptr %wild : i64 to !llvm.ptr
      llvm.store %v, %w : i32, !llvm.ptr
    """
    lines = instructions(compiled(kernel(body, "%data: memref<64xi32>, %bases: memref<?xindex>")))
    assert any(line.startswith("ld.global.b32") for line in lines)
    assert any(line.startswith("st.b32") for line in lines), "nothing is known of a number from elsewhere"


def test_updates_of_memrefs_are_ordered_for_the_whole_system():
    body = """
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %r = memref.atomic_rmw addi %one, %data[%c0] : (i32, memref<64xi32>) -> i32
      %s = memref.atomic_rmw muli %one, %data[%r0] : (i32, memref<64xi32>) -> i32
    """.replace("%r0", "%c0")
    lines = instructions(compiled(kernel(body)))
    assert any(line.startswith("atom.acq_rel.sys.add.u32") for line in lines)
    assert any(line.startswith("atom.acq_rel.sys") and "cas" in line for line in lines), "what PTX lacks is a loop"


def test_a_load_that_waits_is_done_again_each_time():
    lines = instructions(compiled(kernel(SPIN)))
    assert any(line.startswith("ld.relaxed.sys") for line in lines)


BRANCHES = """
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %t = gpu.lane_id
  %first = arith.cmpi eq, %t, %c0 : index
  cf.cond_br %first, ^wait, ^on
^wait:
  %flag = memref.load %data[%c0] : memref<64xi32>
  %more = arith.cmpi eq, %flag, %zero : i32
  cf.cond_br %more, ^again, ^on
^again:
  cf.br ^wait
^on:
  %v = memref.load %data[%t] : memref<64xi32>
  memref.store %v, %out[%t] : memref<64xi32>
"""


def test_waiting_is_found_in_branches_too():
    """What stands behind the loop, and writes, is not part of it."""
    lines = instructions(compiled(kernel(BRANCHES, "%data: memref<64xi32>, %out: memref<64xi32>")))
    wanted = "ld.relaxed.sys", "barrier.sync 1, 64", "ld.global.b32", "st.global.b32"
    places = [next(n for n, line in enumerate(lines) if text in line) for text in wanted]
    assert places == sorted(places)


def test_lanes_that_all_wait_need_not_meet():
    """Which of two blocks waits is the same for all of its lanes."""
    text = BRANCHES.replace("%t = gpu.lane_id", "%t = gpu.block_id x")
    assert "barrier" not in compiled(kernel(text, "%data: memref<64xi32>, %out: memref<64xi32>")).assembly
    given = BRANCHES.replace("arith.cmpi eq, %t, %c0 : index", "arith.cmpi eq, %n, %c0 : index")
    arguments = "%data: memref<64xi32>, %out: memref<64xi32>, %n: index"
    assert "barrier" not in compiled(kernel(given, arguments)).assembly
    lines = "%g = memref.load %data[%t] : memref<64xi32> \n %first = arith.cmpi eq, %g, %zero : i32"
    loaded = BRANCHES.replace("%first = arith.cmpi eq, %t, %c0 : index", lines)
    assert "barrier" in compiled(kernel(loaded, "%data: memref<64xi32>, %out: memref<64xi32>")).assembly


def test_a_load_in_a_loop_that_writes_is_a_plain_one():
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %data, %c0 : memref<?xi32>
      scf.for %i = %c1 to %n step %c1 {
        %v = memref.load %data[%c0] : memref<?xi32>
        memref.store %v, %data[%i] : memref<?xi32>
      }
    """
    assert "relaxed" not in compiled(kernel(body, "%data: memref<?xi32>")).assembly


def test_a_loop_that_counts_waits_for_nothing():
    """What it loads does not decide when it is over, though it may be all that the loop does."""
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      cf.br ^head(%c0, %zero : index, i32)
    ^head(%i: index, %sum: i32):
      %goes_on = arith.cmpi slt, %i, %n : index
      cf.cond_br %goes_on, ^body, ^end
    ^body:
      %v = memref.load %data[%c0] : memref<?xi32>
      %more = arith.addi %sum, %v : i32
      %next = arith.addi %i, %c1 : index
      cf.br ^head(%next, %more : index, i32)
    ^end:
      memref.store %sum, %data[%c0] : memref<?xi32>
    """
    assert "relaxed" not in compiled(kernel(body, "%data: memref<?xi32>, %n: index")).assembly
    by_sum = body.replace("arith.cmpi slt, %i, %n : index", "arith.cmpi eq, %sum, %zero : i32")
    leap = """%seen = arith.cmpi ne, %v, %zero : i32
      cf.cond_br %seen, ^head(%n, %more : index, i32), ^head(%next, %more : index, i32)"""
    by_leap = body.replace("cf.br ^head(%next, %more : index, i32)", leap)
    for ended in (by_sum, by_leap):
        assert "ld.relaxed.sys" in compiled(kernel(ended, "%data: memref<?xi32>, %n: index")).assembly


def test_lanes_wait_for_one_that_waits():
    """Waves of AMD go in step: what one lane waits for in a branch holds back all. Two warps must meet behind it."""
    body = f"""
      %t = gpu.lane_id
      %z = arith.constant 0 : index
      %first = arith.cmpi eq, %t, %z : index
      scf.if %first {{
        {SPIN}
      }}
      %v = memref.load %data[%t] : memref<64xi32>
      memref.store %v, %out[%t] : memref<64xi32>
    """
    lines = instructions(compiled(kernel(body, "%data: memref<64xi32>, %out: memref<64xi32>")))
    wanted = "ld.relaxed", "barrier.sync 1, 64", "ld.global.b32"
    places = [next(n for n, line in enumerate(lines) if text in line) for text in wanted]
    assert places == sorted(places)


def test_64_lanes_exchange_values_through_shared_memory_and_32_directly():
    both = instructions(compiled(kernel(SHUFFLE)))
    assert "barrier.sync 1, 64;" in both and any(line.startswith("st.shared") for line in both)
    one = instructions(compiled(kernel(SHUFFLE, threads=32), wave_size=32))
    assert any(line.startswith("shfl.sync.idx") for line in one) and not any("shared" in line for line in one)


def test_a_block_of_one_warp_needs_no_barrier_between_warps():
    lines = instructions(compiled(kernel(SHUFFLE + "gpu.barrier", threads=32), wave_size=64))
    assert any(line.startswith("shfl.sync.idx") for line in lines)
    assert not any(line.startswith(("bar.sync", "barrier.sync")) for line in lines)


def test_a_fence_of_a_wave_is_a_place_to_meet():
    """Lanes of AMD's waves go in step; on NVIDIA's GPUs they wait for each other."""
    fence = 'llvm.fence syncscope("wavefront") acq_rel'
    assert "bar.warp.sync -1;" in instructions(compiled(kernel(fence), wave_size=32))
    assert "barrier.sync 1, 64;" in instructions(compiled(kernel(fence), wave_size=64))
    assert not [line for line in instructions(compiled(kernel(fence), "gfx942")) if "barrier" in line]


BF16_PAIR = """
  %zero = arith.constant 0 : index
  %pair = vector.load %x[%zero] : memref<64xf32>, vector<2xf32>
  %rounded = arith.truncf %pair : vector<2xf32> to vector<2xbf16>
  vector.store %rounded, %y[%zero] : memref<64xbf16>, vector<2xbf16>
"""


def test_numbers_become_bf16_by_one_instruction_for_two():
    lines = instructions(compiled(kernel(BF16_PAIR, "%x: memref<64xf32>, %y: memref<64xbf16>")))
    assert sum(line.startswith("cvt.rn.bf16x2.f32") for line in lines) == 1
    assert not any(line.startswith("setp.nan") for line in lines), "none looks for what is no number"


def test_more_waves_than_there_are_barriers_are_refused():
    with pytest.raises(DiagnosedError, match=r"16 waves of 64 lanes exchange values.*waves of 32 lanes"):
        compiled(kernel(SHUFFLE, threads=1024))
    assert compiled(kernel(SHUFFLE, threads=0)).kernels[0].waves == 15, "the launch is checked then"


def test_short_loops_over_private_memory_become_registers():
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %t = gpu.thread_id x
      scf.for %i = %c0 to %c8 step %c1 {
        %j = arith.addi %i, %t : index
        %v = memref.load %data[%j] : memref<64xi32>
        memref.store %v, %mine[%i] : memref<8xi32, 5>
      }
      scf.for %i = %c0 to %c8 step %c1 {
        %k = arith.subi %c8, %i : index
        %m = arith.subi %k, %c1 : index
        %v = memref.load %mine[%m] : memref<8xi32, 5>
        memref.store %v, %data[%i] : memref<64xi32>
      }
    """
    code = compiled(kernel(body, extra="private(%mine : memref<8xi32, 5>)"))
    assert "local" not in code.assembly and code.assembly.count("ld.global.b32") == 8


def test_promised_alignment_makes_wide_accesses():
    body = """
      %t = gpu.thread_id x
      %c4 = arith.constant 4 : index
      %i = arith.muli %t, %c4 : index
      %v = vector.load %data[%i] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
      vector.store %v, %out[%i] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
    """
    wide = compiled(kernel(body, "%data: memref<256xf32>, %out: memref<256xf32>")).assembly
    assert "ld.global.v4.b32" in wide and "st.global.v4.b32" in wide
    plain = compiled(
        kernel(body.replace(" {alignment = 16 : i64}", ""), "%data: memref<256xf32>, %out: memref<256xf32>")
    )
    assert "v4" not in plain.assembly


def test_memory_of_a_block_is_counted():
    body = """
      %t = gpu.thread_id x
      %v = memref.load %data[%t] : memref<64xi32>
      memref.store %v, %shared[%t] : memref<64xi32, 3>
      gpu.barrier
      %w = memref.load %shared[%t] : memref<64xi32, 3>
      memref.store %w, %data[%t] : memref<64xi32>
    """
    code = compiled(kernel(body, extra="workgroup(%shared : memref<64xi32, 3>)"))
    assert code.kernels[0].shared_bytes == 256
    assert [line.split()[0] for line in instructions(code) if "shared" in line and line[:2] in ("ld", "st")] == [
        "st.shared.b32",
        "ld.shared.b32",
    ]
    assert "bar.sync 0;" in instructions(code)


def test_more_memory_of_a_block_than_code_can_declare_is_asked_for_at_the_launch():
    body = """
      %t = gpu.thread_id x
      %v = memref.load %data[%t] : memref<64xi32>
      memref.store %v, %a[%t] : memref<8192xi32, 3>
      memref.store %v, %b[%t] : memref<8192xi32, 3>
    """
    code = compiled(kernel(body, extra="workgroup(%a : memref<8192xi32, 3>, %b : memref<8192xi32, 3>)"))
    assert (code.kernels[0].shared_bytes, code.kernels[0].launch_bytes) == (65536, 65536)
    assert ".extern .shared .align 16 .b8 dynamic_shared_memory[];" in code.assembly
    assert any("+32768" in line for line in instructions(code)), "the second buffer lies behind the first"


@pytest.mark.parametrize(
    "body, text",
    [
        ("%m = memref.alloc() : memref<4xi32>", "allocates memory in a kernel"),
        ("%x = arith.constant 1.0 : f64 \n %y = math.exp %x : f64", "GPUs compute .* of f32"),
        (ATOMIC_ADDRESS + 'llvm.fence syncscope("galaxy") release', "scope 'galaxy' is none of"),
        ('%x = arith.constant 1 : i32 \n gpu.printf "%d", %x : i32', "has no translation for a GPU"),
    ],
)
def test_what_a_gpu_cannot_do_is_said_where_it_is(body, text):
    with pytest.raises(DiagnosedError, match=text):
        compiled(kernel(body))


MEETING = "nvvm.griddepcontrol wait \n nvvm.griddepcontrol launch_dependents"


def test_a_kernel_that_waits_for_the_launch_before_begins_early(tmp_path):
    code, other = (compiled(kernel(body), "sm_90") for body in (MEETING, "nvvm.griddepcontrol launch_dependents"))
    lines = [line for line in instructions(code) if line.startswith("griddepcontrol")]
    assert lines == ["griddepcontrol.wait;", "griddepcontrol.launch_dependents;"]
    assert code.kernels[0].begins_early and not other.kernels[0].begins_early, "it would not wait"
    if PTXAS is not None:
        assembled(code, tmp_path)


@pytest.mark.parametrize("chip", ["sm_80", "gfx942"])
def test_launches_of_other_gpus_begin_one_after_the_other(chip):
    with pytest.raises(DiagnosedError, match=f"{chip} has no launches that begin early; NVIDIA's GPUs from sm_90"):
        compiled(kernel(MEETING), chip)


MAPS = """
  %at = memref.extract_aligned_pointer_as_index %shared : memref<32xi64, 3> -> index
  %at64 = arith.index_cast %at : index to i64
  %near = llvm.inttoptr %at64 : i64 to !llvm.ptr<3>
  %target = llvm.inttoptr %at64 : i64 to !llvm.ptr<7>
  %from = builtin.unrealized_conversion_cast %a : MAP to !llvm.ptr
  %to = builtin.unrealized_conversion_cast %b : MAP to !llvm.ptr
  nvvm.prefetch tensormap, %from : !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %target, %from, %near, box[%n] : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.global.shared.cta %to, %near, box[%n] : !llvm.ptr, !llvm.ptr<3>
"""
MAP = (
    "!nvgpu.tensormap.descriptor<tensor = memref<64xi8, 3>, swizzle = none, l2promo = none, oob = zero, "
    "interleave = none>"
)


def described(chip: str):
    arguments = f"%n: i32, %a: {MAP}, %b: {MAP}"
    return compiled(kernel(MAPS.replace("MAP", MAP), arguments, extra="workgroup(%shared : memref<32xi64, 3>)"), chip)


def test_tensor_maps_stay_in_the_parameters_of_the_launch(tmp_path):
    code = described("sm_90")
    assert code.kernels[0].parameters == (4, 128, 128)
    assert code.assembly.count(".param .align 64 .b8") == 2 and code.assembly.count("cvta.param") == 2
    assert ".local" not in code.assembly and code.assembly.count("ld.param") == 1, "the engine wants no copy"
    assert "prefetch.tensormap [%rd1];" in instructions(code)
    if PTXAS is not None:
        assert "0 bytes stack frame" in assembled(code, tmp_path)
    with pytest.raises(DiagnosedError, match="has a tensor map; gfx942 has no copy engine"):
        described("gfx942")


CLUSTER = """
  %at = memref.extract_aligned_pointer_as_index %shared : memref<32xi64, 3> -> index
  %at64 = arith.index_cast %at : index to i64
  %near = llvm.inttoptr %at64 : i64 to !llvm.ptr<3>
  %map64 = memref.extract_aligned_pointer_as_index %data : memref<64xi32> -> index
  %mapped = arith.index_cast %map64 : index to i64
  %map = llvm.inttoptr %mapped : i64 to !llvm.ptr
  %target = llvm.inttoptr %at64 : i64 to !llvm.ptr<7>
  %mask = arith.constant 3 : i16
  %zero = arith.constant 0 : i32
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %there = nvvm.mapa %near, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
  nvvm.mbarrier.arrive.expect_tx %there, %zero : !llvm.ptr<7>, i32
  nvvm.cp.async.bulk.tensor.shared.cluster.global %target, %map, %near, box[%zero] multicast_mask = %mask
    : !llvm.ptr<7>, !llvm.ptr
  nvvm.cluster.arrive
  nvvm.cluster.wait {aligned}
"""


def test_clusters_are_named_in_the_kernel_and_reached_by_their_addresses(tmp_path):
    text = kernel(CLUSTER, extra="workgroup(%shared : memref<32xi64, 3>)")
    code = compiled(text.replace("attributes {", "attributes {known_cluster_size = array<i32: 2, 1, 1>, "))
    assert ".explicitcluster" in code.assembly and ".reqnctapercluster 2, 1, 1" in code.assembly
    lines = "\n".join(instructions(code))
    for word in (
        "%cluster_ctarank",
        "mapa.shared::cluster.u32",
        "mbarrier.arrive.expect_tx.shared::cluster.b64",
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
        "barrier.cluster.arrive;",
        "barrier.cluster.wait.aligned;",
    ):
        assert word in lines
    assert ".reqnctapercluster" not in compiled(text).assembly
    if PTXAS is not None:
        assert "registers" in assembled(code, tmp_path)


@needs_ptxas
def test_instructions_of_hopper_alone_are_those_of_its_own_target(tmp_path):
    text = kernel('llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;", "~{memory}" : () -> ()', threads=128)
    code = compiled(text, "sm_90a")
    assert ".target sm_90a" in code.assembly and "registers" in assembled(code, tmp_path)
    with pytest.raises(AssertionError, match="wgmma"):
        assembled(compiled(text, "sm_90"), tmp_path)


@needs_ptxas
@pytest.mark.parametrize("chip", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize(
    "body", [SPIN, SHUFFLE, ATOMIC_ADDRESS + "llvm.fence acq_rel"], ids=["spin", "shuffle", "fence"]
)
def test_nvidias_assembler_takes_it(chip, body, tmp_path):
    assert "registers" in assembled(compiled(kernel(body), chip), tmp_path)
