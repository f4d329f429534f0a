"""New symbols get names that no other symbol has."""

from hypothesis import given
from hypothesis import strategies as st

from tilewright.ir.symbols import FreeNames


def test_a_name_that_is_free_stays_as_it_is():
    assert FreeNames({"other"}).like("lock") == "lock"


def test_numbers_go_on_from_the_last_one():
    names = FreeNames({"lock", "lock_1"})
    assert [names.like("lock") for _ in range(3)] == ["lock_0", "lock_2", "lock_3"]
    assert [names.numbered("lock_") for _ in range(2)] == ["lock_4", "lock_5"]


@given(st.sets(st.text("ab_01", max_size=4)), st.lists(st.text("ab_01", max_size=4)))
def test_no_name_is_given_twice(taken: set[str], wanted: list[str]):
    before, names = set(taken), FreeNames(taken)
    given_names = [names.like(name) for name in wanted]
    assert len({*given_names}) == len(given_names)
    assert before.isdisjoint(given_names)
