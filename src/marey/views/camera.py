"""Where to look from: three-quarter views that hold a subject in the frame, still or following it.

Framing is exact: for a fixed direction of view the nearest camera that sees every point within the margins
follows from four maxima, one a side of the image. Cost: one pass over the points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

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
    x, y, depth = (points @ axis for axis in (camera.right, camera.up, camera.forward))
    half = margin * np.tan(0.5 * camera.field_of_view) / min(size)
    reach_x, reach_y = half * size[0], half * size[1]
    right, left = (x - reach_x * depth).max(), (-x - reach_x * depth).max()
    top, bottom = (y - reach_y * depth).max(), (-y - reach_y * depth).max()
    distance = max((right + left) / (2 * reach_x), (top + bottom) / (2 * reach_y))
    # A flat or single-point subject would put the camera into it.
    spread = float(np.ptp(points, axis=0).max())
    distance = max(distance, -float(depth.min()) + max(0.5 * spread, 1e-3))
    position = (
        0.5 * (right - left) * camera.right + 0.5 * (top - bottom) * camera.up - distance * camera.forward
    )
    return replace(camera, position=position)


def smooth_path(path: Array, frame_rate: float, *, seconds: float = 0.5) -> Array:
    """A path `(frames, dimensions)` without its quick wobbles: Gaussian of that many seconds.

    The ends are continued point-symmetrically, so that a steady walk keeps its speed to the last frame.
    """
    sigma = seconds * frame_rate
    reach = min(int(3 * sigma) + 1, len(path) - 1)
    if reach < 1:
        return path.copy()
    before = 2 * path[0] - path[reach:0:-1]
    after = 2 * path[-1] - path[-2 : -reach - 2 : -1]
    padded = np.concatenate([before, path, after])
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    return np.stack([np.convolve(line, kernel, mode="valid") for line in padded.T], axis=1)
