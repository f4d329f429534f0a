"""Kernels that programs ask for by sizes and types: each is one that the simulator has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import tilewright.iron as iron
from tilewright.iron import kernels
from tilewright.iron.builders.module import mlir_mod_ctx
from tilewright.iron.builders.types import convert_type
from tilewright.iron.device import from_name
from tilewright.iron.kernel import ExternalFunction
from tilewright.iron.kernels.library import LibraryFunction, array, library_function
from tilewright.iron.resolvable import resolving
from tilewright.kernels.registry import definitions


@pytest.fixture(params=["npu1", "npu2"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    iron.set_current_device(from_name(request.param))
    yield request.param
    iron.set_current_device(None)


FACTORIES = [getattr(kernels, name) for name in kernels.__all__ if not name.endswith("_ref")]


@pytest.mark.parametrize("factory", FACTORIES, ids=lambda factory: factory.__name__)
def test_the_library_has_what_is_asked_for(factory: Callable[[], LibraryFunction], device: str) -> None:
    function = factory()
    names = [part.name for part in (function, getattr(function, "zero", None)) if part is not None]
    for name in names:
        assert definitions(name), name
    types = [convert_type(type) for type in function.arg_types()]
    counts = {len(definition.parameters) for definition in definitions(function.name)}
    assert counts == {len(types)}


def test_blocks_are_those_of_the_device() -> None:
    wanted = {"npu1": (4, 8, 4), "npu2": (4, 8, 8)}
    for name, dims in wanted.items():
        iron.set_current_device(from_name(name))
        assert kernels.mm(input_dtype=bfloat16, output_dtype=np.float32).mac_dims == dims
    emulated = kernels.mm(input_dtype=bfloat16, output_dtype=np.float32, emulate_bf16_mmul_with_bfp16=True)
    assert emulated.mac_dims == (8, 8, 8) and emulated.zero.name == "zero_f32"
    iron.set_current_device(None)


@pytest.mark.parametrize(
    "make, complaint",
    [
        (lambda: kernels.add(tile_size=512), "add() tile_size must be 1024 to match the hard-coded C++ loop bound"),
        (lambda: kernels.scale(dtype=np.int8), "scale() dtype must be np.int16 or np.int32"),
        (lambda: kernels.passthrough(dtype=np.float32), "passthrough: unsupported dtype"),
        (lambda: kernels.mm(input_dtype=np.float32), "mm(): unsupported (input_dtype, output_dtype)"),
        (lambda: kernels.conv2dk1(act_dtype=np.int16), "conv2dk1(): act_dtype must be np.int8 or np.uint8"),
    ],
)
def test_refusals_name_the_line(make: Callable[[], Any], complaint: str) -> None:
    with pytest.raises(iron.UsageError) as error:
        make()
    assert complaint in str(error.value) and __file__ in str(error.value)


def test_two_forms_of_a_kernel_have_different_names() -> None:
    narrow, wide = kernels.passthrough(64, np.uint8), kernels.passthrough(64, np.int32)
    with resolving(), mlir_mod_ctx() as ctx:
        for function in (narrow, wide, kernels.passthrough(64, np.int32)):
            function.resolve()
        assert narrow.symbol == "passThroughLine" and wide.symbol.endswith("_passThroughLine")
        assert definitions(wide.symbol)
    text = str(ctx)
    assert text.count("func.func private") == 2 and '"-DBIT_WIDTH=8"' in text


def test_names_of_a_program_do_not_depend_on_programs_before() -> None:
    def declared(*functions: Any) -> str:
        with resolving(), mlir_mod_ctx() as ctx:
            for function in functions:
                function.resolve()
        return str(ctx)

    narrow, wide = kernels.passthrough(64, np.uint8), kernels.passthrough(64, np.int32)
    alone = declared(wide)
    declared(narrow, wide)
    assert declared(wide) == alone and "@passThroughLine" in alone


def test_the_same_parameters_give_the_same_object() -> None:
    forms = [{}, {"b_col_maj": True}, {"c_col_maj": True}, {"dim_m": 32}, {"use_chess": True}]
    made = [kernels.mm(**form) for form in forms]
    assert [kernels.mm(**form) for form in forms] == made
    assert all(kernels.mm(**form) is function for form, function in zip(forms, made, strict=True))
    assert len({function.object_file_name for function in made}) == len(forms)


def test_parameters_are_the_same_by_place_and_by_name() -> None:
    types = [array(8, np.int32)]
    first = library_function("twice", "aie_kernels/aie2/a.cc", types, ["-DN=8"])
    assert library_function(flags=("-DN=8",), arg_types=types, source="aie_kernels/aie2/a.cc", name="twice") is first
    others = [
        library_function("twice", "aie_kernels/aie2p/a.cc", types, ["-DN=8"]),
        library_function("twice", "aie_kernels/aie2/a.cc", types, ["-DN=4"]),
        library_function("twice", "aie_kernels/aie2/a.cc", [*types, np.int32], ["-DN=8"]),
    ]
    assert len({id(function) for function in (first, *others)}) == 4


def test_one_object_for_all_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: kernels.mm(dim_m=24, dim_k=40), range(64)))
    assert len({id(function) for function in made}) == 1


def _scale(source: str) -> ExternalFunction:
    return ExternalFunction("times", source_string=source, arg_types=[np.int32])


def test_one_name_has_one_source_in_a_program() -> None:
    first, same, second = _scale("// one"), _scale("// one"), _scale("// two")
    with resolving(), mlir_mod_ctx():
        first.resolve()
        same.resolve()
        with pytest.raises(iron.UsageError, match="two kernels are called 'times' and have different sources or flags"):
            second.resolve()
