"""TRC markers: names, gaps, units, axes, and damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.errors import FormatError
from marey.geometry.convention import Convention

HEAD = "PathFileType\t4\t(X/Y/Z)\tC:\\a.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n"
NAMES = "Frame#\tTime\thead\t\t\ttoe\t\t\ttoe\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3\n\n"
ROWS = "1\t0.00\t100\t200\t1700\t50\t220\t0\t50\t0\t10\n2\t0.01\t100\t200\t1700\t\t\t\t50\t0\t10\n"


def written(folder: Path, *, facts: str = "100.00\t100.00\t2\t3\tmm\n", rows: str = ROWS) -> Path:
    path = folder / "a.trc"
    path.write_text(HEAD + facts + NAMES + rows)
    return path


def test_markers_come_in_metres_and_y_up_with_gaps(tmp_path: Path) -> None:
    markers = marey.load(written(tmp_path))
    assert (markers.names, markers.frame_rate) == (("head", "toe", "toe_2"), 100)
    assert markers.convention == Convention(0.001, "z")
    np.testing.assert_allclose(markers.positions[0, 0], [0.1, 1.7, -0.2])
    assert markers.present.tolist() == [[True] * 3, [True, False, True]]
    assert marey.load(written(tmp_path), unit="m", up="y").positions[0, 0].tolist() == [100, 200, 1700]


def test_rows_that_end_early_lack_their_last_markers(tmp_path: Path) -> None:
    rows = ROWS + "3\t0.02\t100\t200\t1700\n"
    assert marey.load(written(tmp_path, rows=rows)).present[2].tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PathFileType", "Path", "does not begin with PathFileType"),
        ("100.00\t100.00", "fast\t100.00", "a.trc:3: its DataRate is 'fast'"),
        ("1700", "tall", "a.trc:7: could not convert"),
        ("head\t\t\ttoe\t\t\ttoe", "", "holds no markers"),
        (ROWS, "", "holds no frame"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(FormatError, match=message):
        marey.load(path)


def test_markers_are_written_as_a_table_of_trackers(tmp_path: Path) -> None:
    markers = marey.load(written(tmp_path))
    marey.save(markers, tmp_path / "a.csv")
    table = marey.load(tmp_path / "a.csv")
    assert (table.names, table.frame_rate) == (markers.names, 100)
    np.testing.assert_allclose(table.positions, markers.positions, atol=1e-9)
