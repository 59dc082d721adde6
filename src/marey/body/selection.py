"""Smaller skeletons: keep some joints, drop fingers, take one arm, with every kept joint moving as before.

What lies between two kept joints is multiplied out, so world positions and rotations of the kept joints do
not change. Where that makes an offset vary over time the result has `translations`. One pass over the clip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import FloatArray
from marey.body.kinematics import forward_kinematics, local_positions
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3

if TYPE_CHECKING:
    from marey.body.motion import Motion

# Offsets that vary by less than a billionth of the skeleton's size only do so by rounding.
ROUNDING = 1e-9


def pick(motion: Motion, names: Sequence[str]) -> Motion:
    """The clip of these joints alone, in the skeleton's order; the topmost becomes the root.

    A joint that loses all its children gets an end site at their mean, so that its bone stays visible.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> pick(walk, walk.skeleton.names[:3]).joints
    3
    """
    skeleton = motion.skeleton
    kept = sorted(set(skeleton.indices(names)))
    if not kept:
        raise InputError("no joint is left; name at least one to keep")
    place, top = {joint: i for i, joint in enumerate(kept)}, kept[0]
    # The nearest kept joint above each, in the new order; -1 for the top.
    parents = [next((place[a] for a in skeleton.ancestors(joint)[1:] if a in place), -1) for joint in kept]
    tops = [joint for joint, parent in zip(kept, parents) if parent < 0]
    if len(tops) > 1:
        above = set(skeleton.ancestors(tops[0])).intersection(*(skeleton.ancestors(t) for t in tops[1:]))
        raise InputError(
            f"{skeleton.names[tops[0]]!r} and {skeleton.names[tops[1]]!r} have no kept joint above both; "
            f"keep {skeleton.names[max(above)]!r} too"
        )
    rotations, positions, offsets = _composed(motion, kept)
    if top != 0:
        world = forward_kinematics(motion)
        rotations[:, 0], positions[:, 0] = world.rotations[:, top], world.positions[:, top]
    size = float(np.abs(skeleton.offsets).sum()) + 1e-300
    varies = np.ptp(positions[:, 1:], axis=0).max(initial=0.0) > ROUNDING * size
    if not varies:
        offsets[1:] = positions[0, 1:]
    changed = top != 0 or (varies and motion.translations is None)
    channels, slid = motion.channels, positions if varies else None
    channels = None if channels is None or changed else tuple(channels[j] for j in kept)
    fewer, root = _smaller(skeleton, kept, parents, offsets), positions[:, 0]
    return replace(
        motion, skeleton=fewer, rotations=rotations, root=root, translations=slid, channels=channels
    )


def _composed(motion: Motion, kept: list[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rotations and positions of kept joints in the frame of the kept joint above, and rest offsets."""
    skeleton, local = motion.skeleton, local_positions(motion)
    rotations = np.array(motion.rotations[:, kept])
    positions = np.array(local[:, kept])
    offsets = np.array(skeleton.offsets[kept])
    keeps = set(kept)
    for i, joint in enumerate(kept[1:], start=1):
        for above in skeleton.ancestors(joint)[1:]:
            if above in keeps:
                break
            q = motion.rotations[:, above]
            positions[:, i] = local[:, above] + so3.rotate(q, positions[:, i])
            rotations[:, i] = so3.multiply(q, rotations[:, i])
            offsets[i] += skeleton.offsets[above]
    return rotations, positions, offsets


def _smaller(skeleton: Skeleton, kept: list[int], parents: list[int], offsets: FloatArray) -> Skeleton:
    place = {joint: i for i, joint in enumerate(kept)}
    sites = zip(skeleton.end_parents.tolist(), skeleton.end_offsets)
    ends = [(place[joint], offset) for joint, offset in sites if joint in place]
    carrying = {i for i, _ in ends} | set(parents)
    for i, joint in enumerate(kept):
        children = skeleton.children(joint)
        if children and i not in carrying:
            ends.append((i, skeleton.offsets[list(children)].mean(axis=0)))
    ends.sort(key=lambda end: end[0])
    names, carriers = tuple(skeleton.names[j] for j in kept), np.array([i for i, _ in ends], dtype=np.int64)
    points = np.array([offset for _, offset in ends]).reshape(-1, 3)
    return Skeleton(names, np.array(parents), offsets, carriers, points)
