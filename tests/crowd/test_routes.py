"""Shortest ways: distances against exact ones, order of convergence, wishes that respect walls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from marey.crowd.polygons import rectangle
from marey.crowd.scenes import Goal, Group, Scene, cell_centres
from marey.crowd.simulation import routes
from marey.crowd.simulation.routes import desired_directions, passable
from marey.errors import InputError

Array = NDArray[np.float64]


def from_point(spacing: float, *, near: float = 1.0) -> tuple[Array, Array, Array]:
    """Marched and exact distances from a point in an open square of 16 m, and the cells' centres."""
    cells = round(16 / spacing)
    centres = cell_centres((cells, cells), spacing)
    exact = np.hypot(*(np.moveaxis(centres, -1, 0) - 8.03))
    start = np.where(exact < near, exact, np.inf)
    return routes.distances(np.ones((cells, cells), dtype=bool), start, spacing=spacing), exact, centres


def test_distances_in_the_open_converge_at_second_order() -> None:
    errors = []
    for spacing in (0.4, 0.2, 0.1):
        marched, exact, _ = from_point(spacing)
        errors.append(np.abs(marched - exact).max())
    assert errors[-1] < 0.006
    assert np.log2(errors[0] / errors[1]) > 1.7 and np.log2(errors[1] / errors[2]) > 1.7


def test_directions_in_the_open_lead_straight_to_the_goal() -> None:
    marched, exact, centres = from_point(0.1)
    straight = -(centres - 8.03) / exact[..., None]
    angle = np.degrees(
        np.arccos(np.clip((routes.descent_directions(marched) * straight).sum(axis=-1), -1, 1))
    )
    assert angle[exact > 1].mean() < 0.15 and angle[exact > 1].max() < 3


def test_the_way_round_a_wall_has_its_true_length() -> None:
    errors = []
    for spacing in (0.2, 0.1, 0.05):
        free = Scene((20, 10), [rectangle(9, 0, 11, 6)]).walkable(spacing)
        distance = routes.distances_to(free, rectangle(4.9, 2.9, 5.1, 3.1), spacing=spacing)
        at = int(3 / spacing), int(15 / spacing)
        here = cell_centres(free.shape, spacing)[at]
        exact = np.hypot(9 - 5.1, 6 - 3.1) + 2 + np.hypot(*(here - [11, 6]))
        errors.append(abs(float(distance[at]) - exact))
    assert errors[0] < 0.02 * exact and errors[2] < 0.6 * errors[1] < 0.36 * errors[0]


def test_several_destinations_count_by_the_nearest() -> None:
    free = np.ones((20, 40), dtype=bool)
    starts = np.full((2, *free.shape), np.inf)
    starts[0, 8, 0], starts[1, 0, 36] = 0.0, 0.0
    both = routes.distances(free, starts.min(axis=0), spacing=0.5)
    each = [routes.distances(free, start, spacing=0.5) for start in starts]
    assert np.abs(both - np.minimum(*each)).max() < 0.15 * 0.5


def test_walls_and_what_they_enclose_are_infinitely_far() -> None:
    scene = Scene(
        (10, 10), [rectangle(4, 4, 5, 8), rectangle(7, 4, 8, 8), rectangle(4, 3, 8, 4), rectangle(4, 8, 8, 9)]
    )
    free = scene.walkable(0.25)
    distance = routes.distances_to(free, rectangle(0, 0, 1, 1), spacing=0.25)
    enclosed = np.zeros_like(free)
    enclosed[16:32, 20:28] = True
    assert not np.isfinite(distance[~free | enclosed]).any()
    assert np.isfinite(distance[free & ~enclosed]).all()


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), share=st.floats(0.05, 0.5))
def test_no_direction_points_into_a_wall_and_each_leads_nearer(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    free = rng.random((14, 17)) > share
    free[0, 0] = True
    start = np.full(free.shape, np.inf)
    start[0, 0] = 0.0
    distance = routes.distances(free, start, spacing=1.0)
    reached = np.isfinite(distance)
    for ways in (
        routes.descent_directions(distance),
        routes.ascent_directions(distance),
        routes.orbit_directions(distance, lean=0.2),
    ):
        step = np.sign(np.where(np.abs(ways) > 1e-9, ways, 0.0)).astype(int)
        for row, column in np.argwhere(reached):
            x, y = step[row, column]
            for down, right in ((0, x), (y, 0), (y, x)):
                r, c = row + down, column + right
                inside = 0 <= r < free.shape[0] and 0 <= c < free.shape[1]
                assert not inside or reached[r, c]
    lengths = np.linalg.norm(routes.descent_directions(distance), axis=-1)
    np.testing.assert_allclose(lengths[reached & (distance > 0)], 1.0)
    assert (lengths[~reached] == 0).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_a_distance_grows_by_no_more_than_a_step_to_a_neighbour(seed: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.random((20, 20)) > 0.3
    start = np.where(rng.random((20, 20)) < 0.05, 0.0, np.inf)
    distance = routes.distances(free, start, spacing=0.5)
    for axis in (0, 1):
        a, b = np.moveaxis(distance, axis, 0)[:-1], np.moveaxis(distance, axis, 0)[1:]
        both = np.isfinite(a) & np.isfinite(b)
        assert (np.abs(a[both] - b[both]) <= 0.5 + 1e-9).all()


def test_a_wall_thinner_than_a_cell_cannot_be_walked_through() -> None:
    wall = np.array([[5.03, 0.0], [5.05, 0.0], [6.55, 8.0], [6.53, 8.0]])
    goal, people = Goal(rectangle(9, 0, 10, 10)), Group(5, rectangle(0.5, 1, 3, 7), "east")
    scene = Scene((10, 10), [wall], {"east": goal}, [people])
    field = desired_directions(scene, "east")
    assert field.at([[4.5, 3.0]])[0, 1] > 0.8
    assert not passable(scene, 0.25)[16, int((5.03 + 1.5 * 4.125 / 8) / 0.25)]


def test_goals_that_cannot_be_reached_are_told_by_name() -> None:
    box = [rectangle(4, 0, 5, 10)]
    people = [Group(5, rectangle(0, 0, 3, 10), "east")]
    with pytest.raises(InputError, match="group 0: no path leads from all of its start to goal 'east'"):
        desired_directions(Scene((10, 10), box, {"east": Goal(rectangle(9, 0, 10, 10))}, people), "east")
    with pytest.raises(InputError, match="goal 'east': its area lies in walls"):
        desired_directions(Scene((10, 10), box, {"east": Goal(rectangle(4.2, 2, 4.8, 4))}, people), "east")
