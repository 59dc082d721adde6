"""Targets by priority: lesser ones have what freedom the greater ones leave (null-space projection).

A level's step is damped least squares in the directions that move no level above. The prior comes last; with
a single level it is weighed against the targets instead, as by the compiled solver. A step counts as better
when the first level that changes improves. NumPy, a few hundred microseconds a step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.ik import engine

Level = tuple[Array, Array]


def solve_by_priority(
    problem: engine.Problem,
    priorities: Sequence[int] | NDArray[np.int64],
    goals: Array,
    weights: Array,
    start: engine.PoseArrays,
    *,
    centre: engine.PoseArrays,
    precision: Array,
    iterations: int,
    stop_error: float = 0.0,
) -> engine.Solution:
    """One pose; the other arguments are those of :meth:`Problem.solve` for one frame.

    Args:
        priorities: `(effectors,)`, lowest first; limits are as important as the first level.
    """
    parameters, free = problem.parameters, problem.free_root
    effector_levels = np.repeat(np.asarray(priorities), 3)
    limited = problem.rows - len(effector_levels)
    row_levels = np.concatenate([effector_levels, np.full(limited, effector_levels.min(initial=0))])
    ranks = sorted(set(row_levels.tolist()))
    roots = np.sqrt(precision)
    # Pose coordinates are of no fixed unit: scaled by their deviation, known from the prior's precision.
    scale, pose = np.ones(problem.unknowns), precision[6:] if free else precision
    if not parameters.full and (pose > 0).all() and pose.size:
        scale[-len(pose) :] = 1.0 / np.sqrt(pose / pose.min())

    def measured(poses: engine.PoseArrays) -> tuple[Array, list[Level]]:
        values, jacobians = problem.evaluate(goals, weights, poses)
        r, J = values[0], jacobians[0]
        levels = [(r[row_levels == rank], J[row_levels == rank]) for rank in ranks]
        pull, _ = engine.pull_back(parameters, free, poses, centre, roots)
        prior = pull[0], np.diag(roots)
        if len(levels) == 1:
            return r, [(np.concatenate([levels[0][0], prior[0]]), np.concatenate([levels[0][1], prior[1]]))]
        return r, [*levels, prior]

    poses = engine.decoded(parameters, start.copied())
    r, levels = measured(poses)
    mu, count, converged = 1e-2, 0, False
    while count < iterations and not converged:
        count += 1
        step = hierarchical_step(levels, mu, scale, problem.settings)
        trial = engine.moved(parameters, free, poses, step[None])
        new_r, new_levels = measured(trial)
        verdict = _better(levels, new_levels, problem.settings.equal_metres)
        if verdict > 0:
            poses, r, levels = trial, new_r, new_levels
            mu = max(0.2 * mu, 1e-9)
        else:
            mu *= 5.0
        small = np.abs(step).max(initial=0.0) < 1e-7
        met = stop_error > 0
        if met:
            # Errors of the effectors that are asked for, then the limits' rows.
            errors = problem.errors(r[None], weights)[0]
            errors = np.append(errors[np.isfinite(errors)], r[3 * problem.effectors.count :])
            met = bool((np.abs(errors) <= stop_error).all())
        converged = small or mu > 1e7 or (verdict == 0 and mu > 1.0) or met
    return engine.Solution(poses, problem.errors(r[None], weights), np.array([count]), np.array([converged]))


def hierarchical_step(
    levels: Sequence[Level], mu: float, scale: Array, settings: engine.IKSettings = engine.SETTINGS
) -> Array:
    """A step `(unknowns,)` for levels of (residuals, Jacobian), damped by `mu`; lesser levels yield.

    Args:
        scale: `(unknowns,)`, how far each unknown usually goes.

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
        kept = values > settings.free_share * largest
        damped = values[kept] / (values[kept] ** 2 + mu * largest**2)
        rank = int(kept.sum())
        step = step + basis @ (Vt[:rank].T @ (damped * (U[:, :rank].T @ (r - J @ step))))
        basis = basis @ Vt[rank:].T
    return step


def _better(old: Sequence[Level], new: Sequence[Level], equal: float) -> int:
    """1 if the first level that changes improves, -1 if it gets worse, 0 if none changes."""
    for (r, _), (s, _) in zip(old, new):
        before, after = float(np.linalg.norm(r)), float(np.linalg.norm(s))
        slack = equal + 1e-3 * before
        if not after <= before + slack:
            return -1
        if after < before - slack:
            return 1
    total = [sum(float(r @ r) for r, _ in levels) for levels in (old, new)]
    return 1 if total[1] < total[0] * (1 - 1e-7) else 0
