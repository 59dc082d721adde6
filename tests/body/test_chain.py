"""Chaining: repetitions follow one another without a jump, turn as asked and meet targets of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.chain import chain
from marey.body.feet import skate
from marey.body.root_motion import yaw
from marey.body.steer import TimedReach
from marey.errors import InputError


@pytest.fixture(scope="module")
def walk() -> marey.Motion:
    return marey.samples.walk(seconds=3)


def largest_step(motion: marey.Motion) -> float:
    return float(np.linalg.norm(np.diff(motion.positions(), axis=0), axis=-1).max())


def largest_acceleration(motion: marey.Motion) -> float:
    second = np.diff(motion.positions(), n=2, axis=0)
    return float(np.linalg.norm(second, axis=-1).max()) * motion.frame_rate**2


def test_repetitions_go_on_where_the_last_one_ended(walk: marey.Motion) -> None:
    found = chain(walk, [[], [], []])
    assert len(found.starts) == 3 and len(found.transitions) == 2
    assert largest_step(found.motion) <= 1.5 * largest_step(walk)
    assert largest_acceleration(found.motion) <= 2.0 * largest_acceleration(walk)
    way = np.linalg.norm((found.motion.root[-1] - found.motion.root[0])[[0, 2]])
    once = np.linalg.norm((walk.root[-1] - walk.root[0])[[0, 2]])
    assert way > 2.0 * once


@pytest.mark.parametrize("seconds", [3, 4])
def test_feet_step_over_a_transition_instead_of_skating(seconds: int) -> None:
    once = marey.samples.walk(seconds=seconds)
    assert skate(chain(once, [[], [], []]).motion) <= 1.15 * skate(once)


def test_each_repetition_is_the_clip_itself_placed_elsewhere(walk: marey.Motion) -> None:
    found = chain(walk, [[], []])
    middle = walk.frames // 2
    frame = found.starts[1] + middle
    assert np.allclose(found.motion.rotations[frame, 1:], walk.rotations[middle, 1:], atol=1e-12)
    assert np.allclose(found.motion.rotations[middle], walk.rotations[middle], atol=1e-12)
    assert abs(found.motion.root[frame, 1] - walk.root[middle, 1]) < 1e-12


def test_a_repetition_turns_as_asked(walk: marey.Motion) -> None:
    straight, turned = chain(walk, [[], []]), chain(walk, [[], []], turns=[0.6])
    at = straight.starts[1] + walk.frames // 2
    change = yaw(turned.motion)[at] - yaw(straight.motion)[at]
    assert abs(change - 0.6) < 0.02


def test_each_repetition_meets_targets_of_its_own(walk: marey.Motion) -> None:
    asked = [
        [TimedReach("LeftHand", 1.5, way, relative=True)] for way in ([0, 0.1, 0], [0.1, 0.0, 0], [0, 0, 0.1])
    ]
    found = chain(walk, asked)
    assert found.steered is not None
    assert max(found.steered.residual_cm) < 0.5
    hand = walk.skeleton.index("LeftHand")
    for (request,), start in zip(asked, found.starts, strict=True):
        frame = start + round(1.5 * walk.frame_rate)
        way = found.motion.positions()[frame, hand] - found.before.positions()[frame, hand]
        assert np.allclose(way, request.position, atol=0.005)


def test_chance_in_transitions_is_by_seed(walk: marey.Motion) -> None:
    one, again, other = (chain(walk, [[], []], deviation=0.5, rng=seed) for seed in (1, 1, 2))
    assert np.allclose(one.motion.rotations, again.motion.rotations, atol=1e-9)
    assert not np.allclose(one.motion.rotations, other.motion.rotations)


def test_one_repetition_is_the_clip(walk: marey.Motion) -> None:
    assert np.array_equal(chain(walk, [[]]).motion.rotations, walk.rotations)


@pytest.mark.parametrize(
    ("count", "options", "reported"),
    [
        (0, {}, "repetition"),
        (2, {"turns": [0.1, 0.2]}, "turns"),
        (2, {"transition": -1.0}, "transition"),
        (2, {"deviation": float("nan")}, "deviation"),
    ],
)
def test_bad_chains_are_refused(
    walk: marey.Motion, count: int, options: dict[str, object], reported: str
) -> None:
    with pytest.raises(InputError, match=reported):
        chain(walk, [[]] * count, **options)


def test_three_kicks_from_one(data_dir: Path) -> None:
    kick = marey.load(data_dir / "skeleton" / "cmu_bvh" / "143_24.bvh", clean=True)[130:470]
    ways = ([0.0, -0.15, 0.0], [0.05, 0.05, 0.1], [-0.05, -0.2, -0.1])
    found = chain(kick, [[TimedReach("LeftToeBase", 163 / 120, way, relative=True)] for way in ways])
    assert found.steered is not None
    assert max(found.steered.residual_cm) < 2.0
    assert largest_step(found.motion) <= 1.5 * largest_step(kick)
