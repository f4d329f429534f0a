"""The C++ functions that a sequence becomes, around the code that appends its operations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, i1
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.aiex.operation import header_numbers
from tilewright.dialects.emitc.calls import COMMENT, CallOpaqueOp, VerbatimOp
from tilewright.dialects.emitc.functions import FuncOp, ReturnOp
from tilewright.dialects.emitc.variables import LiteralOp
from tilewright.ir.diagnostics import place
from tilewright.ir.escapes import visible
from tilewright.passes.cpp.convert_aiex_to_emitc.builder import WORD, CppBuilder, Style
from tilewright.passes.cpp.convert_aiex_to_emitc.instructions import NAMESPACE, VECTOR, opaque_type
from tilewright.txn.stream import Header

RESULT = opaque_type("std::optional<std::vector<uint32_t>>")
ANY_STREAM = opaque_type("Txn &")


def stream_header(device: DeviceOp) -> Header:
    """The header that streams for a device have."""
    given = header_numbers(device)
    return Header.of(device.model) if given is None else Header(*given)


def device_info(device: DeviceOp) -> str:
    """The fields of a `TxnDeviceInfo`, in braces."""
    header = stream_header(device)
    numbers = *header.version, header.device_generation, header.rows, header.columns, header.mem_tile_rows
    return f"{{{', '.join(map(str, numbers))}}}"


class Frame(ABC):
    """Functions for one sequence, the first of which is being filled."""

    def __init__(self, sequence: RuntimeSequenceOp, device: DeviceOp, style: Style, function: FuncOp):
        self.sequence, self.device, self.style = sequence, device, style
        self.function = function
        function.location = sequence.location
        self.builder = CppBuilder(function.body.block, style, sequence.location)

    stream: SSAValue
    """What operations are appended to."""
    counter: SSAValue | None = None
    """Where they are counted at run time; None if their number is known, or counted elsewhere."""

    @property
    @abstractmethod
    def parameters(self) -> Sequence[SSAValue]:
        """The sequence's scalar arguments."""

    @abstractmethod
    def begin(self) -> None:
        """What comes before everything but the pools of descriptors."""

    @abstractmethod
    def finish(self, count: int) -> None:
        """What comes after everything, `count` operations if that is known."""

    @abstractmethod
    def functions(self) -> Sequence[FuncOp]:
        """All of them, when the first is done."""


CAN_FILL = "AIE_RUNTIME_TXN_FILL"
"""What our header defines: code that is compiled with mlir-aie's own does without."""


class WholeFunction(Frame):
    """One function that fills a vector, as upstream's; in two runs where the header is ours."""

    def __init__(self, sequence: RuntimeSequenceOp, device: DeviceOp, style: Style, types: Sequence[Attribute]):
        name = style.function_name(device.sym_name.data, sequence.sym_name.data)
        super().__init__(sequence, device, style, FuncOp(name, types, [RESULT], ["inline"]))
        self.builder.statement("std::vector<uint32_t> txn;")
        self.stream = self.builder.value(LiteralOp("txn", VECTOR))
        self.builder.emit(CallOpaqueOp(f"{NAMESPACE}::txn_init", [self.stream]))
        self._where_header_can_fill("const auto append = [&](auto &txn) -> std::optional<bool> {")

    @property
    def parameters(self) -> Sequence[SSAValue]:
        return self.function.body.block.args

    def begin(self) -> None:
        """Control flow makes the number of operations known only at run time."""
        if self.style.always_count or any(op.name.startswith("scf.") for op in self.sequence.walk()):
            self.builder.statement(f"uint32_t {self.style.counter} = 0;")
            self.counter = self.builder.value(LiteralOp(self.style.counter, WORD))

    def finish(self, count: int) -> None:
        number = f"{count}u" if self.counter is None else self.style.counter
        self.builder.statement(f"{NAMESPACE}::txn_prepend_header(txn, {number}, {device_info(self.device)});")
        fill = f"if (!{NAMESPACE}::txn_fill(txn, append)) return std::nullopt;"
        self._where_header_can_fill("return true;", "};", fill)
        self.builder.emit(ReturnOp(self.builder.value(LiteralOp(self.style.returned, RESULT))))

    def _where_header_can_fill(self, *lines: str) -> None:
        if self.style.in_two_runs:
            for line in (f"#ifdef {CAN_FILL}", *lines, "#endif"):
                self.builder.statement(line)

    def functions(self) -> Sequence[FuncOp]:
        return [self.function]


class DividedFunction(Frame):
    """A function that appends to any kind of stream, and one that makes a stream with it."""

    def __init__(self, sequence: RuntimeSequenceOp, device: DeviceOp, style: Style, types: Sequence[Attribute]):
        self._name, self._types = style.function_name(device.sym_name.data, sequence.sym_name.data), types
        appending = FuncOp(
            f"append_{self._name.removeprefix('generate_')}",
            [ANY_STREAM, *types],
            [i1],
            ["template <typename Txn>\n", "inline"],
        )
        super().__init__(sequence, device, style, appending)
        self.stream = self.function.body.block.args[0]
        self.stream.name_hint = "txn"

    @property
    def parameters(self) -> Sequence[SSAValue]:
        return self.function.body.block.args[1:]

    def begin(self) -> None:
        pass  # `txn_build` counts the operations in its first run

    def finish(self, count: int) -> None:
        self.builder.emit(ReturnOp(self.builder.constant(1, i1)))

    def functions(self) -> Sequence[FuncOp]:
        making = FuncOp(self._name, self._types, [RESULT], ["inline"])
        making.location = self.sequence.location
        builder = CppBuilder(making.body.block, self.style, self.sequence.location)
        for parameter, named in zip(making.body.block.args, self.parameters, strict=True):
            parameter.name_hint = named.name_hint
        arguments = making.body.block.args
        call = f"{self.function.sym_name.data}(txn{', {}' * len(arguments)})"
        if arguments:
            # An open brace is doubled where `{}` stands for an argument.
            builder.emit(VerbatimOp(f"const auto append = [&](auto &txn) {{{{ return {call}; }};", arguments))
        else:
            builder.emit(VerbatimOp(f"const auto append = [](auto &txn) {{ return {call}; }};"))
        whole = f"{NAMESPACE}::txn_build({device_info(self.device)}, append)"
        builder.emit(ReturnOp(builder.value(LiteralOp(whole, RESULT))))
        making.attributes[COMMENT] = StringAttr(self._describe())
        self.function.attributes[COMMENT] = StringAttr(
            f"Appends the operations of '{visible(self.sequence.sym_name.data)}'."
        )
        return [self.function, making]

    def _describe(self) -> str:
        where = place(self.sequence.location).removesuffix(": ")
        names = visible(self.sequence.sym_name.data), visible(self.device.sym_name.data)
        subject = "runtime sequence '{}' of device '{}'".format(*names)
        return f"TXN words of {subject}{f', {where}' if where else ''}.\nNone if the hardware cannot take an argument."
