"""`marey body steer`: what it writes, what it tells, what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from tests.cli.commands import refused, result, run


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    marey.save(marey.samples.walk(seconds=3), tmp_path / "walk.bvh")
    return tmp_path / "walk.bvh"


def test_a_hand_reaches_a_point(walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "steered.bvh"
    told = result(capsys, "body", "steer", walk, out, "--reach", "LeftHand@1.5=+0,0.1,-0.05", "--raw")
    assert told["residual_cm"][0] < 0.5
    assert told["peak_acceleration_ratio"] <= 1.5
    before, after = marey.load(walk), marey.load(out)
    hand = before.skeleton.index("LeftHand")
    moved = after.positions()[90, hand] - before.positions()[90, hand]
    assert np.allclose(moved, [0.0, 0.1, -0.05], atol=0.006)


def test_a_place_in_the_world_is_reached(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    motion = marey.load(walk)
    place = motion.positions()[90, motion.skeleton.index("RightHand")] + [0.05, 0.05, 0.05]
    text = ",".join(f"{value:.4f}" for value in place)
    out = tmp_path / "steered.bvh"
    told = result(capsys, "body", "steer", walk, out, "--reach", f"RightHand@1.5={text}", "--raw")
    assert told["residual_cm"][0] < 0.5
    assert np.allclose(marey.load(out).positions()[90, motion.skeleton.index("RightHand")], place, atol=0.006)


def test_a_target_out_of_reach_is_told_and_written_all_the_same(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "far.bvh"
    code, _, err = run(capsys, "body", "steer", walk, out, "--reach", "LeftHand@1=+0,5,0")
    assert code == 0 and out.exists()
    assert "LeftHand at 1 s: target out of reach, missed by" in err


def test_the_published_interval_and_processes_are_an_option(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["body", "steer", walk, tmp_path / "out.bvh", "--reach", "LeftHand@1.5=+0,0.05,0.05", "--raw"]
    told = result(capsys, *line, "--method", "gp", "--interval", "published", "--seed", 3)
    motion = marey.load(walk)
    asked = [marey.body.TimedReach("LeftHand", 1.5, [0.0, 0.05, 0.05], relative=True)]
    same = marey.body.steer(motion, asked, method="gp", interval="published", rng=3)
    assert told["intervals"] == [[a / 60, b / 60] for a, b in same.intervals]
    saved = marey.load(tmp_path / "out.bvh").positions()
    assert np.abs(saved - same.motion.positions()).max() < 1e-4
    assert "--method gp" in refused(capsys, *line, "--interval", "published")
    assert "published" in refused(capsys, *line, "--interval", "often")


def test_the_clip_is_repeated_with_a_target_each_time(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, picture = tmp_path / "twice.bvh", tmp_path / "twice.png"
    told = result(
        capsys, "body", "steer", walk, out, "--reach", "LeftHand@1.5=+0,0.1,0/+0.1,0,0", "--turn", "20",
        "--figure", picture, "--raw",
    )  # fmt: skip
    assert len(told["residual_cm"]) == 2 and max(told["residual_cm"]) < 0.5
    assert len(told["starts"]) == 2 and len(told["transitions"]) == 1
    assert marey.load(out).frames == told["frames"] > 200
    assert picture.read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing to do"),
        (["--reach", "LeftHand=0,1,0"], "JOINT@TIME"),
        (["--reach", "LeftHand@1=0,1"], "JOINT@TIME"),
        (["--reach", "LeftHand@x=0,1,2"], "JOINT@TIME"),
        (["--reach", "LeftHand@99=0,1,0"], "from 0 to"),
        (["--reach", "Tail@1=0,1,0"], "Tail"),
        (["--reach", "LeftHand@1=0,1,0", "--method", "guess"], "displace"),
        (["--reach", "LeftHand@1=0,1,0", "--turn", "10"], "repeated"),
        (["--reach", "LeftHand@1=0,1,0/0,1,0", "--repeat", "3"], "different numbers"),
        (["--repeat", "2", "--turn", "10,x"], "write numbers"),
        (["--repeat", "0"], "from 1 to 1000"),
        (["--repeat", "1000000000"], "from 1 to 1000"),
        (["--repeat", "2", "--transition", "1e9"], "at most 60"),
        (["--reach", "LeftHand@1=0,1,0", "--method", "guess"], "joint"),
        (["--repeat", "2", "--interval", "1"], "not repeated"),
        (["--repeat", "2", "--figure", "x.gif"], ".png"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    out = tmp_path / "out.bvh"
    assert told in refused(capsys, "body", "steer", walk, out, "--raw", *words)
    assert not out.exists()
