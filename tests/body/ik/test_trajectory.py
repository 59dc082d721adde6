"""Whole clips: smooth, true to the original elsewhere, feet that stand."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey._arrays import runs
from marey.body import Motion, PoseModel
from marey.body.feet import contact_targets
from marey.body.ik import Reach
from marey.body.ik.engine import Parameters, PoseArrays
from marey.body.ik.solver import solve_pose
from marey.body.ik.trajectory import _banded_step, bending, blend_pose, second_differences, solve_clip
from marey.body.limits import SwingTwistLimits
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.fades import fade
from tests.body.ik.figures import Foreign


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(seconds=2)


@pytest.mark.parametrize("frames", [3, 4, 7])
def test_the_banded_system_is_the_dense_one(frames: int) -> None:
    rng = np.random.default_rng(0)
    unknowns = 4
    J = rng.normal(size=(frames, 2, unknowns))
    normal = np.einsum("tru,trv->tuv", J, J)
    diagonal = rng.uniform(0.1, 1, size=(frames, unknowns))
    stiffness = rng.uniform(0.1, 1, size=unknowns)
    downhill = rng.normal(size=(frames, unknowns))
    D = np.kron(np.diff(np.eye(frames), n=2, axis=0), np.eye(unknowns))
    dense = np.diag(diagonal.ravel()) + D.T @ np.diag(np.tile(stiffness, frames - 2)) @ D
    for t in range(frames):
        dense[t * unknowns : (t + 1) * unknowns, t * unknowns : (t + 1) * unknowns] += normal[t]
    step = _banded_step(normal, diagonal, stiffness, downhill)
    np.testing.assert_allclose(dense @ step.ravel(), downhill.ravel(), atol=1e-9)


def test_a_clip_without_targets_is_not_changed(walk: Motion) -> None:
    nowhere = np.full((walk.frames, 3), np.nan)
    found = solve_clip(walk.skeleton, [Reach("LeftHand", nowhere)], walk)
    np.testing.assert_allclose(found.motion.positions(), walk.positions(), atol=1e-9)


@pytest.mark.parametrize("root", ["free", "fixed"])
@pytest.mark.parametrize("full", [True, False])
def test_a_hand_is_raised_for_a_while_and_the_rest_stays(walk: Motion, full: bool, root: str) -> None:
    body = walk.skeleton if full else PoseModel.fit([walk], modes=20)
    hand = walk.skeleton.index("LeftHand")
    before = walk.positions()
    inside = np.zeros(walk.frames, dtype=bool)
    inside[50:80] = True
    goal = before[:, hand] + [0, 0.1, 0.05]
    found = solve_clip(body, [Reach("LeftHand", goal, weight=fade(inside, 10))], walk, root=root)
    after = found.motion.positions()
    # With the root fixed, poses like those of the walk hardly raise a hand.
    near = 0.02 if full or root == "free" else 0.06
    assert np.linalg.norm(after[inside, hand] - goal[inside], axis=1).max() < near
    assert found.report.residual_cm < 100 * near
    assert np.linalg.norm(after[:20] - before[:20], axis=2).mean() < 0.01
    if root == "fixed":
        np.testing.assert_array_equal(found.motion.root, walk.root)
    sharpest = [np.abs(np.diff(p[:, hand], n=2, axis=0)).max() for p in (after, before)]
    assert sharpest[0] < 5 * sharpest[1]


def test_smoothness_keeps_jitter_of_targets_out(walk: Motion) -> None:
    model = PoseModel.fit([walk], modes=8)
    rng = np.random.default_rng(1)
    names = ["LeftHand", "RightHand", "Head", "LeftToeBase", "RightToeBase"]
    world = walk.positions()
    noisy = [
        Reach(n, world[:, walk.skeleton.index(n)] + 0.01 * rng.normal(size=(walk.frames, 3))) for n in names
    ]
    rough, smooth = (
        solve_clip(model, noisy, walk, tolerance=0.01, smoothness=hertz).motion.positions()
        for hertz in (30.0, 2.0)
    )
    shaking = [np.abs(np.diff(p - world, n=2, axis=0)).mean() for p in (rough, smooth)]
    assert shaking[1] < 0.3 * shaking[0]
    assert np.linalg.norm(smooth - world, axis=2).mean() < 0.02


def test_second_differences_vanish_for_steady_motion() -> None:
    figure = Parameters.of(marey.samples.walk().skeleton)
    t = np.arange(6.0)[:, None]
    rotations = so3.identity((6, figure.joints))
    rotations[:, 0] = so3.exp(t * [0.1, 0.2, 0.0])
    poses = PoseArrays(t * [1.0, 0, 2], np.zeros((6, 0)), rotations)
    np.testing.assert_allclose(second_differences(figure, True, poses, None), 0, atol=1e-12)
    np.testing.assert_allclose(second_differences(figure, True, poses, poses), 0, atol=1e-12)


def test_faster_smoothness_bends_more_easily() -> None:
    slow, fast = (bending(0.01, np.ones(3), hertz, 60.0) for hertz in (2.0, 8.0))
    assert (slow > fast).all()
    with pytest.raises(InputError, match="smoothness"):
        bending(0.01, np.ones(3), 0.0, 60.0)


def test_planted_feet_stop_sliding(walk: Motion) -> None:
    skidding = Motion(walk.skeleton, walk.rotations, walk.root * [1, 1, 1.15], walk.frame_rate)
    feet = [target for target in contact_targets(walk) if "Toe" in target.joint]
    standing = [np.isfinite(target.position).all(axis=1) for target in feet]
    held = [
        Reach(
            target.joint,
            np.where(mask[:, None], skidding.positions()[:, skidding.skeleton.index(target.joint)], np.nan),
        )
        for target, mask in zip(feet, standing)
    ]
    targets = []
    for target, mask in zip(held, standing):
        goal = np.asarray(target.position).copy()
        for a, b in runs(mask):
            goal[a:b] = goal[a:b].mean(axis=0)
        targets.append(Reach(target.joint, goal, weight=fade(mask, 4)))
    fixed = solve_clip(walk.skeleton, targets, skidding, tolerance=0.002).motion

    def sliding(motion: Motion) -> float:
        places = motion.positions()
        speeds = []
        for target, mask in zip(targets, standing):
            velocity = np.diff(places[:, motion.skeleton.index(target.joint)], axis=0) * motion.frame_rate
            speeds.append(np.linalg.norm(velocity[mask[1:] & mask[:-1]], axis=1))
        return float(np.concatenate(speeds).mean())

    assert sliding(fixed) < 0.3 * sliding(skidding)


def test_feet_are_held_where_and_while_they_are_in_contact(walk: Motion) -> None:
    targets = contact_targets(walk)
    assert [target.joint for target in targets] == ["LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase"]
    for target in targets:
        share = np.asarray(target.weight)
        assert 0.3 < (share == 1).mean() < 0.9
        goal = np.asarray(target.position)
        assert np.isfinite(goal[share > 0]).all() and np.isnan(goal[share == 0]).all()


def test_a_pose_is_blended_into_a_clip(walk: Motion) -> None:
    posed = solve_pose(
        walk.skeleton,
        [Reach("Head", walk.positions()[60, walk.skeleton.index("Head")] - 0.1)],
        start=walk[60],
    )
    edited = blend_pose(walk, 60, posed, 0.5)
    np.testing.assert_allclose(so3.distance(edited.rotations[60], posed.rotations), 0, atol=1e-7)
    np.testing.assert_array_equal(edited.root[:29], walk.root[:29])
    alone = blend_pose(walk, 60, posed, 0.0)
    np.testing.assert_allclose(alone.positions()[59], walk.positions()[59], atol=1e-12)
    with pytest.raises(InputError, match="frames 0…"):
        blend_pose(walk, 1000, posed, 1.0)
    with pytest.raises(InputError, match="seconds"):
        blend_pose(walk, 0, posed, -1.0)


@pytest.mark.parametrize("frames", [1, 2, 30])
def test_limits_of_any_kind_hold_over_a_clip(walk: Motion, frames: int) -> None:
    clip, arm = walk[:frames], walk.skeleton.index("LeftArm")
    limits = SwingTwistLimits.free(walk.joints).with_joint(
        arm, twist=(-0.02, 0.02), swing=((0.02, 0.02), (0.02, 0.02)), centre=walk.rotations[0, arm]
    ).containing(clip.rotations)  # fmt: skip
    hand = clip.positions()[:, walk.skeleton.index("LeftHand")] + [0.1, 0.3, 0.1]
    found = [
        solve_clip(walk.skeleton, [Reach("LeftHand", hand)], clip, root="fixed", limits=given)
        for given in (None, limits, Foreign(limits))
    ]
    beyond = [limits.excess(result.motion.rotations).max() for result in found]
    assert beyond[0] > 0.04 and max(beyond[1:]) < 0.005, beyond
    assert max(result.report.residual_cm for result in found[1:]) < 3
