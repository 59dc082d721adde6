"""Standing by internal forces alone: hidden wrench, weight, pushes, reach, looks, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.control.balance import balance
from marey.body.control.events import Event
from marey.body.motion import Motion
from marey.errors import InputError


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(2)


def test_it_stands_on_what_the_floor_gives_alone(walk: Motion) -> None:
    found = balance(walk, seconds=1.5)
    report = found.report
    assert not report.fell and report.stood_seconds == 1.5
    assert report.root_wrench_max < 1e-8
    assert report.support_newtons == pytest.approx(75 * 9.81, rel=0.03)
    assert report.com_error_cm < 1 and report.mode_changes_per_second <= 2
    assert found.motion.frame_rate == walk.frame_rate
    # Forces at the points hold against gravity and the change of momentum.
    record, h = found.record, 0.01
    for step in (20, 100):
        change = (record.centres[step + 1] - 2 * record.centres[step] + record.centres[step - 1]) / h**2
        total = record.forces[step].sum(axis=0) - np.array([0.0, 75 * 9.81, 0.0])
        np.testing.assert_allclose(total, 75 * change, atol=1e-5)


def test_a_push_is_taken_and_a_strong_one_is_not(walk: Motion) -> None:
    weak, strong = (
        balance(walk, seconds=2.0, events=[Event(0.3, "push", "Spine1", (size, 0.0, 0.0))]).report
        for size in (8.0, 150.0)
    )
    assert not weak.fell and weak.root_wrench_max < 1e-8
    assert strong.fell and 0.3 < strong.stood_seconds < 2.0 and strong.root_wrench_max < 1e-8


def test_hand_and_look_come_to_their_targets_below_the_balance(walk: Motion) -> None:
    hand, head = walk.skeleton.index("LeftHand"), walk.skeleton.index("Head")
    place = walk.positions()[0, hand] + [0.0, 0.15, 0.15]
    found = balance(walk, seconds=3.5, reach={"LeftHand": place}, look_at=(1.5, 1.5, 4.0), basis="full")
    assert not found.report.fell and found.report.reach_residual_cm[0] < 2
    pose = found.motion.forward_kinematics()
    at = pose.positions[-1, head]
    seen = np.array([1.5, 1.5, 4.0]) - at
    forward = marey.geometry.rotations.rotate(pose.rotations[-1, head], [0.0, 0.0, 1.0])
    angle = np.degrees(np.arccos(forward @ seen / np.linalg.norm(seen)))
    assert angle < 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"frame": 1000}, "frame 1000"),
        ({"support": "none"}, "support 'none'"),
        ({"reach": {"Tail": (0, 0, 0)}}, "Tail"),
        ({"seconds": 0.0}, "seconds"),
        ({"events": [Event(0.0, "feature", name="tail")]}, "feature 'tail'"),
    ],
)
def test_refusals(walk: Motion, given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        balance(walk, **{"seconds": 0.1, **given})  # type: ignore[arg-type]
