"""The state of the fast model's machine as numbers that its native functions and Python share."""

from __future__ import annotations

from enum import IntEnum

from tilewright.native.compiled_python import CompiledFunctions
from tilewright.native.shared_state import Column, Number, SharedState

NONE = -1
LATER = -2
"""Stands for a part whose turn comes after the last cycle of a run."""
WHEEL = 64
"""Cycles ahead that the agenda keeps in slots of their own: as many as a number has bits."""
MASKS = WHEEL - 1
WORD_BITS = 32
"""Parts in a word of the wheel."""
FAR = 1 << 14
"""Turns that the agenda keeps for later cycles; more than there are parts."""
MAX_TARGETS = 32
"""Master ports that one slave port can lead to."""
BD_NUMBERS = 38
"""Numbers that a descriptor is made of, see `BdField`."""
DIMENSIONS = 4
REGIONS = 4
"""Memories that the DMA of a tile reaches: its own, and those west and east of a mem tile."""
RING_JOBS = 64
"""Calls that a worker can have before it; more than there are cores."""
CALL_MEMORIES = 4
"""Memories that a call of a native kernel is given at most."""
CALLS = 16
"""Calls of native kernels from one place of a program that are kept; a later one takes the place of the first."""
TIMES = 4096
"""Words that can be on their way through a tree; a power of two."""
RUNS = TIMES
"""Runs that can be kept at each place of a tree: no more than words."""
ROW = 5
"""Numbers in a row of the trace."""


class TurnKind(IntEnum):
    """How a part takes its turns."""

    UNUSED = 0
    PYTHON = 1
    STREAM = 2
    CHANNEL = 3
    CORE = 4


class ChannelStep(IntEnum):
    """What a channel does when its turn comes."""

    IDLE = 0
    """Look whether there is a task."""
    LOAD = 1
    """Load the descriptor that is next."""
    ACQUIRE = 2
    MOVE = 3
    GATHER = 4
    JOIN = 5
    """Wait until the multiplexer below a shim tile's switch is set."""
    SEND = 6
    RECEIVE = 7
    SCATTER = 8
    RELEASE = 9
    TOKEN = 10
    """Ask for the token's word."""
    SEND_TOKEN = 11
    DONE = 12


class CoreStep(IntEnum):
    """What a core does when its turn comes."""

    START = 0
    DISPATCH = 1
    """The cycles of what it computed have passed: do what it stopped for."""
    ACQUIRE = 2
    RESUME = 3
    FINISHED = 4
    IDLE = 5
    STOPPED = 6
    """The program has come to its first stop."""
    SERVED = 7
    """The cycles of a kernel have passed."""


class StopKind(IntEnum):
    """What a core's program can stop for."""

    SERVICE = 0
    """Something that Python does: a kernel, a stream, the cascade."""
    ACQUIRE_AT_LEAST = 1
    ACQUIRE_EQUAL = 2
    RELEASE = 3


class SlaveKind(IntEnum):
    """Where a slave port leads."""

    NOWHERE = 0
    CIRCUIT = 1
    PACKET = 2


class WaitKind(IntEnum):
    """Why a part does not move."""

    NOTHING = 0
    LOCK = 1
    EMPTY = 2
    FULL = 3
    ARBITER = 4
    NOWHERE = 5
    MUX = 6
    TASK = 7
    LOOP = 8
    """A core's loop that does nothing and never ends."""


class Exit(IntEnum):
    """Why native code returns: what Python has to do next, for the part `exit_part`."""

    GO_ON = 0
    STUCK = 1
    STEP = 2
    """A process of Python has its turn."""
    TASK = 3
    """A channel wants its next task."""
    TASK_DONE = 4
    DESCRIPTOR = 5
    """A descriptor is not known [its number on the tile]."""
    INVALID = 6
    """A descriptor is not valid."""
    GATHER = 7
    """Words are to be read that are not simply in memory."""
    SCATTER = 8
    BUFFER = 9
    """A channel needs more room [words]."""
    TOKEN = 10
    ROUTE = 11
    """It is not known where a slave port leads [slave]."""
    NO_ROUTE = 12
    """[slave]"""
    LOCK_RANGE = 13
    """A lock would leave its range [lock]."""
    START = 14
    """A core starts."""
    SERVE = 15
    """A core stops for something [code]."""
    TRAP = 16
    """A core's program does what it must not [code]."""
    TRACE = 17
    """There is no room for more rows."""
    EXPAND = 23
    """A channel has the words of a mask, or all that one is about."""
    BREATHE = 18
    """Nothing but time has passed."""
    CORE_DONE = 19
    TREE = 21
    """It is not known whether a channel's circuit is a tree."""
    MEETING = 20
    """A transfer may be at words at which others are; has it been looked at, the step is marked so."""
    LATER = 22
    """The last cycle of the run is over."""


class TreeKind(IntEnum):
    """What is known of the circuit that a channel sends to."""

    UNKNOWN = 0
    TREE = 1
    NONE = 2
    """Words move one by one: there are packets, or cores, on the way."""


class BdField(IntEnum):
    """The numbers of a descriptor."""

    VALID = 0
    LENGTH = 1
    BASE = 2
    NEXT = 3
    ACQUIRE = 4
    """A lock, or NONE."""
    ACQUIRE_VALUE = 5
    RELEASE = 6
    RELEASE_VALUE = 7
    HEADER = 8
    """The word before a packet, or NONE."""
    SUPPRESS_LAST = 9
    ITERATIONS = 10
    ITERATION_STEP = 11
    ITERATION = 12
    DIMENSIONS = 13
    PADDED = 14
    COMPRESSED = 15
    WRAP = 16
    STEP = 20
    PAD_BEFORE = 24
    PAD_AFTER = 28
    LOW = 32
    """How far below and above its start the words are, in bytes."""
    HIGH = 33
    PITCH = 34
    """If not 0: the words are in rows, so many bytes from one to the next."""
    WIDTH = 35
    """Bytes from the first to the last one of a row."""
    UPSIZED = 36
    BURST = 37
    """Bytes of a burst to or from host memory."""


class FastState(SharedState):
    """Columns are indexed by what the first word of their name says; parts by their ids."""

    # Turns: the agenda's wheel of the next cycles, a heap of later ones, and the parts.

    now: Number
    events: Number
    breath: Number
    """Python is let in at this number of events."""
    last: Number
    """The last cycle of a run: what comes later does not happen in it."""
    looks: Number
    patience: Number
    exit_part: Number
    exit_value: Number
    wheel_words: Number
    wheel: Column
    """Bits of parts, for each of the next cycles."""
    slots: Number
    """Bits of the slots of the wheel that may not be empty."""
    summary_words: Number
    summary: Column
    """Bits of words in the wheel that are not 0."""
    far_count: Number
    far_time: Column
    far_part: Column
    part_kind: Column
    part_due: Column
    part_looks: Column
    part_wait: Column
    """Why it waits."""
    part_signal: Column
    """What it waits for."""
    part_next: Column
    """The next part that waits for the same."""
    part_index: Column
    """Which channel, core or stream a part is."""

    # Signals that parts wait for, numbered: locks, then streams, arbiters, switches, multiplexers, channels' queues.

    signal_fifo: Number
    """The first signal of a stream; the numbers of locks come before it."""
    signal_arbiter: Number
    signal_switch: Number
    signal_mux: Number
    signal_task: Number
    signal_first: Column

    # Streams.

    ring: Number
    """Words that there is room for in each stream; a power of two."""
    stream_fifo: Column
    stream_slave: Column
    fifo_count: Column
    fifo_head: Column
    fifo_depth: Column
    fifo_latency: Column
    fifo_words: Column
    """How many have come through."""
    beat_word: Column
    beat_last: Column
    beat_ready: Column

    # Switches.

    slave_known: Column
    slave_kind: Column
    slave_switch: Column
    slave_open: Column
    """The rule by which a packet is under way."""
    rule_on: Column
    rule_id: Column
    rule_mask: Column
    rule_arbiter: Column
    rule_targets: Column
    target_fifo: Column
    target_drops: Column
    arbiter_held: Column

    # Locks.

    lock_cycles: Number
    lock_value: Column

    # Descriptors.

    descriptor_cycles: Number
    bd_known: Column
    bd_number: Column

    # DMA channels.

    channels: Number
    channel_step: Column
    channel_part: Column
    channel_tile: Column
    channel_sends: Column
    channel_port: Column
    """The slave port that it feeds, or the stream that it reads."""
    channel_token_port: Column
    channel_joined: Column
    channel_number: Column
    channel_bds: Column
    """Where the descriptors of its tile begin."""
    channel_start_cost: Column
    channel_end_cost: Column
    channel_least_end: Column
    channel_pushed: Column
    """The cycle in which its task was."""
    channel_task_bd: Column
    channel_left: Column
    channel_token: Column
    channel_token_word: Column
    channel_bd: Column
    channel_begun: Column
    """How many descriptors it has begun."""
    channel_loaded: Column
    """Whether the first descriptor of its task was loaded before the task began."""
    channel_waited: Column
    channel_pad: Column
    """The word that stands for padding."""
    channel_at: Column
    """Words moved so far, the header of a packet among them."""
    channel_buffer: Column
    """The address of its room for words, or of that which it uses now."""
    channel_spare: Column
    """The address of as much room again, of a channel that sends; 0 if it has none. Both take turns."""
    channel_data: Column
    """The address of its words: where the first one is, or would be if there were room for all."""
    channel_piece: Column
    """Words that are in host memory already, of a long line that goes there in pieces; NONE for others."""
    channel_room: Column
    channel_total: Column
    """Words that go through its stream: those of the descriptor, or what they are compressed to, as far as is known."""
    channel_word_cost: Column
    """Of a shim channel, in fractions of a cycle; 0 where words do not come from the host."""
    channel_free_at: Column
    channel_reserved: Column
    """Words that host memory has been asked for."""
    channel_low: Column
    """The memory that a transfer in flight is at, from the first byte to the last one; NONE if it is at none."""
    channel_high: Column
    channel_checked: Column
    """Whether Python has looked at whether the transfer meets others."""
    channel_descriptor: Column
    """The numbers of the descriptor that it runs."""
    channel_kind: Column
    """What is known of the circuit it sends to."""
    channel_slot: Column
    """The tree that its circuit would be."""
    channel_tree: Column
    """1 more than the tree that it sends to; 0 while words move one by one."""
    channel_node: Column
    """1 more than the node that it is the end of."""

    # Memories: those of the host, and those that the DMA of a tile reaches.

    host_read_cost: Number
    """Of a word, in fractions of a cycle; see `sim.host.HostPort`."""
    host_read_free_at: Number
    host_cost: Number
    host_plain_cost: Number
    host_free_at: Number
    column_cost: Number
    lends: Number
    """Whether words of host memory can be sent from there, since nobody may change them."""
    host_first: Number
    """Host buffers are regions from this number on."""
    host_end: Number
    burst_unused_percent: Number
    watches: Number
    """Whether transfers that meet matter."""
    tile_is_shim: Column
    tile_free_at: Column
    """When the way between host memory and a shim tile is free again, in fractions of a cycle."""
    tile_adjacent: Column
    """How many channels of a mem tile reach its neighbours."""
    region_low: Column
    region_high: Column
    region_data: Column

    # Cores.

    core_step: Column
    core_context: Column
    core_handle: Column
    core_resume: Column
    core_stops: Column
    """Where the stops of its program begin."""
    core_waited: Column
    stop_kind: Column
    stop_lock: Column
    stop_slot: Column
    stop_passed: Column
    """Where in the context a call has its arguments."""
    stop_numbers: Column
    """How many 64-bit numbers they are."""
    stop_calls: Column
    """Calls of native kernels that are known, `CALLS` for each stop."""
    call_passed: Column
    """The address of the arguments that a call is for."""
    call_function: Column
    call_argument: Column
    call_cycles: Column
    given_low: Column
    """The memories that each is given, `CALL_MEMORIES` for each call; those that are missing are empty."""
    given_high: Column

    # Calls of native kernels by other threads, see `jobs`.

    cores: Number
    workers: Number
    """Threads that make calls; 0 if the loop makes them."""
    next_worker: Number
    pending: Number
    """Calls that were given to workers and have not been waited for."""
    core_call: Column
    """1 more than the call that a core has under way."""
    core_done: Column
    """The address of the semaphore that tells of its end."""
    core_low: Column
    """The memory that its program can reach."""
    core_high: Column
    worker_work: Column
    """The address of the semaphore that tells of a call."""
    worker_given: Column
    """Calls that it was given."""
    job_function: Column
    job_argument: Column
    job_core: Column

    # Trees: circuits on which words move in blocks.

    trees: Number
    blocks: Number
    """Whether words move in blocks where they can."""
    adopted: Number
    """Trees that have streams."""
    tree_root: Column
    """The node that stands for the channel; those of the streams follow it, the ones next to the channel first."""
    tree_nodes: Column
    tree_adopted: Column
    tree_first: Column
    """The number of the first word of the descriptor that is sent, if words are where the channel has them."""
    tree_old_first: Column
    """The same of the descriptor before it, and where its words end."""
    tree_old_end: Column
    tree_old_data: Column
    """The address of its words."""
    tree_memory: Number
    """The address of `tree_words`."""
    tree_words: Column
    """Rings of words on their way, two in each number; see `fast.tree_words`."""
    node_tree: Column
    node_above: Column
    """The node that words come from; NONE of that of the channel that sends."""
    node_child: Column
    node_children: Column
    node_fifo: Column
    node_part: Column
    """Who moves words out of its stream."""
    node_channel: Column
    """The channel that sends or receives there, or NONE."""
    node_depth: Column
    node_latency: Column
    node_moved: Column
    """The next word that leaves its stream."""
    node_base: Column
    """The first word that came into its stream when it became part of the tree."""
    node_first: Column
    """The first word that left its stream as part of the tree; those before it were moved one by one."""
    node_come: Column
    node_active: Column
    """Whether its channel lets words through."""
    node_from: Column
    """From when on words can leave it."""
    node_limit: Column
    """The word before which its channel stops."""
    node_done: Column
    """The next word that its channel has not sent or received."""
    node_kept: Column
    """The first word that its channel has received, and not taken into its own room."""
    node_next: Column
    """When the next word leaves it."""
    node_runs: Column
    """How many runs are kept, see `departures`."""
    node_most_runs: Column
    """How many of them there are when it is time to drop those that are past."""
    node_run: Column
    """The run that is looked at."""
    run_first: Column
    """The first word of each run, `RUNS` for each node."""
    run_time: Column
    """When that one leaves."""

    # The trace.

    trace_count: Number
    trace_limit: Number
    trace_rows: Column


native = CompiledFunctions(FastState)
"""Marks the functions that become machine code; they call each other by name, so all modules of them share this one."""
