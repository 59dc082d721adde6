"""What is drawn by chance around a request: the clip's joint model, given the frames that stay.

Either the interval anew, given the poses at the request and all frames outside (conditional simulation,
Courty 2013, section 3.2.3.2), or a deviation from a smooth change, nothing at the request and at the edges.
The root's travel is part of the model; that it ends where the original goes on is imposed on its sum. What
the model does not hold of a clip is kept. Cost: that of learning the dynamics, and of one conditional draw.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marey._arrays import Array
from marey._random import Rng
from marey.body.dynamics import MotionModel
from marey.body.motion import Motion
from marey.body.root_travel import heading
from marey.body.steering.process import Span, merged
from marey.body.steering.requests import Goal
from marey.geometry import rotations as so3
from marey.statistics.autoregression import condition

# Seconds before and after a request whose poses are given too: it is passed at the right velocity.
BESIDE = 1 / 60


def simulated(
    learned: MotionModel,
    original: Motion,
    smooth: Motion,
    asked: list[Goal],
    spans: list[Span],
    *,
    share: float | None,
    rng: Rng,
) -> Motion:
    """A clip that is drawn within the spans and the original outside.

    smooth: the clip as it is steered without chance; its poses at the requests are kept
    learned: dynamics of the original
    share: how much of a simulated deviation from `smooth` is taken; None draws the motion itself
    """
    anew = share is None
    base = original if anew else smooth
    coordinates = learned.poses.encode(base)
    centre = learned.trend_at(original.frames)
    stretches = merged(spans, original.frames)
    unknown = np.zeros(original.frames, dtype=bool)
    for first, last in stretches:
        unknown[first : last + 1] = True
    beside = max(1, round(BESIDE * original.frame_rate))
    near = [f for goal in asked for f in range(goal.frame - beside, goal.frame + beside + 1)]
    given = sorted({f for f in near if 0 <= f < original.frames and unknown[f]})
    unknown[given] = False
    known = coordinates - centre if anew else np.zeros_like(coordinates)
    if anew:
        known[given] = learned.poses.encode(smooth)[given] - centre[given]
    law = condition(learned.dynamics, np.where(unknown[:, None], np.nan, known))
    rows, values = _way_back(learned, base, stretches, coordinates, centre if anew else None)
    drawn = law.given(rows, values).sample(rng)
    new = drawn + centre if share is None else coordinates + share * drawn
    return _transferred(learned, base, coordinates, new, stretches)


def _way_back(
    learned: MotionModel,
    base: Motion,
    stretches: tuple[tuple[int, int], ...],
    coordinates: Array,
    centre: Array | None,
) -> tuple[Array, Array]:
    """Conditions on the sums of turning and of travel over each stretch: the same way in the end."""
    travel = learned.poses.travel
    assert travel is not None
    facing = so3.exp(heading(base)[:, None] * [0.0, 1.0, 0.0])
    sideways = so3.rotate(facing, np.array([1.0, 0.0, 0.0]))
    ahead = so3.rotate(facing, np.array([0.0, 0.0, 1.0]))
    rows = []
    for first, last in stretches:
        inside = np.zeros(base.frames)
        inside[max(first - 1, 0) : last] = 1.0
        for axis in (0, 2):
            there = (
                sideways[:, axis, None] * travel.directions[:, 0]
                + ahead[:, axis, None] * travel.directions[:, 1]
            )
            rows.append(inside[:, None] * there)
        rows.append(inside[:, None] * travel.directions[:, 3])
    functionals = np.array(rows)
    target = np.zeros_like(coordinates) if centre is None else coordinates - centre
    return functionals, np.einsum("itc,tc->i", functionals, target)


def _transferred(
    learned: MotionModel, base: Motion, old: Array, new: Array, stretches: tuple[tuple[int, int], ...]
) -> Motion:
    """The change from old to new coordinates, put on the clip within the stretches."""
    rotations, root = np.array(base.rotations), np.array(base.root)
    yaw = heading(base)
    for first, last in stretches:
        begin = max(first - 1, 0)
        frames = slice(begin, min(last + 2, base.frames))
        before, after = (
            learned.poses.decode_motion(
                part[frames], base.frame_rate, start=base.root[begin], heading=float(yaw[begin])
            )
            for part in (old, new)
        )
        turns = so3.log(so3.multiply(so3.inverse(before.rotations), after.rotations))
        shifts = after.root - before.root
        # What is left of the way back, and of the turn, goes evenly over the stretch.
        ramp = _step(len(shifts)) if last + 1 < base.frames else np.zeros(len(shifts))
        shifts -= ramp[:, None] * shifts[-1]
        turns[:, 0] -= ramp[:, None] * turns[-1, 0]
        inner = slice(first, last + 1)
        kept = slice(first - begin, last + 1 - begin)
        moved = so3.multiply(base.rotations[inner], so3.exp(turns[kept]))
        flipped = np.einsum("tja,tja->tj", moved, base.rotations[inner]) < 0
        rotations[inner] = so3.normalise(np.where(flipped[..., None], -moved, moved))
        root[inner] = base.root[inner] + shifts[kept]
    return replace(base, rotations=rotations, root=root)


def _step(count: int) -> Array:
    """From 0 to 1 with velocity and acceleration 0 at both ends."""
    x = np.linspace(0.0, 1.0, count)
    return np.asarray(x**3 * (10 - 15 * x + 6 * x**2))
