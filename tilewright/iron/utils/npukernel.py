"""Compiled designs that can be called, and the simulated NPU that runs them."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.utils.hints import isa

from tilewright import containers
from tilewright.containers import Xclbin
from tilewright.containers.embedded_design import read_embedded
from tilewright.containers.xclbin import is_xclbin
from tilewright.device import Arch
from tilewright.device.timing import timing_with
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.driver.compiled_design import Design, design_from_text
from tilewright.driver.packaged_design import runnable
from tilewright.driver.run_result import RunResult
from tilewright.errors import CallError, Error, near_match
from tilewright.iron.utils.hostruntime import bfloat16_safe_allclose
from tilewright.iron.utils.hostruntime.current_device import get_current_device, simulated_device
from tilewright.iron.utils.hostruntime.tensor_class import array_of
from tilewright.iron.utils.tensor_factory import tensor, zeros
from tilewright.iron.utils.trace.config import TraceConfig
from tilewright.iron.utils.trace.parse import setup_text
from tilewright.iron.utils.trace.utils import create_ctrl_pkt
from tilewright.native.host_arrays import accepted_dtypes
from tilewright.report.hardware_trace import trace_setups
from tilewright.support.output_files import write_file
from tilewright.support.tracebacks import user_stack_level

NPU_NAMES = {Arch.AIE2: "npu1", Arch.AIE2p: "npu2"}


@dataclass(frozen=True)
class KernelResult:
    """How a run of a design went."""

    npu_time: float
    """On the modelled device, in nanoseconds."""
    run: RunResult
    trace_buffer: Any = None
    """The words that trace units wrote, where the design has any."""

    def is_success(self) -> bool:
        """Whether it came to its end: a run that does not raises an error."""
        return True

    def has_trace(self) -> bool:
        """Whether trace units wrote something."""
        return self.trace_buffer is not None

    @property
    def cycles(self) -> int:
        return self.run.cycles

    @property
    def trace(self) -> Any:
        return self.run.trace


class NPUKernel:
    """A compiled design, from memory or from the files that `compile(xclbin_path=, inst_path=)` wrote."""

    def __init__(
        self,
        xclbin_path: str | Path | None = None,
        insts_path: str | Path | None = None,
        device_index: int = 0,
        kernel_name: str = "MLIR_AIE",
        trace_config: TraceConfig | None = None,
        num_host_bos: int | None = None,
        elf_path: str | Path | None = None,
        *,
        dispatch_params: Sequence[str] | None = None,
        dispatch_lib_path: str | Path | None = None,
        design: Design | None = None,
    ):
        """A design to run.

        Args:
            xclbin_path: the file that `compile` wrote
            insts_path: that with its words; none where calls give numbers
            device_index: which device; there is one
            kernel_name: means nothing here, as do `num_host_bos`, `elf_path` and `dispatch_lib_path`
            trace_config: the buffer for what trace units record, and the files that it goes to
            dispatch_params: the numbers that calls give, if that is to be checked
            design: the design itself, instead of files
        """
        self.xclbin_path, self.insts_path, self.elf_path = xclbin_path, insts_path, elf_path
        self.kernel_name, self.num_host_bos = kernel_name, num_host_bos
        self.trace_config = trace_config
        self.dispatch_params, self.dispatch_lib_path = dispatch_params, dispatch_lib_path
        self._design = design
        self._kernels: dict[str, Any] = {}

    @property
    def design(self) -> Design:
        # the file is read when the design is first asked for
        if self._design is None:
            if self.xclbin_path is None:
                raise ValueError("NPUKernel: there is no design to run: xclbin_path is None")
            path = Path(self.xclbin_path)
            self._design, self._kernels = _design_in(path)
            if self.dispatch_params is not None and set(self.dispatch_params) != set(scalars := self._design.scalars()):
                raise CallError(f"calls of {path} give {scalars or 'no numbers'}, not {list(self.dispatch_params)}")
        return self._design

    def __call__(self, *tensors: Any, **scalars: Any) -> KernelResult:
        """Run it: tensors in order, numbers by the names that the sequence has for them."""
        known = self.design.scalars()
        if unknown := [name for name in scalars if name not in known]:
            takes = ", ".join(known) or "no numbers"
            raise CallError(f"the sequence takes {takes}, not {unknown[0]!r}{near_match(unknown[0], known)}")
        return self.run(tensors, scalars)

    def run(self, tensors: Sequence[Any], scalars: Mapping[str, Any]) -> KernelResult:
        """Run it: numbers whose names the sequence does not know are taken in order."""
        words = None if self.insts_path is None else Path(self.insts_path).read_bytes()
        design = self.design
        arguments = _ordered(design, tensors, scalars, from_memory=self.xclbin_path is None)
        with _traced(design, arguments, self.trace_config) as buffer:
            result = design.run(*arguments, txn=words, kernels=self._kernels)
        # scripts of upstream take nanoseconds
        clock = timing_with(design.device(design.device_of()).model.arch, None).clock_hz
        return KernelResult(result.cycles * 1e9 / clock, result, buffer)


@contextmanager
def _traced(design: Design, arguments: list[Any], config: TraceConfig | None) -> Generator[Any]:
    """Room for what trace units write, in place of the argument that callers have no tensor for; written to files."""
    buffer: Any = None
    last: Any = None
    joined: Any = None
    if arguments and arguments[-1] is None and trace_setups(design.device(design.device_of())):
        type = cast("MemRefType[Any]", design.operation().body.block.args[-1].type)
        arguments[-1] = np.zeros((element_count(type) or 0) * element_bytes(type), np.uint8)
        buffer = arguments[-1].view(np.uint32)
    elif config is not None and config.reuse_output_buffer and arguments and arguments[-1] is not None:
        last = arguments[-1]
        config.last_tensor_shape, config.last_tensor_dtype = last.shape, last.dtype
        joined = np.concatenate([last.reshape(-1).view(np.uint8), np.zeros(config.trace_size, np.uint8)])
        arguments[-1], buffer = joined, joined[last.nbytes :].view(np.uint32)
    elif config is not None and not trace_setups(design.device(design.device_of())):
        raise HostRuntimeError(
            f"a trace_config was given, and the design has {len(arguments)} host buffer argument(s), none of them for "
            "a trace: call enable_trace(...) on its program"
        )
    yield buffer
    if last is not None:
        last[...] = joined[: last.nbytes].view(last.dtype).reshape(last.shape)
    if config is not None and buffer is not None:
        config.write_trace(buffer)
        described = Path(config.trace_file).with_suffix(".mlir")
        write_file(described, setup_text(design).encode())
        config.physical_mlir_path = str(described)


def _design_in(path: Path) -> tuple[Design, dict[str, Any]]:
    """The design in a package, with the kernels that it brings, or in a file that `compile` wrote."""
    data = path.read_bytes()
    if is_xclbin(data):
        found = containers.read(data)
        embedded = read_embedded(found) if isinstance(found, Xclbin) else None
        if embedded is None:
            raise ValueError(
                f"{path} brings no design that tilewright compiled: `tilewright run --xclbin` runs its parts"
            )
        return runnable(embedded, str(path))
    try:
        return design_from_text(data.decode("utf-8"), str(path)), {}
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no design that tilewright compiled") from None


def _ordered(design: Design, tensors: Sequence[Any], scalars: Mapping[str, Any], from_memory: bool) -> list[Any]:
    """The arguments as the sequence has them."""
    operation = design.operation()
    names = operation.argument_names
    arrays, numbers = iter(tensors), dict(scalars)
    # scripts may have other names for numbers than the sequence: those are taken in order
    others = iter([number for number in scalars if number not in names])
    ordered = list[Any]()
    for name, argument in zip(names, operation.body.block.args, strict=True):
        if isa(argument.type, MemRefType):
            tensor = next(arrays, None)  # one that the sequence does not use may be left out
            ordered.append(None if tensor is None else _as_given(array_of(tensor), argument.type, from_memory))
        else:
            ordered.append(numbers.pop(name if name in numbers else next(others, name), None))
    unused = len(list(arrays))
    if numbers or (unused and from_memory):
        raise CallError(f"the sequence takes {', '.join(names)}; there are more arguments than that")
    if unused:
        # XRT takes them: hosts bring a buffer for traces before they know whether the design has any
        text = f"the sequence takes {', '.join(names)}; {unused} more of the tensors that are given have no use"
        warnings.warn(text, stacklevel=user_stack_level())
    return ordered


def _as_given(array: Any, type: MemRefType[Any], from_memory: bool) -> Any:
    """An array for a memref; XRT hands over bytes, and does not know what elements a packaged design has."""
    same = from_memory or array.dtype in accepted_dtypes(type.element_type)
    return array if same or not array.flags.c_contiguous else array.reshape(-1).view(np.uint8)


CORE_STATUS, TRACE_STATUS = 0x32004, 0x340D8
CONTROL_WORDS = 8


class HostRuntimeError(Error, RuntimeError):
    """A design cannot be run as it was asked for."""


class HostRuntime:
    """The simulated NPU, as scripts for real ones use it."""

    def device(self) -> Any:
        return simulated_device()

    @property
    def _device(self) -> Any:  # programs for XRT take it from here
        from tilewright.xrt.devices import device

        return device(0)

    @property
    def npu_str(self) -> str:
        """The generation of the device: `npu1` or `npu2`."""
        return NPU_NAMES[simulated_device().arch]

    def evict_context(self, xclbin_path: str | Path) -> None:
        """Nothing is held that could be stale."""

    def load(self, npu_kernel: NPUKernel) -> NPUKernel:
        return npu_kernel

    def run(
        self,
        kernel_handle: NPUKernel,
        args: Sequence[Any],
        trace_config: TraceConfig | None = None,
        fail_on_error: bool = True,
        only_if_loaded: bool = False,
        **kwargs: Any,
    ) -> KernelResult:
        """Run a design on tensors; numbers by the names that the sequence has for them."""
        return kernel_handle(*args, **kwargs)

    def load_and_run(
        self, npu_kernel: NPUKernel, run_args: Sequence[Any], **kwargs: Any
    ) -> tuple[NPUKernel, KernelResult]:
        """Run a design on tensors, and write what it traced; gives what `load` and `run` give."""
        handle = self.load(npu_kernel)
        return handle, self.run(handle, run_args, **kwargs)

    @staticmethod
    def read_insts(insts_path: str | Path) -> np.ndarray[Any, Any]:
        """The words of a file with instructions."""
        if Path(insts_path).suffix.lower() != ".bin":
            raise HostRuntimeError("Unsupported file extension for instruction file: expected .bin")
        return np.frombuffer(Path(insts_path).read_bytes(), np.uint32)

    read_insts_binary = read_insts

    @staticmethod
    def prepare_args_for_trace(args: list[Any], trace_config: TraceConfig) -> list[Any]:
        """Give tensors room for a trace: behind the last one, or in another one behind all of them."""
        size = trace_config.trace_size
        if trace_config.reuse_output_buffer:
            used = array_of(args.pop()).nbytes if args else 0
            args.append(zeros(used + size, dtype=np.uint8))
            return args
        if trace_config.enable_ctrl_pkts:
            # headers of packets that read words, so that a run's state is in the trace, too
            reads: list[int] = [create_ctrl_pkt(1, 0, address) for address in (CORE_STATUS, TRACE_STATUS)]
            args.append(tensor(np.array(reads + [0] * (CONTROL_WORDS - len(reads)), np.uint32)))
        args.append(zeros(size * (4 if trace_config.enable_ctrl_pkts else 1), dtype=np.uint8))
        return args

    @staticmethod
    def extract_trace_from_args(args: list[Any], trace_config: TraceConfig) -> tuple[Any, Any]:
        """The words of a trace, and those of control packets if there are any; the last output without them."""
        data = array_of(args[-1]).reshape(-1).view(np.uint8)
        if trace_config.reuse_output_buffer:
            dtype = np.dtype(trace_config.last_tensor_dtype)
            used = prod(trace_config.last_tensor_shape) * dtype.itemsize
            args[-1] = data[:used].view(dtype).reshape(trace_config.last_tensor_shape).copy()
            data = data[used:].copy()
        trace, others = data[: trace_config.trace_size], data[trace_config.trace_size :]
        return trace.view(np.uint32), others.view(np.uint32) if trace_config.enable_ctrl_pkts else None

    @staticmethod
    def process_trace(trace_buffer: Any, ctrl_buffer: Any, trace_config: TraceConfig, verbosity: int = 0) -> None:
        """Write a trace to the file of its settings."""
        trace_config.write_trace(trace_buffer)

    @staticmethod
    def verify_results(io_args: Sequence[Any], refs: Mapping[int, Any] | None = None, verbosity: int = 0) -> int:
        """How many of the arguments that `refs` has expected values for differ from those."""
        wrong = 0
        for number, reference in (refs or {}).items():
            if number >= len(io_args):
                raise HostRuntimeError(f"Error: Reference index {number} out of bounds for {len(io_args)} IO buffers")
            wanted = np.asarray(reference)
            wrong += not bfloat16_safe_allclose(wanted.dtype, wanted, array_of(io_args[number]))
        return wrong

    def run_test(
        self,
        npu_kernel: NPUKernel,
        io_args: Any,
        ref: Mapping[int, Any],
        verify: bool = True,
        verbosity: int = 0,
    ) -> int:
        """Run, and compare the arguments that `ref` has expected values for; 0 if they are close."""
        tensors = cast("list[Any]", io_args) if isinstance(io_args, list) else [io_args]
        result = self.run(npu_kernel, tensors)
        if verbosity >= 1:
            print(f"npu_time: {result.npu_time / 1000.0} us")
        return int(verify and self.verify_results(tensors, ref, verbosity) > 0)

    def check_device_consistency(self) -> None:
        """Raise RuntimeError if the device that programs are for does not fit into that of this runtime."""
        chosen, ours = get_current_device(probe_runtime=False), self.device()
        if chosen is not None and (chosen.arch, chosen.cols <= ours.cols) != (ours.arch, True):
            raise HostRuntimeError(f"Overridden device {chosen} is not loadable on runtime device {ours}")

    def cleanup(self) -> None:
        """Nothing is held."""
