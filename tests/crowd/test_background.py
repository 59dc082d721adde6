"""Who is seen where."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.capture.framing import (
    SETTINGS,
    UNKNOWN,
    brightness,
    make_background,
    sampled_frames,
    unknown_background,
)
from tests.crowd.films import texture, walker_column, walkers


def samples_of(footage: object, count: int = 40) -> np.ndarray:
    step = footage.frames // count  # type: ignore[attr-defined]
    return np.stack([image[..., 0] for image in footage[::step]])  # type: ignore[index]


@pytest.mark.parametrize("light", [0.0, -0.4])
def test_walkers_are_seen_and_the_place_is_not_even_when_it_gets_darker(light: float) -> None:
    footage = walkers(240, light=light)
    found = make_background(samples_of(footage))
    for frame in (30, 110, 200):
        there = np.zeros((60, 120), dtype=bool)
        for person in range(3):
            left = walker_column(frame, person)
            there[10 + 16 * person : 24 + 16 * person, max(left, 0) : max(left + 10, 0)] = True
        seen = found.foreground(footage.read(frame)[..., 0].astype(np.float32)) > 127
        assert (seen & there).sum() > 0.9 * there.sum()
        assert not (seen & ~cv2.dilate(there.astype(np.uint8), np.ones((5, 5))).astype(bool)).any()


def test_a_crowd_without_gaps_gives_no_telling() -> None:
    pictures = np.stack([texture(40, 40, seed=seed) for seed in range(41)]).astype(np.uint8)
    found = make_background(pictures)
    assert (found.foreground(pictures[0].astype(np.float32)) == UNKNOWN).mean() > 0.95
    assert (unknown_background(40, 40).foreground(pictures[0].astype(np.float32)) == UNKNOWN).all()


def test_noise_alone_is_nobody() -> None:
    rng = np.random.default_rng(0)
    place = texture(60, 80)
    noisy = np.clip(place + rng.normal(scale=4, size=(41, 60, 80)), 0, 255).astype(np.uint8)
    found = make_background(noisy[:-1])
    assert found.foreground(noisy[-1].astype(np.float32)).mean() < 2
    assert np.median(found.noise) == pytest.approx(4, rel=0.3)


@given(st.floats(0.6, 1.6), st.floats(-30, 30))
@settings(deadline=None, max_examples=20)
def test_brightness_is_found_though_a_third_of_the_picture_is_new(gain: float, shift: float) -> None:
    place = texture(60, 90)
    seen = gain * place + shift
    seen[:20] = texture(20, 90, seed=5) / 2
    assert brightness(seen, place) == pytest.approx((gain, shift), abs=0.5 + 0.02 * abs(gain))


@given(st.integers(2, 30_000), st.sampled_from([1.0, 7.5, 10.0, 25.0, 60.0]), st.floats(0, 1))
@settings(deadline=None, max_examples=200)
def test_every_frame_has_its_background_and_a_span_agrees(frames: int, rate: float, where: float) -> None:
    at = min(int(where * frames), frames - 1)
    shared, samples = sampled_frames(frames, rate, at)
    assert at in shared and shared.step == 1 and 0 <= shared.start < shared.stop <= frames
    assert 0 <= samples[0] <= samples[-1] < frames and len(samples) <= SETTINGS.samples
    for other in (shared[0], shared[-1]):
        assert sampled_frames(frames, rate, other) == (shared, samples)
    # The next window goes on from this one, and shares its raster.
    if shared.stop < frames:
        later = sampled_frames(frames, rate, shared.stop)[1]
        assert later.step == samples.step and later.start >= samples.start
        assert (later.start - samples.start) % samples.step == 0
