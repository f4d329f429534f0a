"""How `tilewright txn lint` shows what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.device import DeviceModel
from tilewright.device.hazards import Finding, findings
from tilewright.txn.analysis import hazards
from tilewright.txn.stream import Stream, TxnError
from tilewright.txn.text import model_of


def lint_stream(name: str, stream: Stream) -> tuple[DeviceModel, list[Finding[int]]]:
    """The device of a stream, and what may go wrong in it."""
    model = model_of(stream.header)
    if model is None:
        raise TxnError(0, "the header describes no device that is known, so its registers are not either", name)
    return model, findings(hazards(stream, model))


def to_json(finding: Finding[int], model: DeviceModel) -> dict[str, Any]:
    hazard = finding.hazard
    return {
        "rule": hazard.rule.name,
        "severity": _severity(finding),
        "operation": hazard.origin,
        "tile": [*hazard.channel.tile],
        "channel": hazard.channel.short_name,
        "text": hazard.text(model),
        "places": finding.places,
        "notes": [{"operation": origin, "text": text} for origin, text in finding.notes()],
    }


def render(name: str, model: DeviceModel, found: Sequence[Finding[int]], *, show_unlikely: bool) -> Iterator[str]:
    """A line for each finding and for each note, and one for those that are not shown."""
    for finding in found:
        if finding.is_likely or show_unlikely:
            hazard = finding.hazard
            yield f"{name}: operation {hazard.origin}: {_severity(finding)}: {hazard.text(model)}"
            yield from (f"{name}: operation {origin}: note: {text}" for origin, text in finding.notes())
    hidden = sum(not finding.is_likely for finding in found)
    if hidden and not show_unlikely:
        what = "hazard is" if hidden == 1 else "hazards are"
        yield f"{name}: {hidden} more {what} unlikely, because a wait for something else lies between (--all shows it)"


def _severity(finding: Finding[int]) -> str:
    return "warning" if finding.is_likely else "remark"
