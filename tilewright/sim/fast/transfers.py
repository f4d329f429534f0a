"""Words of a descriptor between memory and a channel as native code; `device.descriptors` is the meaning."""

from __future__ import annotations

from tilewright.device.layout import WORD_BYTES
from tilewright.native.compiled_python import load32, load64, store32, store64
from tilewright.sim.fast.state import BD_NUMBERS, NONE, REGIONS, BdField, FastState, native


@native
def find_region(s: FastState, channel: int, address: int) -> int:
    """The memory that an address is in, as the DMA of a tile sees it; NONE where it is in none."""
    tile = s.channel_tile[channel]
    if s.tile_is_shim[tile] != 0:
        for region in range(s.host_first, s.host_end):
            if s.region_low[region] <= address < s.region_high[region]:
                return region
        return NONE
    for window in range(REGIONS - 1):
        region = tile * REGIONS + window
        is_reached = window == 0 or s.channel_number[channel] < s.tile_adjacent[tile]
        if is_reached and s.region_low[region] <= address < s.region_high[region]:
            return region
    return NONE


@native
def field_of(s: FastState, channel: int, field: int) -> int:
    """A number of the descriptor that a channel runs."""
    return s.channel_descriptor[channel * BD_NUMBERS + field]


@native
def start_of(s: FastState, channel: int) -> int:
    """Where its words begin in this iteration, in bytes."""
    steps = field_of(s, channel, BdField.ITERATION) * field_of(s, channel, BdField.ITERATION_STEP)
    return field_of(s, channel, BdField.BASE) + WORD_BYTES * steps


@native
def move_words(s: FastState, channel: int) -> int:
    """Copy what the channel's descriptor describes into the channel's words, or out of them; 0 if it is not simple."""
    start = start_of(s, channel)
    if field_of(s, channel, BdField.LENGTH) == 0:
        return 1
    is_linear = (
        field_of(s, channel, BdField.WRAP) == 0
        and field_of(s, channel, BdField.STEP) == 1
        and field_of(s, channel, BdField.PADDED) == 0
    )
    if is_linear:
        return move_line(s, channel, start)
    if field_of(s, channel, BdField.PADDED) == 0 and move_rows(s, channel, start) != 0:
        return 1
    return move_pattern(s, channel, start)


@native
def move_line(s: FastState, channel: int, start: int) -> int:
    length = s.channel_descriptor[channel * BD_NUMBERS + BdField.LENGTH]
    region = find_region(s, channel, start)
    if region == NONE or start + WORD_BYTES * length > s.region_high[region]:
        return 0
    memory = s.region_data[region] + start - s.region_low[region]
    words = s.channel_data[channel]
    if s.channel_sends[channel] != 0:
        for word in range(length):
            store32(words + WORD_BYTES * word, load32(memory + WORD_BYTES * word))
    else:
        for word in range(length):
            store32(memory + WORD_BYTES * word, load32(words + WORD_BYTES * word))
    return 1


@native
def move_rows(s: FastState, channel: int, start: int) -> int:
    """Row by row of the first dimension; 0 where a row is not whole in one memory, or is not one of the pattern's."""
    at = channel * BD_NUMBERS
    length = s.channel_descriptor[at + BdField.LENGTH]
    wrap0 = s.channel_descriptor[at + BdField.WRAP]
    wrap1 = s.channel_descriptor[at + BdField.WRAP + 1]
    wrap2 = s.channel_descriptor[at + BdField.WRAP + 2]
    wrap3 = s.channel_descriptor[at + BdField.WRAP + 3]
    step0 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP]
    step1 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 1]
    step2 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 2]
    step3 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 3]
    words = s.channel_data[channel]
    sends = s.channel_sends[channel]
    region = find_region(s, channel, start)
    if region == NONE:
        return 0
    low = s.region_low[region]
    high = s.region_high[region]
    memory = s.region_data[region] - low
    row = wrap0 if wrap0 != 0 else length
    digit1 = 0
    digit2 = 0
    digit3 = 0
    word = 0
    while word < length:
        count = min(row, length - word)
        first = start + digit1 * step1 + digit2 * step2 + digit3 * step3
        last = first + (count - 1) * step0
        if min(first, last) < low or max(first, last) >= high or (wrap3 != 0 and digit3 >= wrap3):
            return 0
        if sends != 0:
            copy_row(s, words + WORD_BYTES * word, WORD_BYTES, memory + first, step0, count)
        else:
            copy_row(s, memory + first, step0, words + WORD_BYTES * word, WORD_BYTES, count)
        word += count
        digit1 += 1
        if wrap1 != 0 and digit1 == wrap1:
            digit1 = 0
            digit2 += 1
            if wrap2 != 0 and digit2 == wrap2:
                digit2 = 0
                digit3 += 1
    return 1


@native
def copy_row(s: FastState, target: int, target_step: int, source: int, source_step: int, count: int) -> int:
    if target_step == WORD_BYTES and source_step == WORD_BYTES:
        # most rows are of two or four words
        for pair in range(count // 2):
            store64(target + 2 * WORD_BYTES * pair, load64(source + 2 * WORD_BYTES * pair))
        if count % 2 != 0:
            store32(target + WORD_BYTES * (count - 1), load32(source + WORD_BYTES * (count - 1)))
        return 0
    for word in range(count):
        store32(target + target_step * word, load32(source + source_step * word))
    return 0


@native
def move_pattern(s: FastState, channel: int, start: int) -> int:
    """Up to four dimensions, each with words of padding before and after it."""
    at = channel * BD_NUMBERS
    wrap0 = s.channel_descriptor[at + BdField.WRAP]
    wrap1 = s.channel_descriptor[at + BdField.WRAP + 1]
    wrap2 = s.channel_descriptor[at + BdField.WRAP + 2]
    wrap3 = s.channel_descriptor[at + BdField.WRAP + 3]
    step0 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP]
    step1 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 1]
    step2 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 2]
    step3 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 3]
    before0 = s.channel_descriptor[at + BdField.PAD_BEFORE]
    before1 = s.channel_descriptor[at + BdField.PAD_BEFORE + 1]
    before2 = s.channel_descriptor[at + BdField.PAD_BEFORE + 2]
    period0 = before0 + wrap0 + s.channel_descriptor[at + BdField.PAD_AFTER]
    period1 = before1 + wrap1 + s.channel_descriptor[at + BdField.PAD_AFTER + 1]
    period2 = before2 + wrap2 + s.channel_descriptor[at + BdField.PAD_AFTER + 2]
    length = s.channel_descriptor[at + BdField.LENGTH]
    words = s.channel_data[channel]
    sends = s.channel_sends[channel]
    is_shim = s.tile_is_shim[s.channel_tile[channel]]
    pad = s.channel_pad[channel]
    region = NONE
    low = 0
    high = 0
    memory = 0
    digit0 = 0
    digit1 = 0
    digit2 = 0
    digit3 = 0
    for word in range(length):
        inside = (
            (wrap0 == 0 or (digit0 >= before0 and digit0 < before0 + wrap0))
            and (wrap1 == 0 or (digit1 >= before1 and digit1 < before1 + wrap1))
            and (wrap2 == 0 or (digit2 >= before2 and digit2 < before2 + wrap2))
            and (wrap3 == 0 or digit3 < wrap3)
        )
        if inside:
            address = (
                start
                + (digit0 - before0) * step0
                + (digit1 - before1) * step1
                + (digit2 - before2) * step2
                + digit3 * step3
            )
            if address < low or address >= high:
                if region != NONE and is_shim != 0:
                    return 0
                region = find_region(s, channel, address)
                if region == NONE:
                    return 0
                low = s.region_low[region]
                high = s.region_high[region]
                memory = s.region_data[region] - low
            if sends != 0:
                store32(words + WORD_BYTES * word, load32(memory + address))
            else:
                store32(memory + address, load32(words + WORD_BYTES * word))
        elif sends != 0:
            store32(words + WORD_BYTES * word, pad)
        digit0 += 1
        if wrap0 != 0 and digit0 == period0:
            digit0 = 0
            digit1 += 1
            if wrap1 != 0 and digit1 == period1:
                digit1 = 0
                digit2 += 1
                if wrap2 != 0 and digit2 == period2:
                    digit2 = 0
                    digit3 += 1
    return 1
