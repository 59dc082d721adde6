"""DeepMimic clips: the layout of a frame, uneven durations, damage."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.kinematics import forward_kinematics
from marey.errors import FormatError, MareyError

REST = [1.0, 0, 0, 0]
KNEE = 4 + 4 * 4  # column of the right knee: duration and root, then root, chest, neck, right hip


def frame(duration: float = 1 / 30, x: float = 0.0) -> list[float]:
    leg, arm = [*REST, 0.0, *REST], [*REST, 0.0]
    return [duration, x, 0.85, 0.0, *REST, *REST, *REST, *leg, *arm, *leg, *arm]


def write(path: Path, frames: object) -> Path:
    path.write_text(json.dumps({"Loop": "wrap", "Frames": frames}))
    return path


def test_a_frame_has_forty_four_numbers_in_the_published_order(tmp_path: Path) -> None:
    bent = frame()
    bent[KNEE] = -np.pi / 2
    motion = marey.load(write(tmp_path / "clip.txt", [frame(), bent]))
    assert (motion.frames, motion.joints, motion.frame_rate) == (2, 13, 30)
    positions = forward_kinematics(motion).positions
    knee, ankle = motion.skeleton.indices(["right_knee", "right_ankle"])
    np.testing.assert_allclose(positions[0, ankle], [0, 0.85 - 0.421546 - 0.40987, 0.084887], atol=1e-12)
    # Facing x, a knee bent by -90° about z takes the shank backwards.
    np.testing.assert_allclose(positions[1, ankle] - positions[1, knee], [-0.40987, 0, 0], atol=1e-12)


def test_frames_of_unequal_duration_become_uniform(tmp_path: Path) -> None:
    frames = [frame(0.1, 0.0), frame(0.3, 1.0), frame(0.2, 4.0), frame(0.0, 6.0)]
    motion = marey.load(write(tmp_path / "clip.json", frames))
    assert motion.frame_rate == pytest.approx(5)
    # The root moves at 10 m/s throughout, so uniform frames lie 2 m apart.
    np.testing.assert_allclose(motion.root[:, 0], [0, 2, 4, 6], atol=1e-12)


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ([], "Frames: expected a list of length >= 1"),
        ([frame()[:-1]], "frame 0: expected 44 numbers, found 43"),
        ([frame(), [*frame()[:-1], "x"]], r'Frames\[1\]\[43\]: expected a number, found "x"'),
        ([frame(), [*frame()[:-1], float("nan")]], "not JSON: invalid character"),
        ([frame(-1.0)], "duration -1 s is not positive"),
        ([[0.1, 0, 0, 0] + [0.0] * 40], "quaternion is zero"),
    ],
)
def test_damaged_clips_say_what_is_wrong(tmp_path: Path, frames: object, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        marey.load(write(tmp_path / "clip.json", frames))


def test_mutated_clips_give_only_marey_errors(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = write(tmp_path / "clip.json", [frame(), frame(x=1.0)])
    good = np.frombuffer(path.read_bytes(), np.uint8)
    for _ in range(2000):
        mutant = good.copy()
        where = rng.integers(len(mutant), size=rng.integers(1, 6))
        mutant[where] = rng.integers(256, size=len(where))
        path.write_bytes(mutant.tobytes())
        with contextlib.suppress(MareyError):
            marey.load(path)
