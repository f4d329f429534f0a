"""Machine code of AI engines: bytes of program memory to bundles of instructions and back, and what instructions do.

The tables in `aie2/` are the only place that knows encodings, registers and cycles; decoder, assembler, listings and
interpreter all follow from them.
"""

from tilewright.isa.assembly import AssemblyError, assemble, assemble_bundle
from tilewright.isa.bundles import CoreBundle, CoreInstruction, DecodeError, decode, decode_bundle
from tilewright.isa.tables import InstructionSet, instruction_set

__all__ = [
    "AssemblyError",
    "CoreBundle",
    "CoreInstruction",
    "DecodeError",
    "InstructionSet",
    "assemble",
    "assemble_bundle",
    "decode",
    "decode_bundle",
    "instruction_set",
]
