"""Fingers from their tips: where only fingertips were captured, the joints are found (Courty 2013, 1.2.2).

The first frame is found by particles from the hand at rest. Every later one starts from the frame before and
is polished; where that does not reach the tips, particles search again. Tips that are missing (NaN) leave
their finger to the rules of the hand. Cost: 2 to 5 ms a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, checked, checked_rate
from marey._progress import Progress
from marey._random import Rng, as_generator
from marey._report import Result
from marey.body.motion import Motion
from marey.body.particles.chain import ArticulatedChain
from marey.body.particles.constraints import Constraint, NearPose, Noisy, Reach
from marey.body.particles.filter import solve
from marey.body.particles.polish import polished_pose
from marey.body.particles.poses import PoseBatch, smoothed
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.continuity import continuous

# Metres: the noise of tips, and the error from which on particles search again.
NOISE, LOST = 0.0005, 0.003


@dataclass(frozen=True, eq=False)
class FingerResult(Result):
    """A hand that was found.

    Attributes:
        motion: of the whole hand.
        errors: `(frames, tips)`, metres, NaN where a tip is missing.
        searches: how many frames needed particles.
    """

    motion: Motion
    errors: Array
    searches: int


def fingers_from_tips(
    chain: ArticulatedChain,
    tips: ArrayLike,
    names: Sequence[str],
    *,
    frame_rate: float,
    wrist: tuple[ArrayLike, ArrayLike] | None = None,
    smoothing: float = 0.0,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> FingerResult:
    """The motion of a hand whose fingertips go along given paths.

    Args:
        chain: the hand, its root the wrist, which is stiff.
        tips: `(frames, tips, 3)`, metres, in the wrist's frame, or in the world if `wrist` is given; NaN:
            missing.
        names: of the joints, or `JOINT_end` for their end sites, that the tips are.
        wrist: positions `(frames, 3)` and rotations `(frames, 4)` in the world; at the origin if None.
        smoothing: frames, width of a Gaussian over time before the last polish.

    >>> from marey.body.particles import hand_chain
    >>> hand = hand_chain(forearm=False)
    >>> turns = np.zeros((6, 16, 3))
    >>> turns[:, 7:9, 0] = np.linspace(0.2, 0.9, 6)[:, None]
    >>> turns[:, 9, 0] = turns[:, 8, 0] * 2 / 3
    >>> truth = PoseBatch(hand.skeleton, so3.exp(turns), np.zeros((6, 3)))
    >>> names = ["Index3_end", "Middle3_end"]
    >>> paths = np.stack([truth.point(name) for name in names], axis=1)
    >>> found = fingers_from_tips(hand, paths, names, frame_rate=30)
    >>> bool(found.errors.max() < 0.003)
    True
    """
    names = list(names)
    paths = checked("tips", tips, (None, len(names), 3), finite=False)
    if not len(paths) or not np.isfinite(paths).all(axis=2).any():
        raise InputError("tips: there is no frame in which any tip is known")
    frames = len(paths)
    place, turn = np.zeros((frames, 3)), so3.identity(frames)
    if wrist is not None:
        place = checked("wrist positions", wrist[0], (frames, 3))
        turn = so3.normalise(checked("wrist rotations", wrist[1], (frames, 4)))
        paths = so3.rotate(so3.inverse(turn)[:, None], paths - place[:, None])
    rng = as_generator(rng)
    pose = chain.limits.project(np.asarray(chain.limits.centres)[None])[0]
    pose[0] = so3.identity()
    rotations = np.empty((frames, chain.skeleton.joints, 4))
    searches = 0
    for frame in range(frames):
        asked = _constraints(chain, paths[frame], names)
        if frame:
            pose, _ = polished_pose(chain, asked, pose, np.zeros(3))
        if not frame or _errors(chain, pose[None], paths[frame][None], names)[1] > LOST:
            pose, searches = _searched(chain, asked, pose, rng), searches + 1
        rotations[frame] = pose
        if progress is not None:
            progress(frame + 1, frames)
    if smoothing > 0:
        rotations = chain.limits.project(smoothed(rotations, np.zeros((frames, 3)), smoothing)[0])
        for frame in range(frames):
            asked = _constraints(chain, paths[frame], names)
            rotations[frame], _ = polished_pose(chain, asked, rotations[frame], np.zeros(3), iterations=3)
    errors, _ = _errors(chain, rotations, paths, names)
    rotations[:, 0] = turn
    motion = Motion(chain.skeleton, continuous(rotations), place, checked_rate(frame_rate))
    return FingerResult(motion, errors, searches)


def _constraints(chain: ArticulatedChain, tips: Array, names: Sequence[str]) -> list[Constraint]:
    known = [Noisy(Reach(name, tip), noise=NOISE) for name, tip in zip(names, tips) if np.isfinite(tip).all()]
    return [*known, *chain.rules]


def _searched(
    chain: ArticulatedChain, asked: Sequence[Constraint], pose: Array, rng: np.random.Generator
) -> Array:
    """The pose that particles find from another, polished."""
    bare = replace(chain, rules=())
    # The pose they start from is kept to a little, so that fingers whose tips are missing do not move.
    found = solve(
        bare, [*asked, NearPose(pose)], start=pose, root=np.zeros(3), particles=200, steps=40, rng=rng
    )
    return polished_pose(chain, asked, found.path().rotations[-1], np.zeros(3), iterations=30)[0]


def _errors(
    chain: ArticulatedChain, rotations: Array, tips: Array, names: Sequence[str]
) -> tuple[Array, float]:
    """Distances `(frames, tips)` from the tips, NaN where missing, and the largest."""
    batch = PoseBatch(chain.skeleton, rotations, np.zeros((len(rotations), 3)))
    there = np.stack([batch.point(name) for name in names], axis=1)
    errors = np.linalg.norm(there - tips, axis=2)
    return errors, float(np.nanmax(errors, initial=0.0))
