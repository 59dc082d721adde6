"""Claims about density from what is seen: coverage, calibration by shadows, windows, danger, scores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import marey
from marey.crowd.cameras import Camera
from marey.crowd.density import DangerSettings, DensitySettings, density
from marey.crowd.density.danger import Watch
from marey.crowd.density.estimate import uncovered
from marey.crowd.density.transport import FlowData, Ground, Transport
from marey.crowd.density.view import CoverageObservation, GroundView
from marey.crowd.fields import FieldSeries
from marey.crowd.polygons import edges, rectangle
from marey.crowd.scenes import Goal, Scene
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from tests.statistics.assimilation.operators import dot_product_error, taylor_orders

Array = NDArray[np.float64]

HALL = Scene((16, 10), goals={"east": Goal(rectangle(15, 0, 16, 10))})
SIDE = Camera.looking((8, -10, 7), (8, 5, 0), size=(160, 120), field_of_view=1.0)


def silhouette(camera: Camera, place: Array, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Pixels in which an upright ellipsoid, 1.75 m high and 0.45 m wide, is seen: by rays."""
    columns, rows = np.meshgrid(np.arange(shape[1]), np.arange(shape[0]))
    rays = np.stack([columns, rows, np.ones(shape)], axis=-1) @ np.linalg.inv(camera.intrinsics).T
    rays = rays @ camera.rotation
    scale = 1 / np.array([0.225, 0.225, 0.875])
    start, along = (camera.position - [*place, 0.875]) * scale, rays * scale
    a, b, c = (along**2).sum(-1), along @ start, start @ start - 1
    return np.asarray((b**2 > a * c) & (b < 0))


def walkers(people: int, frames: int, rng: np.random.Generator) -> Tracks:
    start = rng.uniform([0.5, 0.5], [11, 9.5], (people, 2))
    steps = np.arange(frames)[:, None, None] / 10 * np.array([1.1, 0.0])
    return Tracks(start + steps, 10)


def seen_from_the_side(tracks: Tracks) -> FieldSeries:
    """Exact presence and, where somebody is seen, exact motion."""
    shape = (120, 160)
    plane = SIDE.homography_at(0.9)
    shown = []
    for places in tracks.positions[:-1]:
        image = np.zeros(shape, dtype=bool)
        for place in places:
            image |= silhouette(SIDE, place, shape)
        shown.append(image)
    foreground = (255 * np.stack(shown)).astype(np.uint8)
    pixels = np.stack(np.meshgrid(np.arange(160.0), np.arange(120.0)), axis=-1)
    at = np.concatenate([pixels, np.ones((*shape, 1))], axis=-1) @ plane.T
    later = at[..., :2] / at[..., 2:] + [0.11, 0.0]
    image = np.concatenate([later, np.ones((*shape, 1))], axis=-1) @ np.linalg.inv(plane).T
    moved = image[..., :2] / image[..., 2:] - pixels
    velocities = np.broadcast_to(moved, (len(shown), *shape, 2)).astype(np.float32)
    return FieldSeries(velocities, 10, homography=plane, foreground=foreground, scale="crowd")


def view(scene: Scene = HALL, spacing: float = 0.5) -> GroundView:
    ground = Ground(scene.walkable(spacing), spacing)
    return GroundView(ground, (120, 160), SIDE.homography_at(0.9), SIDE, edges(scene.obstacles), grow=0)


def test_silhouettes_are_those_of_rays_that_meet_a_body() -> None:
    seen = view()
    cell = int(np.argmin(((seen.ground.centres - [6.25, 4.25]) ** 2).sum(axis=1)))
    drawn = (seen.silhouettes[:, [cell]].toarray().ravel() / 0.5**2).reshape(120, 160)
    true = silhouette(SIDE, seen.ground.centres[cell], (120, 160))
    assert np.minimum(drawn, true).sum() / np.maximum(drawn, true).sum() > 0.75


def test_derivatives_of_coverage_are_exact() -> None:
    seen = view(spacing=1.0)
    transport = Transport(
        seen.ground,
        np.zeros((2, len(seen.ground.faces))),
        FlowData.nothing(2, seen.ground.cells),
        frame_time=0.2,
    )
    rng = np.random.default_rng(1)
    covered = rng.random((3, seen.pooled[0] * seen.pooled[1]))
    covered[rng.random(covered.shape) < 0.2] = np.nan
    observed = CoverageObservation(transport, seen, covered, 0.3)
    state = transport.state(rng.uniform(-0.2, 3.5, transport.shape))
    direction = 0.1 * rng.normal(size=len(state))
    assert (
        dot_product_error(
            lambda d: observed.tangent(1, state, d), lambda c: observed.adjoint(1, state, c), len(state), rng
        )
        < 1e-10
    )
    orders = taylor_orders(
        lambda x: observed.residual(1, x),
        lambda d: observed.tangent(1, state, d),
        state,
        direction,
        np.logspace(-2, -5, 4),
    )
    assert np.abs(orders - 2).max() < 0.1
    assert observed.residual(3, state).size == 0


def test_one_image_shows_how_many_there_are_and_where() -> None:
    tracks = walkers(14, 2, np.random.default_rng(3))
    seen = view()
    found = uncovered(seen, seen.presence(seen_from_the_side(tracks).foreground[0]))  # type: ignore[index]
    assert abs(found.sum() * 0.25 - 14) < 4
    away = np.linalg.norm(seen.ground.centres[:, None] - tracks.positions[0], axis=-1).min(axis=1)
    near = away < 1.0
    assert found[near].mean() > 3 * found[~near].mean()


def test_walls_hide_what_is_behind_them() -> None:
    seen = view(Scene((16, 10), (rectangle(0, 4, 8, 4.5),)))
    count = np.asarray(seen.silhouettes.sum(axis=0)).ravel()
    x, y = seen.ground.centres.T
    behind, open_ground = (x < 7) & (y > 4.5) & (y < 5.5), (x > 9) & (y > 4.5) & (y < 5.5)
    assert count[behind].mean() < 0.2 * count[open_ground].mean()
    assert not seen.inside[behind].any() and seen.inside[open_ground].all()


def test_shadows_are_found_in_the_presence_of_single_people() -> None:
    true = np.array([0.7, 0.7])

    def shown() -> Iterator[NDArray[np.uint8]]:
        for place in np.random.default_rng(2).uniform([2, 2], [13, 8], (12, 2)):
            ellipse = silhouette(SIDE, place, (120, 160))
            for height in np.linspace(0.1, 1.7, 33):
                columns, rows = (SIDE.project([*(place + height * true), 0.0]) + 0.5).astype(int)
                ellipse[rows - 1 : rows + 1, columns - 2 : columns + 2] = True
            yield (255 * ellipse).astype(np.uint8)

    found = view().calibrated(shown())
    assert np.linalg.norm(np.array(found.shadow) - true) < 0.45
    assert view().calibrated(iter([])).shadow == (0.0, 0.0)


@pytest.fixture(scope="module")
def estimated() -> tuple[Tracks, FieldSeries, marey.crowd.density.DensityResult]:  # type: ignore[name-defined]
    tracks = walkers(40, 34, np.random.default_rng(4))
    fields = seen_from_the_side(tracks)
    settings = DensitySettings(window=2.0, overlap=0.6)
    return tracks, fields, density(fields, HALL, camera=SIDE, truth=tracks, settings=settings)


def test_density_follows_people_seen_from_the_side(estimated) -> None:  # type: ignore[no-untyped-def]
    _, _, found = estimated
    scores = found.report.scores
    assert found.fields.maps["density"].shape == (33, 20, 32)
    assert scores.correlation > 0.67 and scores.count_error < 12 and scores.rmse < 0.36
    # Independently: those in view and their places, in rows of an image.
    tracks, middle = estimated[0], found.fields.maps["density"][16]
    x = (np.arange(32) + 0.5) / 2
    assert abs((middle.sum(axis=0) @ x) / middle.sum() - tracks.positions[16, :, 0].mean()) < 0.6


def test_truth_enters_scores_alone_and_windows_agree(estimated) -> None:  # type: ignore[no-untyped-def]
    _, fields, found = estimated
    settings = DensitySettings(window=2.0, overlap=0.6)
    again = density(fields, HALL, camera=SIDE, settings=settings)
    assert again.report.scores is None
    assert np.array_equal(again.fields.maps["density"], found.fields.maps["density"])
    assert np.array_equal(again.fields.velocities, found.fields.velocities)
    whole = density(fields, HALL, camera=SIDE, settings=DensitySettings(window=4.0)).fields.maps["density"]
    assert np.corrcoef(whole.ravel(), found.fields.maps["density"].ravel())[0, 1] > 0.9


def test_spread_is_larger_where_nothing_is_seen() -> None:
    tracks = walkers(20, 8, np.random.default_rng(6))
    fields = seen_from_the_side(tracks)
    half = fields.foreground.copy()  # type: ignore[union-attr]
    half[:, :, 80:] = 128
    hidden = FieldSeries(fields.velocities, 10, homography=fields.homography, foreground=half, scale="crowd")
    found = density(hidden, HALL, camera=SIDE, spread=10, spacing=1.0).fields.maps["spread"][3]
    assert found[:, 10:].mean() > 1.3 * found[:, :6].mean() > 0


def test_a_zone_has_a_number_a_reason_and_times() -> None:
    free = np.ones((20, 30), dtype=bool)
    watch = Watch(free, 0.5, 5.0, DangerSettings(level=2.0, seconds=1.0))
    y, x = np.mgrid[:20, :30] * 0.5 + 0.25
    still = np.zeros((20, 30, 2))
    for n in range(40):
        blob = 4.0 * np.exp(-0.5 * ((x - 4 - 0.05 * n) ** 2 + (y - 5) ** 2) / 4.0) * (5 <= n < 30)
        other = 4.0 * np.exp(-0.5 * ((x - 12) ** 2 + (y - 5) ** 2) / 2.0) * (n >= 20)
        watch.see(blob + other, still)
    first, second = watch.alarms
    assert (first.zone, first.reason, first.start, first.end) == (1, "dense", 1.8, 5.8)
    assert (second.zone, second.start, second.end) == (2, 4.8, 7.8)
    assert abs(first.y - 5) < 0.1 and 3.5 < first.x < 6 and 2 < first.peak < 4 and first.area > 4
    assert abs(first.pressure) < 1e-6


def test_rates_of_compression_and_shear_and_pressure_are_those_of_the_flow() -> None:
    x = np.mgrid[:20, :30][1] * 0.5 + 0.25
    watch = Watch(np.ones((20, 30), dtype=bool), 0.5, 5.0)
    found = watch.see(np.ones((20, 30)), np.stack([-0.3 * x, 0.1 * x], axis=-1))
    inner = (slice(2, -2), slice(2, -2))
    assert np.allclose(found.compression[inner], 0.3) and np.allclose(found.shear[inner], np.hypot(0.3, 0.1))
    rng = np.random.default_rng(1)
    for _ in range(25):
        found = watch.see(2 * np.ones((20, 30)), rng.normal(0, 0.5, (20, 30, 2)))
    # Density times the variance of both components.
    assert abs(found.pressure[6:-6, 6:-6].mean() / (2 * 2 * 0.25) - 1) < 0.25
    rising = Watch(np.ones((20, 30), dtype=bool), 0.5, 5.0, DangerSettings(level=4, rising=0.5, seconds=1))
    for n in range(20):
        rising.see(np.full((20, 30), 0.2 * n), np.zeros((20, 30, 2)))
    assert rising.alarms[0].reason == "rising"


def test_what_makes_no_sense_is_refused() -> None:
    fields = FieldSeries(np.zeros((2, 12, 16, 2)), 10)
    with pytest.raises(InputError, match="no part of the scene is in the image"):
        density(fields, HALL, camera=np.array([[0.1, 0, 500], [0, -0.1, 500], [0, 0, 1.0]]))
    with pytest.raises(InputError, match="every -1"):
        density(fields, HALL, every=-1)
    with pytest.raises(InputError, match="one of continuity, disturbance"):
        density(fields, HALL, model="fluid")
