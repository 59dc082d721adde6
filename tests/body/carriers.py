"""Clips as exporters and engines write them: below joints of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3


def carried(motion: Motion) -> Motion:
    """The clip as exporters write it: below still joints, turned and moved, one of them the root."""
    names = ("World", "Armature")
    skeleton = motion.skeleton
    turn = so3.exp(np.array([[0.3, -0.2, 0.5], [-0.5 * np.pi, 0.0, 0.0]]))
    place = np.array([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]])
    frames = motion.frames
    whole_turn = so3.multiply(turn[0], turn[1])
    where = place[0] + so3.rotate(turn[0], place[1])
    rotations = np.concatenate([np.tile(turn, (frames, 1, 1)), motion.rotations], axis=1)
    rotations[:, 2] = so3.multiply(so3.inverse(whole_turn), motion.rotations[:, 0])
    translations = np.concatenate(
        [np.tile(place, (frames, 1, 1)), np.tile(skeleton.offsets, (frames, 1, 1))], axis=1
    )
    translations[:, 2] = so3.rotate(so3.inverse(whole_turn), motion.root - where)
    return replace(
        motion,
        skeleton=Skeleton(
            names + skeleton.names,
            np.concatenate([[-1, 0, 1], skeleton.parents[1:] + 2]),
            np.concatenate([np.zeros((2, 3)), [[0.0, 0.9, 0.0]], skeleton.offsets[1:]]),
            skeleton.end_parents + 2,
            skeleton.end_offsets,
        ),
        rotations=rotations,
        root=translations[:, 0],
        translations=translations,
    )


def driven(motion: Motion) -> Motion:
    """The clip with root motion, as engines have it: the joint above the hips follows them and turns."""
    below = carried(motion)
    assert below.translations is not None
    frames = np.arange(motion.frames)
    rotations, places = np.array(below.rotations), np.array(below.translations)
    before = below.forward_kinematics()
    turn = so3.exp(np.stack([0 * frames, 0.02 * frames, 0.3 * np.sin(frames / 9)], axis=1))
    rotations[:, 0] = so3.multiply(turn, rotations[:, 0])
    places[:, 0] += np.stack([0.01 * frames, 0.1 * np.cos(frames / 7), -0.02 * frames], axis=1)
    over = replace(below, rotations=rotations, root=places[:, 0], translations=places).forward_kinematics()
    back = so3.inverse(over.rotations[:, 1])
    rotations[:, 2] = so3.multiply(back, before.rotations[:, 2])
    places[:, 2] = so3.rotate(back, before.positions[:, 2] - over.positions[:, 1])
    return replace(below, rotations=rotations, root=places[:, 0], translations=places)
