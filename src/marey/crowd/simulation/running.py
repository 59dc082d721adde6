"""`simulate`: a scene becomes a crowd that walks through it (Courty 2013, section 6.3).

People start at random, a body's width apart, rest while the scene holds them, then go where they wish;
whoever reaches a goal or leaves the ground is gone. The same seed gives the same crowd; a :class:`Run` can
be stopped after any frame and taken up again without a difference. Cost: that of the simulator, about half
a microsecond a person and step of 20 ms, and under 0.1 s for the wishes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marey._arrays import checked_rate
from marey._progress import Progress
from marey._random import Rng, seed_number
from marey.crowd import scenes
from marey.crowd.polygons import area, as_one_ring, on_ground
from marey.crowd.scene import Scene
from marey.crowd.simulation import Entrance, Frame, Goal, Parameters, People, Simulator
from marey.crowd.simulation.people import RADII, joined, random_people
from marey.crowd.simulation.simulated import SimulatedCrowd, check_going_on
from marey.crowd.simulation.walls import segments_of
from marey.crowd.simulation.wishes import wish_field
from marey.crowd.track_tables import check_size
from marey.crowd.tracks import Tracks
from marey.errors import InputError

Array = NDArray[np.float64]

TRAITS = ("radius", "mass", "response_time", "desired_speed", "goal", "ids")
LONGEST = 24 * 3600.0


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
    """A crowd in a scene, or in one of the dataset's by name (:data:`marey.crowd.scenes.SCENES`).

    seconds: how long; the scene's own if left out
    rng: seed, or generator that a seed is drawn from; others give other people at other places
    parameters: constants of the forces, or their name: "dataset" (the source's look of pressed bodies),
        "everyday" (speeds and flows of real people who walk) or "helbing" (hard bodies)
    resume: a crowd so far, of the same scene, which goes on until `seconds`

    >>> crowd = simulate(scenes.preset("crossing").with_people(12), seconds=4, frame_rate=10)
    >>> crowd.tracks.positions.shape, crowd.group.tolist()[:4]
    ((41, 12, 2), [0, 0, 0, 1])
    """
    chosen = scenes.preset(scene) if isinstance(scene, str) else scene
    run = Run(chosen, frame_rate=frame_rate, rng=rng, parameters=parameters, so_far=resume)
    for done, total in run.until(chosen.seconds if seconds is None else seconds):
        if progress is not None:
            progress(done, total)
    return run.crowd()


class Run:
    """A simulation under way, frame by frame, for those who want to look at it or keep it as it goes.

    >>> run = Run(scenes.preset("escape").with_people(5), frame_rate=10)
    >>> for done, total in run.until(1.0):
    ...     pass
    >>> run.crowd().frames
    11
    """

    def __init__(
        self,
        scene: Scene,
        *,
        frame_rate: float = 25.0,
        rng: Rng = 0,
        parameters: Parameters | str = "dataset",
        so_far: SimulatedCrowd | None = None,
    ):
        self.scene, self.frame_rate, self.seed = scene, checked_rate(frame_rate), seed_number(rng)
        self.parameters = Parameters.named(parameters) if isinstance(parameters, str) else parameters
        if so_far is not None:
            check_going_on(so_far, scene, self.frame_rate)
            self.parameters, self.seed = so_far.parameters, so_far.seed
        people = _people(scene, self.seed, self.parameters.kind) if so_far is None else so_far.state.people
        self.simulator = _simulator(scene, people, self.parameters, self.seed)
        self.person_steps = 0
        if so_far is None:
            self._traits = [people]
            self._frames = [self._look()]
        else:
            self.simulator.state = so_far.state
            self.person_steps = so_far.person_steps
            self._traits = [_traits_of(so_far)]
            self._frames = _frames_of(so_far)
        self._next_id = self.simulator.state.next_id
        steps = max(1, math.ceil(1.0 / (self.frame_rate * self.simulator.dt) - 1e-9))
        self._steps, self._step = steps, 1.0 / (self.frame_rate * steps)

    def until(self, seconds: float) -> Iterator[tuple[int, int]]:
        """Go on until that time, pausing after each frame: (frames done, frames in all)."""
        if not 0 <= seconds <= LONGEST:
            raise InputError(f"seconds: from 0 to {LONGEST:g} (a day), got {seconds}")
        total = round(seconds * self.frame_rate) + 1
        check_size(total, max(self.simulator.count, 1), f"{total} frames")
        while len(self._frames) < total:
            self.advance()
            yield len(self._frames), total

    def advance(self) -> Frame:
        """One frame more."""
        for _ in range(self._steps):
            self.person_steps += self.simulator.count
            self.simulator.step(seconds=self._step)
        frame = self._without_those_outside(self._look())
        newest = int(frame.ids.max(initial=-1))
        if newest >= self._next_id:
            people = self.simulator.people
            self._traits.append(people[np.flatnonzero(people.ids >= self._next_id)])
            self._next_id = newest + 1
        self._frames.append(frame)
        return frame

    def crowd(self) -> SimulatedCrowd:
        """Everything so far."""
        known = joined(self._traits, renumber=False)
        seen = np.unique(np.concatenate([frame.ids for frame in self._frames]))
        if len(seen) == 0:
            raise InputError("nobody was there at any time: give the scene's groups people or a rate")
        people = known[np.searchsorted(known.ids, seen)]
        shape = (len(self._frames), len(seen), 2)
        positions, velocities, wishes = (np.full(shape, np.nan) for _ in range(3))
        for number, frame in enumerate(self._frames):
            column = np.searchsorted(seen, frame.ids)
            positions[number, column] = frame.positions
            velocities[number, column] = frame.velocities
            wishes[number, column] = frame.wishes
        return SimulatedCrowd(
            Tracks(positions, self.frame_rate, seen, name=self.scene.name),
            velocities,
            wishes,
            people.radius,
            people.mass,
            people.response_time,
            people.desired_speed,
            people.goal,
            self.scene,
            self.parameters,
            self.seed,
            self.simulator.state,
            self.simulator.steps,
            self.person_steps,
        )

    def _look(self) -> Frame:
        return next(self.simulator.frames(0.0))

    def _without_those_outside(self, frame: Frame) -> Frame:
        """Those who left the ground are gone."""
        there = np.all((frame.positions >= 0) & (frame.positions <= self.scene.size), axis=-1)
        if there.all():
            return frame
        state = self.simulator.state
        self.simulator.state = replace(state, people=state.people[np.flatnonzero(there)])
        return self._look()


def _simulator(scene: Scene, people: People, parameters: Parameters, seed: int) -> Simulator:
    """One goal and one field of wishes a group, so that a person's goal tells the group."""
    by_goal = {group.goal: wish_field(scene, group.goal) for group in scene.groups}
    chosen = [scene.goals[group.goal] for group in scene.groups]
    return Simulator(
        people,
        segments_of(scene.obstacles),
        [by_goal[group.goal] for group in scene.groups],
        parameters,
        goals=[Goal(g.area) if g.wish == "reach" and g.vanish else None for g in chosen],
        entrances=[
            Entrance(
                _free_start(scene, number),
                group.rate,
                goal=number,
                speed_factor=group.speed,
                kind=parameters.kind,
            )
            for number, group in enumerate(scene.groups)
            if group.rate > 0
        ],
        hold=scene.hold,
        seed=seed,
    )


def _people(scene: Scene, seed: int, kind: str) -> People:
    """Everyone at the start, group after group."""
    walls = segments_of(scene.obstacles)
    groups = []
    for number, group in enumerate(scene.groups):
        start = _free_start(scene, number)
        _check_room(number, group.people, start, 2 * RADII[kind][1])
        try:
            one = random_people(
                group.people,
                area=start,
                walls=walls,
                speed_factor=group.speed,
                goal=number,
                kind=kind,
                seed=[seed, number],
            )
        except InputError as error:
            raise InputError(f"group {number}: {error}") from error
        groups.append(one)
    return joined(groups)


def _check_room(number: int, people: int, start: Array, apart: float) -> None:
    """An error at once where people cannot fit by far, which trying would take long to find."""
    border = float(np.hypot(*(start - np.roll(start, 1, axis=0)).T).sum())
    # Discs in a convex place (Groemer 1960), and as many again for one that is not.
    most = 2 * int(2 * area(start) / (np.sqrt(3) * apart**2) + border / (2 * apart) + 1)
    if people > most:
        raise InputError(
            f"group {number}: area: {people} people at least {apart:g} m apart do not fit; take fewer, "
            "or a larger area"
        )


def _free_start(scene: Scene, number: int) -> Array:
    """The part of a group's start that is not in walls, as one polygon."""
    start = scene.groups[number].start
    regions = on_ground(start, scene.size, scene.obstacles)
    if not regions:
        raise InputError(f"group {number}: its start lies in walls or outside the ground")
    return as_one_ring(regions)


def _traits_of(crowd: SimulatedCrowd) -> People:
    first = crowd.tracks.present.argmax(axis=0)
    return People(
        crowd.positions[first, np.arange(crowd.agents)],
        None,  # type: ignore[arg-type]
        crowd.radius,
        crowd.mass,
        crowd.response_time,
        crowd.desired_speed,
        crowd.group,
        crowd.tracks.ids,  # type: ignore[arg-type]
    )


def _frames_of(crowd: SimulatedCrowd) -> list[Frame]:
    frames = []
    assert crowd.tracks.ids is not None
    for number, present in enumerate(crowd.tracks.present):
        frames.append(
            Frame(
                number / crowd.frame_rate,
                crowd.tracks.ids[present],
                crowd.positions[number, present],
                crowd.velocities[number, present],
                crowd.wishes[number, present],
                crowd.radius[present],
            )
        )
    return frames
