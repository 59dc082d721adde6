"""The surface room: captured sequences, their distances and graph, and new motion made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from marey import samples
from marey._work import Progress
from marey.statistics.graphs.graph import DistanceMatrix
from marey.studio.exports import made
from marey.studio.room import Export, Room, Samples, Task, part
from marey.studio.surface.scene import SurfaceScene
from marey.studio.surface.state import State
from marey.studio.surface.tasks import with_figures
from marey.studio.surface.tools import FigureTool, InBetweenTool, PathTool, SequenceTool
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation

if TYPE_CHECKING:
    from viser import GuiButtonHandle


class SurfaceRoom(Room[State]):
    """Play captured surfaces, compare their poses, walk along drawn paths, interpolate poses."""

    title = "Surface"
    accepts = (MeshSequence, Library, DistanceMatrix, SurfaceGraph, Animation)
    _shown_at: tuple[object, ...] = ()
    scene = part(SurfaceScene)
    sequence = part(SequenceTool)
    walk = part(PathTool)
    figures = part(FigureTool)
    between = part(InBetweenTool)

    def samples(self) -> Samples:
        return {"locomotion": samples.mesh_library, "performance": samples.mesh_sequence}

    def open(self, data: object, name: str) -> None:
        library = self.state.library if self.history is not None else None
        state = with_figures(State.of(data, name, library))
        if state.played is not None:
            self.scene.figure.build_meshes(state.played)
        self._shown_at = ()
        self.begin(state)

    def clock(self, state: State) -> tuple[int, float, int]:
        return (*state.clock, 0)

    def exports(self, state: State) -> Sequence[Export]:
        return exports(state)

    def perform(self, result: State | Task[State] | None, pressed: GuiButtonHandle | None = None) -> bool:
        if result is not None:
            self.walk.stop_drawing()
        return super().perform(result, pressed)

    def restore(self, state: State) -> None:
        super().restore(state)
        shown_at = (state.played, state.shown, state.at, state.pair)
        if self.active and shown_at != self._shown_at:
            self._shown_at = shown_at
            self.workspace.timeline.seek(state.at)

    def go_to(self, frame: int, pair: tuple[int, int] | None) -> None:
        """Show a captured frame, numbered in the library, and the pair of frames to compare."""
        self.workspace.timeline.play(False)
        state = self.state
        if state.library is None:
            self.change(replace(state, at=frame, pair=pair))
        else:
            sequence, frame = state.library.locate(frame)
            self.change(replace(state, shown="captured", sequence=sequence, at=frame, pair=pair))
        self.workspace.timeline.seek(frame)

    def look(self, what: str = "All") -> None:
        """Turn the camera to the body with its figures, or to one of these."""
        self.scene.look(self.state, what)


def exports(state: State) -> list[Export]:
    """What is played as meshes, clip, image and page; then origins, matrix and graph where there are any."""
    names = {"animation": "new-animation", "between": "between"}
    name = names.get(state.shown) or (state.played.name if state.played is not None else "") or "surface"
    found = []

    def meshes(_: Progress) -> MeshSequence:
        if state.played is not None:
            return state.played
        assert state.between is not None and state.library is not None
        return state.between.sequence(state.library.sequences[0])

    def shown(progress: Progress) -> MeshSequence | Animation:
        new = state.animation if state.shown == "animation" else None
        return meshes(progress) if new is None else new

    def origins(path: Path, _: Progress) -> None:
        from marey.io.constraints_csv import write_provenance

        assert state.animation is not None and state.library is not None
        write_provenance(state.animation, state.library, path)

    if state.played is not None or state.shown == "between":
        found = [
            made("animation", f"{name}.glb", meshes),
            made("clip", f"{name}.mp4", shown),
            made("image", f"{name}.png", shown),
            made("page", f"{name}.html", shown),
            made("meshes", f"{name}.npz", meshes),
        ]
    if state.shown == "animation" and state.animation is not None and state.animation.report is not None:
        found.append(Export("origins (CSV)", f"{name}-origins.csv", origins))
    if state.distances is not None:
        found += [
            made("matrix", f"distances{ending}", lambda _: state.distances) for ending in (".npz", ".png")
        ]
    if state.repertoire is not None:
        found += [made("graph", f"graph{ending}", lambda _: state.repertoire) for ending in (".mry", ".png")]
    return found
