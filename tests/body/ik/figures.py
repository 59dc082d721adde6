"""Figures, models and features for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.body import Motion, PoseModel
from marey.body.ik.engine import Effectors, Parameters, PoseArrays, decoded
from marey.body.kinematics import global_frames, points_on
from marey.body.limits import Limits
from marey.geometry import rotations as so3
from tests.body.trees import random_skeleton

Array = NDArray[np.float64]


class Foreign(Limits):
    """Limits of another object, which say no more than how far they are exceeded."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.joints = limits, limits.joints

    def excess(self, rotations: Array) -> Array:
        return self.limits.excess(rotations)

    def project(self, rotations: Array) -> Array:
        return self.limits.project(rotations)


def random_model(seed: int, *, joints: int = 8, modes: int = 5, spread: float = 0.5) -> PoseModel:
    """A model of random poses around a random mean."""
    rng = np.random.default_rng(seed)
    skeleton = random_skeleton(rng, joints)
    rotations = so3.multiply(
        so3.random((joints,), rng=rng), so3.exp(spread * rng.normal(size=(40, joints, 3)))
    )
    motion = Motion(skeleton, rotations, rng.normal(size=(40, 3)), 30.0)
    return PoseModel.fit([motion], modes=modes, metric="canonical")


def figure_and_pose(seed: int, *, full: bool) -> tuple[Parameters, PoseArrays]:
    rng = np.random.default_rng(seed)
    model = random_model(seed)
    figure = Parameters.of(model.skeleton if full else model)
    coordinates = rng.normal(size=(1, figure.modes))
    rotations = so3.random((1, figure.joints), rng=rng)
    return figure, decoded(figure, PoseArrays(rng.normal(size=(1, 3)), coordinates, rotations))


def random_features(seed: int, kinds: list[int], joints: int) -> tuple[Effectors, Array, Array]:
    """Effectors of these kinds with goals `(1, features, 4)` and weights `(1, features)`."""
    rng = np.random.default_rng(seed)
    count = len(kinds)
    axes = rng.normal(size=(count, 3))
    features = Effectors(
        np.array(kinds, dtype=np.int64),
        rng.integers(0, joints, size=count),
        rng.normal(size=(count, 3)),
        axes / np.linalg.norm(axes, axis=1, keepdims=True),
    )
    goals = rng.normal(size=(1, count, 4))
    goals /= np.linalg.norm(goals, axis=2, keepdims=True)
    return features, goals, rng.uniform(0.5, 2.0, size=(1, count))


def points_in_root_frame(
    model: PoseModel, effectors: Sequence[tuple[int, ArrayLike]], coordinates: ArrayLike
) -> Array:
    """Where effectors are `(frames, effectors, 3)`, seen from the root, at coordinates `(frames, modes)`."""
    skeleton = model.skeleton
    pose = global_frames(skeleton.parents, skeleton.offsets, model.decode(coordinates), np.zeros(3))
    return points_on(pose, [joint for joint, _ in effectors], np.array([point for _, point in effectors]))
