"""Paths on the ground: ready-made, or drawn by hand."""

from __future__ import annotations

import numpy as np

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry.planar import Path, figure_eight, square
from marey.views.camera import smooth_path

READY = ("Figure-eight", "Square", "Circle", "Straight")
# Metres of a path that is drawn.
SHORTEST, LONGEST = 0.8, 80.0


def ready_made(name: str, size: float) -> Array:
    """A path that need not be drawn, around the origin, `(points, 2)`, metres.

    >>> ready_made("Straight", 4.0)[[0, -1]].tolist()
    [[0.0, -2.0], [0.0, 2.0]]
    """
    if name == "Figure-eight":
        return figure_eight(size).points[:, [0, 2]]
    if name == "Square":
        return square(size).points[:, [0, 2]] - size / 2
    if name == "Circle":
        turn = np.linspace(0, 2 * np.pi, 181)
        return size / 2 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return np.array([[0.0, -size / 2], [0.0, size / 2]])


def stroke(points: Array) -> Array:
    """A path drawn by hand, `(points, 2)`, evenly spaced and smoothed over 25 cm, as hands tremble.

    >>> stroke(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 3.0]]))[[0, -1]].tolist()
    [[0.0, 0.0], [0.0, 3.0]]
    """
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    if length < SHORTEST:
        raise InputError(f"the path is {length:.1f} m long: draw one of {SHORTEST} m or more")
    if length > LONGEST:
        raise InputError(f"the path is {length:.0f} m long: draw one of {LONGEST:.0f} m or less")
    curve = Path.through(points)
    even = curve.points[:, [0, 2]]
    smooth = smooth_path(even, 1 / curve.spacing, seconds=0.25)
    smooth[[0, -1]] = even[[0, -1]]
    return smooth
