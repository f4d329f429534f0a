"""Messages of up to 124 bytes that travel with their flag, in one line of 128 bytes.

    put   wait until the line is free                get   load the line until its last word says that this message
          store the line at once: the payload, and         is there; what was loaded then is the payload
          in the last word the number of the message       say that the line is free: it is in registers

Nothing orders the payload before the flag but that a line is stored, moved and loaded as one. Devices do so, memory
models do not promise it: this protocol is chosen knowingly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from xdsl.dialects.builtin import IntegerType, VectorType, i32, i64
from xdsl.ir import SSAValue

from tilewright.device.layout import WORD_BITS, WORD_BYTES
from tilewright.dialects import arith
from tilewright.dialects._llvm_memory import Ordering
from tilewright.dialects.air.channels import ChannelEnd
from tilewright.dialects.gpu.attributes import ShuffleMode
from tilewright.dialects.gpu.lanes import ShuffleOp
from tilewright.ir.diagnostics import fail_op
from tilewright.passes.air.air_gpu_channel_to_cacheline.mailboxes import FLAG, LINE_WORDS, ChannelEndpoint
from tilewright.passes.air.air_gpu_channel_to_cacheline.messages import Message
from tilewright.passes.air.wave_lanes import lane_id, wave_fence
from tilewright.rewrite.emitter import Emitter

PAYLOAD_BYTES = FLAG * WORD_BYTES


def check_fits(message: Message) -> None:
    """Refuse what does not fit into a line beside the flag."""
    end, length = message.end, message.length
    if length is None:
        fail_op(end, "moves a number of elements that is not known when compiling", *_remedy(end))
    if isinstance(message.wire, VectorType) or message.element_bytes > 2 * WORD_BYTES:
        fail_op(end, f'moves elements of type {message.element_type}, which protocol "line" cannot', *_remedy(end))
    most = PAYLOAD_BYTES // message.element_bytes
    if length > most:
        fail_op(
            end,
            f"moves {length * message.element_bytes} bytes; a line holds {most} elements of type "
            f"{message.element_type} beside its flag",
            *_remedy(end),
        )


def _remedy(end: ChannelEnd) -> list[tuple[ChannelEnd, str]]:
    return [(end, 'choose protocol "ordered", which moves messages of any size')]


def put(emitter: Emitter, end: ChannelEndpoint) -> None:
    end.group.meet(emitter)
    end.group.lead_wave(emitter, lambda inner: _send(inner, end))
    # the others may write to the buffer again once it is packed; after a get they must see all of it
    end.group.rejoin(emitter)


def get(emitter: Emitter, end: ChannelEndpoint) -> None:
    end.group.meet(emitter)
    end.group.lead_wave(emitter, lambda inner: _receive(inner, end, end.group.wave_size))
    end.group.meet(emitter)


def _send(emitter: Emitter, end: ChannelEndpoint) -> None:
    lane = lane_id(emitter)
    number = end.sent(emitter)
    end.wait_for_room(emitter, number, Ordering.monotonic)
    place = end.place(emitter, number)
    is_flag = emitter.compare("eq", lane, emitter.index(FLAG))
    word = emitter.choose(is_flag, i32, lambda inner: _stamp(inner, number), lambda inner: _packed(inner, end, lane))

    def store(inner: Emitter) -> None:
        end.peer.store(inner, word, _word(inner, place, lane), Ordering.monotonic)

    wave_fence(emitter)  # lanes that packed longer than others catch up, so that they store together
    emitter.when(emitter.compare("ult", lane, emitter.index(LINE_WORDS)), store)
    emitter.when(_is_first(emitter, lane), lambda inner: end.count_sent(inner, _counted(inner, number)))


def _receive(emitter: Emitter, end: ChannelEndpoint, wave_size: int) -> None:
    lane = lane_id(emitter)
    number = end.received(emitter)
    place, stamp = end.place(emitter, number), _stamp(emitter, number)
    width = emitter.constant(wave_size)
    in_line = emitter.compare("ult", lane, emitter.index(LINE_WORDS))

    def look(inner: Emitter) -> tuple[SSAValue, SSAValue]:
        word = inner.choose(
            in_line,
            i32,
            lambda deep: end.own.load(deep, _word(deep, place, lane), i32, Ordering.monotonic),
            lambda deep: deep.constant(0),
        )
        flag = _shuffled(inner, word, inner.constant(FLAG), width)
        return inner.compare("ne", flag, stamp), word

    def finish(inner: Emitter) -> None:
        counted = _counted(inner, number)
        end.give_back(inner, counted, Ordering.monotonic)
        end.count_received(inner, counted)

    # flag and payload come of the same load, or the payload might be older than the flag
    word = emitter.spin_for(i32, look)
    # before the elements are stored: the line is in registers, so the sender may go on
    emitter.when(_is_first(emitter, lane), finish)
    _unpack(emitter, end, word, lane, wave_size)


def _counted(emitter: Emitter, number: SSAValue) -> SSAValue:
    return emitter.value(arith.AddiOp(number, emitter.i64(1)))


def _stamp(emitter: Emitter, number: SSAValue) -> SSAValue:
    """What the flag of message `number` is: never what the line held before."""
    return emitter.value(arith.TruncIOp(_counted(emitter, number), i32))


def _is_first(emitter: Emitter, lane: SSAValue) -> SSAValue:
    return emitter.compare("eq", lane, emitter.index(0))


def _word(emitter: Emitter, place: SSAValue, lane: SSAValue) -> SSAValue:
    return emitter.folded_sum(place, emitter.folded_product(lane, emitter.index(WORD_BYTES)))


def _shuffled(emitter: Emitter, word: SSAValue, lane: SSAValue, width: SSAValue) -> SSAValue:
    return emitter.value(ShuffleOp(ShuffleMode.IDX, word, lane, width))


def _bits_type(message: Message) -> IntegerType:
    """Integers as wide as an element in a message."""
    return IntegerType(8 * message.element_bytes)


def _packed(emitter: Emitter, end: ChannelEndpoint, lane: SSAValue) -> SSAValue:
    """The word of the payload that a lane stores: several elements, one, or half of one."""
    message = end.message
    if message.element_bytes == 2 * WORD_BYTES:
        two = emitter.index(2)
        bits = _bits(emitter, message, emitter.value(arith.DivUIOp(lane, two)))
        half = emitter.value(arith.IndexCastOp(emitter.value(arith.RemUIOp(lane, two)), i64))
        shifted = emitter.value(arith.ShRUIOp(bits, emitter.folded_product(half, emitter.i64(WORD_BITS))))
        return emitter.value(arith.TruncIOp(shifted, i32))
    per_word = WORD_BYTES // message.element_bytes
    first = emitter.folded_product(lane, emitter.index(per_word))
    parts: list[SSAValue] = []
    for number in range(per_word):
        bits = _bits(emitter, message, emitter.folded_sum(first, emitter.index(number)))
        wide = bits if bits.type == i32 else emitter.value(arith.ExtUIOp(bits, i32))
        shift = number * 8 * message.element_bytes
        parts.append(emitter.value(arith.ShLIOp(wide, emitter.constant(shift))) if shift else wide)
    return reduce(lambda a, b: emitter.value(arith.OrIOp(a, b)), parts)


def _bits(emitter: Emitter, message: Message, number: SSAValue) -> SSAValue:
    """The bits of an element, or 0 behind the last one."""
    type = _bits_type(message)

    def read(inner: Emitter) -> SSAValue:
        value = message.load(inner, number)
        return value if value.type == type else inner.value(arith.BitcastOp(value, type))

    is_there = emitter.compare("ult", number, message.total(emitter))
    return emitter.choose(is_there, type, read, lambda inner: inner.constant(0, type))


def _unpack(emitter: Emitter, end: ChannelEndpoint, word: SSAValue, lane: SSAValue, wave_size: int) -> None:
    """Store the elements: each lane some of them, or every lane all into a buffer of its own."""
    length = end.message.length
    assert length is not None
    if end.message.is_private:
        for number in range(length):
            value = _element(emitter, end.message, word, emitter.index(number), wave_size)
            end.message.store(emitter, emitter.index(number), value)
        return
    for first in range(0, length, wave_size):
        number = emitter.folded_sum(emitter.index(first), lane)
        value = _element(emitter, end.message, word, number, wave_size)
        is_there = emitter.compare("ult", number, emitter.index(length))
        emitter.when(is_there, _storing(end.message, number, value))


def _storing(message: Message, number: SSAValue, value: SSAValue) -> Callable[[Emitter], None]:
    return lambda inner: message.store(inner, number, value)


def _element(emitter: Emitter, message: Message, word: SSAValue, number: SSAValue, wave_size: int) -> SSAValue:
    """An element of the line, of which each lane holds a word; all lanes ask, also those that need none."""
    # a shuffle is undefined if the lane that is asked does not take part, so no condition is around it
    type, width = _bits_type(message), emitter.constant(wave_size)
    flat = emitter.value(arith.IndexCastOp(number, i32))
    if message.element_bytes == 2 * WORD_BYTES:
        low_lane = emitter.folded_product(flat, emitter.constant(2))
        lanes = low_lane, emitter.folded_sum(low_lane, emitter.constant(1))
        low, high = (
            emitter.value(arith.ExtUIOp(_shuffled(emitter, word, _in_wave(emitter, lane, wave_size), width), i64))
            for lane in lanes
        )
        bits = emitter.value(arith.OrIOp(low, emitter.value(arith.ShLIOp(high, emitter.i64(WORD_BITS)))))
    else:
        per_word = emitter.constant(WORD_BYTES // message.element_bytes)
        lane = _in_wave(emitter, emitter.value(arith.DivUIOp(flat, per_word)), wave_size)
        bits = _shuffled(emitter, word, lane, width)
        if message.element_bytes < WORD_BYTES:
            place = emitter.value(arith.RemUIOp(flat, per_word))
            shift = emitter.folded_product(place, emitter.constant(8 * message.element_bytes))
            bits = emitter.value(arith.TruncIOp(emitter.value(arith.ShRUIOp(bits, shift)), type))
    return bits if bits.type == message.wire else emitter.value(arith.BitcastOp(bits, message.wire))


def _in_wave(emitter: Emitter, lane: SSAValue, wave_size: int) -> SSAValue:
    """A lane that exists, for elements that do not."""
    return emitter.value(arith.AndIOp(lane, emitter.constant(wave_size - 1)))
