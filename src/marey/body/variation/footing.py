"""When the feet of a simulated clip stand: as often as the example's, where they come nearest to standing.

Simulated feet slide and float, so that fixed thresholds would find no contact to hold; frames are ranked by
speed and height instead, and as many stand as in the example.
O(frames log frames).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.contacts import (
    HEIGHT,
    contacts,
    feet,
    rest_levels,
    sliding,
    speeds,
    standing_shifts,
    standing_speed,
)
from marey.body.ik.plants import runs
from marey.body.motion import Motion
from marey.body.variation.planting import Ranges, planted, settled

Mask = NDArray[np.bool_]

# Seconds: over which the rank is smoothed, and that a foot stands at least.
SMOOTH, SHORTEST = 0.05, 0.1
# The same for feet that are to stand, with the shortest gap.
STEADY, LEAST, GAP = 0.08, 0.12, 0.1
BISECTIONS = 8
# How much feet may slide beside the example's, metres a second that these count as at least, and metres that
# feet may sink below the example's.
MOST_SLIDE, LEAST_SLIDE, MOST_SUNK = 1.0, 1e-3, 0.02
# How often what is left is shifted, and the share of the example's sliding that is still enough.
ROUNDS, STILL = 2, 0.5
# Metres that a foot may sink.
SINK = 0.01
# Metres a second at which it is looked how high feet are, and the share of them that are lower still.
PACES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
LOWER = 0.1


@dataclass(frozen=True, eq=False)
class Footing:
    """How the feet of an example stand.

    levels: `(feet,)`, heights at rest, metres
    speed: metres a second below which they stand
    share: `(feet,)`, part of the frames in which each stands
    slide: metres a second at which standing feet move
    lift: `(feet, paces)`, metres above their levels that feet keep at speeds of `PACES` at least
    """

    levels: Array
    speed: float
    share: Array
    slide: float
    lift: Array

    @classmethod
    def of(cls, example: Motion) -> Footing:
        """Measure a clip."""
        standing = contacts(example)
        share = standing.mean(axis=0)
        levels = rest_levels(example)
        slide = sliding(example, standing).speed
        return cls(levels, standing_speed(example), share, slide, _lift(example, levels))

    def standing(self, motion: Motion) -> Mask:
        """Where feet of another clip of the figure stand `(frames, feet)`."""
        rank = self._rank(motion, SMOOTH)
        found = np.zeros(rank.shape, dtype=bool)
        for foot, share in enumerate(self.share):
            if share > 0:
                found[:, foot] = rank[:, foot] <= np.quantile(rank[:, foot], share)
            for a, b in runs(found[:, foot]):
                if b - a < SHORTEST * motion.frame_rate:
                    found[a:b, foot] = False
        return found

    def stands(self, motion: Motion) -> Mask:
        """Where feet shall stand `(frames, feet)`: as long as they do in the example, in whole stretches."""
        rank = self._rank(motion, STEADY)
        rate = motion.frame_rate
        found = np.zeros(rank.shape, dtype=bool)
        for foot, share in enumerate(self.share):
            wanted = share
            low, high = 0.0, 1.0
            # What is tidied away is made up for by a higher threshold.
            for _ in range(BISECTIONS if share > 0 else 0):
                middle = 0.5 * (low + high)
                tried = rank[:, foot] <= np.quantile(rank[:, foot], middle)
                _tidied(tried, rate)
                low, high = (low, middle) if tried.mean() > wanted else (middle, high)
            if share > 0:
                found[:, foot] = rank[:, foot] <= np.quantile(rank[:, foot], high)
                _tidied(found[:, foot], rate)
        return found

    def _rank(self, motion: Motion, smooth: float) -> Array:
        joints = list(feet(motion.skeleton))
        places = motion.positions()[:, joints]
        above = np.maximum(places[..., 1] - self.levels, 0.0)
        rank = np.hypot(speeds(places, motion.frame_rate) / self.speed, above / HEIGHT)
        from scipy.ndimage import gaussian_filter1d

        return np.asarray(gaussian_filter1d(rank, smooth * motion.frame_rate, axis=0, mode="nearest"))

    def stance(self, motion: Motion) -> tuple[float, float]:
        """Metres a second at which feet slide, and metres that they sink below their levels."""
        places = motion.positions()[:, list(feet(motion.skeleton)), 1]
        return sliding(motion, self.standing(motion)).speed, max(float((self.levels - places).max()), 0.0)

    def fault(self, motion: Motion, example: tuple[float, float]) -> float:
        """How badly feet stand beside the example's stance: above 1 if they slide or sink too much."""
        slid, sunk = self.stance(motion)
        return max(slid / (MOST_SLIDE * max(example[0], LEAST_SLIDE)), (sunk - example[1]) / MOST_SUNK)

    def floor(self, motion: Motion, standing: Mask) -> Array:
        """Heights `(frames, feet)` below which feet are not: a swinging foot is lifted as the example's."""
        joints = list(feet(motion.skeleton))
        fast = speeds(motion.positions()[:, joints], motion.frame_rate)
        from scipy.ndimage import gaussian_filter1d

        fast = gaussian_filter1d(fast, SMOOTH * motion.frame_rate, axis=0, mode="nearest")
        lift = np.stack([np.interp(fast[:, i], PACES, self.lift[i]) for i in range(len(joints))], axis=1)
        return self.levels + np.where(standing, -SINK, lift)

    def held(self, motion: Motion, kept: Mask, ranges: Ranges | None, *, loose: bool = False) -> Motion:
        """The clip with its standing feet still, but for part of what the example's slide too.

        kept: `(frames,)`, frames whose pose stays
        ranges: of the joints; None if they are free
        loose: whether feet may lead the root's path away from what it was
        """
        standing = self.stands(motion)
        slack = 0.2 * self.slide
        floor = self.floor(motion, standing)
        near = planted(
            motion,
            standing,
            levels=self.levels,
            floor=floor,
            kept=kept,
            ranges=ranges,
            slack=slack,
            loose=loose,
        )
        for number in range(ROUNDS):
            if number and sliding(near, standing).speed <= STILL * self.slide:
                break
            shifts, root = standing_shifts(
                near, standing, levels=self.levels, kept=kept, roam=np.inf, slack=slack
            )
            near = settled(near, shifts, root, kept=kept, ranges=ranges)
        return near


def _lift(example: Motion, levels: Array) -> Array:
    """How high feet are at least, `(feet, paces)` above their levels: all but the lowest of each pace."""
    places = example.positions()[:, list(feet(example.skeleton))]
    fast, above = speeds(places, example.frame_rate), places[..., 1] - levels
    found = np.full((len(levels), len(PACES)), -SINK)
    for foot in range(len(levels)):
        for i in range(1, len(PACES)):
            # A pace stands for the speeds about it; of too few nothing is learned.
            near = np.abs(fast[:, foot] - PACES[i]) < 0.5 * (PACES[i] - PACES[i - 1])
            if near.sum() >= 8:
                found[foot, i] = max(float(np.quantile(above[near, foot], LOWER)), -SINK)
            else:
                found[foot, i] = found[foot, i - 1]
    return found


def _tidied(standing: Mask, rate: float) -> None:
    """Close short gaps and drop short stands, in place."""
    for a, b in runs(~standing):
        if a > 0 and b < len(standing) and b - a < GAP * rate:
            standing[a:b] = True
    for a, b in runs(standing):
        if b - a < LEAST * rate:
            standing[a:b] = False
