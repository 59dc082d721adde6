"""Compressed clips edited as they are stored (Tournier 2011, section 9.3.2), by plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.io.container import read_compressed
from tests.cli.commands import refused, result


@pytest.mark.parametrize("joint", ["LeftHand", "Hips"])
def test_moved_samples_of_a_stored_path_move_the_body(tmp_path, capsys, joint):
    walk = marey.samples.walk(seconds=3)
    marey.save(walk, tmp_path / "walk.bvh")
    small, edited = tmp_path / "small.mry", tmp_path / "edited.mry"
    result(
        capsys, "body", "compress", tmp_path / "walk.bvh", small, "--method", "tournier", "--modes", 12,
        "--levels", 3,
    )  # fmt: skip
    line = ["body", "steer", small, edited, "--raw"]
    told = result(capsys, *line, "--reach", f"{joint}@1.6=+0,0.06,0.04", "--interval", 1.2)
    before, after = (read_compressed(path).tournier for path in (small, edited))
    # A window over 0.6 s on either side, on every eighth frame; the offset is met at the time asked for.
    away = np.abs(np.arange(len(before.root)) * 8 / 60 - 1.6) / 0.6
    share = np.maximum(1 - away, 0.0)
    window = share**3 * (10 - 15 * share + 6 * share**2)

    def halfway(values):
        """Every second sample between four neighbours, one level of the pyramid."""
        wide = np.concatenate([[2 * values[0] - values[1]], values, 2 * values[-1] - values[[-2, -3]]])
        middle = (9 * (wide[1:-2] + wide[2:-1]) - wide[:-3] - wide[3:]) / 16
        return np.stack([values, middle[: len(values)]], axis=1).ravel()

    reached = halfway(halfway(halfway(window)))[96]
    moved = np.outer(window / reached, [0.0, 0.06, 0.04])
    names = [before.skeleton.names[end.joint] for end in before.ends]
    curves = zip((before.root, *before.curves), (after.root, *after.curves), ("Hips", *names), strict=True)
    for old, new, name in curves:
        assert new - old == pytest.approx(moved if name == joint else np.zeros_like(old), abs=1e-6)
    assert (after.root_turns == before.root_turns).all()
    clips = [read_compressed(path).decode() for path in (small, edited)]
    index = walk.skeleton.index(joint)
    shift = clips[1].positions()[96, index] - clips[0].positions()[96, index]
    missed = np.linalg.norm(shift - [0.0, 0.06, 0.04])
    assert 100 * missed == pytest.approx(told["residual_cm"][0], abs=0.01) and missed < 0.03
    far = np.r_[0:40, 160:180]
    assert np.abs(clips[1].positions() - clips[0].positions())[far].max() < 0.01


def test_what_is_not_stored_cannot_be_moved(tmp_path, capsys):
    marey.save(marey.samples.walk(seconds=2), tmp_path / "walk.bvh")
    small = tmp_path / "small.mry"
    result(capsys, "body", "compress", tmp_path / "walk.bvh", small, "--method", "tournier", "--modes", 8)
    line = ["body", "steer", small, tmp_path / "o.mry"]
    assert "no end effector" in refused(capsys, *line, "--reach", "LeftForeArm@1=+0,0.1,0")
    assert "at least that wide" in refused(
        capsys, *line, "--reach", "LeftHand@1=+0,0.1,0", "--interval", "0.01"
    )
    # Other methods decode it first.
    result(capsys, *line, "--reach", "LeftForeArm@1=+0,0.02,0", "--method", "joint")
    assert isinstance(marey.load(tmp_path / "o.mry"), marey.Motion)
