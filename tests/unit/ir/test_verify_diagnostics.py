"""Comments that say which diagnostics to expect."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc

from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.ir.verify_diagnostics import check_expectations

FILE = "x.mlir"


def report(line: int | None, text: str, severity: str = "error", *notes: Diagnostic, file: str = FILE) -> Diagnostic:
    at = UnknownLoc() if line is None else FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(1))
    return Diagnostic(Severity(severity), text, at, list(notes))


def differences(text: str, *reported: Diagnostic, only_expected: bool = False, lines_before: int = 0) -> list[str]:
    return [str(d) for d in check_expectations(text, FILE, lines_before, reported, only_expected)]


@pytest.mark.parametrize(
    "directive, line",
    [
        ("// expected-error {{bad thing}}", 1),
        ("// expected-error@+2 {{bad thing}}", 3),
        ("// expected-error @+2 {{bad thing}}", 3),
        ("// expected-error@below {{bad thing}}", 2),
        ("// expected-error @below {{bad}}\n// expected-error@below {{thing}}", 3),
        ("op\n// expected-error@above {{bad thing}}", 1),
        ("op\n\n// expected-error@-2 {{bad thing}}", 1),
        ("// expected-error@unknown {{bad thing}}", None),
        ("// expected-error-re@+1 {{b{{[a-z]+}} thing}}", 2),
        ("// expected-error@below {{bad thing}}   ", 2),
    ],
)
def test_places(directive: str, line: int | None) -> None:
    text = f"{directive}\nop\nop\n"
    reported = [report(line, "a bad thing happened")] * (2 if directive.count("expected") == 2 else 1)
    assert differences(text, *reported) == []
    assert differences(text, *[report(17, d.text) for d in reported])


def test_what_is_missing_and_what_is_unexpected() -> None:
    found = differences("// expected-warning {{beware}}\n", report(2, "oops"))
    assert found == [
        "x.mlir:2:1: error: unexpected error: oops",
        'x.mlir:1:4: error: expected warning "beware" was not produced',
    ]


def test_only_expected_lets_others_pass() -> None:
    assert differences("op\n", report(2, "oops"), only_expected=True) == []
    assert differences("// expected-error {{x}}\n", only_expected=True)


def test_severity_counts() -> None:
    found = differences("// expected-warning {{oops}}\n", report(1, "oops"))
    assert found[0] == "x.mlir:1:4: error: 'error' diagnostic emitted when expecting a 'warning'"


def test_notes_are_checked_when_expected_and_silent_otherwise() -> None:
    error = report(1, "oops", "error", report(2, "here", "note"), report(3, "use less of it", "note"))
    assert differences("// expected-error {{oops}}\n// expected-note {{here}}\n", error) == []
    assert differences("// expected-error {{oops}}\n// expected-note {{there}}\n", error)


def test_one_directive_is_enough_for_a_repeated_diagnostic() -> None:
    assert differences("// expected-error {{oops}}", report(1, "oops 1"), report(1, "oops 2")) == []
    assert differences("// expected-error {{oops}}\n// expected-error@-1 {{oops}}", report(1, "oops"))


def test_text_outside_of_regex_blocks_is_literal() -> None:
    assert differences("// expected-error-re {{a.c{{.*}}}}", report(1, "a.c d")) == []
    assert differences("// expected-error-re {{a.c{{.*}}}}", report(1, "abc d"))
    assert differences("// expected-error {{a(b}}", report(1, "a(b")) == []


def test_a_broken_regex_is_an_error() -> None:
    assert "invalid regex" in differences("// expected-error-re {{a {{[}} }}")[0]


def test_lines_of_a_later_part_count_from_the_start_of_the_file() -> None:
    assert differences("// expected-error@+1 {{oops}}\nop\n", report(12, "oops"), lines_before=10) == []


def test_diagnostics_of_other_files_are_unexpected() -> None:
    assert differences("// expected-error {{oops}}", report(1, "oops", file="other.mlir"))
