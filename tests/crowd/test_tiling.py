"""Captured flows laid into one environment."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import marey
from marey.crowd.fields import FieldSeries
from marey.crowd.polygons import wall_normals
from marey.crowd.tiling import Patch, Tiling, leak, polygons_to_walls, tile
from marey.errors import FormatError, InputError
from marey.io import tiling_json
from marey.samples.swirl import vortex

Array = NDArray[np.float64]
ROWS, COLUMNS = 48, 90
ROW, COLUMN = np.mgrid[:ROWS, :COLUMNS].astype(np.float64)


def fields(velocities: Array, **more: object) -> FieldSeries:
    return FieldSeries(np.asarray(velocities)[None], 25, **more)  # type: ignore[arg-type]


def whirl(column: float, row: float, speed: float, *, source: bool = False) -> Array:
    """A vortex, or a source, that dies away within some twenty pixels."""
    turning = vortex(COLUMN - column, ROW - row, core=5, top_speed=speed)
    flow = np.stack([turning[..., 1], -turning[..., 0]], axis=-1) if source else turning
    near = np.exp(-((COLUMN - column) ** 2 + (ROW - row) ** 2) / (2 * 10.0**2))
    return np.asarray(flow * near[..., None])


def derivatives(flow: Array) -> tuple[Array, Array]:
    (u_row, u_column), (v_row, v_column) = np.gradient(flow[..., 0]), np.gradient(flow[..., 1])
    return np.asarray(u_column + v_row), np.asarray(v_column - u_row)


def halves(left: Array, right: Array, start: int = 35, stop: int = 55) -> tuple[Patch, Patch]:
    """Two captures that overlap between two columns."""
    return Patch(fields(left[:, :stop])), Patch(fields(right[:, start:]), column=start)


def test_away_from_overlaps_the_flow_is_that_of_its_capture() -> None:
    left, right = whirl(20, 20, 1.0) + np.array([1.0, 0.0]), whirl(70, 30, 1.0) + np.array([1.0, 0.3])
    made = tile(halves(left, right), ROWS, COLUMNS).velocities[0]
    assert np.abs(made[:, :35] - left[:, :35]).max() < 1e-3
    assert np.abs(made[:, 55:] - right[:, 55:]).max() < 1e-3


def test_where_two_captures_agree_the_seam_does_not_show() -> None:
    flow = whirl(45, 24, 1.0) + whirl(40, 10, 0.5, source=True) + np.array([0.5, 0.1])
    made = tile(halves(flow, flow), ROWS, COLUMNS).velocities[0]
    np.testing.assert_allclose(made, flow, atol=1e-6)


@pytest.mark.parametrize("source", [False, True])
def test_whirls_and_sources_at_a_seam_survive_better_than_in_a_cross_fade(source: bool) -> None:
    calm = np.zeros((ROWS, COLUMNS, 2)) + np.array([1.0, 0.0])
    ours, other = whirl(39, 28, 1.0, source=source), whirl(51, 18, -1.0, source=source)
    truth = calm + ours + other
    left, right = calm + ours, calm + other
    made = tile(halves(left, right), ROWS, COLUMNS).velocities[0]
    share = np.clip((54.5 - COLUMN) / 20, 0, 1)[..., None]
    faded = share * left + (1 - share) * right
    seam = np.s_[2:-2, 33:57]
    for mine, linear, true in zip(*map(derivatives, (made, faded, truth)), strict=True):
        error = np.sqrt(np.mean((mine - true)[seam] ** 2))
        assert error < 0.9 * np.sqrt(np.mean((linear - true)[seam] ** 2))
    kind = 0 if source else 1
    mine, linear, true = (derivatives(flow)[kind] for flow in (made, faded, truth))
    assert np.linalg.norm((mine - true)[seam]) < 0.6 * np.linalg.norm((linear - true)[seam])
    assert mine[28, 39] > 0.85 * true[28, 39] if source else abs(mine[28, 39]) > 0.85 * abs(true[28, 39])


def test_a_gap_between_captures_is_filled_smoothly() -> None:
    left, right = (
        np.zeros((2, 20, 20, 2)) + np.array([1.0, 0.0]),
        np.zeros((2, 20, 20, 2)) + np.array([1.0, 0.5]),
    )
    made = tile([Patch(FieldSeries(left, 25)), Patch(FieldSeries(right, 25), column=40)], 20, 60).velocities
    np.testing.assert_allclose(made[..., 0], 1.0, atol=1e-6)
    across = made[0, 10, :, 1]
    assert across[20:40].min() > -0.1 and across[20:40].max() < 0.6
    assert np.abs(np.diff(across)).max() < 0.05 and across[29:31].mean() == pytest.approx(0.25)


def test_nothing_goes_through_walls() -> None:
    stream = Patch(fields(np.zeros((ROWS, COLUMNS, 2)) + np.array([1.0, 0.2])))
    angle = 2 * np.pi * np.arange(48) / 48
    round_wall = np.stack([30 + 9 * np.cos(angle), 24 + 9 * np.sin(angle)], axis=1)
    square = np.array([[55.5, 15.5], [70.5, 15.5], [70.5, 30.5], [55.5, 30.5]])
    made = tile([stream], ROWS, COLUMNS, walls=[round_wall, square])
    assert made.mask is not None and not made.mask[24, 30] and not made.mask[20, 60]
    pixels, normals = wall_normals(made.mask, [round_wall, square])
    flow = made.velocities.reshape(-1, 2)[pixels]
    assert np.abs((flow * normals).sum(axis=1)).max() < 0.01 * np.linalg.norm(flow, axis=1).mean()
    assert leak(made, [round_wall, square]) < 1e-6
    # The sides of the square face along the axes, whatever we think of normals.
    assert np.abs(made.velocities[0, 15, 56:71, 1]).max() < 1e-9
    assert np.abs(made.velocities[0, 16:31, 55, 0]).max() < 1e-9
    assert np.linalg.norm(made.velocities[0, 15, 56:71], axis=-1).mean() > 0.3
    np.testing.assert_array_equal(made.velocities[0, :, 80:], stream.fields.velocities[0, :, 80:])
    assert (made.velocities[0][~made.mask] == 0).all()


def test_a_flow_that_already_follows_its_walls_is_left_alone() -> None:
    mask = np.ones((ROWS, COLUMNS), dtype=bool)
    mask[:6] = False
    flow = np.zeros((ROWS, COLUMNS, 2))
    flow[..., 0] = 1 + 0.3 * np.sin(COLUMN / 9) * np.cos(ROW / 12)
    flow[~mask] = 0
    made = tile([Patch(fields(flow, mask=mask))], ROWS, COLUMNS)
    np.testing.assert_allclose(made.velocities[0], flow, atol=1e-6)


def test_the_obstacle_of_one_capture_stands_in_the_flow_of_another_unless_it_is_open() -> None:
    mask = np.ones((20, 20), dtype=bool)
    mask[8:12, 8:12] = False
    small = FieldSeries(np.zeros((1, 20, 20, 2)) + np.array([1.0, 0.0]), 25, mask=mask)
    wide = Patch(fields(np.zeros((ROWS, COLUMNS, 2)) + np.array([1.0, 0.0])))
    stands = tile([wide, Patch(small, 30, 10)], ROWS, COLUMNS)
    assert stands.mask is not None and (~stands.mask).sum() == 16 and not stands.mask[19, 39]
    open_ = tile([wide, Patch(small, 30, 10, masked="open")], ROWS, COLUMNS)
    assert open_.mask is None
    np.testing.assert_allclose(open_.velocities, wide.fields.velocities, atol=1e-6)


@settings(deadline=None, max_examples=10)
@given(st.floats(-3, 3), st.floats(0.5, 2), st.booleans())
def test_a_turned_and_scaled_patch_carries_its_vectors_along(
    turn: float, scale: float, quarter: bool
) -> None:
    turn = np.pi / 2 if quarter else turn
    # A linear flow is sampled without error: velocities follow from the map of places alone.
    row, column = np.mgrid[:20, :26].astype(np.float64)
    own = np.stack([1 + 0.02 * column, 0.5 - 0.01 * row], axis=-1)
    patch = Patch(fields(own), 36, 36, turn=turn, scale=scale, centred=True)
    tiling = Tiling((patch,), 72, 72)
    made = tiling.part(0, 1).velocities[0]
    matrix = patch.matrix()
    r, c = np.argwhere(tiling.coverage == 1).T
    places = (np.stack([c, r], axis=1) - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T
    expected = np.stack([1 + 0.02 * places[:, 0], 0.5 - 0.01 * places[:, 1]], axis=1) @ matrix[:, :2].T
    np.testing.assert_allclose(made[r, c], expected, atol=1e-9)
    assert abs(len(r) - scale**2 * 19 * 25) < 4 * scale * 46


def test_a_heavier_capture_counts_more() -> None:
    calm, quick = np.zeros((20, 30, 2)), np.zeros((20, 30, 2)) + np.array([1.0, 0.0])
    middles = []
    for weight in (0.1, 1.0, 10.0):
        patches = [Patch(fields(calm)), Patch(fields(quick), weight=weight)]
        middles.append(tile(patches, 20, 30).velocities[0, 10, 15, 0])
    assert middles == sorted(middles) and middles[1] == pytest.approx(0.5) and middles[2] > 0.85


def test_ground_foreground_and_blocks_go_along() -> None:
    flow = marey.samples.field(16, 24, seconds=1)
    ground = np.array([[0.1, 0, -1], [0, -0.1, 2], [0, 0, 1.0]])
    seen = np.full((25, 16, 24), 200, dtype=np.uint8)
    first = replace(flow, homography=ground, foreground=seen)
    tiling = Tiling((Patch(first, 4, 2), Patch(flow, 20, 0, start=5)), 20, 48)
    assert tiling.frames == 20
    whole = tile(tiling.patches, 20, 48)
    parts = [part.velocities for part in tiling.blocks(7)]
    np.testing.assert_allclose(np.concatenate(parts), whole.velocities, atol=1e-5)
    assert whole.velocities.dtype == np.float32
    np.testing.assert_array_equal(whole.velocities[:, 2:14, 4:18], flow.velocities[:20, :12, :14])
    assert (
        whole.foreground is not None and whole.foreground[0, 5, 6] == 200 and whole.foreground[0, 19, 0] == 0
    )
    assert whole.foreground[0, 5, 47 - 5] == 255
    assert whole.homography is not None
    np.testing.assert_allclose(whole.homography @ [4, 2, 1], ground @ [0, 0, 1])


def test_an_environment_without_anything_to_solve_is_a_copy() -> None:
    flow = marey.samples.field(8, 10, seconds=1)
    np.testing.assert_array_equal(tile([Patch(flow)], 8, 10).velocities, flow.velocities)


def test_polygons_and_normals_of_thin_and_round_walls() -> None:
    assert polygons_to_walls([], 3, 4).sum() == 0
    lone = np.ones((9, 9), dtype=bool)
    lone[4, 4] = False
    pixels, normals = wall_normals(lone)
    assert pixels.tolist() == [31, 39, 41, 49]
    np.testing.assert_allclose(normals, [[0, -1], [-1, 0], [1, 0], [0, 1]], atol=1e-9)
    slit = np.zeros((9, 9), dtype=bool)
    slit[:, 4] = True
    pixels, normals = wall_normals(slit)
    assert len(pixels) == 9 and np.allclose(np.linalg.norm(normals, axis=1), 1)


def test_what_cannot_be_laid_out_is_refused_in_words() -> None:
    flow = marey.samples.field(8, 10, seconds=1)
    for patches, options, message in (
        ([], {}, "no patch"),
        ([Patch(flow, 100, 100)], {}, "patch 1: no pixel"),
        ([Patch(flow), Patch(flow.resample(5))], {}, "25 and 5 frames per second"),
        ([Patch(flow)], {"walls": [[[0, 0], [1, 1]]]}, "at least three corners"),
        ([Patch(flow)], {"walls": [[[-9, -9], [99, -9], [99, 99], [-9, 99]]]}, "walls everywhere"),
        ([Patch(flow)], {"reach": 0.0}, "reach"),
    ):
        with pytest.raises(InputError, match=message):
            tile(patches, 20, 30, **options)
    for size in ((0, 5), (10_000, 10_000)):
        with pytest.raises(InputError, match="pixels"):
            tile([Patch(flow)], *size)
    with pytest.raises(InputError, match="can be solved for"):
        tile([Patch(flow)], 500, 500)
    for wrong in ({"scale": 0.0}, {"weight": -1.0}, {"masked": "shut"}, {"start": 25}, {"column": np.nan}):
        with pytest.raises(InputError):
            Patch(flow, **wrong)


def test_a_file_says_what_lies_where(tmp_path: Path) -> None:
    flow = marey.samples.field(16, 24, seconds=1)
    marey.save(flow, tmp_path / "a.zarr")
    marey.save(flow.resample(12.5), tmp_path / "slow.zarr")
    told = {
        "rows": 30,
        "columns": 60,
        "reach": 4,
        "frames": 10,
        "patches": [
            {"field": "a.zarr", "at": [2, 3], "start": 5},
            {
                "field": "slow.zarr",
                "centre": [40, 15],
                "turn": 90,
                "scale": 1.2,
                "weight": 2,
                "masked": "open",
            },
        ],
        "walls": [[[20, 22], [30, 22], [30, 28]]],
    }
    (tmp_path / "place.json").write_text(json.dumps(told))
    tiling = tiling_json.read(tmp_path / "place.json")
    assert tiling.frames == 10 and tiling.reach == 4 and len(tiling.walls) == 1
    assert tiling.patches[1].fields.frame_rate == 25 and tiling.patches[1].turn == pytest.approx(np.pi / 2)
    made = tiling.part(0, 10)
    np.testing.assert_allclose(made.velocities[:, 4:10, 3:9], flow.velocities[5:15, 1:7, 1:7], atol=1e-6)
    assert tiling_json.captures(tmp_path / "place.json") == [tmp_path / "a.zarr", tmp_path / "slow.zarr"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": 0}, "rows: expected a whole number >= 1, found 0"),
        ({"rows": True}, "rows: expected a whole number, found true"),
        ({"columns": 1e99}, "columns: expected a whole number"),
        ({"patches": []}, "patches: expected a list of length >= 1"),
        ({"patches": [3]}, r"patches\[0\]: expected an object"),
        ({"patches": [{"at": [0, 0]}]}, r"patches\[0\]: field is missing"),
        ({"patches": [{"field": "a.zarr", "size": 3}]}, r"patches\[0\]: unknown key 'size'"),
        ({"patches": [{"field": "a.zarr", "at": [0, 0], "centre": [1, 1]}]}, "not both"),
        ({"patches": [{"field": "a.zarr", "at": [0]}]}, r"patches\[0\].at: expected a list of length 2"),
        (
            {"patches": [{"field": "a.zarr", "turn": "left"}]},
            r'patches\[0\].turn: expected a number, found "left"',
        ),
        ({"patches": [{"field": "a.zarr", "scale": 0}]}, r"patches\[0\]: .*scale"),
        ({"patches": [{"field": "a.zarr", "masked": []}]}, r"patches\[0\].masked: expected text"),
        ({"patches": [{"field": "gone.zarr"}]}, r"gone.zarr"),
        ({"patches": [{"field": "walk.bvh"}]}, r"patches\[0\]: .* is a Motion"),
        ({"frames": 99}, r"patches\[0\]: has 5 frames, 99 are wanted; make it longer"),
        ({"walls": [[[0, 0], [1]]]}, r"walls\[0\]\[1\]: expected a list of length 2"),
        ({"walls": 3}, "walls: expected a list, found 3"),
        ({"colour": 3}, "unknown key 'colour'; known are rows"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_says_where(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    marey.save(marey.samples.field(6, 8, seconds=0.2), tmp_path / "a.zarr")
    marey.save(marey.samples.walk(0.1), tmp_path / "walk.bvh")
    told = {"rows": 6, "columns": 8, "patches": [{"field": "a.zarr"}], **change}
    (tmp_path / "place.json").write_text(json.dumps(told))
    with pytest.raises(FormatError, match=message) as raised:
        tiling_json.read(tmp_path / "place.json")
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    for text in ("{", "[" * 100_000, "\x00", "[1, 2]"):
        (tmp_path / "place.json").write_text(text)
        with pytest.raises(FormatError):
            tiling_json.read(tmp_path / "place.json")
