"""A simulated crowd: where everyone was, how fast, what each wished and is like, and where it can go on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import FloatArray, IntArray, assign, checked
from marey._timed import Timed, as_slice
from marey.crowd.scene import Scene
from marey.crowd.simulation.parameters import Parameters
from marey.crowd.simulation.simulator import State
from marey.crowd.tracks import Tracks
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class SimulatedCrowd(Timed):
    """What :func:`marey.crowd.simulate` gives.

    tracks: positions over time
    velocities, wishes: `(frames, agents, 2)`, m/s and unit vectors; NaN while a person is absent
    radius, mass, response_time, desired_speed: `(agents,)`, m, kg, s, m/s
    group: `(agents,)`, number of the scene's group
    scene, parameters, seed: what it was made with
    state: of the simulator at the last frame, from which the crowd can go on
    steps, person_steps: steps of the simulation, and how many people made how many of them
    """

    tracks: Tracks
    velocities: FloatArray
    wishes: FloatArray
    radius: FloatArray
    mass: FloatArray
    response_time: FloatArray
    desired_speed: FloatArray
    group: IntArray
    scene: Scene
    parameters: Parameters
    seed: int
    state: State
    steps: int = 0
    person_steps: int = 0

    def __post_init__(self) -> None:
        shape = self.tracks.positions.shape
        people = {
            name: checked(name, getattr(self, name), shape[1:2])
            for name in ("radius", "mass", "response_time", "desired_speed")
        }
        assign(
            self,
            velocities=checked("velocities", self.velocities, shape, finite=False),
            wishes=checked("wishes", self.wishes, shape, finite=False),
            group=checked("group", self.group, shape[1:2], dtype=np.int64),
            **people,
        )

    @property
    def frames(self) -> int:
        """Number of frames."""
        return self.tracks.frames

    @property
    def frame_rate(self) -> float:
        """Frames per second."""
        return self.tracks.frame_rate

    @property
    def agents(self) -> int:
        """How many different people there were."""
        return self.tracks.agents

    @property
    def positions(self) -> FloatArray:
        """`(frames, agents, 2)` metres, NaN while absent."""
        return self.tracks.positions

    @property
    def left(self) -> int:
        """How many are gone at the end: at their goal, or off the ground."""
        return int((~self.tracks.present[-1]).sum())

    def __getitem__(self, key: int | slice) -> SimulatedCrowd:
        """Some of its frames; the crowd still goes on from its end."""
        chosen = as_slice(key, self.frames)
        tracks = self.tracks[chosen]
        assert tracks.ids is not None and self.tracks.ids is not None
        kept = np.isin(self.tracks.ids, tracks.ids)
        constants = ("radius", "mass", "response_time", "desired_speed", "group")
        return replace(
            self,
            tracks=tracks,
            velocities=self.velocities[chosen][:, kept],
            wishes=self.wishes[chosen][:, kept],
            **{name: getattr(self, name)[kept] for name in constants},
        )

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        own = {"scene": self.scene.name, "left": self.left, "steps": self.steps}
        return {**self.tracks.facts(), "kind": "simulated crowd", **own}


def check_going_on(crowd: SimulatedCrowd, scene: Scene, frame_rate: float) -> None:
    """An error unless a crowd can go on in this scene, at this rate."""
    if not crowd.scene.same_place(scene):
        raise InputError(
            f"the crowd so far is in {crowd.scene.name or 'another scene'}, with other walls, goals or "
            f"groups than {scene.name or 'this one'}: it cannot go on here"
        )
    if not np.isclose(crowd.frame_rate, frame_rate):
        raise InputError(f"the crowd so far has {crowd.frame_rate:g} frames per second, not {frame_rate:g}")
