"""A flat ground seen by a camera: pixels to metres and back by a `(3, 3)` matrix, positions and velocities.

Courty & Corpetti 2007, section 4.1, take a camera that is far away (:func:`orthographic`) or one that is
calibrated; here also one of which four or more points on the ground are known (:func:`fit`: normalised
direct linear transform, then Gauss–Newton on the distance in the picture). Cost: linear in the points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import FloatArray, assign, checked
from marey.errors import InputError

Array = NDArray[np.float64]

# In normalised coordinates; below, a second homography fits the points as well as the first.
SMALLEST_SPREAD = 1e-7
ITERATIONS = 30


@dataclass(frozen=True, eq=False)
class Homography:
    """A camera of which only the map from its picture to the ground is known.

    matrix: `(3, 3)`, image `(column, row, 1)` to ground `(x, y, 1)` in metres
    name: what to call it

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
        """The matrix, under the name it has in :class:`marey.crowd.camera.Camera`."""
        return np.asarray(self.matrix, dtype=np.float64)

    def to_ground(self, pixels: ArrayLike) -> Array:
        """Ground `(..., 2)` metres of pixels `(..., 2)`."""
        return apply(self.matrix, pixels)

    def to_image(self, points: ArrayLike) -> Array:
        """Pixels `(..., 2)` of ground points `(..., 2)` metres."""
        return apply(inverse(self.matrix), points)


def apply(matrix: ArrayLike, points: ArrayLike) -> Array:
    """Points `(..., 2)` through a homography: `(..., 2)`; NaN on the line that goes to infinity.

    >>> apply([[2, 0, 1], [0, 2, 0], [0, 0, 1]], [1.0, 1.0]).tolist()
    [3.0, 2.0]
    """
    through = _homogeneous(np.asarray(matrix, dtype=np.float64), points)
    last = through[..., 2:]
    return np.asarray(through[..., :2] / np.where(np.abs(last) > 1e-300, last, np.nan))


def inverse(matrix: ArrayLike) -> Array:
    """The way back, `(3, 3)`."""
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


def image_velocities(
    matrix: ArrayLike, points: ArrayLike, velocities: ArrayLike, *, frame_rate: float
) -> Array:
    """Pixels per frame `(..., 2)` of ground points `(..., 2)` that move by metres per second `(..., 2)`.

    >>> image_velocities(orthographic(0.1), [0.0, 0.0], [2.0, 0.0], frame_rate=10).round(12).tolist()
    [2.0, 0.0]
    """
    moved = jacobian(inverse(matrix), points) @ np.asarray(velocities, dtype=np.float64)[..., None]
    return np.asarray(moved[..., 0] / frame_rate)


def orthographic(metres_per_pixel: float, *, rotation: float = 0.0, offset: ArrayLike = (0.0, 0.0)) -> Array:
    """The map `(3, 3)` of a camera far above: rows go down, y goes up.

    rotation: radians, counter-clockwise seen from above
    offset: `(2,)` metres, the ground under pixel (0, 0)

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

    With more than four, squared distances in the picture are least: clicks are what is uncertain.

    >>> corners = [[0, 0], [100, 0], [100, 50], [0, 50]]
    >>> matrix = fit(corners, [[0, 5], [10, 5], [9, 0], [1, 0]])
    >>> bool(np.allclose(apply(matrix, corners), [[0, 5], [10, 5], [9, 0], [1, 0]]))
    True
    """
    seen, known = checked("pixels", pixels, (None, 2)), checked("ground", ground, (None, 2))
    if len(seen) != len(known):
        raise InputError(f"homography: {len(seen)} pixels and {len(known)} places on the ground")
    if len(seen) < 4:
        raise InputError(f"homography: at least four points are needed, there are {len(seen)}")
    to_seen, to_known = _normaliser("pixels", seen), _normaliser("ground", known)
    image, plane = apply(to_seen, seen), apply(to_known, known)
    to_image = _refined(_direct(plane, image), plane, image)
    matrix = np.linalg.inv(to_known) @ np.linalg.inv(to_image) @ to_seen
    if abs(matrix[2, 2]) > 1e-12 * np.abs(matrix).max():
        matrix = matrix / matrix[2, 2]
    return np.asarray(_regular(matrix))


def facing(matrix: ArrayLike, pixels: ArrayLike) -> NDArray[np.bool_]:
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
    size = np.abs(matrix).max()
    # Rows of a map from pixels to metres differ by powers of the picture's size: compare with their product.
    rows = np.prod(np.linalg.norm(matrix, axis=1))
    if not size > 0 or abs(np.linalg.det(matrix)) <= 1e-13 * rows:
        raise InputError("homography: it is singular, the whole picture would fall on a line")
    return matrix


def _normaliser(name: str, points: Array) -> Array:
    """The similarity that brings points `(n, 2)` to mean 0 and mean distance √2."""
    middle = points.mean(axis=0)
    distance = np.linalg.norm(points - middle, axis=1).mean()
    if not distance > 1e-12 * max(1.0, np.abs(points).max()):
        raise InputError(f"homography: the {name} all fall on one point")
    scale = np.sqrt(2.0) / distance
    return np.array([[scale, 0, -scale * middle[0]], [0, scale, -scale * middle[1]], [0, 0, 1.0]])


def _direct(source: Array, target: Array) -> Array:
    """Direct linear transform: the null vector of the cross products of target and mapped source."""
    count = len(source)
    from_ = np.column_stack([source, np.ones(count)])
    system = np.zeros((2 * count, 9))
    system[:count, 0:3], system[:count, 6:9] = from_, -target[:, :1] * from_
    system[count:, 3:6], system[count:, 6:9] = from_, -target[:, 1:] * from_
    _, sizes, directions = np.linalg.svd(system)
    matrix = directions[-1].reshape(3, 3)
    if sizes[7] < SMALLEST_SPREAD * sizes[0] or abs(np.linalg.det(matrix)) < SMALLEST_SPREAD:
        raise InputError(
            "homography: the points do not fix it, three of four lie on a line (or two on one spot); "
            "give points that span the ground"
        )
    return np.asarray(matrix)


def _refined(matrix: Array, source: Array, target: Array) -> Array:
    """Gauss–Newton with falling damping on the distances of mapped source and target."""
    count, damping = len(source), 1e-6
    from_ = np.column_stack([source, np.ones(count)])
    matrix = matrix / np.linalg.norm(matrix)
    error = apply(matrix, source) - target
    for _ in range(ITERATIONS):
        last = (from_ @ matrix[2])[:, None]
        slope = np.zeros((count, 2, 9))
        slope[:, 0, 0:3] = slope[:, 1, 3:6] = from_ / last
        slope[:, :, 6:9] = -((error + target) / last)[:, :, None] * from_[:, None, :]
        rows = slope.reshape(-1, 9)
        normal = rows.T @ rows + damping * np.eye(9)
        step = np.linalg.solve(normal, -rows.T @ error.ravel())
        proposal = matrix + step.reshape(3, 3)
        proposal /= np.linalg.norm(proposal)
        found = apply(proposal, source) - target
        if np.sum(found**2) < np.sum(error**2):
            gain = 1 - np.sum(found**2) / np.sum(error**2)
            matrix, error, damping = proposal, found, damping * 0.1
            if gain < 1e-14:
                break
        else:
            damping *= 10
            if damping > 1:
                break
    return np.asarray(matrix)
