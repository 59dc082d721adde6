"""Targets of inverse kinematics that hold feet where and while they are in contact with the ground."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import runs
from marey.body.feet.contacts import checked_contacts, contacts, foot_joints, foot_positions
from marey.body.ik.targets import Reach
from marey.body.motion import Motion
from marey.geometry import fades


def contact_targets(
    motion: Motion, contact: ArrayLike | None = None, *, fade: float = 0.06, weight: float = 1.0
) -> list[Reach]:
    """Targets that hold each joint of a foot where it is on average during each of its contacts.

    Args:
        motion: A clip.
        contact: `(frames, feet)`, as by :func:`contacts`, which is asked if None.
        fade: Seconds over which a target comes and goes.
        weight: Of the targets while a foot is in contact.

    >>> import marey
    >>> [target.joint for target in contact_targets(marey.samples.walk())]
    ['LeftFoot', 'LeftToeBase', 'RightFoot', 'RightToeBase']
    """
    touching = contacts(motion) if contact is None else checked_contacts(motion, contact)
    frames = max(1, round(fade * motion.frame_rate))
    targets = []
    for joint, mask, places in zip(
        foot_joints(motion.skeleton), touching.T, np.moveaxis(foot_positions(motion), 1, 0), strict=True
    ):
        goal, share = np.full(places.shape, np.nan), np.zeros(motion.frames)
        for first, stop in runs(mask):
            alone = np.zeros(motion.frames, dtype=bool)
            alone[first:stop] = True
            here = fades.fade(alone, frames)
            goal[here > share] = places[first:stop].mean(axis=0)
            share = np.maximum(share, here)
        targets.append(Reach(motion.skeleton.names[joint], goal, weight=weight * share))
    return targets
