"""One slider from a ragdoll to the clip: the blend, what pulls at the root, pushes, handles, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.control.events import Event
from marey.body.control.features.centre import Centre
from marey.body.control.features.point import Point
from marey.body.control.mechanics import Body, Mechanics, MechanicsSettings
from marey.body.control.puppet import PuppetSettings, pull, puppet
from marey.body.motion import Motion
from marey.errors import InputError


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(2)


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.9])
def test_one_feature_is_a_straight_blend_of_free_motion_and_target(
    strength: float, mechanics: Mechanics, anyhow: Body
) -> None:
    flying = Mechanics(mechanics.character, MechanicsSettings(floor=-10.0, damping=0.0))
    now = flying.at(anyhow)
    term = Point(joint=5, place=np.array([0.3, 1.0, 0.2])).term(now)
    found = pull(now, [term], strength).velocity
    free = np.linalg.solve(now.work.M, now.free)
    blend = (1 - strength) * (term.rows @ free) + strength * term.target
    np.testing.assert_allclose(term.rows @ found, blend, atol=1e-6)


def test_the_pull_at_the_root_is_what_the_feature_asks_for(mechanics: Mechanics, anyhow: Body) -> None:
    now = mechanics.at(anyhow)
    term = Centre(place=np.array([0.0, 1.2, 0.0])).term(now)
    a = 0.6
    found = pull(now, [term], a)
    weight = np.linalg.inv(term.rows @ now.inverse @ term.rows.T)
    asked = a / (1 - a) * term.rows.T @ weight @ (term.target - term.rows @ found.velocity)
    np.testing.assert_allclose(found.wrench, asked[:6] / now.step, rtol=1e-6, atol=1e-5)
    assert np.abs(found.wrench[3:]).max() > 10


def test_a_stronger_puppet_is_nearer_and_its_strings_show(walk: Motion) -> None:
    found = [puppet(walk, strength=a).report for a in (0.3, 0.6, 0.9, 0.98)]
    errors = [one.error_mean_cm for one in found]
    assert errors == sorted(errors, reverse=True) and errors[2] < 1.2
    assert found[2].root_force_n > 300


def test_a_push_is_felt_and_forgotten(walk: Motion) -> None:
    blow = [Event(0.8, "push", "Spine1", (15.0, 0.0, 0.0))]
    soft, stiff = (puppet(walk, strength=a, events=blow).report for a in (0.6, 0.9))
    assert soft.peak_deviation_cm > 3 * stiff.peak_deviation_cm > 0.1
    assert soft.recovery_seconds < 0.6


def test_a_handle_pulls_the_hand_and_lets_go(walk: Motion) -> None:
    hand = walk.skeleton.index("LeftHand")
    place = walk.positions()[60, hand] + [0.0, 0.15, 0.1]
    events = [Event(0.7, "handle", "LeftHand", place), Event(1.3, "handle", "LeftHand", None)]
    made = puppet(walk, events=events, basis="full").motion
    plain = puppet(walk, basis="full").motion
    near = np.linalg.norm(made.positions()[:, hand] - place, axis=1)
    assert near[76] < 0.5 * np.linalg.norm(plain.positions()[76, hand] - place)
    assert np.linalg.norm(made.positions()[-1, hand] - plain.positions()[-1, hand]) < 0.03


def test_without_strings_nothing_pulls_at_the_root(walk: Motion) -> None:
    found = puppet(walk[:40], settings=PuppetSettings(method="modal"))
    assert np.abs(found.wrenches).max() < 1e-6 and found.report.root_force_n < 1e-6


def test_the_clip_keeps_its_frames_and_names(walk: Motion) -> None:
    made = puppet(walk[:30]).motion
    assert made.frames == 30 and made.frame_rate == walk.frame_rate
    assert made.skeleton.names == walk.skeleton.names


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"strength": 1.5}, "strength 1.5"),
        ({"events": [Event(0.0, "push", "Tail", (1, 0, 0))]}, "Tail"),
        ({"events": [Event(0.0, "support", name="left")]}, "puppet knows"),
        ({"basis": "none"}, "basis"),
    ],
)
def test_refusals(walk: Motion, given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        puppet(walk[:10], **given)  # type: ignore[arg-type]
