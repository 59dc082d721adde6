"""`marey body reconstruct` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import marey
from marey.body import PoseModel
from marey.body.trackers import Trackers
from marey.io import trackers_csv
from tests.cli.test_body_fit import refused, run


def result(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    code, out, err = run(capsys, *words, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A walk, a model of it, and a table of what trackers on its feet and head saw."""
    folder = tmp_path_factory.mktemp("reconstruct")
    walk = marey.samples.walk(seconds=2, frame_rate=60)
    marey.save(walk, folder / "walk.bvh")
    marey.save(PoseModel.fit([walk], modes=6), folder / "walk.mry")
    seen = Trackers.of_motion(walk, ["LeftToeBase", "RightToeBase", "Head_end"], directions=["Head_end"])
    trackers_csv.write(seen.renamed({"LeftToeBase": "left"}), folder / "seen.csv")
    return folder


@pytest.mark.parametrize("online", [[], ["--online"]])
def test_feet_and_head_of_a_clip_give_the_clip_back(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, online: list[str]
) -> None:
    found = result(
        capsys,
        "body",
        "reconstruct",
        folder / "walk.bvh",
        "-o",
        tmp_path / "b.bvh",
        "--model",
        folder / "walk.mry",
        *online,
    )
    assert found["trackers"] == ["Head_end", "LeftToeBase", "RightToeBase"]
    assert found["error_cm"] < 3 and found["frames"] == 120 and found["missing"] == 0
    assert found["joints"]["Head"] < 2
    assert found["swing"]["LeftHand"]["correlation"] > 0.9
    assert marey.load(tmp_path / "b.bvh").frames == 120


def test_a_table_with_names_mapped_and_a_truth_to_compare(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    found = result(
        capsys, "body", "reconstruct", folder / "seen.csv", "-o", tmp_path / "b.glb",
        "--model", folder / "walk.mry",
        "--map", "left=LeftToeBase", "--truth", folder / "walk.bvh",
    )  # fmt: skip
    assert found["trackers"] == ["LeftToeBase", "RightToeBase", "Head_end"] and found["error_cm"] < 3


def test_without_a_truth_there_is_no_error(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    code, out_text, err = run(
        capsys,
        "body",
        "reconstruct",
        folder / "seen.csv",
        "-o",
        tmp_path / "b.bvh",
        "--model",
        folder / "walk.mry",
        "--json",
    )
    assert code == 0 and "error_cm" not in out_text
    assert "not used, since no joint is called so" in err and "left" in err


def test_chosen_joints_and_directions(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    found = result(
        capsys, "body", "reconstruct", folder / "walk.bvh", "-o", tmp_path / "b.bvh",
        "--model", folder / "walk.mry",
        "--joints", "Head,LeftHand,RightHand,LeftToeBase,RightToeBase", "--directions", "none",
        "--frames", "10:60",
    )  # fmt: skip
    assert found["frames"] == 50 and len(found["trackers"]) == 5 and found["error_cm"] < 3


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("seen.csv", ["--map", "left"], "write it as NAME=VALUE"),
        ("seen.csv", ["--map", "lft=LeftToeBase"], "no tracker 'lft'"),
        ("seen.csv", ["--joints", "Nose"], "no joint 'Nose'"),
        ("seen.csv", ["--from-unit", "cm"], "in metres and y up"),
        ("seen.csv", ["--noise", "-1"], "--noise -1"),
        ("walk.bvh", ["--joints", "Nose"], "no joint 'Nose'"),
        ("walk.bvh", ["--map", "a=Head"], "--map is for markers and tables"),
        ("walk.mry", [], "not a clip, markers"),
        ("none.csv", [], "no such file"),
    ],
)
def test_mistakes_are_told_in_one_line(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    tmp_path: Path,
    source: str,
    options: list[str],
    message: str,
) -> None:
    out = tmp_path / "b.bvh"
    assert message in refused(
        capsys, "body", "reconstruct", folder / source, "-o", out, "--model", folder / "walk.mry", *options
    )
    assert not out.exists()


def test_what_is_no_model_is_told(capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path) -> None:
    assert "not a pose model" in refused(
        capsys,
        "body",
        "reconstruct",
        folder / "walk.bvh",
        "-o",
        tmp_path / "b.bvh",
        "--model",
        folder / "walk.bvh",
    )
