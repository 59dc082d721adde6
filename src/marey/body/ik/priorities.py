"""Targets in order of importance: lesser ones move only what greater ones leave free (Courty 2013, 3.1.1).

Each step solves level after level, `step += Z z` with `z` the damped least-squares answer to what the level
still misses, and `Z` a basis of the directions that change no level above. The prior comes last. A step
counts as better when the first level that changes improves. NumPy, a few hundred microseconds a step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marey.body.ik.classical import misses
from marey.body.ik.engine import Poses, Problem, Solution
from marey.body.ik.steps import decoded, moved, pull_back

Array = NDArray[np.float64]
Level = tuple[Array, Array]

# Metres: two misses of a level that differ by less count as equal.
EQUAL = 1e-4
# Directions with smaller singular values than this share of the largest count as free.
FREE = 1e-4


def solve_by_priority(
    problem: Problem,
    priorities: Sequence[int] | NDArray[np.int64],
    goals: Array,
    weights: Array,
    start: Poses,
    *,
    centre: Poses,
    precision: Array,
    iterations: int = 100,
) -> Solution:
    """One pose; the arguments are those of :meth:`Problem.solve` for one frame.

    priorities: `(features,)`, lowest first; limits are as important as the first level
    """
    figure, free = problem.figure, problem.free_root
    feature_levels = np.repeat(np.asarray(priorities), 3)
    limit_rows = problem.rows - len(feature_levels)
    row_levels = np.concatenate([feature_levels, np.full(limit_rows, feature_levels.min(initial=0))])
    ranks = sorted(set(row_levels.tolist()))
    roots = np.sqrt(precision)
    scale = _scale(problem, precision)

    def measured(poses: Poses) -> tuple[Array, list[Level]]:
        values, jacobians = problem.evaluate(goals, weights, poses)
        r, J = values[0], jacobians[0]
        levels = [(r[row_levels == rank], J[row_levels == rank]) for rank in ranks]
        pull, _ = pull_back(figure, free, poses, centre, roots)
        return r, [*levels, (pull[0], np.diag(roots))]

    poses = decoded(figure, start.copied())
    r, levels = measured(poses)
    mu, count, settled = 1e-2, 0, False
    while count < iterations:
        count += 1
        step = hierarchical_step(levels, mu, scale)
        trial = moved(figure, free, poses, step[None])
        new_r, new_levels = measured(trial)
        verdict = _better(levels, new_levels)
        if verdict > 0:
            poses, r, levels = trial, new_r, new_levels
            mu = max(0.2 * mu, 1e-9)
        else:
            mu *= 5.0
        small = np.abs(step).max(initial=0.0) < 1e-7
        if small or mu > 1e7 or (verdict == 0 and mu > 1.0):
            settled = True
            break
    return Solution(poses, misses(problem, r[None], weights), np.array([count]), np.array([settled]))


def hierarchical_step(levels: Sequence[Level], mu: float, scale: Array) -> Array:
    """A step `(unknowns,)` for levels of (residuals, Jacobian), damped by `mu`; lesser levels yield.

    scale: `(unknowns,)`, how far each unknown usually goes

    >>> first, second = (np.array([1.0]), np.array([[1.0, 0]])), (np.array([5.0, 2.0]), np.eye(2))
    >>> hierarchical_step([first, second], 1e-9, np.ones(2)).round(6).tolist()
    [1.0, 2.0]
    """
    step = np.zeros(len(scale))
    basis = np.diag(scale)
    for r, J in levels:
        if basis.shape[1] == 0:
            break
        U, values, Vt = np.linalg.svd(J @ basis, full_matrices=True)
        largest = values.max(initial=0.0)
        if largest <= 0:
            continue
        kept = values > FREE * largest
        damped = values[kept] / (values[kept] ** 2 + mu * largest**2)
        rank = int(kept.sum())
        step = step + basis @ (Vt[:rank].T @ (damped * (U[:, :rank].T @ (r - J @ step))))
        basis = basis @ Vt[rank:].T
    return step


def _better(old: Sequence[Level], new: Sequence[Level]) -> int:
    """1 if the first level that changes improves, -1 if it gets worse, 0 if none changes."""
    for (r, _), (s, _) in zip(old, new):
        before, after = float(np.linalg.norm(r)), float(np.linalg.norm(s))
        slack = EQUAL + 1e-3 * before
        if not after <= before + slack:
            return -1
        if after < before - slack:
            return 1
    total = [sum(float(r @ r) for r, _ in levels) for levels in (old, new)]
    return 1 if total[1] < total[0] * (1 - 1e-7) else 0


def _scale(problem: Problem, precision: Array) -> Array:
    """Pose coordinates are of no fixed unit: scaled by their spread, which the prior's precision tells."""
    scale = np.ones(problem.unknowns)
    pose = precision[6:] if problem.free_root else precision
    if not problem.figure.full and (pose > 0).all() and pose.size:
        scale[-len(pose) :] = 1.0 / np.sqrt(pose / pose.min())
    return scale
