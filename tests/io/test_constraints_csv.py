"""Tables of paths, key poses and directions: read as meant, refused with file and line otherwise."""

from __future__ import annotations

import contextlib
import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.errors import FormatError
from marey.io.constraints_csv import read_directions, read_key_poses, read_path, write_provenance
from marey.surface import Library
from marey.surface.synthesis.animation import Animation, Provenance


def library() -> Library:
    walk = marey.samples.mesh_sequence()
    return Library((walk[:10], walk[10:30].renamed("other")))


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "text", ["x,z\n0,0\n0,3\n", "0,0\n0,3\n", "\ufeffX, Z\n0,0\n\n0,3\n", "z,x\n0,0\n3,0\n"]
)
def test_a_path_is_read_with_or_without_names_of_columns(tmp_path: Path, text: str) -> None:
    curve = read_path(table(tmp_path, text))
    assert not curve.spatial
    np.testing.assert_allclose(curve.points[-1], [0, 0, 3])


def test_three_columns_are_a_path_in_space(tmp_path: Path) -> None:
    curve = read_path(table(tmp_path, "0,1,0\n0,1,3\n"))
    assert curve.spatial and curve.points[0, 1] == 1


def test_labels_hold_to_the_next_row_and_equal_ones_are_joined(tmp_path: Path) -> None:
    curve = read_path(table(tmp_path, "x,z,label\n0,0,walk\n0,1,walk\n0,3,\n0,4,run\n0,6,\n"))
    assert [(b.labels, b.start, b.stop) for b in curve.behaviours] == [(("walk",), 0, 3), (("run",), 4, 6)]


def test_key_poses_are_frames_of_sequences(tmp_path: Path) -> None:
    frames, times = read_key_poses(table(tmp_path, "pose,time\nwalk:3,0\nother:-1,1.5\n12,2\n"), library())
    assert frames == [3, 29, 12] and times.tolist() == [0, 1.5, 2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x,z\n0,0\n0,a\n", "table.csv:3: 'a' in column 'z' is not a number"),
        ("x,z\n0,0\n0\n", "table.csv:3: 1 cells for 2 columns"),
        ("x,z\n", "no rows"),
        ("a,b\n0,0\n", "no column 'x'"),
        ("x,z\n0,0\n0,nan\n", "is not a number"),
        ("x,z\n1,1\n1,1\n", "0 m long"),
        ("x,z\n0,0\n0,1e300\n", "point 2"),
        ("x,z\n0,0\n0,1e5\n", "can be followed"),
    ],
)
def test_a_wrong_path_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(FormatError, match=".*") as refused:
        read_path(table(tmp_path, text))
    assert told in str(refused.value)


def test_wrong_poses_and_directions_are_refused_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"table.csv:3: there is no sequence 'run'"):
        read_key_poses(table(tmp_path, "pose,time\nwalk:3,0\nrun:3,1\n"), library())
    with pytest.raises(FormatError, match=r"table.csv:2: 'abc'"):
        read_key_poses(table(tmp_path, "pose,time\nabc,0\n"), library())
    with pytest.raises(FormatError, match=r"table.csv:3: its time"):
        read_directions(table(tmp_path, "time,x,z\n1,0,1\n1,1,0\n"))


@given(st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_no_bytes_whatever_break_the_readers(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "table.csv"
    path.write_bytes(data)
    for read in (read_path, read_directions, lambda p: read_key_poses(p, LIBRARY)):
        with contextlib.suppress(FormatError):
            read(path)


LIBRARY = library()


def test_provenance_names_sequences_and_their_own_frames(tmp_path: Path) -> None:
    made = Animation(
        LIBRARY.sequences[0][:2], Provenance(*map(np.array, ([3, 4], [3, 12], [0, 0.25], [False, True])))
    )
    write_provenance(made, LIBRARY, tmp_path / "origin.csv")
    rows = list(csv.DictReader((tmp_path / "origin.csv").open()))
    assert [row["kind"] for row in rows] == ["captured", "blended"]
    assert (rows[1]["to_sequence"], rows[1]["destination"], rows[1]["share"]) == ("other", "2", "0.25")
