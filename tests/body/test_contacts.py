"""Feet: when they stand, how they slide, and how they are held."""

from dataclasses import replace

import numpy as np
import pytest

import marey
from marey.body.contacts import contacts, feet, hold_feet, rest_levels, sliding
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
    assert np.allclose(rest_levels(moved), rest_levels(walk) - 40.0)


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
    assert feet(rod) == () and standing.shape == (9, 0)
    assert hold_feet(motion, standing) is motion and sliding(motion, standing).way == 0.0


def test_sliding_is_measured_in_metres_and_metres_a_second(walk: Motion) -> None:
    standing = np.ones((walk.frames, 4), dtype=bool)
    still = replace(
        walk,
        rotations=np.repeat(walk.rotations[:1], walk.frames, axis=0),
        root=np.repeat(walk.root[:1], walk.frames, axis=0),
        translations=None,
    )
    seconds = (walk.frames - 1) / walk.frame_rate
    found = sliding(skating(still, 0.3), standing)
    assert found.speed == pytest.approx(0.3)
    assert found.way == pytest.approx(4 * 0.3 * seconds)
    assert found.seconds == pytest.approx(4 * seconds)


def test_held_feet_hardly_slide_and_limbs_stay_smooth(walk: Motion) -> None:
    standing = contacts(walk)
    slid = skating(walk)
    held = hold_feet(slid, standing, roam=np.inf)
    assert sliding(slid, standing).speed > 0.2
    assert sliding(held, standing).speed < 0.02
    knees = walk.skeleton.indices(["LeftLeg", "RightLeg"])

    def fastest(clip: Motion) -> float:
        turns = so3.log(so3.multiply(so3.inverse(clip.rotations[:-1, knees]), clip.rotations[1:, knees]))
        return float(np.abs(np.diff(turns, axis=0)).max())

    assert fastest(held) < 3 * fastest(slid)


def test_feet_carry_the_root_where_it_may_roam(walk: Motion) -> None:
    standing = contacts(walk)
    far = hold_feet(skating(walk), standing, roam=np.inf)
    near = hold_feet(skating(walk), standing)
    asked = skating(walk).root
    assert np.abs(near.root - asked).max() < 0.25
    # The feet walked as far as before they were made to skate.
    assert np.linalg.norm(far.root[-1] - walk.root[-1]) < 0.3 * np.linalg.norm(asked[-1] - walk.root[-1])


def test_a_clip_that_does_not_slide_is_left_nearly_alone(walk: Motion) -> None:
    standing = contacts(walk)
    held = hold_feet(walk, standing)
    again = hold_feet(held, standing)
    assert np.linalg.norm(again.positions() - held.positions(), axis=-1).mean() < 0.004


def test_arms_and_spine_keep_their_rotations(walk: Motion) -> None:
    held = hold_feet(skating(walk), contacts(walk))
    above = [j for j, name in enumerate(walk.skeleton.names) if "Leg" not in name and "Foot" not in name]
    above = [j for j in above if "Toe" not in walk.skeleton.names[j]]
    assert so3.distance(held.rotations[:, above], walk.rotations[:, above]).max() < 1e-6


def test_kept_frames_keep_their_pose(walk: Motion) -> None:
    kept = np.zeros(walk.frames, dtype=bool)
    kept[[10, walk.frames // 2]] = True
    slid = skating(walk)
    held = hold_feet(slid, contacts(walk), kept=kept, roam=np.inf)
    assert so3.distance(held.rotations[kept], slid.rotations[kept]).max() < np.radians(0.01)
    beside = np.roll(kept, 1)
    assert so3.distance(held.rotations[beside], slid.rotations[beside]).max() < np.radians(4)


def test_feet_do_not_sink(walk: Motion) -> None:
    levels = rest_levels(walk)
    sunk = replace(walk, root=walk.root - [0.0, 0.08, 0.0], translations=None)
    held = hold_feet(sunk, contacts(walk), levels=levels)
    heights = held.positions()[:, list(feet(walk.skeleton)), 1]
    assert (heights - levels).min() > -0.045


def test_a_mask_of_the_wrong_shape_is_refused(walk: Motion) -> None:
    with pytest.raises(InputError, match="standing"):
        sliding(walk, np.ones((3, 4), dtype=bool))
