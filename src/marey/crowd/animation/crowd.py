"""Endless crowd: agents enter, are advected, avoid each other and leave.

Courty & Corpetti 2007, sections 4 and 5.3, carry agents who collide and never end. Here those who leave come
in again where the field streams in, and the density can be that of the video. With `avoid="social"` agents
feel each other before they touch (Helbing, Farkas & Vicsek 2000): a velocity made by forces and taken away
by the response time is added to that of the field; an agent without neighbours follows the field exactly.
Deterministic by seed. Cost: about 0.3 µs an agent and frame, 2 µs with `avoid` at one agent a square metre.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, BoolArray, IntArray, assign, checked, checked_rate, read_only
from marey._random import Rng, as_generator
from marey._work import Progress, tracked
from marey.crowd.animation.agents import (
    LEAST_AGENTS,
    MOST_AGENTS,
    Agents,
    AgentSettings,
    inflow_seeds,
    poisson_disk_seeds,
)
from marey.crowd.animation.ground import WALKABLE, Fields, Flow
from marey.crowd.polygons import contains, polygon
from marey.crowd.simulation.engine import ForceEngine
from marey.crowd.simulation.pedestrians import Interaction, Parameters, Pedestrians, mark_apart
from marey.crowd.tracks import Tracks, check_size
from marey.errors import InputError

FORCES = Parameters(
    people=Interaction(600.0, 0.08, 6e3),
    obstacles=Interaction(0.0, 0.3),
    perception=0.7,
    stumble=0.0,
    reluctance=0.0,
)
"""Strength and softness of the dataset (Courty 2013, table 1) at the short range of Helbing 2000, without
what only slows pedestrians down: captured motion has its distances and its pace already. Longer ranges and
stronger forces drive agents off the field and prevent no more collisions."""


class SocialForces(ForceEngine):
    """Social forces on agents whose desired velocity is the field's, the same during a step."""

    def __init__(self, count: int, radius: float) -> None:
        super().__init__(Pedestrians(np.zeros((count, 2)), radius=radius), parameters=FORCES)  # type: ignore[arg-type]

    def apply(self, agents: Agents, before: Array, seconds: float) -> None:
        """Repeat, among neighbours, the step by which the field carried present agents from `before`.

        Args:
            agents: After the step.
            before: `(agents, 2)`, their positions before it.
            seconds: Its length.
        """
        from marey.crowd.animation import _kernels

        here = agents.present
        carried = (agents.positions[here] - before[here]) / seconds
        speeds = np.linalg.norm(carried, axis=1)
        self.positions[:] = before[here]
        self.velocities[:] = carried + agents.avoidance_velocity[here]
        self._traits[:, 3] = speeds
        self._directions[:] = carried / np.maximum(speeds, 1e-12)[:, None]
        self.advance(seconds)
        agents.positions[here] = self.positions
        agents.avoidance_velocity[here] = self.velocities - carried
        state = (agents.settings.radius, agents.positions, agents.avoidance_velocity, agents.status)

        def part(start: int, stop: int) -> None:
            _kernels.block_walls(start, stop, before, agents.flow.ground.arrays, *state)

        _work.spread(part, len(before), least=LEAST_AGENTS)

    def update_routes(self) -> tuple[float, float, float, float]:
        """Bounds of all places; desired directions stay."""
        low, high = self.positions.min(axis=0), self.positions.max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])


@dataclass(frozen=True, eq=False)
class Entrance:
    """Where agents come in: `area`, a polygon `(corners, 2)` metres, and `rate`, agents per second."""

    area: Array
    rate: float

    def __post_init__(self) -> None:
        assign(self, area=polygon("entrance", self.area))
        if not (np.isfinite(self.rate) and 0 <= self.rate <= 1e4):
            raise InputError(f"entrance: {self.rate:g} people per second; from 0 to 10000")


@dataclass(frozen=True, eq=False)
class CrowdFrame:
    """The crowd at one time: `seconds`, `ids` `(agents,)`, `positions` `(agents, 2)` metres."""

    seconds: float
    ids: IntArray
    positions: Array


class AnimatedCrowd:
    """Agents in a velocity field, one frame after the other.

    Args:
        fields: A series, or its temporal coefficients.
        people: How many agents, spread over the walkable ground.
        starts: Or where they start, `(agents, 2)` metres.
        frame_rate: Frames per second.
        settings: How agents follow the field.
        rng: A generator or a seed: another seed, another crowd.
        area: Polygon `(corners, 2)` metres in which agents are spread at first.
        entrances: Agents come in there at given rates, instead of at the border.
        exits: Polygons `(corners, 2)` metres; agents in one of them leave.
        repeat: Begin the series again after its end.

    >>> from marey.crowd import FieldSeries
    >>> from marey.crowd.cameras import orthographic
    >>> east = FieldSeries(np.full((3, 20, 60, 2), [2.0, 0.0]), 10, homography=orthographic(0.1))
    >>> crowd = AnimatedCrowd(east, people=5, frame_rate=10)
    >>> [len(frame.ids) for frame in crowd.frames(4)], crowd.tracks(2.0).frames
    ([5, 5, 5, 5], 21)
    """

    def __init__(
        self,
        fields: Fields,
        people: int | None = None,
        *,
        starts: ArrayLike | None = None,
        frame_rate: float = 60.0,
        settings: AgentSettings | None = None,
        rng: Rng = 0,
        area: ArrayLike | None = None,
        entrances: Sequence[Entrance] = (),
        exits: Sequence[ArrayLike] = (),
        repeat: bool = True,
    ) -> None:
        self.frame_rate = checked_rate(frame_rate)
        self.settings = settings or AgentSettings()
        self.flow = Flow.of(fields, repeat=repeat)
        self.entrances = tuple(entrances)
        self.exits = tuple(polygon("exit", one) for one in exits)
        if self.settings.match_density and self.flow.fields.foreground is None:
            raise InputError("the field has no foreground to match the density of: capture it with one")
        self._rng = as_generator(rng)
        self.agents = Agents(self.flow, self._starts(people, starts, area), self.settings)
        self._forces: SocialForces | None = None
        self._next_id = len(self.agents.ids)
        self._frame = 0
        self._waiting = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self._frame / self.frame_rate

    @property
    def current(self) -> CrowdFrame:
        """The crowd now."""
        here = self.agents.present
        return CrowdFrame(self.seconds, self.agents.ids[here], self.agents.positions[here])

    def frames(self, count: int | None = None) -> Iterator[CrowdFrame]:
        """This frame and those that follow: for ever, or `count`."""
        if count is not None:
            yield from islice(self.frames(), count)
            return
        while True:
            yield self.current
            self.advance()

    def tracks(self, seconds: float, *, progress: Progress | None = None) -> Tracks:
        """The next seconds as tracks; everyone who comes in is an agent of their own."""
        if not (np.isfinite(seconds) and seconds >= 0):
            raise InputError(f"seconds: not negative and finite, got {seconds:g}")
        count = int(np.floor(seconds * self.frame_rate + 1e-9)) + 1
        check_size(count, len(self.agents.ids), f"{count} frames")
        frames = list(tracked(self.frames(count), progress, count))
        ids: IntArray = np.unique(np.concatenate([frame.ids for frame in frames]))
        if len(ids) == 0:
            raise InputError("no agent is there: the entrances let none in, or all starts are off the ground")
        check_size(count, len(ids), f"{count} frames")
        positions = np.full((count, len(ids), 2), np.nan)
        for row, frame in zip(positions, frames, strict=True):
            row[np.searchsorted(ids, frame.ids)] = frame.positions
        return Tracks(read_only(positions), self.frame_rate, ids, name=self.flow.fields.name)

    def advance(self) -> None:
        """On to the next frame."""
        agents, start = self.agents, self.seconds
        if self._frame % 60 == 0:
            agents.reorder()
        self._frame += 1
        before = agents.positions.copy()
        agents.step(start, self.seconds)
        if self.settings.avoid == "social" and (count := len(agents.present)):
            if self._forces is None or len(self._forces.positions) != count:
                self._forces = SocialForces(count, self.settings.radius)
            self._forces.apply(agents, before, 1 / self.frame_rate)
        gone = np.isfinite(agents.positions[:, 0]) & (agents.status != WALKABLE)
        for area in self.exits:
            gone |= contains(area, agents.positions)
        if self.settings.match_density:
            gone |= self._unseen_too_long()
        agents.positions[gone] = np.nan
        self._waiting += int(gone.sum())
        if self.entrances:
            self._enter_by_rate()
        elif self.settings.recycle and self._waiting:
            self._enter_by_inflow()

    def _starts(self, people: int | None, starts: ArrayLike | None, area: ArrayLike | None) -> Array:
        if starts is not None:
            places = checked("starts", starts, (None, 2))
            if people is not None or len(places) == 0:
                raise InputError("starts: give places of people, or how many, not both nor none")
            return places
        if people is None:
            raise InputError("people: say how many, or where they start")
        if people == 0 and self.entrances:
            return np.full((1, 2), np.nan)
        matched = self.settings.match_density
        return poisson_disk_seeds(
            self.flow.ground,
            people,
            self._rng,
            foreground=self.flow.foreground(0.0) if matched else None,
            polygon=None if area is None else polygon("area", area),
            distance=2 * self.settings.radius if matched else None,
        )

    def _unseen_too_long(self) -> BoolArray:
        """Which agents have been for too long where the video shows no person."""
        foreground, agents = self.flow.foreground(self.seconds), self.agents
        assert foreground is not None
        seen = self.flow.ground.at(foreground, agents.positions) >= 0.1
        agents.unseen = np.where(seen, 0.0, agents.unseen + 1 / self.frame_rate)
        return np.asarray(agents.unseen > self.settings.patience) & np.isfinite(agents.positions[:, 0])

    def _enter_by_inflow(self) -> None:
        """A new agent for everyone who left: at the border, or where the video shows people."""
        foreground, count = self.flow.foreground(self.seconds), self._candidates(self._waiting)
        if self.settings.match_density:
            places = poisson_disk_seeds(self.flow.ground, count, self._rng, foreground=foreground)
            places = self._rng.permutation(places)
        else:
            places = inflow_seeds(self.flow.ground, self.flow.at(self.seconds), foreground, count, self._rng)
        self._enter(places, self._waiting)

    def _enter_by_rate(self) -> None:
        for entrance in self.entrances:
            count = int(self._rng.poisson(entrance.rate / self.frame_rate))
            if count:
                places = poisson_disk_seeds(
                    self.flow.ground, self._candidates(count), self._rng, polygon=entrance.area
                )
                self._enter(self._rng.permutation(places), count)

    def _candidates(self, count: int) -> int:
        """Places to try for so many agents: some are taken if bodies avoid each other."""
        return count if self.settings.avoid == "none" else 6 * count

    def _enter(self, places: Array, count: int) -> None:
        """At most `count` new agents at the first of `places` that are free; the rest waits."""
        agents = self.agents
        if self.settings.avoid != "none":
            here = agents.positions[agents.present]
            chosen = np.arange(len(here) + len(places)) < len(here)
            mark_apart(np.concatenate([here, places]), 2 * self.settings.radius, len(here) + count, chosen)
            places = places[chosen[len(here) :]]
        places = places[:count]
        while len(agents.ids) - len(agents.present) < len(places):
            if 2 * len(agents.ids) > MOST_AGENTS:
                raise InputError(f"more than {MOST_AGENTS} people have come in and not left")
            agents.grow()
        slots = np.flatnonzero(~np.isfinite(agents.positions[:, 0]))[: len(places)]
        agents.positions[slots] = places
        agents.velocities[slots] = agents.avoidance_velocity[slots] = 0.0
        agents.unseen[slots] = 0.0
        agents.ids[slots] = self._next_id + np.arange(len(slots))
        self._next_id += len(slots)
        self._waiting = max(self._waiting - len(slots), 0)
