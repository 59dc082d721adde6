"""Gaps filled as published: principal geodesics, likeliest covariances, kriging and conditional simulation.

Courty 2013, section 3.2.3.1 (Courty & Cuzol 2010, section 6.1). The linearised analysis, all angles counting
the same, with the root's orientation and velocity in the world, is learned from the frames of which
everything is known; so is the covariance of each coordinate, by maximum likelihood (the runs between gaps
taken as independent, as they are where a gap is longer than the covariance). The estimate is the kriging mean
given all known frames, with their nugget; samples are conditional simulations. Frames are missing as a whole:
what is known of other joints there is kept, and not used. The papers leave open where the summed root
velocity leads: what is left at the end of a gap is spread evenly over it. O(frames · length) to fit,
O(window³) a gap.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from marey._arrays import Array, BoolArray, runs
from marey._random import Rng
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.errors import InputError, MareyWarning
from marey.statistics.processes.process import GaussianProcesses

# Share of the variance of poses and root velocity that is kept.
VARIANCE = 0.999
FEWEST = 3


class Content(NamedTuple):
    """Versions of a gap: its first frame, and of each version `(frames, joints, 4)` and `(frames, 3)`."""

    first: int
    rotations: Array
    root: Array


def kriged(
    motion: Motion, missing: BoolArray, versions: int, *, examples: Sequence[Motion] = (), rng: Rng = None
) -> Iterator[Content]:
    """The estimate of each gap, and so many samples less one.

    Args:
        missing: `(frames,)`.
        examples: Other clips to learn from.

    >>> import marey
    >>> walk = marey.samples.walk(seconds=3)
    >>> missing = np.isin(np.arange(walk.frames), range(60, 66))
    >>> content = next(kriged(walk, missing, 2, rng=0))
    >>> bool(np.abs(content.root[0] - walk.root[60:66]).max() < 0.02)
    True
    """
    stretches = runs(~missing)
    parts = [motion[first:stop] for first, stop in stretches]
    if max((part.frames for part in parts), default=0) < FEWEST:
        raise InputError(f"gp: at least {FEWEST} frames in a row must be known in full")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MareyWarning)
        learned = [*parts, *examples]
        poses = PoseModel.fit(learned, variance=VARIANCE, metric="canonical", root="world")
    series = np.zeros((motion.frames, poses.modes))
    for part, (first, stop) in zip(parts, stretches, strict=True):
        series[first:stop] = poses.encode(part)
    # A frame of which nothing is known parts the clip from each example.
    everything, known = [series], [~missing]
    for example in examples:
        everything += [np.zeros((1, poses.modes)), poses.encode(example)]
        known += [np.zeros(1, np.bool_), np.ones(example.frames, np.bool_)]
    rate = motion.frame_rate
    process = GaussianProcesses.fit(np.concatenate(everything), rate, kernel="se", mask=np.concatenate(known))
    posterior = process.condition(series, ~missing, noise=process.noise)
    drawn = [posterior.mean[None], posterior.sample(versions - 1, rng=rng)]
    paths = np.where(missing[:, None], np.concatenate(drawn), series)
    motions, root = poses.root_motion, np.asarray(motion.root)
    assert motions is not None
    for first, stop in runs(missing):
        before, after = first > 0, stop < motion.frames
        steps = motions.decode(paths[:, max(first - 1, 0) : stop]) / rate
        moved = np.cumsum(steps, axis=1)
        if before:
            places = root[first - 1] + moved
            if after:
                share = np.arange(1, moved.shape[1] + 1)[:, None] / moved.shape[1]
                places += share * (root[stop] - places[:, -1:])
            places = places[:, :-1]
        else:
            places = root[stop] - moved[:, -1:] + moved - steps
        yield Content(first, poses.decode(paths[:, first:stop]), places)
