"""The intrinsic (Karcher, Fréchet) mean of rotations and the logarithms at it (Tournier 2011, 7.3, 8.1.1).

Newton's method on the mean squared geodesic distance, joint by joint, from the eigenvector of Σ q qᵀ. The
second derivative follows from the same pass as the gradient (the derivative of log(exp(-d) exp(x)) by d is
-(I - hat(x)/2 + bend (n nᵀ - I)), with x = angle n and bend = 1 - (angle/2) cot(angle/2)), so three or four
passes do what the published fixed point needs ten for. Cost: 15 ns a rotation and pass once numba is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, IntArray
from marey.errors import InputError
from marey.geometry import rotations as rot
from marey.geometry._batch import dot, length, pays, quaternions, time_axis
from marey.geometry.rotations import like

_UPPER_3, _UPPER_4 = np.triu_indices(3), np.triu_indices(4)


@dataclass(frozen=True, eq=False)
class RotationMean:
    """A mean rotation for each joint (or whatever the leading axes are), and how far to trust it.

    Attributes:
        mean: `(..., 4)`, on the side of the first sample.
        logs: `(samples, ..., 3)`, rotation vectors from the mean to the samples in the mean's frame.
        radius: `(...)`, largest distance of a sample from the mean, radians.
        residual: `(...)`, length of the mean logarithm, i.e. of the gradient, radians.
        converged: `(...)`, whether that is below the tolerance.
        iterations: `(...)`, steps taken.
    """

    mean: Array
    logs: Array
    radius: Array
    residual: Array
    converged: BoolArray
    iterations: IntArray

    @property
    def unique(self) -> BoolArray:
        """Where the radius is below π / 2, which guarantees a single mean."""
        return np.asarray(self.radius < 0.5 * np.pi)


def rotation_mean(
    rotations: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    axis: int = 0,
    tolerance: float = 1e-12,
    max_iterations: int = 60,
) -> RotationMean:
    """Mean over one `axis` of rotations, such as `(frames, joints, 4)` over frames to `(joints, 4)`.

    Args:
        weights: `(frames,)`, count samples more or less; the joints are independent.
        tolerance: Length of the mean logarithm below which a mean has converged, radians.

    >>> turns = rot.exp([[0.0, 0.1, 0.0], [0.0, 0.2, 0.0], [0.0, 0.6, 0.0]])
    >>> found = rotation_mean(turns)
    >>> rot.log(found.mean).round(12) + 0.0, found.logs[:, 1].round(12), bool(found.converged)
    (array([0. , 0.3, 0. ]), array([-0.2, -0.1,  0.3]), True)
    """
    q = quaternions(rotations)
    samples = np.moveaxis(q, time_axis(axis, q), 0)
    joints = samples.shape[1:-1]
    share = _checked_weights(weights, len(samples))
    samples = np.ascontiguousarray(samples).reshape(len(samples), math.prod(joints), 4)
    if not np.abs(dot(samples, samples) - 1.0).max(initial=0.0) < 1e-12:
        samples = rot.normalise(samples)
    logs: Array = np.empty(0)
    at: Array = np.empty(0)

    def slopes(mean: Array) -> Slopes:
        nonlocal logs, at
        logs, sums = log_sums(mean, samples, share)
        at = mean
        return slopes_of(sums, float(share.sum()))

    start = chordal_mean(product_sums(samples, share))
    mean, found, iterations = newton_mean(start, slopes, tolerance=tolerance, most=max_iterations)
    if at is not mean:
        found = slopes(mean)
    residual = length(found.gradient)
    return RotationMean(
        mean=like(mean, samples[0]).reshape(*joints, 4),
        logs=logs.reshape(len(samples), *joints, 3),
        radius=found.radius.reshape(joints),
        residual=residual.reshape(joints),
        converged=(residual <= tolerance).reshape(joints),
        iterations=iterations.reshape(joints),
    )


class Slopes(NamedTuple):
    """The mean squared distance at a trial mean, joint by joint.

    Attributes:
        gradient: `(joints, 3)`, mean logarithm.
        curvature: `(joints, 3, 3)`, how the mean logarithm shrinks with a step of the mean.
        cost: `(joints,)`, mean squared distance.
        radius: `(joints,)`, largest distance, radians.
    """

    gradient: Array
    curvature: Array
    cost: Array
    radius: Array


def newton_mean(
    start: Array, slopes: Callable[[Array], Slopes], *, tolerance: float, most: int
) -> tuple[Array, Slopes, IntArray]:
    """The mean `(joints, 4)` from a start, the slopes there, and the steps of each joint.

    A call of `slopes` is a pass over the data. Joints whose distance grows take the plain step instead, and
    a shorter one each time it fails.
    """
    mean, here = start, slopes(start)
    reach, iterations = np.ones(len(start)), np.zeros(len(start), dtype=int)
    for _ in range(most):
        size = length(here.gradient)
        moving = size > tolerance
        if not moving.any():
            break
        iterations += moving
        # Where the second derivative is nearly singular, Newton's step is not to be trusted.
        curved = np.linalg.eigvalsh(0.5 * (here.curvature + np.swapaxes(here.curvature, 1, 2)))[:, 0]
        trusted = (curved > 0.15) & (reach == 1.0)
        matrix = np.where(trusted[:, None, None], here.curvature, np.eye(3))
        step = np.linalg.solve(matrix, here.gradient[..., None])[..., 0]
        step *= (reach * moving)[:, None]
        trial = rot.normalise(rot.multiply(mean, rot.exp(step)))
        there = slopes(trial)
        # The allowance is rounding: near the end the cost no longer shows the progress.
        better = there.cost <= here.cost * (1.0 + 1e-12) + 1e-30
        settled = moving & better & (size < 1e-10) & (length(there.gradient) >= size)
        if better.all():
            mean, here = trial, there
        else:
            mean = np.where(better[:, None], trial, mean)
            chosen = (better.reshape(-1, *[1] * (a.ndim - 1)) for a in here)
            here = Slopes(*(np.where(c, b, a) for c, a, b in zip(chosen, here, there, strict=True)))
        reach = np.where(better, np.minimum(1.0, 2.0 * reach), 0.5 * reach)
        if (settled | (reach < 1e-6))[moving].all():
            break
    return mean, here, iterations


def chordal_mean(products: Array) -> Array:
    """The mean in the sense of chords `(joints, 4)` of sums of q qᵀ `(10, joints)`: signs do not matter."""
    moments = np.zeros((products.shape[1], 4, 4))
    moments[:, _UPPER_4[0], _UPPER_4[1]] = products.T
    # eigh reads one triangle only.
    return np.ascontiguousarray(np.linalg.eigh(moments, UPLO="U").eigenvectors[..., -1])


def product_sums(rotations: Array, weights: Array) -> Array:
    """Weighted sums of the upper triangle of q qᵀ, `(10, joints)`, over rotations `(samples, joints, 4)`."""
    if pays(rotations.size // 4):
        from marey.geometry import _batch_kernels

        sums = np.zeros((10, rotations.shape[1]))
        _batch_kernels.sum_products(np.ascontiguousarray(rotations), weights, sums)
        return sums
    products = np.einsum("m,mji,mjk->ikj", weights, rotations, rotations, optimize=True)
    return np.ascontiguousarray(products[_UPPER_4])


def log_sums(mean: Array, rotations: Array, weights: Array) -> tuple[Array, Array]:
    """Logarithms at the mean `(samples, 3 joints)` and their sums `(12, joints)`, see :func:`slopes_of`."""
    samples, joints = rotations.shape[:2]
    if pays(samples * joints):
        from marey.geometry import _batch_kernels

        logs, sums = np.empty((samples, 3 * joints)), np.zeros((12, joints))
        _batch_kernels.sum_logarithms(
            np.ascontiguousarray(mean), np.ascontiguousarray(rotations), weights, logs, sums
        )
        return logs, sums
    vectors = rot.log(rot.multiply(rot.inverse(mean), rotations))
    squared = (vectors**2).sum(axis=-1)
    half = 0.5 * np.sqrt(squared)
    bend = np.where(half > 1e-4, 1.0 - half / np.tan(np.maximum(half, 1e-4)), squared / 12.0)
    share = weights[:, None] * bend / np.maximum(squared, 1e-300)
    outer = np.einsum("mj,mjp,mjq->pqj", share, vectors, vectors, optimize=True)[_UPPER_3]
    counted = squared[weights > 0.0]
    totals = [np.einsum("m,m...->...", weights, each) for each in (vectors, bend, squared)]
    sums = np.concatenate([totals[0].T, outer, [totals[1]], [totals[2]], [counted.max(axis=0, initial=0.0)]])
    return vectors.reshape(samples, 3 * joints), sums


def add_sums(total: Array, more: Array) -> Array:
    """The sums `(12, joints)` of two sets of samples."""
    return np.concatenate([total[:11] + more[:11], [np.maximum(total[11], more[11])]])


def slopes_of(sums: Array, weight: float) -> Slopes:
    """Slopes from sums `(12, joints)`: logarithms (3 rows), bend n nᵀ (6), bend, angle², largest angle²."""
    means = sums[:11] / weight
    gradient = np.ascontiguousarray(means[:3].T)
    outer = np.empty((len(gradient), 3, 3))
    outer[:, _UPPER_3[0], _UPPER_3[1]] = outer[:, _UPPER_3[1], _UPPER_3[0]] = means[3:9].T
    curvature = (1.0 - means[9])[:, None, None] * np.eye(3) + outer - 0.5 * rot.hat(gradient)
    return Slopes(gradient, curvature, means[10], np.sqrt(sums[11]))


def _checked_weights(weights: ArrayLike | None, count: int) -> Array:
    if count == 0:
        raise InputError("the mean of no rotations is not defined: give at least one sample")
    if weights is None:
        return np.ones(count)
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (count,):
        raise InputError(f"weights must have shape ({count},), one for each sample, found {share.shape}")
    if not (np.isfinite(share).all() and (share >= 0.0).all() and share.sum() > 0.0):
        raise InputError("weights must be finite, not negative, and not all zero")
    return np.ascontiguousarray(share / share.mean())
