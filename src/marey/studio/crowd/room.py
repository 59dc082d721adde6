"""The crowd room: a video and its flow, people who walk in it, obstacles, maps, frequencies, scenes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marey.crowd.fields import FieldSeries, Footage
from marey.crowd.scenes import Scene
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.studio.crowd import tools
from marey.studio.crowd.bodies import Bodies
from marey.studio.crowd.exports import crowd_exports
from marey.studio.crowd.ground import GroundLayer, board_corners
from marey.studio.crowd.obstacles import Walls
from marey.studio.crowd.people import People
from marey.studio.crowd.samples import crowd_samples
from marey.studio.crowd.state import State
from marey.studio.room import Export, Room, Samples, part


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
