"""The intrinsic mean of many rotations and the logarithms at it, fast (Tournier 2011, sections 7.3, 8.1.1).

Newton's method on the mean squared distance, joint by joint, from the eigenvector of sum q q^T: the second
derivative follows from the same pass as the gradient (the derivative of log(exp(-d) exp(x)) by d is
-(I - hat(x)/2 + bend (n n^T - I)), with x = angle n and bend = 1 - (angle/2) cot(angle/2)), so three or four
passes do what the fixed point needs ten for. Cost: 15 ns a rotation and pass once numba is loaded.
:func:`marey.geometry.mean.karcher_mean` finds the same mean of few rotations and takes weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import checked
from marey.errors import InputError
from marey.geometry import _compiled
from marey.geometry import rotations as so3

Array = NDArray[np.float64]

TOLERANCE = 1e-11
MOST_PASSES = 60
# Where the second derivative is nearly singular, Newton's step is not to be trusted.
_LEAST_CURVATURE = 0.15
_UPPER_3, _UPPER_4 = np.triu_indices(3), np.triu_indices(4)


class Slopes(NamedTuple):
    """The mean squared distance at a trial mean, joint by joint.

    gradient: `(joints, 3)`, mean logarithm
    curvature: `(joints, 3, 3)`, how the mean logarithm shrinks with a step of the mean
    cost: `(joints,)`, mean squared distance
    radius: `(joints,)`, largest distance, radians
    """

    gradient: Array
    curvature: Array
    cost: Array
    radius: Array


class Centred(NamedTuple):
    """Rotations seen from their mean.

    mean: `(joints, 4)`; logs: `(samples, 3 joints)`; radius: `(joints,)`, largest distance, radians
    """

    mean: Array
    logs: Array
    radius: Array


def centred(rotations: ArrayLike) -> Centred:
    """Mean and logarithms of rotations `(samples, joints, 4)`; the mean is on the side of the first sample.

    >>> turns = so3.exp([[[0.0, 0.1, 0.0]], [[0.0, 0.2, 0.0]], [[0.0, 0.6, 0.0]]])
    >>> found = centred(turns)
    >>> so3.log(found.mean).round(12) + 0.0, found.logs[:, 1].round(12)
    (array([[0. , 0.3, 0. ]]), array([-0.2, -0.1,  0.3]))
    """
    samples = checked("rotations", rotations, (None, None, 4))
    if not len(samples):
        raise InputError("the mean of no rotations is not defined: give at least one sample")
    start = chordal_mean(product_sums(samples))
    logs: Array = np.empty(0)
    seen: Array = np.empty(0)

    def slopes(mean: Array) -> Slopes:
        nonlocal logs, seen
        seen = mean
        logs, sums = log_sums(mean, samples)
        return slopes_of(sums, len(samples))

    mean, found = newton_mean(start, slopes)
    if seen is not mean:
        found = slopes(mean)
    return Centred(on_the_side_of(samples[0], mean), logs, found.radius)


def newton_mean(
    start: Array, slopes: Callable[[Array], Slopes], *, tolerance: float = TOLERANCE, most: int = MOST_PASSES
) -> tuple[Array, Slopes]:
    """The mean `(joints, 4)` from a start, and the slopes there; a call of `slopes` is a pass over the data.

    Joints whose distance grows take the plain step instead, and a shorter one each time it fails.
    """
    mean, here = start, slopes(start)
    reach = np.ones(len(start))
    for _ in range(most):
        size = np.sqrt((here.gradient**2).sum(axis=1))
        moving = size > tolerance
        if not moving.any():
            break
        curved = np.linalg.eigvalsh(0.5 * (here.curvature + np.swapaxes(here.curvature, 1, 2)))[:, 0]
        trusted = (curved > _LEAST_CURVATURE) & (reach == 1.0)
        matrix = np.where(trusted[:, None, None], here.curvature, np.eye(3))
        step = np.linalg.solve(matrix, here.gradient[..., None])[..., 0]
        step *= (reach * moving)[:, None]
        trial = so3.normalise(so3.multiply(mean, so3.exp(step)))
        there = slopes(trial)
        # The allowance is rounding: near the end the cost no longer shows the progress.
        better = there.cost <= here.cost * (1.0 + 1e-12) + 1e-30
        if better.all():
            mean, here = trial, there
        else:
            mean = np.where(better[:, None], trial, mean)
            here = Slopes(
                *(
                    np.where(better.reshape(-1, *[1] * (a.ndim - 1)), b, a)
                    for a, b in zip(here, there, strict=True)
                )
            )
        reach = np.where(better, np.minimum(1.0, 2.0 * reach), 0.5 * reach)
        if (reach[moving] < 1e-6).all():
            break
    return mean, here


def chordal_mean(products: Array) -> Array:
    """The mean in the sense of chords `(joints, 4)` of sums of q q^T `(10, joints)`: signs do not matter."""
    moments = np.zeros((products.shape[1], 4, 4))
    moments[:, _UPPER_4[0], _UPPER_4[1]] = products.T
    # eigh reads one triangle only.
    return np.ascontiguousarray(np.linalg.eigh(moments, UPLO="U").eigenvectors[..., -1])


def on_the_side_of(first: Array, mean: Array) -> Array:
    """The mean with the sign that is nearer to `first`, both `(joints, 4)`."""
    return np.where((mean * first).sum(axis=-1, keepdims=True) < 0.0, -mean, mean)


def product_sums(rotations: Array) -> Array:
    """Sums of the upper triangle of q q^T, `(10, joints)`, over rotations `(samples, joints, 4)`."""
    if _compiled.pays(rotations.size // 4):
        from marey.statistics import _kernels

        sums = np.zeros((10, rotations.shape[1]))
        _kernels.sum_products(np.ascontiguousarray(rotations), sums)
        return sums
    products = np.einsum("mji,mjk->ikj", rotations, rotations, optimize=True)
    return np.ascontiguousarray(products[_UPPER_4])


def log_sums(mean: Array, rotations: Array) -> tuple[Array, Array]:
    """Logarithms at the mean `(samples, 3 joints)` and their sums `(12, joints)`, see `slopes_of`."""
    samples, joints = rotations.shape[:2]
    if _compiled.pays(samples * joints):
        from marey.statistics import _kernels

        logs, sums = np.empty((samples, 3 * joints)), np.zeros((12, joints))
        _kernels.logarithms(np.ascontiguousarray(mean), np.ascontiguousarray(rotations), logs, sums)
        return logs, sums
    vectors = so3.log(so3.multiply(so3.inverse(mean), rotations))
    squared = (vectors**2).sum(axis=-1)
    half = 0.5 * np.sqrt(squared)
    bend = np.where(half > 1e-4, 1.0 - half / np.tan(np.maximum(half, 1e-4)), squared / 12.0)
    share = bend / np.maximum(squared, 1e-300)
    outer = np.einsum("mj,mjp,mjq->pqj", share, vectors, vectors, optimize=True)[_UPPER_3]
    sums = np.concatenate(
        [vectors.sum(axis=0).T, outer, [bend.sum(axis=0)], [squared.sum(axis=0)], [squared.max(axis=0)]]
    )
    return vectors.reshape(samples, 3 * joints), sums


def add_sums(total: Array, more: Array) -> Array:
    """The sums `(12, joints)` of two sets of samples."""
    return np.concatenate([total[:11] + more[:11], [np.maximum(total[11], more[11])]])


def slopes_of(sums: Array, count: int) -> Slopes:
    """Slopes from sums `(12, joints)`: logarithms (3 rows), bend n n^T (6), bend, angle², largest angle²."""
    means = sums[:11] / count
    gradient = np.ascontiguousarray(means[:3].T)
    outer = np.empty((len(gradient), 3, 3))
    outer[:, _UPPER_3[0], _UPPER_3[1]] = outer[:, _UPPER_3[1], _UPPER_3[0]] = means[3:9].T
    curvature = (1.0 - means[9])[:, None, None] * np.eye(3) + outer - 0.5 * so3.hat(gradient)
    return Slopes(gradient, curvature, means[10], np.sqrt(sums[11]))
