"""A pose put into a clip: the change is spread over its neighbourhood in time (motion warping).

What the new pose changes at its frame, `log(q⁻¹ q')` of every joint and the root's shift, is applied to
the frames around it with a weight that falls smoothly from 1 to 0. One pass over the frames concerned; points
that are held, such as feet on the ground, cost some twenty microseconds a frame more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.body.ik.engine import Effectors, Parameters, PoseArrays, Problem
from marey.body.ik.settings import SETTINGS
from marey.body.ik.solver import PoseResult
from marey.body.kinematics import forward_kinematics, points_on
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous
from marey.geometry.fades import minimum_jerk


def blend_pose(
    motion: Motion,
    frame: int,
    posed: PoseResult | Motion,
    seconds: float,
    *,
    held: Sequence[tuple[int, ArrayLike]] = (),
) -> Motion:
    """The clip with a pose at a frame, and the change faded out over `seconds` before and after.

    Args:
        motion: the clip.
        frame: where the pose goes.
        posed: the pose, or a clip whose first frame it is.
        seconds: how far the change reaches.
        held: joints, and points `(3,)` in their frames, metres, that stay where the clip has them in all
            frames but this one, as far as the body allows.

    >>> import marey
    >>> from marey.body.ik import Reach, solve_pose
    >>> walk = marey.samples.walk()
    >>> posed = solve_pose(walk.skeleton, [Reach("Head", [0.0, 1.2, 0.5])], start=walk[60])
    >>> edited = blend_pose(walk, 60, posed, 0.5)
    >>> bool(np.allclose(edited.rotations[60], posed.rotations)), bool((edited.root[0] == walk.root[0]).all())
    (True, True)
    """
    if not 0 <= frame < motion.frames:
        raise InputError(f"frame {frame}: the clip has frames 0…{motion.frames - 1}")
    if not (np.isfinite(seconds) and seconds >= 0):
        raise InputError(f"blend: seconds, not below 0, got {seconds}")
    away = np.abs(np.arange(motion.frames) - frame) / max(seconds * motion.frame_rate, 0.5)
    weights = minimum_jerk(1.0 - np.minimum(away, 1.0))
    pose, place = posed.rotations, posed.root
    if isinstance(posed, Motion):
        pose, place = pose[0], place[0]
    change = so3.log(so3.multiply(so3.inverse(motion.rotations[frame]), pose))
    rotations = so3.multiply(motion.rotations, so3.exp(weights[:, None, None] * change))
    root = motion.root + weights[:, None] * (place - motion.root[frame])
    edited = replace(motion, rotations=so3.normalise(rotations), root=root, translations=None)
    changed = np.flatnonzero(weights > 0)
    if held and len(changed) > 1:
        part = slice(int(changed[0]), int(changed[-1]) + 1)
        before = replace(motion[part], translations=None)
        kept = _where_they_were(edited[part], before, held)
        # The pose itself is as it was given.
        kept[frame - part.start] = edited.rotations[frame]
        rotations = np.array(edited.rotations)
        rotations[part] = kept
        edited = replace(edited, rotations=rotations)
    return replace(edited, rotations=continuous(edited.rotations))


def _where_they_were(edited: Motion, before: Motion, held: Sequence[tuple[int, ArrayLike]]) -> Array:
    """Rotations `(frames, joints, 4)` of a clip bent a little, so that points are where they were before."""
    joints = [int(joint) for joint, _ in held]
    effectors = Effectors.points(joints, np.array([point for _, point in held], dtype=np.float64))
    problem = Problem(Parameters.of(edited.skeleton), effectors, free_root=False)
    places = points_on(forward_kinematics(before), effectors.joints, effectors.local)
    goals = np.pad(places, ((0, 0), (0, 0), (0, 1)))
    start = PoseArrays(
        np.array(edited.root), np.zeros((edited.frames, 0)), np.array(edited.rotations, dtype=np.float64)
    )
    found = problem.solve(
        goals,
        np.ones(goals.shape[:2]),
        start,
        centre=start,
        precision=np.full(problem.unknowns, SETTINGS.refined_tolerance**2),
        warm=True,
    )
    return so3.normalise(found.poses.rotations)
