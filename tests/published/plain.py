"""Published formulas written out with NumPy and SciPy alone, slowly and plainly, to compare with.

Rotations are matrices or rotation vectors of SciPy; nothing here comes from the library.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


def matrices(quaternions: Array) -> Array:
    """`(..., 3, 3)` of unit quaternions (w, x, y, z)."""
    flat = np.roll(np.asarray(quaternions).reshape(-1, 4), -1, axis=1)
    return Rotation.from_quat(flat).as_matrix().reshape(*np.shape(quaternions)[:-1], 3, 3)


def exp(vectors: Array) -> Array:
    return Rotation.from_rotvec(np.reshape(vectors, (-1, 3))).as_matrix().reshape(*np.shape(vectors), 3)


def log(turns: Array) -> Array:
    return Rotation.from_matrix(np.reshape(turns, (-1, 3, 3))).as_rotvec().reshape(np.shape(turns)[:-1])


def mean(turns: Array) -> Array:
    """The intrinsic mean `(joints, 3, 3)` of `(frames, joints, 3, 3)`."""
    middle = turns[len(turns) // 2]
    for _ in range(200):
        step = log(np.swapaxes(middle, -1, -2) @ turns).mean(axis=0)
        middle = middle @ exp(step)
        if np.abs(step).max() < 1e-13:
            break
    return middle


def principal_geodesics(turns: Array) -> tuple[Array, Array, Array]:
    """Mean, directions `(modes, joints, 3)` and coordinates `(frames, modes)` by the tangent space."""
    middle = mean(turns)
    logs = log(np.swapaxes(middle, -1, -2) @ turns).reshape(len(turns), -1)
    _, _, directions = np.linalg.svd(logs, full_matrices=False)
    return middle, directions.reshape(len(directions), -1, 3), logs @ directions.T


def squared_exponential(frames: Array, others: Array, alpha: float, rho: float) -> Array:
    return alpha * np.exp(-(np.subtract.outer(frames, others) ** 2) / rho)


def minus_log_likelihood(values: Array, frames: Array, alpha: float, rho: float, sigma: float) -> float:
    """Courty & Cuzol 2010, section 3.3, with a full matrix."""
    covariance = squared_exponential(frames, frames, alpha, rho) + sigma * np.eye(len(frames))
    root = cholesky(covariance, lower=True)
    half = solve_triangular(root, values, lower=True)
    return float(0.5 * half @ half + np.log(np.diag(root)).sum() + 0.5 * len(values) * np.log(2 * np.pi))


def likeliest(
    values: Array, frames: Array | None = None, *, starts: Sequence[float] = (4.0, 16.0, 64.0)
) -> tuple[float, float, float]:
    """alpha, rho (frames²) and sigma of greatest likelihood of a series about 0, from several starts."""
    at = np.arange(len(values), dtype=float) if frames is None else frames
    power = float(np.mean(values**2))

    def cost(point: Array) -> float:
        alpha, rho, sigma = np.exp(point)
        try:
            return minus_log_likelihood(values, at, alpha, rho, max(sigma, 1e-6 * alpha))
        except np.linalg.LinAlgError:
            return 1e10

    points = [np.log([power, rho, 0.01 * power]) for rho in starts]
    found = [
        minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-4})
        for start in points
    ]
    alpha, rho, sigma = np.exp(min(found, key=lambda one: float(one.fun)).x)
    return float(alpha), float(rho), float(max(sigma, 1e-6 * alpha))
