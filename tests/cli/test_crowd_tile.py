"""`marey crowd tile` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd.fields import FieldSeries
from tests.cli.commands import refused, result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    flow = marey.samples.field(16, 24, seconds=2)
    marey.save(flow[:30], tmp_path / "a.zarr")
    marey.save(flow[20:], tmp_path / "b.zarr")
    told = {
        "rows": 20,
        "columns": 50,
        "patches": [{"field": "a.zarr", "at": [0, 2]}, {"field": "b.zarr", "centre": [35, 10], "turn": 90}],
        "walls": [[[8.5, 6.5], [13.5, 6.5], [13.5, 11.5], [8.5, 11.5]]],
    }
    (tmp_path / "place.json").write_text(json.dumps(told))
    return tmp_path


def test_a_file_lays_captures_into_one_environment(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    out, picture = folder / "place.zarr", folder / "layout.png"
    told = result(capsys, "crowd", "tile", folder / "place.json", out, "--figure", picture)
    made = marey.load(out)
    assert made.velocities.shape == (30, 20, 50, 2) and told["frames"] == 30 and told["patches"] == 2
    assert told["wall_pixels"] == 25 and told["gap_pixels"] > 0 and told["through_walls"] < 0.01
    assert told["bytes"] == sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    assert 50 < told["information"] < 100 and picture.stat().st_size > 10_000


def test_two_captures_lie_side_by_side(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    out = folder / "both.zarr"
    told = result(capsys, "crowd", "tile", folder / "a.zarr", folder / "b.zarr", out, "--overlap", 6)
    made, a, b = (marey.load(folder / name).velocities for name in ("both.zarr", "a.zarr", "b.zarr"))
    assert made.shape[1:3] == (16, 42) and told["overlap_pixels"] == 16 * 6
    np.testing.assert_array_equal(made[:30, :, :18], a[:, :, :18])
    np.testing.assert_array_equal(made[:30, :, 24:], b[:30, :, 6:])


def test_two_captures_are_joined_or_blended_in_time(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    a, b, out = folder / "a.zarr", folder / "b.zarr", folder / "time.zarr"
    told = result(capsys, "crowd", "tile", a, b, out, "--blend", "join", "--window", 4)
    assert told["left_at"] + 1 == told["entered_at"] + 20 and told["frames"] == 50
    np.testing.assert_allclose(
        marey.load(out).velocities, marey.samples.field(16, 24, seconds=2).velocities, atol=1e-6
    )
    told = result(capsys, "crowd", "tile", a, b, out, "--blend", "time")
    assert marey.load(out).frames == told["frames"] and 0 < told["information"] <= 100


def test_what_cannot_be_tiled_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    a, b, out, place = (folder / name for name in ("a.zarr", "b.zarr", "o.zarr", "place.json"))
    (folder / "broken.json").write_text('{"rows": 5')
    (folder / "wrong.json").write_text('{"rows": 5, "columns": 5, "patches": [{"field": "a.zarr", "at": 3}]}')
    for words, message in (
        ((out,), "-o OUT"),
        ((a, b, a, out), "one word too many"),
        ((folder / "broken.json", out), "not JSON"),
        ((folder / "wrong.json", out), "patches[0].at: expected a list"),
        ((folder / "gone.json", out), "no such file"),
        ((place, b), "own input"),
        ((a, b, out, "--blend", "mix"), "--blend mix"),
        ((a, b, out, "--overlap", 99), "overlap 99"),
        ((a, b, out, "--blend", "join", "--window", 30), "cannot be joined"),
        ((a, b, out, "--blend", "join", "--window", 0), "taps: at least 1 frame"),
        ((a, b, out, "--blend", "join", "--figure", folder / "x.png"), "in space only"),
        ((a, b, folder / "o.csv"), "write velocity fields"),
    ):
        assert message in refused(capsys, "crowd", "tile", *words)
        assert not out.exists()


def test_captures_of_a_pixel_are_tiled_and_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a, out, picture = tmp_path / "a.zarr", tmp_path / "o.zarr", tmp_path / "layout.png"
    marey.save(FieldSeries(np.ones((3, 1, 1, 2)), 25), a)
    assert result(capsys, "crowd", "tile", a, a, out)["columns"] == 2
    mask = np.zeros((16, 24), np.bool_)
    mask[3, 4] = True
    marey.save(FieldSeries(np.ones((3, 16, 24, 2)), 25, mask, name="$\\foo{$"), a)
    result(capsys, "crowd", "tile", a, a, out, "--figure", picture)
    assert picture.stat().st_size > 5000
