"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.iron.builders.location import refuse
from tilewright.iron.kernel import Kernel
from tilewright.iron.kernels.library import ELEMENTS, LibraryFunction, array, current_unit, library_function, source_of
from tilewright.kernels.matmul import CASCADED, COMBINATIONS, EMULATED


def mm(
    dim_m: int = 64,
    dim_k: int = 64,
    dim_n: int = 64,
    input_dtype: Any = np.int16,
    output_dtype: Any = np.int16,
    vectorized: bool = True,
    b_col_maj: bool = False,
    c_col_maj: bool = False,
    use_chess: bool = False,
    emulate_bf16_mmul_with_bfp16: bool = False,
) -> LibraryFunction:
    """`matmul_*(a, b, c)`: c += a * b. The vectorized form takes blocks of `mac_dims`; `zero` clears c.

    `b_col_maj` and `c_col_maj` are for matrices that stand column by column. `emulate_bf16_mmul_with_bfp16` multiplies
    bf16 as block floating point, on devices that have it.
    """
    pair = _pair("mm", input_dtype, output_dtype, COMBINATIONS)
    unit = current_unit()
    # asked for where there is no such unit, it has no effect
    emulated = emulate_bf16_mmul_with_bfp16 and unit.native_functions and pair[0] == "bf16"
    flags = [f"-DDIM_M={dim_m}", f"-DDIM_K={dim_k}", f"-DDIM_N={dim_n}", f"-D{'_'.join(pair)}_ONLY"]
    options = {"B_COL_MAJ": b_col_maj, "C_COL_MAJ": c_col_maj, EMULATED: emulated}
    flags += [f"-D{macro}" for macro, wanted in options.items() if wanted]
    kind = "" if vectorized else "scalar_"
    types = _matrices(dim_m, dim_k, dim_n, input_dtype, output_dtype)
    function = library_function(f"matmul_{kind}{'_'.join(pair)}", source_of("mm.cc"), types, flags, use_chess)
    function.mac_dims = (unit.emulated_blocks if emulated else unit.blocks)[pair].dims
    # of the same object file, so that a core links one
    function.zero = Kernel(f"zero_{kind}{pair[1]}", function.object_file_name, [types[2]])
    return function


def mv(
    dim_m: int = 32,
    dim_k: int = 32,
    input_dtype: Any = np.int16,
    output_dtype: Any = np.int32,
    vectorized: bool = True,
    use_chess: bool = False,
) -> LibraryFunction:
    """`matvec_*_i16_i32(a, b, c)`: c += a * b. The vectorized form takes a turned over in words; `zero` clears c."""
    if input_dtype != np.int16 or output_dtype != np.int32:
        refuse(f"mv(): only (np.int16, np.int32) is supported, got ({input_dtype}, {output_dtype})")
    kind = "vectorized" if vectorized else "scalar"
    types = [array(dim_m * dim_k, np.int16), array(dim_k, np.int16), array(dim_m, np.int32)]
    flags = [f"-DDIM_M={dim_m}", f"-DDIM_K={dim_k}"]
    function = library_function(f"matvec_{kind}_i16_i32", source_of("mv.cc", "aie2"), types, flags, use_chess)
    function.zero = Kernel(f"zero_{kind}_i32", function.object_file_name, [types[2]])
    return function


def cascade_mm(
    dim_m: int = 64,
    dim_k: int = 64,
    dim_n: int = 64,
    input_dtype: Any = np.int16,
    output_dtype: Any = np.int16,
    use_chess: bool = False,
) -> LibraryFunction:
    """Products that cores add up along the cascade: `put_only`, then `put_get`s, then `get_only`, which writes c.

    What is given is `get_only`; `zero` clears c.
    """
    pair = _pair("cascade_mm", input_dtype, output_dtype, CASCADED)
    types = _matrices(dim_m, dim_k, dim_n, input_dtype, output_dtype)
    flags = [f"-DDIM_M={dim_m}", f"-DDIM_K={dim_k}", f"-DDIM_N={dim_n}"]
    name = "matmul_scalar_cascade_{}_" + "_".join(pair)
    function = library_function(name.format("get_only"), source_of("cascade_mm.cc", "aie2"), types, flags, use_chess)
    function.get_only = function
    function.put_only = Kernel(name.format("put_only"), function.object_file_name, types)
    function.put_get = Kernel(name.format("put_get"), function.object_file_name, types)
    function.zero = Kernel(f"zero_scalar_{pair[1]}", function.object_file_name, [types[2]])
    function.mac_dims = (1, 1, 1)  # it is scalar: matrices stand row by row
    return function


def _matrices(m: int, k: int, n: int, inputs: Any, output: Any) -> list[Any]:
    return [array(m * k, inputs), array(k * n, inputs), array(m * n, output)]


def _pair(factory: str, inputs: Any, output: Any, known: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    pair = ELEMENTS.get(inputs, "?"), ELEMENTS.get(output, "?")
    if pair not in known:
        refuse(
            f"{factory}(): unsupported (input_dtype, output_dtype) = {(inputs, output)}. "
            f"Supported: {', '.join(f'({a}, {b})' for a, b in known)}"
        )
    return pair
