"""`marey crowd extend` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from tests.cli.commands import refused, result, run


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("extend") / "swirl.zarr"
    marey.save(marey.samples.field(16, 24, seconds=4), path)
    return path


def test_a_capture_becomes_as_long_as_wanted_and_the_figures_are_told(
    capsys: pytest.CaptureFixture[str], capture: Path, tmp_path: Path
) -> None:
    out, picture = tmp_path / "long.zarr", tmp_path / "jumps.png"
    told = result(capsys, "crowd", "extend", capture, out, "--frames", 700, "--figure", picture)
    long = marey.load(out)
    assert long.frames == told["frames"] == 700 and long.velocities.shape[1:] == (16, 24, 2)
    assert told["bytes"] == sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    assert 50 < told["information"] <= 100 and told["jumps"] > 5 and told["smoothness"] < 1.5
    assert told["seconds"] == pytest.approx(28) and told["scale"] > 0
    np.testing.assert_array_equal(long.velocities[:20], marey.load(capture).velocities[:20])
    assert picture.stat().st_size > 10_000


def test_the_seed_decides_and_other_formats_take_short_series(
    capsys: pytest.CaptureFixture[str], capture: Path, tmp_path: Path
) -> None:
    series = []
    for name, seed in (("a.mry", 1), ("b.mry", 1), ("c.zarr", 2)):
        result(capsys, "crowd", "extend", capture, tmp_path / name, "--frames", 300, "--seed", seed)
        series.append(marey.load(tmp_path / name).velocities)
    np.testing.assert_array_equal(series[0], series[1])
    assert not np.array_equal(series[0], series[2])


def test_fewer_frames_than_there_are_is_a_part_without_jumps(
    capsys: pytest.CaptureFixture[str], capture: Path, tmp_path: Path
) -> None:
    told = result(capsys, "crowd", "extend", capture, tmp_path / "s.zarr", "--frames", 5, "--window", 4)
    assert told["jumps"] == 0 and told["smoothness"] is None and told["window"] == 4


def test_a_flow_that_does_not_come_back_is_told_about(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ramp = np.linspace(0, 1, 60)[:, None, None, None] * np.ones((4, 4, 2))
    source = tmp_path / "ramp.zarr"
    marey.save(marey.FieldSeries(ramp, 25), source)
    words = ("crowd", "extend", source, tmp_path / "o.zarr", "--frames", 300, "--fade", 2)
    code, _, err = run(capsys, *words)
    assert code == 0 and "some jumps show" in err


def test_a_capture_that_mostly_rests_is_told_about(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    flow = marey.samples.field(8, 12, seconds=1).velocities
    source = tmp_path / "rest.zarr"
    marey.save(marey.FieldSeries(np.concatenate([np.zeros((80, 8, 12, 2)), flow]), 25), source)
    code, _, err = run(capsys, "crowd", "extend", source, tmp_path / "o.zarr", "--frames", 300)
    assert code == 0 and "less than 5 % of the captured motion" in err


def test_what_cannot_be_extended_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], capture: Path, tmp_path: Path
) -> None:
    short, walk = tmp_path / "short.zarr", tmp_path / "walk.bvh"
    marey.save(marey.load(capture)[:12], short)
    marey.save(marey.samples.walk(0.2), walk)
    out = tmp_path / "o.zarr"
    for words, message in (
        ((short, out, "--frames", 50), "12 frames are too few"),
        ((capture, out, "--frames", 0), "--frames 0"),
        ((capture, out, "--frames", 50, "--window", 0), "taps"),
        ((capture, out, "--frames", 50, "--fade", -1), "fade"),
        ((capture, out, "--frames", 50, "--seed", -1), "--seed"),
        ((walk, out, "--frames", 50), "not velocity fields"),
        ((tmp_path / "gone.zarr", out, "--frames", 50), "gone.zarr"),
        ((capture, tmp_path / "o.bvh", "--frames", 50), "write velocity fields"),
        ((capture, tmp_path / "no" / "o.zarr", "--frames", 50), "no folder"),
        ((capture, capture, "--frames", 50), "own input"),
        ((capture, tmp_path / "o.mry", "--frames", 50_000_000), "more than memory holds"),
        ((capture, capture / "o.zarr", "--frames", 50), "into its own input"),
        ((capture, out, "--frames", 50, "--figure", tmp_path / "x.jpeg"), "write a figure as"),
    ):
        assert message in refused(capsys, "crowd", "extend", *words)
        assert not out.exists()
