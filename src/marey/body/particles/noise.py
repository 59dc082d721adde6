"""Noise on rotations: Gaussian in the tangent space at a mode, the QuTem law (Courty 2013, section 3.1.3).

A rotation is drawn as `mode · exp(v)` with `v ~ N(0, Σ)`. The covariance says how many ways a joint may turn:
three large eigenvalues make a ball joint, two a saddle, one a hinge, and tiny ones leave it a little give.
Cost: three normal numbers, a sine and a cosine a draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, FloatArray, assign, checked
from marey.errors import InputError
from marey.geometry import rotations as so3

HALF_TURN = np.pi / 2


def sample_qutem(
    mode: ArrayLike,
    covariance: ArrayLike,
    count: int,
    *,
    rng: np.random.Generator | int,
    beyond: str = "wrap",
) -> Array:
    """Unit quaternions `(count, 4)` around a mode.

    mode: `(4,)`; covariance: `(3, 3)`, of the half rotation vector, radians², as the law is defined on the
        sphere of quaternions
    beyond: what becomes of draws more than half a turn away from the mode (half angle above π/2): "wrap"
        onto the hemisphere, which is the same rotation with the other sign, or "redraw" them

    >>> q = sample_qutem([1, 0, 0, 0], 0.01 * np.eye(3), 1000, rng=0)
    >>> q.shape, bool((q[:, 0] >= 0).all()), bool(abs(so3.half_log(q).std() - 0.1) < 0.01)
    ((1000, 4), True, True)
    """
    if beyond not in ("wrap", "redraw"):
        raise InputError(f"beyond {beyond!r}: one of wrap, redraw")
    middle = so3.normalise(checked("mode", mode, (4,)))
    shape = checked("covariance", covariance, (3, 3))
    values, axes = np.linalg.eigh(shape)
    if not np.allclose(shape, shape.T) or values.min() < -1e-12:
        raise InputError("covariance: must be symmetric and not negative")
    rng = np.random.default_rng(rng)
    factor = axes * np.sqrt(np.maximum(values, 0.0))
    half = rng.standard_normal((count, 3)) @ factor.T
    if beyond == "redraw":
        while (far := np.linalg.norm(half, axis=1) > HALF_TURN).any():
            half[far] = rng.standard_normal((int(far.sum()), 3)) @ factor.T
    turn = so3.exp(2.0 * half)
    turn[turn[:, 0] < 0] *= -1.0
    return so3.multiply(middle, turn)


@dataclass(frozen=True, eq=False)
class JointNoise:
    """How readily each joint turns, as deviations along three axes of its own.

    frames: `(joints, 4)`, rotations that take x, y, z to the axes
    deviations: `(joints, 3)`, standard deviations along them; 1 is a free way to turn, 0 none

    >>> hinge = JointNoise([[1, 0, 0, 0]], [[1, 0, 0]])
    >>> hinge.covariances()[0].tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """

    frames: FloatArray
    deviations: FloatArray

    def __post_init__(self) -> None:
        deviations = checked("deviations", self.deviations, (None, 3))
        if (deviations < 0).any():
            raise InputError("deviations: must not be negative")
        assign(self, deviations=deviations, frames=checked("frames", self.frames, (len(deviations), 4)))

    @property
    def freedoms(self) -> int:
        """Ways to turn of all joints together: deviations of at least a tenth."""
        return int((self.deviations >= 0.1).sum())

    def covariances(self) -> Array:
        """Covariance `(joints, 3, 3)` of each joint's rotation vector."""
        axes = so3.rotate(self.frames[:, None], np.eye(3))
        return np.einsum("jik,ji,jil->jkl", axes, self.deviations**2, axes)
