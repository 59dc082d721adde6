"""Every kind of joint limit keeps the protocol; each kind is what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import marey
from marey.body import Skeleton
from marey.body.limits import EllipsoidLimits, JointFreedom, Limits, RangeLimits, SwingTwistLimits, human
from marey.body.limits.limits import soft_clip
from marey.errors import InputError
from marey.geometry import rotations as so3

Array = NDArray[np.float64]
seeds = st.integers(0, 10_000)
JOINTS = 4


def ellipsoids(rng: np.random.Generator) -> EllipsoidLimits:
    roots = rng.normal(size=(2, 3, 3)) + 2 * np.eye(3)
    return EllipsoidLimits([1, 3], so3.random((2,), rng=rng), roots @ roots.transpose(0, 2, 1))


def ranges(rng: np.random.Generator) -> RangeLimits:
    low = -rng.uniform(0.0, 1.5, size=(3, 3))
    return RangeLimits([0, 2, 3], so3.random((3,), rng=rng), low, low + rng.uniform(0.1, 2, size=(3, 3)))


def swings(rng: np.random.Generator) -> SwingTwistLimits:
    low = -rng.uniform(0.0, 1.5, size=JOINTS)
    return SwingTwistLimits(
        so3.random((JOINTS,), rng=rng),
        so3.random((JOINTS,), rng=rng),
        np.stack([low, low + rng.uniform(0.1, 2, size=JOINTS)], axis=1),
        rng.uniform(0.1, 2, size=(JOINTS, 2, 2)),
    )


class Cap(Limits):
    """A kind from outside the package: a joint's first axis must not point down."""

    joints = np.array([1])

    def excess(self, rotations: Array) -> Array:
        return -so3.rotate(np.asarray(rotations)[..., 1:2, :], np.array([0.0, 1.0, 0.0]))[..., 1]

    def project(self, rotations: Array) -> Array:
        raise NotImplementedError


KINDS = pytest.mark.parametrize("make", [ellipsoids, ranges, swings])


@pytest.mark.parametrize("make", [ellipsoids, ranges, swings, lambda rng: Cap()])
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_gradients_are_the_derivatives_of_the_excess(make: object, seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = make(rng)
    poses = so3.multiply(
        so3.random((JOINTS,), rng=rng) if not hasattr(limits, "centres") else _around(limits),
        so3.exp(rng.uniform(0.1, 1.4) * rng.normal(size=(5, JOINTS, 3)) / np.sqrt(3)),
    )
    found = limits.gradient(poses)
    assert found.shape == (5, len(limits.joints), 3)
    measured, coarser = (_differences(limits, poses, h) for h in (1e-6, 2e-6))
    # At an edge between two faces, or a half turn away, there is no derivative.
    smooth = np.abs(measured - coarser).max(axis=-1) < 1e-4 * (1 + np.abs(measured).max(axis=-1))
    assert smooth.mean() > 0.5
    np.testing.assert_allclose(found[smooth], measured[smooth], rtol=1e-4, atol=1e-4)


@KINDS
@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_projection_leaves_what_is_inside_and_brings_in_the_rest(make: object, seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = make(rng)
    poses = so3.random((20, JOINTS), rng=rng)
    inside = limits.project(poses)
    assert limits.excess(inside).max() < 1e-9 and limits.contains(inside).all()
    np.testing.assert_allclose(limits.project(inside), inside, atol=1e-9)
    beyond = limits.excess(poses) > 1e-9
    np.testing.assert_array_equal(inside[:, limits.joints][~beyond], poses[:, limits.joints][~beyond])
    assert (so3.distance(inside, poses)[:, limits.joints][beyond] > 0).all()
    np.testing.assert_array_equal(limits.contains(poses), ~beyond.any(axis=1))


@KINDS
def test_limits_of_many_poses_are_those_of_each(make: object) -> None:
    limits = make(np.random.default_rng(0))
    poses = so3.random((2, 3, JOINTS), rng=np.random.default_rng(1))
    for measure in (limits.excess, limits.gradient, limits.project, limits.contains):
        np.testing.assert_array_equal(measure(poses)[1, 2], measure(poses[1, 2]))
    with pytest.raises(InputError, match="expected shape"):
        limits.excess(poses[..., :1, :])


def test_no_limits_are_never_exceeded() -> None:
    none = EllipsoidLimits([], np.empty((0, 4)), np.empty((0, 3, 3)))
    assert none.excess(so3.identity(4)).shape == (0,) and none.contains(so3.identity(4))
    free = SwingTwistLimits.free(3)
    assert free.contains(so3.random((50, 3), rng=np.random.default_rng(0))).all()


def test_wrong_limits_are_refused_with_the_reason() -> None:
    skeleton = marey.samples.walk().skeleton
    with pytest.raises(InputError, match="did you mean LeftLeg"):
        EllipsoidLimits.cones(skeleton, {"LeftLegg": 1.0})
    with pytest.raises(InputError, match="'LeftLeg' must be above 0"):
        EllipsoidLimits.cones(skeleton, {"LeftLeg": 0.0})
    with pytest.raises(InputError, match="once"):
        EllipsoidLimits([1, 1], so3.identity(2), np.stack([np.eye(3)] * 2))
    with pytest.raises(InputError, match="symmetric and positive"):
        EllipsoidLimits([1], so3.identity(1), -np.eye(3)[None])
    with pytest.raises(InputError, match="no low bound"):
        RangeLimits([1], so3.identity(1), [[1.0, 0, 0]], [[0.0, 0, 0]])
    with pytest.raises(InputError, match="least twist"):
        SwingTwistLimits.free(1).with_joint(0, twist=(1, 0), swing=((1, 1), (1, 1)))


def test_ranges_of_poses_hold_these_poses() -> None:
    walk = marey.samples.walk(1)
    limits = RangeLimits.of_poses(walk.rotations, walk.rotations[0])
    assert limits.contains(walk.rotations).all()
    exaggerated = so3.exp(2 * so3.log(walk.rotations))
    assert not limits.contains(exaggerated).all() and limits.contains(limits.project(exaggerated)).all()


def test_soft_ranges_are_left_by_their_give_at_most() -> None:
    values = np.linspace(-5, 5, 101)
    soft = soft_clip(values, -1.0, 1.0, give=0.1)
    assert (np.diff(soft) >= 0).all() and np.abs(soft).max() <= 1.2
    np.testing.assert_array_equal(soft[np.abs(values) <= 1], values[np.abs(values) <= 1])
    limits = RangeLimits([0], so3.identity(1), [[-1.0, -1, -1]], [[1.0, 1, 1]], give=0.1)
    turned = so3.log(limits.project(so3.exp([[2.5, 0.0, 0.0]])))[0]
    assert 1.15 < turned[0] <= 1.2 and abs(turned[1]) < 1e-12


def test_a_range_is_met_from_the_nearer_side() -> None:
    """A rotation vector of 200° is one of -160°, which is nearer to a range that ends at -150°."""
    limits = RangeLimits([0], so3.identity(1), np.radians([[-150.0, -1, -1]]), np.radians([[0.0, 1, 1]]))
    pose = so3.exp(np.radians([[-160.0, 0.0, 0.0]]))
    assert limits.excess(pose)[0] == pytest.approx(np.radians(10))
    reached = RangeLimits([0], so3.identity(1), np.radians([[0.0, -1, -1]]), np.radians([[195.0, 1, 1]]))
    assert reached.excess(pose)[0] == pytest.approx(np.radians(5))


def test_twist_and_swing_are_those_of_the_decomposition() -> None:
    axis = np.array([0.0, 0.6, 0.8])
    joint = JointFreedom(axis, [1.0, 0, 0], (1, 1, 1), (-3, 3), ((3, 3), (3, 3)), so3.exp([0.1, 0.2, 0.3]))
    limits = SwingTwistLimits.of(Skeleton(("a",), [-1], [[0, 0, 0]]), {"a": joint})
    q = so3.multiply(so3.exp([0.1, 0.2, 0.3]), so3.exp([0.4, -0.3, 0.5]))
    swing, twist = so3.swing_twist(so3.exp([0.4, -0.3, 0.5]), axis)
    twisted, first, second = limits.parts(q[None])[0]
    np.testing.assert_allclose(twisted, so3.log(twist) @ axis, atol=1e-12)
    local = so3.rotate(so3.inverse(joint.frame), so3.log(swing))
    np.testing.assert_allclose([0.0, first, second], local, atol=1e-12)


def test_a_swing_may_reach_farther_to_one_side() -> None:
    limits = SwingTwistLimits.free(1).with_joint(0, twist=(-1, 1), swing=((0.2, 1.0), (0.5, 0.5)))
    assert limits.excess(so3.exp([[0.0, 0.9, 0.0]])) < 0
    np.testing.assert_allclose(limits.excess(so3.exp([[0.0, -0.9, 0.0]])), 0.7, atol=1e-9)


def test_limits_can_be_widened_to_hold_given_poses() -> None:
    limits = swings(np.random.default_rng(0))
    poses = so3.multiply(limits.centres, so3.exp(0.8 * np.random.default_rng(0).normal(size=(50, JOINTS, 3))))
    assert limits.excess(poses).max() > 0
    wider = limits.containing(poses)
    assert wider.contains(poses).all() and (wider.swings >= limits.swings).all()
    assert wider.containing(poses) is wider


def test_human_limits_follow_the_segments_of_the_body() -> None:
    walk = marey.samples.walk()
    limits = human(walk.skeleton)
    straight = so3.identity(walk.joints)
    for name, forwards in (("LeftLeg", 1.0), ("RightLeg", 1.0)):
        knee = walk.skeleton.index(name)
        for angle, allowed in ((forwards, True), (-forwards, False)):
            pose = straight.copy()
            pose[knee] = so3.exp([angle, 0.0, 0.0])
            assert limits.contains(pose) == allowed
    offsets = [[0, 1, 0], [0, 0.5, 0], [0.15, 0, 0], [0.3, 0, 0], [0.3, 0, 0]]
    smpl = Skeleton(("Pelvis", "Spine", "L_Shoulder", "L_Elbow", "L_Wrist"), [-1, 0, 1, 2, 3], offsets)
    raised = so3.identity(5)
    raised[2] = so3.exp([0.0, 0.0, 1.3])
    assert human(smpl).contains(raised)


def _around(limits: Limits) -> Array:
    centres = so3.identity(JOINTS)
    centres[limits.joints] = limits.centres
    return centres


def _differences(limits: Limits, poses: Array, h: float) -> Array:
    sides = [
        [limits.excess(so3.multiply(poses, so3.exp(sign * h * axis))) for axis in np.eye(3)]
        for sign in (1, -1)
    ]
    return (np.stack(sides[0], axis=-1) - np.stack(sides[1], axis=-1)) / (2 * h)
