"""The QuTem distribution of rotations (Courty 2013, 3.1.3): Gaussian in the tangent space at its mode."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked
from marey._random import Rng, as_generator
from marey.errors import InputError
from marey.geometry import rotations as so3


def sample_qutem(
    mode: ArrayLike, covariance: ArrayLike, count: int, *, rng: Rng, beyond: str = "wrap"
) -> Array:
    """Unit quaternions `(count, 4)` around a mode. Cost: three normal numbers, a sine and a cosine each.

    Args:
        mode: `(4,)`, a rotation.
        covariance: `(3, 3)`, of the half rotation vector, radians², as the distribution is defined on the
            sphere of quaternions.
        beyond: what becomes of draws more than half a turn away from the mode (half angle above π/2): "wrap"
            onto the hemisphere, which is the same rotation with the other sign, or "redraw" them.

    >>> q = sample_qutem([1, 0, 0, 0], 0.01 * np.eye(3), 1000, rng=0)
    >>> q.shape, bool((q[:, 0] >= 0).all()), bool(abs(0.5 * so3.log(q).std() - 0.1) < 0.01)
    ((1000, 4), True, True)
    """
    if beyond not in ("wrap", "redraw"):
        raise InputError(f"beyond {beyond!r}: one of wrap, redraw")
    middle = so3.normalise(checked("mode", mode, (4,)))
    shape = checked("covariance", covariance, (3, 3))
    values, axes = np.linalg.eigh(shape)
    if not np.allclose(shape, shape.T) or values.min() < -1e-12:
        raise InputError("covariance: must be symmetric and not negative")
    rng = as_generator(rng)
    factor = axes * np.sqrt(np.maximum(values, 0.0))
    half = rng.standard_normal((count, 3)) @ factor.T
    if beyond == "redraw":
        while (far := np.linalg.norm(half, axis=1) > np.pi / 2).any():
            half[far] = rng.standard_normal((int(far.sum()), 3)) @ factor.T
    turn = so3.exp(2.0 * half)
    turn[turn[:, 0] < 0] *= -1.0
    return so3.multiply(middle, turn)
