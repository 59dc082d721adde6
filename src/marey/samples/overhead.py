"""Footage of the sample crowd from above: heads and shoulders on a paved street, drawn when they are read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marey.crowd.fields import Footage, Image
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.samples.street import LENGTH, WIDTH, crowd

SUBPIXEL = 16


def video(tracks: Tracks | None = None, *, pixels_per_metre: int = 32) -> Footage:
    """A video of people seen from above (the sample crowd, if none is given); x to the right, y up.

    pixels_per_metre: 8 to 128; with 32 the street is 640 × 192 pixels

    >>> footage = video(crowd(people=4, seconds=1))
    >>> footage.frames, footage.rows, footage.columns, next(iter(footage)).dtype
    (25, 192, 640, dtype('uint8'))
    """
    if not 8 <= pixels_per_metre <= 128:
        raise InputError(f"pixels per metre: between 8 and 128, got {pixels_per_metre}")
    seen = crowd() if tracks is None else tracks
    scale = int(pixels_per_metre)
    rows, columns = round(WIDTH * scale), round(LENGTH * scale)
    heading = _headings(seen)

    def frames(start: int, stop: int, step: int) -> Iterator[Image]:
        ground = _pavement(rows, columns, scale)
        for frame in range(start, stop, step):
            yield _drawn(ground.copy(), seen, heading, frame, scale)

    return Footage(seen.frames, rows, columns, seen.frame_rate, frames, name=seen.name)


def _headings(tracks: Tracks) -> np.ndarray:
    """Degrees, `(frames, agents)`; 0 along x; smoothed over half a second."""
    steps = np.diff(tracks.positions, axis=0, append=np.nan)
    steps[-1] = steps[-2] if tracks.frames > 1 else np.nan
    steps = np.nan_to_num(steps)
    width = max(1, round(tracks.frame_rate / 2))
    total = np.cumsum(np.pad(steps, ((width, width), (0, 0), (0, 0)), mode="edge"), axis=0)
    mean = total[2 * width :] - total[: -2 * width]
    return np.degrees(np.arctan2(mean[..., 1], mean[..., 0]))


def _pavement(rows: int, columns: int, scale: int) -> Image:
    """Slabs of half a metre with joints, each of its own grey, and a little grain."""
    row, column = np.mgrid[:rows, :columns] / scale
    slab = np.stack([row // 0.5, (column + 0.25 * (row // 0.5 % 2)) // 0.5])
    grey = 158 + 10 * np.sin(12.9898 * slab[0] + 78.233 * slab[1])
    grey += 5 * np.sin(211.0 * row + 57.0 * column) * np.sin(173.0 * column - 91.0 * row)
    joint = (row % 0.5 < 0.025) | ((column + 0.25 * (row // 0.5 % 2)) % 0.5 < 0.025)
    grey = np.where(joint, 118, grey)
    return np.asarray(np.clip(grey[..., None] * [1.0, 0.98, 0.95], 0, 255).astype(np.uint8))


def _drawn(image: Image, tracks: Tracks, heading: np.ndarray, frame: int, scale: int) -> Image:
    import cv2

    def spot(at: np.ndarray, axes: tuple[float, float], turned: float, colour: tuple[int, ...]) -> None:
        centre = np.array([at[0] + LENGTH / 2, WIDTH / 2 - at[1]]) * scale * SUBPIXEL
        size = tuple(round(a * scale * SUBPIXEL) for a in axes)
        middle = tuple(int(v) for v in np.round(centre))
        cv2.ellipse(image, middle, size, -turned, 0, 360, colour, -1, cv2.LINE_AA, shift=4)

    assert tracks.ids is not None
    present = np.flatnonzero(tracks.present[frame])
    for agent in present:
        at, turned = tracks.positions[frame, agent], float(heading[frame, agent])
        shade = np.array([0.06, -0.06])
        spot(at + shade, (0.13, 0.24), turned, (105, 103, 100))
    for agent in present:
        at, turned = tracks.positions[frame, agent], float(heading[frame, agent])
        hue = (0.618034 * int(tracks.ids[agent])) % 1.0
        shirt = tuple(int(60 + 150 * (0.5 + 0.5 * np.cos(2 * np.pi * (hue + k / 3)))) for k in range(3))
        spot(at, (0.12, 0.23), turned, shirt)
        spot(at, (0.095, 0.085), turned, (58, 42, 33))
    return image
