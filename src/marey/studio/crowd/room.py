"""The crowd room: a video and its flow, people who walk in it, obstacles, maps, frequencies, scenes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from marey import samples
from marey._arrays import Bytes
from marey._work import Progress
from marey.crowd import scenes
from marey.crowd.fields import FieldSeries, Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.io._tables import write_table
from marey.studio.crowd import tools
from marey.studio.crowd.bodies import Bodies
from marey.studio.crowd.ground import GroundLayer, board_corners
from marey.studio.crowd.maps import PeopleMaps
from marey.studio.crowd.obstacles import Walls
from marey.studio.crowd.people import People
from marey.studio.crowd.state import State
from marey.studio.exports import files_of, made
from marey.studio.room import Export, Room, Samples, part

if TYPE_CHECKING:
    from marey.filming.pedestrians import RenderedPedestrians
    from marey.filming.renderer import CrowdRenderer


class CrowdRoom(Room[State]):
    """Everything one can do with a crowd."""

    title = "Crowd"
    accepts = (Footage, FieldSeries, Tracks, Scene, SimulatedCrowd)
    people = part(People)
    bodies = part(Bodies)
    ground = part(GroundLayer)
    walls = part(Walls)
    next_step = part(tools.NextStepTool)
    display = part(tools.DisplayTool)
    capture = part(tools.CaptureTool)
    walk = part(tools.WalkTool)
    obstacles = part(tools.ObstaclesTool)
    frequencies = part(tools.FrequencyTool)
    scenes = part(tools.ScenesTool)

    def samples(self) -> Samples:
        return crowd_samples()

    def clock(self, state: State) -> tuple[int, float, int]:
        return (*state.clock, 0)

    def exports(self, state: State) -> Sequence[Export]:
        return crowd_exports(state)

    def open(self, data: object, name: str) -> None:
        state = State.of(data)
        moving = "flow" if state.flow is not None else "density" if state.tracks is not None else ""
        self.display.map.value = moving or ("video" if state.footage is not None else "nothing")
        if isinstance(data, Scene):
            self.walk.people.value = max(sum(group.people for group in data.groups), 1)
            self.walk.seconds.value = float(np.clip(round(data.seconds), 1, 60))
        self.obstacles.put_away()
        self.begin(state)
        if state.note:
            self.workspace.notify(state.note)

    def activate(self, active: bool) -> None:
        super().activate(active)
        if not active:
            self.obstacles.put_away()

    def see(self, state: State) -> None:
        """Show and hide what the display says."""
        display = self.display
        self.people.visible(display.people.value and state.bodies is None, display.paths.value)
        self.bodies.visible(display.people.value)
        self.ground.see(state)

    def look(self) -> None:
        """Fill the view with the floor, the people on it and the board behind it."""
        floor, video = self.state.floor, self.state.footage
        width, depth = floor.scale * floor.size
        corners = 0.5 * np.array(
            [[-width, 0, -depth], [width, 0, -depth], [width, 0, depth], [-width, 0, depth]]
        )
        if video is not None:
            whole = np.concatenate([corners, board_corners(floor, video)])
            self.workspace.frame(whole, (0.12, 0.62, 1.1))
            return
        heads = corners + np.array([0.0, 1.8 * floor.scale, 0.0])
        # A deep floor is seen from its side.
        view_from = (0.98, 0.75, 0.12) if depth > 1.4 * width else (0.12, 0.75, 0.98)
        self.workspace.frame(np.concatenate([corners, heads]), view_from)


def crowd_exports(state: State) -> list[Export]:
    """All of a state, what it is most about first."""
    found: list[Export] = []
    tracks, flow, simulated = state.tracks, state.flow, state.simulated
    if tracks is not None:

        def bodies(progress: Progress) -> object:
            from marey.stage import walk

            return walk(tracks, progress=progress)

        shown = files_of("people", simulated or tracks, "people")
        tables = files_of("people", tracks, "people", without=(".mry",)) if simulated is not None else shown
        found += [export for export in tables if not export.name.endswith((".mp4", ".png", ".html", ".mry"))]
        found += [made("bodies", "bodies.glb", bodies), made("bodies", "bodies.html", bodies)]
        found += [export for export in shown if export.name.endswith((".mp4", ".png", ".html"))]
        found.append(Export("density (CSV)", "density.csv", lambda path, p: write_density(state, path, p)))
    if simulated is not None:
        found.append(made("simulation", "simulation.mry", lambda _: simulated))
    if flow is not None:

        def compressed(progress: Progress) -> object:
            from marey.crowd import codec

            return codec.compress(flow, progress=progress)

        found.append(made("flow", "flow.mry", compressed))
        found += files_of("flow", flow, "flow", without=(".mry", ".html"))
        found += [made(kind, f"{kind}.png", lambda _: flow, kind) for kind in ("divergence", "vorticity")]
    if state.scene is not None:
        found += files_of("scene", state.scene, "scene", without=(".mry",), still=True)
    if state.footage is not None:
        found.append(made("video", "video.png", lambda _: state.footage))
    return found


def write_density(state: State, path: Path, progress: Progress) -> None:
    """A table of the ground: mean and largest density, mean speed where people are; of up to 250 frames."""
    assert state.tracks is not None
    maps = PeopleMaps(state.tracks, state.floor, state.scene)
    frames = np.unique(np.linspace(0, state.tracks.frames - 1, 250).astype(int))
    total = most = weighted = np.zeros(maps.ground.free.shape)
    for done, frame in enumerate(frames):
        moment = maps.moment(int(frame))
        density = np.nan_to_num(moment.density)
        total, most = total + density, np.maximum(most, density)
        weighted = weighted + density * np.linalg.norm(np.nan_to_num(moment.velocity), axis=-1)
        progress(done + 1, len(frames))
    speed = weighted / np.maximum(total, 1e-9)
    free = maps.ground.free
    places = state.floor.low + (np.argwhere(free)[:, ::-1] + 0.5) * maps.ground.spacing
    cells = np.column_stack([total[free] / len(frames), most[free], speed[free]])
    rows = [
        (f"{x:.3f}", f"{y:.3f}", *(f"{value:.5g}" for value in cell))
        for (x, y), cell in zip(places, cells, strict=True)
    ]
    write_table(
        path,
        ("x_m", "y_m", "mean_density_per_m2", "largest_density_per_m2", "mean_speed_m_per_s"),
        rows,
    )


def crowd_samples() -> Samples:
    """What makes each sample, by name."""
    return {
        "street (people)": samples.crowd,
        "street (video)": lambda: samples.video(samples.crowd(seconds=6, people=36)),
        "square (video)": rendered_square,
        "vortices (flow)": samples.field,
        **{f"{name} (scene)": partial(scenes.preset, name) for name in scenes.SCENES},
    }


def rendered_square() -> Footage:
    """A simulated crowd seen from a roof; images are rendered when they are shown.

    >>> video = rendered_square()
    >>> video.rows, video.columns
    (288, 384)
    """
    from marey.crowd.simulation.simulate import simulate
    from marey.filming.pedestrians import RenderedPedestrians
    from marey.filming.renderer import CrowdRenderer, camera_of

    seconds, rate, size = 6.0, 12.5, (384, 288)
    scene = scenes.preset("crossing").with_people(60)
    crowd = simulate(scene, seconds=scene.hold + seconds, frame_rate=rate)
    walking = crowd.tracks[round(scene.hold * rate) :]

    @cache
    def rendering() -> tuple[CrowdRenderer, RenderedPedestrians]:
        return CrowdRenderer(scene, camera_of(scene, "above", size=size)), RenderedPedestrians(walking)

    def frames(start: int, stop: int, step: int) -> Iterator[Bytes]:
        renderer, people = rendering()
        for frame in range(start, stop, step):
            yield renderer.render(people, frame).image

    return Footage(walking.frames, size[1], size[0], rate, frames, name="square")
