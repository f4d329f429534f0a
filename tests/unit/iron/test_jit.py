"""Designs that are called like functions: what is compiled again, and what is not."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.iron as iron
from tilewright.driver.sources import TextSource
from tilewright.iron import CompileTime, In, ObjectFifo, Out, Program, RunTime, Runtime, Worker, kernels
from tilewright.iron.device import from_name
from tilewright.iron.utils import NPUKernel
from tilewright.iron.utils.compile.jit import design_cache, get_compile_arg
from tilewright.iron.utils.compile.jit.fingerprint import fingerprint
from tilewright.iron.utils.compile.jit.introspection import split_params
from tilewright.iron.utils.test import create_npu_kernel

LINE = 16
OFFSET = 1


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    design_cache.forget_designs()
    monkeypatch.setattr(design_cache, "statistics", design_cache.Statistics())
    iron.set_current_device(from_name("npu1"))
    copy._kernel_cache.clear()
    yield
    iron.set_current_device(None)


def compiled() -> tuple[int, int]:
    """How many designs were compiled, and how many came from disk."""
    return design_cache.statistics.compiled, design_cache.statistics.from_disk


def streamed(core: Any, extra: list[Any], length: Any, count: Any) -> Any:
    """A program whose core makes lines of one stream to lines of another."""
    line = np.ndarray[(LINE,), np.dtype[np.int32]]
    host = np.ndarray[(length,), np.dtype[np.int32]]
    source, target = ObjectFifo(line, name="source"), ObjectFifo(line, name="target")
    worker = Worker(core, [source.cons(), target.prod(), *extra])

    def sequence(a: Any, b: Any, *rest: Any) -> None:
        *sizes, given, taken = rest
        whole = {"sizes": [1, 1, 1, sizes[0]], "strides": [0, 0, 0, 1], "offset": 0} if sizes else {}
        given.fill(a, **whole)
        taken.drain(b, wait=True, **whole)

    arguments = [host, host, *([count] if count is not None else []), source.prod(), target.cons()]
    return Program(iron.get_current_device(), Runtime(sequence, arguments), workers=[worker]).resolve_program()


def copying(length: Any, count: Any = None) -> Any:
    def core(source: Any, target: Any, kernel: Any) -> None:
        a, b = source.acquire(1), target.acquire(1)
        kernel(a, b, LINE)
        source.release(1)
        target.release(1)

    return streamed(core, [kernels.passthrough(LINE, np.int32)], length, count)


@iron.jit
def copy(a: In, b: Out, *, length: CompileTime[int]) -> Any:
    return copying(length)


def test_design_is_compiled_once_for_each_compile_time_argument() -> None:
    for length in (32, 64, 32):
        a, b = iron.arange(length, dtype=np.int32), iron.zeros(length, dtype=np.int32)
        result = copy(a, b, length=length)
        assert (b.numpy() == a.numpy()).all() and result.npu_time > 0 and result.cycles > 0
    assert compiled() == (2, 0)


def test_number_of_the_run_needs_no_other_design() -> None:
    @iron.jit
    def copy_some(a: In, b: Out, count: RunTime[int] = 16) -> Any:
        return copying(None, count)

    a = iron.arange(256, dtype=np.int32)
    for count in (16, 64, 256, None):
        b = iron.zeros(256, dtype=np.int32)
        copy_some(a, b, **({} if count is None else {"count": count}))
        assert (b[: count or 16] == a[: count or 16]).all() and not b[count or 16 :].any()
    b = iron.zeros(256, dtype=np.int32)
    copy_some(a, b, 32)
    assert b[31] == 31 and not b[32:].any()
    assert compiled() == (1, 0) and copy_some.design().scalars() == ["rest0"]


def test_design_comes_from_disk_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = iron.arange(32, dtype=np.int32), iron.zeros(32, dtype=np.int32)
    copy(a, b, length=32)
    design_cache.forget_designs()  # what another process starts from
    copy._kernel_cache.clear()
    b.fill_(0)
    copy(a, b, length=32)
    assert (b.numpy() == a.numpy()).all() and compiled() == (1, 1)
    monkeypatch.setattr(design_cache, "compiler_key", lambda: "another compiler")
    copy._kernel_cache.clear()
    copy(a, b, length=32)
    assert compiled() == (2, 1)


def test_threads_that_want_one_design_get_one() -> None:
    source = TextSource("aie.device(npu1_1col) { aie.runtime_sequence @s(%n: i32) {} }", "design.mlir")
    start = threading.Barrier(4)

    def work(_: int) -> Any:
        start.wait()
        return design_cache.compiled_design(source)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(4)))
    assert len({id(design) for design in found}) == 1
    assert compiled() == (1, 0) and design_cache.statistics.from_memory == 3


def test_what_the_function_can_see_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def design_of(step: int) -> Any:
        def add(a: In, b: Out) -> None:
            print(step + OFFSET)

        return add

    assert fingerprint(design_of(1)) == fingerprint(design_of(1)) != fingerprint(design_of(2))
    before = fingerprint(design_of(1))
    monkeypatch.setitem(globals(), "OFFSET", 2)
    assert fingerprint(design_of(1)) != before
    assert fingerprint(object()) is None and fingerprint(lambda: fresh_object) is None
    assert fingerprint(np.zeros(2)) != fingerprint(np.ones(2)) and fingerprint({1, 2}) == fingerprint({2, 1})
    assert fingerprint(kernels.mm(b_col_maj=True)) != fingerprint(kernels.mm())


def test_values_in_the_users_modules_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = ModuleType("settings")
    settings.depth, settings.unused = 2, 1
    monkeypatch.setitem(globals(), "settings_module", settings)
    before = fingerprint(reads_settings)
    settings.unused = 2
    assert fingerprint(reads_settings) == before is not None
    settings.depth = 3
    assert fingerprint(reads_settings) != before


def reads_settings() -> int:
    return settings_module.depth


settings_module: Any = None
fresh_object = object()


def test_function_that_cannot_be_recognised_is_built_again() -> None:
    state: Any = type("State", (), {"length": 32})()

    @iron.jit
    def copy_some(a: In, b: Out) -> Any:
        return copying(state.length)

    for length in (32, 48, 32):
        state.length = length
        a, b = iron.arange(length, dtype=np.int32), iron.zeros(length, dtype=np.int32)
        copy_some(a, b)
        assert (b.numpy() == a.numpy()).all()
    assert compiled() == (2, 0)


def test_other_devices_have_other_designs() -> None:
    assert "aie.device(npu1_1col)" in copy.as_mlir(length=32)
    iron.set_current_device(from_name("npu2", n_cols=None))
    assert "aie.device(npu2)" in copy.as_mlir(length=32)
    iron.set_current_device(None)
    assert iron.get_current_device(probe_runtime=False) is None
    assert (found := iron.get_current_device()) is not None and found.name == "npu2"


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_source_of_a_kernel_is_compiled_for_this_computer() -> None:
    source = 'extern "C" void scaled(int *a, int *b, int n) { for (int i = 0; i < n; i++) b[i] = FACTOR * a[i]; }'
    line = np.ndarray[(LINE,), np.dtype[np.int32]]

    @iron.jit
    def scale(a: In, b: Out, *, factor: CompileTime[int]) -> Any:
        flags = [f"-DFACTOR={factor}"]
        kernel = iron.ExternalFunction(
            "scaled", source_string=source, arg_types=[line, line, np.int32], compile_flags=flags
        )

        def core(source: Any, target: Any, kernel: Any) -> None:
            a, b = source.acquire(1), target.acquire(1)
            kernel(a, b, get_compile_arg("line", LINE))
            source.release(1)
            target.release(1)

        return streamed(core, [kernel], 32, None)

    a, b = iron.arange(32, dtype=np.int32), iron.zeros(32, dtype=np.int32)
    for factor in (3, 5):
        scale(a, b, factor=factor)
        assert (b.numpy() == factor * a.numpy()).all()


def test_files_of_a_design_run_again(tmp_path: Path) -> None:
    design, words = tmp_path / "final.xclbin", tmp_path / "insts.bin"
    copy.specialize(length=32).compile(xclbin_path=design, inst_path=words)
    a, b = iron.arange(32, dtype=np.int32), iron.zeros(32, dtype=np.int32)
    NPUKernel(design, words)(a, b)
    assert (b.numpy() == a.numpy()).all()
    # bytes are bytes: XRT does not know of elements
    for dtype in (np.int8, np.float32, np.int64):
        c = iron.zeros(128 // np.dtype(dtype).itemsize, dtype=dtype)
        NPUKernel(design, words)(a, c)
        assert c.numpy().tobytes() == a.numpy().tobytes()
    b[:] = 0
    with pytest.warns(UserWarning, match="takes .*; 1 more of the tensors that are given have no use"):
        NPUKernel(design, words)(a, b, iron.zeros(64, dtype=np.uint8))  # as a host that expects a trace
    assert (b.numpy() == a.numpy()).all()
    # where readers of traces look for what the driver makes
    assert "aie.runtime_sequence" in (tmp_path / "final.prj" / "input_with_addresses.mlir").read_text()

    class Options:
        xclbin, instr, kernel = design, words, "MLIR_AIE"

    from tilewright.iron.utils import DefaultNPURuntime

    assert DefaultNPURuntime.npu_str == "npu2"
    b.fill_(0)
    kernel = create_npu_kernel(Options()).npu_kernel
    assert DefaultNPURuntime.run_test(kernel, [a, b], {1: np.arange(32)}) == 0
    assert DefaultNPURuntime.run_test(kernel, [a, b], {1: np.zeros(32)}) == 1


def test_design_is_a_program_for_everybody_else() -> None:
    words = tw.compile(copy.specialize(length=32)).txn()
    assert (words == copy.design(length=32).txn()).all()


def test_parameters_are_sorted_by_their_annotations() -> None:
    def design(a: In, n: np.int32, b: Out, *, m: CompileTime[int], k: CompileTime[int | None] = None) -> None: ...

    assert split_params(design) == (["m", "k"], ["a", "b"], ["n"])


@pytest.mark.parametrize(
    "settings, arguments, complaint",
    [
        ({"NN": 3}, {}, r"do not match any CompileTime\[T\]-annotated parameter of 'design': \['NN'\]"),
        ({}, {"args": (1, 2, 3)}, r"takes at most 2 positional argument"),
        ({}, {"a": 1}, r"received tensor param\(s\) as keyword arguments: {'a'}"),
        ({}, {"args": (1, 2)}, r"missing a required argument: 'n'"),
    ],
)
def test_wrong_calls(settings: dict[str, Any], arguments: dict[str, Any], complaint: str) -> None:
    def design(a: In, b: Out, *, n: CompileTime[int]) -> None: ...

    with pytest.raises(TypeError, match=complaint):
        iron.jit(**settings)(design)(*arguments.pop("args", ()), **arguments)


def test_annotations_that_are_text_and_local() -> None:
    """All of this file's are text. What a name means may be known to the function around only, or not at all."""
    size = CompileTime[int]

    def design(a: In, b: Out, c: nothing_of_this_name, *, m: size, k: CompileTime[int]) -> None: ...  # noqa: F821 # pyright: ignore[reportUndefinedVariable]

    assert split_params(design) == (["m", "k"], ["a", "b"], ["c"])


def test_wrong_annotations() -> None:
    def positional(a: In, n: CompileTime[int]) -> None: ...

    def unclear(a: In, n=3) -> None: ...

    with pytest.raises(
        TypeError, match=r"CompileTime\[T\] parameter\(s\) \['n'\] in 'positional' are not keyword-only"
    ):
        iron.jit(positional)
    with pytest.raises(TypeError, match=r"parameter\(s\) \['n'\] of 'unclear' have default values but no In"):
        iron.jit(unclear)


def test_tensor_has_to_be_as_large_as_the_design_wants() -> None:
    with pytest.raises(RuntimeError, match="Tensor argument 'b' has 8 elements but the kernel was compiled for 32"):
        copy(iron.zeros(32, dtype=np.int32), iron.zeros(8, dtype=np.int32), length=32)


def test_tensors_are_not_there_when_the_design_is_built() -> None:
    @iron.jit
    def design(a: In, b: Out) -> Any:
        tensor: Any = a
        return copying(tensor.shape[0])

    with pytest.raises(RuntimeError, match=r"'a' is a runtime tensor .* not available at compile time: .shape"):
        design.as_mlir()
