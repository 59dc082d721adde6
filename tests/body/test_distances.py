"""Skeleton metrics: angles of joints, blind to heading, the same for one pair as for all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey import _work
from marey.body.compare import geodesic
from marey.errors import InputError
from marey.geometry import rotations

ABOUT_Y = np.array([0.0, 1.0, 0.0])


def some_clips(rng: int, frames: int = 9, joints: int = 4) -> list[np.ndarray]:
    tangents = np.random.default_rng(rng).normal(size=(2, frames, joints, 3))
    return [rotations.exp(0.7 * part) for part in tangents]


def test_the_geodesic_distance_is_the_sum_of_joint_angles() -> None:
    clips = some_clips(0)
    apart = geodesic(clips, root=None)
    expected = rotations.distance(clips[0][3], clips[1][5]).sum()
    assert apart.between(0, 1)[3, 5] == pytest.approx(expected, rel=1e-6)
    mean = geodesic(clips, root=None, weights=np.full(4, 0.25))
    np.testing.assert_allclose(mean.values, apart.values / 4, atol=1e-6)


@given(st.floats(-3.1, 3.1), st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_turning_a_clip_about_the_vertical_changes_turns_alone(angle: float, rng: int) -> None:
    first, second = some_clips(rng, frames=4)
    turned = np.array(second)
    turned[:, 0] = rotations.multiply(rotations.exp(angle * ABOUT_Y), turned[:, 0])
    before, after = geodesic([first, second]), geodesic([first, turned])
    np.testing.assert_allclose(after.values, before.values, atol=2e-5)
    change = before.yaw_offsets[:4, 4:] - after.yaw_offsets[:4, 4:] - angle
    np.testing.assert_allclose(np.exp(1j * change), 1.0, atol=1e-4)


def test_the_turn_brings_the_roots_nearest() -> None:
    first, second = some_clips(3, joints=1)
    apart = geodesic([first, second])
    angles = np.linspace(-np.pi, np.pi, 2001)
    turned = rotations.multiply(rotations.exp(angles[:, None] * ABOUT_Y), second[2, 0])
    tried = rotations.distance(turned, first[6, 0])
    assert apart.between(0, 1)[6, 2] == pytest.approx(tried.min(), abs=1e-5)
    assert apart.yaw_offsets[6, 11] == pytest.approx(angles[tried.argmin()], abs=0.004)


def test_matrices_are_symmetric_turns_antisymmetric_beyond_one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    clip = some_clips(1, frames=71)[0]
    monkeypatch.setattr(_work, "block_rows", lambda _: 64)
    apart = geodesic([clip[:30], clip[30:]])
    np.testing.assert_array_equal(apart.values, apart.values.T)
    np.testing.assert_array_equal(apart.yaw_offsets, -apart.yaw_offsets.T)
    assert (apart.values.diagonal() == 0).all()
    assert apart.values[3, 66] == pytest.approx(geodesic([clip[[3, 66]]]).values[0, 1], rel=1e-6)


def test_real_motion_gives_a_matrix_for_transitions() -> None:
    walk = marey.samples.walk(seconds=2)
    apart = geodesic([walk.rotations[:60], walk.rotations[60:]], names=("a", "b"))
    # A stride later the pose is nearer than half a stride later.
    stride = apart.values[0, 40:100]
    assert stride.min() < 0.5 * apart.values[0].max()
    assert apart.names == ("a", "b") and apart.starts.tolist() == [0, 60, 120]


def test_progress_counts_frames() -> None:
    seen: list[tuple[int, int]] = []
    geodesic(some_clips(0), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (18, 18)


def test_errors_name_what_is_wrong() -> None:
    clips = some_clips(0)
    for wrong, message in (
        (lambda: geodesic([]), "no clip"),
        (lambda: geodesic([clips[0], clips[1][:, :2]]), "clip 1"),
        (lambda: geodesic(clips, root=9), "joint 9"),
        (lambda: geodesic(clips, names=("a",)), "names"),
        (lambda: geodesic(clips, weights=[1, 1, 1, -1]), "weights"),
        (lambda: geodesic([np.zeros((2, 3))]), "expected shape"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()
