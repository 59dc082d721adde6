"""People carried by captured motion, as tracks: `marey crowd animate`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._random import Rng
from marey._report import Report, Result
from marey._work import Progress
from marey.crowd.animation.agents import BODY_RADIUS, AgentSettings, Avoid
from marey.crowd.animation.crowd import AnimatedCrowd, Entrance
from marey.crowd.animation.ground import WalkableGround
from marey.crowd.cameras import Camera, Homography, orthographic
from marey.crowd.evaluation.pedestrians import flow_deviation, overlaps
from marey.crowd.fields import FieldSeries, pixel_map
from marey.crowd.tracks import Tracks
from marey.errors import InputError, MareyWarning


@dataclass(frozen=True)
class AnimateReport(Report):
    """What became of the people.

    Attributes:
        people: Present at a time, mean.
        agents: In all; who comes in again is someone new.
        frames, frame_rate: Of the tracks.
        collisions: Overlapping bodies.
        collisions_without: The same if people did not keep apart; None unless they do.
        deviation: Of the people's velocities from the field.
    """

    people: int
    agents: int
    frames: int
    frame_rate: float
    collisions: dict[str, object]
    collisions_without: dict[str, object] | None
    deviation: float


@dataclass(frozen=True, eq=False)
class AnimateResult(Result):
    """People in a flow.

    Attributes:
        tracks: Where they are.
        report: What was measured.
    """

    tracks: Tracks
    report: AnimateReport


def animate(
    fields: FieldSeries,
    *,
    people: int | None = None,
    density: float | None = None,
    seconds: float | None = None,
    frame_rate: float = 60.0,
    avoid: Avoid = "none",
    lag: float = 0.0,
    radius: float = BODY_RADIUS,
    match_density: bool = False,
    area: ArrayLike | None = None,
    entrance: Sequence[tuple[ArrayLike, float]] = (),
    exit: Sequence[ArrayLike] = (),
    no_respawn: bool = False,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> AnimateResult:
    """Let people walk in captured motion.

    Args:
        fields: The motion; repeated if it is shorter than `seconds`.
        people: How many; 100 if neither this nor `density` is given.
        density: How many per square metre.
        seconds: How long; as long as the field if None.
        frame_rate: Of the tracks, frames per second.
        avoid: "social", people keep apart; "none", they may overlap.
        lag: Seconds by which people follow late.
        radius: Metres, of a body.
        match_density: Keep people only where the video shows people.
        area: Polygon `(corners, 2)`, metres, in which people start.
        entrance: Polygons and the people per second who come in there, instead of at the border.
        exit: Polygons; who gets into one of them is gone.
        no_respawn: People who leave are not replaced.
        rng: Seed or generator.

    >>> from marey import samples
    >>> animate(samples.field(), people=5, seconds=1, frame_rate=10).tracks.frames
    11
    """
    if people is not None and density is not None:
        raise InputError("people and `density`: give one of them")
    length = fields.duration if seconds is None else seconds
    if length > fields.duration + 1e-9:
        _note(f"the field lasts {fields.duration:.3g} s and is repeated; marey crowd extend makes it longer")
    settings = AgentSettings(
        radius=radius, lag=lag, avoid=avoid, recycle=not no_respawn, match_density=match_density
    )
    count = 100 if people is None else people
    if density is not None:
        count = max(1, round(density * WalkableGround.of(fields).area))

    def crowd(settings: AgentSettings) -> AnimatedCrowd:
        return AnimatedCrowd(
            fields,
            count,
            settings=settings,
            frame_rate=frame_rate,
            rng=rng,
            area=None if area is None else np.array(area),
            entrances=[Entrance(np.array(corners), rate) for corners, rate in entrance],
            exits=[np.array(corners) for corners in exit],
        )

    walking = crowd(settings)
    if walking.flow.ground.guessed:
        size = float(np.abs(walking.flow.ground.to_ground[0, 0]))
        _note(f"the field has no camera: taking {100 * size:.3g} cm a pixel, so that most walk at 1.34 m/s")
    tracks = walking.tracks(length, progress=progress)
    without = None
    if avoid != "none":
        apart = crowd(replace(settings, avoid="none")).tracks(length)
        without = overlaps(apart, radius=radius).as_dict()
    report = AnimateReport(
        people=round(float(tracks.present.sum(axis=1).mean())),
        agents=tracks.agents,
        frames=tracks.frames,
        frame_rate=tracks.frame_rate,
        collisions=overlaps(tracks, radius=radius).as_dict(),
        collisions_without=without,
        deviation=round(flow_deviation(tracks, fields), 4),
    )
    return AnimateResult(tracks, report)


def calibrated(
    fields: FieldSeries,
    camera: Camera | Homography | None = None,
    height: float = 0.0,
    scale: float | None = None,
) -> FieldSeries:
    """The series with a homography: its own, else that of a camera, or a scale seen from above.

    Args:
        camera: Of the video that the motion was captured from.
        height: Metres above the ground at which bodies were seen.
        scale: Metres per pixel.
    """
    if scale is not None:
        return replace(fields, homography=orthographic(scale))
    if camera is None or fields.homography is not None:
        return fields
    if not isinstance(camera, Camera):
        return replace(fields, homography=camera.homography)
    if camera.distortion != (0.0, 0.0):
        _note("the field was captured without its camera: the distortion of the lens stays in it")
    shape = (camera.size[1], camera.size[0])
    matrix = camera.homography_at(height) @ pixel_map((fields.rows, fields.columns), shape)
    return replace(fields, homography=matrix)


def _note(text: str) -> None:
    warnings.warn(text, MareyWarning, stacklevel=3)
