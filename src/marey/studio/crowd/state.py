"""What the crowd panel shows: a film, its flow, people, a place, and what was painted and tuned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey.crowd.animation.ground import WalkableGround
from marey.crowd.cameras import orthographic
from marey.crowd.fields import FieldSeries
from marey.crowd.footage import Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.stage.walk.walk import WalkingCrowd
from marey.studio.crowd.floor import Floor

Array = NDArray[np.float64]

# People times frames that are shown: beyond, the first frames.
MOST_CELLS = 20_000_000
# Frames a second below which people are shown at more of them.
SLOWEST, SMOOTH = 8.0, 12.5
# Metres that a film without a flow is wide.
FILM_WIDTH = 16.0


@dataclass(frozen=True, eq=False)
class Stroke:
    """A stroke of the brush over the ground: points `(n, 2)` and radius in metres; or of the eraser."""

    points: Array
    radius: float
    erases: bool = False


@dataclass(frozen=True)
class Tuning:
    """Gains of slow, medium and quick changes of a flow, and the share of its frequencies that is kept."""

    slow: float = 1.0
    medium: float = 1.0
    quick: float = 1.0
    keep: float = 1.0

    @property
    def changes_nothing(self) -> bool:
        """Whether the flow stays as it was captured."""
        return self == Tuning()


@dataclass(frozen=True, eq=False)
class State:
    """Everything that is shown.

    footage: the film
    captured: the flow as captured or opened, always with a homography; guessed tells whether that is ours
    flow: the same after tuning
    tracks: the people; groups `(agents,)` tells who belongs together, if it is known
    scene: the place; its walls are drawn
    simulated: the whole simulated crowd that `tracks` are of
    bodies: the people as whole walking bodies
    ours: whether the people were made here, from the flow or the scene
    floor: the part of the ground that is shown
    width: metres that a picture without a camera is wide, if somebody told
    strokes: what was painted, in this order
    """

    floor: Floor
    footage: Footage | None = None
    captured: FieldSeries | None = None
    flow: FieldSeries | None = None
    guessed: bool = False
    tuning: Tuning = Tuning()
    tracks: Tracks | None = None
    groups: NDArray[np.int64] | None = None
    scene: Scene | None = None
    simulated: SimulatedCrowd | None = None
    ours: bool = False
    strokes: tuple[Stroke, ...] = ()
    note: str = ""
    bodies: WalkingCrowd | None = None
    width: float | None = None

    @classmethod
    def of(cls, thing: Any) -> State:
        """The first state of something that was opened."""
        if isinstance(thing, Footage):
            return cls(_floor_of_film(thing, FILM_WIDTH), footage=thing)
        if isinstance(thing, FieldSeries):
            return cls(_NO_FLOOR).with_flow(thing)
        if isinstance(thing, Scene):
            return cls(Floor(np.zeros(2), np.array(thing.size)), scene=thing)
        if isinstance(thing, SimulatedCrowd):
            return cls(Floor(np.zeros(2), np.array(thing.scene.size))).with_simulated(thing)
        shown = cls(Floor.round(thing))
        if thing.frames > 1 and thing.frame_rate < SLOWEST:
            told = f"Given at {thing.frame_rate:g} frames a second, shown at {SMOOTH:g}: in straight lines."
            return replace(shown, note=told).with_tracks(thing.resample(SMOOTH))
        return shown.with_tracks(thing)

    def with_flow(self, fields: FieldSeries) -> State:
        """A captured flow, and the ground it sees."""
        if fields.homography is None and self.width is not None:
            fields = replace(fields, homography=orthographic(self.width / fields.columns))
        place = WalkableGround.of(fields)
        known = replace(fields, homography=place.to_ground)
        note = ""
        if place.guessed:
            size = 100 * float(np.abs(place.to_ground[0, 0]))
            note = f"No camera is known: a pixel is taken as {size:.3g} cm, so that most walk at 1.34 m/s."
        return replace(
            self,
            floor=Floor.under(place),
            captured=known,
            flow=known,
            guessed=place.guessed,
            tuning=Tuning(),
            tracks=None,
            groups=None,
            simulated=None,
            bodies=None,
            strokes=(),
            note=note,
        )

    @property
    def scalable(self) -> bool:
        """Whether no camera tells how large things are."""
        if self.captured is None:
            return self.footage is not None
        return self.guessed or self.width is not None

    def scaled_to(self, width: float) -> State:
        """The picture so many metres wide; people and strokes are gone."""
        if not self.scalable:
            raise InputError("a camera or the tracks tell how wide the ground is already")
        told = replace(self, width=float(width))
        if self.captured is not None:
            return told.with_flow(replace(self.captured, homography=None))
        assert self.footage is not None
        return replace(told, floor=_floor_of_film(self.footage, width))

    def with_tracks(self, tracks: Tracks, *, ours: bool = False) -> State:
        """Other people; no more of them than can be shown."""
        most = max(MOST_CELLS // tracks.agents, 1)
        note = self.note
        if tracks.frames > most:
            note = f"Long: the first {most} of {tracks.frames} frames are shown."
            tracks = tracks[:most]
        if not tracks.present.any():
            raise InputError("nobody is present in these tracks")
        return replace(self, tracks=tracks, groups=None, simulated=None, bodies=None, ours=ours, note=note)

    def with_simulated(self, crowd: SimulatedCrowd, *, ours: bool = False) -> State:
        """Simulated people and their place."""
        shown = self.with_tracks(crowd.tracks, ours=ours)
        assert shown.tracks is not None
        groups = np.asarray(crowd.group, np.int64) if shown.tracks.agents == crowd.agents else None
        return replace(shown, scene=crowd.scene, simulated=crowd, groups=groups)

    @property
    def clock(self) -> tuple[int, float]:
        """Frames and frames a second of what moves: people, else flow, else film."""
        moving = self.tracks or self.flow or self.footage
        return (1, 25.0) if moving is None else (moving.frames, moving.frame_rate)

    def frame_of(self, moving: FieldSeries | Footage, frame: int) -> int:
        """The frame of a flow or film at a frame of the clock; it begins again after its end."""
        return round(frame / self.clock[1] * moving.frame_rate) % moving.frames


def _floor_of_film(footage: Footage, width: float) -> Floor:
    return Floor(np.zeros(2), np.array([width, width * footage.rows / footage.columns]))


_NO_FLOOR = Floor(np.zeros(2), np.ones(2))
