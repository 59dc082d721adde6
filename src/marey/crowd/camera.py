"""Cameras over the ground: from pixels to metres and back (Courty & Corpetti 2007, section 4.1).

The world is `(x, y, height)` in metres with the ground at height 0; pixels are `(column, row)`, centres at
whole numbers. A lens bends rays radially; fields and homographies live in the picture without that bend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import FloatArray, assign, checked
from marey.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera with a radial lens.

    intrinsics: `(3, 3)`, takes `(X / Z, Y / Z, 1)` to `(column, row, 1)`; X right, Y down, Z forward
    rotation, translation: `(3, 3)` and `(3,)`, world metres to camera metres
    size: (columns, rows) of its pictures
    distortion: `(k1, k2)`: straight = seen · (1 + k1 r² + k2 r⁴), r the seen distance from the axis, X / Z
    name: what to call it

    >>> above = Camera.looking((8.0, 4.0, 20.0), (8.0, 4.0, 0.0), size=(640, 480), field_of_view=1.0)
    >>> above.project([[8.0, 4.0, 0.0]]).tolist()
    [[319.5, 239.5]]
    >>> bool(np.allclose(above.to_ground(above.project([[3.0, 2.0, 0.0]])), [[3.0, 2.0]]))
    True
    """

    intrinsics: FloatArray
    rotation: FloatArray
    translation: FloatArray
    size: tuple[int, int]
    distortion: tuple[float, float] = (0.0, 0.0)
    name: str = ""

    def __post_init__(self) -> None:
        intrinsics = checked("intrinsics", self.intrinsics, (3, 3))
        rotation = checked("rotation", self.rotation, (3, 3))
        if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6) or np.linalg.det(rotation) < 0:
            raise InputError("camera: its rotation is not a rotation")
        if abs(np.linalg.det(intrinsics)) < 1e-12:
            raise InputError("camera: its intrinsics are singular")
        assign(
            self,
            intrinsics=intrinsics,
            rotation=rotation,
            translation=checked("translation", self.translation, (3,)),
            size=(int(self.size[0]), int(self.size[1])),
            distortion=tuple(checked("distortion", self.distortion, (2,)).tolist()),
        )

    @classmethod
    def looking(
        cls,
        eye: ArrayLike,
        target: ArrayLike,
        *,
        size: tuple[int, int],
        field_of_view: float,
        name: str = "",
    ) -> Camera:
        """From `eye` to `target`, `(x, y, height)` metres; straight down has +y at the top of the picture.

        field_of_view: horizontal, radians
        """
        place, aim = checked("eye", eye, (3,)), checked("target", target, (3,))
        forward = aim - place
        length = float(np.linalg.norm(forward))
        if length < 1e-9:
            raise InputError("camera: it stands where it looks")
        forward = forward / length
        top = np.array([0.0, 1.0, 0.0]) if np.hypot(*forward[:2]) < 1e-6 else np.array([0.0, 0.0, 1.0])
        right = np.cross(forward, top)
        right /= np.linalg.norm(right)
        rotation = np.stack([right, np.cross(forward, right), forward])
        focal = 0.5 * size[0] / np.tan(0.5 * field_of_view)
        centre = 0.5 * (size[0] - 1), 0.5 * (size[1] - 1)
        intrinsics = np.array([[focal, 0, centre[0]], [0, focal, centre[1]], [0, 0, 1.0]])
        return cls(intrinsics, rotation, -rotation @ place, size, name=name)

    @property
    def position(self) -> Array:
        """Where it stands, `(3,)` metres."""
        return -self.rotation.T @ self.translation

    @property
    def homography(self) -> Array:
        """`(3, 3)`, straightened image `(column, row, 1)` to ground `(x, y, 1)` metres."""
        return self.homography_at(0.0)

    def homography_at(self, height: float) -> Array:
        """Image to the plane `height` metres above the ground: bodies are seen above their feet."""
        to_image = self.intrinsics @ np.column_stack(
            [self.rotation[:, :2], self.rotation[:, 2] * height + self.translation]
        )
        matrix = np.asarray(np.linalg.inv(to_image), dtype=np.float64)
        return np.asarray(matrix / matrix[2, 2]) if abs(matrix[2, 2]) > 1e-12 else matrix

    def project(self, points: ArrayLike) -> Array:
        """Pixels `(..., 2)` of world points `(..., 3)`, as seen through the lens; NaN behind the camera."""
        seen = np.asarray(points, dtype=np.float64) @ self.rotation.T + self.translation
        depth = np.where(seen[..., 2:] > 1e-9, seen[..., 2:], np.nan)
        bent = _bent(seen[..., :2] / depth, self.distortion)
        return bent @ self.intrinsics[:2, :2].T + self.intrinsics[:2, 2]

    def straightened(self, pixels: ArrayLike) -> Array:
        """Pixels `(..., 2)` without the bend of the lens."""
        seen = self._normalised(pixels)
        radius = np.sum(seen**2, axis=-1, keepdims=True)
        straight = seen * (1 + self.distortion[0] * radius + self.distortion[1] * radius**2)
        return straight @ self.intrinsics[:2, :2].T + self.intrinsics[:2, 2]

    def bent(self, pixels: ArrayLike) -> Array:
        """Pixels `(..., 2)` of the straightened picture as the lens shows them."""
        through = _bent(self._normalised(pixels), self.distortion)
        return through @ self.intrinsics[:2, :2].T + self.intrinsics[:2, 2]

    def to_ground(self, pixels: ArrayLike, *, height: float = 0.0) -> Array:
        """Where on the plane `height` metres up `(..., 2)` the rays of pixels `(..., 2)` arrive; else NaN."""
        straight = self.straightened(pixels)
        rays = np.concatenate([straight, np.ones((*straight.shape[:-1], 1))], axis=-1)
        ways = rays @ np.linalg.inv(self.intrinsics).T @ self.rotation
        eye = self.position
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = (height - eye[2]) / ways[..., 2:]
        return np.where(reach > 0, eye[:2] + reach * ways[..., :2], np.nan)

    def _normalised(self, pixels: ArrayLike) -> Array:
        offset = np.asarray(pixels, dtype=np.float64) - self.intrinsics[:2, 2]
        return offset @ np.linalg.inv(self.intrinsics[:2, :2]).T


def _bent(straight: Array, distortion: tuple[float, float]) -> Array:
    """Seen directions of straight ones `(..., 2)`: the radial polynomial inverted by Newton's method."""
    k1, k2 = distortion
    if k1 == 0 and k2 == 0:
        return straight
    wanted = np.linalg.norm(straight, axis=-1, keepdims=True)
    radius = wanted.copy()
    for _ in range(20):
        value = radius * (1 + k1 * radius**2 + k2 * radius**4) - wanted
        slope = 1 + 3 * k1 * radius**2 + 5 * k2 * radius**4
        radius = radius - value / np.where(np.abs(slope) > 1e-9, slope, 1.0)
    return straight * np.where(wanted > 1e-12, radius / np.maximum(wanted, 1e-12), 1.0)
