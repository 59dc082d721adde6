"""Touching the disk: order of numbered files, links, things that are not files."""

from __future__ import annotations

from pathlib import Path

import pytest

from marey.errors import InputError
from marey.io._files import atomic_write, atomic_write_folder, numbered_files


def test_numbered_files_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("a10.png", "a9.png", "²1.png", "a010b.png"):
        (tmp_path / name).touch()
    names = [file.name for file in numbered_files(tmp_path, (".png",))]
    assert names == ["a9.png", "a10.png", "a010b.png", "²1.png"]


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.txt").symlink_to("there/file.txt")
    with atomic_write(tmp_path / "link.txt") as draft:
        draft.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "there" / "file.txt").read_text() == "new"
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder").symlink_to("empty")
    with atomic_write_folder(tmp_path / "folder") as draft:
        (draft / "file.txt").write_text("newer")
    assert (tmp_path / "folder").is_symlink()
    assert (tmp_path / "empty" / "file.txt").read_text() == "newer"


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lost.txt").symlink_to("absent/file.txt")
    (tmp_path / "loop.txt").symlink_to("loop.txt")
    for name in ("lost.txt", "loop.txt"):
        with pytest.raises(InputError, match="cannot be written"), atomic_write(tmp_path / name) as draft:
            draft.write_text("x")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["loop.txt", "lost.txt"]
