"""Footage: lazily decoded images whose frames can be picked, sampled and joined."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.fields import Footage


def numbered(frames=9, first=0, frame_rate=10.0, rows=2, columns=3):
    """Footage whose every pixel is the number of its frame; `decoded` lists what was looked at."""
    decoded: list[int] = []

    def open_frames(start, stop, step):
        for frame in range(start, min(stop, frames), step):
            decoded.append(frame)
            yield np.full((rows, columns, 3), first + frame, np.uint8)

    return Footage(frames, rows, columns, frame_rate, open_frames), decoded


def numbers(images) -> list[int]:
    return [int(image[0, 0, 0]) for image in images]


@settings(max_examples=60)
@given(st.integers(1, 30), st.sampled_from([3.0, 10.0, 12.5, 40.0]), st.integers(0, 40), st.integers(1, 5))
def test_a_resampled_frame_is_the_nearest_one(frames, rate, start, step):
    footage, _ = numbered(frames)
    new = footage.resample(rate)
    shown = numbers(new)
    assert len(shown) == new.frames
    for frame, number in enumerate(shown):
        assert abs(number / 10 - frame / rate) <= 0.05 + 1e-9
    assert numbers(new.open(start, new.frames, step)) == shown[start::step]


def test_only_what_is_looked_at_is_decoded():
    footage, decoded = numbered()
    part = footage[2:8].resample(20)
    assert decoded == []
    assert int(part.read(3)[0, 0, 0]) == 4
    assert decoded == [4]


def test_grey_is_luminance():
    colours = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [90, 90, 90]]], np.uint8)
    footage = Footage(1, 1, 4, 25, lambda a, b, s: iter([colours]))
    (grey,) = footage.grey()
    assert grey.dtype == np.uint8
    assert np.abs(grey[0].astype(int) - [76, 150, 29, 90]).max() <= 1
