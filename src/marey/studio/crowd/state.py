"""What the crowd room shows: a video, its flow, people, a scene, and what was painted and tuned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import Array, Integers
from marey.crowd.animation.ground import WalkableGround
from marey.crowd.cameras import orthographic
from marey.crowd.fields import FieldSeries, Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.stage.walk.walk import WalkingCrowd
from marey.studio.crowd.floor import Floor
from marey.studio.settings import LIMITS


@dataclass(frozen=True, eq=False)
class Stroke:
    """A stroke of the brush over the ground: points `(n, 2)` and radius in metres; or of the eraser."""

    points: Array
    radius: float
    erases: bool = False


@dataclass(frozen=True)
class FrequencyGains:
    """Gains of slow, medium and quick changes of a flow, and the share of its frequencies that is kept."""

    slow: float = 1.0
    medium: float = 1.0
    quick: float = 1.0
    keep: float = 1.0

    @property
    def changes_nothing(self) -> bool:
        """Whether the flow stays as it was captured."""
        return self == FrequencyGains()


@dataclass(frozen=True, eq=False)
class State:
    """Everything that is shown.

    footage: the video
    captured: the flow as captured or opened, always with a homography; guessed: whether that is ours
    flow: the same after tuning
    tracks: the people; groups `(agents,)`: who belongs together, if known
    scene: the scene; its walls are drawn
    simulated: the whole simulated crowd that `tracks` are of
    bodies: the people as whole walking bodies
    ours: whether the people were made here, from the flow or the scene
    floor: the part of the ground that is shown
    width: metres that an image without a camera is wide, if a user said
    strokes: what was painted, in this order
    """

    floor: Floor
    footage: Footage | None = None
    captured: FieldSeries | None = None
    flow: FieldSeries | None = None
    guessed: bool = False
    gains: FrequencyGains = FrequencyGains()
    tracks: Tracks | None = None
    groups: Integers | None = None
    scene: Scene | None = None
    simulated: SimulatedCrowd | None = None
    ours: bool = False
    strokes: tuple[Stroke, ...] = ()
    note: str = ""
    bodies: WalkingCrowd | None = None
    width: float | None = None

    @classmethod
    def of(cls, data: object) -> State:
        """The first state of something that was opened."""
        if isinstance(data, Footage):
            return cls(_floor_of_video(data, 16.0), footage=data)
        if isinstance(data, FieldSeries):
            return cls(_NO_FLOOR).with_flow(data)
        if isinstance(data, Scene):
            return cls(Floor(np.zeros(2), np.array(data.size)), scene=data)
        if isinstance(data, SimulatedCrowd):
            return cls(Floor(np.zeros(2), np.array(data.scene.size))).with_simulated(data)
        assert isinstance(data, Tracks)
        shown = cls(Floor.round(data))
        if data.frames > 1 and data.frame_rate < 8.0:
            notes = f"Given at {data.frame_rate:g} frames a second, shown at 12.5: in straight lines."
            return replace(shown, note=notes).with_tracks(data.resample(12.5))
        return shown.with_tracks(data)

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
        empty = State(Floor.under(place), self.footage, scene=self.scene, ours=self.ours, width=self.width)
        return replace(empty, captured=known, flow=known, guessed=place.guessed, note=note)

    @property
    def scalable(self) -> bool:
        """Whether no camera says how large things are."""
        if self.captured is None:
            return self.footage is not None
        return self.guessed or self.width is not None

    def scaled_to(self, width: float) -> State:
        """The image so many metres wide; people and strokes are gone."""
        if not self.scalable:
            raise InputError("a camera or the tracks say how wide the ground is already")
        notes = replace(self, width=float(width))
        if self.captured is not None:
            return notes.with_flow(replace(self.captured, homography=None))
        assert self.footage is not None
        return replace(notes, floor=_floor_of_video(self.footage, width))

    def with_tracks(self, tracks: Tracks, *, ours: bool = False) -> State:
        """Other people; no more of them than can be shown."""
        most = max(LIMITS.cells // tracks.agents, 1)
        note = self.note
        if tracks.frames > most:
            note = f"Long: the first {most} of {tracks.frames} frames are shown."
            tracks = tracks[:most]
        if not tracks.present.any():
            raise InputError("there is no one present in these tracks")
        return replace(self, tracks=tracks, groups=None, simulated=None, bodies=None, ours=ours, note=note)

    def with_simulated(self, crowd: SimulatedCrowd, *, ours: bool = False) -> State:
        """Simulated people and their place."""
        shown = self.with_tracks(crowd.tracks, ours=ours)
        assert shown.tracks is not None
        groups = np.asarray(crowd.group, np.int64) if shown.tracks.agents == crowd.agents else None
        return replace(shown, scene=crowd.scene, simulated=crowd, groups=groups)

    @property
    def clock(self) -> tuple[int, float]:
        """Frames and frames a second of what moves: people, else flow, else video."""
        moving = self.tracks or self.flow or self.footage
        return (1, 25.0) if moving is None else (moving.frames, moving.frame_rate)

    def frame_of(self, moving: FieldSeries | Footage, frame: int) -> int:
        """The frame of a flow or video at a frame of the clock; it begins again after its end."""
        return round(frame / self.clock[1] * moving.frame_rate) % moving.frames


def _floor_of_video(footage: Footage, width: float) -> Floor:
    return Floor(np.zeros(2), np.array([width, width * footage.rows / footage.columns]))


_NO_FLOOR = Floor(np.zeros(2), np.ones(2))
