"""C3D markers: units, absences, axes, and files that would crash the library that reads them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.errors import FormatError, MareyError

ezc3d = pytest.importorskip("ezc3d")


def write(
    path: Path,
    points: np.ndarray,
    *,
    unit: str | float = "mm",
    y_screen: str | None = None,
    rate: float = 100,
) -> Path:
    content = ezc3d.c3d()
    parameters = content["parameters"]["POINT"]
    if isinstance(unit, str):
        parameters["UNITS"]["value"] = [unit]
    else:
        content.add_parameter("POINT", "UNITS", [unit])
    parameters["RATE"]["value"] = [rate]
    parameters["LABELS"]["value"] = ["head", "toe", "toe"][: points.shape[1]]
    content["data"]["points"] = np.concatenate([points.T, np.ones((1, *points.T.shape[1:]))])
    if y_screen is not None:
        content.add_parameter("POINT", "Y_SCREEN", [y_screen])
    content.write(str(path))
    return path


def standing(frames: int = 4) -> np.ndarray:
    """`(frames, 3, 3)` millimetres, z up."""
    points = np.zeros((frames, 3, 3))
    points[:, 0] = [100, 200, 1700]
    points[:, 1] = [50, 220, 0]
    points[:, 2, 0] = np.arange(frames)
    return points


def test_markers_come_in_metres_and_y_up(tmp_path: Path) -> None:
    markers = marey.load(write(tmp_path / "a.c3d", standing()))
    assert markers.names == ("head", "toe", "toe_2")
    assert markers.frame_rate == 100
    np.testing.assert_allclose(markers.positions[0, 0], [0.1, 1.7, -0.2], atol=1e-6)


def test_the_file_or_the_user_says_which_axis_is_up(tmp_path: Path) -> None:
    path = write(tmp_path / "a.c3d", standing(), unit="m", y_screen="+Y")
    np.testing.assert_allclose(marey.load(path).positions[0, 0], [100, 200, 1700], rtol=1e-6)
    np.testing.assert_allclose(
        marey.load(path, up="z", unit="mm").positions[0, 0], [0.1, 1.7, -0.2], rtol=1e-6
    )


def test_numbers_where_words_should_be_are_no_reason_to_fail(tmp_path: Path) -> None:
    markers = marey.load(write(tmp_path / "a.c3d", standing(), unit=7.0))
    np.testing.assert_allclose(markers.positions[0, 0], [0.1, 1.7, -0.2], atol=1e-6)


def test_a_file_without_a_rate_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.c3d", standing(), rate=123)
    rate = np.float32(123).tobytes()
    assert rate in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(rate, bytes(4)))
    with pytest.raises(FormatError, match=r"a\.c3d: (states 0 frames per second|the C3D file is damaged)"):
        marey.load(path)


def test_an_unseen_marker_is_nan(tmp_path: Path) -> None:
    points = standing()
    points[2, 1] = np.nan
    present = marey.load(write(tmp_path / "a.c3d", points)).present
    assert not present[2, 1]
    assert present.sum() == present.size - 1


def test_damage_that_crashes_the_library_is_one_readable_line(tmp_path: Path) -> None:
    good = np.frombuffer(write(tmp_path / "a.c3d", standing()).read_bytes(), np.uint8)
    bad = tmp_path / "bad.c3d"
    refused = 0
    for seed in (0, 6, 9, 13):  # 13 is a segmentation fault in there
        rng = np.random.default_rng(seed)
        mutant = good.copy()
        where = rng.integers(2, 700, size=6)
        mutant[where] = rng.integers(256, size=6)
        bad.write_bytes(mutant.tobytes())
        try:
            marey.load(bad)
        except MareyError as error:
            refused += 1
            assert "bad.c3d" in str(error)
            assert "\n" not in str(error)
    assert refused


def test_what_is_no_c3d_is_refused_at_once(tmp_path: Path) -> None:
    for content in (b"hello world", b"\x02\x50"):
        (tmp_path / "a.c3d").write_bytes(content)
        with pytest.raises(FormatError, match=r"a\.c3d"):
            marey.load(tmp_path / "a.c3d")
    with contextlib.suppress(FileNotFoundError):
        (tmp_path / "a.c3d").unlink()
    with pytest.raises(FormatError, match="no such file"):
        marey.load(tmp_path / "a.c3d")
