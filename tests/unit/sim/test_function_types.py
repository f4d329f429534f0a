"""The types of functions, as their sources spell them."""

from __future__ import annotations

import pytest

from tilewright.sim.c_signature import function_type

TEMPLATE = "template <typename T, int N>\nvoid scale(T *in, int32_t n) { use(in); }\n"
PLAIN = 'extern "C" {\nvoid scale(int8 *restrict in, int32_t n = 4) { scale<int8, 16>(in, n); }\n}\n'


@pytest.mark.parametrize(
    "source, wanted",
    [
        pytest.param(PLAIN, "void (*)(int8 *restrict in, int32_t n)", id="without defaults"),
        pytest.param(TEMPLATE + PLAIN, "void (*)(int8 *restrict in, int32_t n)", id="templates are others"),
        pytest.param(f"#ifdef X\n{PLAIN}#endif\n", "void (*)(int8 *restrict in, int32_t n)", id="after a directive"),
        pytest.param("static inline float *scale(int a) { return 0; }", "float * (*)(int a)", id="a pointer"),
        pytest.param(f"/* {PLAIN} */", None, id="a comment"),
        pytest.param("void other() { scale(1); }", None, id="a call"),
        pytest.param(PLAIN + "void scale(float *in) {}", None, id="two of them"),
    ],
)
def test_the_type_of_a_function(source: str, wanted: str | None):
    assert function_type(source, "scale") == wanted
