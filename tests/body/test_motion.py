from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marey.body import Motion, Skeleton, concatenate
from marey.errors import InputError
from marey.geometry import rotations as so3

from .trees import random_motion


def test_single_precision_quaternions_become_exactly_unit() -> None:
    motion = random_motion(0)
    rounded = replace(motion, rotations=motion.rotations.astype(np.float32))
    norms = np.linalg.norm(rounded.rotations, axis=-1)
    np.testing.assert_allclose(norms, 1.0, rtol=0, atol=4e-16)
    assert not rounded.rotations.flags.writeable


def test_unit_quaternions_are_kept_bit_by_bit() -> None:
    motion = random_motion(0)
    np.testing.assert_array_equal(replace(motion).rotations, motion.rotations)


def test_a_quaternion_that_is_not_unit_is_named() -> None:
    motion = random_motion(0)
    rotations = np.array(motion.rotations)
    rotations[2, 3] *= 1.1
    with pytest.raises(InputError, match="'joint3' at frame 2 has norm 1.1"):
        replace(motion, rotations=rotations)


def test_slices_keep_time_right() -> None:
    motion = random_motion(0, frames=20)
    assert motion[5:9].frames == 4
    assert motion[::4].frame_rate == motion.frame_rate / 4
    assert motion[-1].frames == 1
    assert motion.between(0.1, 0.2).frames == 4
    assert motion.between(0.5, np.inf).frames == 5
    with pytest.raises(InputError, match="frame 20 of a clip of 20 frames"):
        motion[20]
    for start, stop in ((np.nan, None), (0.2, 0.1), (np.inf, None), (None, -1.0)):
        with pytest.raises(InputError, match="no frame between"):
            motion.between(start, stop)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        motion[0.5]  # type: ignore[index]


def test_every_nth_frame_has_no_sign_jumps() -> None:
    """A joint that turns by 2 rad a frame: every other quaternion of the continuous curve points away."""
    angles = np.arange(9)[:, None, None] * np.array([0.0, 2.0, 0.0])
    hips = Skeleton(("hips",), [-1], [[0, 0, 0]])
    spin = Motion(hips, so3.continuous(so3.exp(angles)), np.zeros((9, 3)), 30.0)
    for thinned in (spin[::2], spin[::-3], spin.resample(15.0)):
        dots = np.einsum("tji,tji->tj", thinned.rotations[1:], thinned.rotations[:-1])
        assert (dots >= 0).all()
    np.testing.assert_allclose(so3.distance(spin[::2].rotations, spin.rotations[::2]), 0, atol=1e-15)


def test_a_clip_does_not_follow_later_changes_of_the_arrays_it_was_made_from() -> None:
    like = random_motion(6, sliding=True)
    arrays = {name: np.array(getattr(like, name)) for name in ("rotations", "root", "translations")}
    motion = replace(like, **arrays)
    for array in arrays.values():
        array[...] = 0.0
    for name in arrays:
        np.testing.assert_array_equal(getattr(motion, name), getattr(like, name))
        assert not getattr(motion, name).flags.writeable
    assert np.shares_memory(motion[1:].rotations, motion.rotations)


def test_a_new_root_path_reaches_the_translations_too() -> None:
    motion = random_motion(7, sliding=True)
    aside = replace(motion, root=motion.root + np.array([1.0, 0, 0]))
    np.testing.assert_array_equal(aside.translations[:, 0], aside.root)  # type: ignore[index]
    picked = aside.pick(aside.skeleton.names)
    np.testing.assert_allclose(picked.positions(), motion.positions() + np.array([1.0, 0, 0]), atol=1e-12)


def test_fractions_and_giants_are_no_indices() -> None:
    for parents in ([-1, 0.5], [-1, np.nan], [-1, 2**70]):
        with pytest.raises(InputError, match="parents"):
            Skeleton(("hips", "spine"), parents, np.zeros((2, 3)))


def test_end_sites_need_three_coordinates_each() -> None:
    for offsets in (np.zeros((3, 2)), np.zeros(4), np.zeros((1, 3))):
        with pytest.raises(InputError, match="end_offsets: expected shape"):
            Skeleton(("hips",), [-1], [[0, 0, 0]], [0, 0], offsets)
    assert Skeleton(("hips",), [-1], [[0, 0, 0]], [], []).end_offsets.shape == (0, 3)


def test_joints_are_not_counted_from_the_end() -> None:
    skeleton = random_motion(0).skeleton
    for ask in (skeleton.children, skeleton.descendants, skeleton.ancestors):
        for joint in (-1, 6):
            with pytest.raises(InputError, match=r"there are joints 0…5"):
                ask(joint)


def test_joined_clips_hold_all_frames_and_no_sign_jumps() -> None:
    motion = random_motion(1, frames=6)
    flipped = replace(motion[3:], rotations=-motion.rotations[3:])
    joined = concatenate([motion[:3], flipped])
    np.testing.assert_array_equal(joined.positions(), motion.positions())
    dots = np.einsum("tji,tji->tj", joined.rotations[1:], joined.rotations[:-1])
    assert (dots >= 0).all()


def test_joining_sliding_and_plain_clips_keeps_every_position() -> None:
    plain = random_motion(2)
    slides = replace(random_motion(2, sliding=True), skeleton=plain.skeleton)
    joined = concatenate([plain, slides])
    expected = np.concatenate([plain.positions(), slides.positions()])
    np.testing.assert_allclose(joined.positions(), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: replace(m, frame_rate=60.0), "resample one of them first"),
        (
            lambda m: replace(m, skeleton=replace(m.skeleton, offsets=m.skeleton.offsets * 1.1)),
            "bones differ",
        ),
        (lambda m: m.without(["joint5"]), "their joints differ"),
    ],
)
def test_clips_that_do_not_fit_are_not_joined(change: object, message: str) -> None:
    motion = random_motion(3)
    with pytest.raises(InputError, match=message):
        concatenate([motion, change(motion)])  # type: ignore[operator]


def test_joining_nothing_is_an_input_error() -> None:
    with pytest.raises(InputError, match="nothing to join"):
        concatenate([])


def test_the_convention_changes_only_what_is_remembered() -> None:
    motion = random_motion(4).with_convention(unit="cm").with_convention(up="z")
    assert (motion.convention.unit, motion.convention.up) == (0.01, "z")
    np.testing.assert_array_equal(motion.positions(), random_motion(4).positions())
    with pytest.raises(InputError, match="parsec"):
        motion.with_convention(unit="parsec")


def turned(motion: Motion) -> Motion:
    return motion.transform(rotation=so3.exp([0, 1.2, 0]), translation=[1, 2, 3])


@pytest.mark.parametrize("sliding", [False, True])
def test_a_transformed_clip_is_the_transformed_positions(sliding: bool) -> None:
    motion = random_motion(5, sliding=sliding)
    expected = so3.rotate(so3.exp([0, 1.2, 0]), motion.positions()) + np.array([1, 2, 3])
    np.testing.assert_allclose(turned(motion).positions(), expected, atol=1e-12)
    if sliding:
        np.testing.assert_array_equal(turned(motion).translations[:, 0], turned(motion).root)  # type: ignore[index]
