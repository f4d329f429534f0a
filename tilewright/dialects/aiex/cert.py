"""Control code for the microcontroller in each column (CERT), the alternative to the NPU's instruction stream."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    BoolAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i16,
)
from xdsl.ir import Block, Operation, Region
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def, region_def, traits_def
from xdsl.traits import OptionalSymbolOpInterface, SymbolOpInterface

from tilewright.dialects._ods import (
    BlockOp,
    ImplicitTerminator,
    IntConstraint,
    ParentOp,
    i32_attr,
    op_definition,
    unsigned_attr,
)
from tilewright.dialects.aie.core import EndOp
from tilewright.ir.interned import i32_number

from .attributes import register_number

I16 = IntConstraint(16)  # operands of control code that are half a word wide
ENDS = ImplicitTerminator(EndOp)


class CertInstruction(IRDLOperation):
    """An instruction of a job."""

    traits = traits_def(ParentOp("aiex.cert.job"))


@op_definition
class CertUcDmaChainOp(BlockOp):
    """Descriptors that the controller's own DMA plays in order."""

    name = "aiex.cert.uc_dma_chain"

    sym_name = opt_prop_def(SymbolNameConstraint())  # one without a name cannot be played
    body = region_def()

    traits = traits_def(OptionalSymbolOpInterface(), ENDS)
    assembly_format = "($sym_name^)? $body attr-dict"

    def __init__(self, name: str, bds: Sequence[CertUcDmaBdOp]):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[Region(Block([*bds]))])

    @property
    def bds(self) -> list[CertUcDmaBdOp]:
        return [op for op in self.body.ops if isinstance(op, CertUcDmaBdOp)]


@op_definition
class CertUcDmaBdOp(IRDLOperation):
    """Copy `length` words of a global to an address of the array; `next_bd` says that another descriptor follows."""

    name = "aiex.cert.uc_dma_bd"

    remote_address = prop_def(FlatSymbolRefAttrConstr)
    local_address = prop_def(i32_attr())
    length = prop_def(i32_attr())
    next_bd = prop_def(BoolAttr)  # a bit is enough: the next one lies behind it

    traits = traits_def(ParentOp("aiex.cert.uc_dma_chain"))
    assembly_format = "$remote_address `,` $local_address `,` $length `,` $next_bd attr-dict"

    def __init__(self, words: str, address: int, length_words: int):
        """The last descriptor of its chain."""
        super().__init__(
            properties={
                "remote_address": SymbolRefAttr(words),
                "local_address": i32_number(address),
                "length": i32_number(length_words),
                "next_bd": BoolAttr.from_bool(False),
            }
        )


@op_definition
class CertPageOp(BlockOp):
    """The unit in which control code is loaded, 8 KiB at most."""

    name = "aiex.cert.page"

    body = region_def()

    traits = traits_def(ParentOp("aie.device", "aiex.cert.attach_to_group", "aiex.cert.section"), ENDS)
    assembly_format = "$body attr-dict"

    def __init__(self, jobs: Sequence[CertJobOp]):
        super().__init__(regions=[Region(Block([*jobs]))])

    @property
    def jobs(self) -> list[CertJobOp]:
        return [op for op in self.body.ops if isinstance(op, CertJobOp)]


@op_definition
class CertJobOp(BlockOp):
    """A thread of control code."""

    name = "aiex.cert.job"

    job_id = prop_def(i32_attr())
    body = region_def()

    traits = traits_def(
        ParentOp("aie.device", "aiex.cert.attach_to_group", "aiex.cert.page", "aiex.cert.section"), ENDS
    )
    assembly_format = "`(` $job_id `)` $body attr-dict"

    def __init__(self, number: int, body: Region):
        super().__init__(properties={"job_id": i32_number(number)}, regions=[body])

    @property
    def number(self) -> int:
        return self.job_id.value.data

    # a job that is split over two pages moves those behind it
    def renumber(self, number: int) -> None:
        self.job_id = i32_number(number)

    @property
    def instructions(self) -> list[Operation]:
        return [op for op in self.body.ops if not isinstance(op, EndOp)]  # which says nothing to the controller


@op_definition
class CertWrite32Op(CertInstruction):
    """Write one word."""

    name = "aiex.cert.write32"

    address = prop_def(unsigned_attr(32))
    value = prop_def(unsigned_attr(32))

    assembly_format = "`(` $address `,` $value `)` attr-dict"

    def __init__(self, address: int, value: int):
        super().__init__(properties={"address": register_number(address), "value": register_number(value)})


@op_definition
class CertMaskWrite32Op(CertInstruction):
    """Write the bits of one word that the mask names."""

    name = "aiex.cert.maskwrite32"

    address = prop_def(unsigned_attr(32))
    mask = prop_def(unsigned_attr(32))
    value = prop_def(unsigned_attr(32))

    assembly_format = "`(` $address `,` $mask `,` $value `)` attr-dict"

    def __init__(self, address: int, mask: int, value: int):
        numbers = {"address": address, "mask": mask, "value": value}
        super().__init__(properties={name: register_number(number) for name, number in numbers.items()})


@op_definition
class CertApplyOffset57Op(CertInstruction):
    """Add a 57-bit offset from the argument list to the addresses in a table of shim descriptors."""

    name = "aiex.cert.apply_offset_57"

    symbol = prop_def(FlatSymbolRefAttrConstr)
    num_entries = prop_def(I16)
    offset = prop_def(I16)

    assembly_format = "`(` $symbol `,` $num_entries `,` $offset `)` attr-dict"

    def __init__(self, table: str, num_entries: int, argument: int):
        """The offset is the address of a buffer that the host hands over."""
        # by number: the firmware looks the address up in the list of arguments
        numbers = {"num_entries": IntegerAttr(num_entries, i16), "offset": IntegerAttr(argument, i16)}
        super().__init__(properties={"symbol": SymbolRefAttr(table), **numbers})


@op_definition
class CertWaitTCTSOp(CertInstruction):
    """Wait for a number of completion tokens from a channel of the shim tile."""

    name = "aiex.cert.wait_tcts"

    tile_id = prop_def(i32_attr())
    channel_id = prop_def(i32_attr())  # the number that a channel's tokens carry, not that of the channel
    target_tcts = prop_def(i32_attr())

    assembly_format = "`(` $tile_id `,` $channel_id `,` $target_tcts `)` attr-dict"

    def __init__(self, tile: int, actor: int, count: int):
        numbers = {"tile_id": tile, "channel_id": actor, "target_tcts": count}
        super().__init__(properties={name: i32_number(number) for name, number in numbers.items()})


@op_definition
class CertUcDmaWriteDesSyncOp(CertInstruction):
    """Play a chain of the controller's DMA and wait for it."""

    name = "aiex.cert.uc_dma_write_des_sync"

    symbol = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "`(` $symbol `)` attr-dict"

    def __init__(self, chain: str):
        super().__init__(properties={"symbol": SymbolRefAttr(chain)})


@op_definition
class CertLocalBarrierOp(CertInstruction):
    """Wait for other jobs of the same controller."""

    name = "aiex.cert.local_barrier"

    local_barrier_id = prop_def(i32_attr())
    num_participants = prop_def(i32_attr())

    assembly_format = "`(` $local_barrier_id `,` $num_participants `)` attr-dict"


@op_definition
class CertRemoteBarrierOp(CertInstruction):
    """Wait for jobs of other controllers, one bit of the mask each."""

    name = "aiex.cert.remote_barrier"

    remote_barrier_id = prop_def(i32_attr())
    party_mask = prop_def(i32_attr())

    assembly_format = "`(` $remote_barrier_id `,` $party_mask `)` attr-dict"


@op_definition
class CertPreemptOp(CertInstruction):
    """The code may be interrupted here; two sections save and restore what it needs."""

    name = "aiex.cert.preempt"

    id = prop_def(i32_attr())
    save_section = prop_def(FlatSymbolRefAttrConstr)
    restore_section = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "`(` $id `,` $save_section `,` $restore_section `)` attr-dict"


@op_definition
class CertNopOp(IRDLOperation):
    """Do nothing."""

    name = "aiex.cert.nop"

    assembly_format = "attr-dict"


@op_definition
class CertSectionOp(BlockOp):
    """Control code that other code refers to by name."""

    name = "aiex.cert.section"

    sym_name = prop_def(SymbolNameConstraint())
    body = region_def()

    traits = traits_def(SymbolOpInterface(), ParentOp("aie.device", "aiex.cert.attach_to_group"), ENDS)
    assembly_format = "$sym_name $body attr-dict"

    def __init__(self, name: str, pages: Sequence[CertPageOp]):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[Region(Block([*pages]))])


@op_definition
class CertLoadPdiOp(CertInstruction):
    """Run a section that sets up the device, unless it was the last one loaded."""

    name = "aiex.cert.load_pdi"

    pdi_id = prop_def(unsigned_attr(32))
    symbol = prop_def(FlatSymbolRefAttrConstr)

    assembly_format = "`(` $pdi_id `,` $symbol `)` attr-dict"

    def __init__(self, number: int, section: str):
        super().__init__(properties={"pdi_id": register_number(number), "symbol": SymbolRefAttr(section)})


@op_definition
class CertAttachToGroupOp(BlockOp):
    """The jobs of one controller."""

    name = "aiex.cert.attach_to_group"

    group_id = prop_def(i32_attr())
    body = region_def()

    traits = traits_def(ENDS)
    assembly_format = "`(` $group_id `)` $body attr-dict"


OPS = [
    CertUcDmaChainOp,
    CertUcDmaBdOp,
    CertPageOp,
    CertJobOp,
    CertWrite32Op,
    CertMaskWrite32Op,
    CertApplyOffset57Op,
    CertWaitTCTSOp,
    CertUcDmaWriteDesSyncOp,
    CertLocalBarrierOp,
    CertRemoteBarrierOp,
    CertPreemptOp,
    CertNopOp,
    CertSectionOp,
    CertLoadPdiOp,
    CertAttachToGroupOp,
]
