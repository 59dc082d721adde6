"""Forces of the simulated crowd, against the source's numbers and a plain loop over all pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.polygons import edges
from marey.crowd.simulation.engine import Simulator
from marey.crowd.simulation.pedestrians import Interaction, Parameters, Pedestrians, random_pedestrians
from marey.crowd.simulation.routes import DirectionField
from marey.errors import InputError

from .simulation_reference import field_of, plain_forces

RIGHT = DirectionField.constant(1, 0)
PRESETS = {
    "dataset": Parameters(),
    "helbing": Parameters.helbing(),
    "everyday": Parameters.everyday(),
    "control": Parameters.control(),
}


def crowd(count: int = 120, *, spacing: float = 0.4, side: float = 7.0, seed: int = 3) -> Pedestrians:
    people = random_pedestrians(count, area=(0, 0, side, side), spacing=spacing, seed=seed)
    return replace(people, velocities=np.random.default_rng(seed).normal(0, 1, (count, 2)))


@pytest.mark.parametrize("name", PRESETS)
def test_forces_equal_a_plain_loop_over_all_pairs(name: str) -> None:
    law, people = PRESETS[name], crowd()
    wishes = np.tile([0.6, 0.8], (people.count, 1))
    reach = law.people.reach(2 * float(people.radius.max()))
    expected = plain_forces(people, wishes, law, reach)
    ours = Simulator(people, None, [DirectionField.constant(0.6, 0.8)], law).forces()
    np.testing.assert_allclose(ours, expected, atol=1e-9 * np.abs(expected).max())
    assert np.abs(expected).max() > 100


def test_a_pair_left_out_or_faded_misses_less_than_a_hundredth_of_a_newton() -> None:
    for name, law in PRESETS.items():
        for d in np.linspace(0.7, 8.0, 200):
            pair = Pedestrians([[0, 0], [d, 0]], radius=0.3)
            ours = Simulator(pair, None, [RIGHT], law).forces()
            exact = plain_forces(pair, np.tile([1.0, 0.0], (2, 1)), law)
            assert np.abs(ours - exact).max() < 0.01, (name, d)


def test_many_neighbours_are_taken_in_turns() -> None:
    people = crowd(700, spacing=0.05, side=3.0)
    law = PRESETS["dataset"]
    ours = Simulator(people, None, [RIGHT], law).forces()[:5]
    chosen = plain_forces_of_some(people, law, 5)
    np.testing.assert_allclose(ours, chosen, rtol=1e-8)


def plain_forces_of_some(people: Pedestrians, law: Parameters, some: int) -> np.ndarray:
    """Pair forces add up: those of single neighbours on each of the first people."""
    result = np.zeros((some, 2))
    for i in range(some):
        alone = plain_forces(people[[i]], np.array([[1.0, 0.0]]), law)
        result[i] = alone[0]
        for n in range(people.count):
            if n != i:
                both = plain_forces(
                    people[[i, n]], np.tile([1.0, 0.0], (2, 1)), law, 4.0 + people.radius.max()
                )
                result[i] += both[0] - alone[0]
    return result


@pytest.mark.parametrize(
    ("degrees", "share"),
    [(0, 1), (30, 0.715), (60, 0.537), (90, 0.384), (120, 0.247), (150, 0.120), (180, 0)],
)
def test_perception_weighs_neighbours_by_their_angle_as_in_the_source(degrees: float, share: float) -> None:
    law = Parameters(people=Interaction(600, 0.3), stumble=0.0)
    angle = np.radians(degrees)
    pair = Pedestrians([[0, 0], [np.cos(angle), np.sin(angle)]], desired_speed=0.0)
    push = Simulator(pair, None, [RIGHT], law).forces()[0]
    assert np.hypot(*push) / (600 * np.exp(-0.5 / 0.3)) == pytest.approx(share, abs=6e-4)


def test_free_walkers_reach_their_speed_within_their_response_time() -> None:
    walker = Simulator(Pedestrians([[0, 0]]), None, [RIGHT], dt=0.02)
    walker.step(25)
    assert walker.people.velocities[0, 0] == pytest.approx(1.2 * (1 - np.exp(-1)), rel=1e-9)
    walker.step(1000)
    assert walker.people.velocities[0, 0] == pytest.approx(1.2, rel=1e-9)


def test_two_people_face_to_face_stop_where_push_and_wish_are_equal() -> None:
    pair = Pedestrians([[0, 0], [4, 0]], goal=[0, 1])
    both = Simulator(pair, None, [RIGHT, DirectionField.constant(-1, 0)])
    both.step(2000)
    gap = both.people.positions[1, 0] - both.people.positions[0, 0] - 0.5
    assert gap == pytest.approx(0.3 * np.log(600 / 192), abs=1e-3)
    assert gap == pytest.approx(0.34, abs=0.005)


def test_controlled_people_face_to_face_stop_at_sixteen_centimetres() -> None:
    pair = random_pedestrians(2, positions=[[0, 0], [3, 0]], kind="control", seed=1)
    pair = replace(pair, goal=[0, 1])
    np.testing.assert_allclose(pair.mass / pair.response_time, 140.0)
    both = Simulator(pair, None, [RIGHT, DirectionField.constant(-1, 0)], Parameters.control())
    both.step(2000)
    gap = both.people.positions[1, 0] - both.people.positions[0, 0] - pair.radius.sum()
    assert gap == pytest.approx(0.08 * np.log(1000 / 140), abs=1e-3)


def test_stumbling_brakes_with_52_newtons_ten_centimetres_within_reach() -> None:
    people = Interaction(0.0, 0.3)
    pair = Pedestrians([[0, 0], [0.5, 0]], [[1.2, 0], [0, 0]])
    push = [
        Simulator(pair, None, [RIGHT], Parameters(people=people, stumble=psi)).forces()[0, 0]
        for psi in (0.0, 300.0)
    ]
    assert push[0] - push[1] == pytest.approx(300 * 1.2**3 * 0.1, rel=1e-9)


def test_walking_backwards_is_braked_threefold() -> None:
    away = Pedestrians([[0, 0]], [[-1.0, 0.0]], desired_speed=0.0)
    towards = replace(away, velocities=[[1.0, 0.0]])
    braked = [Simulator(p, None, [RIGHT]).forces()[0, 0] for p in (away, towards)]
    assert braked == pytest.approx([3 * 160.0, -160.0])


def test_without_perception_nothing_but_wishes_changes_the_momentum() -> None:
    for law in (Parameters.helbing(), Parameters.control()):
        people = replace(crowd(), desired_speed=0.0)
        drag = -(people.mass / people.response_time)[:, None] * people.velocities
        assert np.abs((Simulator(people, None, [RIGHT], law).forces() - drag).sum(axis=0)).max() < 1e-6


def test_people_at_one_place_step_apart() -> None:
    for law in PRESETS.values():
        both = Simulator(Pedestrians([[1, 1], [1, 1], [1, 1]], desired_speed=0.0), None, [RIGHT], law)
        both.step(100)
        places = both.people.positions
        assert np.isfinite(places).all()
        assert min(np.hypot(*(places[i] - places[j])) for i, j in ((0, 1), (0, 2), (1, 2))) > 0.2


def test_a_wall_pushes_alike_drawn_in_one_piece_or_in_many() -> None:
    spots = np.random.default_rng(0).uniform([-1, 0.1], [11, 2], (30, 2))
    cuts = np.linspace(0, 10, 14)
    pieces = np.column_stack([cuts[:-1], 0 * cuts[:-1], cuts[1:], 0 * cuts[1:]])
    alone = [Pedestrians(spots[[k]], desired_speed=0.0) for k in range(30)]
    whole = [Simulator(p, [[0, 0, 10, 0]]).forces()[0] for p in alone]
    parts = [Simulator(p, pieces).forces()[0] for p in alone]
    np.testing.assert_allclose(parts, whole, atol=1e-9)


@pytest.mark.parametrize(("spot", "gap"), [((5.0, 0.5), 0.5), ((-0.3, 0.4), 0.5), ((10.4, -0.3), 0.5)])
def test_walls_push_from_their_nearest_point_with_the_source_s_strength(
    spot: tuple[float, float], gap: float
) -> None:
    push = Simulator(Pedestrians([spot], desired_speed=0.0), [[0, 0, 10, 0]]).forces()[0]
    assert np.hypot(*push) == pytest.approx(400 * np.exp((0.25 - gap) / 0.3), rel=1e-9)
    nearest = np.array([min(max(spot[0], 0.0), 10.0), 0.0])
    assert push @ (np.array(spot) - nearest) == pytest.approx(np.hypot(*push) * gap, rel=1e-9)


def test_a_wall_touched_rubs() -> None:
    sliding = Pedestrians([[5.0, 0.2]], [[1.0, 0.0]], desired_speed=0.0)
    push = Simulator(sliding, [[0, 0, 10, 0]], (), Parameters(stumble=0.0, reluctance=0.0)).forces()[0]
    assert push[0] == pytest.approx(-160.0 - 12e3 * 0.05)
    assert push[1] == pytest.approx(400 * np.exp(0.05 / 0.3) + 6e3 * 0.05)


@settings(max_examples=15, deadline=None)
@given(angle=st.floats(0, 2 * np.pi), x=st.floats(-50, 50), y=st.floats(-50, 50), seed=st.integers(0, 2**31))
def test_forces_turn_and_travel_with_the_scene(angle: float, x: float, y: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = Pedestrians(rng.uniform(0, 5, (20, 2)), rng.normal(0, 1, (20, 2)), rng.uniform(0.2, 0.3, 20))
    walls = rng.uniform(-1, 6, (3, 4))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    before = Simulator(people, walls, [RIGHT]).forces()
    moved = replace(
        people, positions=people.positions @ turn.T + [x, y], velocities=people.velocities @ turn.T
    )
    there = (walls.reshape(-1, 2) @ turn.T + [x, y]).reshape(-1, 4)
    after = Simulator(moved, there, [DirectionField.constant(*turn[:, 0])]).forces()
    np.testing.assert_allclose(after, before @ turn.T, atol=1e-6 * np.abs(before).max())


def test_directions_between_nodes_are_unit_and_leave_out_walls() -> None:
    vectors = np.zeros((3, 3, 2))
    vectors[:, :, 0] = 2.0
    vectors[1, 1] = np.nan
    field = DirectionField(vectors, (10.0, 20.0), 0.5)
    np.testing.assert_allclose(field.at([[10.4, 20.3], [0.0, 0.0], [99.0, 99.0]]), [[1, 0]] * 3)
    assert field.at([[10.5, 20.5]]).tolist() == [[0.0, 0.0]]
    turning = field_of(lambda p: np.stack([4 - p[:, 1], p[:, 0] - 3], axis=-1), (-2, -1), (8, 9))
    spots = np.random.default_rng(0).uniform([0, 1], [6, 7], (50, 2))
    radial = spots - [3, 4]
    away = radial / np.hypot(*radial.T)[:, None]
    assert np.abs((turning.at(spots) * away).sum(axis=1)).max() < 0.1


def test_random_people_are_as_the_source_says() -> None:
    people = random_pedestrians(500, area=(0, 0, 30, 30), seed=5)
    assert 0.2 <= people.radius.min() < 0.205 and 0.295 < people.radius.max() <= 0.3
    np.testing.assert_allclose(people.mass, 320 * people.radius)
    assert people.response_time.min() >= 0.45 and people.response_time.max() <= 0.55
    assert people.desired_speed.min() >= 1.08 and people.desired_speed.max() <= 1.32
    apart = np.hypot(*(people.positions[:, None] - people.positions[None]).transpose(2, 0, 1))
    assert apart[~np.eye(500, dtype=bool)].min() >= 0.6
    again = random_pedestrians(500, area=(0, 0, 30, 30), seed=5)
    assert np.array_equal(people.positions, again.positions)


def test_crowded_areas_are_filled_in_rows_and_overfull_ones_refused() -> None:
    people = random_pedestrians(250, area=(0, 0, 10, 10), seed=5)
    apart = np.hypot(*(people.positions[:, None] - people.positions[None]).transpose(2, 0, 1))
    assert apart[~np.eye(250, dtype=bool)].min() >= 0.6 - 1e-9
    with pytest.raises(InputError, match="do not fit"):
        random_pedestrians(500, area=(0, 0, 10, 10))


def test_people_keep_from_walls_when_placed() -> None:
    wall = edges([[(5, 0), (5, 10)]], closed=False)
    people = random_pedestrians(100, area=(0, 0, 10, 10), walls=wall, seed=2)
    assert np.abs(people.positions[:, 0] - 5).min() >= 0.3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Pedestrians([[0, np.nan]]), "positions"),
        (lambda: Pedestrians([[0, 0]], radius=-1.0), "radius: person 0"),
        (lambda: Pedestrians([[0, 0], [1, 1]], ids=[3, 3]), "same number"),
        (lambda: Simulator(Pedestrians([[0, 0]]), dt=0.0), "dt"),
        (lambda: Simulator(Pedestrians([[0, 0]]), [[0, 0, np.inf, 1]]), "walls"),
        (lambda: Parameters(perception=0.0), "perception"),
        (lambda: Interaction(100, 0.0), "range"),
        (lambda: DirectionField(np.zeros((0, 3, 2))), "no node"),
        (lambda: random_pedestrians(3, area=(0, 0, 1, 1), kind="giants"), "kind"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(make, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()
