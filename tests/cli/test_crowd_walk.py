"""marey crowd walk: tracks in, walking bodies out, as a user types it."""

from __future__ import annotations

from pathlib import Path

import pytest

import marey
from tests.cli.commands import refused, result

Console = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def tracks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tracks") / "people.csv"
    marey.save(marey.samples.crowd(people=12, seconds=4), path)
    return path


@pytest.mark.parametrize("ending", ["glb", "html"])
def test_bodies_are_written_and_their_feet_measured(
    capsys: Console, tracks: Path, tmp_path: Path, ending: str
) -> None:
    out = tmp_path / f"people.{ending}"
    told = result(capsys, "crowd", "walk", tracks, "-o", out, "--people", 5, "--seconds", 3)
    assert told["people"] <= 5 and 50 <= told["frames"] <= 61
    assert told["bytes"] == out.stat().st_size > 10_000
    assert told["slide_cm_s"] < 2 and told["foot_slide_ratio"] < 1.2
    assert 1.55 <= told["heights"][0] <= told["heights"][1] <= 1.95


def test_walks_of_ones_own_are_used(capsys: Console, tracks: Path, tmp_path: Path) -> None:
    for name, speed in (("slow", 0.8), ("brisk", 1.6)):
        marey.save(marey.samples.walk(seconds=5, speed=speed), tmp_path / f"{name}.bvh")
    walks = ("--walk", tmp_path / "slow.bvh", "--walk", tmp_path / "brisk.bvh")
    told = result(capsys, "crowd", "walk", tracks, "-o", tmp_path / "p.glb", "--people", 4, *walks)
    assert told["people"] == 4 and told["slide_cm_s"] < 2


def test_one_of_the_people_is_written_as_a_clip(capsys: Console, tracks: Path, tmp_path: Path) -> None:
    result(capsys, "crowd", "walk", tracks, "-o", tmp_path / "one.bvh", "--people", 3, "--person", 1)
    one = marey.load(tmp_path / "one.bvh")
    assert one.joints == 18 and one.frame_rate == pytest.approx(20)


def test_what_cannot_be_done_is_said(capsys: Console, tracks: Path, tmp_path: Path) -> None:
    def said(*words: object) -> str:
        return refused(capsys, "crowd", "walk", *words)

    marey.save(marey.samples.walk(seconds=1), tmp_path / "walk.bvh")
    assert "not tracks" in said(tmp_path / "walk.bvh", "-o", tmp_path / "p.glb")
    assert ".glb" in said(tracks, "-o", tmp_path / "p.txt")
    assert "skeleton motion is needed" in said(
        tracks, "-o", tmp_path / "p.glb", "--person", 1, "--walk", tracks
    )
    assert "skeleton motion is needed" in said(tracks, "-o", tmp_path / "p.glb", "--walk", tracks)
    assert "end after" in said(tracks, "-o", tmp_path / "p.glb", "--start", 100)
    assert "at least 1" in said(tracks, "-o", tmp_path / "p.glb", "--people", 0)
    assert "--seconds" in said(tracks, "-o", tmp_path / "p.glb", "--seconds", -1)
    assert not (tmp_path / "p.glb").exists()
