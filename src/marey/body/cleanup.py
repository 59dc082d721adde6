"""Repair what capture and conversion leave behind, and say what was done (Tournier 2011; Courty 2013, 2.1.1).

A converter's rest pose in frame 0 is dropped. Joints that turn faster than 120 rad/s are looked at: half
turns to and fro are turned back, short excursions are bridged by great arcs, and what does not return is
left alone and reported. So are joints that never move. Cost: one pass over the clip, plus a little work for
each joint with such a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from marey.body.glitches import PLACES, bridge_excursions, bridge_limbs, steps_of, turn_back_flips
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3

# Radians per second: the outlier test of the source, 1 rad a frame at 120 Hz.
SPEED_LIMIT = 120.0
# Radians a frame. At low frame rates the speed limit would pass a half turn, beyond which steps are
# indistinguishable from smaller ones the other way.
STEP_LIMIT = 2.0
# Metres per second: nobody's hips are faster on foot.
ROOT_SPEED_LIMIT = 15.0
# Seconds a repaired excursion may last: a great arc tells little about a longer one.
LONGEST = 0.5
# Seconds on both sides of a half turn in which the motion must fit once it is turned back.
AROUND = 0.05
# Radians that joints of a converter's rest pose may be away from zero, and how much farther than an
# ordinary step the clip then jumps.
REST_TOLERANCE, REST_JUMP = 0.5, 10.0
# Radians: a joint that turns less in a whole clip does so by rounding in the file.
STILL = 1e-4


@dataclass(frozen=True)
class Repair:
    """Frames `start` to `stop - 1` of one joint, by their numbers in the file, that were replaced."""

    joint: str
    start: int
    stop: int

    @property
    def frames(self) -> int:
        """How many."""
        return self.stop - self.start


@dataclass(frozen=True)
class Jump:
    """A step of a joint too fast to be true, from `frame` (of the file) to the next, that was left alone."""

    joint: str
    frame: int
    radians: float


@dataclass(frozen=True)
class CleanReport:
    """What `clean` found and did; frames are numbered as in the file (:attr:`Motion.first_frame`).

    rest_frame: whether frame 0 was an artificial rest pose and was dropped
    sign_changes: quaternions whose sign was changed for continuity (the rotations stay the same)
    flips: half turns to and fro that were turned back, keeping the motion in between
    glitches: excursions of joints that were bridged
    root_spikes: excursions of the root's position that were bridged
    jumps: steps that do not return and were left alone
    still: joints that never move
    """

    rest_frame: bool = False
    sign_changes: int = 0
    flips: tuple[Repair, ...] = ()
    glitches: tuple[Repair, ...] = ()
    root_spikes: tuple[Repair, ...] = ()
    jumps: tuple[Jump, ...] = ()
    still: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether any rotation or position differs from what was given."""
        return self.rest_frame or bool(self.flips or self.glitches or self.root_spikes)

    def lines(self) -> list[str]:
        """The report for people, one finding a line."""
        found = []
        if self.rest_frame:
            found.append("dropped frame 0, an artificial rest pose")
        for repairs, did in (
            (self.flips, "turned back half-turn flips"),
            (self.glitches, "bridged glitches"),
            (self.root_spikes, "bridged spikes of the root"),
        ):
            if repairs:
                found.append(f"{did}: {_counted([(r.joint, r.frames) for r in repairs], 'frames')}")
        if self.jumps:
            found.append(f"left alone, too fast but lasting: {_counted([(j.joint, 1) for j in self.jumps])}")
        if self.still:
            found.append(f"never moving: {', '.join(self.still)}")
        return found or ["nothing to clean"]

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return asdict(self)


def clean(
    motion: Motion, *, drop_rest_frame: bool = True, speed_limit: float = SPEED_LIMIT
) -> tuple[Motion, CleanReport]:
    """The clip without artificial rest pose, flips and glitches, and a report of what was done.

    speed_limit: radians per second; only steps faster than this are suspected

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> spoilt = np.array(walk.rotations)
    >>> spoilt[20, 3] = so3.multiply(spoilt[20, 3], so3.exp([2.5, 0, 0]))
    >>> repaired, report = clean(replace(walk, rotations=spoilt))
    >>> [(repair.start, repair.frames) for repair in report.glitches]
    [(20, 1)]
    """
    if not speed_limit > 0:
        raise InputError(f"speed limit: must be a positive number of radians per second, got {speed_limit}")
    rest_frame = drop_rest_frame and starts_in_rest_pose(motion)
    if rest_frame:
        motion = motion[1:]
    names, first = motion.skeleton.names, motion.first_frame
    longest = max(2, round(LONGEST * motion.frame_rate))

    def numbered(found: Iterable[tuple[int, tuple[int, int]]]) -> tuple[Repair, ...]:
        return tuple(Repair(names[j], first + a, first + b) for j, (a, b) in found)

    rotations = so3.continuous(motion.rotations)
    sign_changes = int((np.einsum("tji,tji->tj", rotations, motion.rotations) < 0).sum())
    limit = min(speed_limit / motion.frame_rate, STEP_LIMIT)
    around = round(AROUND * motion.frame_rate)
    flips = numbered(turn_back_flips(motion.skeleton, rotations, limit, around))
    glitches = numbered(bridge_limbs(motion.skeleton, rotations, limit, longest))
    steps = steps_of(rotations)
    jumps = [
        Jump(names[j], first + int(t), round(float(steps[t, j]), 3)) for t, j in np.argwhere(steps > limit)
    ]

    root = np.array(motion.root)
    root_limit = ROOT_SPEED_LIMIT / motion.frame_rate
    spikes = numbered((0, span) for span in bridge_excursions(root, root_limit, longest, PLACES))

    still = so3.distance(rotations, rotations[:1]).max(axis=0) < STILL
    report = CleanReport(
        rest_frame,
        sign_changes,
        flips,
        glitches,
        spikes,
        tuple(jumps),
        tuple(names[j] for j in np.flatnonzero(still)) if motion.frames > 1 else (),
    )
    return replace(motion, rotations=so3.continuous(rotations), root=root), report


def starts_in_rest_pose(motion: Motion) -> bool:
    """Whether frame 0 is a rest pose that some converter put in front of the captured frames.

    All joints are near zero rotation there, and the jump to frame 1 is more than ten ordinary steps.
    """
    if motion.frames < 3:
        return False
    first = so3.distance(motion.rotations[0], so3.identity())
    steps = steps_of(motion.rotations).mean(axis=1)
    return bool(first.max() < REST_TOLERANCE and steps[0] > REST_JUMP * np.median(steps[1:]) + STILL)


def _counted(found: Sequence[tuple[str, int]], unit: str = "") -> str:
    """`LeftFoot 12, RThumb 3 frames`, in the order of first appearance."""
    totals: dict[str, int] = {}
    for name, count in found:
        totals[name] = totals.get(name, 0) + count
    return f"{', '.join(f'{name} {count}' for name, count in totals.items())} {unit}".strip()
