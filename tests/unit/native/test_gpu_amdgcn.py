"""Kernels as AMD's code objects: the target in the file, the instructions, and what the loader reads."""

import shutil
import struct
import subprocess

import pytest
from gpu_kernels import compiled, instructions, kernel
from test_gpu_ptx import ATOMIC_ADDRESS, SHUFFLE, SPIN, SUM

from tilewright.ir.diagnostics import CompileError
from tilewright.native import elf
from tilewright.native.gpu_amdgcn import LINKERS, NoLinker
from tilewright.native.gpu_code import linked_code
from tilewright.native.gpu_kernel import FRAME_BYTES

EM_AMDGPU = 224
MACHINES = {"gfx906": 0x2F, "gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F, "gfx1100": 0x41}
"""EF_AMDGPU_MACH of each chip (LLVM, "User Guide for AMDGPU Backend", ELF header)."""
HSA, CODE_OBJECT_V5 = 64, 3
LLD = next((path for name in LINKERS if (path := shutil.which(name))), None)


def words(code) -> str:
    return "\n".join(instructions(code))


@pytest.mark.parametrize("chip", MACHINES)
def test_the_object_is_for_the_chip(chip):
    code = compiled(kernel(SUM, "%x: memref<64xf32>, %y: memref<64xf32>"), chip)
    data = code.object
    assert data is not None and data.startswith(elf.MAGIC)
    machine, flags = struct.unpack_from("<H", data, 18)[0], struct.unpack_from("<I", data, 48)[0]
    assert (machine, flags & 0xFF, data[7], data[8]) == (EM_AMDGPU, MACHINES[chip], HSA, CODE_OBJECT_V5)
    symbols = {symbol.name for symbol in elf.read_object(data).symbols}
    assert {"kernel", "kernel.kd"} <= symbols, "the code and its descriptor"


@pytest.mark.parametrize("chip", MACHINES)
def test_metadata_tells_the_loader_about_arguments_and_threads(chip):
    text = compiled(kernel(SUM, "%x: memref<64xf32>, %y: memref<64xf32>"), chip).assembly
    assert f"amdhsa.target:   amdgcn-amd-amdhsa--{chip}" in text
    assert ".max_flat_workgroup_size: 64" in text and ".name:           kernel" in text
    assert ".wavefront_size: 64" in text


def test_rdna_has_waves_of_32_or_64():
    text = kernel(SUM, "%x: memref<64xf32>, %y: memref<64xf32>")
    assert ".wavefront_size: 32" in compiled(text, "gfx1100", 32).assembly
    assert ".wavefront_size: 64" in compiled(text, "gfx1100", 64).assembly


@pytest.mark.parametrize(
    "operation, wanted",
    [
        (
            '%r = llvm.load %place atomic syncscope("") acquire {alignment = 4 : i64} : !llvm.ptr -> i32',
            ["sc0 sc1", "buffer_inv sc0 sc1"],
        ),
        (
            '%r = llvm.load %place atomic syncscope("agent") acquire {alignment = 4 : i64} : !llvm.ptr -> i32',
            ["sc1", "buffer_inv sc1"],
        ),
        (
            '%r = llvm.atomicrmw xchg %place, %one syncscope("") release : !llvm.ptr, i32',
            ["buffer_wbl2 sc0 sc1", "atomic_swap"],
        ),
        (
            '%r = llvm.atomicrmw add %place, %one syncscope("agent") acq_rel : !llvm.ptr, i32',
            ["buffer_wbl2 sc1", "buffer_inv sc1"],
        ),
    ],
)
def test_order_and_scope_are_caches_written_back_and_emptied(operation, wanted):
    """LLVM, "User Guide for AMDGPU Backend", memory model gfx942: sc0 and sc1 together are system scope."""
    body = f"{ATOMIC_ADDRESS} {operation} \n memref.store %r, %data[%at] : memref<64xi32>"
    text = words(compiled(kernel(body), "gfx942"))
    assert all(piece in text for piece in wanted), text


def test_gfx906_has_one_cache_to_empty():
    """The same guide, memory model gfx6-gfx9: glc goes past the first cache, and acquires empty it."""
    load = '%r = llvm.load %place atomic syncscope("") acquire {alignment = 4 : i64} : !llvm.ptr -> i32'
    body = f"{ATOMIC_ADDRESS} {load} \n memref.store %r, %data[%at] : memref<64xi32>"
    text = words(compiled(kernel(body), "gfx906"))
    assert "glc" in text and "buffer_wbinvl1_vol" in text


def test_a_load_that_waits_bypasses_caches():
    assert "sc0 sc1" in words(compiled(kernel(SPIN), "gfx942"))


def test_lanes_exchange_values_in_registers():
    assert "ds_bpermute_b32" in words(compiled(kernel(SHUFFLE), "gfx942"))
    text = words(compiled(kernel(SHUFFLE), "gfx1100"))
    assert "permlane64" in text, "halves of a wave of 64 lanes do not see each other on RDNA"


def test_private_memory_becomes_registers():
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %i = %c0 to %c4 step %c1 {
        %v = memref.load %data[%i] : memref<64xi32>
        memref.store %v, %mine[%i] : memref<4xi32, 5>
      }
      %w = memref.load %mine[%c1] : memref<4xi32, 5>
      memref.store %w, %data[%c0] : memref<64xi32>
    """
    assert "scratch_" not in words(compiled(kernel(body, extra="private(%mine : memref<4xi32, 5>)"), "gfx942"))


VENDORS = """
  %a = {tid} : i32
  %b = {block} : i32
  %c = arith.addi %a, %b : i32
  %at = arith.index_cast %a : i32 to index
  {barrier}
  memref.store %c, %data[%at] : memref<64xi32>
"""


PRIVATE = """
  %t = gpu.thread_id x
  %private = memref.alloca() : memref<{0}xi32>
  %v = memref.load %data[%t] : memref<64xi32>
  %at = arith.index_cast %v : i32 to index
  memref.store %v, %private[%t] : memref<{0}xi32>
  memref.store %v, %private[%at] : memref<{0}xi32>
  %behind = arith.addi %at, %t : index
  %w = memref.load %private[%behind] : memref<{0}xi32>
  memref.store %w, %data[%t] : memref<64xi32>
"""
SHARED = """
  %t = gpu.thread_id x
  %v = memref.load %data[%t] : memref<64xi32>
  memref.store %v, %shared[%t] : memref<{0}xi32, 3>
  gpu.barrier
  %w = memref.load %shared[%t] : memref<{0}xi32, 3>
  memref.store %w, %data[%t] : memref<64xi32>
"""


@pytest.mark.parametrize(
    "chip, most", [("gfx942", 64 << 10), ("gfx950", 160 << 10), ("gfx1100", 64 << 10), ("sm_90", 227 << 10)]
)
def test_memory_of_a_block_beyond_the_chips_is_refused_before_llvm_ends_the_process(chip, most):
    def built(words):
        return compiled(kernel(SHARED.format(words), extra=f"workgroup(%shared : memref<{words}xi32, 3>)"), chip)

    assert built(most // 4).kernels[0].shared_bytes == most
    for words in (most // 4 + 1, 1 << 61):
        with pytest.raises(CompileError, match=rf"test.mlir:3:7: .* of memory of a block; {chip} has {most}"):
            built(words)


@pytest.mark.parametrize("chip, most", [("gfx942", 128 << 10), ("gfx1100", 128 << 10), ("sm_90", 512 << 10)])
def test_private_memory_beyond_the_chips_is_refused_before_llvm_ends_the_process(chip, most):
    fitting = (most - FRAME_BYTES) // 4
    assert compiled(kernel(PRIVATE.format(fitting)), chip).assembly
    for words in (fitting + 1, 1 << 61):
        with pytest.raises(CompileError, match=f"'memref.alloca' .* private memory of a thread; {chip} has {most}"):
            compiled(kernel(PRIVATE.format(words)), chip)


WIDE = """
  %t = gpu.thread_id x
  %v = memref.load %data[%t] : memref<64xi32>
"""


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
@pytest.mark.parametrize(
    "body, text",
    [
        ('llvm.call_intrinsic "llvm.x86.sse2.pause"() : () -> ()', "is no intrinsic of"),
        ('%r = llvm.call_intrinsic "malloc"(%v) : (i32) -> i32', "is no intrinsic of"),
        ('%r = llvm.call_intrinsic "llvm.ctpop.i32"(%v, %v) : (i32, i32) -> i32', "is no code that LLVM takes"),
        ('%r = llvm.inline_asm "mov $0, $1", "=Q,Q" %v : (i32) -> i32', "no assembler here|no operands of kind '=Q'"),
        (
            "%w = arith.extsi %v : i32 to i128 \n %m = memref.alloca() : memref<64xi128> \n"
            "%r = memref.atomic_rmw addi %w, %m[%t] : (i128, memref<64xi128>) -> i128",
            "atomic accesses have up to 8 bytes",
        ),
    ],
)
def test_what_llvm_would_end_the_process_over_is_refused(body, text, chip):
    with pytest.raises(CompileError, match=text):
        compiled(kernel(WIDE + body), chip)


@pytest.mark.parametrize("chip", ["gfx942", "sm_90"])
@pytest.mark.parametrize("threads", [1025, (1 << 31) - 1, -1])
def test_a_block_that_no_launch_can_have_is_refused(threads, chip):
    with pytest.raises(CompileError, match=rf"has blocks of {threads} x 1 x 1 threads; {chip} takes 1 to 1024"):
        compiled(kernel(WIDE, threads=threads), chip)


@pytest.mark.parametrize(
    "chip, size, text",
    [
        ("gfx942", "2, 1, 1", "has clusters of 2 x 1 x 1 blocks; gfx942 has none, NVIDIA's GPUs from sm_90 on have"),
        ("sm_80", "1, 2, 1", "has clusters of 1 x 2 x 1 blocks; sm_80 has none"),
        ("sm_90", "4, 2, 2", "has clusters of 4 x 2 x 2 blocks; sm_90 takes 1 to 8"),
        ("sm_90", "2, 0, 1", "has clusters of 2 x 0 x 1 blocks; sm_90 takes 1 to 8"),
    ],
)
def test_clusters_that_a_gpu_has_not_are_refused(chip, size, text):
    clustered = kernel("").replace("attributes {", f"attributes {{known_cluster_size = array<i32: {size}>, ")
    with pytest.raises(CompileError, match=text):
        compiled(clustered, chip)


def test_what_one_vendor_calls_it_works_on_the_other():
    nvidia = VENDORS.format(tid="nvvm.read.ptx.sreg.tid.x", block="nvvm.read.ptx.sreg.ctaid.y", barrier="nvvm.barrier0")
    amd = VENDORS.format(tid="rocdl.workitem.id.x", block="rocdl.workgroup.id.y", barrier="rocdl.barrier")
    assert compiled(kernel(nvidia), "gfx942").assembly == compiled(kernel(amd), "gfx942").assembly
    assert compiled(kernel(nvidia), "sm_90").assembly == compiled(kernel(amd), "sm_90").assembly


MATRIX = """
      %t = gpu.thread_id x
      %c4 = arith.constant 4 : index
      %i = arith.muli %t, %c4 : index
      %zero = arith.constant 0 : i32
      %a = vector.load %x[%i] {alignment = 8 : i64} : memref<256xi16>, vector<4xi16>
      %c = vector.load %y[%i] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
      %d = llvm.call_intrinsic "llvm.amdgcn.mfma.f32.16x16x16bf16.1k"(%a, %a, %c, %zero, %zero, %zero)
          : (vector<4xi16>, vector<4xi16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
      vector.store %d, %y[%i] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
"""
MATRICES = "%x: memref<256xi16>, %y: memref<256xf32>"


@pytest.mark.parametrize("chip", ["gfx906", "gfx1100"])
def test_a_chip_without_such_matrix_units_is_named(chip):
    with pytest.raises(CompileError, match=f"{chip} has no matrix instructions of the kind 'llvm.amdgcn.mfma"):
        compiled(kernel(MATRIX, MATRICES), chip)


def test_matrix_units_are_reached_by_intrinsics():
    code = compiled(kernel(MATRIX, MATRICES), "gfx942")
    assert "v_mfma_f32_16x16x16_bf16" in words(code) and "global_load_dwordx4" in words(code)


@pytest.mark.skipif(LLD is None, reason="no ld.lld")
def test_lld_makes_a_code_object(tmp_path):
    code = linked_code(compiled(kernel(SHUFFLE), "gfx942"))
    assert code.linked is not None and code.suffix == ".hsaco"
    assert struct.unpack_from("<H", code.linked, 16)[0] == elf.ET_DYN


def test_without_lld_it_is_said_how_to_link(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(NoLinker, match=r"ld.lld -shared NAME.o -o NAME.hsaco"):
        linked_code(compiled(kernel(SHUFFLE), "gfx942"))


OBJDUMP = shutil.which("llvm-objdump-22")


@pytest.mark.skipif(OBJDUMP is None, reason="no llvm-objdump-22")
def test_llvms_disassembler_reads_the_object(tmp_path):
    path = tmp_path / "kernel.o"
    path.write_bytes(compiled(kernel(SUM, "%x: memref<64xf32>, %y: memref<64xf32>"), "gfx942").object or b"")
    shown = subprocess.run([str(OBJDUMP), "-d", str(path)], capture_output=True, text=True, check=True).stdout
    assert "v_fma" in shown and "s_endpgm" in shown
