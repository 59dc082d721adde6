"""Edits of stored clips: displaced curves and pinned joints."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body import Motion
from marey.body.codec.tournier import Pin, TournierClip, decode, displace, encode
from marey.errors import InputError


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk()


@pytest.fixture(scope="module")
def clip(walk: Motion) -> TournierClip:
    return encode(walk, modes=20, dropped_levels=3)


def moved(before: TournierClip, after: TournierClip, joint: str) -> np.ndarray:
    """How far a joint moved, `(frames, 3)`."""
    one, other = (decode(c) for c in (before, after))
    j = before.skeleton.index(joint)
    return other.positions()[:, j] - one.positions()[:, j]


def test_a_displaced_hand_takes_the_arm_along_for_a_while(clip: TournierClip) -> None:
    edited = displace(clip, "LeftHand", [0.0, 0.0, 0.15], time=1.5, width=0.6)
    hand = moved(clip, edited, "LeftHand")
    at = round(1.5 * clip.frame_rate)
    assert hand[at] == pytest.approx([0.0, 0.0, 0.15], abs=0.03)
    assert np.linalg.norm(moved(clip, edited, "LeftForeArm")[at]) > 0.01
    far = np.abs(np.arange(clip.frames) / clip.frame_rate - 1.5) > 0.6 + 16 / clip.frame_rate
    assert np.abs(hand[far]).max() < 1e-3


def test_an_edit_between_samples_reaches_its_offset(walk: Motion) -> None:
    clip = encode(walk, modes=20, dropped_levels=[3, 4])
    for frame in (64, 70, 72):
        edited = displace(clip, "LeftHand", [0.0, 0.0, 0.1], time=frame / clip.frame_rate, width=0.3)
        assert moved(clip, edited, "LeftHand")[frame, 2] == pytest.approx(0.1, abs=0.03)


def test_the_root_goes_down_and_the_feet_stay(clip: TournierClip) -> None:
    edited = displace(clip, "root", [0.0, -0.05, 0.0], time=1.5, width=0.8)
    at = round(1.5 * clip.frame_rate)
    assert moved(clip, edited, "Hips")[at] == pytest.approx([0.0, -0.05, 0.0], abs=1e-3)
    assert np.abs(moved(clip, edited, "LeftToeBase")[at]).max() < 0.03


def test_a_pinned_foot_stays_where_it_is(clip: TournierClip) -> None:
    plain = decode(clip)
    toe = clip.skeleton.index("LeftToeBase")
    speed = np.linalg.norm(np.diff(plain.positions()[:, toe], axis=0), axis=1)
    window = 10
    start = int(np.convolve(speed, np.ones(window), "valid").argmin())
    held = slice(start, start + window)
    pin = Pin("LeftToeBase", start / clip.frame_rate, (start + window - 1) / clip.frame_rate)
    path = decode(clip, pins=[pin]).positions()[held, toe]
    drift = np.abs(path - path.mean(axis=0)).max()
    assert drift < 0.5 * np.abs(np.ptp(plain.positions()[held, toe], axis=0)).max()
    part = decode(clip, frames=held, pins=[pin]).positions()[:, toe]
    assert np.abs(part - path).max() < 1e-12


def test_a_pin_may_say_where(clip: TournierClip) -> None:
    toe = clip.skeleton.index("LeftToeBase")
    plain = decode(clip).positions()[60, toe]
    place = tuple(float(v) for v in plain + np.array([0.0, 0.03, 0.0]))
    held = decode(clip, pins=[Pin("LeftToeBase", 0.95, 1.05, place)]).positions()[60, toe]
    assert held == pytest.approx(place, abs=0.005)


def test_edits_that_make_no_sense_are_refused(clip: TournierClip) -> None:
    with pytest.raises(InputError, match="stored are Head"):
        displace(clip, "Neck", [0, 0, 0], time=1, width=1)
    with pytest.raises(InputError, match="lasts"):
        displace(clip, "Head", [0, 0, 0], time=100, width=1)
    with pytest.raises(InputError, match="sample every"):
        displace(clip, "Head", [0, 0, 0], time=1, width=0.01)
    with pytest.raises(InputError):
        displace(clip, "Head", [0, np.nan, 0], time=1, width=1)
    with pytest.raises(InputError, match="no frame"):
        decode(clip, pins=[Pin("Head", 100.0, 101.0)])
