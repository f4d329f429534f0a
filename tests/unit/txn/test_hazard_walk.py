"""Native code finds the hazards that the reader of hazards finds, in the same order and with the same tasks."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from damaged_streams import EXAMPLE_NAMES, EXAMPLES, mutated

from tilewright import txn
from tilewright.device import DEVICES, DeviceModel, DmaDirection
from tilewright.device.hazards import Hazard, findings
from tilewright.txn import analysis
from tilewright.txn.hazard_walk import ROWS, find_findings, find_hazards
from tilewright.txn.text import model_of

MODELS = [DEVICES[name] for name in DEVICES if str(name) in ("npu1", "npu2")]
ROUNDS = 300


def read_hazards(stream: txn.Stream, model: DeviceModel, monkeypatch: pytest.MonkeyPatch) -> list[Hazard[int]]:
    monkeypatch.setattr(analysis, "_native_walk", lambda _: None)
    return list(analysis.hazards(stream, model))


def header_of(model: DeviceModel) -> txn.Header:
    return txn.Header(device_generation=model.txn_generation or 0, columns=model.columns, rows=model.rows)


def operations(model: DeviceModel, random: Random) -> Iterator[txn.Operation]:
    """Pushes, descriptors, waits and polls on few channels of few tiles: so that they have to do with each other."""
    tiles = random.sample([tile for tile in model.tiles if model.resources(model.tile_type(*tile)).bds], 2)
    polled = random.choice((0.1, 0.5, 0.9))
    for _ in range(random.randrange(3, 40)):
        tile = random.choice(tiles)
        resources, direction = model.resources(model.tile_type(*tile)), DmaDirection(random.randrange(2))
        channel, bd = random.randrange(min(resources.channels(direction), 2)), random.randrange(4)
        queue = model.task_queue_address(*tile, direction, channel)
        control = model.channel_control_address(*tile, direction, channel)
        status, words = model.channel_status_address(*tile, direction, channel), resources.bd_words
        token = 0x80000000 * random.randrange(2)
        match random.randrange(9):
            case 0 | 1:
                yield txn.write(queue, token | bd)
            case 2:
                yield txn.mask_write(queue, token | bd, random.choice((0xFF, 0x80000000, 0x8000003F, 0)))
            case 3:
                yield txn.block_write(model.bd_address(*tile, bd), [random.getrandbits(32) for _ in range(words)])
            case 4:
                yield txn.write(model.bd_address(*tile, bd) + 4 * random.randrange(words), random.getrandbits(32))
            case 5:
                yield txn.address_patch(model.bd_address(*tile, bd) + 4, 0, 0)
            case 6 if status is not None and random.random() < polled:
                value, mask = random.choice(((0, 0x700000), (0, 0x400000), (0, 0x780000), (0x100000, 0x700000), (0, 0)))
                yield txn.Operation(txn.Opcode.MASKPOLL, address=status, value=value, mask=mask)
            case 7:
                yield (
                    txn.write(control, 2)
                    if random.random() < 0.1
                    else txn.mask_write(control, 2, random.choice((2, 1)))
                )
            case _:
                size = {"columns": random.choice((0, 1, 2)), "rows": random.choice((1, 1, 3))}
                yield txn.sync(tile.column, tile.row, direction, channel, **size)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_both_find_the_same_in_random_programs(model: DeviceModel, monkeypatch: pytest.MonkeyPatch):
    rules = set[str]()
    for seed in range(ROUNDS):
        header = header_of(model)
        stream = txn.Stream.of(header, operations(model, Random(seed)))
        found = find_hazards(stream, model)
        read = read_hazards(stream, model, monkeypatch)
        assert found == read and find_findings(stream, model) == findings(read), seed
        rules |= {hazard.rule.name for hazard in found or ()}
    assert rules == {"queue-overflow", "descriptor-in-flight"}


@pytest.mark.parametrize("data", EXAMPLES, ids=EXAMPLE_NAMES)
def test_both_find_the_same_in_damaged_streams(data: bytes, monkeypatch: pytest.MonkeyPatch):
    sure = 0
    for seed in range(ROUNDS):
        try:
            stream = txn.decode(mutated(data, Random(seed)))
        except txn.TxnError:
            continue
        model = model_of(stream.header)
        if model is not None and (found := find_hazards(stream, model)) is not None:
            sure += 1
            assert found == read_hazards(stream, model, monkeypatch), seed
    assert sure > 10


def test_a_block_goes_on_in_the_next_tile(monkeypatch: pytest.MonkeyPatch):
    model = MODELS[0]
    header = header_of(model)
    queue = model.task_queue_address(0, 1, DmaDirection.MM2S, 0)
    first = model.tile_address(0, 0, (1 << 20) - 4)
    words = [0] * ((queue - first) // 4) + [3]
    stream = txn.Stream.of(header, [txn.block_write(first, words)] * 6 + [txn.block_write(0xFFFFFFFC, [0] * 8)])
    found = find_hazards(stream, model)
    assert found and found == read_hazards(stream, model, monkeypatch)


def test_more_hazards_than_there_are_rows_for(monkeypatch: pytest.MonkeyPatch):
    model = MODELS[0]
    header = header_of(model)
    stream = txn.Stream.of(header, [txn.write(model.task_queue_address(0, 0, DmaDirection.MM2S, 0), 3)] * (3 * ROWS))
    found = find_hazards(stream, model)
    assert found is not None and len(found) == 3 * ROWS - 4
    read = read_hazards(stream, model, monkeypatch)
    assert found == read and find_findings(stream, model) == findings(read)
