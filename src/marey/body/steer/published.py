"""Exemplar-based control as published: inverse kinematics in the pose model, then conditional simulation.

Courty 2013, section 3.2.3.2 (Courty & Cuzol 2010, section 6.3). The poses that reach their targets are found
in the coordinates of a linearised pose model without the root, which stays; around each of them the
coordinates are simulated anew, given that pose and all frames outside, as independent Gaussian processes with
the likeliest squared exponentials. An interval is twice the largest length `√rho` of the coordinates long. No
feet are held and no acceleration is limited: that is ours (:mod:`marey.body.steer.steer`). O(frames · length)
to fit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from marey._random import Rng
from marey.body.ik.solver import PoseSolver
from marey.body.ik.targets import Reach
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.body.steer.requests import Target, Window, covered
from marey.geometry import rotations as so3
from marey.statistics.processes.process import GaussianProcesses

# Share of the variance of the poses that is simulated.
VARIANCE = 0.999


class PublishedControl(NamedTuple):
    """A clip that was steered, and the interval around each target."""

    motion: Motion
    windows: list[Window]


def control(motion: Motion, asked: list[Target], *, rng: Rng = None) -> PublishedControl:
    """The clip simulated anew around the targets, which its root alone may keep out of reach.

    >>> import marey
    >>> from marey.body.steer.requests import TimedReach, targets
    >>> walk = marey.samples.walk(seconds=3)
    >>> wanted = targets(walk, [TimedReach("LeftHand", 1.0, [0.0, 0.05, 0.05], relative=True)])
    >>> control(walk, wanted, rng=0).windows[0].end > 60
    True
    """
    poses = PoseModel.fit([motion], variance=VARIANCE, metric="canonical")
    coordinates = poses.encode(motion)
    processes = GaussianProcesses.fit(coordinates, motion.frame_rate, kernel="se")
    half = float(processes.covariance.length.max()) * motion.frame_rate
    # Frames at the very ends of an interval belong to it.
    windows = [Window(one.frame - half - 1e-9, one.frame + half + 1e-9) for one in asked]
    unknown = covered(windows, motion.frames)
    noise = np.tile(processes.noise, (motion.frames, 1))
    given = coordinates.copy()
    for frame in sorted({one.frame for one in asked}):
        solver = PoseSolver(poses, start=motion[frame], root="fixed", prior="none")
        names = motion.skeleton.names
        reach = [Reach(names[one.joint], one.position, one.point) for one in asked if one.frame == frame]
        given[frame], noise[frame] = solver.solve(reach).coordinates, 0.0
    known = ~unknown
    known[[one.frame for one in asked]] = True
    drawn = processes.condition(given, known, noise=noise).sample(rng=rng)[0]
    rotations = np.array(motion.rotations)
    made = so3.like(poses.decode(drawn[unknown]), rotations[unknown])
    rotations[unknown, 1:] = so3.normalise(made)[:, 1:]
    return PublishedControl(replace(motion, rotations=rotations), windows)
