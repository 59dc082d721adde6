"""The dataset's eight scenes, shortened: bodies, walls, rest at the start, what each scene is for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from marey.crowd import scenes
from marey.crowd.evaluation.pedestrians import overlaps
from marey.crowd.polygons import contains, rectangle
from marey.crowd.scenes import Goal, Group, Scene
from marey.crowd.simulation.pedestrians import Parameters
from marey.crowd.simulation.simulate import SimulatedCrowd, Simulation, simulate
from marey.errors import InputError

SECONDS = 7.0


@cache
def crowd(name: str, panic: bool = False) -> SimulatedCrowd:
    scene = scenes.preset(name, panic=panic, hold=3.0)
    return simulate(scene.with_people(min(120, sum(group.people for group in scene.groups))), seconds=SECONDS)


def moving(of: SimulatedCrowd) -> slice:
    """Frames after the rest at the start."""
    return slice(round(of.scene.hold * of.frame_rate) + 1, None)


@pytest.mark.parametrize("panic", [False, True])
@pytest.mark.parametrize("name", scenes.SCENES)
def test_bodies_keep_apart_and_out_of_walls(name: str, panic: bool) -> None:
    run = crowd(name, panic)
    present = run.tracks.present
    assert np.isfinite(run.velocities[present]).all() and np.isfinite(run.desired_directions[present]).all()
    assert overlaps(run.tracks, run.radius, tolerance=1).deepest_share < 0.5
    for obstacle in run.scene.obstacles:
        assert not contains(obstacle, run.positions[present]).any()


@pytest.mark.parametrize("name", scenes.SCENES)
def test_the_crowd_rests_for_three_seconds_and_then_moves(name: str) -> None:
    run = crowd(name)
    held = slice(0, round(3 * run.frame_rate))
    wish = run.desired_directions[moving(run)][0]
    towards = np.abs((run.velocities[held] * wish).sum(axis=-1))
    assert np.nanmean(towards) < 0.05 * 1.2
    assert np.nanmean(np.linalg.norm(run.velocities[round(4.5 * run.frame_rate)], axis=-1)) > 0.4


@pytest.mark.parametrize("name", scenes.SCENES)
def test_start_places_are_two_bodies_apart(name: str) -> None:
    places = crowd(name).positions[0]
    apart = np.linalg.norm(places[:, None] - places, axis=-1) + 9 * np.eye(len(places))
    assert apart.min() >= 0.6


def test_panic_is_four_times_as_fast_and_twice_where_people_meet_head_on() -> None:
    for name in scenes.SCENES:
        soft, panic = scenes.preset(name), scenes.preset(name, panic=True)
        factor = 2 if name in ("sideway", "crossing") else 4
        assert [g.speed for g in panic.groups] == [factor * g.speed for g in soft.groups]
        assert panic.seconds < soft.seconds


def test_those_who_go_round_all_go_the_same_way_round() -> None:
    run = crowd("rotation")
    arm, velocity = run.positions[moving(run)] - 32.0, run.velocities[moving(run)]
    momentum = np.nansum(
        run.mass * (arm[..., 0] * velocity[..., 1] - arm[..., 1] * velocity[..., 0]), axis=-1
    )
    assert (momentum > 0).all()


def test_those_who_flee_move_apart() -> None:
    run = crowd("dispersion")
    x, v = run.positions[moving(run)][:50], run.velocities[moving(run)][:50]
    x, v = x - x.mean(axis=1, keepdims=True), v - v.mean(axis=1, keepdims=True)
    divergence = 2 * (x * v).sum(axis=(1, 2)) / (x * x).sum(axis=(1, 2))
    assert divergence.mean() > 0


def test_two_crowds_that_meet_sort_into_lanes_or_stop() -> None:
    free, met = crowd("corridor"), crowd("sideway")
    assert (
        np.nanmean(met.velocities[-1, met.group == 0, 0])
        > 0
        > np.nanmean(met.velocities[-1, met.group == 1, 0])
    )
    later = simulate(met.scene, seconds=14, resume=met)
    slowest = np.nanmean(np.linalg.norm(later.velocities[-1], axis=-1))
    assert slowest < 0.9 * np.nanmean(np.linalg.norm(free.velocities[-1], axis=-1))


def test_the_door_lets_few_through_at_a_time() -> None:
    run = crowd("escape", panic=True)
    x = run.positions[..., 0]
    assert (x > 33).any() and np.nanmean(x[-1] < 31) > 0.5


def test_the_same_seed_gives_the_same_crowd_and_another_another() -> None:
    scene = scenes.preset("crossing").with_people(20)
    first, again, other = (simulate(scene, seconds=4, frame_rate=10, rng=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.positions, again.positions)
    assert np.abs(first.positions[0] - other.positions[0]).max() > 1


def entered() -> Scene:
    """People come in at the left all the time, and leave at the right or beyond the open edge above."""
    goals = {"out": Goal(rectangle(9, 0, 10, 6))}
    groups = [Group(4, rectangle(0.5, 0.5, 4, 5.5), "out", rate=3.0)]
    return Scene((10, 6), [rectangle(0, 0, 10, 0.2)], goals, groups, hold=0.5, seconds=20)


def test_people_come_in_at_their_rate_and_are_gone_at_their_goal() -> None:
    run = simulate(entered(), frame_rate=10)
    # 4, and a Poisson number of mean 58.5.
    assert 40 < run.agents < 86
    assert run.departed > 10
    last = run.tracks.present[-1]
    assert not contains(run.scene.goals["out"].area, run.positions[-1, last]).any()
    assert (run.group == 0).all() and (run.radius >= 0.2).all()


def test_a_run_taken_up_again_is_as_if_never_stopped() -> None:
    whole = simulate(entered(), seconds=9, frame_rate=10, rng=3)
    part = simulate(entered(), seconds=4, frame_rate=10, rng=3)
    resumed = simulate(entered(), seconds=9, frame_rate=10, resume=part)
    np.testing.assert_array_equal(resumed.positions, whole.positions)
    np.testing.assert_array_equal(resumed.velocities, whole.velocities)
    np.testing.assert_array_equal(resumed.mass, whole.mass)
    assert (resumed.steps, resumed.person_steps) == (whole.steps, whole.person_steps)
    with pytest.raises(InputError, match="10 frames per second, not 25"):
        simulate(entered(), seconds=9, resume=part)


def test_whoever_leaves_the_ground_is_gone() -> None:
    goals = {"away": Goal(rectangle(4.5, 4.5, 5.5, 5.5), kind="leave")}
    scene = Scene((10, 10), (), goals, [Group(12, rectangle(2, 2, 8, 8), "away")], hold=0.0)
    run = simulate(scene, seconds=12, frame_rate=10)
    assert run.departed == 12 and run.tracks.present[0].all()


def test_people_start_only_on_the_free_part_of_their_area() -> None:
    pillar = rectangle(3, 3, 7, 7)
    goals = {"out": Goal(rectangle(9, 0, 10, 10))}
    scene = Scene((10, 10), [pillar], goals, [Group(40, rectangle(1, 1, 8.5, 9), "out")])
    places = simulate(scene, seconds=0).positions[0]
    assert not contains(rectangle(2.7, 2.7, 7.3, 7.3), places).any()


def test_too_many_people_or_no_room_at_all_are_told() -> None:
    with pytest.raises(InputError, match="group 0: area: 5000 people .* do not fit"):
        simulate(scenes.preset("escape").with_people(5000))
    goals = {"out": Goal(rectangle(9, 0, 10, 10))}
    scene = Scene((10, 10), [rectangle(0, 0, 5, 10)], goals, [Group(4, rectangle(1, 1, 4, 9), "out")])
    with pytest.raises(InputError, match="group 0: its start lies in walls"):
        simulate(scene)
    with pytest.raises(InputError, match="the scene is empty"):
        simulate(replace(scene, obstacles=(), groups=()), seconds=0.1)
    with pytest.raises(InputError, match="seconds: from 0"):
        simulate("corridor", seconds=-1)
    with pytest.raises(InputError, match="no scene 'coridor'; there are corridor, obstacle"):
        simulate("coridor")


def test_parameters_can_be_chosen_and_a_run_looked_at_on_its_way() -> None:
    run = Simulation(scenes.preset("crossing").with_people(8), parameters=Parameters.helbing(), frame_rate=10)
    frame = run.advance()
    assert frame.positions.shape == (8, 2) and run.crowd().parameters.people.strength == 2000
    cut = run.crowd()[1:]
    assert cut.frames == 1 and cut.agents == 8


def test_a_generator_seeds_a_crowd_that_can_go_on() -> None:
    place = scenes.preset("crossing").with_people(4)
    first, again = (simulate(place, seconds=0.4, rng=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(first.positions, again.positions)
    rng = np.random.default_rng(5)
    others = [simulate(place, seconds=0, rng=rng).positions for _ in range(2)]
    assert not np.array_equal(others[0], others[1])


def test_people_come_with_the_constants_they_are_for():
    scene = scenes.preset("corridor").with_people(20)
    soft, everyday = (simulate(scene, seconds=0.2, parameters=name) for name in ("dataset", "everyday"))
    assert everyday.parameters == Parameters.everyday() != soft.parameters
    assert everyday.radius.max() < soft.radius.min()
    with pytest.raises(InputError, match="there are dataset"):
        simulate(scene, parameters="nobody")


def test_everyday_people_fit_where_their_own_bodies_do():
    goals = {"out": Goal(rectangle(8, 0, 9, 6))}
    room = Scene((9, 6), goals=goals, groups=[Group(300, rectangle(0, 0, 6, 6), "out")])
    crowd = simulate(room, seconds=0, parameters="everyday")
    assert crowd.agents == 300 and crowd.radius.max() <= 0.12
    with pytest.raises(InputError, match="0.6 m apart do not fit"):
        simulate(room, seconds=0)


def test_people_leave_the_room_within_ten_seconds() -> None:
    crowd = simulate(scenes.preset("escape").with_people(60), seconds=10)
    assert (crowd.tracks.positions[-1, :, 0] > 33.0).sum() >= 5
    rested = simulate(scenes.preset("escape", hold=3.0).with_people(60), seconds=2).tracks.positions
    assert np.array_equal(rested[0], rested[-1])
