"""Containers that NPUs load, described byte by byte, for tests of what reads and writes them.

Nothing here comes from the product: a wrong offset in its tables shows, though it would read what it wrote.
"""

from __future__ import annotations

from struct import pack

MASK = 0xFFFFFFFF
CORE = 2 << 20
"""Where the registers of the tile (0, 2) begin."""


def words(*numbers: int) -> bytes:
    return pack(f"<{len(numbers)}I", *numbers)


def with_checksum(data: bytes) -> bytes:
    """Words, and behind them the complement of their sum."""
    return data + words(~sum(int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)) & MASK)


def cdo(*commands: bytes) -> bytes:
    body = b"".join(commands)
    return with_checksum(words(4, 0x004F4443, 0x200, len(body) // 4)) + body


NOP = words(0x00000111)
PROGRAM = bytes(range(1, 33))
PROGRAM_WRITE = words(0x000A0105, 0, CORE | 0x20000) + PROGRAM
DISABLE = words(0x00040107, 0, CORE | 0x32000, 1, 0)
LOCK = words(0x00030108, 0, CORE | 0x1F010, 2)
ENABLE = words(0x00040107, 0, CORE | 0x32000, 1, 1)


def program_write(code: bytes) -> bytes:
    """A command that puts bytes into program memory, with its length in a word of its own."""
    return words(0x00FF0105, 2 + len(code) // 4, 0, CORE | 0x20000) + code


ELFS_CDO = cdo(NOP, DISABLE, words(0x00010111, 0), PROGRAM_WRITE)
"""The data of the block begins at word 16: 5 of the header, 1, 5, 2, 3."""
INIT_CDO = cdo(NOP, LOCK)
ENABLE_CDO = cdo(NOP, ENABLE)
PDI_BODY = (
    # the NOPs of the file, then one for the new place of the block, whose address is a multiple of 16
    NOP
    + words(0x00030102, CORE | 0x32000, 1, 0)
    + words(0x00010111, 0)
    + words(0x00000111)
    + PROGRAM_WRITE
    + (NOP + words(0x00020103, CORE | 0x1F010, 2))
    + (NOP + words(0x00030102, CORE | 0x32000, 1, 1))
)


def pdi(body: bytes = PDI_BODY) -> bytes:
    """A partial PDI with one CDO."""
    data = cdo(body)
    padded = data + bytes(-len(data) % 16)
    table = words(
        0x40000, 1, 0x24, 1, 0x34, 0, 0x14CA8093, 0, 0, 0, 0x50504449, 0x00201020, 0x30, *[0] * 4, 1, *[0] * 13
    )
    image = words(0x34, 1, 0, 0) + b"aie_image".ljust(16, b"\0") + words(0x1C000000, *[0] * 6)
    partition = words(
        len(padded) // 4, len(data) // 4, len(padded) // 4, 0, 0, 0, MASK, MASK, 0x54, 0x02000006, 1, *[0] * 20
    )
    head = words(0xDD, 0x11223344, 0x55667788, 0x99AABBCC)
    return head + b"".join(map(with_checksum, (table, image, partition))) + padded


def transformed_pdi() -> bytes:
    """The same commands, gathered by kind, with the data of the block behind them, of which the end is missing."""
    plain = pdi()
    zone = words(2, 1, CORE | 0x32000, 1, 0)
    zone += words(5, 1, 0, CORE | 0x20000, 0, len(PROGRAM) // 4)
    zone += words(3, 1, CORE | 0x1F010, 2)
    zone += words(2, 1, CORE | 0x32000, 1, 1)
    marked = plain[:0x140] + words(1, len(zone), 0x8866 | 0x100 | len(zone) << 16) + plain[0x14C:0x164]
    return marked + zone + PROGRAM[:-20]


PARTITION = {
    "aie_partition": {
        "name": "QoS",
        "operations_per_cycle": "2048",
        "inference_fingerprint": "23423",
        "pre_post_fingerprint": "12345",
        "partition": {"column_width": 1, "start_columns": [0, 1, 2]},
        "PDIs": [
            {
                "uuid": "00112233-4455-6677-8899-aabbccddeeff",
                "file_name": "/somewhere/main.pdi",
                "cdo_groups": [
                    {
                        "name": "DPU",
                        "type": "PRIMARY",
                        "pdi_id": "0x01",
                        "dpu_kernel_ids": ["0x901"],
                        "pre_cdo_groups": ["0xC1"],
                    }
                ],
            }
        ],
    }
}
KERNELS = {
    "ps-kernels": {
        "kernels": [
            {
                "name": "ADD",
                "type": "dpu",
                "extended-data": {"subtype": "DPU", "functional": "0", "dpu_kernel_id": "0x901"},
                "arguments": [
                    {"name": "opcode", "address-qualifier": "SCALAR", "type": "uint64_t", "offset": "0x00"},
                    {
                        "name": "instr",
                        "memory-connection": "SRAM",
                        "address-qualifier": "GLOBAL",
                        "type": "char *",
                        "offset": "0x8",
                    },
                    {
                        "name": "bo0",
                        "memory-connection": "HOST",
                        "address-qualifier": "GLOBAL",
                        "type": "void*",
                        "offset": "0x14",
                    },
                ],
                "instances": [{"name": "one"}],
            }
        ]
    }
}
MEMORY = {
    "mem_topology": {
        "m_count": "2",
        "m_mem_data": [
            {
                "m_type": "MEM_DRAM",
                "m_used": "1",
                "m_sizeKB": "0x10000",
                "m_tag": "HOST",
                "m_base_address": "0x4000000",
            },
            {"m_type": "MEM_DRAM", "m_used": "1", "m_sizeKB": "0xc000", "m_tag": "SRAM", "m_base_address": "0x4000000"},
        ],
    }
}


def _arg(name: str, qualifier: int, number: int, offset: str, kind: str) -> str:
    place = f'id="{number}" size="0x8" offset="{offset}" hostOffset="0x0" hostSize="0x8"'
    return f'          <arg name="{name}" addressQualifier="{qualifier}" {place} type="{kind}"/>'


XML = f"""<?xml version="1.0" encoding="utf-8"?>
<project>
  <platform>
    <device>
      <core>
        <kernel name="ADD" language="c" type="dpu">
          <extended-data subtype="1" functional="0" dpu_kernel_id="0x901"/>
{_arg("opcode", 0, 0, "0x00", "uint64_t")}
{_arg("instr", 1, 1, "0x8", "char *")}
{_arg("bo0", 1, 2, "0x14", "void*")}
          <instance name="one"/>
        </kernel>
      </core>
    </device>
  </platform>
</project>
""".encode()
TIME = 0x69256000
UUID = bytes(range(16))


def padded(data: bytes, multiple: int = 8) -> bytes:
    return data + bytes(-len(data) % multiple)


def partition_section() -> bytes:
    image = pdi()
    heap = padded(b"\0") + padded(b"\0") + padded(pack("<3H", 0, 1, 2))
    at = 184 + len(heap)
    heap += padded(image)
    name = 184 + len(heap)
    heap += padded(b"DPU\0") + pack("<QQ", 0x901, 0xC1)
    groups = 184 + len(heap)
    heap += pack("<IB3xQIIII64x", name, 1, 1, 1, name + 8, 1, name + 16)
    records = 184 + len(heap)
    heap += bytes.fromhex("00112233445566778899aabbccddeeff") + pack("<IIII64x", len(image), at, 1, groups)
    head = pack("<B3xII4xQQH6xII72xIII52x", 0, 184, 2048, 23423, 12345, 1, 3, 200, 1, records, 192)
    return head + heap


def memories() -> bytes:
    host = pack("<BB6xQQ16s", 2, 1, 0x10000, 0x4000000, b"HOST")
    return pack("<i4x", 2) + host + pack("<BB6xQQ16s", 2, 1, 0xC000, 0x4000000, b"SRAM")


def sections() -> list[tuple[int, bytes, bytes]]:
    """Kind, label and bytes of each section."""
    links = pack("<6i", 1, 0, 1, 2, 0, 0)
    ips = pack("<i4xIIQ64s", 1, 7, 0x09010001, (1 << 64) - 1, b"ADD:one")
    return [
        (6, b"main_mem_topolo", memories()),
        (32, b"main_aie_partit", partition_section()),
        (2, b"", XML),
        (8, b"", ips),
        (7, b"", pack("<i", 2) + links),
        (27, b"", pack("<i", 4) + links + links),
        (26, b"", memories()),
    ]


def xclbin() -> bytes:
    """The file of the three JSON files above and the PDI, without the text at the end."""
    table, body = b"", b""
    start = 456 + 40 * 7
    for kind, label, data in sections():
        body += bytes(-(start + len(body)) % 8)
        table += pack("<I16s4xQQ", kind, label, start + len(body), len(data))
        body += data
    head = b"xclbin2\0" + pack("<i", -1) + b"\xff" * 284
    length = 456 + len(table) + len(body)
    head += pack("<QQQQHBBHH16x64x", TIME, length, TIME, 0, 0, 2, 20, 0, 0) + UUID + bytes(16) + pack("<I4x", 7)
    return head + table + body


def core_elf(code: bytes = PROGRAM, flags: int = 2, functions: dict[str, int] | None = None) -> bytes:
    """A program of a core: one segment at address 0, symbols (`main` alone unless others are given), and names."""
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    strings, symbols = b"\0", bytes(16)
    for name, address in (functions or {"main": 0}).items():
        symbols += pack("<IIIBBH", len(strings), address, len(code) - address, 0x12, 0, 1)
        strings += name.encode() + b"\0"
    text_at = 96
    symbols_at = text_at + len(code)
    strings_at = symbols_at + len(symbols)
    names_at = strings_at + len(strings)
    table_at = names_at + len(names) + -(names_at + len(names)) % 4
    identity = b"\x7fELF\x01\x01\x01" + bytes(9)
    header = identity + pack("<HHIIIIIHHHHHH", 2, 264, 1, 0, 52, table_at, flags, 52, 32, 1, 40, 5, 4)
    segment = pack("<8I", 1, text_at, 0, 0, len(code), len(code), 5, 16)
    rows = [
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        (1, 1, 6, 0, text_at, len(code), 0, 0, 16, 0),
        (7, 2, 0, 0, symbols_at, len(symbols), 3, 1, 4, 16),
        (15, 3, 0, 0, strings_at, len(strings), 0, 0, 1, 0),
        (23, 3, 0, 0, names_at, len(names), 0, 0, 1, 0),
    ]
    body = (header + segment).ljust(text_at, b"\0") + code + symbols + strings + names
    return body.ljust(table_at, b"\0") + b"".join(pack("<10I", *row) for row in rows)


DPU_PROLOG = [0x11, 0x01000405, 0x01000100, 0x0B590100, 0x55FF, 1, 0x10, *[0x20202020] * 8, 0x07BD9630, 0x55FF]
DPU_WORDS = [
    *DPU_PROLOG,
    *[0x02010200, 0x5400, 7],
    *[0x06000113, 0, 64, 0x100, 0, 0, 0x80000000, 0, 0, 0x02000000],
    *[0x02000000, 0x1D214, 3],
    *[0x03000001, 0x00010100],
]
"""A parameter for the tile (1, 2), descriptor 3 for 64 words of the second buffer, its task, and the wait for it."""


def hex_lines(numbers: list[int]) -> bytes:
    return b"".join(b"%08X\n" % number for number in numbers)
