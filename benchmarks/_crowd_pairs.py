"""Pairs of pictures of a dense crowd seen from above, with exact motion: people are textured ellipses.

Each person has shoulders, a head and a texture of their own that move with them; the crowd follows a smooth
field and everybody deviates from it a little, sways and turns. The pictures are drawn with four samples a
pixel, then get noise and, if wanted, another brightness. Two truths come with a pair: what every pixel sees
(the person on top, or the ground at rest), and the smooth field that the crowd follows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Field = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Pair:
    """Two pictures `(rows, columns)` uint8 and the motion from the first to the second in px/frame.

    seen: `(rows, columns, 2)`, motion of what each pixel shows; smooth: that of the crowd as a whole
    people: `(rows, columns)`, where somebody is seen
    """

    name: str
    first: Array
    second: Array
    seen: Array
    smooth: Array
    people: Array


def crowd_pair(
    name: str,
    *,
    rows: int = 480,
    columns: int = 640,
    spacing: float = 13.0,
    speed: float = 2.0,
    deviation: float = 0.1,
    noise: float = 3.0,
    gain: float = 1.0,
    seed: int = 0,
) -> Pair:
    """One of :data:`FIELDS`; deviation: of a person's speed from the crowd's, as a share of `speed`."""
    rng = np.random.default_rng(seed)
    field = FIELDS[name](rows, columns, speed)
    x, y = _places(rows, columns, spacing, rng)
    u, v = field(x, y)
    u = u + deviation * speed * rng.normal(size=len(x))
    v = v + deviation * speed * rng.normal(size=len(x))
    facing = np.arctan2(v, u) + 0.2 * rng.normal(size=len(x))
    turning = 0.02 * rng.normal(size=len(x))
    looks = rng.uniform(size=(len(x), 8))
    ground = _ground(rows, columns, rng)
    order = rng.permutation(len(x))
    first, owner = _draw(ground, x, y, facing, looks, order, spacing)
    second, _ = _draw(ground, x + u, y + v, facing + turning, looks, order, spacing)
    xx, yy = np.meshgrid(np.arange(columns, dtype=float), np.arange(rows, dtype=float))
    smooth = np.stack(field(xx, yy), -1)
    seen = np.zeros((rows, columns, 2))
    someone = owner >= 0
    who = owner[someone]
    seen[someone, 0] = u[who] - turning[who] * (yy[someone] - y[who])
    seen[someone, 1] = v[who] + turning[who] * (xx[someone] - x[who])

    def taken(picture: Array, factor: float) -> Array:
        return np.clip(factor * picture + noise * rng.normal(size=picture.shape), 0, 255).astype(np.uint8)

    return Pair(name, taken(first, 1.0), taken(second, gain), seen, smooth, someone)


def _places(rows: int, columns: int, spacing: float, rng: np.random.Generator) -> tuple[Array, Array]:
    margin = 3.0 * spacing
    ys, xs = np.meshgrid(
        np.arange(-margin, rows + margin, spacing * 0.87),
        np.arange(-margin, columns + margin, spacing),
        indexing="ij",
    )
    xs[1::2] += spacing / 2
    jitter = 0.22 * spacing
    return (xs + jitter * rng.normal(size=xs.shape)).ravel(), (
        ys + jitter * rng.normal(size=ys.shape)
    ).ravel()


def _ground(rows: int, columns: int, rng: np.random.Generator) -> Array:
    from scipy.ndimage import gaussian_filter

    fine = gaussian_filter(rng.normal(size=(2 * rows, 2 * columns)), 2.0)
    coarse = gaussian_filter(rng.normal(size=(2 * rows, 2 * columns)), 20.0)
    return 120 + 12 * fine / fine.std() + 15 * coarse / coarse.std()


def _draw(
    ground: Array, x: Array, y: Array, facing: Array, looks: Array, order: Array, spacing: float
) -> tuple[Array, Array]:
    """The picture and who is seen at every pixel (-1: nobody), four samples a pixel."""
    picture = ground.copy()
    owner = np.full(picture.shape, -1)
    reach = int(np.ceil(spacing)) + 2
    for i in order:
        long, short = spacing * (0.54 + 0.1 * looks[i, 0]), spacing * (0.34 + 0.06 * looks[i, 1])
        # Samples stand at quarter and three quarters of a pixel around its centre at the integer.
        cx, cy = 2 * x[i] + 0.5, 2 * y[i] + 0.5
        left, right = max(int(cx) - 2 * reach, 0), min(int(cx) + 2 * reach, picture.shape[1])
        top, bottom = max(int(cy) - 2 * reach, 0), min(int(cy) + 2 * reach, picture.shape[0])
        if left >= right or top >= bottom:
            continue
        dx = (np.arange(left, right)[None, :] - cx) / 2
        dy = (np.arange(top, bottom)[:, None] - cy) / 2
        along = dx * np.cos(facing[i]) + dy * np.sin(facing[i])
        across = -dx * np.sin(facing[i]) + dy * np.cos(facing[i])
        body = (across / long) ** 2 + (along / short) ** 2 < 1
        head = across**2 + (along - 0.1 * short) ** 2 < (0.2 * spacing) ** 2
        cloth = (
            40
            + 170 * looks[i, 2]
            + 20
            * np.sin((0.5 + looks[i, 3]) * across + 6 * looks[i, 4])
            * np.cos((0.5 + looks[i, 5]) * along + 6 * looks[i, 6])
        )
        cloth -= 25 * ((across / long) ** 2 + (along / short) ** 2)
        hair = 30 + 90 * looks[i, 7] ** 2 + 6 * along
        patch, owners = picture[top:bottom, left:right], owner[top:bottom, left:right]
        patch[body] = cloth[body]
        patch[head] = hair[head]
        owners[body | head] = i
    small = picture.reshape(picture.shape[0] // 2, 2, -1, 2).mean(axis=(1, 3))
    return small, owner[::2, ::2]


def _rotation(rows: int, columns: int, speed: float) -> Field:
    def field(x: Array, y: Array) -> tuple[Array, Array]:
        dx, dy = x - columns / 2, y - rows / 2
        radius = 0.35 * rows
        swirl = speed / radius * np.exp(0.5 - (dx**2 + dy**2) / (2 * radius**2))
        return 0.4 * speed - dy * swirl, dx * swirl

    return field


def _narrowing(rows: int, columns: int, speed: float) -> Field:
    def field(x: Array, y: Array) -> tuple[Array, Array]:
        width = 1 - 0.5 * np.exp(-(((x - columns / 2) / (0.2 * columns)) ** 2))
        slope = (
            0.5
            * 2
            * (x - columns / 2)
            / (0.2 * columns) ** 2
            * np.exp(-(((x - columns / 2) / (0.2 * columns)) ** 2))
        )
        u = 0.6 * speed / width
        return u, u * (y - rows / 2) * slope / width * 0.8

    return field


def _waves(rows: int, columns: int, speed: float) -> Field:
    def field(x: Array, y: Array) -> tuple[Array, Array]:
        length = 0.4 * rows
        a, b = 2 * np.pi * x / length, 2 * np.pi * y / length
        return speed * (0.5 + 0.5 * np.sin(a) * np.cos(b)), speed * 0.6 * np.cos(a + 0.5 * b)

    return field


def _lanes(rows: int, columns: int, speed: float) -> Field:
    def field(x: Array, y: Array) -> tuple[Array, Array]:
        lane = np.tanh(6 * np.sin(2 * np.pi * y / (0.5 * rows)))
        return 0.8 * speed * lane, 0.1 * speed * np.sin(2 * np.pi * x / columns)

    return field


FIELDS: dict[str, Callable[[int, int, float], Field]] = {
    "rotation": _rotation,
    "narrowing": _narrowing,
    "waves": _waves,
    "lanes": _lanes,
}
