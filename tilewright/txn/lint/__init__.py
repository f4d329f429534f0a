"""Lint of TXN streams: what goes wrong on the hardware without a word, as far as the stream alone shows it.

`rules.RULES` is the table of all rules. Registers, fields and waits are looked at column by column; queues and
descriptors in flight are followed by `analysis.hazard_findings`.
"""

from __future__ import annotations

from collections.abc import Collection

from tilewright.device import DeviceModel
from tilewright.device.hazards import DESCRIPTOR_IN_FLIGHT, Finding
from tilewright.device.layout import WORD_BYTES
from tilewright.txn.analysis import hazard_findings
from tilewright.txn.codec import lay_out
from tilewright.txn.lint.register_checks import Collector, Places, RegisterChecks
from tilewright.txn.lint.register_map import register_map
from tilewright.txn.lint.rules import RULES, LintFinding, LintLevel
from tilewright.txn.lint.task_checks import TaskChecks
from tilewright.txn.stream import Indices, Stream


def lint(stream: Stream, model: DeviceModel, ignored: Collection[str] = ()) -> list[LintFinding]:
    """What is wrong with a stream, in its order; what rules in `ignored` find is left out."""
    found = Collector(register_map(model.name))
    registers, tasks = RegisterChecks(stream, found), TaskChecks(stream, found)
    for writes in registers.writes():
        tasks.take_writes(writes)
    for operations in registers.others():
        tasks.take(*operations)
    tasks.check()
    starts, _ = lay_out(stream)
    findings = [_of_hazard(it, model, starts, tasks) for it in hazard_findings(stream, model)]
    findings += [_of_places(it, starts) for it in found.found.values()]
    return sorted((it for it in findings if it.rule.name not in ignored), key=lambda it: it.operation)


def _offset(starts: Indices, operation: int) -> int:
    return int(starts[operation]) * WORD_BYTES


LOADING_OPERATIONS = 16
"""A channel that is idle has loaded a descriptor long before the controller has carried out so many operations."""
LOADED = "the channel had no task before this one, so that it has most likely loaded its only descriptor by then"


def _of_hazard(finding: Finding[int], model: DeviceModel, starts: Indices, tasks: TaskChecks) -> LintFinding:
    hazard, notes = finding.hazard, [*finding.notes()]
    level = LintLevel.WARNING if finding.is_likely else LintLevel.REMARK
    oldest = hazard.tasks[0]
    is_alone = finding.places == 1 and len(oldest.descriptors) == 1
    is_alone &= hazard.origin - oldest.origin >= LOADING_OPERATIONS
    if hazard.rule is DESCRIPTOR_IN_FLIGHT and is_alone and tasks.loads_at_once(hazard.channel, oldest.origin):
        level = LintLevel.REMARK
        notes.insert(1, (oldest.origin, LOADED))
    return LintFinding(
        RULES[hazard.rule.name],
        level,
        hazard.origin,
        _offset(starts, hazard.origin),
        hazard.text(model),
        [(at, _offset(starts, at), text) for at, text in notes],
        finding.places,
        hazard.channel.tile,
        hazard.channel.short_name,
    )


def _of_places(found: Places, starts: Indices) -> LintFinding:
    rule, at, offset = RULES[found.rule], found.operation, _offset(starts, found.operation)
    notes = [(at, offset, f"{rule.harm}: {rule.remedy}")]
    if found.count > 1:
        others = "is 1 more place" if found.count == 2 else f"are {found.count - 1} more places"
        where = " on this channel" if found.channel else " on this tile" if found.tile else ""
        notes.append((at, offset, f"there {others} like this one{where}"))
    return LintFinding(rule, found.level, at, offset, found.text, notes, found.count, found.tile, found.channel)
