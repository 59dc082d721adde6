"""What features ask of the velocity against differences of their values, by SciPy's forward kinematics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from marey.body.control.features import Feature
from marey.body.control.features.angular_momentum import AngularMomentum
from marey.body.control.features.centre import Centre
from marey.body.control.features.feet import Feet, Lifted
from marey.body.control.features.laziness import Laziness
from marey.body.control.features.look_at import LookAt, view_frame, view_rate
from marey.body.control.features.orientation import Orientation
from marey.body.control.features.point import Point
from marey.body.control.features.posture import Posture, Whole
from marey.body.control.features.strength import Strength
from marey.body.control.features.support import Support, centroid, inside, polygon, reach
from marey.body.control.mechanics import Body, Instant, Mechanics
from marey.body.control.targets import Gains
from marey.body.physics.reduced import PhysicalCharacter
from tests.body.control.figures import angular_momentum, centre, frames

STEP = 1e-5


def moved(state: Body, v: np.ndarray, time: float) -> Body:
    """The state along a velocity."""
    turn = Rotation.from_quat(np.roll(state.rotation, -1))
    rotation = (turn * Rotation.from_rotvec(time * v[:3])).as_quat()
    centre = state.centre + time * turn.apply(v[3:6])
    return state._replace(rotation=np.roll(rotation, 1), centre=centre, alpha=state.alpha + time * v[6:])


def rate(value: Callable[[Body], np.ndarray], state: Body, v: np.ndarray) -> np.ndarray:
    return (value(moved(state, v, STEP)) - value(moved(state, v, -STEP))) / (2 * STEP)


def sole_heights(mechanics: Mechanics, state: Body, points: np.ndarray) -> np.ndarray:
    turns, places = frames(mechanics.character, state)
    shapes = mechanics.shapes
    return np.array(
        [(places[j] + turns[j].apply(s[:3]))[1] for j, s in zip(shapes.carriers[points],
         shapes.spheres[points], strict=True)]
    )  # fmt: skip


VALUES: dict[str, tuple[Feature, Callable[[Mechanics, Body], np.ndarray]]] = {
    "point": (
        Point(joint=5, place=np.zeros(3), point=np.array([0.1, 0.2, -0.1])),
        lambda m, s: frames(m.character, s)[1][5] + frames(m.character, s)[0][5].apply([0.1, 0.2, -0.1]),
    ),
    "centre": (Centre(place=np.zeros(3)), lambda m, s: centre(m.character, s)),
    "support": (Support(place=np.zeros(2)), lambda m, s: centre(m.character, s)[[0, 2]]),
    "head": (Support(place=np.zeros(2), joint=9), lambda m, s: frames(m.character, s)[1][9][[0, 2]]),
    "feet": (Feet(), lambda m, s: sole_heights(m, s, m.soles.ravel())),
    "lifted": (Lifted(foot=1), lambda m, s: sole_heights(m, s, m.soles[1].ravel())),
}


@pytest.mark.parametrize("name", VALUES)
def test_rows_are_the_derivatives_of_the_values(name: str, mechanics: Mechanics, anyhow: Body) -> None:
    feature, value = VALUES[name]
    now = mechanics.at(anyhow)
    term = feature.term(now)
    assert term is not None
    for seed in range(3):
        v = np.random.default_rng(seed).standard_normal(len(now.free))
        np.testing.assert_allclose(term.rows @ v, rate(lambda s: value(mechanics, s), anyhow, v), atol=1e-7)


def test_the_rows_of_turns_are_angular_velocities_in_the_joints_frame(
    mechanics: Mechanics, anyhow: Body
) -> None:
    now, joint = mechanics.at(anyhow), 7
    v = np.random.default_rng(0).standard_normal(len(now.free))
    ahead, behind = (frames(mechanics.character, moved(anyhow, v, t))[0][joint] for t in (STEP, -STEP))
    spin = (behind.inv() * ahead).as_rotvec() / (2 * STEP)
    target = np.array([0.5, 0.5, 0.5, 0.5])
    term = Orientation(joint=joint, rotation=target, gains=Gains(1.0, 0.0, "published")).term(now)
    assert term is not None
    np.testing.assert_allclose(term.rows @ v, spin, atol=1e-7)
    here = frames(mechanics.character, anyhow)[0][joint]
    wanted = (here.inv() * Rotation.from_quat(np.roll(target, -1))).as_rotvec()
    np.testing.assert_allclose(term.target, wanted, atol=1e-9)


def test_angular_momentum_is_that_of_the_moving_bones(mechanics: Mechanics, anyhow: Body) -> None:
    now = mechanics.at(anyhow)
    v = np.random.default_rng(2).standard_normal(len(now.free))
    found = angular_momentum(mechanics.character, moved(anyhow, v, -STEP), moved(anyhow, v, STEP), 2 * STEP)
    np.testing.assert_allclose(AngularMomentum.rows(now) @ v, found, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_derivative_of_the_look_is_that_of_its_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    view, change = rng.standard_normal(3) + np.array([2.0, 0, 0]), rng.standard_normal(3)
    ahead, here, behind = (view_frame(view + t * change) for t in (STEP, 0.0, -STEP))
    assert ahead is not None and here is not None and behind is not None
    spin = here.T @ (ahead - behind) / (2 * STEP)
    np.testing.assert_allclose(view_rate(here, view, change), [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)


def test_no_look_straight_up(mechanics: Mechanics, anyhow: Body) -> None:
    now = mechanics.at(anyhow)
    above = now.joint(9)[1] + [0.0, 1.0, 0.0]
    assert LookAt(joint=9, place=above, forward=np.array([0.0, 0.0, 1.0])).term(now) is None


def test_posture_weighs_coordinates_by_their_inertia(mechanics: Mechanics, anyhow: Body) -> None:
    now = mechanics.at(anyhow)
    term = Posture(alpha=np.zeros(mechanics.character.basis.modes), weight=2.0).term(now)
    assert term is not None
    np.testing.assert_allclose(term.rows[:, 6:].T @ term.rows[:, 6:], now.work.M[6:, 6:], atol=1e-9)
    assert not term.rows[:, :6].any()


def test_a_whole_that_is_reached_asks_for_the_next_velocity(mechanics: Mechanics, anyhow: Body) -> None:
    now = mechanics.at(anyhow)
    change = np.random.default_rng(0).standard_normal(len(now.free))
    whole = Whole(
        rotation=anyhow.rotation, centre=anyhow.centre, alpha=anyhow.alpha, velocity=anyhow.velocity,
        change=change,
    ).term(now)  # fmt: skip
    assert whole is not None
    np.testing.assert_allclose(whole.target, anyhow.velocity + change, atol=1e-12)


def test_efforts_are_energies_and_powers(mechanics: Mechanics, anyhow: Body) -> None:
    now: Instant = mechanics.at(anyhow)
    mu = np.random.default_rng(0).standard_normal(mechanics.character.basis.modes)
    pushed = np.linalg.solve(now.work.M, np.concatenate([np.zeros(6), mu]))
    assert mu @ Strength().hessian(now) @ mu == pytest.approx(pushed @ now.work.M @ pushed)
    assert mu @ Laziness().hessian(now) @ mu == pytest.approx((anyhow.velocity[6:] @ mu) ** 2)


def test_a_support_polygon() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([[[0, 0], [2, 0], [2, 1], [0, 1]], rng.uniform(0.1, 0.9, (20, 2))])
    corners = polygon(points)
    assert len(corners) == 4
    np.testing.assert_allclose(centroid(corners), [1.0, 0.5])
    assert inside(corners, np.array([0.25, 0.5])) == pytest.approx(0.25)
    assert inside(corners, np.array([2.5, 0.5])) == pytest.approx(-0.5)
    assert reach(corners, np.array([1.0, 0.5]), np.array([0.6, 0.8])) == pytest.approx(0.625)


@pytest.mark.parametrize("law", ["spring", "implicit", "published"])
def test_laws_are_stable_where_their_map_says(law: str) -> None:
    for stiffness, damping, step in (
        (100.0, 20.0, 0.01),
        (5.0, 0.2, 0.01),
        (190.0, 0.9, 0.01),
        (5e4, 1.0, 0.02),
    ):
        gains = Gains(stiffness, damping, law)
        error, speed = np.array([1.0]), np.array([0.0])
        sizes = []
        for _ in range(4000):
            speed = gains.velocity(-error, speed, step)
            error = error + step * speed
            sizes.append(abs(error[0]) + step * abs(speed[0]))
            if sizes[-1] > 1e6:
                break
        assert (sizes[-1] < 0.5) == (gains.growth(step) < 1), (law, stiffness, damping)


def test_character_of_the_tests(walker: PhysicalCharacter) -> None:
    assert walker.basis.modes > 10
