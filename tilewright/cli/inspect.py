"""Say what is in a file that NPUs or their tools use, told by its content: xclbin, PDI, CDO, ELF, TXN or DPU words.

tilewright inspect final.xclbin
tilewright inspect final.xclbin --extract parts      its sections, PDIs and programs of cores as files
tilewright inspect final.xclbin --rebuild again.xclbin   written anew from what was understood
tilewright inspect core_0_2.elf --disassemble        its machine code, of a core's ELF file or of all cores of an image
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli import core_listing
from tilewright.cli.core_listing import disassembly
from tilewright.cli.files import read_bytes, write_atomically, write_folder
from tilewright.cli.parsers import arguments, switch, value

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from tilewright.containers import Container, ElfFile, Xclbin
    from tilewright.containers.aie_partition import AiePartition
    from tilewright.containers.embedded_design import EmbeddedDesign
    from tilewright.device import DeviceModel, TileId
    from tilewright.txn import Operation

MOST_COMMANDS = 100
"""Commands that are listed without being asked for."""
MOST_WORDS = 8
"""Of a block, in a line."""
MOST_SYMBOLS = 40

add_arguments = arguments(
    {
        "file": value("FILE", "the file; `-` is standard input"),
        "--json": switch("everything, for programs"),
        "--commands": switch("every command or operation, however many there are"),
        "--disassemble": switch("the machine code of cores (AIE2): addresses, bytes, instructions, symbols"),
        "--extract": value("DIR", "write its parts as files into this folder"),
        "--rebuild": value("OUT", "write the file anew from what was understood"),
    }
)


def run(args: Namespace) -> None:
    data = read_bytes(args.file)
    container = read_container(args.file, data)
    if args.rebuild is not None:
        write_atomically(Path(args.rebuild), container.write())
    if args.extract is not None:
        extract(container, Path(args.extract), print_list=not args.json)
    code = disassembly(args.file, container) if args.disassemble else []
    if args.json:
        found = container.to_json() | {"size": len(data), "opaque": opaque_bytes(container)}
        about = [design_json(design) for design in designs(args.file, container)]
        listed = {"programs": [core_listing.to_json(program) for program in code]} if code else {}
        print(json.dumps(found | ({"designs": about} if about else {}) | listed))
    elif code:
        print("\n\n".join("\n".join(core_listing.lines(program)) for program in code))
    elif args.extract is None and args.rebuild is None:
        show(args.file, data, container, every_command=args.commands)


def read_container(name: str, data: bytes) -> Container:
    """What is in a file; errors name the file and the place in it."""
    from tilewright.cli.errors import LocatedError
    from tilewright.containers import ContainerError, read

    try:
        return read(data)
    except ContainerError as error:
        raise LocatedError(str(error.with_file(name))) from None


def designs(name: str, container: Container) -> list[EmbeddedDesign]:
    """The designs that a package of ours carries for the simulator."""
    from tilewright.cli.errors import LocatedError
    from tilewright.containers import ContainerError, ElfFile, Xclbin
    from tilewright.containers.embedded_design import embedded_designs

    try:
        return embedded_designs(container) if isinstance(container, Xclbin | ElfFile) else []
    except ContainerError as error:
        raise LocatedError(str(error.with_file(name))) from None


def design_json(design: EmbeddedDesign) -> dict[str, Any]:
    return {
        "device": design.device,
        "pdi": None if design.pdi is None else str(design.pdi),
        "cores": [list(place) for place in design.cores],
        "cores_without_code": [list(place) for place in design.cores_without_code],
        "simulator_only": design.is_for_simulator_alone,
        "kernels": list(design.kernels),
    }


def opaque_bytes(container: Container) -> dict[str, int]:
    """Bytes that are kept as they are, by what they are."""
    found = Counter[str]()
    for part in container.opaque():
        found[part.kind] += part.size
    return dict(found.most_common())


def extract(container: Container, folder: Path, *, print_list: bool) -> None:
    from tilewright.containers.parts import parts

    found = [*parts(container)]
    written = write_folder(folder, {part.name: part.data for part in found})
    for path, part in zip(written, found, strict=True) if print_list else ():
        from tilewright.ir.escapes import visible

        print(f"{path}  {len(part.data)} bytes: {visible(part.about)}")


def show(name: str, data: bytes, container: Container, *, every_command: bool) -> None:
    from rich.console import Console

    from tilewright.ir.escapes import console_text as escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(name)}[/]: {escape(headline(container))}, {len(data)} bytes", soft_wrap=True)
    for part in describe(container, MOST_COMMANDS if not every_command else None):
        # a line of text stays one, however narrow the terminal is
        console.print(part, soft_wrap=isinstance(part, str))
    for design in designs(name, container):
        missing = ", ".join(f"({column}, {row})" for column, row in design.cores_without_code)
        only = f"; for the simulator alone: no machine code for cores {missing}" if missing else ""
        console.print(escape(f"with the design of device {design.device}, for the simulator{only}"), soft_wrap=True)
    kept = ", ".join(
        f"{kind} {size} ({100 * size / len(data):.0f} %)" for kind, size in opaque_bytes(container).items()
    )
    console.print(f"kept as bytes: {escape(kept) or 'nothing'}", soft_wrap=True)


def headline(container: Container) -> str:
    from tilewright.containers import Cdo, ElfFile, InstructionFile, Pdi

    match container:
        case InstructionFile():
            kind = {"txn": "TXN stream", "dpu": "DPU words"}[container.kind]
            return f"{kind}, {container.form}"
        case Pdi():
            return "PDI, transformed" if container.transformed else "PDI"
        case Cdo():
            return "CDO"
        case ElfFile():
            about = container.to_json()
            return f"{ELF_KINDS[container.kind]}, {about['arch']}"
        case _:
            return "xclbin"


ELF_KINDS = {
    "core-elf": "program of a core",
    "core-object": "object file for cores",
    "control-elf": "control code",
    "config-elf": "control code with its PDIs",
}


def describe(container: Container, most: int | None) -> Iterator[RenderableType]:
    """What a person sees of a container; `most` commands of each list."""
    from tilewright.containers import Cdo, ElfFile, InstructionFile, Pdi

    match container:
        case InstructionFile():
            stream = container.stream()
            yield from effects([*stream.operations], most)
        case Pdi() | Cdo():
            cdo = container.cdo if isinstance(container, Pdi) else container
            yield from effects(cdo.operations(), most)
        case ElfFile():
            yield from elf(container, most)
        case _:
            yield from xclbin(container)


def table(title: str, *columns: str) -> Table:
    """A table; columns of numbers begin with `#`."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for column in columns:
        made.add_column(column.removeprefix("#"), justify="right" if column.startswith("#") else "left")
    return made


def xclbin(file: Xclbin) -> Iterator[RenderableType]:
    from datetime import datetime

    from tilewright.containers.aie_partition import AiePartition
    from tilewright.containers.xclbin import SectionKind
    from tilewright.containers.xclbin_sections import IpLayout, MemTopology
    from tilewright.ir.escapes import console_text as escape

    about, header = file.to_json(), file.header
    # as far as years have four digits
    made = datetime.fromtimestamp(min(header.timestamp, 253402300799), UTC)
    version = f"{header.version_major}.{header.version_minor}.{header.version_patch}"
    yield f"uuid {about['uuid']}, made {made:%Y-%m-%d %H:%M:%S} UTC by XRT {version} {escape(header.platform)}".rstrip()
    sections = table("sections", "#kind", "name", "label", "#offset", "#size")
    for it in about["sections"]:
        sections.add_row(str(it["kind"]), it["name"], escape(it["label"]), f"{it['offset']:#x}", str(it["size"]))
    yield sections
    if memories := file.content(SectionKind.MEM_TOPOLOGY, MemTopology):
        rows = table("memories", "#number", "tag", "#KiB", "#address", "used")
        for number, bank in enumerate(memories.entries):
            used = "yes" if bank.used else "no"
            rows.add_row(str(number), escape(bank.tag), str(bank.size_kib), f"{bank.base_address:#x}", used)
        yield rows
    if ips := file.content(SectionKind.IP_LAYOUT, IpLayout):
        rows = table("kernels", "name", "properties")
        for ip in ips.entries:
            tree = ", ".join(f"{name.removeprefix('m_')} {value}" for name, value in ip.property_tree()[:-1])
            rows.add_row(escape(ip.name), escape(tree))
        yield rows
    for section in file.sections:
        if isinstance(section.content, AiePartition):
            yield from partition(file, section.content)


def partition(file: Xclbin, content: AiePartition) -> Iterator[RenderableType]:
    from tilewright.ir.escapes import console_text as escape

    starts = ", ".join(map(str, content.start_columns))
    width = f"{content.column_width} column{'s' * (content.column_width != 1)}"
    yield f"partition of {width}, which may begin at column {starts}\n"
    for number, pdi in enumerate(content.pdis):
        kernels = ", ".join(file.kernels_of(pdi)) or "none"
        form = ", transformed" if pdi.image.transformed else ""
        yield f"PDI {number}: {pdi.uuid}{form}, for the kernels {escape(kernels)}"
        yield from effects(pdi.image.cdo.operations(), 0)


def elf(file: ElfFile, most: int | None) -> Iterator[RenderableType]:
    from tilewright.containers.elf import SEGMENT_TYPES, ControlText, PdiContent
    from tilewright.ir.escapes import console_text as escape

    about = file.to_json()
    yield f"entry {file.header.entry:#x}, {about['relocations']} relocations"
    if file.segments:
        segments = table("segments", "type", "#address", "#bytes", "#in memory", "#offset")
        for it in file.segments:
            kind = SEGMENT_TYPES.get(it.type, f"{it.type:#x}")
            segments.add_row(
                kind, f"{it.virtual_address:#x}", str(it.file_bytes), str(it.memory_bytes), f"{it.offset:#x}"
            )
        yield segments
    sections = table("sections", "#number", "name", "type", "#address", "#offset", "#size")
    for number, it in enumerate(about["sections"]):
        sections.add_row(
            str(number),
            escape(it["name"]),
            str(it["type"]),
            f"{it['address']:#x}",
            f"{it['offset']:#x}",
            str(it["size"]),
        )
    yield sections
    if about["symbols"]:
        symbols = table("symbols", "name", "#value", "#size", "#section")
        for it in about["symbols"][:MOST_SYMBOLS]:
            symbols.add_row(escape(it["name"]), f"{it['value']:#x}", str(it["size"]), str(it["section"]))
        yield symbols
        if (rest := len(about["symbols"]) - MOST_SYMBOLS) > 0:
            yield f"and {rest} more symbols (--json has them all)"
    for kernel in about.get("kernels", ()):
        yield f"kernel {escape(kernel['name'])}, instances {escape(', '.join(kernel['instances'])) or 'none'}"
    for section in file.sections:
        if isinstance(section.content, ControlText):
            yield f"\ncontrol code in {escape(section.name)}"
            yield from effects([*section.content.stream.operations], most)
        if isinstance(section.content, PdiContent):
            yield f"\nPDI in {escape(section.name)}"
            yield from effects(section.content.pdi.cdo.operations(), 0)


def effects(operations: list[Operation], most: int | None) -> Iterator[RenderableType]:
    """What operations do to the array: a picture of it, and the operations themselves."""
    from tilewright.containers.effects import model_of, tile_blocks, uses
    from tilewright.ir.escapes import console_text as escape

    model = model_of(operations)
    found = uses(operations, model)
    if found:
        columns = sorted({tile.column for tile in found})

        def cell(tile: TileId) -> Iterable[str]:
            return tile_blocks(found[tile]) if tile in found else ()

        yield picture(model, columns, cell)
    if most is not None and len(operations) > most:
        if most:
            yield f"{len(operations)} commands; --commands lists them"
        return
    for op in operations:
        yield escape(line(op, model))


def picture(model: DeviceModel, columns: Iterable[int], contents: Callable[[TileId], Iterable[str]]) -> Table:
    """Columns of the array as they lie on the chip, row 0 at the bottom."""
    from rich import box
    from rich.table import Table

    from tilewright.cli.devices import KINDS
    from tilewright.device import TileId

    columns = [*columns]
    made = Table(box=box.SQUARE, show_lines=True, show_header=False, show_footer=True)
    made.add_column("", footer="row / column", justify="right", vertical="middle")
    for column in columns:
        made.add_column(footer=str(column))
    for row in reversed(range(model.rows)):
        cells = list[str]()
        for column in columns:
            kind, _, colour = KINDS[model.tile_type(column, row)]
            inside = [*contents(TileId(column, row))]
            cells.append("\n".join([f"[{colour if inside else 'bright_black'}]{kind}[/]", *inside]))
        made.add_row(str(row), *cells)
    return made


def line(op: Operation, model: DeviceModel) -> str:
    """One command, with the names of its registers and fields."""
    from tilewright.containers.effects import area_of
    from tilewright.txn.opcodes import LAYOUTS
    from tilewright.txn.text import explain, operation_text

    (layout, *_) = (layouts[op.opcode] for layouts in LAYOUTS.values() if op.opcode in layouts)
    words = len(op.payload)
    if words <= MOST_WORDS:
        text = operation_text(op, layout, model)
    else:
        short = type(op)(op.opcode, op.payload[:0], **op.fields)
        text = f"{operation_text(short, layout, model).removesuffix(' []')} {words} words"
    comment = "" if "address" in op.fields and area_of(model, op.address) else explain(op, model)
    return f"{text}  # {comment}" if comment else text
