"""Rotations as unit quaternions (w, x, y, z), on arrays of any leading shape.

Arguments broadcast like NumPy's; q and -q are the same rotation and every function but `continuous`
treats them so. Tangent vectors are rotation vectors, axis times full angle in radians (Tournier 2011,
sections 5.2-5.3); the half angle of Courty 2013, section 2.1.1, is `half_log`. Each function costs one
pass over its arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey.errors import InputError
from marey.geometry._arrays import Array, quaternions, vectors
from marey.geometry.euler import from_euler, to_euler, unwrap_euler
from marey.geometry.matrices import from_matrix, hat, to_matrix, vee

__all__ = [
    "between",
    "continuous",
    "distance",
    "exp",
    "from_euler",
    "from_matrix",
    "half_log",
    "hat",
    "identity",
    "inverse",
    "log",
    "multiply",
    "normalise",
    "pose_distance",
    "random",
    "rotate",
    "slerp",
    "swing_twist",
    "to_euler",
    "to_matrix",
    "unwrap",
    "unwrap_euler",
    "vee",
    "weighted_distance",
]


def identity(shape: int | tuple[int, ...] = ()) -> Array:
    """Rotations that do nothing, `(*shape, 4)`.

    >>> identity(2)
    array([[1., 0., 0., 0.],
           [1., 0., 0., 0.]])
    """
    q = np.zeros((*np.atleast_1d(shape).astype(int), 4))
    q[..., 0] = 1.0
    return q


def random(shape: int | tuple[int, ...] = (), *, rng: np.random.Generator | int) -> Array:
    """Uniformly distributed rotations `(*shape, 4)`.

    >>> random((5, 2), rng=0).shape
    (5, 2, 4)
    """
    generator = np.random.default_rng(rng)
    return normalise(generator.standard_normal((*np.atleast_1d(shape).astype(int), 4)))


def multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """The rotation `a` after `b`: Hamilton products `(..., 4)`.

    >>> multiply([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0])
    array([0., 0., 0., 1.])
    """
    a, b = quaternions(a), quaternions(b)
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    out = np.empty((*np.broadcast_shapes(a.shape[:-1], b.shape[:-1]), 4))
    out[..., 0] = aw * bw - ax * bx - ay * by - az * bz
    out[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    out[..., 2] = aw * by - ax * bz + ay * bw + az * bx
    out[..., 3] = aw * bz + ax * by - ay * bx + az * bw
    return out


def inverse(q: ArrayLike) -> Array:
    """The opposite rotation: conjugates `(..., 4)` of unit quaternions.

    >>> multiply(inverse(exp([0.1, 0.2, 0.3])), exp([0.1, 0.2, 0.3])).round(12) + 0.0
    array([1., 0., 0., 0.])
    """
    return quaternions(q) * _CONJUGATE


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Vectors `(..., 3)` turned by unit quaternions `(..., 4)`.

    >>> rotate(exp([0.0, 0.0, np.pi / 2]), [1.0, 0.0, 0.0]).round(12) + 0.0
    array([0., 1., 0.])
    """
    q, v = quaternions(q), vectors(v)
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    vx, vy, vz = v[..., 0], v[..., 1], v[..., 2]
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    out = np.empty((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), 3))
    out[..., 0] = vx + w * tx + (y * tz - z * ty)
    out[..., 1] = vy + w * ty + (z * tx - x * tz)
    out[..., 2] = vz + w * tz + (x * ty - y * tx)
    return out


def normalise(q: ArrayLike) -> Array:
    """Quaternions `(..., 4)` scaled to unit length.

    >>> normalise([2.0, 0.0, 0.0, 0.0])
    array([1., 0., 0., 0.])
    """
    q = quaternions(q)
    length = np.sqrt(np.einsum("...i,...i->...", q, q))
    usable = (length > 0.0) & np.isfinite(length)
    if not usable.all():
        at = tuple(int(i) for i in np.argwhere(~usable)[0])
        raise InputError(f"the quaternion at index {at} has length {length[at]} and gives no rotation")
    return q / length[..., None]


def exp(rotation_vector: ArrayLike) -> Array:
    """Quaternions `(..., 4)` of rotation vectors `(..., 3)` (axis times full angle, radians).

    >>> exp([np.pi, 0.0, 0.0]).round(12)
    array([0., 1., 0., 0.])
    """
    v = vectors(rotation_vector, "rotation vectors")
    squared = np.einsum("...i,...i->...", v, v)
    half = 0.5 * np.sqrt(squared)
    small = squared < _SMALL
    # sin(angle / 2) / angle
    factor = np.where(small, 0.5 - squared / 48.0, 0.5 * np.sin(half) / np.where(small, 1.0, half))
    q = np.empty((*v.shape[:-1], 4))
    q[..., 0] = np.cos(half)
    q[..., 1:] = factor[..., None] * v
    return q


def log(q: ArrayLike) -> Array:
    """Rotation vectors `(..., 3)` of quaternions `(..., 4)`: axis times full angle, at most pi.

    Exact near 0 and near pi, the same for q and -q, indifferent to the length of q. At pi, where two
    axes are right, the one whose first non-zero component is positive.

    >>> log([0.0, 0.0, -1.0, 0.0]).round(6) + 0.0
    array([0.      , 3.141593, 0.      ])
    """
    q = quaternions(q)
    w, v = q[..., 0], q[..., 1:]
    squared = np.einsum("...i,...i->...", v, v)
    length = np.sqrt(squared)
    small = squared < _SMALL * w * w
    angle = 2.0 * np.arctan2(length, np.abs(w))
    ratio = np.where(small, length, 0.0) / np.where(small, np.abs(w), 1.0)
    series = (2.0 - ratio * ratio * (2.0 / 3.0)) / np.where(small, np.abs(w), 1.0)
    factor = np.where(small, series, angle / np.where(small, 1.0, length))
    return np.where(_points_backward(q), -factor, factor)[..., None] * v


def half_log(q: ArrayLike) -> Array:
    """Axis times *half* the angle `(..., 3)`: the quaternion logarithm, at most pi / 2 long.

    The two hemispheres agree, as the antipodal rule (w >= 0) asks. `exp(2 * half_log(q))` gives q back.

    >>> half_log([0.0, 0.0, 1.0, 0.0]).round(6)
    array([0.      , 1.570796, 0.      ])
    """
    return 0.5 * log(q)


def distance(a: ArrayLike, b: ArrayLike) -> Array:
    """Angle `(...)` of the rotation from `a` to `b`, in [0, pi]: the geodesic distance.

    >>> float(distance(exp([0.0, 0.2, 0.0]), exp([0.0, 0.5, 0.0])).round(12))
    0.3
    """
    near, far = _chords(quaternions(a), quaternions(b))
    return np.asarray(4.0 * np.arctan2(np.sqrt(near), np.sqrt(far)))


def weighted_distance(a: ArrayLike, b: ArrayLike, weights: ArrayLike = 1.0) -> Array:
    """Cheap dissimilarity `weights * (1 - |a . b|)`, in [0, weights]; not proportional to the angle.

    >>> float(weighted_distance([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], 3.0))
    3.0
    """
    near, _ = _chords(quaternions(a), quaternions(b))
    return np.asarray(np.asarray(weights, dtype=np.float64) * 0.5 * near)


def pose_distance(a: ArrayLike, b: ArrayLike, weights: ArrayLike = 1.0) -> Array:
    """Distance `(...)` of poses `(..., joints, 4)`: root of the weighted sum of squared joint angles.

    >>> float(pose_distance(identity(2), exp([[0.3, 0.0, 0.0], [0.0, 0.4, 0.0]])).round(12))
    0.5
    """
    angles = distance(a, b)
    if angles.ndim == 0:
        raise InputError("poses must have shape (..., joints, 4), found a single rotation")
    return np.asarray(np.sqrt((np.asarray(weights, dtype=np.float64) * angles**2).sum(axis=-1)))


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """The point at share `t` of the shorter great arc from `a` to `b`; `t` has their leading shape.

    `t` outside [0, 1] goes on along the arc. The result is on the side of `a`.

    >>> log(slerp(identity(), exp([1.0, 0.0, 0.0]), [0.0, 0.25, 1.0])).round(12)
    array([[0.  , 0.  , 0.  ],
           [0.25, 0.  , 0.  ],
           [1.  , 0.  , 0.  ]])
    """
    a, b, t = quaternions(a), quaternions(b), np.asarray(t, dtype=np.float64)
    dot = np.einsum("...i,...i->...", a, b)
    near, far = _chords(a, b)
    arc = 2.0 * np.arctan2(np.sqrt(near), np.sqrt(far))
    sine = np.sin(arc)
    together = sine < _TINY
    divisor = np.where(together, 1.0, sine)
    from_a = np.where(together, 1.0 - t, np.sin((1.0 - t) * arc) / divisor)
    from_b = np.where(together, t, np.sin(t * arc) / divisor)
    return from_a[..., None] * a + np.where(dot < 0.0, -from_b, from_b)[..., None] * b


def continuous(q: ArrayLike, axis: int = 0) -> Array:
    """The same rotations with signs chosen so that neighbours along the time `axis` are closest.

    >>> continuous([[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]])
    array([[ 1.,  0.,  0.,  0.],
           [ 1., -0., -0., -0.]])
    """
    q = quaternions(q)
    time = _time_axis(axis, q)
    series = np.moveaxis(q, time, 0)
    flips = np.einsum("...i,...i->...", series[1:], series[:-1]) < 0.0
    signs = np.ones(series.shape[:-1])
    signs[1:] -= 2.0 * (np.cumsum(flips, axis=0) % 2)
    return q * np.moveaxis(signs[..., None], 0, time)


def unwrap(rotation_vectors: ArrayLike, axis: int = 0) -> Array:
    """The same rotations as rotation vectors `(..., 3)` that do not jump along the time `axis`.

    Each sample takes, of all vectors that differ by full turns about its axis, the one nearest to the
    sample before; lengths may so exceed pi.

    >>> unwrap([[3.1, 0.0, 0.0], [-3.1, 0.0, 0.0]]).round(6)
    array([[ 3.1     ,  0.      ,  0.      ],
           [ 3.183185, -0.      , -0.      ]])
    """
    v = vectors(rotation_vectors, "rotation vectors")
    time = _time_axis(axis, v)
    series = np.moveaxis(v, time, 0).copy()
    angle = np.sqrt(np.einsum("...i,...i->...", series, series))
    direction = series / np.where(angle > 0.0, angle, 1.0)[..., None]
    # A sample can only move if it would move relative to its untouched predecessor, or if that moved.
    turns = _turns_towards(series[:-1], direction[1:], angle[1:])
    moving = np.flatnonzero(turns.any(axis=tuple(range(1, turns.ndim))))
    for frame in range(moving[0] + 1 if moving.size else len(series), len(series)):
        before = series[frame - 1]
        length = np.sqrt(np.einsum("...i,...i->...", before, before))[..., None]
        ahead = np.where(
            angle[frame][..., None] > 0.0, direction[frame], before / np.where(length > 0.0, length, 1.0)
        )
        turn = _turns_towards(before, ahead, angle[frame])
        series[frame] = (angle[frame] + 2.0 * np.pi * turn)[..., None] * ahead
    return np.moveaxis(series, 0, time)


def between(u: ArrayLike, v: ArrayLike) -> Array:
    """The smallest rotations `(..., 4)` that turn the directions `u` into the directions `v`.

    Opposite directions give a half turn about some axis at right angles; a zero vector gives identity.

    >>> between([1.0, 0.0, 0.0], [0.0, 2.0, 0.0]).round(6) + 0.0
    array([0.707107, 0.      , 0.      , 0.707107])
    """
    u, v = np.broadcast_arrays(vectors(u), vectors(v))
    u, v, given = _directions(u, v)
    total, difference = u + v, v - u
    sum_squared = np.einsum("...i,...i->...", total, total)
    difference_squared = np.einsum("...i,...i->...", difference, difference)
    # Near opposite (equal) vectors their sum (difference) is exact where their cross product is not.
    axis = np.cross(u, np.where((sum_squared < difference_squared)[..., None], total, difference))
    length = np.sqrt(np.einsum("...i,...i->...", axis, axis))
    aligned = length < _TINY
    axis = np.where(aligned[..., None], _perpendicular(u), axis)
    length = np.where(aligned, 1.0, length)
    q = np.empty((*u.shape[:-1], 4))
    q[..., 0] = 0.5 * np.sqrt(sum_squared)
    q[..., 1:] = (0.5 * np.sqrt(difference_squared) / length)[..., None] * axis
    return np.where(given[..., None], normalise(np.where(given[..., None], q, _IDENTITY)), _IDENTITY)


def swing_twist(q: ArrayLike, axis: ArrayLike) -> tuple[Array, Array]:
    """Split `q = swing * twist`: the twist turns about `axis` `(..., 3)`, the swing at right angles.

    For a half turn at right angles to the axis every twist fits; identity is taken.

    >>> swing, twist = swing_twist(multiply(exp([0.0, 0.0, 0.4]), exp([0.3, 0.0, 0.0])), [1.0, 0.0, 0.0])
    >>> log(swing).round(12) + 0.0, log(twist).round(12) + 0.0
    (array([0. , 0. , 0.4]), array([0.3, 0. , 0. ]))
    """
    q, axis = quaternions(q), vectors(axis, "axes")
    length = np.sqrt(np.einsum("...i,...i->...", axis, axis))
    if not (length > 0.0).all():
        raise InputError("swing_twist needs axes of non-zero length")
    along = axis / length[..., None]
    w, s = np.broadcast_arrays(q[..., 0], np.einsum("...i,...i->...", q[..., 1:], along))
    twist = np.concatenate([w[..., None], s[..., None] * along], axis=-1)
    size = np.hypot(w, s)[..., None]
    twist = np.where(size < _TINY, _IDENTITY, twist / np.where(size < _TINY, 1.0, size))
    return multiply(q, inverse(twist)), twist


# Squared angles below which two terms of a series are exact to the last digit.
_SMALL = 1e-10
# Lengths at or below which a direction is not known.
_TINY = 1e-150
_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def _points_backward(q: Array) -> np.ndarray:
    """Where -q is the representative: w < 0, or w = 0 and the first non-zero component negative."""
    w = q[..., 0]
    backward = w < 0.0
    half_turn = w == 0.0
    if half_turn.any():
        x, y, z = q[..., 1], q[..., 2], q[..., 3]
        leading = np.where(x != 0.0, x, np.where(y != 0.0, y, z))
        backward = np.where(half_turn, leading < 0.0, backward)
    return backward


def _chords(a: Array, b: Array) -> tuple[Array, Array]:
    """Squared chord lengths from a to the nearer and to the farther of b and -b."""
    minus, plus = a - b, a + b
    difference = np.einsum("...i,...i->...", minus, minus)
    total = np.einsum("...i,...i->...", plus, plus)
    return np.minimum(difference, total), np.maximum(difference, total)


def _time_axis(axis: int, array: Array) -> int:
    if array.ndim < 2 or not -array.ndim <= axis < array.ndim or axis % array.ndim == array.ndim - 1:
        raise InputError(f"axis {axis} is not a time axis of an array of shape {array.shape}")
    return axis % array.ndim


def _turns_towards(before: Array, direction: Array, angle: Array) -> Array:
    """Full turns to add to `angle` along `direction` to come nearest to `before`."""
    along = np.einsum("...i,...i->...", before, direction)
    return np.round((along - angle) / (2.0 * np.pi))


def _directions(u: Array, v: Array) -> tuple[Array, Array, np.ndarray]:
    """Unit vectors, and where both were given."""
    u_length = np.sqrt(np.einsum("...i,...i->...", u, u))[..., None]
    v_length = np.sqrt(np.einsum("...i,...i->...", v, v))[..., None]
    given = (u_length > 0.0) & (v_length > 0.0)
    return (
        np.where(given, u / np.where(given, u_length, 1.0), 0.0),
        np.where(given, v / np.where(given, v_length, 1.0), 0.0),
        given[..., 0],
    )


def _perpendicular(u: Array) -> Array:
    """Some unit vector at right angles to each u: cross with the coordinate axis least along it."""
    other = np.zeros(u.shape)
    np.put_along_axis(other, np.abs(u).argmin(axis=-1)[..., None], 1.0, axis=-1)
    perpendicular = np.cross(u, other)
    length = np.sqrt(np.einsum("...i,...i->...", perpendicular, perpendicular))
    return perpendicular / np.where(length > 0.0, length, 1.0)[..., None]
