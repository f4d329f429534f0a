"""What no words can be made of is refused when a design is compiled, not when words are asked for."""

import pytest

import tilewright as tw

PROGRAM = """aie.device(npu1_1col) {{
  %tile = aie.tile(0, 2)
  %rtp = aie.buffer(%tile) {{sym_name = "rtp"}} : memref<16xi32>
  aie.runtime_sequence @s({arguments}) {{
    {body}
  }}
}}"""
WRITE = "aiex.npu.rtp_write(@rtp, 0, %v) : i32"


@pytest.mark.parametrize("type", ["f32", "bf16", "f64", "i0", "i128", "vector<4xi32>", "tensor<4xi32>", "tuple<i32>"])
def test_arguments_are_integers_or_memrefs(type: str) -> None:
    with pytest.raises(tw.CompileError, match=rf"<text>:4:.* argument x of @s is {type}; a sequence takes integers"):
        tw.compile(PROGRAM.format(arguments=f"%a: memref<8xi32>, %x: {type}", body=""))


@pytest.mark.parametrize("type", ["i1", "i8", "i32", "i64", "index", "memref<8xi32>", "memref<?xf32>", "memref<*xi8>"])
def test_other_arguments_are_taken(type: str) -> None:
    assert tw.compile(PROGRAM.format(arguments=f"%x: {type}", body="")).sequences == ["s"]


@pytest.mark.parametrize(
    "arguments, body, culprit",
    [
        pytest.param("%i: i32", f"%v = math.absi %i : i32\n{WRITE}", "math.absi", id="mathematics"),
        pytest.param("%m: memref<4xi32>, %i: index", f"%v = memref.load %m[%i] : memref<4xi32>\n{WRITE}", "memref.load",
                     id="the host's memory"),
        pytest.param("%v: i32", "vector.print %v : i32", "vector.print", id="printing"),
        pytest.param("%v: i1", 'cf.assert %v, "no"', "cf.assert", id="assertions"),
        pytest.param("%v: i32", f"affine.for %i = 0 to 4 {{\n{WRITE}\n}}", "affine.for", id="loops of another dialect"),
        pytest.param("", "%l = aie.lock(%tile, 0)", "aie.lock", id="declarations"),
        pytest.param("%i: i32, %c: i1", f"scf.if %c {{\n%v = math.absi %i : i32\n{WRITE}\n}}", "math.absi",
                     id="inside of branches"),
    ],
)  # fmt: skip
def test_operations_without_words_are_refused(arguments: str, body: str, culprit: str) -> None:
    with pytest.raises(tw.CompileError, match=rf"<text>:\d+:\d+: error: '{culprit}' op has no native translation"):
        tw.compile(PROGRAM.format(arguments=arguments, body=body))


def test_constants_of_the_device_are_seen_by_its_sequences() -> None:
    constant = "%c = arith.constant 3 : i32 %tile = aie.tile(0, 2)"
    body = f"%three = arith.constant 3 : i32\n%v = arith.addi %three, %n : i32\n{WRITE}"
    program = PROGRAM.format(arguments="%n: i32", body=body)
    design, other = tw.compile(program.replace("%tile = aie.tile(0, 2)", constant)), tw.compile(program)
    assert (design.txn(n=4) == other.txn(n=4)).all()
    assert design.cpp() == other.cpp()
