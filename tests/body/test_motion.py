from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marey.body import Motion, concatenate
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
    with pytest.raises(InputError, match="frame 20 of a clip of 20 frames"):
        motion[20]


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
