"""Whole clips of inverse kinematics in a pose model, all frames at once (Tournier 2011, section 8.2.2).

The root is given and the targets are in its frame, as when a stored clip is decoded: only the model's
coordinates are unknown. Levenberg–Marquardt with the exact Jacobian, compiled, frames independent of each
other (so the result does not depend on the number of threads); tens of microseconds a frame.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.ik.engine import Effectors, Parameters, PoseArrays, Problem, Solution
from marey.body.ik.solver import typical_change
from marey.body.pose_model import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3


def solve_in_model(
    model: PoseModel,
    effectors: Sequence[tuple[int, ArrayLike]],
    targets: ArrayLike,
    *,
    centre: ArrayLike | None = None,
    precision: ArrayLike | float = 0.0,
    weights: ArrayLike | None = None,
    start: ArrayLike | None = None,
    chained: bool = False,
    iterations: int = 50,
) -> Solution:
    """Coordinates whose effectors are nearest to targets, each frame for itself.

    Least `Σ w |target - effector|² + Σ precision (λ - centre)²`.

    Args:
        effectors: joint index and point in that joint's frame, metres.
        targets: `(frames, effectors, 3)`, in the root's frame, metres.
        centre: `(modes,)` or `(frames, modes)`, of the prior; the mean pose if None.
        precision: `(modes,)` or one number, metres² a unit² of coordinate: `(σ_e / σ_i)²` makes it the most
            likely pose for targets known to σ_e.
        weights: `(effectors,)` or `(frames, effectors)`; 0 where a target is missing (it may then be NaN).
        start: `(modes,)` or `(frames, modes)`; the prior's centre if None, and then steps are more cautious
            at first.
        chained: start each frame from the one before.
        iterations: at most so many a frame.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> model = PoseModel.fit([walk], modes=8)
    >>> ends = list(zip(walk.skeleton.end_parents[:5].tolist(), walk.skeleton.end_offsets[:5]))
    >>> seen = points_in_root_frame(model, ends, model.encode(walk))
    >>> found = solve_in_model(model, ends, seen, precision=1e-8)
    >>> bool(found.errors.mean() < 1e-3), found.coordinates.shape
    (True, (240, 8))
    """
    goals = np.asarray(targets, dtype=np.float64)
    count, modes = len(effectors), model.modes
    if goals.ndim != 3 or goals.shape[1:] != (count, 3):
        raise InputError(f"targets: expected shape (frames, {count}, 3), got {goals.shape}")
    frames = len(goals)
    prior = _rows("centre", 0.0 if centre is None else centre, frames, modes)
    given = np.array(_rows("weights", 1.0 if weights is None else weights, frames, count))
    if not np.isfinite(given).all() or (given < 0).any():
        raise InputError("weights: must be finite and not negative; 0 for a missing target")
    if not np.isfinite(goals[given > 0]).all():
        raise InputError("targets: some are not finite; give them weight 0 if they are missing")
    stiffness = np.ascontiguousarray(np.broadcast_to(np.asarray(precision, dtype=np.float64), (modes,)))
    if not np.isfinite(stiffness).all() or (stiffness < 0).any():
        raise InputError("precision: must be finite and not negative")
    parameters = Parameters.of(model)
    usual = typical_change(parameters, model, False)
    problem = Problem(parameters, _effectors(model, effectors), free_root=False, typical_change=usual)
    still = np.zeros((frames, 3))
    neutral = so3.identity((frames, model.skeleton.joints))
    begin = prior if start is None else _rows("start", start, frames, modes)
    goals = np.pad(np.where(given[..., None] > 0, goals, 0.0), ((0, 0), (0, 0), (0, 1)))
    first, centred = (PoseArrays(still, at, neutral) for at in (begin, prior))
    return problem.solve(
        goals, np.sqrt(given), first, centre=centred, precision=stiffness, iterations=iterations,
        warm=start is not None, chained=chained,
    )  # fmt: skip


def points_in_root_frame(
    model: PoseModel, effectors: Sequence[tuple[int, ArrayLike]], coordinates: ArrayLike
) -> Array:
    """Where effectors are `(frames, effectors, 3)`, seen from the root, at coordinates `(frames, modes)`."""
    from marey.body.kinematics import global_frames, points_on

    points = _effectors(model, effectors)
    skeleton = model.skeleton
    pose = global_frames(skeleton.parents, skeleton.offsets, model.decode(coordinates), np.zeros(3))
    return points_on(pose, points.joints, points.local)


def _effectors(model: PoseModel, effectors: Sequence[tuple[int, ArrayLike]]) -> Effectors:
    """Effectors as the engine has them, checked."""
    joints = [int(joint) for joint, _ in effectors]
    beyond = [j for j in joints if not 0 <= j < model.skeleton.joints]
    if beyond:
        raise InputError(f"effectors: there are joints 0…{model.skeleton.joints - 1}, not {beyond[0]}")
    local = np.array([np.asarray(point, dtype=np.float64) for _, point in effectors]).reshape(-1, 3)
    return Effectors.points(joints, local)


def _rows(name: str, value: ArrayLike, frames: int, columns: int) -> Array:
    try:
        rows = np.broadcast_to(np.asarray(value, dtype=np.float64), (frames, columns))
    except ValueError:
        wanted = f"({columns},) or ({frames}, {columns})"
        raise InputError(f"{name}: expected shape {wanted}, got {np.shape(value)}") from None
    return np.ascontiguousarray(rows)
