"""Bundles: compiled programs that run without the compiler, here on a stand-in for the driver."""

import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from stand_in import PROGRAM, built, needs_compiler

from tilewright.cli.main import main
from tilewright.gpu.bundle.machine_code import load_object
from tilewright.gpu.device import DeviceError

ENTRY = """
func.func @scale(%x: memref<?xf32>, %by: f32, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %w = arith.mulf %v, %by : f32
    memref.store %w, %x[%i] : memref<?xf32>
  }
  %s = arith.constant 3 : i32
  return %s : i32
}
"""
FORBID = "import sys\nfor name in ('xdsl', 'llvmlite', 'ml_dtypes', 'rich'):\n    sys.modules[name] = None\n"
"""What a machine with nothing but NumPy does not have."""


def compiled(tmp_path, text, *options):
    source, folder = tmp_path / "program.mlir", tmp_path / "bundle"
    source.write_text(text)
    assert main(["air", "compile", str(source), "--target", "sm_90", "-o", str(folder), *options]) == 0
    return folder


def run_alone(folder, tmp_path_factory, *options, **variables):
    """The bundle's own runner, where nothing of the compiler can be imported."""
    built(tmp_path_factory.getbasetemp(), "libcuda.so.1")
    runner = folder / "run.py"
    code = f"{FORBID}import runpy\nsys.argv = [{str(runner)!r}, *{list(options)!r}]\nrunpy.run_path({str(runner)!r})"
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "LD_LIBRARY_PATH": str(tmp_path_factory.getbasetemp()),
        "STAND_IN_FOLDER": str(folder),
        **variables,
    }
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)


@needs_compiler
def test_ranks_of_a_bundle_run_with_nothing_but_numpy(tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, PROGRAM)
    done = run_alone(folder, tmp_path_factory, "--ranks", "2", "--set", "share-gpu=yes")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines())[1:] == ["[rank 0] rank 0 has 1", "[rank 1] rank 1 has 2"]
    assert "ranks share a GPU" in done.stdout


@needs_compiler
def test_an_entry_gets_arrays_and_numbers(tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, ENTRY, "--entry", "scale")
    np.save(tmp_path / "x.npy", np.arange(5, dtype=np.float32))
    arguments = [str(tmp_path / "x.npy"), "0.5", "4"]
    options = [word for argument in arguments for word in ("--arg", argument)]
    done = run_alone(folder, tmp_path_factory, *options, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out" / "x.npy").tolist() == [0, 0.5, 1, 1.5, 4]
    short = run_alone(folder, tmp_path_factory, *options[:4])
    assert short.returncode == 1 and "@scale takes n, a int64; give it: --arg NUMBER" in short.stderr


@needs_compiler
def test_each_rank_has_arrays_of_its_own(tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, ENTRY, "--entry", "scale")
    np.save(tmp_path / "x.npy", np.arange(5, dtype=np.float32))
    options = ["--arg", str(tmp_path / "x.npy"), "--arg", "0.5", "--arg", "4", "--out", str(tmp_path / "out")]
    done = run_alone(folder, tmp_path_factory, *options, "--ranks", "3", "--set", "share-gpu=yes")
    assert done.returncode == 0, done.stderr
    # one array for all of them would be scaled three times
    for written in (tmp_path / "out", tmp_path / "out" / "rank1", tmp_path / "out" / "rank2"):
        assert np.load(written / "x.npy").tolist() == [0, 0.5, 1, 1.5, 4]


@needs_compiler
def test_what_goes_wrong_is_said_with_the_place_in_the_source(tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, PROGRAM.replace("arith.constant 16 : i64", "arith.constant 8192 : i64"))
    done = run_alone(folder, tmp_path_factory)
    assert done.returncode == 1
    assert "program.mlir:30:14: error: 'func.call' op airgpu: symmetric heap out of memory" in done.stdout


DESCRIBED = """
!map = !nvgpu.tensormap.descriptor<tensor = memref<?x8xf16, 3>, swizzle = none, l2promo = none, oob = zero,
  interleave = none>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @copy_map(%map: !map, %out: memref<16xi64>) kernel {
      %pointer = builtin.unrealized_conversion_cast %map : !map to !llvm.ptr
      nvvm.prefetch tensormap, %pointer : !llvm.ptr
      gpu.return
    }
  }
  func.func @main(%x: memref<?x?xf16>, %out: memref<16xi64>, %rows: index) {
    %one = arith.constant 1 : index
    %row = arith.constant 8 : index
    %map = nvgpu.tma.create.descriptor %x box[%rows, %row] : memref<?x?xf16> -> !map
    gpu.launch_func @kernels::@copy_map blocks in (%one, %one, %one) threads in (%one, %one, %one)
      args(%map : !map, %out : memref<16xi64>)
    return
  }
}
"""


@needs_compiler
@pytest.mark.parametrize(
    "shape, rows, words",
    [
        pytest.param((3, 24), 2, [6 | 2 << 8, 24, 3, 0, 0, 0, 48], id="sizes and strides begin with the innermost"),
        pytest.param((0, 24), 2, [0] * 7, id="the driver is not asked about an empty array"),
    ],
)
def test_a_launch_gets_what_the_host_described(shape, rows, words, tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, DESCRIBED)
    manifest = json.loads((folder / "bundle.json").read_text())
    assert manifest["launches"][0]["parameters"] == [128, 8, 8, 8, 8, 8]
    np.save(tmp_path / "x.npy", np.zeros(shape, np.float16))
    options = [word for given in (tmp_path / "x.npy", "zeros", rows) for word in ("--arg", str(given))]
    done = run_alone(folder, tmp_path_factory, *options, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr + done.stdout
    found = np.load(tmp_path / "out" / "out.npy")
    assert found[1:8].tolist() == words and [int(n) & 0xFFFF for n in found[11:13]] == (
        [8, rows] if any(words) else [0, 0]
    )


@needs_compiler
def test_what_the_engine_does_not_take_is_said_with_the_place_in_the_source(tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, DESCRIBED)
    np.save(tmp_path / "x.npy", np.zeros((3, 9), np.float16))
    options = [word for given in (tmp_path / "x.npy", "zeros", 2) for word in ("--arg", str(given))]
    done = run_alone(folder, tmp_path_factory, *options)
    text = "program.mlir:15:12: error: 'nvgpu.tma.create.descriptor' op has rows that are 18 bytes apart"
    assert done.returncode == 1 and text in done.stdout


RUNTIME_SIZES = """
module attributes {gpu.container_module} {
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @text("rank %d has %d\\0A\\00") {addr_space = 0 : i32}
  func.func @main(%n: index, %more: index) {
    %two = arith.constant 2 : index
    %end = air.rank async (%me) in (%ranks=%two) args(%size=%n, %rest=%more) : index, index {
      %extra = arith.muli %me, %rest : index
      %columns = arith.addi %size, %extra : index
      %t, %buffer = air.execute -> (memref<3x?xi32, #air.symmetric_heap>) {
        %m = memref.alloc(%columns) : memref<3x?xi32, #air.symmetric_heap>
        air.execute_terminator %m : memref<3x?xi32, #air.symmetric_heap>
      }
      %u = air.execute [%t] {
        %one = arith.constant 1 : index
        %d = memref.dim %buffer, %one : memref<3x?xi32, #air.symmetric_heap>
        %text = llvm.mlir.addressof @text : !llvm.ptr
        %rank = arith.index_cast %me : index to i32
        %found = arith.index_cast %d : index to i32
        %p = llvm.call @printf(%text, %rank, %found) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32, i32) -> i32
      }
      air.wait_all [%u]
    }
    air.wait_all [%end]
    return
  }
}
"""


@needs_compiler
def test_heaps_of_real_gpus_give_sizes_that_a_run_knows(tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, RUNTIME_SIZES)
    shared = "--ranks", "2", "--set", "share-gpu=yes"
    done = run_alone(folder, tmp_path_factory, *shared, "--arg", "7", "--arg", "0")
    assert done.returncode == 0, done.stderr + done.stdout
    assert sorted(done.stdout.splitlines())[1:] == ["[rank 0] rank 0 has 7", "[rank 1] rank 1 has 7"]
    done = run_alone(folder, tmp_path_factory, *shared, "--arg", "7", "--arg", "1")
    wanted = "ranks allocate different sizes on the symmetric heap (rank 0: 84, rank 1: 96 bytes)"
    assert done.returncode == 1 and "program.mlir:11:" in done.stdout and wanted in done.stdout


@needs_compiler
def test_an_old_driver_is_refused_before_anything_runs(tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, PROGRAM)
    done = run_alone(folder, tmp_path_factory, STAND_IN_VERSION="11040")
    assert done.returncode == 1 and "update the driver to 525 or later" in done.stdout


def test_air_run_takes_a_bundle_and_says_that_there_is_no_gpu(tmp_path, capfd):
    folder = compiled(tmp_path, PROGRAM)
    capfd.readouterr()
    assert main(["air", "run", str(folder)]) == 1
    assert "no NVIDIA driver on this machine" in capfd.readouterr().out


def test_a_bundle_is_the_same_each_time_and_holds_no_paths(tmp_path, capsys):
    first, second = (compiled(folder, PROGRAM) for folder in (tmp_path / "a", tmp_path / "b") if not folder.mkdir())
    for name in ("runtime.zip", "run.py", "host.o", "kernels.ptx"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    with zipfile.ZipFile(first / "runtime.zip") as archive:
        assert archive.testzip() is None and "tilewright/gpu/bundle/run.py" in archive.namelist()


def test_a_bundle_of_another_time_is_refused(tmp_path, capfd):
    folder = compiled(tmp_path, PROGRAM)
    contents = json.loads((folder / "bundle.json").read_text())
    (folder / "bundle.json").write_text(json.dumps(contents | {"format": 99}))
    assert main(["air", "run", str(folder)]) == 1
    assert "format 99" in capfd.readouterr().err


def test_code_for_another_machine_is_refused():
    header = bytearray(b"\x7fELF\x02\x01\x01".ljust(64, b"\0"))
    header[16:20] = (1).to_bytes(2, "little") + (243).to_bytes(2, "little")
    with pytest.raises(DeviceError, match="for ELF machine 243 and this machine is"):
        load_object(bytes(header))


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "host", "a b", "a\\0Ab", "run"])
def test_modules_of_kernels_may_have_any_name(tmp_path, name, capsys):
    text = PROGRAM.replace("gpu.module @kernels", f'gpu.module @"{name}"').replace("@kernels::", f'@"{name}"::')
    (tmp_path / "below").mkdir()
    folder = compiled(tmp_path / "below", text)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.parent != folder) == [
        "below", "bundle", "program.mlir"
    ]  # fmt: skip
    [module] = json.loads((folder / "bundle.json").read_text())["modules"]
    assert (folder / module["file"]).read_bytes().startswith(b"//") and module["file"] != "host.o"


@needs_compiler
def test_arrays_of_a_bundle_stay_in_their_folder(tmp_path, tmp_path_factory, capsys):
    folder = compiled(tmp_path, ENTRY, "--entry", "scale")
    manifest = folder / "bundle.json"
    manifest.write_text(manifest.read_text().replace('"name": "x"', '"name": "../../x"'))
    np.save(tmp_path / "x.npy", np.arange(5, dtype=np.float32))
    options = [word for argument in (str(tmp_path / "x.npy"), "2", "5") for word in ("--arg", argument)]
    done = run_alone(folder, tmp_path_factory, *options, "--out", str(tmp_path / "a" / "out"))
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "a").rglob("*.npy")] == ["%2E.%2F..%2Fx.npy"]
    full = run_alone(folder, tmp_path_factory, *options, "--out", str(tmp_path / "x.npy"))
    assert full.returncode == 1 and "error: cannot write to " in full.stderr
