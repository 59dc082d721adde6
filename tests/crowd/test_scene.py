"""Places: their ground, people and speed, and the free part of them as polygons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.polygons import area, as_one_ring, contains, free_regions, rectangle
from marey.crowd.scenes import Goal, Group, Scene
from marey.errors import InputError

EAST = {"east": Goal(rectangle(9, 0, 10, 5))}


def scene(*people: int) -> Scene:
    groups = [Group(n, rectangle(0, 0, 4, 5), "east") for n in people]
    return Scene((10, 5), [rectangle(5, 0, 6, 2)], EAST, groups)


def test_walkable_cells_are_those_without_a_wall() -> None:
    free = scene().walkable(0.5)
    assert free.shape == (10, 20) and (~free).sum() == 8 and not free[:4, 10:12].any()


@given(count=st.integers(0, 1000), people=st.lists(st.integers(0, 50), min_size=1, max_size=6))
def test_people_are_shared_out_as_before_and_add_up(count: int, people: list[int]) -> None:
    if sum(people) == 0:
        return
    got = np.array([group.people for group in scene(*people).with_people(count).groups])
    assert got.sum() == count
    assert (np.abs(got - count * np.array(people) / sum(people)) < 1).all()


def test_faster_scenes_are_faster_in_every_group() -> None:
    assert [group.speed for group in scene(1, 2).faster(4).faster(0.5).groups] == [2.0, 2.0]


def test_scenes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="goal 'west' is not in the scene"):
        Scene((10, 5), goals=EAST, groups=[Group(1, rectangle(0, 0, 1, 1), "west")])
    with pytest.raises(InputError, match="size"):
        Scene((0, 5))
    with pytest.raises(InputError, match="at least three corners"):
        Scene((10, 5), [[[0, 0], [1, 1]]])
    with pytest.raises(InputError, match="one of reach, circle, leave"):
        Goal(rectangle(0, 0, 1, 1), kind="dance")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="5 of a scene where 0 start"):
        scene(0).with_people(5)


@settings(max_examples=60)
@given(seed=st.integers(0, 100_000), aligned=st.booleans())
def test_free_regions_are_what_obstacles_leave(seed: int, aligned: bool) -> None:
    shapely = pytest.importorskip("shapely")
    rng = np.random.default_rng(seed)
    obstacles = []
    for _ in range(rng.integers(1, 8)):
        if aligned:
            x, y = rng.integers(0, 9, 2)
            obstacles.append(rectangle(x, y, x + rng.integers(1, 5), y + rng.integers(1, 5)))
            continue
        turns, reach = np.sort(rng.uniform(0, 2 * np.pi, 6)), rng.uniform(0.5, 3, 6)
        star = rng.uniform(0, 10, 2) + np.stack([reach * np.cos(turns), reach * np.sin(turns)], axis=-1)
        if shapely.Polygon(star).is_valid and shapely.Polygon(star).area > 0.1:
            obstacles.append(star)
    if not obstacles:
        return
    ground = rectangle(0, 0, 10, 10)
    regions = free_regions(ground, obstacles)
    ours = shapely.MultiPolygon(regions)
    theirs = shapely.Polygon(ground).difference(shapely.union_all([shapely.Polygon(o) for o in obstacles]))
    assert ours.is_valid
    assert ours.symmetric_difference(theirs).area < 1e-4
    if regions:
        points = rng.uniform(0, 10, (200, 2))
        told = contains(as_one_ring(regions), points)
        assert (told == shapely.contains_xy(theirs, points)).mean() > 0.995


def test_nothing_is_left_of_a_ground_that_is_all_wall() -> None:
    assert free_regions(rectangle(0, 0, 2, 2), [rectangle(-1, -1, 3, 3)]) == []


def test_outlines_run_counter_clockwise_and_holes_clockwise() -> None:
    [(outline, (hole,))] = free_regions(rectangle(0, 0, 9, 9), [rectangle(2, 2, 4, 5)])
    assert area(outline) == 81 and area(hole) == -6
