"""Who is seen where: each picture compared with the place when nobody stands there.

The empty place is the median over a few pictures of a window of two minutes that moves along with the film
(so that the sun may wander), brought to one brightness first. Where a pixel is never at rest, as in a dense
crowd, there is no telling, and that is said rather than guessed. Each background depends on its own pictures
only, so a film can be entered anywhere with the same result. Cost: a median of 41 bytes a pixel every half
minute of film, a few passes over each picture; memory: 41 bytes a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray
from marey.crowd.fields import UNKNOWN, known_presence

Picture = NDArray[np.float32]

SAMPLES = 41
WINDOW = 120.0
"""Seconds of film whose pictures show a background."""
SPANS = 4
"""Backgrounds made in the time of a window."""

SHORTEST_FILM = 5.0
"""Seconds; in less, those who stand or go slowly are part of the place."""

# Grey levels: the least noise of an 8-bit camera after averaging, and more than what a place at rest shows.
LEAST_NOISE, MOST_NOISE = 1.5, 9.0
# How many times its noise a pixel differs where presence begins, and where it is sure.
DOUBTFUL, SURE = 3.0, 6.0
# The quarter of all deviations, in standard deviations of a Gaussian.
QUARTILE = 0.3186
FIT_PIXELS = 6_000
PIXELS_AT_A_TIME = 50_000


@dataclass(frozen=True, eq=False)
class Background:
    """A place with nobody in it.

    level: `(rows, columns)` grey levels
    noise: `(rows, columns)` standard deviation of the pixel when nobody is there
    known: `(rows, columns)` whether the pixel is ever at rest
    """

    level: Picture
    noise: Picture
    known: BoolArray

    def presence(self, picture: Picture) -> NDArray[np.uint8]:
        """How surely somebody is seen in each pixel of a picture, `(rows, columns)`, 0 to 255.

        Brightness may have changed by a factor and a shift. 128 where the background is not known.
        """
        import cv2

        if not self.known.any():
            return np.full(picture.shape, UNKNOWN, dtype=np.uint8)
        gain, shift = brightness(picture, self.level)
        away = np.abs(picture - (gain * self.level + shift)) / self.noise
        # A person is larger than a pixel: single ones are noise, small holes are clothes.
        away = cv2.GaussianBlur(away, (0, 0), 0.8)
        away = cv2.morphologyEx(away, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
        sure = np.clip((away - DOUBTFUL) * (255.0 / (SURE - DOUBTFUL)), 0.0, 255.0)
        return np.where(self.known, known_presence(sure.astype(np.uint8)), np.uint8(UNKNOWN))


def make_background(samples: NDArray[np.uint8]) -> Background:
    """The background of pictures `(samples, rows, columns)`, in any order.

    >>> empty = np.full((9, 16, 16), 100, np.uint8)
    >>> empty[4, 5:9, 5:9] = 180                   # somebody in one of nine pictures
    >>> found = make_background(empty)
    >>> found.level[6, 6], found.presence(empty[4].astype(np.float32))[[1, 6], [1, 6]]
    (np.float32(100.0), array([  0, 255], dtype=uint8))
    """
    count, rows, columns = samples.shape
    series = np.ascontiguousarray(samples.reshape(count, -1).T)
    middle = np.sort(series, axis=1)[:, count // 2].reshape(rows, columns).astype(np.float32)
    fits = np.array([brightness(sample, middle) for sample in samples], dtype=np.float32)
    level, noise = np.empty((2, rows * columns), dtype=np.float32)
    for start in range(0, rows * columns, PIXELS_AT_A_TIME):
        part = slice(start, start + PIXELS_AT_A_TIME)
        even = np.sort((series[part] - fits[:, 1]) / fits[:, 0], axis=1)
        level[part] = even[:, count // 2]
        away = np.sort(np.abs(even - level[part, None]), axis=1)
        # If somebody hides the pixel up to half of the time, this quarter is still of the empty place.
        noise[part] = away[:, count // 4] / QUARTILE
    level, noise = level.reshape(rows, columns), noise.reshape(rows, columns)
    known = noise < MOST_NOISE
    return Background(level, np.clip(noise, LEAST_NOISE, MOST_NOISE), known)


def unknown_background(rows: int, columns: int) -> Background:
    """Of a film too short to show its place empty.

    >>> unknown_background(1, 2).presence(np.zeros((1, 2), np.float32)).tolist()
    [[128, 128]]
    """
    level = np.zeros((rows, columns), dtype=np.float32)
    return Background(level, np.full_like(level, MOST_NOISE), np.zeros((rows, columns), dtype=np.bool_))


def sampled_frames(frames: int, frame_rate: float, at: int) -> tuple[range, range]:
    """Which frames share the background of frame `at`, and which ones show it.

    >>> sampled_frames(100, 25.0, 7)
    (range(0, 100), range(0, 100, 3))
    >>> sampled_frames(90_000, 25.0, 40_000)
    (range(39750, 40500), range(38617, 41610, 73))
    """
    window = max(SAMPLES, round(WINDOW * frame_rate))
    if frames <= window:
        return range(frames), range(0, frames, -(-frames // SAMPLES))
    stride, span = window // SAMPLES, -(-window // SPANS)
    first = at - at % span
    earliest = min(max(first + span // 2 - window // 2, 0), frames - stride * SAMPLES)
    # On one raster, so that neighbouring windows share their pictures.
    earliest -= earliest % stride
    shared = range(first, min(first + span, frames))
    return shared, range(earliest, earliest + stride * SAMPLES, stride)


def brightness(picture: NDArray[np.generic], reference: Picture) -> tuple[float, float]:
    """Gain and shift with `picture ≈ gain · reference + shift` where most of the pixels agree.

    >>> stripes = np.tile(np.linspace(50, 150, 64, dtype=np.float32), (64, 1))
    >>> gain, shift = brightness(1.2 * stripes + 5, stripes)
    >>> round(gain, 3), round(shift, 2)
    (1.2, 5.0)
    """
    step = max(1, round(np.sqrt(reference.size / FIT_PIXELS)))
    x = reference[::step, ::step].ravel().astype(np.float64)
    y = picture[::step, ::step].ravel().astype(np.float64)
    gain, shift = 1.0, float(np.median(y - x))
    for _ in range(6):
        away = np.abs(y - gain * x - shift)
        agree = away <= 2.5 * (1.4826 * np.median(away)) + 0.5
        x_mean, y_mean = x[agree].mean(), y[agree].mean()
        spread = np.mean((x[agree] - x_mean) ** 2)
        # A place of one shade does not tell a gain from a shift.
        slope = np.mean((x[agree] - x_mean) * (y[agree] - y_mean)) / spread if spread > 4.0 else 1.0
        gain = float(np.clip(slope, 0.5, 2.0))
        shift = float(y_mean - gain * x_mean)
    return gain, shift
