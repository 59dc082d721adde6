"""Fingers from fingertips, of our hand and of a captured one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body import Motion
from marey.body.particles import PoseBatch, fingers_from_tips, hand_chain, hand_of_clip
from marey.errors import InputError
from marey.geometry import rotations as so3
from tests.body.particles.tasks import TIPS, curled

HAND = hand_chain(forearm=False)


@pytest.fixture(scope="module")
def truth() -> Motion:
    one, other = curled(HAND, 0), curled(HAND, 3)
    t = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 25))
    return Motion(HAND.skeleton, so3.slerp(one, other, t[:, None]), np.zeros((25, 3)), 30.0)


def tips_of(motion: Motion) -> np.ndarray:
    batch = PoseBatch(motion.skeleton, np.array(motion.rotations), np.array(motion.root))
    return np.stack([batch.point(name) for name in TIPS], axis=1)


def test_tips_and_rules_give_the_fingers_back(truth: Motion) -> None:
    found = fingers_from_tips(HAND, tips_of(truth), TIPS, frame_rate=30)
    assert found.errors.max() < 0.003 and found.searches >= 1
    assert HAND.limits.excess(found.motion.rotations).max() < 1e-9
    poses = PoseBatch(HAND.skeleton, np.array(found.motion.rotations), np.zeros((25, 3)))
    assert max(np.degrees(np.abs(rule.errors(poses))).max() for rule in HAND.rules) < 3
    fingers = [j for j, name in enumerate(HAND.skeleton.names) if not name.startswith(("Thumb", "Wrist"))]
    apart = np.linalg.norm(found.motion.positions() - truth.positions(), axis=2)[:, fingers]
    assert apart.max() < 0.004


def test_a_moving_wrist_only_moves_the_hand(truth: Motion) -> None:
    place = np.linspace([0, 1, 0], [0.3, 1.2, 0.1], 25)
    turn = so3.exp(np.linspace([0, 0, 0], [0.5, 1.0, 0], 25))
    moved = place[:, None] + so3.rotate(turn[:, None], tips_of(truth))
    still = fingers_from_tips(HAND, tips_of(truth), TIPS, frame_rate=30)
    found = fingers_from_tips(HAND, moved, TIPS, frame_rate=30, wrist=(place, turn))
    np.testing.assert_allclose(found.motion.root, place)
    assert so3.distance(found.motion.rotations[:, 1:], still.motion.rotations[:, 1:]).max() < 1e-3


def test_missing_tips_leave_the_others_alone(truth: Motion) -> None:
    tips = tips_of(truth)
    tips[5:10, 1] = np.nan
    found = fingers_from_tips(HAND, tips, TIPS, frame_rate=30)
    assert np.isnan(found.errors[5:10, 1]).all() and np.nanmax(found.errors) < 0.003
    with pytest.raises(InputError, match="no frame"):
        fingers_from_tips(HAND, np.full((3, 5, 3), np.nan), TIPS, frame_rate=30)


def test_a_hand_learned_from_a_clip_turns_as_it_did(truth: Motion) -> None:
    chain = hand_of_clip(truth)
    hinge = chain.skeleton.index("Index2")
    assert (chain.mobility[hinge] > 0).tolist() == [True, False, False]
    assert chain.limits.excess(truth.rotations).max() <= 0
    with pytest.raises(InputError, match="frames"):
        hand_of_clip(truth[:5])


def test_a_captured_hand_is_found_from_tips_it_was_not_learned_from(data_dir: Path) -> None:
    path = data_dir / "skeleton" / "manipnet_hand_NC" / "mug1_rightHand.bvh"
    if not path.is_file():
        pytest.skip("no clip of a hand here")
    hand = marey.load(path, unit=0.1)
    skeleton = hand.skeleton
    ends = 0.85 * np.linalg.norm(skeleton.offsets[skeleton.end_parents], axis=1)[:, None] * [[-1.0, 0, 0]]
    rotations = np.array(hand.rotations)
    rotations[:, 0] = [1, 0, 0, 0]
    hand = Motion(replace(skeleton, end_offsets=ends), rotations, np.zeros((hand.frames, 3)), 120.0)
    chain = hand_of_clip(hand[:2000])
    unseen = hand[2000:2400:8]
    names = [skeleton.names[j] + "_end" for j in skeleton.end_parents]
    found = fingers_from_tips(chain, unseen.end_positions(), names, frame_rate=15)
    assert found.errors.max() < 0.003
    assert np.linalg.norm(found.motion.positions() - unseen.positions(), axis=2).mean() < 0.003
    assert chain.limits.excess(found.motion.rotations)[:, 1:].max() < 1e-9
