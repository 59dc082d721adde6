"""Coordinates whose rotations are nearest to given ones: Levenberg–Marquardt on geodesic distances.

The residual of a joint is `u = log(x⁻¹ f(λ))` and changes by `dexp_b⁻¹(u) ω`, with ω the body velocities of
the map f (Tournier 2011, section 8.1.1). Every sample has its own step and stops by itself. Cost a step and
sample: one logarithm a joint and a (modes × 3 joints) product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.tangent import dexp_body_inverse

Array = NDArray[np.float64]
Map = Callable[[Array], Array]

# Samples solved at a time: bounds the memory.
AT_A_TIME = 512
ENOUGH = 1e-12


def nearest_coordinates(
    rotations: Array, start: Array, decode: Map, jacobian: Map, weights: Array, *, most: int = 30
) -> Array:
    """Coordinates `(samples, modes)` that minimise the weighted squared distance to `(samples, joints, 4)`.

    start: `(samples, modes)`
    decode, jacobian: from coordinates to rotations, and to body velocities `(samples, modes, joints, 3)`
    weights: `(joints,)`, of squared angles
    """
    found = np.array(start, dtype=np.float64)
    if not found.shape[1]:
        return found
    for begin in range(0, len(found), AT_A_TIME):
        here = slice(begin, begin + AT_A_TIME)
        found[here] = _solved(rotations[here], found[here], decode, jacobian, weights, most)
    return found


def joint_weights(weights: ArrayLike | None, joints: int) -> Array:
    """A weight a joint for its squared angle, `(joints,)`, above 0; ones if None."""
    if weights is None:
        return np.ones(joints)
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (joints,) or not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError(f"weights: {joints} numbers above 0, one a joint")
    return found


def _solved(rotations: Array, start: Array, decode: Map, jacobian: Map, weights: Array, most: int) -> Array:
    found, modes = start.copy(), start.shape[1]
    residual = _residual(rotations, decode(found))
    cost = _cost(residual, weights)
    damping = np.full(len(found), 1e-6)
    active = np.arange(len(found))
    for _ in range(most):
        if not active.size:
            break
        u = residual[active]
        slope = np.einsum("mjab,mkjb->mkja", dexp_body_inverse(u), jacobian(found[active]), optimize=True)
        rows = slope.reshape(len(active), modes, -1) * np.sqrt(np.repeat(weights, 3))
        weighted = (u * np.sqrt(weights)[:, None]).reshape(len(active), -1, 1)
        hessian, gradient = rows @ np.swapaxes(rows, 1, 2), rows @ weighted
        diagonal = np.einsum("mkk->mk", hessian)
        floor = 1e-12 * diagonal.sum(axis=1, keepdims=True) + 1e-300
        hessian[:, np.arange(modes), np.arange(modes)] += damping[active, None] * (diagonal + floor) + floor
        trial = found[active] - np.linalg.solve(hessian, gradient)[..., 0]
        new = _residual(rotations[active], decode(trial))
        new_cost = _cost(new, weights)
        better = new_cost <= cost[active]
        gain = cost[active] - new_cost
        taken = active[better]
        found[taken], residual[taken], cost[taken] = trial[better], new[better], new_cost[better]
        damping[active] *= np.where(better, 0.1, 10.0)
        going = np.where(better, gain > ENOUGH * (new_cost + 1e-15), damping[active] < 1e4)
        active = active[going]
    return found


def _residual(rotations: Array, decoded: Array) -> Array:
    return so3.log(so3.multiply(so3.inverse(rotations), decoded))


def _cost(residual: Array, weights: Array) -> Array:
    return np.asarray(np.einsum("mji,mji,j->m", residual, residual, weights))
