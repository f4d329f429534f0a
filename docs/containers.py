"""Writes the tables of docs/containers.md from the structures that reader and writer use.

python docs/containers.py            writes them
python docs/containers.py --check    says whether they are up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tilewright.containers import aie_partition, cdo, pdi, xclbin, xclbin_sections
from tilewright.support.structure import Record
from tilewright.txn import elf

PAGE = Path(__file__).parent / "containers.md"
MARK = "<!-- made by docs/containers.py -->"
STRUCTURES: dict[str, list[type[Record]]] = {
    "xclbin": [xclbin.AxlfHeader, xclbin.XclbinSectionHeader],
    "Sections of an xclbin": [xclbin_sections.MemoryBank, xclbin_sections.Ip, xclbin_sections.Connection],
    "AIE partition": [aie_partition.PartitionRecord, aie_partition.PdiRecord, aie_partition.CdoGroupRecord],
    "PDI": [pdi.ImageHeaderTable, pdi.ImageHeader, pdi.PartitionHeader],
    "CDO": [cdo.CdoHeader],
    "ELF": [elf.ElfHeader, elf.ProgramHeader, elf.SectionRecord, elf.SymbolRecord, elf.RelaRecord],
}


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    made = text.partition(MARK)[0] + MARK + "\n\n" + "\n".join(tables())
    if "--check" in sys.argv:
        return 0 if text == made else 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


def tables() -> Iterator[str]:
    for title, records in STRUCTURES.items():
        yield f"### {title}\n"
        for record in records:
            yield f"`{record.__name__}`, {record.size_bytes()} bytes:\n"
            yield "| offset | type | field | |\n|---|---|---|---|"
            for offset, kind, name, note in record.table():
                if note != "reserved":
                    yield f"| {offset:#x} | {kind} | `{name}` | {note} |"
            yield ""


if __name__ == "__main__":
    sys.exit(main())
