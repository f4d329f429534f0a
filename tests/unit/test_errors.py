"""All errors for users stand under one base, beside each other, and travel between processes."""

from __future__ import annotations

import inspect
import multiprocessing
import pickle
import pkgutil
import re
from importlib import import_module
from itertools import permutations

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

import tilewright as tw
from tilewright.errors import UnknownNameError
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.sim.faults import FaultKind
from tilewright.sim.runs import Interrupted, Stopped

AT = FileLineColLoc(StringAttr("design.mlir"), IntAttr(3), IntAttr(7))
LINE = Diagnostic(Severity.ERROR, "it is wrong", AT)
RAISED = [
    tw.CompileError([LINE]),
    tw.RangeError("%n does not fit", {"n": 300}, AT),
    tw.Hang("nothing moves", AT, [(AT, "it waits")]),
    tw.Fault("a push is dropped", AT, kind=FaultKind.DROPPED_PUSH),
    Stopped(LINE),
    tw.txn.TxnError(8, "no such opcode"),
    tw.ArgumentError("n is 'many'"),
    UnknownNameError("no sequence 'seq'; there is main"),
]
BESIDE = [tw.CompileError, tw.RangeError, tw.Hang, tw.Fault, tw.Stopped, tw.txn.TxnError, tw.ArgumentError]


@pytest.mark.parametrize("one, other", [*permutations(BESIDE, 2)])
def test_none_is_caught_as_another(one: type[tw.Error], other: type[tw.Error]):
    assert not issubclass(one, other)


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_they_have_one_base(error: tw.Error):
    assert isinstance(error, tw.Error)


@pytest.mark.parametrize("kind", [tw.RangeError, tw.txn.TxnError, tw.ArgumentError])
def test_wrong_values_are_value_errors(kind: type[tw.Error]):
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize("error", [*RAISED, Interrupted(LINE)], ids=lambda error: type(error).__name__)
def test_they_pickle(error: BaseException):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy).keys() == vars(error).keys()


def test_names_are_not_quoted_twice():
    assert str(UnknownNameError("no sequence 'seq'")) == "no sequence 'seq'"


def test_an_interrupt_is_not_an_error():
    assert issubclass(tw.Interrupted, KeyboardInterrupt)
    assert not issubclass(tw.Interrupted, tw.Error)


def raise_number(number: int) -> None:
    raise RAISED[number]


def test_they_cross_a_pool_of_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for number, error in enumerate(RAISED):
            with pytest.raises(type(error), match=re.escape(str(error))):
                pool.apply(raise_number, (number,))


INTERNAL = {"Uncuttable", "NoRoom", "Unreachable", "Congested", "NoSelect", "Bottleneck", "Undecided", "NotCompilable"}
INTERNAL |= {
    "Untranslatable",
    "Trapped",
    "Stop",
    "Unsupported",
    "Stuck",
    "Exited",
    "RankLost",
    "Refused",
    "Unrecognised",
}
INTERNAL |= {
    "NotInNumPy",
    "Obstacle",
    "TooManyPieces",
    "_NotOurs",
    "_Pruned",
    "SyntaxFault",
    "VerifyError",
    "Interrupted",
    "_Undecided",
    "UndefinedResult",
    "KernelFault",
    "CSVLoggerError",
    "NotDivided",
}
"""What is caught before it reaches a user, or is somebody else's kind."""


def test_what_else_is_raised_is_internal():
    """A class of errors is a `tw.Error`, or is named above."""
    found = set[str]()
    for module in pkgutil.walk_packages(tw.__path__, "tilewright."):
        if ".bundle" in module.name or module.name.endswith("__main__"):
            continue
        for name, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            is_ours = kind.__module__ == module.name and issubclass(kind, BaseException)
            if is_ours and not issubclass(kind, (tw.Error, Warning)):
                found.add(name)
    assert found <= INTERNAL
