"""Words of a descriptor between memory and a channel as native code; `device.descriptors` is the meaning."""

from __future__ import annotations

from tilewright.device.descriptors import PIECE_WORDS
from tilewright.device.layout import WORD_BYTES
from tilewright.native.compiled_python import copy_bytes, load32, load64, store32, store64
from tilewright.sim.fast.jobs import await_all, await_memory
from tilewright.sim.fast.state import BD_NUMBERS, DIMENSIONS, NONE, REGIONS, BdField, FastState, native


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
def burst_words(s: FastState, channel: int, word: int) -> int:
    """Words of a shim channel's descriptor that one burst moves, from a word on; `sim.host.burst_starts`."""
    at = channel * BD_NUMBERS
    burst = s.channel_descriptor[at + BdField.BURST]
    first = address_of(s, channel, word)
    most = (burst - first % burst) // WORD_BYTES
    most = min(most, s.channel_descriptor[at + BdField.LENGTH] - word)
    wrap = s.channel_descriptor[at + BdField.WRAP]
    step = s.channel_descriptor[at + BdField.STEP]
    if wrap == 0 and step == 1:
        return most
    count = 0
    # Row by row: the next one may go on where a row ends.
    while count < most and address_of(s, channel, word + count) == first + WORD_BYTES * count:
        if wrap == 0 or step != 1:
            count += 1
        else:
            count += wrap - (word + count) % wrap
    return min(count, most)


@native
def address_of(s: FastState, channel: int, word: int) -> int:
    """The address of a word of a descriptor without padding."""
    at = channel * BD_NUMBERS
    offset = 0
    for level in range(DIMENSIONS):
        wrap = s.channel_descriptor[at + BdField.WRAP + level]
        step = s.channel_descriptor[at + BdField.STEP + level]
        if wrap == 0:
            offset += word * step
            break
        offset += (word % wrap) * step
        word = word // wrap
    return start_of(s, channel) + WORD_BYTES * offset


@native
def move_words(s: FastState, channel: int) -> int:
    """Copy what the channel's descriptor describes into the channel's words, or out of them; 0 if it is not simple."""
    start = start_of(s, channel)
    if field_of(s, channel, BdField.LENGTH) == 0:
        return 1
    if field_of(s, channel, BdField.PADDED) == 0:
        region = find_region(s, channel, start + field_of(s, channel, BdField.LOW))
        if region != NONE and start + field_of(s, channel, BdField.HIGH) <= s.region_high[region]:
            place = s.region_data[region] + start - s.region_low[region]
            await_memory(s, place + field_of(s, channel, BdField.LOW), place + field_of(s, channel, BdField.HIGH))
            return move_rows(s, channel, place)
    await_all(s)
    return move_pattern(s, channel, start)


@native
def long_line(s: FastState, channel: int) -> int:
    """Where in this process the words of a descriptor are, one after the other in one host buffer, if they are many.

    NONE if they are not, see `sim.host.Host.goes_in_pieces`.
    """
    is_long = field_of(s, channel, BdField.LENGTH) > PIECE_WORDS and field_of(s, channel, BdField.COMPRESSED) == 0
    is_line = field_of(s, channel, BdField.WRAP) == 0 and field_of(s, channel, BdField.STEP) == 1
    if s.tile_is_shim[s.channel_tile[channel]] == 0 or not is_long or not is_line:
        return NONE
    start = start_of(s, channel)
    region = find_region(s, channel, start)
    if region == NONE or start + field_of(s, channel, BdField.HIGH) > s.region_high[region]:
        return NONE
    return s.region_data[region] + start - s.region_low[region]


@native
def write_piece(s: FastState, channel: int, end: int) -> int:
    """Put words that have come since the last piece into host memory; 0 if that is there no more."""
    first = s.channel_piece[channel]
    line = long_line(s, channel)
    if line == NONE:
        return 0
    copy_bytes(line + WORD_BYTES * first, s.channel_buffer[channel], WORD_BYTES * (end - first))
    return begin_piece(s, channel, end)


@native.entry
def begin_piece(s: FastState, channel: int, end: int) -> int:
    """All words before one are in host memory: others can have their room."""
    s.channel_piece[channel] = end
    s.channel_data[channel] = s.channel_buffer[channel] - WORD_BYTES * end
    return 1


@native
def move_rows(s: FastState, channel: int, memory: int) -> int:
    """A pattern that is in one memory and has no padding: rows of the first dimension, many at a time."""
    at = channel * BD_NUMBERS
    length = s.channel_descriptor[at + BdField.LENGTH]
    wrap1 = s.channel_descriptor[at + BdField.WRAP + 1]
    wrap2 = s.channel_descriptor[at + BdField.WRAP + 2]
    step1 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 1]
    step2 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 2]
    step3 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 3]
    width = s.channel_descriptor[at + BdField.WRAP]
    if width == 0 or width > length:
        width = length
    words = s.channel_data[channel]
    rows = length // width
    done = 0
    digit2 = 0
    digit3 = 0
    while done < rows:
        count = rows - done
        if wrap1 != 0:
            count = min(wrap1, count)
        place = memory + digit2 * step2 + digit3 * step3
        move_row(s, channel, place, step1, words + WORD_BYTES * done * width, width, count)
        done += count
        rest = length - done * width
        if rest < width and wrap1 != count:
            # The last row is shorter, and on the same level.
            return move_row(s, channel, place + count * step1, step1, words + WORD_BYTES * done * width, rest, 1)
        digit2 += 1
        if wrap2 != 0 and digit2 == wrap2:
            digit2 = 0
            digit3 += 1
    place = memory + digit2 * step2 + digit3 * step3
    return move_row(s, channel, place, step1, words + WORD_BYTES * done * width, length - done * width, 1)


@native
def move_row(s: FastState, channel: int, place: int, pitch: int, words: int, width: int, rows: int) -> int:
    """Some rows, `pitch` bytes from one to the next in memory, between there and the words of a channel."""
    step = WORD_BYTES * field_of(s, channel, BdField.STEP)
    if s.channel_sends[channel] != 0:
        copy_rows(s, words, WORD_BYTES * width, WORD_BYTES, place, pitch, step, width, rows)
    else:
        copy_rows(s, place, pitch, step, words, WORD_BYTES * width, WORD_BYTES, width, rows)
    return 1


@native
def copy_rows(
    s: FastState,
    target: int,
    target_pitch: int,
    target_step: int,
    source: int,
    source_pitch: int,
    source_step: int,
    width: int,
    rows: int,
) -> int:
    """Words, `step` bytes from one to the next in a row and `pitch` from one row to the next."""
    if target_step != WORD_BYTES or source_step != WORD_BYTES:
        for row in range(rows):
            for word in range(width):
                value = load32(source + row * source_pitch + word * source_step)
                store32(target + row * target_pitch + word * target_step, value)
    elif width == 2:
        # most rows of matrices in blocks are so short
        for row in range(rows):
            store64(target + row * target_pitch, load64(source + row * source_pitch))
    elif width == 4:
        for row in range(rows):
            store64(target + row * target_pitch, load64(source + row * source_pitch))
            store64(target + row * target_pitch + 2 * WORD_BYTES, load64(source + row * source_pitch + 2 * WORD_BYTES))
    elif target_pitch == width * WORD_BYTES and source_pitch == width * WORD_BYTES:
        copy_bytes(target, source, rows * width * WORD_BYTES)
    else:
        for row in range(rows):
            copy_bytes(target + row * target_pitch, source + row * source_pitch, width * WORD_BYTES)
    return 0


@native
def move_pattern(s: FastState, channel: int, start: int) -> int:
    """Row by row of the first dimension, in any memory; there are up to four (the last never wraps), with padding."""
    at = channel * BD_NUMBERS
    length = s.channel_descriptor[at + BdField.LENGTH]
    wrap0 = s.channel_descriptor[at + BdField.WRAP]
    wrap1 = s.channel_descriptor[at + BdField.WRAP + 1]
    wrap2 = s.channel_descriptor[at + BdField.WRAP + 2]
    step0 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP]
    step1 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 1]
    step2 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 2]
    step3 = WORD_BYTES * s.channel_descriptor[at + BdField.STEP + 3]
    # Behind a dimension that never wraps there are no others.
    before0 = s.channel_descriptor[at + BdField.PAD_BEFORE]
    before1 = s.channel_descriptor[at + BdField.PAD_BEFORE + 1] if wrap0 != 0 else 0
    before2 = s.channel_descriptor[at + BdField.PAD_BEFORE + 2] if wrap0 != 0 and wrap1 != 0 else 0
    period0 = before0 + wrap0 + s.channel_descriptor[at + BdField.PAD_AFTER]
    period1 = before1 + wrap1 + s.channel_descriptor[at + BdField.PAD_AFTER + 1]
    period2 = before2 + wrap2 + s.channel_descriptor[at + BdField.PAD_AFTER + 2]
    words = s.channel_data[channel]
    sends = s.channel_sends[channel]
    is_shim = s.tile_is_shim[s.channel_tile[channel]]
    pad = s.channel_pad[channel]
    region = NONE
    low = 0
    high = 0
    memory = 0
    digit1 = 0
    digit2 = 0
    digit3 = 0
    word = 0
    while word < length:
        count = length - word
        if wrap0 != 0:
            count = min(period0, count)
        lead = count
        body = 0
        if (
            digit1 >= before1
            and (wrap1 == 0 or digit1 < before1 + wrap1)
            and digit2 >= before2
            and (wrap2 == 0 or digit2 < before2 + wrap2)
        ):
            lead = min(before0, count)
            body = count - lead
            if wrap0 != 0:
                body = min(wrap0, body)
        if sends != 0:
            for padded in range(word, word + lead):
                store32(words + WORD_BYTES * padded, pad)
            for padded in range(word + lead + body, word + count):
                store32(words + WORD_BYTES * padded, pad)
        first = start + (digit1 - before1) * step1 + (digit2 - before2) * step2 + digit3 * step3
        last = first + (body - 1) * step0
        done = 0
        while done < body:
            address = first + done * step0
            if address < low or address >= high:
                if region != NONE and is_shim != 0:
                    return 0
                region = find_region(s, channel, address)
                if region == NONE:
                    return 0
                low = s.region_low[region]
                high = s.region_high[region]
                memory = s.region_data[region] - low
            # Word by word where a row goes on in another memory.
            run = 1
            if last >= low and last < high:
                run = body - done
            moved = words + WORD_BYTES * (word + lead + done)
            move_row(s, channel, memory + address, 0, moved, run, 1)
            done += run
        word += count
        digit1 += 1
        if wrap1 != 0 and digit1 == period1:
            digit1 = 0
            digit2 += 1
            if wrap2 != 0 and digit2 == period2:
                digit2 = 0
                digit3 += 1
    return 1
