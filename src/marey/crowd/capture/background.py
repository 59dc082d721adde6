"""Foreground detection: each image compared with the median background of its part of the video.

The background is the median over a few images of a window of two minutes that moves along with the video (the
light may change), brought to one brightness first. Where a pixel is never at rest, as in a dense crowd, the
foreground is unknown and stored as 128. Each background depends on its own images only, so a video can be
entered anywhere with the same result. Cost: a median of 41 bytes a pixel every half minute of video, a few
passes over each image; memory: 41 bytes a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import BoolArray
from marey.crowd.fields import UNKNOWN, known_presence

Image = NDArray[np.float32]

# The quarter of all deviations, in standard deviations of a Gaussian.
QUARTILE = 0.3186


@dataclass(frozen=True, kw_only=True)
class BackgroundSettings:
    """What a background is made from, and what differs from it.

    Attributes:
        samples: Images of a window.
        window: Its length, seconds.
        shortest: Seconds of video below which the foreground is unknown: those who stand or walk slowly
            are part of the background.
        noise: Grey levels: the least noise of an 8-bit camera after averaging, and the largest at rest.
        doubt: Deviations in standard deviations of the noise where foreground begins and where it is sure.
    """

    samples: int = 41
    window: float = 120.0
    shortest: float = 5.0
    noise: tuple[float, float] = (1.5, 9.0)
    doubt: tuple[float, float] = (3.0, 6.0)


SETTINGS = BackgroundSettings()


@dataclass(frozen=True, eq=False)
class Background:
    """A scene without people.

    Attributes:
        level: `(rows, columns)` grey levels.
        noise: `(rows, columns)` standard deviation of the pixel at rest.
        known: `(rows, columns)` whether the pixel is ever at rest.
    """

    level: Image
    noise: Image
    known: BoolArray

    def presence(self, image: Image) -> NDArray[np.uint8]:
        """How surely people are seen in each pixel of an image, `(rows, columns)`, 0 to 255.

        Brightness may have changed by a factor and a shift. 128 where the background is not known.
        """
        import cv2

        if not self.known.any():
            return np.full(image.shape, UNKNOWN, dtype=np.uint8)
        gain, shift = brightness(image, self.level)
        away = np.abs(image - (gain * self.level + shift)) / self.noise
        # A person is larger than a pixel: single ones are noise, small gaps are clothes.
        away = cv2.GaussianBlur(away, (0, 0), 0.8)
        away = cv2.morphologyEx(away, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
        low, high = SETTINGS.doubt
        sure = np.clip((away - low) * (255.0 / (high - low)), 0.0, 255.0)
        return np.where(self.known, known_presence(sure.astype(np.uint8)), np.uint8(UNKNOWN))


def make_background(samples: NDArray[np.uint8]) -> Background:
    """The background of images `(samples, rows, columns)`, in any order.

    >>> empty = np.full((9, 16, 16), 100, np.uint8)
    >>> empty[4, 5:9, 5:9] = 180                   # a person in one of nine images
    >>> found = make_background(empty)
    >>> found.level[6, 6], found.presence(empty[4].astype(np.float32))[[1, 6], [1, 6]]
    (np.float32(100.0), array([  0, 255], dtype=uint8))
    """
    count, rows, columns = samples.shape
    series = np.ascontiguousarray(samples.reshape(count, -1).T)
    middle = np.sort(series, axis=1)[:, count // 2].reshape(rows, columns).astype(np.float32)
    fits = np.array([brightness(sample, middle) for sample in samples], dtype=np.float32)
    level, noise = np.empty((2, rows * columns), dtype=np.float32)
    for part in _work.blocks(rows * columns, 32 * count):
        even = np.sort((series[part] - fits[:, 1]) / fits[:, 0], axis=1)
        level[part] = even[:, count // 2]
        away = np.sort(np.abs(even - level[part, None]), axis=1)
        # If people hide the pixel up to half of the time, this quarter is still background.
        noise[part] = away[:, count // 4] / QUARTILE
    level, noise = level.reshape(rows, columns), noise.reshape(rows, columns)
    return Background(level, np.clip(noise, *SETTINGS.noise), noise < SETTINGS.noise[1])


def unknown_background(rows: int, columns: int) -> Background:
    """Of a video too short to show its scene empty.

    >>> unknown_background(1, 2).presence(np.zeros((1, 2), np.float32)).tolist()
    [[128, 128]]
    """
    level = np.zeros((rows, columns), dtype=np.float32)
    return Background(
        level, np.full_like(level, SETTINGS.noise[1]), np.zeros((rows, columns), dtype=np.bool_)
    )


def sampled_frames(frames: int, frame_rate: float, at: int) -> tuple[range, range]:
    """Which frames share the background of frame `at`, and which ones show it.

    >>> sampled_frames(100, 25.0, 7)
    (range(0, 100), range(0, 100, 3))
    >>> sampled_frames(90_000, 25.0, 40_000)
    (range(39750, 40500), range(38617, 41610, 73))
    """
    samples = SETTINGS.samples
    window = max(samples, round(SETTINGS.window * frame_rate))
    if frames <= window:
        return range(frames), range(0, frames, -(-frames // samples))
    # Four backgrounds a window.
    stride, span = window // samples, -(-window // 4)
    first = at - at % span
    earliest = min(max(first + span // 2 - window // 2, 0), frames - stride * samples)
    # On one raster, so that neighbouring windows share their images.
    earliest -= earliest % stride
    shared = range(first, min(first + span, frames))
    return shared, range(earliest, earliest + stride * samples, stride)


def brightness(image: NDArray[np.generic], reference: Image) -> tuple[float, float]:
    """Gain and shift with `image ≈ gain · reference + shift` where most of the pixels agree.

    >>> stripes = np.tile(np.linspace(50, 150, 64, dtype=np.float32), (64, 1))
    >>> gain, shift = brightness(1.2 * stripes + 5, stripes)
    >>> round(gain, 3), round(shift, 2)
    (1.2, 5.0)
    """
    # Six thousand pixels are enough.
    step = max(1, round(np.sqrt(reference.size / 6_000)))
    x = reference[::step, ::step].ravel().astype(np.float64)
    y = image[::step, ::step].ravel().astype(np.float64)
    gain, shift = 1.0, float(np.median(y - x))
    for _ in range(6):
        away = np.abs(y - gain * x - shift)
        agree = away <= 2.5 * (1.4826 * np.median(away)) + 0.5
        x_mean, y_mean = x[agree].mean(), y[agree].mean()
        spread = np.mean((x[agree] - x_mean) ** 2)
        # In one shade, gain and shift cannot be separated.
        slope = np.mean((x[agree] - x_mean) * (y[agree] - y_mean)) / spread if spread > 4.0 else 1.0
        gain = float(np.clip(slope, 0.5, 2.0))
        shift = float(y_mean - gain * x_mean)
    return gain, shift
