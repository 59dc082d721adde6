"""Ways over the ground: the one asked for as a thin line, the one walked in the colours of its frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.errors import InputError
from marey.geometry.colour import from_srgb
from marey.geometry.planar import Path, centroid, figure_eight, square
from marey.studio.desk import Desk
from marey.surface.synthesis.animation import Animation

Array = NDArray[np.float64]

ASKED, CAPTURED, SYNTHETIC = (118, 124, 130), (43, 106, 143), (200, 85, 61)
# Just above the ground, metres.
LOW, LOWER = 0.012, 0.008
# A hand trembles: strokes are smoothed over so many metres.
TREMBLE = 0.25
SHORTEST, LONGEST = 0.8, 80.0
READY = ("Figure-eight", "Square", "Circle", "Straight")
STRIP = (14, 560)


class Trails:
    """Both ways in the scene."""

    def __init__(self, desk: Desk, path: str):
        scene = desk.scene
        nothing = np.zeros((1, 2, 3), np.float32)
        self._asked: Any = scene.add_line_segments(
            f"{path}/asked", nothing, ASKED, thickness=2.0, thickness_units="screen", visible=False
        )
        self._walked: Any = scene.add_line_segments(
            f"{path}/walked", nothing, np.zeros((1, 2, 3), np.uint8), thickness=4.0, thickness_units="screen",
            visible=False,
        )  # fmt: skip

    def show_asked(self, path: Array | None) -> None:
        """The way asked for, `(points, 2)`; None for none."""
        self._asked.visible = path is not None and len(path) > 1
        if path is not None and len(path) > 1:
            self._asked.points = _segments(path, LOWER)

    def show_walked(self, animation: Animation | None, offset: Array) -> None:
        """The way of the body's middle, blue where frames are captured, warm where they are synthetic."""
        self._walked.visible = animation is not None and animation.sequence.frames > 1
        if animation is not None and animation.sequence.frames > 1:
            middles = np.array([centroid(vertices) for vertices in animation.sequence.vertices])
            # The page takes colours that vary along a line for linear light.
            both = [255 * from_srgb(np.array(colour) / 255) for colour in (CAPTURED, SYNTHETIC)]
            colours = np.where(animation.provenance.synthetic[:, None], both[1], both[0])
            self._walked.points = _segments(middles + offset[[0, 2]], LOW)
            self._walked.colors = np.stack([colours[1:], colours[1:]], axis=1).astype(np.uint8)


def ready_made(name: str, size: float) -> Array:
    """A way that need not be drawn, around the origin, `(points, 2)`, metres.

    >>> ready_made("Straight", 4.0)[[0, -1]].tolist()
    [[0.0, -2.0], [0.0, 2.0]]
    """
    if name == "Figure-eight":
        points = figure_eight(size).points[:, [0, 2]]
    elif name == "Square":
        points = square(size).points[:, [0, 2]] - size / 2
    elif name == "Circle":
        turn = np.linspace(0, 2 * np.pi, 181)
        points = size / 2 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    else:
        points = np.array([[0.0, -size / 2], [0.0, size / 2]])
    return points


def stroke(points: Array) -> Array:
    """A way drawn by hand, `(points, 2)`, evenly spaced and without its tremble; its ends stay.

    >>> stroke(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 3.0]]))[[0, -1]].tolist()
    [[0.0, 0.0], [0.0, 3.0]]
    """
    from scipy.ndimage import gaussian_filter1d

    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    if length < SHORTEST:
        raise InputError(f"the path is {length:.1f} m long: draw one of {SHORTEST} m or more")
    if length > LONGEST:
        raise InputError(f"the path is {length:.0f} m long: draw one of {LONGEST:.0f} m or less")
    curve = Path.through(points)
    even = curve.points[:, [0, 2]]
    # Mirrored about its ends, so that they stay where they are.
    return np.asarray(_odd_ends(even, lambda rows: gaussian_filter1d(rows, TREMBLE / curve.spacing, axis=0)))


def strip(synthetic: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Captured and synthetic frames along time as a band of two colours.

    >>> band = strip(np.array([False, True]))
    >>> band[0, 0].tolist(), band[0, -1].tolist()
    ([43, 106, 143], [200, 85, 61])
    """
    rows, columns = STRIP
    frames = np.minimum((np.arange(columns) / columns * len(synthetic)).astype(int), len(synthetic) - 1)
    band = np.where(synthetic[frames][:, None], SYNTHETIC, CAPTURED).astype(np.uint8)
    return np.broadcast_to(band, (rows, columns, 3)).copy()


def _odd_ends(rows: Array, smooth: Any) -> Array:
    reach = len(rows) - 1
    before, after = 2 * rows[0] - rows[1:][::-1], 2 * rows[-1] - rows[:-1][::-1]
    smoothed = smooth(np.concatenate([before, rows, after]))[reach : reach + len(rows)]
    smoothed[[0, -1]] = rows[[0, -1]]
    return np.asarray(smoothed)


def _segments(points: Array, height: float) -> NDArray[np.float32]:
    flat = np.insert(np.asarray(points, np.float32), 1, height, axis=1)
    return np.stack([flat[:-1], flat[1:]], axis=1)
