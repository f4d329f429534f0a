"""Findings as SARIF 2.1.0, which code hosts and editors show beside the files.

Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tilewright.txn.lint.rules import NO_OFFSET, RULES, LintFinding, LintLevel, LintRule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {LintLevel.ERROR: "error", LintLevel.WARNING: "warning", LintLevel.REMARK: "note"}
_NUMBERS = {name: number for number, name in enumerate(RULES)}


def sarif_log(files: Mapping[str, Sequence[LintFinding]], version: str) -> dict[str, Any]:
    """The log of one run over some files."""
    driver = {"name": "tilewright", "version": version, "rules": [_rule(rule) for rule in RULES.values()]}
    run = {
        "tool": {"driver": driver},
        "artifacts": [{"location": {"uri": _uri(name)}} for name in files],
        "results": [
            _result(number, name, finding)
            for number, (name, findings) in enumerate(files.items())
            for finding in findings
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: LintRule) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.finds},
        "fullDescription": {"text": f"{rule.finds}; then: {rule.harm}"},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": LEVELS[rule.level]},
    }


def _result(number: int, name: str, finding: LintFinding) -> dict[str, Any]:
    where = {"uri": _uri(name), "index": number}
    tile = {} if finding.tile is None else {"tile": [*finding.tile]}
    channel = {} if finding.channel is None else {"channel": finding.channel}
    return {
        "ruleId": finding.rule.name,
        "ruleIndex": _NUMBERS[finding.rule.name],
        "level": LEVELS[finding.level],
        "message": {"text": finding.text},
        "locations": [_location(where, finding.operation, finding.offset)],
        "relatedLocations": [
            {"id": id, **_location(where, operation, offset), "message": {"text": text}}
            for id, (operation, offset, text) in enumerate(finding.notes, start=1)
        ],
        "occurrenceCount": finding.places,
        "properties": {"operation": finding.operation, **tile, **channel},
    }


def _location(where: Mapping[str, Any], operation: int, offset: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": dict(where)}
    # Of a text the operation alone is known.
    if offset != NO_OFFSET:
        place["region"] = {"byteOffset": offset}
    return {"physicalLocation": place, "logicalLocations": [{"name": f"operation {operation}", "kind": "operation"}]}


def _uri(name: str) -> str:
    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
