"""Simulated crowds seen from above as plain discs of random brightness on rough ground: quick films."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from marey.crowd import FieldSeries, Footage, capture, simulate
from marey.crowd.scenes import preset

FINER = 4  # pixels of the film for one of the field


def sequence(scene: str, rows: int, columns: int, frames: int, *, people: int, seed: int = 0) -> FieldSeries:
    """Fields `(frames, rows, columns, 2)` captured from a film of a simulated scene.

    The window is as high as the scene's ground, at the place and time with most people in it.
    """
    crowd = simulate(preset(scene, hold=3.0).with_people(people), rng=seed)
    positions = np.asarray(crowd.tracks.positions)
    pixel = np.ptp(np.nan_to_num(positions[..., 1], nan=np.nanmean(positions[..., 1]))) / (FINER * rows)
    start, left = _fullest(positions, frames + 1, pixel * FINER * columns)
    bottom = float(np.nanmin(positions[..., 1]))
    shown = positions[start : start + frames + 1]
    column = (shown[..., 0] - left) / pixel
    row = FINER * rows - (shown[..., 1] - bottom) / pixel
    places = np.stack([column, row], axis=-1)
    size = (FINER * rows, FINER * columns)

    def film(first: int, stop: int, step: int) -> Iterator[NDArray[np.uint8]]:
        return (_image(places[frame], size, 0.28 / pixel, seed) for frame in range(first, stop, step))

    footage = Footage(len(shown), *size, 25.0, film, name=scene)
    return capture(footage, size=(columns, rows))


def _fullest(positions: NDArray[np.float64], frames: int, width: float) -> tuple[int, float]:
    """The frame and the left edge from which most people are in the window."""
    best = (-1.0, 0, 0.0)
    low, high = float(np.nanmin(positions[..., 0])), float(np.nanmax(positions[..., 0]))
    for start in range(75, max(len(positions) - frames, 76), 25):
        for left in np.linspace(low, max(high - width, low), 25):
            there = positions[start : start + frames : 10, :, 0] - left
            count = float(np.nanmean((there > 0) & (there < width)))
            best = max(best, (count, start, float(left)))
    return best[1], best[2]


def _image(places: NDArray[np.float64], size: tuple[int, int], radius: float, seed: int) -> NDArray[np.uint8]:
    import cv2

    rng = np.random.default_rng(seed)
    image = cv2.GaussianBlur(rng.normal(110, 14, size).astype(np.float32), (0, 0), 1.2)
    shades = rng.uniform(20, 240, (len(places), 2))
    for place, (body, head) in zip(places, shades, strict=True):
        if np.isfinite(place).all():
            # Sixteenths of a pixel, so that slow people move in every frame.
            at = tuple(int(16 * value) for value in place)
            cv2.circle(image, at, int(16 * radius), float(body), -1, cv2.LINE_AA, 4)
            cv2.circle(image, at, int(16 * 0.45 * radius), float(head), -1, cv2.LINE_AA, 4)
    grey = np.clip(image, 0, 255).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)
