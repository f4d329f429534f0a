"""Which rank runs an operation, told by the conditions around it."""

from __future__ import annotations

import pytest

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.passes.air.air_gpu_channel_to_cacheline.visits import rank_of


def inferred(sizes: str, body: str) -> int | None:
    """The rank of the operation with the attribute `here`, in a world of ranks `%x`, `%y`."""
    names = ["%x", "%y"][: len(sizes.split(","))]
    space = ", ".join(f"%size_{name[1:]}={size}" for name, size in zip(names, sizes.split(","), strict=True))
    text = f"""func.func @f(%n: index) {{
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      air.rank ({", ".join(names)}) in ({space}) args(%k=%n) : index {{
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %two = arith.constant 2 : index
        {body}
      }}
      return }}"""
    module = parse_source(make_context(), text, "ranks.mlir")
    return rank_of(next(op for op in module.walk() if "here" in op.attributes))


HERE = "%v = arith.addi %one, %one {here} : index"


@pytest.mark.parametrize(
    "sizes, body, rank",
    [
        pytest.param("%c1", HERE, 0, id="alone in the world"),
        pytest.param("%c2", HERE, None, id="all ranks"),
        pytest.param("%c4", f"%c = arith.cmpi eq, %two, %x : index scf.if %c {{ {HERE} }}", 2, id="either order"),
        pytest.param("%c2", f"%c = arith.cmpi eq, %x, %zero : index scf.if %c {{ }} else {{ {HERE} }}", 1, id="else"),
        pytest.param(
            "%c3", f"%c = arith.cmpi eq, %x, %zero : index scf.if %c {{ }} else {{ {HERE} }}", None, id="two left"
        ),
        pytest.param("%c4", f"%c = arith.cmpi ugt, %x, %two : index scf.if %c {{ {HERE} }}", 3, id="the last one"),
        pytest.param(
            "%c4",
            f"""%a = arith.addi %x, %one : index
            %b = arith.remui %a, %two : index
            %c = arith.cmpi eq, %b, %zero : index
            %d = arith.cmpi ult, %x, %two : index
            %e = arith.andi %c, %d : i1
            scf.if %e {{ {HERE} }}""",
            1,
            id="arithmetic",
        ),
        pytest.param(
            "%c2, %c3",
            f"""%c = arith.cmpi eq, %x, %one : index
            %d = arith.cmpi eq, %y, %two : index
            scf.if %c {{ scf.if %d {{ {HERE} }} }}""",
            5,
            id="two dimensions, the first counts fastest",
        ),
        pytest.param("%n", f"%c = arith.cmpi eq, %x, %two : index scf.if %c {{ {HERE} }}", 2, id="world of any size"),
        pytest.param("%n", f"%c = arith.cmpi ne, %x, %two : index scf.if %c {{ }} else {{ {HERE} }}", 2, id="not not"),
        pytest.param("%n", f"%c = arith.cmpi ne, %x, %two : index scf.if %c {{ {HERE} }}", None, id="all but one"),
        pytest.param(
            "%c2", f"%c = arith.cmpi eq, %k, %zero : index scf.if %c {{ {HERE} }}", None, id="another condition"
        ),
        pytest.param(
            "%c2",
            """%c = arith.cmpi eq, %x, %one : index
            air.launch () in () args(%inside=%x) : index {
              %two_ = arith.constant 1 : index
              %d = arith.cmpi eq, %inside, %two_ : index
              scf.if %d { %v = arith.addi %inside, %inside {here} : index }
            }""",
            1,
            id="an id that is passed on",
        ),
    ],
)
def test_rank(sizes: str, body: str, rank: int | None):
    assert inferred(sizes, body) == rank
