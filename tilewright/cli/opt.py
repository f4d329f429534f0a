"""Read programs, check them, run passes over them and print them."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.cli.files import write_text
from tilewright.cli.opt_arguments import ALL, OptArguments, parse_arguments, print_about
from tilewright.cli.programs import InputPart, read_checked, work_on_parts
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import fail, showing_operations
from tilewright.ir.pass_manager import Pass, Watcher, run_pipeline
from tilewright.ir.printer import Printer, module_text
from tilewright.ir.verifier import operation_text
from tilewright.passes.pipelines import guarded, makes_gpu_kernels


def run_command(argv: list[str]) -> int:
    arguments = parse_arguments(argv)
    if arguments.only_print:
        print_about(arguments.only_print)
        return 0
    if arguments.dump_pipeline:
        print(f"Pass Manager with {len(arguments.pipeline.steps)} passes:\n{arguments.pipeline}\n", file=sys.stderr)
    results, failed = work_on_parts(arguments, partial(_transform, arguments), "")
    # as mlir-opt: what could be transformed is printed, but no file is made of a part
    if arguments.output == "-" or not failed:
        write_text(arguments.output, f"{arguments.output_split_marker}\n".join(results))
    return 1 if failed else 0


def _transform(arguments: OptArguments, part: InputPart) -> str:
    if not makes_gpu_kernels(arguments.pipeline):
        return _transformed(arguments, part)
    from tilewright.dialects.air.levels import for_gpus

    # mlir-air's verifier knows cores alone, and refuses its own tests of these passes
    with for_gpus():
        return _transformed(arguments, part)


def _transformed(arguments: OptArguments, part: InputPart) -> str:
    ctx = make_context(arguments.allow_unregistered)
    # of what the input says, the line is quoted; what passes made is printed instead
    with _notes_on_operations(arguments, by_default=False):
        module = part.read(ctx)
    if arguments.verify_roundtrip:
        _check_roundtrip(ctx, module)
    with _notes_on_operations(arguments, by_default=True):
        run_pipeline(ctx, module, guarded(arguments.pipeline), arguments.verify_each, _watcher(ctx, arguments))
    return _text(ctx, arguments, module)


def _notes_on_operations(arguments: OptArguments, by_default: bool) -> AbstractContextManager[None]:
    wanted = by_default if arguments.op_on_diagnostic is None else arguments.op_on_diagnostic
    return showing_operations(operation_text) if wanted and not arguments.verify_diagnostics else nullcontext()


def _text(ctx: Context, arguments: OptArguments, op: Operation) -> str:
    """What MLIR's tools print: the program and, unless it is printed without aliases, an empty line."""
    if arguments.local_scope:
        text = StringIO()
        Printer(text, print_generic_format=arguments.generic, print_debuginfo=arguments.debug_info).print_op(op)
        return f"{text.getvalue()}\n"
    dialects = list(ctx.loaded_dialects)
    return module_text(op, generic=arguments.generic, debuginfo=arguments.debug_info, dialects=dialects) + "\n"


def _check_roundtrip(ctx: Context, module: ModuleOp) -> None:
    """Print and read the module, in custom and in generic form, and compare what it prints as after that."""
    for generic in (False, True):
        text = module_text(module, generic=generic)
        fresh = make_context(ctx.allow_unregistered)  # in which the names of resources are free
        again = module_text(read_checked(fresh, "<roundtrip>", text), generic=generic)
        if again != text:
            fail(module, f"roundTrip testing roundtripped module differs from reference:\n{text}\n=====\n{again}")


def _watcher(ctx: Context, arguments: OptArguments) -> Watcher | None:
    """What prints the program around passes, if that was asked for."""
    wanted = {"before": arguments.print_before.split(","), "after": arguments.print_after.split(",")}
    if wanted == {"before": [""], "after": [""]}:
        return None

    def show(when: str, step: Pass, op: Operation) -> None:
        if step.name in wanted[when] or ALL in wanted[when]:
            print(
                f"// -----// IR Dump {when.capitalize()} {type(step).__name__} ({step.name}) //----- //",
                file=sys.stderr,
            )
            print(_text(ctx, arguments, op), file=sys.stderr)

    return show
