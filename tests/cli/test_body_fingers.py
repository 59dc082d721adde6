"""`marey body fingers` as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body import Motion
from marey.body.particles import hand_chain
from marey.body.trackers import Trackers
from marey.geometry import rotations as so3
from marey.io import trackers_csv
from tests.body.particles.tasks import TIPS, curled
from tests.cli.commands import refused, result

HAND = hand_chain(forearm=False)


@pytest.fixture(scope="module")
def truth() -> Motion:
    t = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 24))
    rotations = so3.slerp(curled(HAND, 0), curled(HAND, 3), t[:, None])
    rotations[:, 0] = so3.exp(np.linspace([0, 0, 0], [0, 0.4, 0], 24))
    return Motion(HAND.skeleton, rotations, np.linspace([0, 1, 0], [0.1, 1, 0], 24), 30.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, truth: Motion) -> Path:
    folder = tmp_path_factory.mktemp("fingers")
    marey.save(truth, folder / "hand.bvh")
    seen = Trackers.of_motion(truth, [*TIPS, "Wrist"], directions=["Wrist"])
    trackers_csv.write(seen.renamed({name: name[:-5] for name in TIPS}), folder / "tips.csv")
    return folder


def test_a_table_of_fingertips_gives_a_hand(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, truth: Motion
) -> None:
    out = tmp_path / "found.bvh"
    found = result(capsys, "body", "fingers", folder / "tips.csv", out)
    assert found["error_cm"] < 0.3 and found["frames"] == 24 and len(found["tips"]) == 5
    apart = np.linalg.norm(marey.load(out, unit="m", up="y").positions() - truth.positions(), axis=2)
    assert apart.mean() < 0.003


def test_the_tips_of_a_clip_are_compared_with_it(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    words = (
        "body",
        "fingers",
        folder / "hand.bvh",
        tmp_path / "again.bvh",
        "--from-unit",
        "m",
        "--from-up",
        "y",
    )
    found = result(capsys, *words)
    assert found["error_cm"] < 0.3 and found["joint_error_cm"] < 0.3 and found["joint_error_degrees"] < 10
    part = result(capsys, *words, "--frames", "0:5", "--hand", folder / "hand.bvh")
    assert part["frames"] == 5


def test_tables_without_fingers_are_refused(
    capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "toes.csv").write_text("time,Toe_x,Toe_y,Toe_z\n0,0,0,0\n0.1,0,0,0\n")
    assert "no joint 'Toe'" in refused(capsys, "body", "fingers", tmp_path / "toes.csv", tmp_path / "x.bvh")
    assert "--hand-length" in refused(
        capsys, "body", "fingers", folder / "tips.csv", tmp_path / "x.bvh", "--hand-length", "big"
    )
    lone = tmp_path / "lone.mry"
    marey.save(marey.samples.walk(1).subtree("Head"), lone)
    assert "fingers" in refused(capsys, "body", "fingers", lone, tmp_path / "x.bvh")
    assert not (tmp_path / "x.bvh").exists()
