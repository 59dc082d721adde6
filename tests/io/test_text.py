"""Words of files: names told apart, pieces shown in errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.io._files import decoded, quoted, unique_names


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "a_2_2", "b", ""]), max_size=12))
def test_names_become_different_and_the_first_of_each_stays(names: list[str]) -> None:
    different = unique_names(names)
    assert len(set(different)) == len(names)
    assert [different[names.index(name)] for name in names] == names


def test_ten_thousand_equal_names_are_told_apart_in_one_go() -> None:
    assert unique_names(["hand"] * 10_000)[-1] == "hand_10000"


def test_any_bytes_can_be_shown_on_one_line() -> None:
    assert quoted(bytes(range(256))).count("\n") == 0
    assert len(quoted("x" * 1000)) == 43
    assert quoted("short") == "'short'"


def test_names_are_utf_8_or_else_latin_1() -> None:
    assert decoded("Fuß".encode()) == decoded("Fuß".encode("latin-1")) == "Fuß"


def test_a_series_is_called_after_its_folder_or_what_its_files_share(tmp_path: Path) -> None:
    fields = marey.FieldSeries(np.zeros((2, 3, 4, 2), dtype=np.float32), 25)
    folder = tmp_path / "street"
    marey.save(fields, folder / "%03d.flo")
    assert marey.load(folder).name == marey.load(folder / "%03d.flo").name == "street"
    marey.save(fields, tmp_path / "crossing_%03d.flo")
    assert marey.load(tmp_path / "crossing_%03d.flo").name == "crossing"
