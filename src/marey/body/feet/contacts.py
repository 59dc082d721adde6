"""When feet are in contact with the ground: of a captured clip by thresholds, of a synthetic one by rank.

A foot is in contact while its ankle or toe is slow and near its lowest. Fixed thresholds find no contacts in
simulated motion: its frames are ranked by foot speed and height, and the best-ranked ones become contacts, as
many as in the example. Foot skate is how fast feet move over the ground. One pass of kinematics, O(frames),
and O(frames log frames) for the ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, FloatArray, checked, runs
from marey.body.anatomy import anatomy
from marey.body.ik.targets import Reach
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import fades

# Speeds (m/s) at which foot clearance is tabulated.
PACES = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])


@dataclass(frozen=True)
class FeetSettings:
    """Thresholds of contacts.

    Attributes:
        speed: Metres a second below which a foot comes into contact.
        swing_share: The same as a share of the speed at which feet swing, whichever is larger.
        height: Metres above the ground height below which a foot comes into contact.
        hysteresis: A contact lasts until speed or height exceed their threshold by this factor.
        window: Seconds over which speeds are taken.
        shortest, gap: Seconds; shorter contacts are dropped, shorter gaps are closed.
        smoothing: Seconds over which the rank of frames of a synthetic clip is smoothed.
        sink: Metres that a foot may be below its ground height.
        clearance: Quantile of the heights of swinging feet that is tabulated.
    """

    speed: float = 0.2
    swing_share: float = 0.04
    height: float = 0.03
    hysteresis: float = 1.5
    window: float = 1 / 30
    shortest: float = 0.05
    gap: float = 0.04
    smoothing: float = 0.08
    sink: float = 0.01
    clearance: float = 0.1


SETTINGS = FeetSettings()


def contacts(motion: Motion, *, settings: FeetSettings = SETTINGS) -> BoolArray:
    """Where the joints of :func:`foot_joints` are in contact with the ground in a captured clip,
    `(frames, feet)`.

    >>> import marey
    >>> walk = marey.samples.walk()
    >>> contact = contacts(walk)
    >>> contact.shape[1], bool(0.3 < contact.mean() < 0.9)
    (4, True)
    """
    places = foot_positions(motion)
    fast, above = foot_speeds(motion, settings), places[..., 1] - ground_heights(motion, settings)
    speed = _contact_speed(fast, settings)
    enter = (fast < speed) & (above < settings.height)
    stay = (fast < settings.hysteresis * speed) & (above < settings.hysteresis * settings.height)
    found = np.zeros(enter.shape, dtype=bool)
    for foot in range(enter.shape[1]):
        for first, stop in runs(stay[:, foot]):
            found[first:stop, foot] = enter[first:stop, foot].any()
        _tidy(found[:, foot], settings.gap * motion.frame_rate, settings.shortest * motion.frame_rate)
    return found


@dataclass(frozen=True, eq=False)
class ContactProfile:
    """How the feet of an example touch the ground.

    Attributes:
        heights: `(feet,)`, metres, of feet on the ground.
        speed: Metres a second below which they are in contact.
        share: `(feet,)`, part of the frames in which each is in contact.
        slide: Metres a second, mean speed of feet in contact.
        clearance: `(feet, paces)`, metres above the ground that feet keep at least at the speeds `PACES`.
    """

    heights: Array
    speed: float
    share: Array
    slide: float
    clearance: Array
    settings: FeetSettings = SETTINGS

    @classmethod
    def of(cls, example: Motion, settings: FeetSettings = SETTINGS) -> ContactProfile:
        """Measure a clip."""
        found, heights = contacts(example, settings=settings), ground_heights(example, settings)
        fast = foot_speeds(example, settings)
        above = foot_positions(example)[..., 1] - heights
        clearance = np.full((fast.shape[1], len(PACES)), -settings.sink)
        for foot, i in np.ndindex(fast.shape[1], len(PACES) - 1):
            # An entry stands for the speeds about it; too few frames say nothing.
            near = np.abs(fast[:, foot] - PACES[i + 1]) < 0.5 * (PACES[i + 1] - PACES[i])
            low = float(clearance[foot, i])
            if near.sum() >= 8:
                low = max(float(np.quantile(above[near, foot], settings.clearance)), -settings.sink)
            clearance[foot, i + 1] = low
        speed = _contact_speed(fast, settings)
        return cls(heights, speed, found.mean(axis=0), slide_speed(example, found), clearance, settings)

    def floor(self, motion: Motion, contact: BoolArray) -> Array:
        """Least heights `(frames, feet)`: swinging feet are lifted as in the example, metres."""
        fast = _smoothed(foot_speeds(motion, self.settings), self.settings.smoothing * motion.frame_rate)
        lift = [np.interp(speed, PACES, row) for speed, row in zip(fast.T, self.clearance, strict=True)]
        return self.heights + np.where(contact, -self.settings.sink, np.transpose(lift))


def contacts_like(motion: Motion, profile: ContactProfile) -> BoolArray:
    """Where feet of a synthetic clip should be in contact `(frames, feet)`: as long as in the example.

    Args:
        motion: Another clip of the figure.
        profile: How the example touches the ground.
    """
    settings, rate = profile.settings, motion.frame_rate
    above = np.maximum(foot_positions(motion)[..., 1] - profile.heights, 0.0)
    rank = np.hypot(foot_speeds(motion, settings) / profile.speed, above / settings.height)
    rank = _smoothed(rank, settings.smoothing * rate)
    found = np.zeros(rank.shape, dtype=bool)
    for foot in np.flatnonzero(profile.share > 0):
        low, high = 0.0, 1.0
        # A higher threshold makes up for contacts that are dropped as too short.
        for _ in range(8):
            middle = 0.5 * (low + high)
            tried = rank[:, foot] <= np.quantile(rank[:, foot], middle)
            _tidy(tried, settings.gap * rate, settings.shortest * rate)
            low, high = (low, middle) if tried.mean() > profile.share[foot] else (middle, high)
        found[:, foot] = rank[:, foot] <= np.quantile(rank[:, foot], high)
        _tidy(found[:, foot], settings.gap * rate, settings.shortest * rate)
    return found


def foot_joints(skeleton: Skeleton) -> tuple[int, ...]:
    """Joints that touch the ground: ankle and toe of each leg; empty for a figure without feet.

    >>> import marey
    >>> skeleton = marey.samples.walk().skeleton
    >>> [skeleton.names[joint] for joint in foot_joints(skeleton)]
    ['LeftFoot', 'LeftToeBase', 'RightFoot', 'RightToeBase']
    """
    return tuple(joint for leg in anatomy(skeleton).legs for joint in (leg.end, leg.tip) if joint >= 0)


def foot_positions(motion: Motion) -> FloatArray:
    """Positions of the joints of :func:`foot_joints`, `(frames, feet, 3)`, metres."""
    return motion.positions()[:, list(foot_joints(motion.skeleton))]


def ground_heights(motion: Motion, settings: FeetSettings = SETTINGS) -> Array:
    """Heights of :func:`foot_joints` on the ground `(feet,)`, metres, nearly equal left and right."""
    joints, high = foot_joints(motion.skeleton), foot_positions(motion)[..., 1]
    slow = foot_speeds(motion, settings) < settings.speed
    found = np.array(
        [
            np.percentile(column[still], 20) if still.sum() > 3 else np.percentile(column, 2)
            for column, still in zip(high.T, slow.T, strict=True)
        ]
    )
    found = np.minimum(found, np.percentile(high, 5, axis=0) + settings.height)
    toes = np.isin(joints, [leg.tip for leg in anatomy(motion.skeleton).legs])
    for kind in (toes, ~toes):
        lowest = found[kind].min(initial=np.inf)
        found[kind] = lowest + np.minimum(found[kind] - lowest, settings.height / 2)
    return np.asarray(found)


def foot_speeds(motion: Motion, settings: FeetSettings = SETTINGS, *, horizontal: bool = False) -> Array:
    """Speeds `(frames, feet)` over a thirtieth of a second, metres a second, whatever the frame rate."""
    places = foot_positions(motion)[..., ::2] if horizontal else foot_positions(motion)
    frames = len(places)
    half = max(1, round(0.5 * settings.window * motion.frame_rate))
    before = np.maximum(np.arange(frames) - half, 0)
    after = np.minimum(np.arange(frames) + half, frames - 1)
    span = np.maximum(after - before, 1)[:, None]
    return np.asarray(np.linalg.norm(places[after] - places[before], axis=-1) * motion.frame_rate / span)


def checked_contacts(motion: Motion, contact: ArrayLike) -> BoolArray:
    """A mask `(frames, feet)` of the clip."""
    given, shape = np.asarray(contact), (motion.frames, len(foot_joints(motion.skeleton)))
    if given.shape != shape or given.dtype != bool:
        raise InputError(
            f"contacts: true or false for each frame and foot joint, {shape}, got {given.dtype} {given.shape}"
        )
    return given


def _contact_speed(fast: Array, settings: FeetSettings) -> float:
    """A foot that swings fast rolls fast while in contact."""
    swing = float(np.percentile(fast, 98)) if fast.size else 0.0
    return max(settings.speed, settings.swing_share * swing)


def _smoothed(values: Array, frames: float) -> Array:
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(values, frames, axis=0, mode="nearest"))


def _tidy(contact: BoolArray, gap: float, shortest: float) -> None:
    """Close short gaps and drop short contacts, in place; lengths in frames."""
    for first, stop in runs(~contact):
        if first > 0 and stop < len(contact) and stop - first < gap:
            contact[first:stop] = True
    for first, stop in runs(contact):
        if stop - first < min(shortest, len(contact)):
            contact[first:stop] = False


def skate(motion: Motion, *, heights: ArrayLike | None = None) -> float:
    """Horizontal speed of feet near the ground, metres a second; 0 if none ever is.

    The mean over all frames and feet of `v (2 − 2^(h / H))` for heights `h < H = 2.5 cm` above the ground
    (Zhang et al. 2018, Mode-Adaptive Neural Networks). It needs no contacts, so that it is independent of
    how contacts are found and feet are planted.

    Args:
        heights: `(feet,)`, metres, of feet on the ground; those of :func:`skate_heights` if None.

    >>> import marey
    >>> 0 < skate(marey.samples.walk()) < 0.2
    True
    """
    places = foot_positions(motion)
    ground = skate_heights(motion) if heights is None else checked("heights", heights, (places.shape[1],))
    weights = 2 - 2 ** np.clip((places[..., 1] - ground) / 0.025, 0, 1)
    total = weights.sum()
    return float((weights * foot_speeds(motion, horizontal=True)).sum() / total) if total > 0 else 0.0


def skate_heights(motion: Motion) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Heights that each foot joint is rarely below `(feet,)`, metres: the ground of :func:`skate`."""
    high = foot_positions(motion)[..., 1]
    return np.asarray(np.percentile(high, 2, axis=0) if high.size else [], dtype=np.float64)


def slide_speed(motion: Motion, contact: ArrayLike) -> float:
    """Mean horizontal speed of feet in contact, metres a second; 0 without contacts.

    Args:
        contact: `(frames, feet)`, as :func:`marey.body.feet.contacts` gives it.

    >>> import marey
    >>> from marey.body.feet import contacts
    >>> walk = marey.samples.walk()
    >>> slide_speed(walk, contacts(walk)) < 0.2
    True
    """
    mask = checked_contacts(motion, contact)
    steps = np.linalg.norm(np.diff(foot_positions(motion)[..., ::2], axis=0), axis=-1)
    both = mask[1:] & mask[:-1]
    return float(steps[both].mean()) * motion.frame_rate if both.any() else 0.0


def contact_targets(motion: Motion) -> list[Reach]:
    """Targets that hold each joint of a foot where it is on average during each of its contacts.

    They come and go over 0.06 s.

    >>> import marey
    >>> [target.joint for target in contact_targets(marey.samples.walk())]
    ['LeftFoot', 'LeftToeBase', 'RightFoot', 'RightToeBase']
    """
    frames = max(1, round(0.06 * motion.frame_rate))
    paths = np.moveaxis(foot_positions(motion), 1, 0)
    targets = []
    for joint, mask, places in zip(foot_joints(motion.skeleton), contacts(motion).T, paths, strict=True):
        goal, share = np.full(places.shape, np.nan), np.zeros(motion.frames)
        for first, stop in runs(mask):
            alone = np.zeros(motion.frames, dtype=bool)
            alone[first:stop] = True
            here = fades.fade(alone, frames)
            goal[here > share] = places[first:stop].mean(axis=0)
            share = np.maximum(share, here)
        targets.append(Reach(motion.skeleton.names[joint], goal, weight=share))
    return targets
