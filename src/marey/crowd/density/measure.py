"""Density and danger of a crowd in a video or in fields: the function behind `marey crowd density`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import AnyArray, Array, FloatArray, read_only
from marey._report import Report, Result
from marey._work import Progress
from marey.crowd.cameras import Camera, Homography
from marey.crowd.capture import plan_capture
from marey.crowd.density.danger import Alarms, Danger, DangerSettings, Watch
from marey.crowd.density.estimate import SETTINGS, DensitySettings, Estimator, Moment, steps_seen
from marey.crowd.density.score import DensityScores, Scorer
from marey.crowd.density.transport import LawSettings, scene_ground
from marey.crowd.density.view import MIDDLE, GroundView
from marey.crowd.fields import FieldSeries, Footage, check_fields, known_foreground, pixel_map
from marey.crowd.polygons import edges
from marey.crowd.scales import FlowFrame, crowd_flow
from marey.crowd.scenes import Scene
from marey.crowd.tracks import Tracks
from marey.errors import InputError

SAMPLES = 41
"""Images in which single people are looked for."""
FULL = 0.5
"""People per m² from which on the foreground of the result is full."""


@dataclass(frozen=True)
class DensityReport(Report):
    """What an estimate came to.

    Attributes:
        frames: How many.
        zones: Zones of danger at the same time, at most.
        alarms: Zones of danger in all.
        people_mean: People on the ground, mean over time; None for the model `disturbance`.
        density_max: Largest density averaged over a metre, people per m².
        pressure_max: Largest crowd pressure, 1/s².
        seconds: Of computing.
        scores: Against true positions, if they are given.
    """

    frames: int
    zones: int
    alarms: int
    people_mean: float | None
    density_max: float
    pressure_max: float
    seconds: float
    scores: DensityScores | None = None


@dataclass(frozen=True, eq=False)
class DensityResult(Result):
    """Density and danger over time.

    Attributes:
        fields: On the ground seen from above, with the maps `density`, `zone` and, if asked, `spread`.
        alarms: The log.
        report: What was measured.
        view: Pixels of the video `(column, row, 1)` to the plane of motion, `(3, 3)`.
    """

    fields: FieldSeries
    alarms: Alarms
    report: DensityReport
    view: FloatArray


@dataclass(eq=False)
class Plan:
    """An estimate that is ready to run.

    Attributes:
        frames: How many there will be.
        frame_rate: Per second.
        flow: Yields the crowd's flow and presence, frame by frame.
        view: How they show the ground.
        estimator: What runs.
        per_step: Frames of a step.
        every: Steps from one use of presence to the next.
        danger: When a zone is one.
    """

    frames: int
    frame_rate: float
    flow: Callable[[], Iterator[FlowFrame]]
    view: GroundView
    estimator: Estimator
    per_step: int
    every: int
    danger: DangerSettings

    def moments(self) -> Iterator[tuple[Moment, Danger]]:
        """The crowd and its dangers at every frame, some seconds after it is seen at most."""
        ground, shown = self.view.ground, 0
        watch = self.watch = Watch(ground.free, ground.spacing, self.frame_rate, self.danger)
        seen = steps_seen(self.flow(), self.view, self.frame_rate, self.per_step, self.every)
        for now, after in self.estimator.moments(seen):
            for part in range(min(self.per_step, self.frames - shown)):
                share = part / self.per_step
                density = (1 - share) * now.density + share * after.density
                moment = replace(now, density=density)
                yield moment, watch.see(ground.on_grid(density), ground.vectors_on_grid(now.velocity))
                shown += 1


def density(
    source: Footage | FieldSeries,
    scene: Scene,
    *,
    camera: Camera | Homography | ArrayLike | None = None,
    model: str = "continuity",
    size: int | tuple[int, int] | None = None,
    spacing: float | None = None,
    initial: ArrayLike | None = None,
    every: int = 1,
    danger: DangerSettings | None = None,
    law: LawSettings | None = None,
    fit_law: bool = False,
    spread: int = 0,
    settings: DensitySettings = SETTINGS,
    truth: Tracks | None = None,
    progress: Progress | None = None,
) -> DensityResult:
    """How dense a crowd is over time, and where that is dangerous.

    Args:
        source: A video, or fields captured from it.
        scene: Walls and goals; nobody who is in it plays a role.
        camera: Of the video; without one the image is the scene seen from above. For fields, whose
            homography says where they are, it says besides how bodies stand in the image.
        model: "continuity", or "disturbance" as published.
        size: Working grid of the capture, see :func:`marey.crowd.capture`.
        spacing: Width of a cell, metres; None = 0.5, or more for a ground of over 40,000 cells.
        initial: The density at first, `(rows, columns)` people per m², row 0 at the top; None = by what the
            first image shows.
        every: Presence counts in one step of so many; 0 = in the first alone.
        danger: When a zone is dangerous.
        law: Numbers of the law of walking.
        fit_law: Estimate them too.
        spread: Samples of the posterior spread, e.g. 30; 0 = it is not estimated.
        settings: Of the method.
        truth: Where people were, for scores alone.
        progress: Called with the frames done and their number.

    >>> import marey
    >>> from marey.crowd import scenes
    >>> scene = marey.crowd.Scene((8.0, 6.0))
    >>> people = marey.crowd.Tracks([[[2 + 0.1 * n, 3]] for n in range(16)], 10)
    >>> from marey.crowd.density import DensityGrid
    >>> found = density(DensityGrid(scene).series(people), scene, truth=people)
    >>> found.fields.maps["density"].shape, found.report.scores.correlation > 0.5
    ((16, 12, 16), True)
    """
    begun = time.perf_counter()
    plan = plan_density(
        source, scene, camera=camera, model=model, size=size, spacing=spacing, initial=initial, every=every,
        danger=danger, law=law, fit_law=fit_law, spread=spread, settings=settings,
    )  # fmt: skip
    ground = plan.view.ground
    rows, columns = ground.free.shape
    check_fields(plan.frames, rows, columns, "watch it live instead, or give a larger spacing")
    rate = plan.frame_rate
    scorer = None if truth is None else Scorer(truth, scene, plan.view, rate / plan.per_step, plan.danger)
    shape = (plan.frames, *ground.free.shape)
    velocities = np.zeros((*shape, 2), np.float32)
    maps = {name: np.zeros(shape, np.float32) for name in ("density", "zone", *["spread"] * (spread > 0))}
    people, largest, pressed, zones = 0.0, 0.0, 0.0, 0
    for number, (moment, seen) in enumerate(plan.moments()):
        # Images have y up and row 0 on top.
        shown: dict[str, AnyArray] = {"density": ground.on_grid(moment.density), "zone": seen.zones}
        if moment.spread is not None:
            shown["spread"] = ground.on_grid(moment.spread)
        for name, values in shown.items():
            maps[name][number] = np.nan_to_num(values[::-1])
        moving = np.nan_to_num(ground.vectors_on_grid(moment.velocity)[::-1]) * [1.0, -1.0]
        velocities[number] = moving / (ground.spacing * rate)
        people += float(moment.density.sum()) * ground.spacing**2 / plan.frames
        largest, pressed = max(largest, float(seen.density.max())), max(pressed, float(seen.pressure.max()))
        zones = max(zones, len(np.unique(seen.zones[seen.zones > 0])))
        if scorer is not None and number % plan.per_step == 0:
            scorer.see(moment.density, seen)
        if progress is not None:
            progress(number + 1, plan.frames)
    cover = np.rint(255 * np.minimum(maps["density"] / FULL, 1.0)).astype(np.uint8)
    fields = FieldSeries(
        read_only(velocities), rate, mask=ground.free[::-1], homography=ground.homography, name=source.name,
        foreground=known_foreground(cover), scale="crowd", maps=maps,
    )  # fmt: skip
    alarms = Alarms(tuple(plan.watch.alarms), plan.danger, plan.frames / rate, source.name)
    report = DensityReport(
        plan.frames,
        zones,
        len(alarms.alarms),
        people if model == "continuity" else None,
        largest,
        pressed,
        time.perf_counter() - begun,
        None if scorer is None else scorer.scores(),
    )
    return DensityResult(fields, alarms, report, _to_video(source, plan.view))


def plan_density(
    source: Footage | FieldSeries,
    scene: Scene,
    *,
    camera: Camera | Homography | ArrayLike | None = None,
    model: str = "continuity",
    size: int | tuple[int, int] | None = None,
    spacing: float | None = None,
    initial: ArrayLike | None = None,
    every: int = 1,
    danger: DangerSettings | None = None,
    law: LawSettings | None = None,
    fit_law: bool = False,
    spread: int = 0,
    settings: DensitySettings = SETTINGS,
) -> Plan:
    """Check and prepare an estimate, whose moments can be had one by one; arguments as of :func:`density`."""
    if every < 0 or spread < 0:
        raise InputError(f"every {every}, spread {spread}: must not be negative")
    cell = spacing or max(0.5, float(np.sqrt(scene.size[0] * scene.size[1] / 40_000)))
    ground = scene_ground(scene, cell)
    solid = camera if isinstance(camera, Camera) else None
    if isinstance(source, Footage):
        above = _whole(scene, (source.rows, source.columns)) if camera is None else camera
        capture = plan_capture(
            source, size=size, camera=above, plane_height=MIDDLE if solid else 0.0, scale="crowd"
        )
        shape, matrix, frames = (capture.rows, capture.columns), capture.grid.homography, capture.frames
        samples = capture.foregrounds()
        flow: Callable[[], Iterator[FlowFrame]] = capture.fields
    else:
        series = crowd_flow(source)
        shape, frames = (series.rows, series.columns), series.frames
        given = series.homography if camera is None or solid is not None else _matrix(camera)
        matrix = _whole(scene, shape) if given is None else np.asarray(given, dtype=np.float64)
        seen = [None] * frames if series.foreground is None else list(series.foreground)
        samples = (one for one in seen[:: max(1, frames // SAMPLES)] if one is not None)
        velocities = np.asarray(series.velocities, np.float32)
        flow = partial(zip, velocities, seen, strict=True)
    assert matrix is not None
    view = GroundView(ground, shape, matrix, solid, edges(scene.obstacles)).calibrated(samples)
    per_step = max(1, round(settings.step * source.frame_rate))
    first = None
    if initial is not None:
        import cv2

        image = cv2.resize(
            np.asarray(initial, np.float32), ground.free.shape[::-1], interpolation=cv2.INTER_AREA
        )
        first = image[::-1][ground.free].astype(np.float64)
    estimator = Estimator(
        scene, view, per_step / source.frame_rate, model=model, law=law, initial=first, fit_law=fit_law,
        spread=spread, settings=settings,
    )  # fmt: skip
    usual = DangerSettings() if danger is None else danger
    return Plan(frames, source.frame_rate, flow, view, estimator, per_step, every or 1 << 60, usual)


def _whole(scene: Scene, shape: tuple[int, int]) -> Array:
    """The scene seen from above as the whole image."""
    across, up = scene.size[0] / shape[1], scene.size[1] / shape[0]
    return np.array([[across, 0, 0.5 * across], [0, -up, scene.size[1] - 0.5 * up], [0, 0, 1.0]])


def _matrix(camera: Camera | Homography | ArrayLike) -> Array:
    given = camera.homography if isinstance(camera, Camera | Homography) else camera
    return np.asarray(given, dtype=np.float64)


def _to_video(source: Footage | FieldSeries, view: GroundView) -> FloatArray:
    whole = pixel_map((source.rows, source.columns), view.shape)
    return np.asarray(view.homography @ whole)
