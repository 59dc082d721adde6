"""A closed tube of radius 0.15 m and height 2 m that bends and twists by formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

RADIUS, HEIGHT, RINGS, AROUND = 0.15, 2.0, 100, 24


def tube(rings: int = RINGS, around: int = AROUND) -> tuple[Array, NDArray[np.int64]]:
    """Vertices ring by ring from the bottom, then the middles of both caps; faces."""
    turn = 2 * np.pi * np.arange(around) / around
    ring = np.stack([RADIUS * np.cos(turn), np.zeros(around), -RADIUS * np.sin(turn)], axis=1)
    heights = np.linspace(0, HEIGHT, rings)
    sides = (ring + heights[:, None, None] * [0.0, 1.0, 0.0]).reshape(-1, 3)
    corner = np.arange(rings * around).reshape(rings, around)
    a, b = corner[:-1], np.roll(corner, -1, axis=1)[:-1]
    c, d = np.roll(corner, -1, axis=1)[1:], corner[1:]
    below, above = rings * around, rings * around + 1
    first, last, following = corner[0], corner[-1], np.roll(np.arange(around), -1)
    faces = [
        np.stack([a, b, c], -1).reshape(-1, 3),
        np.stack([a, c, d], -1).reshape(-1, 3),
        np.stack([np.full(around, below), first[following], first], -1),
        np.stack([np.full(around, above), last, last[following]], -1),
    ]
    return np.concatenate([sides, [[0, 0, 0], [0, HEIGHT, 0]]]), np.concatenate(faces)


def bent(vertices: Array, angle: float) -> Array:
    """Along a circular arc of `angle` radians, as long as the tube."""
    reach = HEIGHT / angle
    turn, inwards = vertices[:, 1] / reach, reach - vertices[:, 0]
    return np.stack([reach - inwards * np.cos(turn), inwards * np.sin(turn), vertices[:, 2]], axis=1)


def twisted(vertices: Array, angle: float) -> Array:
    """The top turned by `angle` radians about the axis, the bottom not."""
    c, s = np.cos(angle * vertices[:, 1] / HEIGHT), np.sin(angle * vertices[:, 1] / HEIGHT)
    x, z = vertices[:, 0], vertices[:, 2]
    return np.stack([c * x + s * z, vertices[:, 1], c * z - s * x], axis=1)


def centreline(vertices: Array, around: int = AROUND) -> float:
    """Length of the line through the middles of the rings."""
    middles = vertices[:-2].reshape(-1, around, 3).mean(axis=1)
    return float(np.linalg.norm(np.diff(middles, axis=0), axis=1).sum())


def least_radius(vertices: Array, around: int = AROUND) -> float:
    """Of the narrowest ring."""
    rings = vertices[:-2].reshape(-1, around, 3)
    return float(np.linalg.norm(rings - rings.mean(axis=1, keepdims=True), axis=2).mean(axis=1).min())
