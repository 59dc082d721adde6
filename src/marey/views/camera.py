"""Where to look from: three-quarter views that hold a subject in the frame, still or following it.

Framing is exact: for a fixed direction of view the nearest camera that sees every point within the margins
follows from four maxima, one a side of the image. Cost: one pass over the points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter1d

from marey._arrays import Array

FIELD_OF_VIEW = np.radians(26.0)
MARGIN = 0.84
"""Share of the frame, in height and width, that the subject may take."""


@dataclass(frozen=True)
class Camera:
    """A pinhole camera, y up.

    position: `(3,)`, metres
    forward: `(3,)`, unit, where it looks
    field_of_view: radians, of the shorter side of the image
    """

    position: Array
    forward: Array
    field_of_view: float = FIELD_OF_VIEW

    @property
    def right(self) -> Array:
        """Unit vector to the right of the image."""
        across = np.array([-self.forward[2], 0.0, self.forward[0]])
        return np.asarray(across / np.linalg.norm(across))

    @property
    def up(self) -> Array:
        """Unit vector to the top of the image."""
        return np.cross(self.right, self.forward)

    def focal(self, size: tuple[int, int]) -> float:
        """Focal length in pixels for a image of (columns, rows)."""
        return float(0.5 * min(size) / np.tan(0.5 * self.field_of_view))

    def moved(self, offset: Array) -> Camera:
        """The same view from `offset` further on."""
        return replace(self, position=self.position + offset)

    def project(self, points: Array, size: tuple[int, int]) -> Array:
        """Column, row (pixels) and 1 / distance of points `(points, 3)`; not positive behind the camera."""
        axes = np.stack([self.right, self.up, self.forward], axis=1)
        seen = (points - self.position) @ axes
        distance = seen[:, 2]
        near = np.where(distance > 1e-6, distance, np.nan)
        focal = self.focal(size)
        screen = np.empty(seen.shape)
        screen[:, 0] = 0.5 * size[0] + focal * seen[:, 0] / near
        screen[:, 1] = 0.5 * size[1] - focal * seen[:, 1] / near
        screen[:, 2] = 1.0 / near
        return screen


def direction(azimuth: float, elevation: float) -> Array:
    """Unit vector from the subject to a camera; azimuth 0 is +z, turning towards +x. Radians.

    >>> direction(0.0, 0.0).tolist()
    [0.0, 0.0, 1.0]
    """
    flat = np.cos(elevation)
    return np.array([flat * np.sin(azimuth), np.sin(elevation), flat * np.cos(azimuth)])


def framing(
    points: Array,
    towards: Array,
    size: tuple[int, int],
    *,
    margin: float = MARGIN,
    field_of_view: float = FIELD_OF_VIEW,
) -> Camera:
    """The nearest camera in the direction `towards` that sees all `points` within the margin.

    >>> cube = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T.astype(float)
    >>> camera = framing(cube, direction(0.5, 0.2), (1280, 720))
    >>> screen = camera.project(cube, (1280, 720))
    >>> bool(screen[:, 1].min() > 50 and screen[:, 1].max() < 670)
    True
    """
    camera = Camera(np.zeros(3), -np.asarray(towards, dtype=np.float64), field_of_view)
    slopes = margin * np.tan(0.5 * field_of_view) / min(size) * np.array([size[0], -size[1], size[1]])
    # A flat or single-point subject would put the camera into it.
    room = max(0.5 * float(np.ptp(points, axis=0).max()), 1e-3)
    axes = camera.right, camera.up, -camera.forward
    return replace(camera, position=nearest_position(points, axes, slopes, room))


def nearest_position(
    points: Array, axes: tuple[Array, Array, Array], slopes: ArrayLike, room: float
) -> Array:
    """Where the nearest camera is that sees all `points`, with its axes to the right, up and back.

    A place at `(x, y)` across and up and `z` back is seen within slopes `low…high` by a camera at `(0, Y, D)`
    if `low (D - z) <= y - Y <= high (D - z)`; the nearest camera follows from the extremes of all sides.

    Args:
        points: `(points, 3)`.
        axes: Unit vectors `(3,)`.
        slopes: To either side, lowest and highest.
        room: Metres before the nearest point at least.
    """
    wide, low, high = np.asarray(slopes, dtype=np.float64)
    x, y, z = (points @ axis for axis in axes)
    left, right = (-x + wide * z).max(), (x + wide * z).max()
    top, bottom = (y + high * z).max(), (-y - low * z).max()
    back = max((left + right) / (2 * wide), (top + bottom) / (high - low), float(z.max()) + room)
    across, up = 0.5 * (right - left), 0.5 * (top - bottom - (low + high) * back)
    return np.asarray(np.array([across, up, back]) @ np.stack(axes))


def smooth_path(path: Array, frame_rate: float, *, seconds: float = 0.5) -> Array:
    """A path `(frames, dimensions)` without its quick wobbles: Gaussian of that many seconds.

    The ends are continued point-symmetrically, so that a steady walk keeps its speed to the last frame.
    """
    sigma = seconds * frame_rate
    reach = min(int(3 * sigma) + 1, len(path) - 1)
    if reach < 1:
        return path.copy()
    padded = np.pad(path, ((reach, reach), (0, 0)), mode="reflect", reflect_type="odd")
    return np.asarray(gaussian_filter1d(padded, sigma, axis=0, radius=reach)[reach:-reach])
