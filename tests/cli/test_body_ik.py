"""`marey body ik` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marey
from tests.cli.test_body_fit import refused, run


def result(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    code, out, err = run(capsys, *words, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ik") / "walk.bvh"
    marey.save(marey.samples.walk(seconds=2, frame_rate=60), path)
    return path


def hand(path: Path, frame: int) -> np.ndarray:
    motion = marey.load(path)
    return motion.positions()[frame, motion.skeleton.index("LeftHand")]


def test_a_hand_reaches_a_place_and_the_result_says_how_well(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pose.bvh"
    goal = hand(walk, 60) + np.array([0.02, 0.05, 0.05])
    found = result(
        capsys,
        "body",
        "ik",
        walk,
        "-o",
        out,
        "--reach",
        "LeftHand=" + ",".join(map(str, goal)),
        "--pin",
        "RightFoot",
        "--at",
        1,
    )
    assert {"residual_cm", "milliseconds", "modes", "targets"} <= set(found)
    assert found["modes"] == 15 and found["frames"] == 1
    assert [t["target"] for t in found["targets"]] == ["reach LeftHand", "pin RightFoot"]
    miss = 100 * np.linalg.norm(hand(out, 0) - goal)
    assert miss == pytest.approx(found["targets"][0]["cm"], abs=0.01) and miss < 3


def test_the_whole_skeleton_meets_it_exactly_and_a_model_of_a_file_works(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    model = tmp_path / "walk.mry"
    marey.save(marey.body.PoseModel.fit([marey.load(walk)], modes=6), model)
    goal = "LeftHand=0.1,0.3,0.2"
    full = result(capsys, "body", "ik", walk, "-o", tmp_path / "a.bvh", "--move", goal, "--no-model")
    assert full["residual_cm"] < 0.1
    inside = result(capsys, "body", "ik", walk, "-o", tmp_path / "b.glb", "--move", goal, "--model", model)
    assert inside["modes"] == 6
    exact = result(
        capsys, "body", "ik", walk, "-o", tmp_path / "c.mry", "--move", goal, "--model", model, "--refine"
    )
    assert exact["residual_cm"] < 0.1


def test_a_clip_is_edited_around_a_moment_or_over_a_range(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    before = marey.load(walk)
    out = tmp_path / "blend.bvh"
    blend = result(
        capsys,
        "body",
        "ik",
        walk,
        "-o",
        out,
        "--move",
        "LeftHand=0,0.1,0",
        "--at",
        1,
        "--blend",
        0.3,
        "--no-model",
    )
    assert blend["frames"] == before.frames
    after = marey.load(out)
    np.testing.assert_allclose(after.positions()[0], before.positions()[0], atol=1e-4)
    assert np.linalg.norm(hand(out, 60) - hand(walk, 60) - [0, 0.1, 0]) < 0.005
    out = tmp_path / "range.bvh"
    held = result(
        capsys,
        "body",
        "ik",
        walk,
        "-o",
        out,
        "--move",
        "LeftHand=0,0.1,0",
        "--range",
        "0.5:1.5",
        "--no-model",
    )
    assert held["frames"] == before.frames and held["residual_cm"] < 1
    assert np.linalg.norm(hand(out, 60) - hand(walk, 60) - [0, 0.1, 0]) < 0.01


def test_missed_targets_are_notes_not_errors(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    code, _, err = run(
        capsys, "body", "ik", walk, "-o", tmp_path / "p.bvh", "--reach", "LeftHand=9,9,9", "--fixed-root"
    )
    assert code == 0 and "reach LeftHand is missed by" in err
    assert (tmp_path / "p.bvh").exists()


def test_looking_turning_standing_and_pictures(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    out = tmp_path / "p.png"
    found = result(
        capsys, "body", "ik", walk, "-o", out, "--look-at", "Head=2,1.5,3", "--orient", "LeftHand=1,0,0,0",
        "--above", "LeftToeBase=0.05", "--no-model", "--damping", "kinetic",
    )  # fmt: skip
    assert out.read_bytes()[1:4] == b"PNG"
    assert found["targets"][0]["degrees"] < 5


def test_a_short_clip_has_no_model_of_its_own(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    short = tmp_path / "short.bvh"
    marey.save(marey.load(walk)[:5], short)
    code, _, err = run(
        capsys, "body", "ik", short, "-o", tmp_path / "p.bvh", "--move", "LeftHand=0,0.1,0", "--raw"
    )
    assert code == 0 and "too short to learn poses from" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--reach", "LeftHnd=0,0,0"], "did you mean LeftHand"),
        (["--reach", "LeftHand=0,0"], "write it as JOINT=X,Y,Z"),
        (["--reach", "LeftHand=0,0,nan"], "write it as JOINT=X,Y,Z"),
        (["--orient", "Head=0,0,0,0"], "four zeros"),
        ([], "nothing to do"),
        (["--pin", "LeftFoot"], "nothing to do"),
        (["--move", "LeftHand=0,0,0", "--at", "99"], "the clip goes from 0 to"),
        (["--move", "LeftHand=0,0,0", "--range", "5"], "write it as A:B in seconds"),
        (["--move", "LeftHand=0,0,0", "--range", "0:1", "--at", "1"], "for one moment"),
        (["--move", "LeftHand=0,0,0", "--damping", "wet"], "--damping wet"),
        (["--move", "LeftHand=0,0,0", "--tolerance", "0"], "--tolerance 0"),
        (["--move", "LeftHand=0,0,0", "--blend", "-1"], "--blend -1"),
        (["--move", "LeftHand=0,0,0", "--model", "none.mry"], "no such file"),
    ],
)
def test_mistakes_are_told_in_one_line(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    out = tmp_path / "p.bvh"
    assert message in refused(capsys, "body", "ik", walk, "-o", out, "--raw", *options)
    assert not out.exists()


def test_what_is_no_clip_and_what_is_no_model_are_told(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    assert "holds a Motion, not a pose model" in refused(
        capsys, "body", "ik", walk, "-o", tmp_path / "p.bvh", "--raw", "--move", "Head=0,0,0", "--model", walk
    )
    assert "write a clip" in refused(
        capsys, "body", "ik", walk, "-o", tmp_path / "p.csv", "--move", "Head=0,0,0"
    )


def test_a_compressed_clip_is_edited_and_stays_compressed(
    capsys: pytest.CaptureFixture[str], walk: Path, tmp_path: Path
) -> None:
    small, edited = tmp_path / "small.mry", tmp_path / "edited.mry"
    marey.save(marey.body.compress(marey.load(walk), max_error=0.02), small)
    move = ("--move", "LeftHand=0,0.1,0", "--at", "1", "--blend", "0.4")
    found = result(capsys, "body", "ik", small, "-o", edited, *move)
    assert found["frames"] == marey.load(walk).frames
    assert edited.stat().st_size < 2 * small.stat().st_size
    assert hand(edited, 60)[1] - hand(walk, 60)[1] > 0.07
    assert np.abs(hand(edited, 10) - hand(walk, 10)).max() < 0.04
