"""The textbook ways to step: Jacobian transpose, pseudo-inverse, damped (Tournier 2011, section 6.3).

Kept to compare with: Levenberg–Marquardt, the default elsewhere, needs fewer steps and is compiled. Every
step is shortened until the cost falls, so that none of them can diverge. One evaluation a step, NumPy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.body.ik.engine import Poses, Problem, Solution
from marey.body.ik.steps import decoded, moved, pull_back
from marey.errors import InputError

Array = NDArray[np.float64]

METHODS = ("transpose", "pseudo-inverse", "damped")
# Of the damped method: its share of the mean of the normal matrix' diagonal.
DAMPING = 1e-2
SHORTEST = 1e-10


def solve_classically(
    method: str,
    problem: Problem,
    goals: Array,
    weights: Array,
    start: Poses,
    *,
    centre: Poses,
    precision: Array,
    iterations: int = 200,
    tolerance: float = 0.0,
) -> Solution:
    """One pose by one of `METHODS`; the arguments are those of :meth:`Problem.solve` for one frame.

    A prior enters as rows of its own, so all methods have the same least cost.
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}, levenberg-marquardt")
    figure, free = problem.figure, problem.free_root
    roots = np.sqrt(precision)

    def measured(poses: Poses) -> tuple[Array, Array]:
        values, jacobians = problem.evaluate(goals, weights, poses)
        pull, _ = pull_back(figure, free, poses, centre, roots)
        return np.concatenate([values[0], pull[0]]), np.concatenate([jacobians[0], np.diag(roots)])

    poses = decoded(figure, start.copied())
    r, J = measured(poses)
    count, settled = 0, False
    while count < iterations:
        count += 1
        step = _step(method, J, r)
        length = 1.0
        while length > SHORTEST:
            trial = moved(figure, free, poses, length * step[None])
            new_r, new_J = measured(trial)
            if new_r @ new_r < r @ r:
                break
            length *= 0.5
        else:
            settled = True
            break
        gain = r @ r - new_r @ new_r
        poses, r, J = trial, new_r, new_J
        first = 3 * problem.features.count
        rows, beyond = r[:first].reshape(-1, 3), r[first : problem.rows]
        near = tolerance > 0 and (np.linalg.norm(rows, axis=1) <= weights[0] * tolerance).all()
        near = near and (np.abs(beyond) <= tolerance).all()
        if near or gain <= 1e-7 * (r @ r + gain) or r @ r < 1e-24:
            settled = True
            break
    return Solution(poses, misses(problem, r[None], weights), np.array([count]), np.array([settled]))


def misses(problem: Problem, values: Array, weights: Array) -> Array:
    """Unweighted lengths `(frames, features)` of residuals `(frames, rows)`; NaN if not asked for."""
    count = problem.features.count
    lengths = np.linalg.norm(values[:, : 3 * count].reshape(len(values), count, 3), axis=2)
    return np.where(weights > 0, lengths / np.where(weights > 0, weights, 1.0), np.nan)


def _step(method: str, J: Array, r: Array) -> Array:
    downhill = J.T @ r
    if method == "transpose":
        # The length that is best if the values were linear.
        way = J @ downhill
        square = way @ way
        return downhill * ((downhill @ downhill) / square if square > 0 else 0.0)
    if method == "pseudo-inverse":
        return np.asarray(np.linalg.pinv(J, rcond=1e-8) @ r)
    normal = J.T @ J
    mean = np.trace(normal) / len(normal)
    return np.asarray(np.linalg.solve(normal + (DAMPING * mean + 1e-12) * np.eye(len(normal)), downhill))
