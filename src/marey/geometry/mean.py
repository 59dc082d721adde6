"""The intrinsic (Karcher, Fréchet) mean of rotations, joint by joint, with a report on itself.

It minimises the mean squared geodesic distance by fixed-point steps mu <- mu exp(mean log(mu^-1 q))
from the eigenvector of sum q q^T (Tournier 2011, sections 7.3 and 8.1.1, with the 1/m the step needs).
Cost: one product and one logarithm a sample and iteration; joints that have converged drop out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry._arrays import Array, dot, length, quaternions, time_axis

# Samples farther than this from the mean are about to jump to the other side of the logarithm.
_WRAP_HAZARD = 2.8


@dataclass(frozen=True)
class KarcherMean:
    """A mean rotation for each joint (or whatever the leading axes are), and how far to trust it.

    `residual` is the length of the last mean logarithm, i.e. of the gradient, in radians; `radius` the
    largest distance of a sample from the mean. `unique` holds where the radius is below pi / 2, which
    guarantees a single mean; beyond, it may be one of several. `wrap_hazard` marks joints with samples
    more than 2.8 rad away, whose logarithms may jump between opposite sides.
    """

    mean: Array  # (..., 4)
    iterations: np.ndarray  # (...), whole numbers
    residual: Array  # (...)
    converged: np.ndarray  # (...), true or false
    radius: Array  # (...), radians

    @property
    def unique(self) -> np.ndarray:
        return np.asarray(self.radius < 0.5 * np.pi)

    @property
    def wrap_hazard(self) -> np.ndarray:
        return np.asarray(self.radius > _WRAP_HAZARD)


def karcher_mean(
    q: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    axis: int = 0,
    tolerance: float = 1e-12,
    max_iterations: int = 100,
) -> KarcherMean:
    """Mean over one `axis` of rotations, such as `(frames, joints, 4)` over frames to `(joints, 4)`.

    `weights` `(frames,)` count samples more or less; the joints are independent. The mean is returned
    on the side of the first sample.

    >>> turns = rot.exp([[0.0, 0.1, 0.0], [0.0, 0.2, 0.0], [0.0, 0.6, 0.0]])
    >>> result = karcher_mean(turns)
    >>> rot.log(result.mean).round(12) + 0.0, bool(result.converged)
    (array([0. , 0.3, 0. ]), True)
    """
    q = quaternions(q)
    samples = np.moveaxis(q, time_axis(axis, q), 0)
    joints = samples.shape[1:-1]
    share = _shares(weights, len(samples))
    samples = rot.normalise(samples.reshape(len(samples), math.prod(joints), 4))

    mean = _eigenvector_mean(samples, share)
    gradient, cost = _gradient(mean, samples, share)
    step = np.ones(len(mean))
    iterations = np.zeros(len(mean), dtype=int)
    active = np.flatnonzero(length(gradient) > tolerance)
    for _ in range(max_iterations):
        if not active.size:
            break
        trial = rot.multiply(mean[active], rot.exp(step[active, None] * gradient[active]))
        trial_gradient, trial_cost = _gradient(trial, samples[:, active], share)
        iterations[active] += 1
        # The allowance is rounding: near the end the cost no longer shows the progress.
        better = trial_cost <= cost[active] * (1.0 + 1e-13)
        accepted = active[better]
        mean[accepted], gradient[accepted], cost[accepted] = (
            trial[better],
            trial_gradient[better],
            trial_cost[better],
        )
        step[active] = np.where(better, 1.0, 0.5 * step[active])
        active = active[length(gradient[active]) > tolerance]

    mean = rot.normalise(mean)
    mean *= np.where(dot(mean, samples[0]) < 0.0, -1.0, 1.0)[:, None]
    residual = length(gradient)
    return KarcherMean(
        mean=mean.reshape(*joints, 4),
        iterations=iterations.reshape(joints),
        residual=residual.reshape(joints),
        converged=(residual <= tolerance).reshape(joints),
        radius=rot.distance(mean, samples[share > 0.0]).max(axis=0).reshape(joints),
    )


def _shares(weights: ArrayLike | None, count: int) -> Array:
    """Weights that sum to one."""
    if count == 0:
        raise InputError("the mean of no rotations is not defined: give at least one sample")
    if weights is None:
        return np.full(count, 1.0 / count)
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (count,):
        raise InputError(f"weights must have shape ({count},), one for each sample, found {share.shape}")
    if not (np.isfinite(share).all() and (share >= 0.0).all() and share.sum() > 0.0):
        raise InputError("weights must be finite, not negative, and not all zero")
    return share / share.sum()


def _eigenvector_mean(samples: Array, share: Array) -> Array:
    """The best mean in the sense of chords: it sees only q q^T, so signs do not matter."""
    moments = np.einsum("m,mji,mjk->jik", share, samples, samples, optimize=True)
    return np.ascontiguousarray(np.linalg.eigh(moments).eigenvectors[..., -1])


def _gradient(mean: Array, samples: Array, share: Array) -> tuple[Array, Array]:
    """Mean logarithm at `mean` (joints, 3), and the mean squared distance (joints,)."""
    logs = rot.log(rot.multiply(rot.inverse(mean), samples))
    return np.einsum("m,mji->ji", share, logs), np.einsum("m,mji,mji->j", share, logs, logs)
