"""Cameras over the ground: pixels to metres and back, positions and velocities.

The world is `(x, y, height)` in metres with the ground at height 0; pixels are `(column, row)`, centres at
whole numbers. A lens bends rays radially; fields and homographies live in the image without that bend.
Courty & Corpetti 2007, section 4.1, take a camera that is far away (:func:`orthographic`) or a calibrated one
(:class:`Camera`); here also one of which four or more ground points are known (:func:`fit`). Cost: linear in
the points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, FloatArray, assign, checked
from marey.errors import InputError

# In normalised coordinates; below, a second homography fits the points as well as the first.
UNDETERMINED = 1e-7


@dataclass(frozen=True, eq=False)
class Camera:
    """A pinhole camera with a radial lens.

    Attributes:
        intrinsics: `(3, 3)`, takes `(X / Z, Y / Z, 1)` to `(column, row, 1)`; X right, Y down, Z forward.
        rotation: `(3, 3)`, of the world into the camera.
        translation: `(3,)`, metres, after the rotation.
        size: (columns, rows) of its images.
        distortion: `(k1, k2)`: straight = seen · (1 + k1 r² + k2 r⁴), r the seen distance from the axis.
        name: What to call it.

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
        """From `eye` to `target`, `(x, y, height)` metres; straight down has +y at the top of the image.

        Args:
            field_of_view: Horizontal, radians.
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
        return np.asarray(straight @ self.intrinsics[:2, :2].T + self.intrinsics[:2, 2])

    def bent(self, pixels: ArrayLike) -> Array:
        """Pixels `(..., 2)` of the straightened image as the lens shows them."""
        through = _bent(self._normalised(pixels), self.distortion)
        return through @ self.intrinsics[:2, :2].T + self.intrinsics[:2, 2]

    def to_ground(self, pixels: ArrayLike, *, height: float = 0.0) -> Array:
        """Where on the plane `height` metres up `(..., 2)` the rays of pixels `(..., 2)` arrive; else NaN."""
        straight = self.straightened(pixels)
        rays = np.concatenate([straight, np.ones((*straight.shape[:-1], 1))], axis=-1)
        directions = rays @ np.linalg.inv(self.intrinsics).T @ self.rotation
        eye = self.position
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = (height - eye[2]) / directions[..., 2:]
        return np.where(reach > 0, eye[:2] + reach * directions[..., :2], np.nan)

    def _normalised(self, pixels: ArrayLike) -> Array:
        offset = np.asarray(pixels, dtype=np.float64) - self.intrinsics[:2, 2]
        return offset @ np.linalg.inv(self.intrinsics[:2, :2]).T

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        columns, rows = self.size
        return {
            "kind": "camera",
            "rows": rows,
            "columns": columns,
            "position": self.position.round(4).tolist(),
        }


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


@dataclass(frozen=True, eq=False)
class Homography:
    """A camera of which only the map from its image to the ground is known.

    Attributes:
        matrix: `(3, 3)`, image `(column, row, 1)` to ground `(x, y, 1)` in metres.
        name: What to call it.

    >>> above = Homography(orthographic(0.05))
    >>> above.to_ground([[20.0, 40.0]]).tolist()
    [[1.0, -2.0]]
    """

    matrix: FloatArray
    name: str = ""

    def __post_init__(self) -> None:
        assign(self, matrix=_regular(checked("homography", self.matrix, (3, 3))))

    @property
    def homography(self) -> Array:
        """The matrix, under the name it has in :class:`Camera`."""
        return np.asarray(self.matrix, dtype=np.float64)

    def to_ground(self, pixels: ArrayLike) -> Array:
        """Ground `(..., 2)` metres of pixels `(..., 2)`."""
        return apply(self.matrix, pixels)

    def to_image(self, points: ArrayLike) -> Array:
        """Pixels `(..., 2)` of ground points `(..., 2)` metres."""
        return apply(inverse(self.matrix), points)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        return {"kind": "homography", "matrix": self.matrix.tolist()}


def apply(matrix: ArrayLike, points: ArrayLike) -> Array:
    """Points `(..., 2)` through a homography: `(..., 2)`; NaN on the line that goes to infinity.

    >>> apply([[2, 0, 1], [0, 2, 0], [0, 0, 1]], [1.0, 1.0]).tolist()
    [3.0, 2.0]
    """
    through = _homogeneous(np.asarray(matrix, dtype=np.float64), points)
    last = through[..., 2:]
    return np.asarray(through[..., :2] / np.where(np.abs(last) > 1e-300, last, np.nan))


def inverse(matrix: ArrayLike) -> Array:
    """The inverse, ground to image, `(3, 3)`."""
    return np.asarray(np.linalg.inv(_regular(checked("homography", matrix, (3, 3)))))


def jacobian(matrix: ArrayLike, points: ArrayLike) -> Array:
    """How the image of each point `(..., 2)` moves with it, `(..., 2, 2)`.

    >>> jacobian(orthographic(0.1), [3.0, 4.0]).tolist()
    [[0.1, 0.0], [0.0, -0.1]]
    """
    through = np.asarray(matrix, dtype=np.float64)
    homogeneous = _homogeneous(through, points)
    last = homogeneous[..., 2]
    last = np.where(np.abs(last) > 1e-300, last, np.nan)[..., None, None]
    target = (homogeneous[..., :2, None]) / last
    return np.asarray((through[:2, :2] - target * through[2, :2]) / last)


def ground_velocities(
    matrix: ArrayLike, pixels: ArrayLike, velocities: ArrayLike, *, frame_rate: float
) -> Array:
    """Metres per second `(..., 2)` of pixels `(..., 2)` that move by `velocities` `(..., 2)` a frame.

    >>> ground_velocities(orthographic(0.1), [0.0, 0.0], [2.0, 0.0], frame_rate=10).tolist()
    [2.0, 0.0]
    """
    moved = jacobian(matrix, pixels) @ np.asarray(velocities, dtype=np.float64)[..., None]
    return np.asarray(frame_rate * moved[..., 0])


def orthographic(metres_per_pixel: float, *, rotation: float = 0.0, offset: ArrayLike = (0.0, 0.0)) -> Array:
    """The map `(3, 3)` of a camera far above: rows go down, y goes up.

    Args:
        rotation: Radians, counter-clockwise seen from above.
        offset: `(2,)` metres, the ground under pixel (0, 0).

    >>> apply(orthographic(0.5, rotation=np.pi / 2, offset=(10, 0)), [2.0, 0.0]).round(9).tolist()
    [10.0, 1.0]
    """
    if not (np.isfinite(metres_per_pixel) and metres_per_pixel > 0):
        raise InputError(f"metres per pixel: must be positive, got {metres_per_pixel:g}")
    place = checked("offset", offset, (2,))
    c, s = metres_per_pixel * np.cos(rotation), metres_per_pixel * np.sin(rotation)
    return np.array([[c, s, place[0]], [s, -c, place[1]], [0.0, 0.0, 1.0]])


def fit(pixels: ArrayLike, ground: ArrayLike) -> Array:
    """The homography `(3, 3)` of at least four pixels `(n, 2)` whose places on the ground `(n, 2)` are known.

    With more than four, squared distances in the image are least: clicks are what is uncertain.

    >>> corners = [[0, 0], [100, 0], [100, 50], [0, 50]]
    >>> matrix = fit(corners, [[0, 5], [10, 5], [9, 0], [1, 0]])
    >>> bool(np.allclose(apply(matrix, corners), [[0, 5], [10, 5], [9, 0], [1, 0]]))
    True
    """
    from cv2 import findHomography

    seen, known = checked("pixels", pixels, (None, 2)), checked("ground", ground, (None, 2))
    if len(seen) != len(known):
        raise InputError(f"homography: {len(seen)} pixels and {len(known)} places on the ground")
    if len(seen) < 4:
        raise InputError(f"homography: at least four points are needed, there are {len(seen)}")
    for name, points in (("pixels", seen), ("ground", known)):
        if not np.ptp(points, axis=0).max() > 1e-12 * max(1.0, np.abs(points).max()):
            raise InputError(f"homography: the {name} all fall on one point")
    # Of the ground to the image, whose distances are to be least.
    found, _ = findHomography(known, seen)
    image, plane = ((points - points.mean(axis=0)) / points.std() for points in (seen, known))
    zero, one = np.zeros((len(plane), 3)), np.column_stack([plane, np.ones(len(plane))])
    system = np.block([[one, zero, -image[:, :1] * plane], [zero, one, -image[:, 1:] * plane]])
    sizes = np.linalg.svd(system, compute_uv=False)
    matrix = None if found is None or _singular(found) else np.linalg.inv(found)
    if matrix is None or sizes[-1] <= UNDETERMINED * sizes[0] or _singular(matrix):
        raise InputError(
            "homography: the points do not fix it, three of four lie on a line (or two on one spot); "
            "give points that span the ground"
        )
    if abs(matrix[2, 2]) > 1e-12 * np.abs(matrix).max():
        matrix = matrix / matrix[2, 2]
    return np.asarray(matrix)


def facing(matrix: ArrayLike, pixels: ArrayLike) -> BoolArray:
    """Which pixels `(..., 2)` see the ground: those on the lowest one's side of the horizon.

    >>> facing([[1, 0, 0], [0, 1, 0], [0, 0.1, -1]], [[0, 5], [0, 15], [0, 30]]).tolist()
    [False, True, True]
    """
    given = np.asarray(pixels, dtype=np.float64)
    last = _homogeneous(np.asarray(matrix, dtype=np.float64), given)[..., 2]
    side = np.sign(last.ravel()[np.argmax(given[..., 1])])
    return np.asarray(side * last > 1e-12 * np.abs(last).max(initial=1e-300))


def _homogeneous(matrix: Array, points: ArrayLike) -> Array:
    given = np.asarray(points, dtype=np.float64)
    return np.asarray(given @ matrix[:, :2].T + matrix[:, 2])


def _regular(matrix: Array) -> Array:
    if _singular(matrix):
        raise InputError("homography: it is singular, the whole image would fall on a line")
    return matrix


def _singular(matrix: Array) -> bool:
    # Rows of a map from pixels to metres differ by powers of the image's size: compare with their product.
    return not abs(np.linalg.det(matrix)) > 1e-13 * np.prod(np.linalg.norm(matrix, axis=1))
