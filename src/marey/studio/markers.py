"""The markers room: optical markers (C3D) played as points, with their paths and their gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from marey import samples
from marey._arrays import Array
from marey.body.markers import Markers
from marey.errors import InputError
from marey.geometry.colour import to_srgb
from marey.studio.body.exports import write_points
from marey.studio.controls import button, checkbox, choice, slider, text
from marey.studio.exports import files_of
from marey.studio.layers.group import segments
from marey.studio.room import Export, Layer, Room, Samples, Tool, part
from marey.studio.settings import THEME
from marey.studio.text import escape_markdown
from marey.views import style

if TYPE_CHECKING:
    from viser import PointCloudHandle


@dataclass(frozen=True, eq=False)
class State:
    """Markers as they are now, and which of them stands out, if any."""

    markers: Markers
    chosen: int | None = None


class PointsLayer(Layer[State]):
    """The markers of a frame; those that are not seen lie far below."""

    room: MarkersRoom
    drawn_from = ("markers", "chosen")
    points: PointCloudHandle

    def set(self, state: State) -> None:
        tones = style.linear(style.PALETTE)[np.arange(len(state.markers.names)) % len(style.PALETTE)]
        colours = np.rint(255 * to_srgb(tones)).astype(np.uint8)
        if state.chosen is not None:
            colours[state.chosen] = THEME.warm
        places = np.zeros(colours.shape, np.float32)
        path, size = self.room.path("points"), 0.012 * self.room.size
        self.points = self.room.workspace.scene.add_point_cloud(
            path, places, colours, point_size=size, point_shape="circle", precision="float32"
        )

    def frame(self, state: State, frame: int) -> None:
        self.points.points = np.nan_to_num(state.markers.positions[frame], nan=-1e3).astype(np.float32)


class DisplayTool(Tool[State]):
    """Which marker stands out, its path, and which markers are not seen."""

    room: MarkersRoom
    drawn_from = ("markers", "chosen")
    title, collapsible = "Display", False
    which = choice("Marker", ("none",), "Which marker stands out", on="choose")
    path = checkbox("Path", True, "The path of that marker", on="redraw")
    report = text()

    def choose(self) -> State:
        """Let another marker stand out."""
        names = tuple(self.which.options)
        chosen = names.index(self.which.value)
        return replace(self.state, chosen=chosen - 1 if chosen else None)

    def set(self, state: State) -> None:
        names = ("none", *state.markers.names)
        if tuple(self.which.options) != names:
            self.which.options = names
        self.which.value = names[0 if state.chosen is None else state.chosen + 1]
        self.group.clear()
        if state.chosen is not None and self.path.value:
            steps = segments(state.markers.positions[:, state.chosen])
            steps = steps[np.isfinite(steps).all(axis=(1, 2))]
            if len(steps):
                self.group.lines("path", steps, THEME.warm, 0.004 * self.room.size)

    def frame(self, state: State, frame: int) -> None:
        if self.workspace.timeline.playing:
            return
        missing = np.flatnonzero(~state.markers.present[frame])
        names = ", ".join(escape_markdown(state.markers.names[i]) for i in missing[:8])
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        self.report.content = f"Not seen here: {names}{more}" if len(missing) else "All markers are seen."


class CutTool(Tool[State]):
    """Leave out frames before and after a part, or a marker."""

    title = "Cut"
    first = slider("Skip start (s)", 0.0, 10.0, 0.1, 0.0, "Seconds to leave out at the start")
    last = slider("Skip end (s)", 0.0, 10.0, 0.1, 0.0, "Seconds to leave out at the end")

    @button("Cut", "Keep what lies between", icon="cut")
    def cut(self) -> State:
        """Keep the frames between."""
        markers = self.state.markers
        start, end = (round(float(each.value) * markers.frame_rate) for each in (self.first, self.last))
        if start + end >= markers.frames:
            raise InputError("nothing would be left: skip less")
        return replace(self.state, markers=markers[start : markers.frames - end])

    @button("Remove marker", "The one that stands out", icon="eraser", gray=True)
    def remove(self) -> State:
        """Leave out the marker that stands out."""
        state = self.state
        if state.chosen is None:
            raise InputError("choose a marker first")
        kept = [i for i in range(len(state.markers.names)) if i != state.chosen]
        if not kept:
            raise InputError("it is the only marker")
        names = tuple(state.markers.names[i] for i in kept)
        markers = replace(state.markers, names=names, positions=state.markers.positions[:, kept])
        return State(markers)


class MarkersRoom(Room[State]):
    """Optical markers: play, inspect, cut, export."""

    title = "Markers"
    accepts = (Markers,)
    size = 1.7
    points = part(PointsLayer)
    display = part(DisplayTool)
    cut = part(CutTool)

    def samples(self) -> Samples:
        return {"walking markers": sample}

    def clock(self, state: State) -> tuple[int, float, int]:
        return state.markers.frames, state.markers.frame_rate, 0

    def exports(self, state: State) -> Sequence[Export]:
        markers, stem = state.markers, self.stem

        def table(path: Path) -> None:
            write_points(markers.names, markers.positions, markers.frame_rate, path)

        csv = Export("markers (CSV)", f"{stem}.csv", lambda path, _: table(path))
        return [csv, *files_of("markers", markers, stem)]

    def open(self, data: Markers, name: str) -> None:
        seen = data.positions[data.present]
        if not len(seen):
            raise InputError(f"{name}: no marker is ever seen")
        self.size = float(np.clip(np.median(_heights(data)), 0.05, 1e3))
        self.begin(State(data))

    def look(self) -> None:
        markers = self.state.markers
        seen = markers.positions[markers.present] if markers.present.any() else np.zeros((1, 3))
        low, high = seen.min(axis=0), seen.max(axis=0)
        self.workspace.look(0.5 * (low + high), max(self.size, 0.7 * float((high - low).max())))


def sample() -> Markers:
    """Markers on the joints of the walking sample."""
    walk = samples.walk()
    return Markers(walk.skeleton.names, walk.positions(), walk.frame_rate, name="walk")


def _heights(markers: Markers) -> Array:
    """How large the set of markers is, `(frames,)`, metres; frames without any are left out."""
    some = markers.positions[markers.present.any(axis=1)][:: max(markers.frames // 100, 1)]
    return np.asarray((np.nanmax(some, axis=1) - np.nanmin(some, axis=1)).max(axis=1))
