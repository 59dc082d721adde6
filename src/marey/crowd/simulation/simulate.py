"""`simulate`: a scene becomes a crowd that walks through it (Courty 2013, section 6.3).

Pedestrians start at random, a body's width apart, rest while the scene holds them, then walk to their goals;
they leave at a goal or at the edge of the ground. The same seed gives the same crowd; a :class:`Simulation`
can be stopped after any frame and resumed without a difference. Cost: that of the engine, about half a
microsecond a pedestrian and step of 20 ms, and under 0.1 s for the routes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from marey._arrays import Array, FloatArray, IntArray, Timed, as_slice, assign, checked, checked_rate, derived
from marey._random import Rng, seed_number
from marey._work import Progress
from marey.crowd import scenes
from marey.crowd.polygons import as_one_ring, edges, on_ground
from marey.crowd.scenes import Scene
from marey.crowd.simulation.engine import Entrance, Frame, Simulator, State
from marey.crowd.simulation.pedestrians import Parameters, Pedestrians, joined, random_pedestrians
from marey.crowd.simulation.routes import desired_directions
from marey.crowd.tracks import Tracks, check_size
from marey.errors import InputError

TRAITS = ("radius", "mass", "response_time", "desired_speed")
MAX_SECONDS = 24 * 3600.0


@dataclass(frozen=True, eq=False)
class SimulatedCrowd(Timed):
    """What :func:`marey.crowd.simulate` returns.

    Attributes:
        tracks: positions over time.
        velocities, desired_directions: `(frames, agents, 2)`, m/s and unit vectors; NaN while absent.
        radius, mass, response_time, desired_speed: `(agents,)`, m, kg, s, m/s.
        group: `(agents,)`, number of the scene's group.
        scene, parameters, seed: of the simulation.
        state: at the last frame, from which it can be resumed.
        steps, person_steps: number of steps, and of steps times pedestrians.
    """

    tracks: Tracks
    velocities: FloatArray
    desired_directions: FloatArray
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
        moving = ("velocities", "desired_directions")
        assign(
            self,
            group=checked("group", self.group, shape[1:2], dtype=np.int64),
            **{name: checked(name, getattr(self, name), shape, finite=False) for name in moving},
            **{name: checked(name, getattr(self, name), shape[1:2]) for name in TRAITS},
        )

    frames = derived(int, "tracks.frames", "Number of frames.")

    frame_rate = derived(float, "tracks.frame_rate", "Frames per second.")

    agents = derived(int, "tracks.agents", "Number of different pedestrians.")

    @property
    def positions(self) -> FloatArray:
        """`(frames, agents, 2)` metres, NaN while absent."""
        return self.tracks.positions

    @property
    def departed(self) -> int:
        """Number of pedestrians who left before the end, at their goal or off the ground."""
        return int((~self.tracks.present[-1]).sum())

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        own = {"scene": self.scene.name, "left": self.departed, "steps": self.steps}
        return {**self.tracks.facts(), "kind": "simulated crowd", **own}

    def __getitem__(self, key: int | slice) -> SimulatedCrowd:
        """Some of its frames; resuming still starts from its end."""
        chosen = as_slice(key, self.frames)
        tracks = self.tracks[chosen]
        assert tracks.ids is not None and self.tracks.ids is not None
        kept = np.isin(self.tracks.ids, tracks.ids)
        return replace(
            self,
            tracks=tracks,
            velocities=self.velocities[chosen][:, kept],
            desired_directions=self.desired_directions[chosen][:, kept],
            **{name: getattr(self, name)[kept] for name in (*TRAITS, "group")},
        )


def simulate(
    scene: Scene | str,
    *,
    seconds: float | None = None,
    frame_rate: float = 25.0,
    rng: Rng = 0,
    parameters: Parameters | str = "dataset",
    resume: SimulatedCrowd | None = None,
    progress: Progress | None = None,
) -> SimulatedCrowd:
    """Simulate a crowd in a scene.

    Args:
        scene: or the name of one of the dataset's (:data:`marey.crowd.scenes.SCENES`).
        seconds: length; None: the scene's own.
        frame_rate: frames a second of the result.
        rng: seed, or generator that a seed is drawn from.
        parameters: constants of the forces, or their name: "dataset" (pressed bodies, as published),
            "everyday" (speeds and flows of real pedestrians who walk) or "helbing" (hard bodies).
        resume: a crowd of the same scene, which goes on until `seconds`.
        progress: called with frames done and in all.

    >>> crowd = simulate(scenes.preset("crossing").with_people(12), seconds=4, frame_rate=10)
    >>> crowd.tracks.positions.shape, crowd.group.tolist()[:4]
    ((41, 12, 2), [0, 0, 0, 1])
    """
    chosen = scenes.preset(scene) if isinstance(scene, str) else scene
    simulation = Simulation(chosen, frame_rate=frame_rate, rng=rng, parameters=parameters, resume=resume)
    for done, total in simulation.until(chosen.seconds if seconds is None else seconds):
        if progress is not None:
            progress(done, total)
    return simulation.crowd()


class Simulation:
    """A simulation in progress, frame by frame.

    >>> simulation = Simulation(scenes.preset("escape").with_people(5), frame_rate=10)
    >>> for done, total in simulation.until(1.0):
    ...     pass
    >>> simulation.crowd().frames
    11
    """

    def __init__(
        self,
        scene: Scene,
        *,
        frame_rate: float = 25.0,
        rng: Rng = 0,
        parameters: Parameters | str = "dataset",
        resume: SimulatedCrowd | None = None,
    ):
        self.scene, self.frame_rate, self.seed = scene, checked_rate(frame_rate), seed_number(rng)
        self.parameters = Parameters.named(parameters) if isinstance(parameters, str) else parameters
        if resume is not None:
            _check_resumable(resume, scene, self.frame_rate)
            self.parameters, self.seed = resume.parameters, resume.seed
        kind = self.parameters.kind
        people = pedestrians_of(scene, self.seed, kind) if resume is None else resume.state.people
        self.simulator = _simulator(scene, people, self.parameters, self.seed)
        self.person_steps = 0
        if resume is None:
            self._known, self._frames = [people], [self.simulator.frame()]
        else:
            self.simulator.state = resume.state
            self.person_steps = resume.person_steps
            self._known, self._frames = [_known(resume)], _frames(resume)
        self._next_id = self.simulator.state.next_id
        steps = max(1, math.ceil(1.0 / (self.frame_rate * self.simulator.dt) - 1e-9))
        self._steps, self._step = steps, 1.0 / (self.frame_rate * steps)

    def until(self, seconds: float) -> Iterator[tuple[int, int]]:
        """Go on until that time, pausing after each frame: (frames done, frames in all)."""
        if not 0 <= seconds <= MAX_SECONDS:
            raise InputError(f"seconds: from 0 to {MAX_SECONDS:g} (a day), got {seconds}")
        total = round(seconds * self.frame_rate) + 1
        check_size(total, max(self.simulator.count, 1), f"{total} frames")
        while len(self._frames) < total:
            self.advance()
            yield len(self._frames), total

    def advance(self) -> Frame:
        """Simulate one more frame; those who left the ground are gone."""
        simulator = self.simulator
        for _ in range(self._steps):
            self.person_steps += simulator.count
            simulator.step(seconds=self._step)
        there = np.all((simulator.positions >= 0) & (simulator.positions <= self.scene.size), axis=-1)
        if not there.all():
            simulator.set_pedestrians(simulator.people[np.flatnonzero(there)])
        frame = simulator.frame()
        newest = int(frame.ids.max(initial=-1))
        if newest >= self._next_id:
            self._known.append(simulator.people[np.flatnonzero(frame.ids >= self._next_id)])
            self._next_id = newest + 1
        self._frames.append(frame)
        return frame

    def crowd(self) -> SimulatedCrowd:
        """Everything so far."""
        known = joined(self._known, renumber=False)
        seen = np.unique(np.concatenate([frame.ids for frame in self._frames]))
        if len(seen) == 0:
            raise InputError("the scene is empty: give its groups people or a rate")
        people = known[np.searchsorted(known.ids, seen)]
        moving = np.full((3, len(self._frames), len(seen), 2), np.nan)
        for number, frame in enumerate(self._frames):
            column = np.searchsorted(seen, frame.ids)
            moving[:, number, column] = frame.positions, frame.velocities, frame.directions
        return SimulatedCrowd(
            Tracks(moving[0], self.frame_rate, seen, name=self.scene.name),
            moving[1],
            moving[2],
            **{name: getattr(people, name) for name in TRAITS},
            group=people.goal,
            scene=self.scene,
            parameters=self.parameters,
            seed=self.seed,
            state=self.simulator.state,
            steps=self.simulator.steps,
            person_steps=self.person_steps,
        )


def _simulator(scene: Scene, people: Pedestrians, parameters: Parameters, seed: int) -> Simulator:
    """One goal and one field of directions a group, so that a pedestrian's goal is the group's number."""
    by_goal = {group.goal: desired_directions(scene, group.goal) for group in scene.groups}
    chosen = [scene.goals[group.goal] for group in scene.groups]
    return Simulator(
        people,
        edges(scene.obstacles),
        [by_goal[group.goal] for group in scene.groups],
        parameters,
        goals=[goal.area if goal.kind == "reach" and goal.vanish else None for goal in chosen],
        entrances=[
            Entrance(_free_start(scene, number), group.rate, number, group.speed, parameters.kind)
            for number, group in enumerate(scene.groups)
            if group.rate > 0
        ],
        hold=scene.hold,
        seed=seed,
    )


def pedestrians_of(scene: Scene, seed: int, kind: str) -> Pedestrians:
    """The people of a scene at the start, group after group."""
    walls = edges(scene.obstacles)
    groups = []
    for number, group in enumerate(scene.groups):
        options = {"area": _free_start(scene, number), "walls": walls, "speed_factor": group.speed}
        try:
            groups.append(
                random_pedestrians(group.people, goal=number, kind=kind, seed=[seed, number], **options)  # type: ignore[arg-type]
            )
        except InputError as error:
            raise InputError(f"group {number}: {error}") from error
    return joined(groups)


def _free_start(scene: Scene, number: int) -> Array:
    """The part of a group's start that is not in walls, as one polygon."""
    regions = on_ground(scene.groups[number].start, scene.size, scene.obstacles)
    if not regions:
        raise InputError(f"group {number}: its start lies in walls or outside the ground")
    return as_one_ring(regions)


def _check_resumable(crowd: SimulatedCrowd, scene: Scene, frame_rate: float) -> None:
    if not crowd.scene.same_place(scene):
        raise InputError(
            f"the crowd to resume is in {crowd.scene.name or 'another scene'}, with other walls, goals or "
            f"groups than {scene.name or 'this one'}"
        )
    if not np.isclose(crowd.frame_rate, frame_rate):
        raise InputError(
            f"the crowd to resume has {crowd.frame_rate:g} frames per second, not {frame_rate:g}"
        )


def _known(crowd: SimulatedCrowd) -> Pedestrians:
    """All pedestrians of a crowd; only what does not change about them counts."""
    first = crowd.tracks.present.argmax(axis=0)
    traits = {name: getattr(crowd, name) for name in TRAITS}
    positions = crowd.positions[first, np.arange(crowd.agents)]
    return Pedestrians(positions, goal=crowd.group, ids=crowd.tracks.ids, **traits)  # type: ignore[arg-type]


def _frames(crowd: SimulatedCrowd) -> list[Frame]:
    assert crowd.tracks.ids is not None
    moving = (crowd.positions, crowd.velocities, crowd.desired_directions)
    return [
        Frame(crowd.tracks.ids[present], *(values[number, present] for values in moving))
        for number, present in enumerate(crowd.tracks.present)
    ]
