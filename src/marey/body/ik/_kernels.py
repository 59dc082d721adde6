"""Compiled inverse kinematics: Levenberg–Marquardt, one pose at a time, over many frames.

A pose is a root frame and either coordinates in a pose model (`full` false: joint j turns by
`mean_j exp(V_j λ)`) or one free rotation a joint (`full` true). Unknowns come in the order root turn (own
frame), root shift (world), pose; without a free root only the pose. A step costs about ten microseconds for a
human and twenty unknowns. Importing this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from marey._compiling import njit
from marey.body.ik._feature_kernels import jacobian, mass_matrix, place, residuals, sums_down
from marey.body.ik._rotation_kernels import copy_row, copy_rows, log_between, turn_along, turn_by
from marey.body.ik._step_kernels import KINETIC, learn_curvature, normal_matrix, step_of

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
_TINY = 1e-12
# Damping to begin with, far from the solution and near it, and its bounds. Cold starts that are damped
# little settle more often in a wrong minimum.
_COLD, _WARM, _LEAST, _MOST = 0.3, 1e-3, 1e-10, 1e8
# Relative decrease of the cost at which it has settled.
_SETTLED = 1e-6


@njit(**_OPTIONS)
def pull_of_prior(
    full: bool,
    free: int,
    precision: Array,
    centre: Any,
    root: Array,
    pose: Array,
    rotations: Array,
    pull: Array,
) -> float:
    """Precision times the way back to the centre, an entry an unknown; returns the cost.

    The way back of a rotation is its log; d(½|log|²) is the log itself, so the pull is exact.
    """
    centre_root, centre_pose, centre_rotations = centre
    v = np.empty(3)
    cost = 0.0
    if free:
        log_between(rotations[0], centre_rotations[0], v)
        for i in range(3):
            pull[i] = precision[i] * v[i]
            cost += pull[i] * v[i]
            away = centre_root[i] - root[i]
            pull[3 + i] = precision[3 + i] * away
            cost += pull[3 + i] * away
    if full:
        for j in range(1, rotations.shape[0]):
            first = free + 3 * (j - 1)
            if precision[first] == 0.0:
                pull[first], pull[first + 1], pull[first + 2] = 0.0, 0.0, 0.0
                continue
            log_between(rotations[j], centre_rotations[j], v)
            for i in range(3):
                pull[first + i] = precision[first + i] * v[i]
                cost += pull[first + i] * v[i]
    else:
        for m in range(pose.shape[0]):
            away = centre_pose[m] - pose[m]
            pull[free + m] = precision[free + m] * away
            cost += pull[free + m] * away
    return cost


@njit(**_OPTIONS)
def descend(
    full: bool,
    free: int,
    figure: Any,
    features: Any,
    goals: Array,
    weights: Array,
    limits: Any,
    precision: Array,
    centre: Any,
    damping: int,
    spreads: Array,
    masses: Any,
    most: int,
    tolerance: float,
    mu: float,
    root: Array,
    pose: Array,
    rotations: Array,
    work: Any,
) -> tuple[int, bool]:
    """Levenberg–Marquardt from (root, pose, rotations), which it moves; iterations and whether it settled.

    Damping follows Nielsen's rule: it falls with how well the last step was foretold. The curvature that
    JᵀJ leaves out is estimated as the steps go, and used whenever it would have foretold the last better.

    tolerance: metres; stops as soon as every feature is as near as this (0: go on to the least cost)
    mu: damping to begin with
    """
    (
        tangents, positions, turned, x, r, A, C, J, H, S, diagonal, pull, y, step, metric,
        new_root, new_pose, new_rotations, new_x, new_r, new_tangents, new_positions, new_turned,
        downhill, slope_change, total_change, curvature,
    ) = work  # fmt: skip
    rows, unknowns = J.shape
    dual = full and damping != KINETIC and rows < unknowns
    place(full, figure, root, pose, rotations, tangents, positions, turned)
    residuals(features, goals, weights, limits, rotations, positions, turned, x, r)
    cost = pull_of_prior(full, free, precision, centre, root, pose, rotations, pull)
    for a in range(rows):
        cost += r[a] * r[a]
    for m in range(unknowns):
        for k in range(unknowns):
            curvature[m, k] = 0.0
    growth = 2.0
    moved, curved, learned, surprised = True, False, False, False
    for iteration in range(most):
        if moved:
            near = tolerance > 0.0
            for f in range(weights.shape[0]):
                w = weights[f]
                miss = r[3 * f] ** 2 + r[3 * f + 1] ** 2 + r[3 * f + 2] ** 2
                if miss > (w * tolerance) ** 2:
                    near = False
            if near or cost < 1e-24:
                return iteration, True
            sums_down(full, free, figure, tangents, positions, turned, A, C)
            jacobian(
                full,
                free,
                figure,
                features,
                goals,
                weights,
                limits,
                rotations,
                tangents,
                turned,
                x,
                r,
                A,
                C,
                J,
            )
            normal_matrix(rows, unknowns, J, precision, spreads, damping, dual, H, diagonal)
            if damping == KINETIC:
                mass_matrix(figure, masses, positions, turned, A, C, metric)
            for m in range(unknowns):
                total = 0.0
                for a in range(rows):
                    total += J[a, m] * r[a]
                if surprised and not dual:
                    # They hold J_oldᵀ r and the old slope since the step was taken.
                    slope_change[m] -= total
                    total_change[m] -= total + pull[m]
                downhill[m] = total + pull[m]
            if surprised and not dual:
                learn_curvature(unknowns, step, slope_change, total_change, curvature, y)
                curved = curved or not learned
                learned = True
        if not step_of(
            rows, unknowns, J, r, downhill, H, diagonal, precision, pull, metric, curvature, curved,
            damping, dual, mu, S, y, step,
        ):  # fmt: skip
            mu = 10.0 * mu
            moved = False
            if mu > _MOST:
                return iteration + 1, False
            continue
        # Decrease of the cost foretold by the straight model, and what curvature takes from it.
        largest, foretold, bent = 0.0, _TINY * cost, 0.0
        for m in range(unknowns):
            largest = max(largest, abs(step[m]))
            foretold += step[m] * (2.0 * downhill[m] - precision[m] * step[m])
            if learned:
                for k in range(unknowns):
                    bent += step[m] * curvature[m, k] * step[k]
        for a in range(rows):
            total = 0.0
            for m in range(unknowns):
                total += J[a, m] * step[m]
            foretold -= total * total
        if largest < 1e-9:
            return iteration, True
        for i in range(3):
            new_root[i] = root[i] + (step[3 + i] if free else 0.0)
        if free:
            turn_by(rotations[0], step[0:3], new_rotations[0])
        else:
            copy_row(rotations[0], new_rotations[0])
        if full:
            for j in range(1, rotations.shape[0]):
                first = free + 3 * (j - 1)
                turn_by(rotations[j], step[first : first + 3], new_rotations[j])
        else:
            for m in range(pose.shape[0]):
                new_pose[m] = pose[m] + step[free + m]
        place(full, figure, new_root, new_pose, new_rotations, new_tangents, new_positions, new_turned)
        residuals(features, goals, weights, limits, new_rotations, new_positions, new_turned, new_x, new_r)
        new_cost = pull_of_prior(full, free, precision, centre, new_root, new_pose, new_rotations, y)
        for a in range(rows):
            new_cost += new_r[a] * new_r[a]
        if new_cost < cost:
            gain = cost - new_cost
            copy_row(new_root, root)
            copy_row(new_pose, pose)
            copy_rows(new_rotations, rotations)
            tangents, new_tangents = new_tangents, tangents
            positions, new_positions = new_positions, positions
            turned, new_turned = new_turned, turned
            x, new_x = new_x, x
            copy_row(new_r, r)
            for m in range(unknowns):
                pull[m] = y[m]
            settled = gain < _SETTLED * cost
            cost = new_cost
            used = foretold - bent if curved else foretold
            mu = max(mu * max(0.1, 1.0 - (2.0 * gain / used - 1.0) ** 3), _LEAST)
            growth = 2.0
            moved = True
            if settled:
                return iteration + 1, True
            # While steps do what they should, there is no need to know the curvature.
            surprised = learned or not 0.7 < gain / foretold < 1.3
            if learned:
                curved = abs(foretold - bent - gain) < abs(foretold - gain)
            if surprised and not dual:
                for m in range(unknowns):
                    total = 0.0
                    for a in range(rows):
                        total += J[a, m] * r[a]
                    slope_change[m] = total
                    total_change[m] = downhill[m]
        else:
            # Also here when the cost is not a number.
            mu *= growth
            growth *= 2.0
            moved = False
            if mu > _MOST:
                return iteration + 1, False
    return most, False


@njit(**_OPTIONS)
def workspace(joints: int, features: int, rows: int, unknowns: int, modes: int) -> Any:
    """Scratch arrays of :func:`descend`."""
    size = max(rows, unknowns)
    return (
        np.empty((joints, 5)), np.empty((joints, 3)), np.empty((joints, 4)), np.empty((features, 3)),
        np.empty(rows), np.empty((joints, 3, unknowns)), np.empty((joints, 3, unknowns)),
        np.empty((rows, unknowns)), np.empty((unknowns, unknowns)), np.empty((size, size)),
        np.empty(unknowns), np.empty(unknowns), np.empty(size), np.empty(unknowns),
        np.empty((unknowns, unknowns)), np.empty(3), np.empty(modes), np.empty((joints, 4)),
        np.empty((features, 3)), np.empty(rows), np.empty((joints, 5)), np.empty((joints, 3)),
        np.empty((joints, 4)), np.empty(unknowns), np.empty(unknowns), np.empty(unknowns),
        np.empty((unknowns, unknowns)),
    )  # fmt: skip


_IN = {n: types.Array(types.float64, n, "C", readonly=True) for n in (1, 2, 3)}
_OUT = {n: types.Array(types.float64, n, "C") for n in (1, 2, 3)}
_JOINTS = types.Array(types.int64, 1, "C", readonly=True)
_COUNTS, _FLAGS = types.Array(types.int64, 1, "C"), types.Array(types.boolean, 1, "C")
_FIGURE = types.Tuple((_JOINTS, _JOINTS, _IN[2], _IN[2], _IN[3]))
_FEATURES = types.Tuple((_JOINTS, _JOINTS, _IN[2], _IN[2]))
_LIMITS = types.Tuple((_JOINTS, _IN[2], _IN[3], types.float64))
_CENTRE = types.Tuple((_IN[2], _IN[2], _IN[3]))
_MASSES = types.Tuple((_IN[1], _IN[2]))


@njit(
    types.void(
        types.boolean, types.int64, _FIGURE, _FEATURES, _IN[3], _IN[2], _LIMITS, _IN[1], _CENTRE,
        types.int64, _IN[1], _MASSES, types.int64, types.float64, types.boolean, types.boolean,
        _OUT[2], _OUT[2], _OUT[3], _OUT[2], _COUNTS, _FLAGS,
    ),
    **_OPTIONS,
)  # fmt: skip
def solve_frames(
    full: bool,
    free: int,
    figure: Any,
    features: Any,
    goals: Array,
    weights: Array,
    limits: Any,
    precision: Array,
    centre: Any,
    damping: int,
    spreads: Array,
    masses: Any,
    most: int,
    tolerance: float,
    warm: bool,
    chained: bool,
    root: Array,
    pose: Array,
    rotations: Array,
    misses: Array,
    iterations: Whole,
    settled: Any,
) -> None:
    """Every frame by `descend`, from its own start (`warm`: near the end) or, `chained`, the one before.

    figure: needed joints, parents, offsets, mean, directions; features: kinds, joints, local, axes; limits:
    joints, centres, shapes, weight; centre: root, pose, rotations; masses: amounts, points. Goals, weights
    and centre have a row a frame. root, pose and rotations hold the start and become the result; rotations
    are complete, whether a target needs the joint or not. misses: unweighted lengths.
    """
    needed, parents, _, mean, directions = figure
    frames, count, modes = goals.shape[0], goals.shape[1], directions.shape[2]
    rows, unknowns = 3 * count + limits[0].shape[0], precision.shape[0]
    work = workspace(rotations.shape[1], count, rows, unknowns, modes)
    r = work[4]
    for t in range(frames):
        if chained and t > 0:
            copy_row(pose[t - 1], pose[t])
            if free:
                copy_row(root[t - 1], root[t])
                copy_row(rotations[t - 1, 0], rotations[t, 0])
            if full:
                copy_rows(rotations[t - 1, 1:], rotations[t, 1:])
        mu = _WARM if warm or (chained and t > 0) else _COLD
        iterations[t], settled[t] = descend(
            full, free, figure, features, goals[t], weights[t], limits, precision,
            (centre[0][t], centre[1][t], centre[2][t]), damping, spreads, masses, most, tolerance, mu,
            root[t], pose[t], rotations[t], work,
        )  # fmt: skip
        for f in range(count):
            w = weights[t, f]
            length = math.sqrt(r[3 * f] ** 2 + r[3 * f + 1] ** 2 + r[3 * f + 2] ** 2)
            misses[t, f] = length / w if w > 0.0 else np.nan
        if not full:
            tangent, known = np.empty(5), 1
            for j in range(1, parents.shape[0]):
                if known < needed.shape[0] and needed[known] == j:
                    known += 1
                    continue
                for i in range(3):
                    tangent[i] = 0.0
                    for m in range(modes):
                        tangent[i] += directions[j, i, m] * pose[t, m]
                turn_along(mean[j], tangent, rotations[t, j])


@njit(
    types.void(
        types.boolean, types.int64, _FIGURE, _FEATURES, _IN[3], _IN[2], _LIMITS, types.int64,
        _IN[2], _IN[2], _OUT[3], _OUT[2], _OUT[3],
    ),
    **_OPTIONS,
)  # fmt: skip
def evaluate_frames(
    full: bool,
    free: int,
    figure: Any,
    features: Any,
    goals: Array,
    weights: Array,
    limits: Any,
    unknowns: int,
    root: Array,
    pose: Array,
    rotations: Array,
    values: Array,
    jacobians: Array,
) -> None:
    """Residuals `(frames, rows)` and Jacobians `(frames, rows, unknowns)` at given poses, not moved."""
    frames, count, modes = goals.shape[0], goals.shape[1], figure[4].shape[2]
    rows = 3 * count + limits[0].shape[0]
    work = workspace(rotations.shape[1], count, rows, unknowns, modes)
    tangents, positions, turned, x, A, C = work[0], work[1], work[2], work[3], work[5], work[6]
    for t in range(frames):
        place(full, figure, root[t], pose[t], rotations[t], tangents, positions, turned)
        residuals(features, goals[t], weights[t], limits, rotations[t], positions, turned, x, values[t])
        sums_down(full, free, figure, tangents, positions, turned, A, C)
        jacobian(
            full, free, figure, features, goals[t], weights[t], limits, rotations[t], tangents, turned, x,
            values[t], A, C, jacobians[t],
        )  # fmt: skip
