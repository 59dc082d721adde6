"""Captures joined and blended in time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import marey
from marey.crowd.fields import FieldSeries
from marey.crowd.texture import Cut, align_captures, best_cut, cross_fade, field_changes, join_at
from marey.errors import InputError


def flow(times: np.ndarray, turns: float = 1.0) -> FieldSeries:
    """A current whose direction and waves are a function of time; times in frames."""
    row, column = np.mgrid[:14, :18]
    angle = 0.05 * turns * times[:, None, None]
    u = np.cos(angle) + 0.3 * np.sin(column / 4 + 2 * angle)
    v = np.sin(angle) + 0.3 * np.cos(row / 3 - angle)
    rates = np.gradient(times)[:, None, None, None]
    return FieldSeries(rates * np.stack([u, v], axis=-1), 25)


def test_the_same_motion_at_another_pace_is_aligned_with_itself() -> None:
    even, uneven = np.arange(60.0), 59 * (np.arange(90) / 89) ** 1.3
    found = align_captures(flow(even), replace(flow(uneven), frame_rate=25.0))
    off = np.abs(even[found.path[:, 0]] - uneven[found.path[:, 1]])
    assert off.max() < 3


def test_a_capture_blended_into_itself_at_another_pace_takes_over_its_pace() -> None:
    slow, fast = flow(np.arange(0.0, 60.0)), flow(np.arange(0.0, 60.0, 2.0))
    blended = cross_fade(slow, fast)
    assert 30 < blended.frames < 60
    # Where people end up is how far they move in all: as far as in either.
    travel = [float(s.velocities.sum(axis=0).mean()) for s in (slow, blended, fast)]
    assert travel[1] == pytest.approx(travel[0], rel=0.05)
    np.testing.assert_allclose(blended.velocities[0], slow.velocities[0], atol=1e-9)
    assert np.abs(blended.velocities[-1] - fast.velocities[-1]).max() < 0.25


def test_a_blend_that_shows_one_capture_alone_is_that_capture() -> None:
    """Fields are motion over a frame: at whatever pace the other goes, no motion is lost in between."""
    slow = flow(np.arange(0.0, 61.0) ** 1.5 / 61**0.5)
    fast = replace(slow[::3], frame_rate=slow.frame_rate)
    for share, alone in ((0.0, slow), (1.0, fast)):
        blended = cross_fade(slow, fast, start=share, end=share)
        np.testing.assert_allclose(blended.velocities, alone.velocities, atol=1e-9)


def test_halves_of_two_captures_lie_between_them() -> None:
    a, b = flow(np.arange(50.0)), flow(np.arange(50.0))
    b = replace(b, velocities=b.velocities + np.array([0.2, 0.0]))
    mean = cross_fade(a, b, start=0.5, end=0.5)
    assert mean.frames == pytest.approx(50, abs=2)
    count = min(mean.frames, 50)
    expected = 0.5 * (a.velocities + b.velocities)[:count]
    assert np.sqrt(np.mean((mean.velocities[:count] - expected) ** 2)) < 0.05


def test_two_pieces_of_one_capture_are_joined_where_they_overlap() -> None:
    whole = flow(np.arange(120.0))
    for a, b, start in ((whole[:70], whole[50:], 50), (whole[:80], whole[60:], 60)):
        cut = best_cut(a, b)
        assert cut.frame + 1 == cut.target + start and cut.distance < 1e-6
        np.testing.assert_allclose(join_at(a, b).velocities, whole.velocities, atol=1e-12)


def test_a_joint_between_different_captures_is_smooth_and_keeps_both_ends() -> None:
    a, b = flow(np.arange(80.0)), flow(np.arange(30.0, 110.0), turns=0.9)
    both = join_at(a, b)
    np.testing.assert_array_equal(both.velocities[:30], a.velocities[:30])
    np.testing.assert_array_equal(both.velocities[-30:], b.velocities[-30:])
    assert field_changes(both).max() < 1.5 * max(field_changes(a).max(), field_changes(b).max())


def test_masks_and_foreground_go_along() -> None:
    a, b = flow(np.arange(40.0)), flow(np.arange(40.0))
    mask = np.ones((a.rows, a.columns), dtype=bool)
    mask[0] = False
    seen = np.full((40, a.rows, a.columns), 100, dtype=np.uint8)
    a, b = replace(a, foreground=seen), replace(b, mask=mask)
    for made in (join_at(a, b, taps=4), cross_fade(a, b)):
        assert made.mask is not None and made.mask.sum() == mask.sum()
        assert made.foreground is not None and made.foreground.shape == made.velocities.shape[:3]
        assert made.foreground[0].max() == 100 and made.foreground[-1].min() >= 250


def test_what_cannot_be_joined_is_refused_in_words() -> None:
    a = flow(np.arange(40.0))
    with pytest.raises(InputError, match="frames per second"):
        join_at(a, replace(a, frame_rate=30.0))
    with pytest.raises(InputError, match="cannot be compared"):
        cross_fade(a, marey.samples.field(10, 10))
    with pytest.raises(InputError, match="cannot be compared"):
        join_at(a, marey.samples.field(10, 10), Cut(20, 20, 0.0))
    with pytest.raises(InputError, match="at least 18 each"):
        best_cut(a[:10], a)
    with pytest.raises(InputError, match="share from 0 to 1"):
        cross_fade(a, a, end=1.5)
    with pytest.raises(InputError, match="no 4 frames"):
        join_at(a, a, Cut(39, 0, 0.0))
