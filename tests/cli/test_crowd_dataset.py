"""`marey crowd dataset`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from marey.filming import read_dataset
from tests.cli.commands import call, refused, result

SMALL = ("--size", "64x48", "--people", "8", "--seconds", "0.4")


def test_films_and_truth_of_a_scene_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = result(capsys, "crowd", "dataset", "escape", "-o", tmp_path / "escape", *SMALL)
    assert (told["frames"], told["people"]) == (11, 8)
    assert "above/shaded.mp4" in told["files"]
    assert all((tmp_path / "escape" / name).exists() for name in told["files"])
    assert read_dataset(tmp_path / "escape").manifest["scene"] == "escape"
    facts = result(capsys, "info", tmp_path / "escape")
    assert (facts["kind"], facts["agents"], facts["cameras"]) == ("crowd dataset", 8, "above")


def test_scenes_go_by_number_too_and_panic_is_faster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--scenario", "panic", "--camera", "side", "--shading", "both", "--seed", "4")
    told = result(capsys, "crowd", "dataset", "8", "-o", tmp_path / "panic", *SMALL, *words)
    assert {"side/shaded.mp4", "side/flat.mp4"} <= set(told["files"])
    assert not any(name.startswith("above/") for name in told["files"])
    read = read_dataset(tmp_path / "panic")
    assert read.people["desired_speed"].min() > 1.5 and read.manifest["seed"] == 4


def test_a_scene_of_ones_own_is_filmed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = {
        "size": [8, 5],
        "goals": {"out": {"area": [7, 0, 8, 5]}},
        "groups": [{"people": 3, "start": [0.5, 0.5, 4, 4.5], "goal": "out"}],
        "hold": 0.0,
    }
    (tmp_path / "yard.json").write_text(json.dumps(own))
    words = ("--size", "64x48", "--seconds", "0.4")
    told = result(capsys, "crowd", "dataset", tmp_path / "yard.json", "-o", tmp_path / "yard", *words)
    assert told["people"] == 3


def test_what_cannot_be_done_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = ("crowd", "dataset", "escape", "-o", tmp_path / "x")
    assert "escape" in refused(capsys, "crowd", "dataset", "beach", "-o", tmp_path / "x")
    assert "soft, panic" in refused(capsys, *base, "--scenario", "calm")
    assert "above, side" in refused(capsys, *base, "--camera", "below")
    assert "on, off" in refused(capsys, *base, "--shading", "dim")
    assert "1280x720" in refused(capsys, *base, "--size", "big")
    assert "16 to 4096" in refused(capsys, *base, "--size", "4x4")
    assert "no folder" in refused(capsys, "crowd", "dataset", "escape", "-o", tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_film_and_a_capture_in_which_nobody_moves_are_warned_of(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    still = ("crowd", "dataset", "rotation", "-o", tmp_path / "film", "--people", 20, "--size", "160x120")
    assert call(*still, "--seconds", 1, "--hold", 3) == 0
    assert "no pedestrian moves" in capsys.readouterr().err
    assert call("crowd", "capture", tmp_path / "film" / "above" / "shaded.mp4", tmp_path / "flow.zarr") == 0
    assert "nothing moves" in capsys.readouterr().err
