"""DMA channels as native code: a machine of steps, each of which ends with a wait or some cycles.

Cycle for cycle the same as the processes in `sim.dma`, which are the meaning.
"""

from __future__ import annotations

from tilewright.device.descriptors import PIECE_WORDS
from tilewright.device.layout import WORD_BYTES
from tilewright.native.compiled_python import load32, store32
from tilewright.sim.fast.agenda import fire, record, schedule, wait_for
from tilewright.sim.fast.state import (
    BD_NUMBERS,
    NONE,
    BdField,
    ChannelStep,
    Exit,
    FastState,
    TreeKind,
    WaitKind,
    native,
)
from tilewright.sim.fast.streams import head_is_ready, pass_on, pop_beat
from tilewright.sim.fast.transfers import (
    burst_words,
    field_of,
    find_region,
    long_line,
    move_words,
    start_of,
    write_piece,
)
from tilewright.sim.fast.tree_words import find_words, leave_words, retire_words
from tilewright.sim.fast.trees import adopt, move_block
from tilewright.sim.host import FRACTION
from tilewright.sim.locks import MAX_VALUE
from tilewright.sim.trace import TraceEvent

MOVING_ON = 100
"""A step that is done in this cycle: the next one follows at once."""


@native
def step_channel(s: FastState, part: int) -> int:
    """Do what can be done in this cycle."""
    channel = s.part_index[part]
    while True:
        code = one_step(s, part, channel)
        if code != MOVING_ON:
            return code


@native
def one_step(s: FastState, part: int, channel: int) -> int:
    step = s.channel_step[channel]
    # The two steps that every word takes come first.
    if step == ChannelStep.SEND:
        return send(s, part, channel)
    if step == ChannelStep.RECEIVE:
        return receive(s, part, channel)
    if step == ChannelStep.IDLE:
        return Exit.TASK
    if step == ChannelStep.LOAD:
        return load_descriptor(s, part, channel)
    if step == ChannelStep.ACQUIRE:
        return acquire_lock(s, part, channel)
    if step == ChannelStep.MOVE:
        return begin_move(s, part, channel)
    if step == ChannelStep.GATHER:
        return gather(s, channel)
    if step == ChannelStep.JOIN:
        return join_stream(s, part, channel)
    if step == ChannelStep.SCATTER:
        return scatter(s, part, channel)
    if step == ChannelStep.RELEASE:
        return release_lock(s, part, channel)
    if step == ChannelStep.TOKEN:
        return Exit.TOKEN
    if step == ChannelStep.SEND_TOKEN:
        return send_token(s, part, channel)
    return Exit.TASK_DONE


@native
def load_descriptor(s: FastState, part: int, channel: int) -> int:
    number = s.channel_bd[channel]
    bd = s.channel_bds[channel] + number
    was_loaded = s.channel_loaded[channel]
    if was_loaded == 0 and s.bd_known[bd] == 0:
        s.exit_value = number
        return Exit.DESCRIPTOR
    s.channel_at[channel] = 0
    s.channel_loaded[channel] = 0
    # Tells one execution of a descriptor from the next: see `FastChannel.keep_location`.
    s.channel_begun[channel] += 1
    record(s, TraceEvent.BD, part, number, 0)
    if was_loaded == 0:
        for field in range(BD_NUMBERS):
            s.channel_descriptor[channel * BD_NUMBERS + field] = s.bd_number[bd * BD_NUMBERS + field]
    if field_of(s, channel, BdField.VALID) == 0:
        return Exit.INVALID
    if was_loaded == 0:
        count_iteration(s, channel, bd)
    s.channel_waited[channel] = 0
    s.channel_step[channel] = ChannelStep.ACQUIRE
    schedule(s, part, s.now + s.descriptor_cycles)
    return Exit.GO_ON


@native
def count_iteration(s: FastState, channel: int, bd: int) -> int:
    iteration = field_of(s, channel, BdField.ITERATION) + 1
    if iteration >= field_of(s, channel, BdField.ITERATIONS):
        iteration = 0
    s.bd_number[bd * BD_NUMBERS + BdField.ITERATION] = iteration
    return 0


@native
def acquire_lock(s: FastState, part: int, channel: int) -> int:
    lock = field_of(s, channel, BdField.ACQUIRE)
    if lock == NONE:
        s.channel_step[channel] = ChannelStep.MOVE
        return MOVING_ON
    value = field_of(s, channel, BdField.ACQUIRE_VALUE)
    has = s.lock_value[lock]
    is_granted = (value < 0 and has >= -value) or (value >= 0 and has == value)
    if not is_granted:
        if s.channel_waited[channel] == 0:
            s.channel_waited[channel] = 1
            record(s, TraceEvent.LOCK_WAIT, part, lock, 0)
        wait_for(s, part, lock, WaitKind.LOCK)
        return Exit.GO_ON
    if value < 0:
        set_lock(s, lock, has + value)
    if s.channel_waited[channel] != 0:
        record(s, TraceEvent.LOCK_GO, part, lock, 0)
    s.channel_step[channel] = ChannelStep.MOVE
    schedule(s, part, s.now + s.lock_cycles)
    return Exit.GO_ON


@native
def begin_move(s: FastState, part: int, channel: int) -> int:
    record(s, TraceEvent.MOVE, part, s.channel_bd[channel], field_of(s, channel, BdField.LENGTH))
    s.channel_checked[channel] = 0
    s.channel_reserved[channel] = 0
    s.channel_total[channel] = field_of(s, channel, BdField.LENGTH)
    # Python is asked before the first word what is to come.
    if field_of(s, channel, BdField.COMPRESSED) != 0 and not s.channel_sends[channel]:
        s.channel_total[channel] = 0
    s.channel_step[channel] = ChannelStep.GATHER if s.channel_sends[channel] else ChannelStep.JOIN
    ready = s.channel_pushed[channel] + s.channel_start_cost[channel]
    if s.channel_start_cost[channel] != 0 and ready > s.now:
        schedule(s, part, ready)
        return Exit.GO_ON
    return MOVING_ON


@native
def has_room(s: FastState, channel: int) -> int:
    """Whether there is room for the words of the descriptor, or of a piece, and the header before them."""
    needed = field_of(s, channel, BdField.LENGTH) + 1
    if s.channel_piece[channel] != NONE:
        needed = PIECE_WORDS
    if needed <= s.channel_room[channel]:
        return 1
    s.exit_value = needed
    return 0


@native
def begin_access(s: FastState, channel: int) -> int:
    """Note where in memory the transfer is at work; 0 if it is about to read where others write."""
    start = start_of(s, channel)
    low = start + field_of(s, channel, BdField.LOW)
    high = start + field_of(s, channel, BdField.HIGH)
    memory = 0  # host addresses are compared as such: what an earlier run left in flight keeps them
    if s.tile_is_shim[s.channel_tile[channel]] == 0:
        region = find_region(s, channel, low)
        if region == NONE or high > s.region_high[region]:
            s.channel_low[channel] = NONE
            return 1
        memory = s.region_data[region] - s.region_low[region]
    s.channel_low[channel] = memory + low
    s.channel_high[channel] = memory + high
    if s.channel_sends[channel] == 0:
        s.channel_checked[channel] = 0
        return 1
    if s.channel_checked[channel] != 0:
        return 1
    return not meets_others(s, channel)


@native
def meets_others(s: FastState, channel: int) -> int:
    """Whether a transfer that is done may meet another one, or one that begins to read a writer."""
    low = s.channel_low[channel]
    if s.watches == 0 or low == NONE:
        return 0
    high = s.channel_high[channel]
    sends = s.channel_sends[channel]
    for other in range(s.channels):
        if (
            s.channel_low[other] != NONE
            and other != channel
            and s.channel_low[other] < high
            and low < s.channel_high[other]
            and (sends == 0 or s.channel_sends[other] == 0)
            and not are_apart(s, channel, other)
        ):
            return 1
    return 0


@native
def are_apart(s: FastState, channel: int, other: int) -> int:
    """Whether two transfers are at different columns of one matrix."""
    pitch = field_of(s, channel, BdField.PITCH)
    if pitch == 0 or pitch != field_of(s, other, BdField.PITCH):
        return 0
    if s.channel_low[other] < s.channel_low[channel]:
        return are_columns_apart(s, other, channel, pitch)
    return are_columns_apart(s, channel, other, pitch)


@native
def are_columns_apart(s: FastState, first: int, second: int, pitch: int) -> int:
    """The same for two of which the first begins first."""
    distance = (s.channel_low[second] - s.channel_low[first]) % pitch
    is_behind = distance >= field_of(s, first, BdField.WIDTH)
    return is_behind and distance + field_of(s, second, BdField.WIDTH) <= pitch


@native
def gather(s: FastState, channel: int) -> int:
    retire_words(s, channel)
    s.channel_piece[channel] = NONE
    if not begin_access(s, channel):
        return Exit.MEETING
    if s.lends != 0 and long_line(s, channel) != NONE:
        s.channel_data[channel] = long_line(s, channel)
        s.channel_step[channel] = ChannelStep.JOIN
        return MOVING_ON
    if not has_room(s, channel):
        return Exit.BUFFER
    s.channel_data[channel] = s.channel_buffer[channel]
    if field_of(s, channel, BdField.COMPRESSED) != 0 or not move_words(s, channel):
        return Exit.GATHER
    s.channel_step[channel] = ChannelStep.JOIN
    return MOVING_ON


@native
def join_stream(s: FastState, part: int, channel: int) -> int:
    if s.channel_joined[channel] == 0:
        wait_for(s, part, s.signal_mux + s.channel_tile[channel], WaitKind.MUX)
        return Exit.GO_ON
    if not s.channel_sends[channel]:
        s.channel_piece[channel] = NONE
        if long_line(s, channel) != NONE:
            s.channel_piece[channel] = 0
        if not has_room(s, channel):
            return Exit.BUFFER
        s.channel_data[channel] = s.channel_buffer[channel]
        begin_access(s, channel)
    s.channel_step[channel] = ChannelStep.SEND if s.channel_sends[channel] else ChannelStep.RECEIVE
    return MOVING_ON


@native
def send(s: FastState, part: int, channel: int) -> int:
    """One word, the header of a packet first. `channel_at` counts what is sent."""
    header = field_of(s, channel, BdField.HEADER)
    total = s.channel_total[channel]
    at = s.channel_at[channel]
    before = 0
    if header != NONE:
        before = 1
    if at == total + before:
        s.channel_low[channel] = NONE
        s.channel_step[channel] = ChannelStep.RELEASE
        return MOVING_ON
    if s.channel_tree[channel] == 0 and s.blocks != 0:
        # Python finds out, once until a switch is written.
        if s.channel_kind[channel] == TreeKind.UNKNOWN:
            return Exit.TREE
        if s.channel_kind[channel] == TreeKind.TREE:
            adopt(s, s.channel_slot[channel])
    turn = host_turn(s, channel, at - before)
    if s.channel_tree[channel] != 0:
        move_block(s, channel, s.tree_root[s.channel_tree[channel] - 1], turn)
        return Exit.GO_ON
    if turn != s.now:
        schedule(s, part, turn)
        return Exit.GO_ON
    word = header
    if at >= before:
        word = load32(s.channel_data[channel] + WORD_BYTES * (at - before))
    last = at + 1 == total + before and field_of(s, channel, BdField.SUPPRESS_LAST) == 0
    code = pass_on(s, part, s.channel_port[channel], word, last, NONE)
    if code == Exit.GO_ON and s.part_signal[part] == NONE:
        s.channel_at[channel] = at + 1
        if at == 0:
            record(s, TraceEvent.FLOW, part, s.channel_bd[channel], 0)
    return code


@native
def host_turn(s: FastState, channel: int, at: int) -> int:
    """The cycle from which on words can go: where they are from or to the host, that of their burst."""
    if s.channel_word_cost[channel] == 0 or at != s.channel_reserved[channel]:
        return s.now
    count = burst_words(s, channel, at)
    unused = field_of(s, channel, BdField.BURST) // WORD_BYTES - count
    words = count + unused * s.burst_unused_percent // 100
    begin = max(reserve_host(s, channel, words), s.channel_free_at[channel])
    s.channel_free_at[channel] = begin + count * s.channel_word_cost[channel]
    s.channel_reserved[channel] = at + count
    # Rounded up, as `Bursts.reserve` does.
    return (begin + FRACTION - 1) // FRACTION


@native
def reserve_host(s: FastState, channel: int, words: int) -> int:
    """From when on words can move between host memory and a channel, in fractions of a cycle."""
    now = s.now * FRACTION
    both = max(now, s.host_free_at)
    cost = s.host_cost
    if field_of(s, channel, BdField.UPSIZED) == 0:
        cost = s.host_plain_cost
    s.host_free_at = both + words * cost
    tile = s.channel_tile[channel]
    column = max(now, s.tile_free_at[tile])
    s.tile_free_at[tile] = column + words * s.column_cost
    start = max(both, column)
    if s.channel_sends[channel] != 0:
        read = max(now, s.host_read_free_at)
        s.host_read_free_at = read + words * s.host_read_cost
        start = max(start, read)
    return start


@native
def receive(s: FastState, part: int, channel: int) -> int:
    at = s.channel_at[channel]
    if at == s.channel_total[channel]:
        if field_of(s, channel, BdField.COMPRESSED) != 0:
            return Exit.EXPAND
        s.channel_step[channel] = ChannelStep.SCATTER
        return MOVING_ON
    is_piece = s.channel_piece[channel] != NONE and at == s.channel_piece[channel] + PIECE_WORDS
    if is_piece and not write_piece(s, channel, at):
        return Exit.SCATTER
    turn = host_turn(s, channel, at)
    if s.channel_node[channel] != 0:
        move_block(s, channel, s.channel_node[channel] - 1, turn)
        return Exit.GO_ON
    if turn != s.now:
        schedule(s, part, turn)
        return Exit.GO_ON
    fifo = s.channel_port[channel]
    if head_is_ready(s, part, fifo):
        if at == 0:
            record(s, TraceEvent.FLOW, part, s.channel_bd[channel], 0)
        store32(s.channel_data[channel] + WORD_BYTES * at, s.beat_word[fifo * s.ring + s.fifo_head[fifo]])
        s.channel_at[channel] = at + 1
        pop_beat(s, fifo)
        schedule(s, part, s.now + 1)
    return Exit.GO_ON


@native
def scatter(s: FastState, part: int, channel: int) -> int:
    if s.channel_checked[channel] == 0 and meets_others(s, channel):
        return Exit.MEETING
    s.channel_low[channel] = NONE
    if s.channel_piece[channel] != NONE:
        if not write_piece(s, channel, s.channel_total[channel]):
            return Exit.SCATTER
    else:
        find_words(s, channel)
        is_simple = move_words(s, channel)
        leave_words(s, channel, not is_simple)
        if not is_simple:
            return Exit.SCATTER
    return after_scatter(s, part, channel)


@native.entry
def after_scatter(s: FastState, part: int, channel: int) -> int:
    s.channel_step[channel] = ChannelStep.RELEASE
    end = max(s.now + s.channel_end_cost[channel], s.channel_least_end[channel])
    if end != s.now:
        schedule(s, part, end)
        return Exit.GO_ON
    return MOVING_ON


@native
def release_lock(s: FastState, part: int, channel: int) -> int:
    lock = field_of(s, channel, BdField.RELEASE)
    if lock != NONE:
        value = s.lock_value[lock] + field_of(s, channel, BdField.RELEASE_VALUE)
        if not is_in_range(s, value):
            s.exit_value = lock
            return Exit.LOCK_RANGE
        set_lock(s, lock, value)
    return end_descriptor(s, part, channel)


@native.entry
def end_descriptor(s: FastState, part: int, channel: int) -> int:
    """Go on with the chain, with the next run of the task, or to its end."""
    record(s, TraceEvent.BD_END, part, s.channel_bd[channel], field_of(s, channel, BdField.LENGTH))
    return follow_chain(s, channel, field_of(s, channel, BdField.NEXT))


@native.entry
def follow_chain(s: FastState, channel: int, following: int) -> int:
    s.channel_step[channel] = ChannelStep.LOAD
    if following != NONE:
        s.channel_bd[channel] = following
        return MOVING_ON
    s.channel_left[channel] -= 1
    if s.channel_left[channel] > 0:
        s.channel_bd[channel] = s.channel_task_bd[channel]
    elif s.channel_token[channel] != 0:
        s.channel_step[channel] = ChannelStep.TOKEN
    else:
        s.channel_step[channel] = ChannelStep.DONE
    return MOVING_ON


@native
def send_token(s: FastState, part: int, channel: int) -> int:
    code = pass_on(s, part, s.channel_token_port[channel], s.channel_token_word[channel], 1, NONE)
    if code == Exit.GO_ON and s.part_signal[part] == NONE:
        s.channel_step[channel] = ChannelStep.DONE
    return code


@native
def is_in_range(s: FastState, value: int) -> int:
    return 0 <= value <= MAX_VALUE


@native
def set_lock(s: FastState, lock: int, value: int) -> int:
    s.lock_value[lock] = value & MAX_VALUE
    record(s, TraceEvent.LOCK, 0, lock, value & MAX_VALUE)
    fire(s, lock)
    return 0
