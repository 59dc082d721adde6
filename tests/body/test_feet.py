"""Feet: when they are in contact, how much they skate, and how they are planted."""

from dataclasses import replace

import numpy as np
import pytest

import marey
from marey.body.feet import contacts, foot_joints, ground_heights, plant, skate, slide_speed
from marey.body.feet.plant import _eliminate
from marey.body.limits import EllipsoidLimits, RangeLimits
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import InputError
from marey.geometry import rotations as so3


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(seconds=4)


def skating(walk: Motion, speed: float = 0.3) -> Motion:
    """The walk carried forward at so many metres a second more than its feet go."""
    seconds = np.arange(walk.frames) / walk.frame_rate
    drift = np.array([0.0, 0.0, 1.0]) * speed * seconds[:, None]
    return replace(walk, root=walk.root + drift, translations=None)


def test_feet_take_turns_in_a_walk(walk: Motion) -> None:
    standing = contacts(walk)
    left, right = standing[:, :2].any(axis=1), standing[:, 2:].any(axis=1)
    assert (left | right).mean() > 0.8
    assert (left & right).mean() < 0.4
    assert not left.all() and not right.all()


@pytest.mark.parametrize("rate", [24.0, 120.0, 240.0])
def test_contacts_do_not_depend_on_the_frame_rate(walk: Motion, rate: float) -> None:
    other = contacts(walk.resample(rate))
    here = contacts(walk)
    at = np.minimum(np.round(np.arange(len(other)) * walk.frame_rate / rate).astype(int), walk.frames - 1)
    assert (other == here[at]).mean() > 0.93


def test_contacts_do_not_depend_on_the_height_of_the_ground_or_the_place(walk: Motion) -> None:
    moved = walk.transform(rotation=so3.exp([0.0, 1.0, 0.0]), translation=[3.0, -40.0, 2.0])
    assert np.array_equal(contacts(moved), contacts(walk))
    assert np.allclose(ground_heights(moved), ground_heights(walk) - 40.0)


def test_one_noisy_frame_does_not_break_a_stand(walk: Motion) -> None:
    standing = contacts(walk)
    frame = int(np.flatnonzero(standing[:, 1])[5])
    root = np.array(walk.root)
    root[frame] += [0.004, 0.0, 0.0]
    assert contacts(replace(walk, root=root))[frame, 1]


def test_a_figure_without_feet_has_no_contacts() -> None:
    rod = Skeleton(("a", "b"), [-1, 0], [[0, 0, 0], [0, 1, 0]])
    motion = Motion(rod, so3.identity((9, 2)), np.zeros((9, 3)), 30.0)
    standing = contacts(motion)
    assert foot_joints(rod) == () and standing.shape == (9, 0)
    assert plant(motion, standing) is motion
    assert slide_speed(motion, standing) == skate(motion) == 0.0


def test_skate_is_measured_in_metres_a_second(walk: Motion) -> None:
    standing = np.ones((walk.frames, 4), dtype=bool)
    still = replace(
        walk,
        rotations=np.repeat(walk.rotations[:1], walk.frames, axis=0),
        root=np.repeat(walk.root[:1], walk.frames, axis=0),
        translations=None,
    )
    assert slide_speed(skating(still, 0.3), standing) == pytest.approx(0.3)
    assert skate(skating(still, 0.3)) == pytest.approx(0.3)


def test_held_feet_hardly_slide_and_limbs_stay_smooth(walk: Motion) -> None:
    standing = contacts(walk)
    slid = skating(walk)
    held = plant(slid, standing)
    assert slide_speed(slid, standing) > 0.2
    assert slide_speed(held, standing) < 0.02
    knees = walk.skeleton.indices(["LeftLeg", "RightLeg"])

    def fastest(clip: Motion) -> float:
        turns = so3.log(so3.multiply(so3.inverse(clip.rotations[:-1, knees]), clip.rotations[1:, knees]))
        return float(np.abs(np.diff(turns, axis=0)).max())

    assert fastest(held) < 3 * fastest(slid)


def test_feet_carry_a_root_that_follows_and_leave_a_firm_one(walk: Motion) -> None:
    standing = contacts(walk)
    far = plant(skating(walk), standing)
    near = plant(skating(walk), standing, root="firm")
    assert slide_speed(near, standing) < 0.02
    asked = skating(walk).root
    assert np.abs(near.root - asked).max() < 0.25
    # The feet walked as far as before they were made to skate.
    assert np.linalg.norm(far.root[-1] - walk.root[-1]) < 0.3 * np.linalg.norm(asked[-1] - walk.root[-1])


def test_a_clip_that_does_not_slide_is_left_nearly_alone(walk: Motion) -> None:
    standing = contacts(walk)
    held = plant(walk, standing, root="firm")
    again = plant(held, standing, root="firm")
    assert np.linalg.norm(again.positions() - held.positions(), axis=-1).mean() < 0.004


def test_arms_and_spine_keep_their_rotations(walk: Motion) -> None:
    held = plant(skating(walk), contacts(walk))
    above = [j for j, name in enumerate(walk.skeleton.names) if "Leg" not in name and "Foot" not in name]
    above = [j for j in above if "Toe" not in walk.skeleton.names[j]]
    assert so3.distance(held.rotations[:, above], walk.rotations[:, above]).max() < 1e-6


def test_kept_frames_keep_their_pose(walk: Motion) -> None:
    kept = np.zeros(walk.frames, dtype=bool)
    kept[[10, walk.frames // 2]] = True
    slid = skating(walk)
    held = plant(slid, contacts(walk), keep=kept)
    assert so3.distance(held.rotations[kept], slid.rotations[kept]).max() < np.radians(0.01)
    beside = np.roll(kept, 1)
    assert so3.distance(held.rotations[beside], slid.rotations[beside]).max() < np.radians(4)


def test_feet_do_not_sink(walk: Motion) -> None:
    levels = ground_heights(walk)
    sunk = replace(walk, root=walk.root - [0.0, 0.08, 0.0], translations=None)
    held = plant(sunk, contacts(walk), heights=levels)
    heights = held.positions()[:, list(foot_joints(walk.skeleton)), 1]
    assert (heights - levels).min() > -0.045


def test_a_mask_of_the_wrong_shape_is_refused(walk: Motion) -> None:
    with pytest.raises(InputError, match="contacts"):
        slide_speed(walk, np.ones((3, 4), dtype=bool))


def test_the_contacts_of_a_sprint_are_found(walk: Motion) -> None:
    """Feet that are down for 100 ms and swing at 13 m/s."""
    phase = (np.arange(120) / 120 % 0.35) / 0.35
    down = phase < 0.3
    root = np.zeros((120, 3))
    root[:, 1] = np.where(down, 0.0, 0.3 * np.sin(np.pi * (phase - 0.3) / 0.7))
    root[:, 2] = np.cumsum(np.where(down, 0.1, 13.0)) / 120
    sprint = Motion(walk.skeleton, so3.identity((120, walk.joints)), root, 120.0)
    found = contacts(sprint).any(axis=1)
    assert found[down].mean() > 0.5 and not found[~down].any()


def test_eliminated_unknowns_stay_and_the_others_are_solved_without_them() -> None:
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((12, 12))
    dense = np.where(np.abs(np.subtract.outer(range(12), range(12))) < 4, dense @ dense.T, 0) + 30 * np.eye(
        12
    )
    band = np.array([[dense[j + k, j] if j + k < 12 else 0.0 for k in range(4)] for j in range(12)])
    right, fixed = rng.standard_normal(12), np.array([0, 5, 6])
    expected = np.zeros(12)
    free = np.setdiff1d(range(12), fixed)
    expected[free] = np.linalg.solve(dense[np.ix_(free, free)], right[free])
    _eliminate(band, right, fixed)
    from scipy.linalg import solveh_banded

    assert np.allclose(solveh_banded(band.T, right, lower=True), expected)


def test_planted_legs_stay_within_limits_of_any_compiled_kind(walk: Motion) -> None:
    knees = walk.skeleton.indices(["LeftLeg", "RightLeg"])
    mean = so3.identity(2)
    turns = so3.log(walk.rotations[:, knees])
    box = RangeLimits(knees, mean, turns.min(axis=0) - 0.02, turns.max(axis=0) + 0.02)
    ball = EllipsoidLimits(
        knees, mean, np.repeat(np.eye(3)[None] / np.square(turns).sum(-1).max(), 2, axis=0)
    )
    slid = skating(walk)
    free = plant(slid, contacts(walk), root="firm")
    for limits in (box, ball):
        planted = plant(slid, contacts(walk), root="firm", limits=limits)
        assert limits.excess(planted.rotations).max() < max(0.3 * limits.excess(free.rotations).max(), 0.01)


def test_a_leg_of_the_planter_has_the_gradients_of_finite_differences(walk: Motion) -> None:
    from marey.body.feet import _kernels
    from marey.body.feet.plant import _legs

    joints = np.arange(walk.joints)
    limits = RangeLimits(
        joints, so3.identity(walk.joints), np.full((len(joints), 3), -0.01), np.zeros((len(joints), 3))
    )
    leg = _legs(walk, np.array([30]), limits)[0]
    own = 0.2 * np.random.default_rng(1).standard_normal(12)

    def at(own: np.ndarray) -> tuple[np.ndarray, ...]:
        places, slopes = np.zeros((2, 3)), np.zeros((2, 3, 12))
        over, turning = np.zeros(3), np.zeros((3, 3))
        _kernels.leg_frame(leg.chain, 0, own, leg.limits, places, slopes, over, turning)
        return places, slopes, over, turning

    _, slopes, over, turning = at(own)
    assert (over > 0).all()
    for i in range(12):
        step = 1e-6 * np.eye(12)[i]
        ahead, behind = at(own + step), at(own - step)
        assert np.allclose((ahead[0] - behind[0]) / 2e-6, slopes[..., i], atol=1e-7)
        if i >= 3:
            change = (ahead[2] - behind[2]) / 2e-6
            assert np.allclose(change[(i - 3) // 3], turning[(i - 3) // 3, (i - 3) % 3], atol=1e-6)
