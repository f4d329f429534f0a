"""Words on their way through a tree, which stay where they are as long as they can.

What a channel sends from room of its own is read from there, of this descriptor and of the one before it: it has room
for two. All others are in a ring. A channel that receives leaves words where the sender has them until it has all of
its descriptor, and puts them into memory from there; only if they go away before, are in a ring or in several places,
it takes them into room of its own.
"""

from __future__ import annotations

from tilewright.device.layout import WORD_BYTES
from tilewright.native.compiled_python import copy_bytes
from tilewright.sim.fast.state import NONE, TIMES, FastState, native

TIME_MASK = TIMES - 1
NOWHERE = 1 << 62
"""A word that never comes: the channel's words are in the ring."""


@native
def begin_words(s: FastState, tree: int) -> int:
    """All words are in the ring."""
    s.tree_first[tree] = NOWHERE
    s.tree_old_first[tree] = 0
    s.tree_old_end[tree] = 0
    return 0


@native
def ring_place(s: FastState, tree: int, word: int) -> int:
    """The address of a word in the ring."""
    return s.tree_memory + WORD_BYTES * (tree * TIMES + (word & TIME_MASK))


@native
def word_place(s: FastState, tree: int, word: int) -> int:
    """The address of a word on its way."""
    if word >= s.tree_first[tree]:
        channel = s.node_channel[s.tree_root[tree]]
        return s.channel_data[channel] + WORD_BYTES * (word - s.tree_first[tree])
    if s.tree_old_first[tree] <= word < s.tree_old_end[tree]:
        return s.tree_old_data[tree] + WORD_BYTES * (word - s.tree_old_first[tree])
    return ring_place(s, tree, word)


@native
def together(s: FastState, tree: int, word: int, end: int) -> int:
    """How many words, from one on and before another, stand one after the other."""
    if word >= s.tree_first[tree]:
        return end - word
    end = min(end, s.tree_first[tree])
    if s.tree_old_first[tree] <= word < s.tree_old_end[tree]:
        return min(end, s.tree_old_end[tree]) - word
    if word < s.tree_old_first[tree]:
        end = min(end, s.tree_old_first[tree])
    # up to where places in the ring begin anew
    return min(end - word, TIMES - (word & TIME_MASK))


@native
def stay(s: FastState, tree: int, word: int, end: int) -> int:
    """Whether words, from one on and before another, are where one descriptor has them, which is told when it goes."""
    if word >= s.tree_first[tree]:
        return 1
    return s.tree_old_first[tree] <= word and end <= s.tree_old_end[tree]


@native
def send_words(s: FastState, tree: int, word: int, sent: int, end: int) -> int:
    """The channel of a tree has sent words before one; the first one of them is that of its descriptor at `sent`."""
    channel = s.node_channel[s.tree_root[tree]]
    if s.channel_spare[channel] != 0 and s.channel_data[channel] == s.channel_buffer[channel]:
        s.tree_first[tree] = word - sent
        return 0
    while word < end:
        count = min(end - word, TIMES - (word & TIME_MASK))
        copy_bytes(ring_place(s, tree, word), s.channel_data[channel] + WORD_BYTES * sent, WORD_BYTES * count)
        word += count
        sent += count
    return 0


@native
def retire_words(s: FastState, channel: int) -> int:
    """A channel is about to have other words to send: let it have its other room for them."""
    tree = s.channel_tree[channel] - 1
    if tree < 0 or s.tree_first[tree] == NOWHERE:
        return 0
    spill(s, channel)
    s.tree_old_first[tree] = s.tree_first[tree]
    s.tree_old_end[tree] = s.node_done[s.tree_root[tree]]
    s.tree_old_data[tree] = s.channel_data[channel]
    s.tree_first[tree] = NOWHERE
    other = s.channel_spare[channel]
    s.channel_spare[channel] = s.channel_buffer[channel]
    s.channel_buffer[channel] = other
    return 0


@native.entry
def spill(s: FastState, channel: int) -> int:
    """The words of the descriptor before this one go away: put those into the ring that have not come to all ends."""
    tree = s.channel_tree[channel] - 1
    if tree < 0:
        return 0
    end = s.tree_old_end[tree]
    word = end
    root = s.tree_root[tree]
    for node in range(root + 1, root + 1 + s.tree_nodes[tree]):
        if s.node_channel[node] != NONE:
            if s.node_kept[node] < end:
                take_in(s, tree, node)
            word = min(word, s.node_done[node])
    word = max(word, s.tree_old_first[tree])
    while word < end:
        count = min(end - word, TIMES - (word & TIME_MASK))
        copy_bytes(ring_place(s, tree, word), word_place(s, tree, word), WORD_BYTES * count)
        word += count
    s.tree_old_first[tree] = 0
    s.tree_old_end[tree] = 0
    return 0


@native
def take_in(s: FastState, tree: int, node: int) -> int:
    """Let a channel that receives have all words that have come to it in its own room."""
    channel = s.node_channel[node]
    word = s.node_kept[node]
    end = s.node_done[node]
    target = s.channel_data[channel] + WORD_BYTES * (s.channel_at[channel] - end + word)
    while word < end:
        count = together(s, tree, word, end)
        copy_bytes(target, word_place(s, tree, word), WORD_BYTES * count)
        target += WORD_BYTES * count
        word += count
    s.node_kept[node] = end
    return 0


@native
def find_words(s: FastState, channel: int) -> int:
    """Let `channel_data` be where all words of a descriptor are that have come to a channel."""
    node = s.channel_node[channel] - 1
    if node < 0:
        return 0
    tree = s.node_tree[node]
    end = s.node_done[node]
    first = end - s.channel_total[channel]
    if s.node_kept[node] == first and together(s, tree, first, end) == end - first:
        s.channel_data[channel] = word_place(s, tree, first)
        return 0
    return take_in(s, tree, node)


@native
def leave_words(s: FastState, channel: int, are_needed: int) -> int:
    """A channel is through with the words of a descriptor, or needs them in its own room after all."""
    s.channel_data[channel] = s.channel_buffer[channel]
    node = s.channel_node[channel] - 1
    if node >= 0:
        if are_needed != 0:
            take_in(s, s.node_tree[node], node)
        s.node_kept[node] = s.node_done[node]
    return 0
