"""`aie` served by us: the same modules, for those who ask, as long as they ask; what is missing says so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from helpers import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

SERVED = """
    aie.iron aie.iron.algorithms aie.iron.buffer aie.iron.compile aie.iron.controlflow aie.iron.dataflow
    aie.iron.dataflow.endpoint aie.iron.device aie.iron.dtype aie.iron.hostruntime aie.iron.kernel
    aie.iron.kernels aie.iron.program aie.iron.resolvable aie.iron.runtime aie.iron.runtime.dmataskhandle
    aie.iron.scratchpad_parameter aie.iron.worker aie.dialects aie.dialects._aie_enum_gen aie.dialects.affine
    aie.dialects.aie aie.dialects.aievec aie.dialects.aiex aie.dialects.arith aie.dialects.func
    aie.dialects.memref aie.dialects.scf aie.dialects.vector aie.extras aie.extras.context
    aie.extras.dialects.memref aie.extras.runtime.passes aie.extras.types aie.extras.util
    aie.helpers.dialects.func aie.helpers.taplib aie.helpers.taplib.utils aie.helpers.util aie.ir
    aie.passmanager aie.utils aie.utils.benchmark aie.utils.compile.cache.utils aie.utils.compile.jit.markers
    aie.utils.compile.utils aie.utils.config aie.utils.hostruntime.argparse aie.utils.hostruntime.cli
    aie.utils.hostruntime.hostruntime aie.utils.hostruntime.tensor_class aie.utils.jit aie.utils.ml
    aie.utils.npukernel aie.utils.regdb aie.utils.test aie.utils.trace.events aie.utils.trace.utils
    aie.utils.verify aie._mlir_libs
    aie.compiler.aiecc.main aie.compiler.txn2mlir.main aie.tools
    aie.utils.hostruntime.xrtruntime.hostruntime aie.utils.hostruntime.xrtruntime.tensor
"""


@pytest.fixture
def as_aie() -> Iterator[ModuleType]:
    """Importing it serves; here it only does as long as a test lasts."""
    found = import_module("tilewright.as_aie")
    found.undo()
    with found.serving():
        yield found
    assert "aie" not in sys.modules


@pytest.mark.parametrize("name", SERVED.split())
def test_a_served_module_is_ours(as_aie: ModuleType, name: str) -> None:
    """The same object, which knows its own name still: classes are the same under both."""
    served, ours = import_module(name), import_module(as_aie.target_of(name))
    assert served is ours and served.__name__.startswith("tilewright.iron")
    assert served.__spec__ is not None and served.__spec__.name == served.__name__


def test_forms_of_imports_agree(as_aie: ModuleType) -> None:
    import aie.iron as iron  # pyright: ignore[reportMissingImports]
    from aie import utils  # pyright: ignore[reportMissingImports]
    from aie.iron import ObjectFifo, kernels  # pyright: ignore[reportMissingImports]
    from aie.iron.kernels import _common  # pyright: ignore[reportMissingImports]

    import tilewright.iron

    assert iron is tilewright.iron and iron.ObjectFifo is ObjectFifo and kernels is iron.kernels
    assert utils is tilewright.iron.utils and _common.__name__ == "tilewright.iron.kernels.library"
    assert sys.modules["aie"].__file__ == tilewright.iron.__file__


@settings(max_examples=30, deadline=None)
@given(st.lists(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), min_size=1, max_size=4))
def test_one_table_says_what_serves_a_name(parts: list[str]) -> None:
    """What is below a name is served by what is below its module."""
    as_aie = import_module("tilewright.as_aie")
    as_aie.undo()
    name = ".".join(["aie", *parts])
    target, below = as_aie.target_of(name), as_aie.target_of(f"{name}.inner")
    assert target.startswith("tilewright.iron") and below == f"{target}.inner"
    assert as_aie.target_of("aie") is None


@pytest.mark.parametrize(
    "line, kind, text",
    [
        ("from aie.iron import Nothing", ImportError, "no 'aie.iron.Nothing'"),
        ("from aie.dialects.aie import nothing", ImportError, "no 'aie.dialects.aie.nothing'"),
        ("import aie.dialects.aie as d; d.nothing", AttributeError, "no 'aie.dialects.aie.nothing'"),
        ("import aie.nothing.at_all", ModuleNotFoundError, "no 'aie.nothing'"),
        ("from aie.utils.hostruntime.hrxruntime.tensor import HRXTensor", ModuleNotFoundError, "needs HRX"),
        ("from aie.execution_engine import ExecutionEngine", ModuleNotFoundError, "mlir-aie's, and tilewright does"),
    ],
)
def test_what_is_missing_says_so_by_name(as_aie: ModuleType, line: str, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        exec(line, {})
    assert type(caught.value) is kind


def test_names_can_be_asked_for(as_aie: ModuleType) -> None:
    from aie.dialects import aie as dialect  # pyright: ignore[reportMissingImports]

    assert not hasattr(dialect, "nothing") and hasattr(dialect, "tile")


def test_undo_leaves_nothing_behind() -> None:
    before = {name: vars(import_module("tilewright.iron")).get(name) for name in ("__getattr__", "__spec__")}
    as_aie = import_module("tilewright.as_aie")
    as_aie.undo()
    path, finders, environment = sys.path[:], sys.meta_path[:], dict(os.environ)
    as_aie.serve()
    import_module("aie.iron")
    assert sys.path != path and dict(os.environ) != environment
    as_aie.undo()
    as_aie.undo()  # a second time has nothing to do
    assert (sys.path, sys.meta_path, dict(os.environ)) == (path, finders, environment)
    assert not [name for name in sys.modules if name == "aie" or name.startswith("aie.")]
    assert {name: vars(import_module("tilewright.iron")).get(name) for name in before} == before


def python(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, [str(ROOT), environment.pop("path", "")]))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **environment, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_nothing_is_served_to_those_who_do_not_ask() -> None:
    done = python("-c", "import tilewright, tilewright.iron.utils, sys; print('aie' in sys.modules); import aie")
    assert done.stdout == "False\n" and "No module named 'aie'" in done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with a package that says that it is mlir-aie."""
    (tmp_path / "aie").mkdir()
    (tmp_path / "aie" / "__init__.py").write_text("whose = 'installed'\n")
    return tmp_path


@pytest.mark.parametrize(
    "choice, code, out",
    [
        ("", "import tilewright.as_aie, aie; print(getattr(aie, 'whose', 'ours'))", "ours\n"),
        ("tilewright", "import tilewright.as_aie, aie; print(getattr(aie, 'whose', 'ours'))", "ours\n"),
        ("installed", "import tilewright.as_aie, aie; print(getattr(aie, 'whose', 'ours'))", "installed\n"),
        ("", "import aie\ntry:\n  import tilewright.as_aie\nexcept ImportError as e: print(e)", "'aie' is already imp"),
        ("mine", "try:\n  import tilewright.as_aie\nexcept ImportError as e: print(e)", "TILEWRIGHT_AIE is 'mine'"),
    ],
)
def test_a_switch_chooses_where_both_are_installed(installed: Path, choice: str, code: str, out: str) -> None:
    assert python("-c", code, path=str(installed), TILEWRIGHT_AIE=choice).stdout.startswith(out)


def test_child_processes_are_served(tmp_path: Path) -> None:
    """Started as commands, and by multiprocessing, which hands its path on and not the environment."""
    program = tmp_path / "parent.py"
    program.write_text(
        "import tilewright.as_aie, multiprocessing, subprocess, sys\n"
        "from aie.helpers.taplib import TensorTiler2D\n"
        "def tell(queue): queue.put(TensorTiler2D.__module__)\n"
        "if __name__ == '__main__':\n"
        "    context = multiprocessing.get_context('spawn')\n"
        "    queue = context.Queue()\n"
        "    child = context.Process(target=tell, args=(queue,))\n"
        "    child.start(); print(queue.get()); child.join()\n"
        "    code = 'import aie.helpers.taplib as t; print(t.TensorTiler2D.__module__)'\n"
        "    print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout)\n"
    )
    done = python(str(program))
    assert done.stdout.split() == ["tilewright.iron.helpers.taplib.tensortiler2d"] * 2, done.stderr


def test_errors_of_served_programs_have_the_words_alone(as_aie: ModuleType) -> None:
    """Programs for mlir-aie compare and print them; the line is in the diagnostics."""
    from tilewright.iron.builders.location import UsageError, usage_error

    error = usage_error("Iter count must be in [1, 256] range.")
    assert isinstance(error, UsageError)
    assert "test_as_aie.py:" in str(error)
    import_module("aie.iron")
    assert str(error) == "Iter count must be in [1, 256] range." and "test_as_aie.py" in str(error.diagnostics[0])


def test_pytest_takes_it_as_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("from aie.iron import Worker\n\ndef test_it():\n    assert Worker\n")
    plugin = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tilewright.as_aie")
    done = python(*plugin, "test_it.py", cwd=tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_no_two_functions_share_an_object_file_by_mistake(as_aie: ModuleType) -> None:
    iron, kernels = import_module("aie.iron"), import_module("aie.iron.kernels")

    def scale(text: str, file: str | None = None) -> Any:
        return iron.ExternalFunction("times", file, source_string=text)

    iron.ExternalFunction.forget_all()
    first, second = scale("// one"), scale("// two")
    assert first.object_file_name == "times.o" and re.fullmatch("times_[0-9a-f]{8}.o", second.object_file_name)
    assert scale("// one", "shared.o") == scale("// one", "shared.o")
    with pytest.raises(ValueError, match="'times' would collide"):
        scale("// two", "shared.o")
    iron.ExternalFunction.forget_all()  # as each design does
    assert scale("// two", "shared.o").object_file_name == "shared.o"

    kernels._common._EXTERN_CACHE.clear()
    kernels.mm(dim_m=16, use_chess=True)
    with pytest.raises(ValueError, match="Chess kernel 'matmul_i16_i16'"):
        kernels.mm(dim_m=8, use_chess=True)


def test_threads_make_functions_of_one_name_with_files_of_their_own(as_aie: ModuleType) -> None:
    iron = import_module("aie.iron")
    iron.ExternalFunction.forget_all()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            texts = [f"// {number}" for number in range(60)]
            made = list(pool.map(lambda text: iron.ExternalFunction("times", source_string=text), texts))
    finally:
        sys.setswitchinterval(before)
    assert len({function.object_file_name for function in made}) == len(texts)
    iron.ExternalFunction.forget_all()


@pytest.mark.parametrize(
    "runtime, text", [("bogus", "Invalid NPU_RUNTIME='bogus'"), ("hrx", "libhrx"), ("xrt", ""), ("auto", "")]
)
def test_the_runtime_that_the_environment_asks_for(runtime: str, text: str) -> None:
    """One that is not here is an error, not another one in its place."""
    done = python("-c", "import tilewright.as_aie, aie.utils; aie.utils.DefaultNPURuntime", NPU_RUNTIME=runtime)
    assert text in done.stderr and bool(text) == bool(done.returncode)
    assert python("-c", "import tilewright.iron.utils", NPU_RUNTIME=runtime).returncode == 0
