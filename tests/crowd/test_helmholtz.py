"""Parts of a flow: they add up, are orthogonal on any mask, respect walls; events are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd.analysis import (
    Helmholtz,
    divergence,
    find_events,
    okubo_weiss,
    path_lines,
    split,
    streak_lines,
    vorticity,
    with_gains,
)
from marey.crowd.fields import FieldSeries
from marey.errors import InputError
from tests.crowd.flows import street


@settings(max_examples=40)
@given(st.integers(1, 14), st.integers(1, 14), st.floats(0.0, 0.6), st.integers(0, 999))
def test_parts_add_up_and_are_orthogonal_on_any_mask(
    rows: int, columns: int, walls: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((rows, columns)) >= walls
    mask[rng.integers(rows), rng.integers(columns)] = True
    velocities = rng.normal(size=(rows, columns, 2)) * mask[..., None]
    parts = Helmholtz(mask).split(velocities)
    np.testing.assert_allclose(parts.combined(), velocities, atol=1e-10)
    energy = (velocities**2).sum()
    for a, b in (("compression", "rotation"), ("compression", "harmonic"), ("rotation", "harmonic")):
        assert abs((getattr(parts, a) * getattr(parts, b)).sum()) <= 1e-8 * energy


def test_uniform_motion_is_harmonic() -> None:
    parts = Helmholtz(np.ones((12, 15), bool)).split(np.tile([0.7, -0.2], (12, 15, 1)))
    np.testing.assert_allclose(parts.harmonic, np.tile([0.7, -0.2], (12, 15, 1)), atol=1e-10)


def test_a_swirl_is_rotation_and_a_fountain_is_compression() -> None:
    y, x = np.mgrid[:30, :40] - np.array([14.5, 19.5]).reshape(2, 1, 1)
    fall = np.exp(-(x**2 + y**2) / 20)
    walls = Helmholtz(np.ones((30, 40), bool))
    for field, name in (
        (np.stack([-y * fall, x * fall], -1), "rotation"),
        (np.stack([x * fall, y * fall], -1), "compression"),
    ):
        part = getattr(walls.split(field), name)
        assert (part**2).sum() > 0.995 * (field**2).sum()


def test_circling_an_obstacle_is_rotation() -> None:
    y, x = np.mgrid[:41, :41] - 20.0
    far = np.hypot(x, y)
    mask = far > 5
    around = np.stack([-y, x], -1) / np.maximum(far, 1)[..., None] ** 2 * mask[..., None]
    around *= np.clip((18 - far) / 8, 0, 1)[..., None]
    parts = Helmholtz(mask).split(around)
    # The wall is a staircase of pixels, which a round stream must cross here and there.
    assert (parts.rotation**2).sum() > 0.95 * (around**2).sum()


def test_rotation_does_not_cross_walls() -> None:
    series = street(3)
    stream = split(series).stream
    # Constant on the wall's corners: no flow between them.
    assert np.ptp(stream[:, 8:13, 17:22], axis=(1, 2)).max() < 1e-12


def test_gains_change_their_part_alone() -> None:
    series = street(4)
    before, after = split(series), split(with_gains(series, rotation=2.0, compression=0.5))
    np.testing.assert_allclose(after.rotation, 2 * before.rotation, atol=1e-5)
    np.testing.assert_allclose(after.compression, 0.5 * before.compression, atol=1e-5)
    np.testing.assert_allclose(after.harmonic, before.harmonic, atol=1e-5)


def test_derivatives_of_linear_flow_are_exact_up_to_the_walls() -> None:
    y, x = np.mgrid[:9, :11].astype(float)
    mask = np.ones((9, 11), bool)
    mask[3:6, 4:7] = False
    field = np.stack([2 * x - 3 * y, 5 * x + 0.5 * y], -1)
    field[~mask] = 1e6
    np.testing.assert_allclose(divergence(field, mask)[mask], 2.5)
    np.testing.assert_allclose(vorticity(field, mask)[mask], 8.0)
    np.testing.assert_allclose(okubo_weiss(field, mask)[mask], 1.5**2 + 2.0**2 - 8.0**2)
    assert (divergence(field, mask)[~mask] == 0).all()


def swirl_at(row: int, column: int) -> FieldSeries:
    y, x = np.mgrid[:30, :40] - np.array([row, column]).reshape(2, 1, 1)
    spin = np.stack([-y, x], -1) * 0.2 * np.exp(-(x**2 + y**2) / 12)[..., None]
    return FieldSeries(np.tile(spin + np.array([0.5, 0.0]), (6, 1, 1, 1)), 25)


def test_a_turn_is_found_where_it_is() -> None:
    event = find_events(swirl_at(12, 25))[0]
    assert (event.kind, event.row, event.column, event.name) == ("clockwise", 12, 25, "clockwise 1")
    assert (event.first, event.last) == (0, 5) and 1.5 < event.radius < 5 and event.strength > 0.2


def test_path_lines_go_round_in_circles() -> None:
    y, x = np.mgrid[:41, :41] - 20.0
    omega = 2 * np.pi / 100
    series = FieldSeries(np.tile(omega * np.stack([-y, x], -1), (101, 1, 1, 1)), 25)
    way = path_lines(series, [[30.0, 20.0]], frames=100)[:, 0]
    assert np.linalg.norm(way[-1] - way[0]) < 1e-5 * 10
    np.testing.assert_allclose(np.hypot(*(way - 20).T), 10.0, atol=1e-5)


def test_in_steady_flow_streaks_are_paths_backwards() -> None:
    series = swirl_at(12, 25)
    start = [[10.0, 12.0], [24.0, 14.0]]
    np.testing.assert_allclose(streak_lines(series, start), path_lines(series, start)[::-1], atol=1e-12)


def test_lines_end_at_the_border_and_at_walls() -> None:
    mask = np.ones((5, 20), bool)
    mask[:, 10:12] = False
    series = FieldSeries(np.tile([1.0, 0.0], (30, 5, 20, 1)), 25, mask=mask)
    ways = path_lines(series, [[2.0, 2.0], [14.0, 2.0]])
    assert np.nanmax(ways[:, 0, 0]) <= 9.5 and np.isnan(ways[-1]).all() and np.nanmax(ways[:, 1, 0]) <= 19.5


def test_nonsense_is_told() -> None:
    with pytest.raises(InputError, match="no pixel"):
        Helmholtz(np.zeros((3, 3), bool))
    with pytest.raises(InputError, match="expected"):
        Helmholtz(np.ones((3, 3), bool)).split(np.zeros((4, 3, 2)))
    with pytest.raises(InputError, match="frames"):
        path_lines(street(3), [[1.0, 1.0]], first=9)
