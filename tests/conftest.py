"""Settings for all tests, and the modules beside this one for them to import."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Properties are judged by what they compute, not by how long a busy machine takes for it.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


# A shell lets what it starts in the background ignore interrupts; what tests start to interrupt it would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

WITHOUT_LLVM = "TILEWRIGHT_TEST_WITHOUT_LLVM"
"""In the environment, so that processes which tests start are without it too."""
ABOUT_NATIVE_CODE = ("unit/native", "unit/sim/fast")
"""Folders whose subject is native code: without LLVM there is nothing that they could test. Elsewhere such tests have
the mark `llvm`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-llvm", action="store_true", help="no import of llvmlite: programs run in Python")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "llvm: about native code; left out with --without-llvm")
    if config.getoption("--without-llvm"):
        os.environ[WITHOUT_LLVM] = "1"
    if os.environ.get(WITHOUT_LLVM):
        # As if it were not installed.
        sys.modules["llvmlite"] = None  # pyright: ignore[reportArgumentType]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Modules of these folders cannot even be imported; None leaves it to others to say."""
    is_native = any(collection_path.is_relative_to(Path(__file__).parent / each) for each in ABOUT_NATIVE_CODE)
    return True if is_native and os.environ.get(WITHOUT_LLVM) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get(WITHOUT_LLVM):
        native = [item for item in items if item.get_closest_marker("llvm")]
        config.hook.pytest_deselected(items=native)
        items[:] = [item for item in items if item not in native]
