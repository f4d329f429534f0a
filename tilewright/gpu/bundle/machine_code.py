"""A relocatable object as functions of this process, without a linker: sections are copied, and what refers to
addresses is filled in. Functions of the C library may be far away, so calls of them go through short jumps."""

from __future__ import annotations

import ctypes
import mmap
import platform
from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.gpu.device import DeviceError
from tilewright.native import elf
from tilewright.native.elf import RELOCATORS, ObjectFile, ObjectSection, ObjectSymbol

PAGE = mmap.PAGESIZE
READ_EXECUTE = 1 | 4
"""PROT_READ and PROT_EXEC, as Linux and POSIX number them."""
SHT_NOBITS = 8
MACHINES = {elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}
FAR_JUMPS = {
    elf.EM_X86_64: bytes.fromhex("ff2502000000 0000"),  # jmp [rip + 2], and two bytes that are never executed
    elf.EM_AARCH64: bytes.fromhex("50000058 00021fd6"),  # ldr x16, #8; br x16
}
"""Code that goes to the address behind it."""
JUMP_BYTES = 16


@dataclass
class LoadedObject:
    """Functions at addresses that are good as long as this object lives."""

    addresses: Mapping[str, int]
    memory: mmap.mmap

    def address(self, name: str) -> int:
        return self.addresses[name]


def load_object(data: bytes) -> LoadedObject:
    """Put an object into memory; `DeviceError` if it is for another machine or refers to what there is not."""
    source = elf.read_object(data)
    wanted = MACHINES.get(source.machine, f"ELF machine {source.machine}")
    if wanted != platform.machine():
        raise DeviceError(f"the host's code is for {wanted} and this machine is {platform.machine()}: compile it again")
    return _Loader(source).load()


class _Loader:
    def __init__(self, source: ObjectFile):
        self.source = source
        self.kept = [s for s in source.sections if s.flags & elf.SHF_ALLOC and s.type in (elf.SHT_PROGBITS, SHT_NOBITS)]
        self.places: dict[int, int] = {}
        self.jumps: dict[str, int] = {}

    def load(self) -> LoadedObject:
        writable = [section for section in self.kept if section.flags & elf.SHF_WRITE]
        fixed = [section for section in self.kept if not section.flags & elf.SHF_WRITE]
        used = {relocation.symbol for section in self.kept for relocation in section.relocations}
        outside = [self.source.symbols[number] for number in sorted(used) if not self.source.symbols[number].section]
        end = self._place(fixed, 0)
        # functions of the C library may be more than 2 GiB away, out of reach of a call
        for symbol in outside:
            self.jumps.setdefault(symbol.name, 0)
        first_jump = _aligned(end, JUMP_BYTES)
        for number, name in enumerate(self.jumps):
            self.jumps[name] = first_jump + JUMP_BYTES * number
        # protection is by pages: what is written comes on pages of its own
        fixed_bytes = _aligned(first_jump + JUMP_BYTES * len(self.jumps), PAGE)
        total = _aligned(self._place(writable, fixed_bytes), PAGE)
        memory = mmap.mmap(-1, max(total, PAGE))
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._copy(memory, base)
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(base), ctypes.c_size_t(fixed_bytes), READ_EXECUTE):
            raise DeviceError("the system does not let this process run code that it has loaded")
        defined = {s.name: base + self._offset(s) for s in self.source.symbols if s.name and s.section in self.places}
        return LoadedObject(defined, memory)

    def _place(self, sections: list[ObjectSection], start: int) -> int:
        for section in sections:
            start = _aligned(start, max(section.alignment, 1))
            self.places[section.number] = start
            start += len(section.data)
        return start

    def _copy(self, memory: mmap.mmap, base: int) -> None:
        relocators = RELOCATORS[self.source.machine]
        for section in self.kept:
            if section.type == SHT_NOBITS:
                continue
            data, place = bytearray(section.data), self.places[section.number]
            for relocation in section.relocations:
                relocator = relocators.get(relocation.type)
                if relocator is None:
                    raise DeviceError(f"the host's code has a relocation of type {relocation.type}, which is not known")
                meant = base + self._offset(self.source.symbols[relocation.symbol]) + relocation.addend
                relocator.apply(data, relocation.offset, meant, base + place + relocation.offset)
            memory[place : place + len(data)] = bytes(data)
        jump = FAR_JUMPS[self.source.machine]
        for name, place in self.jumps.items():
            memory[place : place + JUMP_BYTES] = jump + _library_address(name).to_bytes(8, "little")

    def _offset(self, symbol: ObjectSymbol) -> int:
        return self.places[symbol.section] + symbol.value if symbol.section else self.jumps[symbol.name]


def _library_address(name: str) -> int:
    try:
        return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0
    except AttributeError as error:
        raise DeviceError(f"the host's code calls {name}, which the C library of this machine does not have") from error


def _aligned(number: int, alignment: int) -> int:
    return -(-number // alignment) * alignment
