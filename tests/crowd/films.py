"""Films made by formula, whose motion is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from marey.crowd.fields import Footage

Draw = Callable[[int], NDArray[np.generic]]


def film(frames: int, draw: Draw, *, frame_rate: float = 25.0) -> Footage:
    """Grey pictures `draw(frame)` as footage."""
    rows, columns = draw(0).shape

    def opened(start: int, stop: int, step: int) -> Iterator[NDArray[np.uint8]]:
        for frame in range(start, min(stop, frames), step):
            grey = np.clip(np.rint(draw(frame)), 0, 255).astype(np.uint8)
            yield np.repeat(grey[..., None], 3, axis=2)

    return Footage(frames, rows, columns, frame_rate, opened, "film")


def texture(rows: int, columns: int, *, seed: int = 0, coarseness: float = 3.0) -> NDArray[np.float32]:
    """A smooth random pattern about 128."""
    import cv2

    noise = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    smooth = cv2.GaussianBlur(noise, (0, 0), coarseness)
    return 128 + 40 * smooth / smooth.std()


def sliding(
    frames: int, *, shift: tuple[float, float] = (2.0, 1.0), rows: int = 96, columns: int = 128
) -> Footage:
    """A pattern that moves `(right, down)` pixels a frame."""
    import cv2

    pattern = texture(rows + 80, columns + 80)

    def draw(frame: int) -> NDArray[np.float32]:
        move = np.float32([[1, 0, frame * shift[0] - 40], [0, 1, frame * shift[1] - 40]])
        return np.asarray(cv2.warpAffine(pattern, move, (columns, rows), flags=cv2.INTER_CUBIC))

    return film(frames, draw)


def walkers(frames: int, *, rows: int = 60, columns: int = 120, light: float = 0.0) -> Footage:
    """Three patches walking to the right at one pixel a frame over a still place.

    light: how much brighter the film gets from beginning to end
    """
    place = 40 + 0.6 * texture(rows, columns, seed=1, coarseness=2.0)
    body = np.maximum(texture(14, 10, seed=2, coarseness=1.5) - 80, 0)

    def draw(frame: int) -> NDArray[np.float32]:
        picture = place.copy()
        for person in range(3):
            left = walker_column(frame, person, columns)
            for column in range(10):
                if 0 <= left + column < columns:
                    picture[10 + 16 * person : 24 + 16 * person, left + column] = body[:, column]
        return picture * (1 + light * frame / max(frames - 1, 1))

    return film(frames, draw)


def walker_column(frame: int, person: int, columns: int = 120) -> int:
    """Left edge of a walker."""
    return (frame + 37 * person) % (columns + 20) - 10
