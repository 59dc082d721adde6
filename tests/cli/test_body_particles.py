"""`marey body particles` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body import PoseModel
from tests.cli.commands import refused, result

QUICK = ("--particles", 80, "--steps", 25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("particles")
    walk = marey.samples.walk(seconds=2, frame_rate=30)
    marey.save(walk, folder / "walk.bvh")
    marey.save(PoseModel.fit([walk], modes=6), folder / "walk.mry")
    return folder


def test_a_hand_reaches_while_the_feet_stand(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "reach.bvh"
    words = (
        "body",
        "particles",
        folder / "walk.bvh",
        out,
        "--move",
        "LeftHand=0.1,0.3,0.2",
        "--floor",
        "--polish",
    )
    found = result(capsys, *words, *QUICK)
    assert found["error_cm"] < 0.1 and found["foot_drift_cm"] < 1
    assert found["particles"] == 80 and 0 < found["effective"] <= 80 and found["seconds"] > 0
    motion = marey.load(out)
    walk = marey.load(folder / "walk.bvh")
    hand = walk.skeleton.index("LeftHand")
    assert motion.frames == 26
    np.testing.assert_allclose(
        motion.positions()[-1, hand], walk.positions()[0, hand] + np.array([0.1, 0.3, 0.2]), atol=2e-3
    )


def test_the_same_seed_writes_the_same_file(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    texts = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        out = tmp_path / f"{name}.bvh"
        result(
            capsys, "body", "particles", folder / "walk.bvh", out, "--move", "LeftHand=0,0.2,0.2", *QUICK,
            "--seed", seed,
        )  # fmt: skip
        texts.append(out.read_bytes())
    assert texts[0] == texts[1] != texts[2]


def test_several_solutions_likely_poses_and_learned_dynamics(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    words = (
        "body",
        "particles",
        folder / "walk.bvh",
        tmp_path / "o.bvh",
        "--move",
        "RightHand=0,0.2,0.2",
        *QUICK,
    )
    found = result(capsys, *words, "--solutions", 2)
    assert [Path(path).name for path in found["files"]] == ["o-1.bvh", "o-2.bvh"]
    assert all(Path(path).is_file() for path in found["files"])
    assert result(capsys, *words, "--model", folder / "walk.mry")["error_cm"] < 3
    assert result(capsys, *words, "--dynamics")["error_cm"] < 10


def test_a_look_is_missed_by_degrees(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    words = ("body", "particles", folder / "walk.bvh", tmp_path / "o.bvh", "--look-at", "Head=1,1.5,5")
    found = result(capsys, *words, *QUICK)
    assert found["error_cm"] is None and 0 <= found["error_degrees"] < 6


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "nothing to do"),
        (("--reach", "LeftHand=1,2"), "JOINT=X,Y,Z"),
        (("--reach", "LeftHand=1,2,1e300"), "JOINT=X,Y,Z"),
        (("--reach", "Hand=1,2,3"), "did you mean"),
        (("--move", "LeftHand=0,0,0", "--particles", "1"), "--particles 1"),
        (("--move", "LeftHand=0,0,0", "--at", "99"), "--at 99"),
        (("--move", "LeftHand=0,0,0", "--particles", "100000000"), "GB"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    out = tmp_path / "x.bvh"
    assert says in refused(capsys, "body", "particles", folder / "walk.bvh", out, *words)
    assert not out.exists()
