"""The files that real NPUs load, read into trees of dataclasses and written again: bytes in, the same bytes out.

`read` tells by its content what a file is. Each format has a file with its structures as tables (`structure`), a class
with `read` and `write`, and the functions that make such a file out of its parts: `pdi.pdi_from_cdos`,
`packaging.xclbin_from_parts`.
"""

from __future__ import annotations

from typing import TypeAlias

from tilewright.containers.cdo import Cdo, is_cdo
from tilewright.containers.elf import ElfFile, is_elf
from tilewright.containers.instructions import InstructionFile
from tilewright.containers.pdi import Pdi, is_pdi
from tilewright.containers.xclbin import Xclbin, is_xclbin
from tilewright.support.structure import ContainerError, Span

Container: TypeAlias = Xclbin | Pdi | Cdo | ElfFile | InstructionFile

FORMATS = ((is_xclbin, Xclbin.read), (is_pdi, Pdi.read), (is_cdo, Cdo.read), (is_elf, ElfFile.read))


def read(data: bytes) -> Container:
    """What a file is, told by its first bytes; `ContainerError` with the offset if it is nothing of the kind."""
    reader = next((read for fits, read in FORMATS if fits(data)), InstructionFile.read)
    return reader(Span(data))


__all__ = ["Cdo", "Container", "ContainerError", "ElfFile", "InstructionFile", "Pdi", "Xclbin", "read"]
