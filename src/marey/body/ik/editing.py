"""A pose put into a clip: the change is spread over its neighbourhood in time (motion warping).

What the new pose changes at its frame, `log(q⁻¹ q')` of every joint and the root's shift, is applied to
the frames around it with a weight that falls smoothly from 1 to 0. One pass over the frames concerned.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey.body.ik.solver import PosedFigure
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous


def blended(motion: Motion, frame: int, posed: PosedFigure | Motion, seconds: float) -> Motion:
    """The clip with a pose at a frame, and the change faded out over `seconds` before and after.

    posed: the pose, or a clip whose first frame it is

    >>> import marey
    >>> from marey.body.ik import Reach, solve_pose
    >>> walk = marey.samples.walk()
    >>> posed = solve_pose(walk.skeleton, [Reach("Head", [0.0, 1.2, 0.5])], start=walk[60])
    >>> edited = blended(walk, 60, posed, 0.5)
    >>> bool(np.allclose(edited.rotations[60], posed.rotations)), bool((edited.root[0] == walk.root[0]).all())
    (True, True)
    """
    if not 0 <= frame < motion.frames:
        raise InputError(f"frame {frame}: the clip has frames 0…{motion.frames - 1}")
    if not (np.isfinite(seconds) and seconds >= 0):
        raise InputError(f"blend: seconds, not below 0, got {seconds}")
    away = np.abs(np.arange(motion.frames) - frame) / max(seconds * motion.frame_rate, 0.5)
    weights = 0.5 * (1 + np.cos(np.pi * np.minimum(away, 1.0)))
    pose, place = posed.rotations, posed.root
    if isinstance(posed, Motion):
        pose, place = pose[0], place[0]
    change = so3.log(so3.multiply(so3.inverse(motion.rotations[frame]), pose))
    rotations = so3.multiply(motion.rotations, so3.exp(weights[:, None, None] * change))
    root = motion.root + weights[:, None] * (place - motion.root[frame])
    return replace(motion, rotations=continuous(so3.normalise(rotations)), root=root, translations=None)
