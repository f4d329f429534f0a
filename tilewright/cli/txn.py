"""Tools on TXN binaries: read them, change them, compare them.

A FILE is a raw binary, hex text, the text that `dis` writes, or an ELF file with control code; its content tells which.
"""

from __future__ import annotations

import json
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import CommandLineError
from tilewright.cli.files import read_bytes, write_atomically, write_folder, write_text
from tilewright.cli.parsers import SECTION, Tool, arguments, switch, tools, value, values
from tilewright.errors import near_match

if TYPE_CHECKING:
    from tilewright.ir.diagnostics import DiagnosedError
    from tilewright.txn.containers import Patch
    from tilewright.txn.lint.rules import LintFinding
    from tilewright.txn.stream import Stream
    from tilewright.txn.text import TextError
    from tilewright.txn.transfers import Intent


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share < 1:
        raise ValueError
    return share


LINES_AT_A_TIME = 1 << 12
"""Of text that is printed: one by one they take as long to print as to make."""
MOST_REASONS = 3
"""Files that an error names."""
FOR_ALL = {"--json": switch("for machines"), "--section": SECTION}
add_arguments = tools(
    {
        "dis": Tool(
            "print a binary as text that `asm` turns back into the same bytes",
            arguments(
                {
                    "file": value("FILE"),
                    "--level": value(
                        "N",
                        "1: operations (default); 2: registers by name and field, which `asm` takes as well; "
                        "3: transfers and waits, for people",
                        type=int,
                        choices=range(1, 4),
                        default=1,
                    ),
                    "--plain": switch("no comments about what register fields mean"),
                    "--html": value("OUT", "write a page that shows the transfers on the array and in their order"),
                    **FOR_ALL,
                }
            ),
        ),
        "asm": Tool(
            "assemble the text form",
            arguments(
                {
                    "file": value("FILE"),
                    "-o": value("OUT", "the binary to write", dest="output", required=True),
                    **FOR_ALL,
                }
            ),
        ),
        "stat": Tool(
            "count operations, bytes, tiles, pushes and patches",
            arguments(
                {
                    "files": value("FILE", nargs="+"),
                    "--transfers": switch("also bytes of each argument, and what else the stream does"),
                    **FOR_ALL,
                }
            ),
        ),
        "diff": Tool(
            "say what two binaries do differently, and show the operations; status 1 if there are any",
            arguments(
                {
                    "left": value("FILE"),
                    "right": value("FILE"),
                    "--all": switch("every difference, not only the first"),
                    "--summary": switch("only what they do differently"),
                    **FOR_ALL,
                }
            ),
        ),
        "lint": Tool(
            "find what goes wrong on the hardware without a word; status 1 if there is more than remarks",
            arguments(
                {
                    "files": value("FILE", nargs="*"),
                    "--all": switch("also remarks: what is right in many programs, and hazards that are unlikely"),
                    "--ignore": values("RULE", "leave out what this rule finds; may be given again"),
                    "--fail-on": value(
                        "LEVEL",
                        "status 1 from this level on: error, warning (default), remark, or never",
                        choices=("error", "warning", "remark", "never"),
                        default="warning",
                    ),
                    "--sarif": value("OUT", "also write the findings as SARIF 2.1.0; - for stdout, alone"),
                    "--rules": switch("print the table of rules"),
                    **FOR_ALL,
                }
            ),
        ),
        "lift": Tool(
            "find one runtime sequence, with shapes as arguments, that gives several binaries",
            arguments(
                {
                    "files": value("FILE", nargs="+"),
                    "-o": value("DIR", "for lifted.mlir and lifted.json", dest="output", required=True),
                    "--param": value(
                        "NAME=PATTERN",
                        "a parameter: a regular expression that finds its value in a file's name, or NAME=V,V,... with "
                        "a value for each file; without any, the numbers in the names are the parameters",
                        action="append",
                        default=[],
                    ),
                    "--hold-out": value(
                        "SHARE",
                        "also learn from all but this share of the files, and say how many of these are predicted",
                        type=_share,
                        default=0.0,
                    ),
                    "--seed": value("N", "of the choice of these", type=int, default=0),
                    "--zero-unused": switch("give 0 in bits that nothing reads, such as padding; compare the others"),
                    "--quiet": switch("only what went wrong"),
                    **FOR_ALL,
                }
            ),
        ),
        "to-mlir": Tool(
            "print a binary as a runtime sequence that compiles to the same bytes",
            arguments(
                {
                    "file": value("FILE"),
                    "-o": value("OUT", "the MLIR to write; stdout without", dest="output", default="-"),
                    "--zero-unused": switch("give 0 in bits that nothing reads: more is instructions, less is fields"),
                    **FOR_ALL,
                }
            ),
        ),
    }
)


def run(args: Namespace) -> int:
    tools = {"dis": _dis, "asm": _asm, "stat": _stat, "diff": _diff, "lint": _lint, "lift": _lift, "to-mlir": _to_mlir}
    return tools[args.tool](args)


def _decoded(name: str, section: str | None) -> Stream:
    """The stream in a file: raw, as text, or in an ELF file."""
    return _decode(read_bytes(name), name, section)


def _decode(data: bytes, name: str, section: str | None) -> Stream:
    return _decode_code(data, name, section)[0]


def _decode_code(data: bytes, name: str, section: str | None) -> tuple[Stream, Sequence[Patch]]:
    """The stream, and where the host that loads it puts addresses."""
    from tilewright.txn.containers import read_container
    from tilewright.txn.stream import TxnError
    from tilewright.txn.text import TextError

    try:
        code = read_container(data).code(section)
        return code.decode(), code.patches
    except TextError as error:
        raise _at_line(error, name) from None
    except TxnError as error:
        raise error.with_file(name) from None


def _at_line(error: TextError, name: str) -> DiagnosedError:
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    from tilewright.ir.diagnostics import CompileError, Diagnostic, Severity

    place = FileLineColLoc(StringAttr(name), IntAttr(error.line), IntAttr(error.column))
    return CompileError([Diagnostic(Severity.ERROR, error.reason, place)])


def _dis(args: Namespace) -> int:
    from tilewright.txn.text import disassemble

    stream, patches = _decode_code(read_bytes(args.file), args.file, args.section)
    if args.level == 3 or args.html:
        return _show_intent(args, _intent(stream, args.file, patches))
    if args.json:
        print(json.dumps({"header": vars(stream.header), "operations": [_as_json(op) for op in stream.operations]}))
        return 0
    lines = disassemble(stream, explained=not args.plain, by_register=args.level == 2)
    while piece := [*islice(lines, LINES_AT_A_TIME)]:
        print("\n".join(piece))
    return 0


def _show_intent(args: Namespace, intent: Intent) -> int:
    """Transfers as text, for machines, or as a page."""
    from tilewright.txn.intent_text import intent_lines

    if args.html:
        from tilewright.report.transfers_page import transfers_html

        write_text(args.html, transfers_html(intent, Path(args.file).name))
    if args.json:
        print(json.dumps(intent.to_json()))
    elif args.level == 3:
        for line in intent_lines(intent):
            print(line)
    return 0


def _intent(stream: Stream, name: str, patches: Sequence[Patch] = ()) -> Intent:
    from tilewright.txn.stream import TxnError
    from tilewright.txn.transfers import intent_of

    try:
        return intent_of(stream, patches)
    except TxnError as error:
        raise error.with_file(name) from None


def _as_json(op: Any) -> dict[str, Any]:
    return {"opcode": op.name, **op.fields} | ({"payload": op.payload.tolist()} if len(op.payload) else {})


def _asm(args: Namespace) -> int:
    from tilewright import txn

    stream = _assembled(args.file, args.section)
    words = txn.encode(stream)
    write_atomically(Path(args.output), words.astype("<u4").tobytes())
    if args.json:
        print(json.dumps({"operations": len(stream.opcodes), "bytes": words.nbytes}))
    return 0


def _assembled(name: str, section: str | None) -> Stream:
    """The stream in a file. What is nothing of the kind is taken for text, so that the complaint names a line."""
    from tilewright.txn.stream import TxnError
    from tilewright.txn.text import TextError, assemble

    data = read_bytes(name)
    try:
        return _decode(data, name, section)
    except TxnError as error:
        if error.offset != 0 or section is not None:  # damaged further on, so it is no text
            raise
    try:
        return assemble(data.decode(errors="surrogateescape"))
    except TextError as error:
        raise _at_line(error, name) from None


def _stat(args: Namespace) -> int:
    from tilewright.txn.analysis import statistics
    from tilewright.txn.intent_text import transfer_counts

    streams = {name: _decoded(name, args.section) for name in args.files}
    found = {name: statistics(stream) for name, stream in streams.items()}
    moved = {name: transfer_counts(_intent(streams[name], name)) for name in (streams if args.transfers else ())}
    if args.json:
        print(json.dumps({name: numbers.to_json() | moved.get(name, {}) for name, numbers in found.items()}))
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for name, numbers in found.items():
        device = numbers.device or "unknown device"
        table = Table("what", title=f"{name}: version {numbers.version}, {device}", title_justify="left")
        for heading in ("count", "bytes"):
            table.add_column(heading, justify="right")
        for opcode, (count, size) in numbers.by_opcode.items():
            table.add_row(opcode, str(count), str(size))
        table.add_row("total", str(numbers.operations), str(numbers.size_bytes), style="bold")
        for title, counts in (
            ("register operations on", numbers.by_tile),
            ("tasks pushed on", numbers.queue_pushes),
            ("patches with argument", numbers.patched_arguments),
        ):
            for place, count in counts.items():
                table.add_row(f"{title} {place}", str(count))
        for title, count in moved.get(name, {}).items():
            table.add_row(title.replace("_", " "), str(count))
        console.print(table)
    return 0


def _diff(args: Namespace) -> int:
    from tilewright.txn.analysis import differences
    from tilewright.txn.intent_diff import compare, meaning_of

    left, right = (_decoded(name, args.section) for name in (args.left, args.right))
    # lazily: the first difference of large files is found without looking for all
    found = differences(left, right)
    shown = list(found if args.all else islice(found, 1))
    if args.summary and args.json:
        print(json.dumps(compare(_intent(left, args.left), _intent(right, args.right)).to_json()))
        return 1 if shown else 0
    for line in meaning_of(left, right) if shown and not args.json else ():
        print(line)
    if args.summary:
        return 1 if shown else 0
    if args.json:
        print(json.dumps([vars(difference) for difference in shown]))
    for difference in () if args.json else shown:
        place = "header" if difference.index is None else f"operation {difference.index}"
        print(f"{place}\n  - {difference.left}\n  + {difference.right}")
        for meaning in difference.meanings:
            print(f"    {meaning}")
    return 1 if shown else 0


def _lint(args: Namespace) -> int:
    """Status 1 for a finding of the level that is asked for, or above."""
    from tilewright.txn.lint.rules import RULES, LintLevel

    if unknown := [name for name in args.ignore if name not in RULES]:
        near = near_match(unknown[0], RULES)
        raise CommandLineError(f"tilewright txn lint: error: there is no rule {unknown[0]!r}{near}; --rules lists them")
    if args.rules:
        _print_rules(args.json)
        return 0
    if not args.files:
        raise CommandLineError("tilewright txn lint: error: name a file to look at, or --rules for what is looked for")
    found = {name: _lint_file(name, args.section, args.ignore) for name in args.files}
    if args.sarif:
        from tilewright import __version__
        from tilewright.txn.lint.sarif import sarif_log

        write_text(args.sarif, json.dumps(sarif_log(found, __version__), indent=1) + "\n")
    if args.json:
        print(json.dumps({name: [finding.to_json() for finding in findings] for name, findings in found.items()}))
    for name, findings in () if args.json or args.sarif == "-" else found.items():
        for line in _lint_lines(name, findings, show_remarks=args.all):
            print(line)
    levels = [*LintLevel]
    failing = levels[: levels.index(args.fail_on) + 1] if args.fail_on in levels else ()
    return 1 if any(finding.level in failing for findings in found.values() for finding in findings) else 0


def _print_rules(as_json: bool) -> None:
    from tilewright.txn.lint.rules import RULES

    if as_json:
        print(json.dumps([vars(rule) for rule in RULES.values()]))
    for rule in () if as_json else RULES.values():
        print(f"{rule.name} ({rule.level})")
        for what, text in (("finds", rule.finds), ("then", rule.harm), ("way out", rule.remedy)):
            print(textwrap.fill(f"{what}: {text}", 100, initial_indent="  ", subsequent_indent="    "))


def _lint_file(name: str, section: str | None, ignored: Sequence[str]) -> list[LintFinding]:
    """What is wrong with the stream in a file; offsets are those in the file."""
    from tilewright.txn.containers import read_container
    from tilewright.txn.lint import lint
    from tilewright.txn.lint.rules import NO_OFFSET
    from tilewright.txn.stream import TxnError
    from tilewright.txn.text import model_of

    data = read_bytes(name)
    stream, code = _decode(data, name, section), read_container(data).code(section)
    model = model_of(stream.header)
    if model is None:
        raise TxnError(0, "the header describes no device that is known, so its registers are not either", name)

    def locate(offset: int) -> int:
        return code.locate(offset) if code.is_verbatim else NO_OFFSET

    return [finding.moved(locate) for finding in lint(stream, model, ignored)]


def _lint_lines(name: str, found: Sequence[LintFinding], *, show_remarks: bool) -> Iterator[str]:
    """A line for each finding and for each note, and one for those that are not shown."""
    from tilewright.txn.lint.rules import LintLevel

    shown = [finding for finding in found if show_remarks or finding.level != LintLevel.REMARK]
    for finding in shown:
        yield from (f"{name}: {line}" for line in finding.lines())
    if hidden := len(found) - len(shown):
        yield f"{name}: {hidden} {'remark is' if hidden == 1 else 'remarks are'} not shown (--all shows them)"


def _lift(args: Namespace) -> int:
    """Status 1 if a file is left out that is a stream."""
    from tilewright import txn
    from tilewright.ir.escapes import visible
    from tilewright.lift import lift
    from tilewright.lift.lifting import LEAST_FILES
    from tilewright.lift.parameters import ParameterError, from_names, given

    streams, refused = dict[str, Any](), dict[str, str]()
    for name, path in _short_names(args.files).items():
        try:
            streams[name] = txn.encode(_decoded(path, args.section))
        except (txn.TxnError, _compile_error()) as error:
            refused[name] = str(error).splitlines()[0]
    if refused and len(streams) < LEAST_FILES:
        reasons = "; ".join([*refused.values()][:MOST_REASONS])
        raise ParameterError(f"a family has {LEAST_FILES} files at least that are streams; {reasons}")
    parameters = given([*streams], args.param) if args.param else from_names([*streams])
    with _progress(quiet=args.quiet or args.json) as progress:
        lifted = lift(
            streams,
            parameters,
            hold_out=args.hold_out,
            seed=args.seed,
            zero_unused=args.zero_unused,
            progress=progress,
        )
    manifest = json.dumps(lifted.manifest() | {"refused": refused}, indent=1) + "\n"
    write_folder(Path(args.output), {"lifted.mlir": lifted.text.encode(), "lifted.json": manifest.encode()})
    if args.json:
        print(json.dumps(lifted.to_json() | {"refused": refused}))
    else:
        lines = (f"left out: {n}: {reason}" for n, reason in lifted.left_out.items()) if args.quiet else lifted.report()
        for line in lines:
            print(visible(line))
        for name, reason in refused.items():
            print(visible(f"no stream: {name}: {reason}"))
    return 1 if lifted.left_out else 0


def _compile_error() -> type[Exception]:
    from tilewright.ir.diagnostics import CompileError

    return CompileError


def _short_names(paths: Sequence[str]) -> dict[str, str]:
    """Paths by the names that they have in their folders, or as they were given where these are the same."""
    names = [Path(path).name for path in paths]
    unique = len(set(names)) == len(names)
    return dict(zip(names if unique else paths, paths, strict=True))


@contextmanager
def _progress(*, quiet: bool) -> Generator[Callable[[str], None]]:
    """A line on a terminal that says what is being done; nothing elsewhere."""
    shows = not quiet and sys.stderr is not None and sys.stderr.isatty()

    def show(text: str) -> None:
        if shows:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    yield show
    show("")


def _to_mlir(args: Namespace) -> int:
    from tilewright import txn
    from tilewright.lift import to_mlir
    from tilewright.txn.codec import without_unread

    words = txn.encode(_decoded(args.file, args.section))
    text = to_mlir(without_unread(words) if args.zero_unused else words)
    if args.json:
        print(json.dumps({"sequence": "lifted", "mlir": text}))
        if args.output == "-":
            return 0
    write_text(args.output, text)
    return 0
