"""Rotations as unit quaternions (w, x, y, z), on arrays of any leading shape.

Arguments broadcast like NumPy's; q and -q are the same rotation and every function but `continuous`
treats them so. Tangent vectors are rotation vectors, axis times full angle in radians (Tournier 2011,
sections 5.2-5.3); the quaternion logarithm of Courty 2013, section 2.1.1, is half of that. Over time,
`continuous` and `unwrap` take at each sample the representative nearest to the one before (section 2.1.1).
Each function costs one pass over its arrays; rotation vectors that leave the ball of radius pi are unwrapped
sample by sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.errors import InputError
from marey.geometry import _batch
from marey.geometry._batch import TINY, dot, length, quaternions, time_axis, vectors
from marey.geometry.matrices import from_euler, from_matrix, hat, to_euler, to_matrix, unwrap_euler

__all__ = [
    "between",
    "continuous",
    "distance",
    "exp",
    "from_euler",
    "from_matrix",
    "hat",
    "identity",
    "inverse",
    "log",
    "multiply",
    "normalise",
    "random",
    "rotate",
    "slerp",
    "swing_twist",
    "to_euler",
    "to_matrix",
    "unwrap",
    "unwrap_euler",
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
    if _batch.pays(max(a.size, b.size) // 4):
        return _batch.multiply(a, b)
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    w = aw * bw - ax * bx - ay * by - az * bz
    out = np.empty((*w.shape, 4))
    out[..., 0] = w
    out[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    out[..., 2] = aw * by - ax * bz + ay * bw + az * bx
    out[..., 3] = aw * bz + ax * by - ay * bx + az * bw
    return out


def inverse(q: ArrayLike) -> Array:
    """The opposite rotation: conjugates `(..., 4)` of unit quaternions.

    >>> multiply(inverse(exp([0.1, 0.2, 0.3])), exp([0.1, 0.2, 0.3])).round(12) + 0.0
    array([1., 0., 0., 0.])
    """
    return np.asarray(quaternions(q) * _CONJUGATE)


def rotate(q: ArrayLike, v: ArrayLike) -> Array:
    """Vectors `(..., 3)` turned by unit quaternions `(..., 4)`.

    >>> rotate(exp([0.0, 0.0, np.pi / 2]), [1.0, 0.0, 0.0]).round(12) + 0.0
    array([0., 1., 0.])
    """
    q, v = quaternions(q), vectors(v)
    if _batch.pays(max(q.size, v.size) // 4):
        return _batch.rotate(q, v)
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    vx, vy, vz = v[..., 0], v[..., 1], v[..., 2]
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    rx = vx + w * tx + (y * tz - z * ty)
    out = np.empty((*rx.shape, 3))
    out[..., 0] = rx
    out[..., 1] = vy + w * ty + (z * tx - x * tz)
    out[..., 2] = vz + w * tz + (x * ty - y * tx)
    return out


def normalise(q: ArrayLike) -> Array:
    """Quaternions `(..., 4)` scaled to unit length.

    >>> normalise([2.0, 0.0, 0.0, 0.0])
    array([1., 0., 0., 0.])
    """
    q = quaternions(q)
    size = length(q)
    usable = (size > 0.0) & np.isfinite(size)
    if not usable.all():
        at = tuple(int(i) for i in np.argwhere(~usable)[0])
        raise InputError(f"the quaternion at index {at} has length {size[at]} and gives no rotation")
    return q / size[..., None]


def exp(rotation_vector: ArrayLike) -> Array:
    """Quaternions `(..., 4)` of rotation vectors `(..., 3)` (axis times full angle, radians).

    >>> exp([np.pi, 0.0, 0.0]).round(12)
    array([0., 1., 0., 0.])
    """
    v = vectors(rotation_vector, "rotation vectors")
    if _batch.pays(v.size // 3):
        return _batch.exp(v)
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    angle = np.maximum(np.sqrt(x * x + y * y + z * z), TINY)
    # One tangent, t = tan(angle / 4), gives both: cos(angle / 2) = (1 - t^2) / (1 + t^2) = u - 1 and
    # sin(angle / 2) = 2 t / (1 + t^2) = t u.
    t = np.tan(0.25 * angle)
    u = 2.0 / (1.0 + t * t)
    q = np.empty((*v.shape[:-1], 4))
    q[..., 0] = u - 1.0
    q[..., 1:] = (t * u / angle)[..., None] * v
    return q


def log(q: ArrayLike) -> Array:
    """Rotation vectors `(..., 3)` of quaternions `(..., 4)`: axis times full angle, at most pi.

    Exact near 0 and near pi, the same for q and -q, indifferent to the length of q. At pi, where two
    axes are right, the one whose first non-zero component is positive.

    >>> log([0.0, 0.0, -1.0, 0.0]).round(6) + 0.0
    array([0.      , 3.141593, 0.      ])
    """
    q = quaternions(q)
    if _batch.pays(q.size // 4):
        return _batch.log(q)
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    sine = np.maximum(np.sqrt(x * x + y * y + z * z), TINY)
    factor = 2.0 * np.arctan2(sine, np.abs(w)) / sine
    return np.copysign(factor, w if w.all() else _leading(q))[..., None] * q[..., 1:]


def distance(a: ArrayLike, b: ArrayLike) -> Array:
    """Angle `(...)` of the rotation from `a` to `b`, in [0, pi]: the geodesic distance.

    >>> float(distance(exp([0.0, 0.2, 0.0]), exp([0.0, 0.5, 0.0])).round(12))
    0.3
    """
    near, far = _chords(quaternions(a), quaternions(b))
    return np.asarray(4.0 * np.arctan2(np.sqrt(near), np.sqrt(far)))


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> Array:
    """The point at share `t` of the shorter great arc from `a` to `b`; `t` has their leading shape.

    `t` outside [0, 1] goes on along the arc. The result is on the side of `a`.

    >>> log(slerp(identity(), exp([1.0, 0.0, 0.0]), [0.0, 0.25, 1.0])).round(12)
    array([[0.  , 0.  , 0.  ],
           [0.25, 0.  , 0.  ],
           [1.  , 0.  , 0.  ]])
    """
    a, b, t = quaternions(a), quaternions(b), np.asarray(t, dtype=np.float64)
    near, far = _chords(a, b)
    arc = 2.0 * np.arctan2(np.sqrt(near), np.sqrt(far))
    sine = np.sin(arc)
    together = sine < TINY
    divisor = np.where(together, 1.0, sine)
    from_a = np.where(together, 1.0 - t, np.sin((1.0 - t) * arc) / divisor)
    from_b = np.where(together, t, np.sin(t * arc) / divisor)
    return from_a[..., None] * a + np.where(dot(a, b) < 0.0, -from_b, from_b)[..., None] * b


def between(u: ArrayLike, v: ArrayLike) -> Array:
    """The smallest rotations `(..., 4)` that turn the directions `u` into the directions `v`.

    Opposite directions give a half turn about some axis at right angles; a zero vector gives identity.

    >>> between([1.0, 0.0, 0.0], [0.0, 2.0, 0.0]).round(6) + 0.0
    array([0.707107, 0.      , 0.      , 0.707107])
    """
    u, v = np.broadcast_arrays(_direction(vectors(u)), _direction(vectors(v)))
    total, difference = u + v, v - u
    cosine, sine = 0.5 * length(total), 0.5 * length(difference)
    # Near opposite (equal) vectors their sum (difference) is exact where their cross product is not.
    axis = np.cross(u, np.where((cosine < sine)[..., None], total, difference))
    axis = np.where((length(axis) < TINY)[..., None], _perpendicular(u), axis)
    q = np.empty((*u.shape[:-1], 4))
    q[..., 0] = cosine
    q[..., 1:] = sine[..., None] * _direction(axis)
    given = (dot(u, u) > 0.0) & (dot(v, v) > 0.0)
    return np.where(given[..., None], q, _IDENTITY)


def swing_twist(q: ArrayLike, axis: ArrayLike) -> tuple[Array, Array]:
    """Split `q = swing * twist`: the twist turns about `axis` `(..., 3)`, the swing at right angles.

    For a half turn at right angles to the axis every twist fits; identity is taken.

    >>> swing, twist = swing_twist(multiply(exp([0.0, 0.0, 0.4]), exp([0.3, 0.0, 0.0])), [1.0, 0.0, 0.0])
    >>> log(swing).round(12) + 0.0, log(twist).round(12) + 0.0
    (array([0. , 0. , 0.4]), array([0.3, 0. , 0. ]))
    """
    q, axis = quaternions(q), vectors(axis, "axes")
    if not (length(axis) > 0.0).all():
        raise InputError("swing_twist needs axes of non-zero length")
    along = _direction(axis)
    w, s = np.broadcast_arrays(q[..., 0], dot(q[..., 1:], along))
    twist = np.concatenate([w[..., None], s[..., None] * along], axis=-1)
    size = np.hypot(w, s)[..., None]
    twist = np.where(size < TINY, _IDENTITY, twist / np.maximum(size, TINY))
    return multiply(q, inverse(twist)), twist


_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])
_IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def _leading(q: Array) -> Array:
    """The first component that is not zero, whose sign distinguishes q from -q."""
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    return np.where(w != 0.0, w, np.where(x != 0.0, x, np.where(y != 0.0, y, z)))


def _chords(a: Array, b: Array) -> tuple[Array, Array]:
    """Squared chord lengths from a to the nearer and to the farther of b and -b."""
    minus, plus = a - b, a + b
    difference = dot(minus, minus)
    total = dot(plus, plus)
    return np.minimum(difference, total), np.maximum(difference, total)


def _direction(v: Array) -> Array:
    """Unit vectors; zero stays zero."""
    size = length(v)[..., None]
    return v / np.where(size > 0.0, size, 1.0)


def _perpendicular(u: Array) -> Array:
    """Some vector at right angles to each u: its cross product with the coordinate axis least along it."""
    other = np.zeros(u.shape)
    np.put_along_axis(other, np.abs(u).argmin(axis=-1)[..., None], 1.0, axis=-1)
    return np.cross(u, other)


def continuous(q: ArrayLike, axis: int = 0) -> Array:
    """The same rotations with signs chosen so that neighbours along the time `axis` are closest.

    >>> continuous([[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]])
    array([[ 1.,  0.,  0.,  0.],
           [ 1., -0., -0., -0.]])
    """
    q = quaternions(q)
    time = time_axis(axis, q)
    series = np.moveaxis(q, time, 0)
    flips = dot(series[1:], series[:-1]) < 0.0
    signs = np.ones(series.shape[:-1])
    signs[1:] -= 2.0 * (np.cumsum(flips, axis=0) % 2)
    return q * np.moveaxis(signs[..., None], 0, time)


def like(q: ArrayLike, reference: ArrayLike) -> Array:
    """The same rotations `(..., 4)`, each with the sign that brings it nearest to its `reference`.

    >>> like([[-1.0, 0.0, 0.0, 0.0]], [1.0, 0.0, 0.0, 0.0])
    array([[ 1., -0., -0., -0.]])
    """
    q, reference = quaternions(q), quaternions(reference)
    return np.where((dot(q, reference) < 0.0)[..., None], -q, q)


def unwrap(rotation_vectors: ArrayLike, axis: int = 0) -> Array:
    """The same rotations as rotation vectors `(..., 3)` that do not jump along the time `axis`.

    Each sample takes, of all vectors that differ by full turns about its axis, the one nearest to the
    sample before; lengths may so exceed pi.

    >>> unwrap([[3.1, 0.0, 0.0], [-3.1, 0.0, 0.0]]).round(6)
    array([[3.1     , 0.      , 0.      ],
           [3.183185, 0.      , 0.      ]])
    """
    v = vectors(rotation_vectors, "rotation vectors")
    time = time_axis(axis, v)
    series = np.moveaxis(v, time, 0).copy()
    # A sample can only move if it would move relative to its untouched predecessor, or if that moved.
    jumps = _nearest_turn(series[1:], series[:-1]) != series[1:]
    moving = np.flatnonzero(jumps.any(axis=tuple(range(1, jumps.ndim))))
    for frame in range(moving[0] + 1 if moving.size else len(series), len(series)):
        series[frame] = _nearest_turn(series[frame], series[frame - 1])
    return np.moveaxis(series, 0, time)


def _nearest_turn(v: Array, before: Array) -> Array:
    """Each v plus the whole turns about its own axis that bring it nearest to `before`."""
    # No rotation may turn about any axis: it takes the one of the sample before.
    pointing = np.where(length(v)[..., None] > 0.0, v, before)
    size = length(pointing)
    axis = pointing / np.where(size > 0.0, size, 1.0)[..., None]
    turns = np.round(dot(before - v, axis) / (2.0 * np.pi))
    return v + (2.0 * np.pi * turns)[..., None] * axis
