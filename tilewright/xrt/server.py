"""The simulated NPU for C++ programs: answers the requests of `cpp/xrt_coreutil.cpp` over a socket, until it closes.

A request is its length, its number and its contents, all numbers of 64 bits but the first two. What programs make is
kept by number until they let go of it. Buffers are files without a name that both processes map.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.errors import Error
from tilewright.txn.containers import ControlCode
from tilewright.xrt.kernels import find_kernel
from tilewright.xrt.packages import ElfPackage, KernelArgument, PackagedKernel, XclbinPackage, XrtError, read_package
from tilewright.xrt.partition import Argument, BufferArgument, Partition, scratchpad_bytes

HEAD = struct.Struct("<II")
NUMBER, REAL = struct.Struct("<Q"), struct.Struct("<d")
FAILED = 1
MOST_BYTES = 1 << 30
BLOCK = 1 << 20
T = TypeVar("T")
Bytes = npt.NDArray[np.uint8]


class Contents:
    """What a request brings, taken from its beginning."""

    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    def number(self) -> int:
        return NUMBER.unpack(self.bytes(NUMBER.size))[0]

    def text(self) -> bytes:
        return self.bytes(self.number())

    def bytes(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise XrtError("a request that is too short")
        self._at += size
        return self._data[self._at - size : self._at]


class Reply:
    """What goes back."""

    def __init__(self) -> None:
        self.data = bytearray()

    def numbers(self, *values: int) -> Reply:
        for value in values:
            self.data += NUMBER.pack(value)
        return self

    def real(self, value: float) -> Reply:
        self.data += REAL.pack(value)
        return self

    def text(self, value: str) -> Reply:
        encoded = value.encode("utf-8", "surrogateescape")
        self.numbers(len(encoded))
        self.data += encoded
        return self

    def arguments(self, values: Sequence[KernelArgument]) -> Reply:
        self.numbers(len(values))
        for it in values:
            self.numbers(it.index).text(it.name).numbers(it.is_buffer, it.size, len(it.banks), *it.banks)
        return self


class OpenKernel:
    """A kernel of a context, and the instructions that it comes with."""

    def __init__(self, partition: Partition, kernel: PackagedKernel, code: ControlCode | None):
        self.partition, self.kernel, self.code = partition, kernel, code


class Server:
    """Keeps what a program has made, and answers its requests."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._kept = dict[int, Any]()
        self._next = 1
        self._answers: dict[int, Callable[[Contents, int | None], Reply]] = {
            1: self._open_xclbin,
            2: self._open_elf,
            3: self._make_context,
            4: self._make_kernel,
            5: self._make_buffer,
            6: self._run,
            7: self._release,
            8: self._scratchpad_bytes,
        }

    def serve(self) -> None:
        """Answer requests until the program ends."""
        while (request := self._received()) is not None:
            number, contents, descriptor = request
            try:
                answer = self._answers.get(number)
                if answer is None:
                    raise XrtError(f"an unknown request {number}")
                status, data = 0, bytes(answer(contents, descriptor).data)
            except Error as error:
                status, data = FAILED, str(error).encode("utf-8", "replace")
            finally:
                if descriptor is not None:
                    os.close(descriptor)
            self._connection.sendall(HEAD.pack(len(data), status) + data)

    def _received(self) -> tuple[int, Contents, int | None] | None:
        head, descriptors = b"", list[int]()
        while len(head) < HEAD.size:
            data, found, _, _ = socket.recv_fds(self._connection, HEAD.size - len(head), 1)
            descriptors += found
            if not data:
                return None
            head += data
        size, number = HEAD.unpack(head)
        if size > MOST_BYTES:
            return None
        parts = bytearray()
        while len(parts) < size:
            data = self._connection.recv(min(size - len(parts), BLOCK))
            if not data:
                return None
            parts += data
        return number, Contents(bytes(parts)), descriptors[0] if descriptors else None

    def _keep(self, value: Any) -> int:
        number, self._next = self._next, self._next + 1
        self._kept[number] = value
        return number

    def _get(self, number: int, kind: type[T]) -> T:
        found = self._kept.get(number)
        if not isinstance(found, kind):
            raise XrtError(f"there is no {kind.__name__} {number}")
        return found

    def _open_xclbin(self, contents: Contents, _: int | None) -> Reply:
        package = XclbinPackage.read(*_file(contents, "<xclbin>"))
        reply = Reply().numbers(self._keep(package)).text(str(package.uuid)).text(package.content.header.platform)
        reply.numbers(len(package.banks))
        for bank in package.banks:
            reply.text(bank.tag).numbers(bank.base_address, bank.size_kib, bank.used)
        reply.numbers(len(package.kernels))
        for kernel in package.kernels:
            _texts(reply.text(kernel.name).arguments(kernel.arguments), kernel.instances)
        return reply

    def _open_elf(self, contents: Contents, _: int | None) -> Reply:
        package = ElfPackage.read(*_file(contents, "<elf>"))
        kernels = package.kernels if package.is_full else []
        reply = Reply().numbers(self._keep(package), package.is_full, package.columns or 0, len(kernels))
        for kernel in kernels:
            _texts(reply.text(kernel.name).numbers(len(kernel.arguments)), kernel.instances)
        return reply

    def _make_context(self, contents: Contents, _: int | None) -> Reply:
        package = self._kept.get(contents.number())
        if not isinstance(package, XclbinPackage | ElfPackage):
            raise XrtError("a context is made of an xclbin or an ELF file")
        return Reply().numbers(self._keep(Partition(package)))

    def _make_kernel(self, contents: Contents, _: int | None) -> Reply:
        partition = self._get(contents.number(), Partition)
        file = contents.number()
        name = contents.text().decode("utf-8", "replace")
        kernel, code = find_kernel(partition.package, name)
        if file:
            code = self._get(file, ElfPackage).code
        made = self._keep(OpenKernel(partition, kernel, code))
        return Reply().numbers(made).text(kernel.name).numbers(code is not None).arguments(kernel.arguments)

    def _make_buffer(self, contents: Contents, descriptor: int | None) -> Reply:
        size = contents.number()
        if descriptor is None or os.fstat(descriptor).st_size < size or not size:
            raise XrtError(f"a buffer of {size} bytes without memory")
        return Reply().numbers(self._keep(np.frombuffer(mmap.mmap(descriptor, size), np.uint8)))

    def _run(self, contents: Contents, _: int | None) -> Reply:
        opened = self._get(contents.number(), OpenKernel)
        named = {it.index: it.name for it in opened.kernel.arguments}
        arguments = dict[int, Argument]()
        for _ in range(contents.number()):
            index = contents.number()
            arguments[index] = self._argument(contents, f"{index} ({named.get(index, 'a buffer')})")
        pad = self._argument(contents, "")
        words = [int(word) for word in pad.data.view(np.uint32)] if isinstance(pad, BufferArgument) else []
        outcome = opened.partition.run(opened.kernel, arguments, opened.code, words)
        return Reply().numbers(outcome.state).real(outcome.seconds).text(outcome.explanation)

    def _argument(self, contents: Contents, label: str) -> Argument:
        buffer, offset, size, is_stale = (contents.number() for _ in range(4))
        if not buffer:
            return offset
        data = self._get(buffer, np.ndarray)
        if offset + size > data.size:
            raise XrtError(f"a part of {size} bytes at {offset} of a buffer of {data.size}")
        return BufferArgument(data[offset : offset + size], bool(is_stale), label)

    def _release(self, contents: Contents, _: int | None) -> Reply:
        self._kept.pop(contents.number(), None)
        return Reply()

    def _scratchpad_bytes(self, contents: Contents, _: int | None) -> Reply:
        code = self._get(contents.number(), OpenKernel).code
        return Reply().numbers(scratchpad_bytes(code) if code is not None else 0)


def _file(contents: Contents, name: str) -> tuple[bytes, str]:
    """The bytes of a file and its name; a program gives either."""
    is_data, given = contents.number(), contents.text()
    if is_data:
        return given, name
    path = os.fsdecode(given)
    return read_package(path), path


def _texts(reply: Reply, values: Iterable[str]) -> Reply:
    found = list(values)
    reply.numbers(len(found))
    for value in found:
        reply.text(value)
    return reply


def serve(descriptor: int) -> None:
    """Serve the program at the other end of a socket."""
    os.set_inheritable(descriptor, False)
    with socket.socket(fileno=descriptor) as connection, suppress(BrokenPipeError, ConnectionResetError):
        Server(connection).serve()
