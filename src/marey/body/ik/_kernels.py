"""Compiled inverse kinematics: Levenberg–Marquardt, one pose at a time, over many frames.

A pose is a root frame and either coordinates in a pose model (`full` false: joint j turns by
`mean_j exp(V_j λ)`) or one free rotation a joint (`full` true). Unknowns come in the order root turn (own
frame), root shift (world), pose; without a free root only the pose. A step costs about ten microseconds for a
human and twenty unknowns. What bodies, effectors, limits and states are: see `_effector_kernels`. Importing
this module imports numba: do so inside functions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types

from marey._arrays import Array, BoolArray, Integers
from marey._compiling import njit
from marey.body.ik import _effector_kernels as effector_kernels
from marey.body.ik._effector_kernels import State
from marey.body.ik.engine import Body, DampingArrays, EffectorArrays, LimitArrays, PriorArrays
from marey.body.limits._kernels import INNER, OPTIONS
from marey.geometry import _inline_kernels as inline

# Bounds of the damping; relative decrease of the cost at which the solver has converged.
_LEAST, _MOST, _CONVERGED = 1e-10, 1e8, 1e-6
_TINY = 1e-12

Work = tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array, Array, Array, Array, Array]
Poses = tuple[Array, Array, Array]


@njit(**INNER)
def normal_matrix(
    J: Array, precision: Array, typical_change: Array, dual: bool, H: Array, diagonal: Array
) -> None:
    """H = JᵀJ (lower half; its diagonal alone if `dual`) and what damps a step, by how far unknowns go."""
    rows, unknowns = J.shape
    for m in range(unknowns):
        total = 0.0
        for a in range(rows):
            total += J[a, m] * J[a, m]
        H[m, m] = total
    if not dual:
        for m in range(unknowns):
            for k in range(m):
                H[m, k] = 0.0
        for a in range(rows):
            for m in range(unknowns):
                factor = J[a, m]
                if factor != 0.0:
                    for k in range(m):
                        H[m, k] += factor * J[a, k]
    scale = 0.0
    for m in range(unknowns):
        scale += (H[m, m] + precision[m]) * typical_change[m] * typical_change[m]
    for m in range(unknowns):
        diagonal[m] = (scale / unknowns + _TINY) / (typical_change[m] * typical_change[m])


@njit(**INNER)
def dual_step(
    J: Array, r: Array, precision: Array, pull: Array, damping: Array, mu: float, S: Array, y: Array,
    step: Array,
) -> bool:  # fmt: skip
    """Solve (JᵀJ + E) step = Jᵀr + pull in the size of the rows, with a diagonal E = P + mu D.

    step = E⁻¹ (Jᵀ (I + J E⁻¹ Jᵀ)⁻¹ (r - J E⁻¹ pull) + pull); false if that is not positive definite.
    """
    rows, unknowns = J.shape
    for m in range(unknowns):
        step[m] = 1.0 / (precision[m] + mu * damping[m])
    for a in range(rows):
        total = r[a]
        for m in range(unknowns):
            total -= J[a, m] * step[m] * pull[m]
        y[a] = total
        for b in range(a + 1):
            total = 0.0
            for m in range(unknowns):
                total += J[a, m] * step[m] * J[b, m]
            S[a, b] = total
        S[a, a] += 1.0
    if not inline.cholesky_solve(S, rows, y):
        return False
    for m in range(unknowns):
        total = pull[m]
        for a in range(rows):
            total += J[a, m] * y[a]
        step[m] *= total
    return True


@njit(**INNER)
def primal_step(
    H: Array, downhill: Array, precision: Array, damping: Array, metric: Array, kinetic: bool,
    curvature: Array, curved: bool, mu: float, S: Array, step: Array,
) -> bool:  # fmt: skip
    """Solve (H + P + curvature + mu D) step = downhill, D a diagonal or (kinetic) the mass matrix."""
    unknowns = downhill.shape[0]
    for m in range(unknowns):
        step[m] = downhill[m]
        for k in range(m + 1):
            S[m, k] = H[m, k]
            if kinetic:
                S[m, k] += mu * metric[m, k]
            if curved:
                S[m, k] += curvature[m, k]
        S[m, m] += precision[m]
        if not kinetic:
            S[m, m] += mu * damping[m]
    return inline.cholesky_solve(S, unknowns, step)


@njit(**INNER)
def learn_curvature(
    step: Array, slope_change: Array, total_change: Array, curvature: Array, y: Array
) -> None:
    """Update the estimate of what JᵀJ leaves out of the cost's curvature, by how the slope changed.

    The structured secant rule of Dennis, Gay and Welsch (1981, NL2SOL): without it, targets that cannot be
    met make the steps crawl. slope_change: of the targets' part, at equal residuals; total_change: of all.
    Symmetric, all of it kept; y: scratch.
    """
    unknowns = step.shape[0]
    along, size, known, wanted = 0.0, 0.0, 0.0, 0.0
    for m in range(unknowns):
        total = 0.0
        for k in range(unknowns):
            total += curvature[m, k] * step[k]
        y[m] = total
        known += step[m] * total
        wanted += step[m] * slope_change[m]
        along += total_change[m] * step[m]
        size += total_change[m] * total_change[m]
    if not along > 1e-12 * math.sqrt(size):
        return
    share = min(1.0, abs(wanted) / abs(known)) if known != 0.0 else 1.0
    rest = 0.0
    for m in range(unknowns):
        y[m] = slope_change[m] - share * y[m]
        rest += step[m] * y[m]
    for m in range(unknowns):
        for k in range(unknowns):
            curvature[m, k] = (
                share * curvature[m, k]
                + (y[m] * total_change[k] + total_change[m] * y[k]) / along
                - rest * total_change[m] * total_change[k] / (along * along)
            )


@njit(**INNER)
def evaluate(
    body: Body,
    effectors: EffectorArrays,
    goals: Array,
    weights: Array,
    limits: LimitArrays,
    prior: PriorArrays,
    state: State,
) -> float:
    """The cost of a state's root, pose and rotations; its other arrays are computed."""
    effector_kernels.place(body, state)
    effector_kernels.residuals(effectors, goals, weights, limits, state)
    cost = pull_of_prior(body, prior, state)
    r = state[7]
    for a in range(r.shape[0]):
        cost += r[a] * r[a]
    return cost


@njit(**INNER)
def pull_of_prior(body: Body, prior: PriorArrays, state: State) -> float:
    """Precision times the difference from the centre, an entry an unknown; returns the cost.

    The difference of rotations is a log; d(½|log|²) is the log itself, so the pull is exact.
    """
    full, free = body[0], body[1]
    precision, centre_root, centre_pose, centre_rotations = prior
    root, pose, rotations, _, _, _, _, _, pull = state
    cost = 0.0
    if free:
        v = inline.log_between(inline.quaternion(rotations[0]), inline.quaternion(centre_rotations[0]))
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
                pull[first : first + 3] = 0.0
                continue
            v = inline.log_between(inline.quaternion(rotations[j]), inline.quaternion(centre_rotations[j]))
            for i in range(3):
                pull[first + i] = precision[first + i] * v[i]
                cost += pull[first + i] * v[i]
    else:
        for m in range(pose.shape[0]):
            away = centre_pose[m] - pose[m]
            pull[free + m] = precision[free + m] * away
            cost += pull[free + m] * away
    return cost


@njit(**INNER)
def advance(body: Body, here: State, step: Array, there: State) -> None:
    """Root, pose and rotations of a state after a step, into another."""
    full, free = body[0], body[1]
    root, pose, rotations = here[0], here[1], here[2]
    new_root, new_pose, new_rotations = there[0], there[1], there[2]
    for i in range(3):
        new_root[i] = root[i] + (step[3 + i] if free else 0.0)
    q = inline.quaternion(rotations[0])
    inline.store(inline.turn(q, inline.vector(step)) if free else q, new_rotations[0])
    if full:
        for j in range(1, rotations.shape[0]):
            inline.store(
                inline.turn(inline.quaternion(rotations[j]), inline.vector(step[free + 3 * (j - 1) :])),
                new_rotations[j],
            )
    else:
        for m in range(pose.shape[0]):
            new_pose[m] = pose[m] + step[free + m]


@njit(**INNER)
def descend(
    body: Body, effectors: EffectorArrays, goals: Array, weights: Array, limits: LimitArrays,
    prior: PriorArrays, damping: DampingArrays, most: int, stop_error: float, mu: float, here: State,
    there: State, work: Work,
) -> tuple[int, bool, State]:  # fmt: skip
    """Levenberg–Marquardt from the state `here`: iterations, whether it converged, and the state it ends in.

    Damping follows Nielsen's rule: it falls with how well the last step was predicted. The curvature that
    JᵀJ leaves out is estimated as the steps go, and used whenever it would have predicted the last better.

    Args:
        stop_error: metres; stops as soon as every effector and limit is as near as this (0: at the least
            cost).
        mu: damping to begin with.
        there: another state, overwritten.
    """
    A, C, J, H, S, diagonal, y, step, metric, downhill, slope_change, total_change, curvature = work
    kinetic, typical_change, amounts, centres = damping
    precision = prior[0]
    rows, unknowns = J.shape
    dual = body[0] and not kinetic and rows < unknowns
    cost = evaluate(body, effectors, goals, weights, limits, prior, here)
    curvature[:] = 0.0
    growth = 2.0
    moved, curved, learned, nonlinear = True, False, False, False
    for iteration in range(most):
        r, pull = here[7], here[8]
        if moved:
            if cost < 1e-24 or _are_met(weights, r, stop_error):
                return iteration, True, here
            effector_kernels.accumulate_jacobians(body, here, A, C)
            effector_kernels.jacobian(body, effectors, goals, weights, limits, here, A, C, J)
            normal_matrix(J, precision, typical_change, dual, H, diagonal)
            if kinetic:
                effector_kernels.mass_matrix(body, (amounts, centres), here, A, C, metric)
            for m in range(unknowns):
                total = 0.0
                for a in range(rows):
                    total += J[a, m] * r[a]
                if nonlinear and not dual:
                    # They hold J_oldᵀ r and the old slope since the step was taken.
                    slope_change[m] -= total
                    total_change[m] -= total + pull[m]
                downhill[m] = total + pull[m]
            if nonlinear and not dual:
                learn_curvature(step, slope_change, total_change, curvature, y)
                curved = curved or not learned
                learned = True
        if dual:
            solved = dual_step(J, r, precision, pull, diagonal, mu, S, y, step)
        else:
            solved = primal_step(
                H, downhill, precision, diagonal, metric, kinetic, curvature, curved, mu, S, step
            )
        if not solved:
            mu = 10.0 * mu
            moved = False
            if mu > _MOST:
                return iteration + 1, False, here
            continue
        # Decrease of the cost predicted by the linear model, and what curvature takes from it.
        largest, predicted, bent = 0.0, 1e-12 * cost, 0.0
        for m in range(unknowns):
            largest = max(largest, abs(step[m]))
            predicted += step[m] * (2.0 * downhill[m] - precision[m] * step[m])
            if learned:
                for k in range(unknowns):
                    bent += step[m] * curvature[m, k] * step[k]
        for a in range(rows):
            total = 0.0
            for m in range(unknowns):
                total += J[a, m] * step[m]
            predicted -= total * total
        if largest < 1e-9:
            return iteration, True, here
        advance(body, here, step, there)
        new_cost = evaluate(body, effectors, goals, weights, limits, prior, there)
        if new_cost < cost:
            gain = cost - new_cost
            here, there = there, here
            converged = gain < _CONVERGED * cost
            cost = new_cost
            used = predicted - bent if curved else predicted
            mu = max(mu * max(0.1, 1.0 - (2.0 * gain / used - 1.0) ** 3), _LEAST)
            growth = 2.0
            moved = True
            if converged:
                return iteration + 1, True, here
            # While steps do what they should, there is no need to know the curvature.
            nonlinear = learned or not 0.7 < gain / predicted < 1.3
            if learned:
                curved = abs(predicted - bent - gain) < abs(predicted - gain)
            if nonlinear and not dual:
                r = here[7]
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
                return iteration + 1, False, here
    return most, False, here


@njit(**INNER)
def _are_met(weights: Array, r: Array, stop_error: float) -> bool:
    if stop_error <= 0.0:
        return False
    for f in range(weights.shape[0]):
        missed = r[3 * f] ** 2 + r[3 * f + 1] ** 2 + r[3 * f + 2] ** 2
        if missed > (weights[f] * stop_error) ** 2:
            return False
    beyond = 0.0
    for row in range(3 * weights.shape[0], r.shape[0]):
        beyond = max(beyond, abs(r[row]))
    return beyond <= stop_error


@njit(**INNER)
def state_of(joints: int, effectors: int, rows: int, unknowns: int, modes: int) -> State:
    """Arrays of a state."""
    return (
        np.empty(3), np.empty(modes), np.empty((joints, 4)), np.empty((joints, 5)), np.empty((joints, 3)),
        np.empty((joints, 4)), np.empty((effectors, 3)), np.empty(rows), np.empty(unknowns),
    )  # fmt: skip


@njit(**INNER)
def set_pose(state: State, root: Array, pose: Array, rotations: Array) -> None:
    """Copy a pose into a state."""
    inline.store(inline.vector(root), state[0])
    for m in range(pose.shape[0]):
        state[1][m] = pose[m]
    effector_kernels.copy_rows(rotations, state[2])


_IN = {n: types.Array(types.float64, n, "C", readonly=True) for n in (1, 2, 3)}
_OUT = {n: types.Array(types.float64, n, "C") for n in (1, 2, 3)}
_JOINTS = types.Array(types.int64, 1, "C", readonly=True)
_COUNTS, _FLAGS = types.Array(types.int64, 1, "C"), types.Array(types.boolean, 1, "C")
_BODY = types.Tuple((types.boolean, types.int64, _JOINTS, _JOINTS, _IN[2], _IN[2], _IN[3]))
_EFFECTORS = types.Tuple((_JOINTS, _JOINTS, _IN[2], _IN[2]))
_LIMITS = types.Tuple((_JOINTS, types.int64, _IN[2], _IN[2], types.float64))
_PRIOR = types.Tuple((_IN[1], _IN[2], _IN[2], _IN[3]))
_DAMPING = types.Tuple((types.boolean, _IN[1], _IN[1], _IN[2]))
_SETTINGS = types.Tuple((types.int64, types.float64, types.float64, types.float64, types.boolean))
_POSES = types.Tuple((_OUT[2], _OUT[2], _OUT[3]))
_RESULTS = types.Tuple((_OUT[2], _COUNTS, _FLAGS))


@njit(
    types.void(
        _BODY, _EFFECTORS, _IN[3], _IN[2], _LIMITS, _PRIOR, _DAMPING, _SETTINGS, _POSES, _RESULTS
    ),
    **OPTIONS,
)  # fmt: skip
def solve_frames(
    body: Body, effectors: EffectorArrays, goals: Array, weights: Array, limits: LimitArrays,
    prior: PriorArrays, damping: DampingArrays, settings: tuple[int, float, float, float, bool], poses: Poses,
    results: tuple[Array, Integers, BoolArray],
) -> None:  # fmt: skip
    """Every frame by `descend`, from its own start or, `chained`, from the frame before.

    Args:
        goals, weights: a row a frame, as has the centre of the prior.
        prior: precision, centre's root, pose and rotations.
        damping: whether kinetic, how far unknowns usually go, masses, their points.
        settings: most iterations, stop error, damping to begin with and of frames that start from the one
            before, whether chained.
        poses: root, pose, rotations; they hold the start and become the result, complete whether a target
            needs a joint or not.
        results: unweighted errors, iterations, whether converged.
    """
    full, free, needed, _, _, mean, directions = body
    most, stop_error, first_mu, next_mu, chained = settings
    root, pose, rotations = poses
    errors, iterations, converged = results
    joints, count, modes = rotations.shape[1], goals.shape[1], directions.shape[2]
    rows, unknowns = 3 * count + limits[0].shape[0], prior[0].shape[0]
    here = state_of(joints, count, rows, unknowns, modes)
    there = state_of(joints, count, rows, unknowns, modes)
    size = max(rows, unknowns)
    work = (
        np.empty((joints, 3, unknowns)), np.empty((joints, 3, unknowns)), np.empty((rows, unknowns)),
        np.empty((unknowns, unknowns)), np.empty((size, size)), np.empty(unknowns), np.empty(size),
        np.empty(unknowns), np.empty((unknowns, unknowns)), np.empty(unknowns), np.empty(unknowns),
        np.empty(unknowns), np.empty((unknowns, unknowns)),
    )  # fmt: skip
    for t in range(goals.shape[0]):
        before = t - 1 if chained and t > 0 else t
        set_pose(here, root[before] if free else root[t], pose[before], rotations[before if full else t])
        inline.store(inline.quaternion(rotations[before if free else t, 0]), here[2][0])
        iterations[t], converged[t], found = descend(
            body, effectors, goals[t], weights[t], limits,
            (prior[0], prior[1][t], prior[2][t], prior[3][t]), damping,
            most, stop_error, first_mu if before == t else next_mu, here, there, work,
        )  # fmt: skip
        inline.store(inline.vector(found[0]), root[t])
        for m in range(modes):
            pose[t, m] = found[1][m]
        effector_kernels.copy_rows(found[2], rotations[t])
        r = found[7]
        for f in range(count):
            w = weights[t, f]
            length = math.sqrt(r[3 * f] ** 2 + r[3 * f + 1] ** 2 + r[3 * f + 2] ** 2)
            errors[t, f] = length / w if w > 0.0 else np.nan
        if not full:
            known = 1
            for j in range(1, joints):
                if known < needed.shape[0] and needed[known] == j:
                    known += 1
                else:
                    turned = inline.exp(effector_kernels.tangent(directions[j], pose[t]))
                    inline.store(inline.product(inline.quaternion(mean[j]), turned), rotations[t, j])


@njit(types.void(_BODY, _EFFECTORS, _IN[3], _IN[2], _LIMITS, _POSES, _OUT[2], _OUT[3]), **OPTIONS)
def evaluate_frames(
    body: Body, effectors: EffectorArrays, goals: Array, weights: Array, limits: LimitArrays, poses: Poses,
    values: Array, jacobians: Array,
) -> None:  # fmt: skip
    """Residuals `(frames, rows)` and Jacobians `(frames, rows, unknowns)` at given poses, not moved."""
    frames, rows, unknowns = jacobians.shape
    root, pose, rotations = poses
    joints = rotations.shape[1]
    state = state_of(joints, goals.shape[1], rows, unknowns, pose.shape[1])
    A, C = np.empty((joints, 3, unknowns)), np.empty((joints, 3, unknowns))
    for t in range(frames):
        set_pose(state, root[t], pose[t], rotations[t])
        effector_kernels.place(body, state)
        effector_kernels.residuals(effectors, goals[t], weights[t], limits, state)
        for a in range(rows):
            values[t, a] = state[7][a]
        effector_kernels.accumulate_jacobians(body, state, A, C)
        effector_kernels.jacobian(body, effectors, goals[t], weights[t], limits, state, A, C, jacobians[t])
