"""Random motion around targets, sampled from the clip's dynamics given the frames that stay.

Either the window anew, given the poses at the targets and all frames outside (conditional simulation, Courty
2013, section 3.2.3.2), or a deviation from a smooth change, which is 0 at the targets and at the edges. The
root's motion is part of the model; that it ends where the original goes on is imposed on its sum. What the
model does not hold of a clip is kept. Cost: that of fitting the dynamics, and of one conditional sample.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey._arrays import Array
from marey._random import Rng
from marey.body import root_motion
from marey.body.dynamics import MotionModel
from marey.body.motion import Motion
from marey.body.steer.requests import Target, Window, covered, merge_windows
from marey.geometry import rotations as so3
from marey.geometry.fades import minimum_jerk
from marey.geometry.rotations import like
from marey.statistics.autoregression import condition

# Seconds before and after a target whose poses are given too: it is passed at the right velocity.
BESIDE = 1 / 60


def simulate(
    learned: MotionModel,
    original: Motion,
    smooth: Motion,
    targets: list[Target],
    windows: list[Window],
    *,
    share: float | None,
    rng: Rng,
) -> Motion:
    """A clip that is simulated within the windows and the original outside.

    Args:
        learned: Dynamics of the original.
        original: The clip.
        smooth: The clip as it is steered without simulation; its poses at the targets are kept.
        windows: Around the targets.
        share: How much of a simulated deviation from `smooth` is taken; None simulates the motion itself.
        rng: Of the sample.
    """
    anew = share is None
    base = original if anew else smooth
    coordinates = learned.poses.encode(base)
    centre = learned.trend_at(original.frames)
    stretches = merge_windows(windows, original.frames)
    unknown = covered(windows, original.frames)
    beside = max(1, round(BESIDE * original.frame_rate))
    near = [f for target in targets for f in range(target.frame - beside, target.frame + beside + 1)]
    given = sorted({f for f in near if 0 <= f < original.frames and unknown[f]})
    unknown[given] = False
    known = coordinates - centre if anew else np.zeros_like(coordinates)
    if anew:
        known[given] = learned.poses.encode(smooth)[given] - centre[given]
    conditional = condition(learned.dynamics, np.where(unknown[:, None], np.nan, known))
    rows, values = _closing(learned, base, stretches, coordinates, centre if anew else None)
    drawn = conditional.condition(rows, values).sample(rng)
    new = drawn + centre if share is None else coordinates + share * drawn
    return _transfer(learned, base, coordinates, new, stretches)


def _closing(
    learned: MotionModel,
    base: Motion,
    stretches: tuple[tuple[int, int], ...],
    coordinates: Array,
    centre: Array | None,
) -> tuple[Array, Array]:
    """Conditions on the sums of turning and of root motion over each window: the same position at its end."""
    moved = learned.poses.root_motion
    assert moved is not None
    facing = root_motion.about_y(root_motion.yaw(base))
    sideways, ahead = (so3.rotate(facing, np.array(axis)) for axis in ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]))
    right, forward, turning = (moved.directions[:, i] for i in (0, 1, 3))
    rows = []
    for first, last in stretches:
        inside = np.zeros((base.frames, 1))
        inside[max(first - 1, 0) : last] = 1.0
        rows += [inside * (sideways[:, [i]] * right + ahead[:, [i]] * forward) for i in (0, 2)]
        rows.append(inside * turning)
    functionals = np.array(rows)
    target = np.zeros_like(coordinates) if centre is None else coordinates - centre
    return functionals, np.einsum("itc,tc->i", functionals, target)


def _transfer(
    learned: MotionModel, base: Motion, old: Array, new: Array, stretches: tuple[tuple[int, int], ...]
) -> Motion:
    """The change from old to new coordinates, put on the clip within the windows."""
    rotations, root = np.array(base.rotations), np.array(base.root)
    yaw = root_motion.yaw(base)
    for first, last in stretches:
        begin = max(first - 1, 0)
        frames = slice(begin, min(last + 2, base.frames))
        at = {"start": base.root[begin], "heading": float(yaw[begin])}
        before, after = (
            learned.poses.decode_motion(part[frames], base.frame_rate, **at) for part in (old, new)
        )
        turns = so3.log(so3.multiply(so3.inverse(before.rotations), after.rotations))
        shifts = after.root - before.root
        # What is left of the shift and of the turn at the end is spread over the window.
        ramp = minimum_jerk(np.linspace(0.0, 1.0, len(shifts))) * (last + 1 < base.frames)
        shifts -= ramp[:, None] * shifts[-1]
        turns[:, 0] -= ramp[:, None] * turns[-1, 0]
        inner = slice(first, last + 1)
        kept = slice(first - begin, last + 1 - begin)
        moved = so3.multiply(base.rotations[inner], so3.exp(turns[kept]))
        rotations[inner] = so3.normalise(like(moved, base.rotations[inner]))
        root[inner] = base.root[inner] + shifts[kept]
    return replace(base, rotations=rotations, root=root)
