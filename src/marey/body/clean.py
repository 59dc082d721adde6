"""Repair what capture and conversion leave behind, and say what was done (Tournier 2011; Courty 2013, 2.1.1).

A converter's rest pose in frame 0 is dropped. Joints that turn faster than 120 rad/s, the outlier test of
Tournier's chapter 12, are inspected. One that toggles by half turns is turned back, which keeps what was
captured in between. A short excursion, out by a wild step and back again, is bridged by a great arc. What
does not come back is left alone and reported: the rotations alone do not say which side of a
lasting jump is right. Joints that never move are reported, too. Cost: one pass over the clip, plus a little
work for each joint with such a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from marey._arrays import AnyArray, runs
from marey._report import Report
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.geometry import rotations as so3

# Frames start…stop-1.
Range = tuple[int, int]


@dataclass(frozen=True)
class CleanSettings:
    """Numbers of the method.

    Args:
        speed: radians per second beyond which a joint is suspected: the outlier test of Tournier (2011),
            1 rad a frame at 120 Hz.
        step: radians a frame. At low frame rates the speed would pass a half turn, beyond which steps are
            indistinguishable from smaller ones in the other direction.
        root_speed: metres per second; hips are never faster on foot.
        longest: seconds a repaired excursion may last: a great arc says little about a longer one.
        half_turn: radians; a step beyond this is a half turn, give or take a frame of motion.
        around: seconds on both sides of a half turn in which the motion must fit once it is turned back.
        fits: radians that a joint may really turn in that time.
        rest: radians that joints of a converter's rest pose may be away from zero.
        rest_jump: how much farther than an ordinary step the clip then jumps.
        still: radians; below this range a joint is treated as static.
    """

    speed: float = 120.0
    step: float = 2.0
    root_speed: float = 15.0
    longest: float = 0.5
    half_turn: float = 2.5
    around: float = 0.05
    fits: float = 2.0
    rest: float = 0.5
    rest_jump: float = 10.0
    still: float = 1e-4


SETTINGS = CleanSettings()


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
class CleanReport(Report):
    """What `clean` found and did; frames are numbered as in the file (:attr:`Motion.first_frame`).

    Args:
        rest_frame: whether frame 0 was an artificial rest pose and was dropped.
        sign_changes: quaternions whose sign was changed for continuity (the rotations stay the same).
        flips: half turns to and fro that were turned back, keeping the motion in between.
        glitches: excursions of joints that were bridged.
        root_spikes: excursions of the root's position that were bridged.
        jumps: steps that do not return and were left alone.
        still: joints that never move.
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
        words = ("turned back half-turn flips", "bridged glitches", "bridged spikes of the root")
        for repairs, did in zip((self.flips, self.glitches, self.root_spikes), words, strict=True):
            if repairs:
                found.append(f"{did}: {_counted([(r.joint, r.frames) for r in repairs], 'frames')}")
        if self.jumps:
            found.append(f"left alone, too fast but lasting: {_counted([(j.joint, 1) for j in self.jumps])}")
        if self.still:
            found.append(f"never moving: {', '.join(self.still)}")
        return found or ["nothing to clean"]


def clean(motion: Motion) -> tuple[Motion, CleanReport]:
    """The clip without artificial rest pose, flips and glitches, and a report of what was done.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> spoilt = np.array(walk.rotations)
    >>> spoilt[20, 3] = so3.multiply(spoilt[20, 3], so3.exp([2.5, 0, 0]))
    >>> repaired, report = clean(replace(walk, rotations=spoilt))
    >>> [(repair.start, repair.frames) for repair in report.glitches]
    [(20, 1)]
    """
    rest_frame = starts_in_rest_pose(motion)
    if rest_frame:
        motion = motion[1:]
    names, first = motion.skeleton.names, motion.first_frame
    longest = max(2, round(SETTINGS.longest * motion.frame_rate))

    def numbered(found: Iterable[tuple[int, tuple[int, int]]]) -> tuple[Repair, ...]:
        return tuple(Repair(names[j], first + a, first + b) for j, (a, b) in found)

    rotations = so3.continuous(motion.rotations)
    sign_changes = int((np.einsum("tji,tji->tj", rotations, motion.rotations) < 0).sum())
    limit = min(SETTINGS.speed / motion.frame_rate, SETTINGS.step)
    around = round(SETTINGS.around * motion.frame_rate)
    flips = numbered(turn_back_flips(motion.skeleton, rotations, limit, around))
    glitches = numbered(bridge_limbs(motion.skeleton, rotations, limit, longest))
    steps = steps_of(rotations)
    wild = np.argwhere(steps > limit)
    jumps = [Jump(names[j], first + int(t), round(float(steps[t, j]), 3)) for t, j in wild]
    root = np.array(motion.root)
    root_limit = SETTINGS.root_speed / motion.frame_rate
    spikes = numbered((0, span) for span in bridge_excursions(root, root_limit, longest, PLACES))
    still = so3.distance(rotations, rotations[:1]).max(axis=0) < SETTINGS.still
    static = tuple(names[j] for j in np.flatnonzero(still)) if motion.frames > 1 else ()
    report = CleanReport(rest_frame, sign_changes, flips, glitches, spikes, tuple(jumps), static)
    return replace(motion, rotations=so3.continuous(rotations), root=root), report


def starts_in_rest_pose(motion: Motion) -> bool:
    """Whether frame 0 is a rest pose that some converter put in front of the captured frames.

    All joints are near zero rotation there, and the jump to frame 1 is more than ten ordinary steps.
    """
    if motion.frames < 3:
        return False
    first = so3.distance(motion.rotations[0], so3.identity())
    steps = steps_of(motion.rotations).mean(axis=1)
    jump = SETTINGS.rest_jump * np.median(steps[1:]) + SETTINGS.still
    return bool(first.max() < SETTINGS.rest and steps[0] > jump)


def _counted(found: Sequence[tuple[str, int]], unit: str = "") -> str:
    """`LeftFoot 12, RThumb 3 frames`, in the order of first appearance."""
    totals: dict[str, int] = {}
    for name, count in found:
        totals[name] = totals.get(name, 0) + count
    return f"{', '.join(f'{name} {count}' for name, count in totals.items())} {unit}".strip()


class Geometry(NamedTuple):
    """How far apart values are, and what lies at share t from one to the other."""

    distance: Callable[[AnyArray, AnyArray], AnyArray]
    between: Callable[[AnyArray, AnyArray, AnyArray], AnyArray]


def steps_of(rotations: AnyArray) -> AnyArray:
    """Angles `(frames - 1, joints)` between neighbouring frames."""
    return so3.distance(rotations[:-1], rotations[1:])


def turn_back_flips(
    skeleton: Skeleton, rotations: AnyArray, limit: float, around: int
) -> Iterator[tuple[int, Range]]:
    """Undo half turns of joints, and give joint and frames of each.

    Only joints all of whose wild steps (beyond `limit` radians) are half turns, so that there are two
    sides, of which the rarer is turned onto the other. A joint is left out when one above or below it
    jumps along: there the half turn is made good further down the limb, and undoing it alone would break
    what is right now. The curve must fit together over `around` frames on both sides of each turn.
    """
    steps = steps_of(rotations)
    for joint in (int(j) for j in np.flatnonzero((steps > SETTINGS.half_turn).any(axis=0))):
        turns = np.flatnonzero(steps[:, joint] > limit)
        limb = sorted({*skeleton.ancestors(joint), *skeleton.descendants(joint)} - {joint})
        near = (turns[:, None] + [-1, 0, 1]).clip(0, len(steps) - 1)
        together = bool((steps[:, limb][near] > 0.5 * limit).any())
        busy = np.median(steps[:, joint]) > 0.1 * limit
        if together or busy or steps[turns, joint].min() < SETTINGS.half_turn:
            continue
        segments = [(int(a), int(b)) for a, b in pairwise([0, *(turns + 1), len(rotations)])]
        spans = min(segments[::2], segments[1::2], key=lambda spans: sum(b - a for a, b in spans))
        q = np.array(rotations[:, joint])
        for start, stop in spans:
            # The frames meet their neighbours, at both ends where both are in the clip.
            ends = [(a, b) for a, b in ((start, start - 1), (stop - 1, stop)) if 0 <= b < len(q)]
            onto = [so3.multiply(so3.inverse(q[inside]), q[outside]) for inside, outside in ends]
            share = (np.arange(start, stop) - start + 0.5) / (stop - start)
            q[start:stop] = so3.multiply(q[start:stop], so3.slerp(onto[0], onto[-1], share))
        # A full turn smeared over some frames has one step like a flip; turned back it would not fit.
        before, after = (turns - around).clip(0), (turns + 1 + around).clip(None, len(q) - 1)
        if so3.distance(q[before], q[after]).max() < SETTINGS.fits:
            rotations[:, joint] = q
            yield from ((joint, span) for span in spans)


def bridge_limbs(
    skeleton: Skeleton, rotations: AnyArray, limit: float, longest: int
) -> Iterator[tuple[int, Range]]:
    """Bridge the excursions of all joints, from the root outwards, and give joint and frames of each.

    Joints below a glitch often make it good in part, at the same frames but without coming back to where
    they were; they are bridged along with it.
    """
    repaired: dict[int, list[Range]] = {}
    wild = steps_of(rotations) > limit
    for joint in (int(j) for j in np.flatnonzero(wild.any(axis=0))):
        above = {span for a in skeleton.ancestors(joint)[1:] for span in repaired.get(a, [])}
        shared = [(start, stop) for start, stop in sorted(above) if wild[[start - 1, stop - 1], joint].any()]
        for span in shared:
            _bridge(rotations[:, joint], *span, TURNS)
        repaired[joint] = sorted(shared + bridge_excursions(rotations[:, joint], limit, longest, TURNS))
        for span in repaired[joint]:
            yield joint, span


def bridge_excursions(values: AnyArray, limit: float, longest: int, geometry: Geometry) -> list[Range]:
    """Bridge runs of at most `longest` frames that leave by a step beyond `limit` and come back.

    Glitches are often smeared over some frames by the tools a clip went through, so their edges are taken
    as runs of brisk steps, first strictly, then more loosely where that does not explain the wild step.
    Loose edges must both be wild, or ordinary quick motion would pass for one.
    """
    spans: list[Range] = []
    for share in (0.5, 0.25, 0.15):
        steps = geometry.distance(values[:-1], values[1:])
        usual = float(np.median(steps)) if len(steps) else 0.0
        wild = steps > max(limit, 10 * usual)
        if not wild.any():
            break
        brisk = runs(steps > max(share * limit, 3 * usual))
        edges = [Edge(before, after, bool(wild[before:after].any())) for before, after in brisk]

        def returns(first: Edge, last: Edge, loose: bool = share < 0.5) -> bool:
            """Whether the frames between wander farther from the direct path than its ends lie apart."""
            a, b = first.before, last.after
            if b - a < 2 or (loose and not (first.wild and last.wild)):
                return False
            direct = geometry.between(values[a], values[b], _shares(a + 1, b))
            out = geometry.distance(values[a + 1 : b], direct).max()
            return bool(out > max(0.5 * limit, 2 * geometry.distance(values[a], values[b])))

        found = _fewest_frames(edges, longest, returns)
        for span in found:
            _bridge(values, *span, geometry)
        spans += found
    return sorted(spans)


class Edge(NamedTuple):
    """A run of brisk steps: the frames before and after it, and whether it holds a wild step."""

    before: int
    after: int
    wild: bool


def _fewest_frames(edges: Sequence[Edge], longest: int, returns: Callable[[Edge, Edge], bool]) -> list[Range]:
    """The excursions that explain most wild edges, and of those choices the one that changes fewest frames.

    By dynamic programming from the last edge to the first: each edge is left alone or opens an excursion
    that a later one, or itself, closes.
    """
    alone = 1 + edges[-1].after if edges else 0
    cost = [0] * (len(edges) + 1)
    closing = [-1] * len(edges)
    for i in reversed(range(len(edges))):
        cost[i] = cost[i + 1] + alone * edges[i].wild
        wild = False
        for j in range(i, len(edges)):
            frames = edges[j].after - edges[i].before
            if frames > longest or edges[j].after - edges[j].before > longest // 4:
                break
            wild = wild or edges[j].wild
            if wild and frames + cost[j + 1] < cost[i] and returns(edges[i], edges[j]):
                cost[i], closing[i] = frames + cost[j + 1], j
    spans, i = [], 0
    while i < len(edges):
        if closing[i] >= 0:
            spans.append((edges[i].before + 1, edges[closing[i]].after))
        i = max(closing[i], i) + 1
    return spans


def _bridge(values: AnyArray, start: int, stop: int, geometry: Geometry) -> None:
    values[start:stop] = geometry.between(values[start - 1], values[stop], _shares(start, stop))


def _shares(start: int, stop: int) -> AnyArray:
    """How far frames start…stop-1 are between the frame before and the frame after."""
    return np.arange(1, stop - start + 1) / (stop - start + 1)


TURNS = Geometry(so3.distance, so3.slerp)
PLACES = Geometry(
    lambda a, b: np.asarray(np.linalg.norm(b - a, axis=-1)), lambda a, b, t: a + t[:, None] * (b - a)
)
