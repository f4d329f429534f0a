"""The vendor's names of registers, by module and offset, as its tools and upstream's location maps have them.

`[0..15:0x10]` in a name stands for the numbers 0 to 15, whose registers are 16 bytes apart. AIE2 and AIE2P share them.
Source: aie_registers_aie2.json of mlir-aie at 3ca0193cea9e. It lacks the bypass of the downsizer, which aie-rt has
(xaiemlgbl_reginit.c) and streams of xdna-driver write, where AIE1 has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from functools import cache

from .enums import TileType
from .events import MODULES, EventModule
from .model import DeviceModel

_NAMES = {
    EventModule.Core: "core",
    EventModule.Mem: "memory",
    EventModule.MemTile: "memory_tile",
    EventModule.ShimTile: "shim",
}


class RegisterAccess(Enum):
    """What software may do with a register."""

    READ_WRITE = auto()
    READ_ONLY = auto()
    WRITE_ONLY = auto()


# Status registers of DMAs have bits to clear, and those of events are cleared by writing them.
_READ_ONLY = re.compile(
    r"Core_FC|(Core|Debug|Trace|Stream_Switch_Adaptive_Clock_Gate)_Status|Timer_(Low|High)|Lock_Request"
    r"|Event_Broadcast_\w*Block_\w+_Value|DMA_S2MM_(Current_Write_Count|FoT_Count_FIFO_Pop)_\d"
    r"|Interrupt_controller_\w+_(mask(_[AB])?|block_north_in_[AB]_value)"
)
_WRITE_ONLY = re.compile(
    r"Event_Generate|Event_Broadcast_\w*Block_\w+_(Set|Clr)|DMA_\w+_(Start|Task)_Queue"
    r"|Interrupt_controller_\w+_((en|dis)able(_[AB])?|block_north_in_[AB]_(set|clear))"
)
_SERIES = re.compile(r"\[(\d+)\.\.(\d+):(0x[0-9a-f]+)\]")


def vendor_name(model: DeviceModel, address: int) -> tuple[str, str] | None:
    """Module and name of the register at an address, if one is there."""
    (column, row), offset = model.locate(address)
    if not model.is_valid_tile(column, row):
        return None
    for module in modules_of(model.tile_type(column, row)):
        if (name := registers_of(module).get(offset)) is not None:
            return module, name
    return None


def access_of(tile_type: TileType, offset: int) -> RegisterAccess:
    """What may be done with the register at an offset in a tile."""
    for module in modules_of(tile_type):
        if (name := registers_of(module).get(offset)) is not None:
            if _READ_ONLY.fullmatch(name):
                return RegisterAccess.READ_ONLY
            return RegisterAccess.WRITE_ONLY if _WRITE_ONLY.fullmatch(name) else RegisterAccess.READ_WRITE
    return RegisterAccess.READ_WRITE


def modules_of(tile_type: TileType) -> list[str]:
    """The vendor's names of the modules of a tile."""
    return [_NAMES[module] for module in MODULES[tile_type]]


def find_register(module: EventModule, name: str) -> int | None:
    """The offset in the tile of a register, in whatever case it is named."""
    return _offsets_of(_NAMES[module]).get(name.lower())


@cache
def _offsets_of(module: str) -> dict[str, int]:
    return {name.lower(): offset for offset, name in registers_of(module).items()}


@cache
def registers_of(module: str) -> dict[int, str]:
    """Every register of a module: offset in the tile, and name. Of two at one offset the first has it."""
    registers: dict[int, str] = {}
    for line in _REGISTERS[module].split():
        offset, _, name = line.partition("=")
        for place, full_name in _expanded(int(offset, 16), name):
            registers.setdefault(place, full_name)
    return registers


def _expanded(offset: int, name: str) -> Iterator[tuple[int, str]]:
    found = _SERIES.search(name)
    if found is None:
        yield offset, name
        return
    first, last, stride = int(found[1]), int(found[2]), int(found[3], 16)
    for number in range(first, last + 1):
        yield from _expanded(
            offset + (number - first) * stride, f"{name[: found.start()]}{number}{name[found.end() :]}"
        )


_REGISTERS = {
    "core": """
      20000=Program_Memory 30000=Core_AMLL[0..8:0x80]_Part[1..2:0x10] 30020=Core_AMLH[0..8:0x80]_Part[1..2:0x10]
      30040=Core_AMHL[0..8:0x80]_Part[1..2:0x10] 30060=Core_AMHH[0..8:0x80]_Part[1..2:0x10]
      30800=Core_WL[0..11:0x40]_Part[1..2:0x10] 30820=Core_WH[0..11:0x40]_Part[1..2:0x10] 30C00=Core_R[0..31:0x10]
      30E00=Core_M[0..7:0x10] 30E80=Core_DN[0..7:0x10] 30F00=Core_DJ[0..7:0x10] 30F80=Core_DC[0..7:0x10]
      31000=Core_P[0..7:0x10] 31080=Core_S[0..3:0x10] 310C0=Core_Q[0..3:0x10] 31100=Core_PC 31110=Core_FC 31120=Core_SP
      31130=Core_LR 31140=Core_LS 31150=Core_LE 31160=Core_LC 31170=Core_CR 31180=Core_SR 31190=Core_DP
      31500=Performance_Control[0..2:0x4] 31520=Performance_Counter[0..3:0x4]
      31580=Performance_Counter[0..3:0x4]_Event_Value 32000=Core_Control 32004=Core_Status 32008=Enable_Events
      3200C=Reset_Event 32010=Debug_Control[0..2:0x4] 3201C=Debug_Status 32020=PC_Event[0..3:0x4]
      32030=Error_Halt_Control 32034=Error_Halt_Event 32038=Core_Processor_Bus 34000=Timer_Control 34008=Event_Generate
      34010=Event_Broadcast[0..15:0x4] 34050=Event_Broadcast_Block_South_Set 34054=Event_Broadcast_Block_South_Clr
      34058=Event_Broadcast_Block_South_Value 34060=Event_Broadcast_Block_West_Set 34064=Event_Broadcast_Block_West_Clr
      34068=Event_Broadcast_Block_West_Value 34070=Event_Broadcast_Block_North_Set 34074=Event_Broadcast_Block_North_Clr
      34078=Event_Broadcast_Block_North_Value 34080=Event_Broadcast_Block_East_Set 34084=Event_Broadcast_Block_East_Clr
      34088=Event_Broadcast_Block_East_Value 340D0=Trace_Control[0..1:0x4] 340D8=Trace_Status
      340E0=Trace_Event[0..1:0x4] 340F0=Timer_Trig_Event_Low_Value 340F4=Timer_Trig_Event_High_Value 340F8=Timer_Low
      340FC=Timer_High 34200=Event_Status[0..3:0x4] 34400=Combo_event_inputs 34404=Combo_event_control
      34408=Edge_Detection_event_control 34500=Event_Group_0_Enable 34504=Event_Group_PC_Enable
      34508=Event_Group_Core_Stall_Enable 3450C=Event_Group_Core_Program_Flow_Enable
      34510=Event_Group_Errors[0..1:0x4]_Enable 34518=Event_Group_Stream_Switch_Enable
      3451C=Event_Group_Broadcast_Enable 34520=Event_Group_User_Event_Enable 36030=Tile_Control
      36060=Accumulator_Control 36070=Memory_Control 3F000=Stream_Switch_Master_Config_AIE_Core0
      3F004=Stream_Switch_Master_Config_DMA[0..1:0x4] 3F00C=Stream_Switch_Master_Config_Tile_Ctrl
      3F010=Stream_Switch_Master_Config_FIFO0 3F014=Stream_Switch_Master_Config_South[0..3:0x4]
      3F024=Stream_Switch_Master_Config_West[0..3:0x4] 3F034=Stream_Switch_Master_Config_North[0..5:0x4]
      3F04C=Stream_Switch_Master_Config_East[0..3:0x4] 3F100=Stream_Switch_Slave_Config_AIE_Core0
      3F104=Stream_Switch_Slave_Config_DMA_[0..1:0x4] 3F10C=Stream_Switch_Slave_Config_Tile_Ctrl
      3F110=Stream_Switch_Slave_Config_FIFO_0 3F114=Stream_Switch_Slave_Config_South_[0..5:0x4]
      3F12C=Stream_Switch_Slave_Config_West_[0..3:0x4] 3F13C=Stream_Switch_Slave_Config_North_[0..3:0x4]
      3F14C=Stream_Switch_Slave_Config_East_[0..3:0x4] 3F15C=Stream_Switch_Slave_Config_AIE_Trace
      3F160=Stream_Switch_Slave_Config_Mem_Trace 3F200=Stream_Switch_Slave_AIE_Core0_Slot[0..3:0x4]
      3F210=Stream_Switch_Slave_DMA_[0..1:0x10]_Slot[0..3:0x4] 3F230=Stream_Switch_Slave_Tile_Ctrl_Slot[0..3:0x4]
      3F240=Stream_Switch_Slave_FIFO_0_Slot[0..3:0x4] 3F250=Stream_Switch_Slave_South_[0..5:0x10]_Slot[0..3:0x4]
      3F2B0=Stream_Switch_Slave_West_[0..3:0x10]_Slot[0..3:0x4]
      3F2F0=Stream_Switch_Slave_North_[0..3:0x10]_Slot[0..3:0x4]
      3F330=Stream_Switch_Slave_East_[0..3:0x10]_Slot[0..3:0x4] 3F370=Stream_Switch_Slave_AIE_Trace_Slot[0..3:0x4]
      3F380=Stream_Switch_Slave_Mem_Trace_Slot[0..3:0x4] 3F800=Stream_Switch_Deterministic_Merge_arb0_slave0_1
      3F804=Stream_Switch_Deterministic_Merge_arb0_slave2_3 3F808=Stream_Switch_Deterministic_Merge_arb[0..1:0x10]_ctrl
      3F810=Stream_Switch_Deterministic_Merge_arb1_slave0_1 3F814=Stream_Switch_Deterministic_Merge_arb1_slave2_3
      3FF00=Stream_Switch_Event_Port_Selection_[0..1:0x4] 3FF10=Stream_Switch_Parity_Status
      3FF20=Stream_Switch_Parity_Injection 3FF30=Tile_Control_Packet_Handler_Status
      3FF34=Stream_Switch_Adaptive_Clock_Gate_Status 3FF38=Stream_Switch_Adaptive_Clock_Gate_Abort_Period
      60000=Module_Clock_Control
    """,
    "memory": """
      00000=DataMemory 11000=Performance_Control[0..1:0x8] 11020=Performance_Counter[0..1:0x4]
      11080=Performance_Counter[0..1:0x4]_Event_Value 14000=Timer_Control 14008=Event_Generate
      14010=Event_Broadcast[0..15:0x4] 14050=Event_Broadcast_Block_South_Set 14054=Event_Broadcast_Block_South_Clr
      14058=Event_Broadcast_Block_South_Value 14060=Event_Broadcast_Block_West_Set 14064=Event_Broadcast_Block_West_Clr
      14068=Event_Broadcast_Block_West_Value 14070=Event_Broadcast_Block_North_Set 14074=Event_Broadcast_Block_North_Clr
      14078=Event_Broadcast_Block_North_Value 14080=Event_Broadcast_Block_East_Set 14084=Event_Broadcast_Block_East_Clr
      14088=Event_Broadcast_Block_East_Value 140D0=Trace_Control[0..1:0x4] 140D8=Trace_Status
      140E0=Trace_Event[0..1:0x4] 140F0=Timer_Trig_Event_Low_Value 140F4=Timer_Trig_Event_High_Value 140F8=Timer_Low
      140FC=Timer_High 14100=WatchPoint[0..1:0x4] 14200=Event_Status[0..3:0x4] 14400=Combo_event_inputs
      14404=Combo_event_control 14408=Edge_Detection_event_control 14500=Event_Group_0_Enable
      14504=Event_Group_Watchpoint_Enable 14508=Event_Group_DMA_Enable 1450C=Event_Group_Lock_Enable
      14510=Event_Group_Memory_Conflict_Enable 14514=Event_Group_Error_Enable 14518=Event_Group_Broadcast_Enable
      1451C=Event_Group_User_Event_Enable 16010=Memory_Control 1D000=DMA_BD[0..15:0x20]_[0..5:0x4]
      1DE00=DMA_S2MM_[0..1:0x8]_Ctrl 1DE04=DMA_S2MM_[0..1:0x8]_Start_Queue 1DE10=DMA_MM2S_[0..1:0x8]_Ctrl
      1DE14=DMA_MM2S_[0..1:0x8]_Start_Queue 1DF00=DMA_S2MM_Status_[0..1:0x4] 1DF10=DMA_MM2S_Status_[0..1:0x4]
      1DF18=DMA_S2MM_Current_Write_Count_[0..1:0x4] 1DF20=DMA_S2MM_FoT_Count_FIFO_Pop_[0..1:0x4]
      1F000=Lock[0..15:0x10]_value 1F100=Locks_Event_Selection_[0..7:0x4] 1F120=Locks_Overflow 1F128=Locks_Underflow
      40000=Lock_Request
    """,
    "memory_tile": """
      00000=DataMemory 91000=Performance_Control[0..2:0x4] 91020=Performance_Counter[0..3:0x4]
      91080=Performance_Counter[0..3:0x4]_Event_Value 94000=Timer_Control 94008=Event_Generate
      94010=Event_Broadcast[0..15:0x4] 94050=Event_Broadcast_A_Block_South_Set 94054=Event_Broadcast_A_Block_South_Clr
      94058=Event_Broadcast_A_Block_South_Value 94060=Event_Broadcast_A_Block_West_Set
      94064=Event_Broadcast_A_Block_West_Clr 94068=Event_Broadcast_A_Block_West_Value
      94070=Event_Broadcast_A_Block_North_Set 94074=Event_Broadcast_A_Block_North_Clr
      94078=Event_Broadcast_A_Block_North_Value 94080=Event_Broadcast_A_Block_East_Set
      94084=Event_Broadcast_A_Block_East_Clr 94088=Event_Broadcast_A_Block_East_Value
      94090=Event_Broadcast_B_Block_South_Set 94094=Event_Broadcast_B_Block_South_Clr
      94098=Event_Broadcast_B_Block_South_Value 940A0=Event_Broadcast_B_Block_West_Set
      940A4=Event_Broadcast_B_Block_West_Clr 940A8=Event_Broadcast_B_Block_West_Value
      940B0=Event_Broadcast_B_Block_North_Set 940B4=Event_Broadcast_B_Block_North_Clr
      940B8=Event_Broadcast_B_Block_North_Value 940C0=Event_Broadcast_B_Block_East_Set
      940C4=Event_Broadcast_B_Block_East_Clr 940C8=Event_Broadcast_B_Block_East_Value 940D0=Trace_Control[0..1:0x4]
      940D8=Trace_Status 940E0=Trace_Event[0..1:0x4] 940F0=Timer_Trig_Event_Low_Value 940F4=Timer_Trig_Event_High_Value
      940F8=Timer_Low 940FC=Timer_High 94100=WatchPoint[0..3:0x4] 94200=Event_Status[0..5:0x4] 94400=Combo_event_inputs
      94404=Combo_event_control 94408=Edge_Detection_event_control 94500=Event_Group_0_Enable
      94504=Event_Group_Watchpoint_Enable 94508=Event_Group_DMA_Enable 9450C=Event_Group_Lock_Enable
      94510=Event_Group_Stream_Switch_Enable 94514=Event_Group_Memory_Conflict_Enable 94518=Event_Group_Error_Enable
      9451C=Event_Group_Broadcast_Enable 94520=Event_Group_User_Event_Enable 96030=Tile_Control 96048=Memory_Control
      A0000=DMA_BD[0..47:0x20]_[0..7:0x4] A0600=DMA_S2MM_[0..5:0x8]_Ctrl A0604=DMA_S2MM_[0..5:0x8]_Start_Queue
      A0630=DMA_MM2S_[0..5:0x8]_Ctrl A0634=DMA_MM2S_[0..5:0x8]_Start_Queue A0660=DMA_S2MM_Status_[0..5:0x4]
      A0680=DMA_MM2S_Status_[0..5:0x4] A06A0=DMA_Event_Channel_Selection A06B0=DMA_S2MM_Current_Write_Count_[0..5:0x4]
      A06C8=DMA_S2MM_FoT_Count_FIFO_Pop_[0..5:0x4] B0000=Stream_Switch_Master_Config_DMA[0..5:0x4]
      B0018=Stream_Switch_Master_Config_Tile_Ctrl B001C=Stream_Switch_Master_Config_South[0..3:0x4]
      B002C=Stream_Switch_Master_Config_North[0..5:0x4] B0100=Stream_Switch_Slave_Config_DMA_[0..5:0x4]
      B0118=Stream_Switch_Slave_Config_Tile_Ctrl B011C=Stream_Switch_Slave_Config_South_[0..5:0x4]
      B0134=Stream_Switch_Slave_Config_North_[0..3:0x4] B0144=Stream_Switch_Slave_Config_Trace
      B0200=Stream_Switch_Slave_DMA_[0..5:0x10]_Slot[0..3:0x4] B0260=Stream_Switch_Slave_Tile_Ctrl_Slot[0..3:0x4]
      B0270=Stream_Switch_Slave_South_[0..5:0x10]_Slot[0..3:0x4]
      B02D0=Stream_Switch_Slave_North_[0..3:0x10]_Slot[0..3:0x4] B0310=Stream_Switch_Slave_Trace_Slot[0..3:0x4]
      B0800=Stream_Switch_Deterministic_Merge_arb0_slave0_1 B0804=Stream_Switch_Deterministic_Merge_arb0_slave2_3
      B0808=Stream_Switch_Deterministic_Merge_arb[0..1:0x10]_ctrl B0810=Stream_Switch_Deterministic_Merge_arb1_slave0_1
      B0814=Stream_Switch_Deterministic_Merge_arb1_slave2_3 B0F00=Stream_Switch_Event_Port_Selection_[0..1:0x4]
      B0F10=Stream_Switch_Parity_Status B0F20=Stream_Switch_Parity_Injection B0F30=Tile_Control_Packet_Handler_Status
      B0F34=Stream_Switch_Adaptive_Clock_Gate_Status B0F38=Stream_Switch_Adaptive_Clock_Gate_Abort_Period
      C0000=Lock[0..63:0x10]_value C0400=Locks_Event_Selection_[0..7:0x4] C0420=Locks_Overflow_[0..1:0x4]
      C0428=Locks_Underflow_[0..1:0x4] D0000=Lock_Request FFF00=Module_Clock_Control
    """,
    "shim": """
      14000=Lock[0..15:0x10]_value 14100=Locks_Event_Selection_[0..5:0x4] 14120=Locks_Overflow 14128=Locks_Underflow
      15000=Interrupt_controller_2nd_level_mask 15004=Interrupt_controller_2nd_level_enable
      15008=Interrupt_controller_2nd_level_disable 1500C=Interrupt_controller_2nd_level_status
      15010=Interrupt_controller_2nd_level_interrupt 1D000=DMA_BD[0..15:0x20]_[0..7:0x4] 1D200=DMA_S2MM_[0..1:0x8]_Ctrl
      1D204=DMA_S2MM_[0..1:0x8]_Task_Queue 1D210=DMA_MM2S_[0..1:0x8]_Ctrl 1D214=DMA_MM2S_[0..1:0x8]_Task_Queue
      1D220=DMA_S2MM_Status_[0..1:0x4] 1D228=DMA_MM2S_Status_[0..1:0x4] 1D230=DMA_S2MM_Current_Write_Count_[0..1:0x4]
      1D238=DMA_S2MM_FoT_Count_FIFO_Pop_[0..1:0x4] 1E008=NoC_Interface_AIE_to_NoC_South[2..5:0x4] 1E020=AIE_AXIMM_Config
      1F000=Mux_Config 1F004=Demux_Config 31000=Performance_Ctrl[0..1:0x8] 31020=Performance_Counter[0..1:0x4]
      31080=Performance_Counter[0..1:0x4]_Event_Value 33000=PL_Interface_Upsizer_Config
      33004=PL_Interface_Downsizer_Config 33008=PL_Interface_Downsizer_Enable
      3300C=PL_Interface_Downsizer_Bypass 34000=Timer_Control 34008=Event_Generate
      34010=Event_Broadcast[0..15:0x4]_A 34050=Event_Broadcast_A_Block_South_Set 34054=Event_Broadcast_A_Block_South_Clr
      34058=Event_Broadcast_A_Block_South_Value 34060=Event_Broadcast_A_Block_West_Set
      34064=Event_Broadcast_A_Block_West_Clr 34068=Event_Broadcast_A_Block_West_Value
      34070=Event_Broadcast_A_Block_North_Set 34074=Event_Broadcast_A_Block_North_Clr
      34078=Event_Broadcast_A_Block_North_Value 34080=Event_Broadcast_A_Block_East_Set
      34084=Event_Broadcast_A_Block_East_Clr 34088=Event_Broadcast_A_Block_East_Value
      34090=Event_Broadcast_B_Block_South_Set 34094=Event_Broadcast_B_Block_South_Clr
      34098=Event_Broadcast_B_Block_South_Value 340A0=Event_Broadcast_B_Block_West_Set
      340A4=Event_Broadcast_B_Block_West_Clr 340A8=Event_Broadcast_B_Block_West_Value
      340B0=Event_Broadcast_B_Block_North_Set 340B4=Event_Broadcast_B_Block_North_Clr
      340B8=Event_Broadcast_B_Block_North_Value 340C0=Event_Broadcast_B_Block_East_Set
      340C4=Event_Broadcast_B_Block_East_Clr 340C8=Event_Broadcast_B_Block_East_Value 340D0=Trace_Control[0..1:0x4]
      340D8=Trace_Status 340E0=Trace_Event[0..1:0x4] 340F0=Timer_Trig_Event_Low_Value 340F4=Timer_Trig_Event_High_Value
      340F8=Timer_Low 340FC=Timer_High 34200=Event_Status[0..3:0x4] 34400=Combo_event_inputs 34404=Combo_event_control
      34408=Edge_Detection_event_control 34500=Event_Group_0_Enable 34504=Event_Group_DMA_Activity_Enable
      34508=Event_Group_Lock_Enable 3450C=Event_Group_Errors_Enable 34510=Event_Group_Stream_Switch_Enable
      34514=Event_Group_Broadcast_A_Enable 35000=Interrupt_controller_1st_level_mask_A
      35004=Interrupt_controller_1st_level_enable_A 35008=Interrupt_controller_1st_level_disable_A
      3500C=Interrupt_controller_1st_level_status_A 35010=Interrupt_controller_1st_level_irq_no_A
      35014=Interrupt_controller_1st_level_irq_event_A 35018=Interrupt_controller_1st_level_block_north_in_A_set
      3501C=Interrupt_controller_1st_level_block_north_in_A_clear
      35020=Interrupt_controller_1st_level_block_north_in_A_value 35030=Interrupt_controller_1st_level_mask_B
      35034=Interrupt_controller_1st_level_enable_B 35038=Interrupt_controller_1st_level_disable_B
      3503C=Interrupt_controller_1st_level_status_B 35040=Interrupt_controller_1st_level_irq_no_B
      35044=Interrupt_controller_1st_level_irq_event_B 35048=Interrupt_controller_1st_level_block_north_in_B_set
      3504C=Interrupt_controller_1st_level_block_north_in_B_clear
      35050=Interrupt_controller_1st_level_block_north_in_B_value 36030=Tile_Control
      3F000=Stream_Switch_Master_Config_Tile_Ctrl 3F004=Stream_Switch_Master_Config_FIFO0
      3F008=Stream_Switch_Master_Config_South[0..5:0x4] 3F020=Stream_Switch_Master_Config_West[0..3:0x4]
      3F030=Stream_Switch_Master_Config_North[0..5:0x4] 3F048=Stream_Switch_Master_Config_East[0..3:0x4]
      3F100=Stream_Switch_Slave_Config_Tile_Ctrl 3F104=Stream_Switch_Slave_Config_FIFO_0
      3F108=Stream_Switch_Slave_Config_South_[0..7:0x4] 3F128=Stream_Switch_Slave_Config_West_[0..3:0x4]
      3F138=Stream_Switch_Slave_Config_North_[0..3:0x4] 3F148=Stream_Switch_Slave_Config_East_[0..3:0x4]
      3F158=Stream_Switch_Slave_Config_Trace 3F200=Stream_Switch_Slave_Tile_Ctrl_Slot[0..3:0x4]
      3F210=Stream_Switch_Slave_FIFO_0_Slot[0..3:0x4] 3F220=Stream_Switch_Slave_South_[0..7:0x10]_Slot[0..3:0x4]
      3F2A0=Stream_Switch_Slave_West_[0..3:0x10]_Slot[0..3:0x4]
      3F2E0=Stream_Switch_Slave_North_[0..3:0x10]_Slot[0..3:0x4]
      3F320=Stream_Switch_Slave_East_[0..3:0x10]_Slot[0..3:0x4] 3F360=Stream_Switch_Slave_Trace_Slot[0..3:0x4]
      3F800=Stream_Switch_Deterministic_Merge_arb0_slave0_1 3F804=Stream_Switch_Deterministic_Merge_arb0_slave2_3
      3F808=Stream_Switch_Deterministic_Merge_arb[0..1:0x10]_ctrl 3F810=Stream_Switch_Deterministic_Merge_arb1_slave0_1
      3F814=Stream_Switch_Deterministic_Merge_arb1_slave2_3 3FF00=Stream_Switch_Event_Port_Selection_[0..1:0x4]
      3FF10=Stream_Switch_Parity_Status 3FF20=Stream_Switch_Parity_Injection 3FF30=Control_Packet_Handler_Status
      3FF34=Stream_Switch_Adaptive_Clock_Gate_Status 3FF38=Stream_Switch_Adaptive_Clock_Gate_Abort_Period
      40000=Lock_Request FFF00=Module_Clock_Control_[0..1:0x4] FFF14=Module_Reset_Control_1 FFF20=Column_Clock_Control
      FFF28=AIE_Tile_Column_Reset
    """,
}
