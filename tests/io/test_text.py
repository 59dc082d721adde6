"""Words of files: names told apart, pieces shown in errors."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from marey.io._text import all_different, decoded, shown


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "a_2_2", "b", ""]), max_size=12))
def test_names_become_different_and_the_first_of_each_stays(names: list[str]) -> None:
    different = all_different(names)
    assert len(set(different)) == len(names)
    assert [different[names.index(name)] for name in names] == names


def test_ten_thousand_equal_names_are_told_apart_in_one_go() -> None:
    assert all_different(["hand"] * 10_000)[-1] == "hand_10000"


def test_any_bytes_can_be_shown_on_one_line() -> None:
    assert shown(bytes(range(256))).count("\n") == 0
    assert len(shown("x" * 1000)) == 43
    assert shown("short") == "'short'"


def test_names_are_utf_8_or_else_latin_1() -> None:
    assert decoded("Fuß".encode()) == decoded("Fuß".encode("latin-1")) == "Fuß"
