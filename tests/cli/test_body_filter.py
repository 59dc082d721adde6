"""`marey body filter` as a user types it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.geometry import rotations as so3
from tests.cli.commands import refused, result, run


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A walk, and the same with noise."""
    folder = tmp_path_factory.mktemp("filter")
    walk = marey.samples.walk(seconds=2, frame_rate=60)
    noise = np.random.default_rng(0).normal(scale=0.05, size=(walk.frames, walk.joints, 3))
    marey.save(walk, folder / "walk.bvh")
    marey.save(replace(walk, rotations=so3.multiply(walk.rotations, so3.exp(noise))), folder / "noisy.bvh")
    return folder / "walk.bvh", folder / "noisy.bvh"


def off(path: Path, truth: Path) -> float:
    return float(so3.distance(marey.load(path).rotations, marey.load(truth).rotations).mean())


def test_a_noisy_clip_comes_out_cleaner_and_says_what_changed(
    capsys: pytest.CaptureFixture[str], clips: tuple[Path, Path], tmp_path: Path
) -> None:
    walk, noisy = clips
    for method in ("bilateral", "gaussian", "butterworth", "binomial"):
        out = tmp_path / f"{method}.bvh"
        found = result(capsys, "body", "filter", noisy, out, "--method", method, "--raw")
        assert found["change_degrees"] > 1 and found["method"] == method and found["frames"] == 120
        assert found["noise_degrees"] == pytest.approx(np.degrees(0.05), rel=0.2)
        assert off(out, walk) < 0.65 * off(noisy, walk)


def test_times_may_be_said_in_seconds_milliseconds_or_frames(
    capsys: pytest.CaptureFixture[str], clips: tuple[Path, Path], tmp_path: Path
) -> None:
    changes = {
        sigma: result(
            capsys, "body", "filter", clips[1], tmp_path / "a.bvh", "--method", "gaussian", "--sigma", sigma
        )["change_degrees"]
        for sigma in ("0.05", "50ms", "0.05s", "3f")
    }
    assert len({round(change, 3) for change in changes.values()}) == 1
    shorter = result(
        capsys, "body", "filter", clips[1], tmp_path / "a.bvh", "--method", "gaussian", "--sigma", "1f"
    )
    assert shorter["change_degrees"] < min(changes.values())


def test_named_joints_passes_and_a_picture(
    capsys: pytest.CaptureFixture[str], clips: tuple[Path, Path], tmp_path: Path
) -> None:
    picture = tmp_path / "compare.png"
    options = (
        "--joints",
        "LeftHand, RightHand",
        "--angle",
        8,
        "--passes",
        2,
        "--plain",
        "--figure",
        picture,
    )
    found = result(capsys, "body", "filter", clips[1], tmp_path / "hands.bvh", *options)
    assert found["joints"] == 2 and found["change_root_cm"] == 0
    assert picture.read_bytes()[:4] == b"\x89PNG"
    code, out, _ = run(capsys, "body", "filter", clips[1], tmp_path / "again.glb", "--keep-root")
    assert code == 0 and "change degrees" in out and (tmp_path / "again.glb").is_file()


def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], clips: tuple[Path, Path], tmp_path: Path
) -> None:
    noisy, out = clips[1], tmp_path / "x.bvh"
    for words, told in (
        ((noisy, out, "--method", "median"), "bilateral, gaussian"),
        ((noisy, out, "--sigma", "3 hours"), "10ms"),
        ((noisy, out, "--sigma", "0"), "above 0"),
        ((noisy, out, "--sigma", "1e9"), "10ms"),
        ((noisy, out, "--sigma", "99999"), "at most 5000"),
        ((noisy, out, "--passes", "0"), "passes"),
        ((noisy, out, "--angle", "-1"), "above 0"),
        ((noisy, out, "--joints", "Tail"), "Tail"),
        ((noisy, out, "--joints", ","), "at least one"),
        ((noisy, out, "--method", "butterworth", "--cutoff", "40"), "30 Hz"),
        ((noisy, out, "--figure", "x.gif"), ".png"),
        ((noisy, out, "--figure", tmp_path / "nowhere" / "x.png"), "no folder"),
        ((noisy, tmp_path / "x.txt"), "x.txt"),
        ((noisy, noisy), "own input"),
        ((tmp_path / "none.bvh", out), "none.bvh"),
    ):
        assert told in refused(capsys, "body", "filter", *words)
    assert not out.exists()


def test_help_begins_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "body", "filter", "--help")
    assert code == 0 and out.index("Examples") < out.index("--sigma")
