"""When the feet of a simulated clip stand: as often as the example's, where they come nearest to standing.

Simulated feet slide and float, so that fixed thresholds would find no contact to hold; frames are ranked by
speed and height instead, and as many stand as in the example. O(frames log frames).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.body.contacts import (
    HEIGHT,
    contacts,
    feet,
    hold_feet,
    rest_levels,
    sliding,
    speeds,
    standing_speed,
)
from marey.body.ik.plants import runs
from marey.body.motion import Motion

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Seconds: over which the rank is smoothed, and that a foot stands at least.
SMOOTH, SHORTEST = 0.05, 0.1


@dataclass(frozen=True, eq=False)
class Footing:
    """How the feet of an example stand.

    levels: `(feet,)`, heights at rest, metres
    speed: metres a second below which they stand
    share: `(feet,)`, part of the frames in which each stands
    slide: metres a second at which standing feet move
    """

    levels: Array
    speed: float
    share: Array
    slide: float

    @classmethod
    def of(cls, example: Motion) -> Footing:
        """Measure a clip."""
        standing = contacts(example)
        share = standing.mean(axis=0)
        return cls(rest_levels(example), standing_speed(example), share, sliding(example, standing).speed)

    def standing(self, motion: Motion) -> Mask:
        """Where feet of another clip of the figure stand `(frames, feet)`."""
        joints = list(feet(motion.skeleton))
        places = motion.positions()[:, joints]
        above = np.maximum(places[..., 1] - self.levels, 0.0)
        rank = np.hypot(speeds(places, motion.frame_rate) / self.speed, above / HEIGHT)
        from scipy.ndimage import gaussian_filter1d

        rank = gaussian_filter1d(rank, SMOOTH * motion.frame_rate, axis=0, mode="nearest")
        found = np.zeros(rank.shape, dtype=bool)
        for foot, share in enumerate(self.share):
            if share > 0:
                found[:, foot] = rank[:, foot] <= np.quantile(rank[:, foot], share)
            for a, b in runs(found[:, foot]):
                if b - a < SHORTEST * motion.frame_rate:
                    found[a:b, foot] = False
        return found

    def held(self, motion: Motion, standing: Mask, kept: Mask) -> Motion:
        """The clip with its standing feet held, but for half of what the example's slide too.

        kept: `(frames,)`, frames whose pose stays
        """
        slack = 0.2 * self.slide
        return hold_feet(motion, standing, levels=self.levels, kept=kept, roam=np.inf, slack=slack)
