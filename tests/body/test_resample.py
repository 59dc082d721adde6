from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.body import Markers, Motion, Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

from .trees import random_motion

ARM = Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 0, 0], [0.3, 0, 0]])


def spinning(frames: int = 61, rate: float = 120.0, speed: float = 3.0, frequency: float = 0.0) -> Motion:
    """Constant spin (radians per second) and straight root path, plus a tremor of some frequency."""
    t = np.arange(frames) / rate
    angles = speed * t + 0.05 * np.sin(2 * np.pi * frequency * t)
    rotations = so3.exp(angles[:, None, None] * np.array([[0, 0, 1.0], [0.6, 0.8, 0]]))
    return Motion(ARM, so3.continuous(rotations), t[:, None] * [1.0, 0, 2.0], rate)


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("rate", [30.0, 24.0, 120.0, 97.3, 500.0])
def test_steady_motion_is_resampled_exactly(rate: float, antialias: bool) -> None:
    resampled = spinning().resample(rate, antialias=antialias)
    exact = spinning(frames=resampled.frames, rate=rate)
    assert resampled.frame_rate == rate
    assert (resampled.frames - 1) / rate <= 0.5 + 1e-9 < resampled.frames / rate + 1e-9
    np.testing.assert_allclose(so3.distance(resampled.rotations, exact.rotations), 0, atol=1e-12)
    np.testing.assert_allclose(resampled.root, exact.root, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=20)
def test_frames_that_stay_are_kept_bit_by_bit(seed: int, sliding: bool) -> None:
    motion = random_motion(seed, frames=13, sliding=sliding)
    slower = motion.resample(10.0)
    np.testing.assert_array_equal(slower.rotations, so3.continuous(motion.rotations[::3]))
    np.testing.assert_array_equal(slower.positions(), motion[::3].positions())
    np.testing.assert_allclose(
        motion.resample(90.0).resample(30.0).positions(), motion.positions(), atol=1e-12
    )


@given(st.integers(0, 2**32 - 1), st.floats(5.0, 200.0))
@settings(max_examples=20)
def test_rotations_in_between_are_unit_and_continuous(seed: int, rate: float) -> None:
    motion = random_motion(seed, frames=10)
    motion = replace(motion, rotations=so3.continuous(motion.rotations))
    resampled = motion.resample(rate)
    np.testing.assert_allclose(np.linalg.norm(resampled.rotations, axis=-1), 1, atol=1e-12)
    dots = np.einsum("tji,tji->tj", resampled.rotations[1:], resampled.rotations[:-1])
    assert (dots > -1e-12).all()


def test_antialiasing_removes_what_the_new_rate_cannot_carry() -> None:
    """A 25 Hz tremor at 120 fps: at 30 fps it would come back as 5 Hz; a 3 Hz one must stay."""

    def tremor(frequency: float, antialias: bool) -> float:
        low = spinning(frames=481, frequency=frequency).resample(30.0, antialias=antialias)
        steady = spinning(frames=low.frames, rate=30.0)
        off = so3.log(so3.multiply(so3.inverse(steady.rotations), low.rotations))[20:-20, 0, 2]
        return float(np.std(off) * np.sqrt(2))

    assert tremor(25.0, antialias=False) == pytest.approx(0.05, rel=0.05)
    assert tremor(25.0, antialias=True) < 0.001
    assert tremor(3.0, antialias=True) == pytest.approx(0.05, rel=0.01)


def test_antialiasing_keeps_a_clip_of_a_few_frames() -> None:
    for frames in (1, 2, 3):
        motion = random_motion(0, frames=frames)
        np.testing.assert_array_equal(motion.resample(7.0, antialias=True)[0].root, motion[0].root)


@pytest.mark.parametrize("rate", [0.0, -3.0, np.nan, np.inf, "fast"])
def test_rates_that_are_none_are_refused(rate: object) -> None:
    with pytest.raises(InputError, match="frame rate"):
        random_motion(0).resample(rate)  # type: ignore[arg-type]


def test_markers_are_never_made_up_across_a_gap() -> None:
    x = np.array([0.0, 1.0, np.nan, 3.0, 4.0])
    seen = Markers(("knee",), np.stack([x, x, x], axis=-1)[:, None], 100.0)
    np.testing.assert_array_equal(
        seen.resample(200.0).positions[:, 0, 0], [0, 0.5, 1, np.nan, np.nan, np.nan, 3, 3.5, 4]
    )
    np.testing.assert_array_equal(seen.resample(100.0).positions, seen.positions)
    np.testing.assert_array_equal(seen.resample(50.0).positions[:, 0, 0], [0, np.nan, 4])
