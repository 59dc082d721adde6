"""Agents carried by a velocity field: classical Runge–Kutta steps on the ground (Courty 2013, section 7.1).

dx/dt = v(x, t) is integrated in metres, in steps no longer than a frame of the field; the velocity is read in
the image (bilinear in space, mixed at the true time of each stage) and brought to the ground through the
camera's Jacobian (Courty & Corpetti 2007, section 4.1). Cost: about 0.15 µs an agent and step on each core.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, Integers, checked, checked_rate, read_only
from marey.crowd.animation.ground import WALKABLE, Fields, Flow
from marey.crowd.tracks import Tracks, check_size
from marey.errors import InputError

Avoid = Literal["none", "social"]
AVOID: tuple[Avoid, ...] = get_args(Avoid)

BODY_RADIUS = 0.25
"""Metres, the middle of the range of Courty 2013, section 6.3.2."""
LEAST_AGENTS = 2048
"""Agents below whom another thread costs more than it helps."""


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """How agents follow the field.

    Attributes:
        radius: Of a body, metres; also the distance from obstacles within which no agent moves towards them.
        lag: Seconds by which agents follow late (first-order pursuit); 0 = exactly.
        avoid: "none", bodies may overlap; "social", forces keep them apart before they touch.
        recycle: Agents who leave are replaced by new ones where the field streams in.
        match_density: Agents stand where the video shows people, at first and while it goes on.
        patience: Seconds that an agent stays where the video shows no person, with `match_density`.
    """

    radius: float = BODY_RADIUS
    lag: float = 0.0
    avoid: Avoid = "none"
    recycle: bool = True
    match_density: bool = False
    patience: float = 1.0

    def __post_init__(self) -> None:
        if self.avoid not in AVOID:
            raise InputError(f"avoid {self.avoid!r}: one of {', '.join(AVOID)}")
        if not (np.isfinite(self.lag) and self.lag >= 0):
            raise InputError(f"lag: seconds, not negative; got {self.lag:g}")
        if not (np.isfinite(self.radius) and self.radius > 0):
            raise InputError(f"radius: metres, above 0; got {self.radius:g}")


def advect(
    fields: Fields,
    starts: ArrayLike,
    *,
    seconds: float | None = None,
    frame_rate: float = 60.0,
    begin: float = 0.0,
    lag: float = 0.0,
    radius: float = BODY_RADIUS,
    repeat: bool = False,
) -> Tracks:
    """Tracks of agents from `starts` `(agents, 2)` metres through the field; NaN once they have left it.

    Args:
        fields: A series, each field the motion from one frame to the next; or its temporal coefficients.
        starts: Off the walkable ground, an agent is absent.
        seconds: How long; as long as the series if None.
        frame_rate: Of the tracks; a step is one of their frames, or shorter, never longer than a field's.
        begin: Seconds into the series at which they start.
        lag: As in :class:`AgentSettings`.
        radius: As in :class:`AgentSettings`.
        repeat: Begin the series again where it ends; otherwise its last field stays.

    >>> from marey.crowd import FieldSeries
    >>> from marey.crowd.cameras import orthographic
    >>> east = FieldSeries(np.full((3, 10, 40, 2), [2.0, 0.0]), 10, homography=orthographic(0.1))
    >>> advect(east, [[1.0, -0.5]], seconds=1.0, frame_rate=10).positions[-1, 0].round(9).tolist()
    [3.0, -0.5]
    """
    settings, rate = AgentSettings(lag=lag, radius=radius), checked_rate(frame_rate)
    places = checked("starts", starts, (None, 2))
    if len(places) == 0:
        raise InputError("starts: there is nobody")
    length = max(fields.frames / fields.frame_rate - begin, 0.0) if seconds is None else float(seconds)
    if not (np.isfinite(length) and length >= 0 and np.isfinite(begin) and begin >= 0):
        raise InputError(f"seconds: {length:g} from {begin:g} on makes no sense")
    frames = int(np.floor(length * rate + 1e-9)) + 1
    check_size(frames, len(places), f"{frames} frames")
    agents = Agents(Flow.of(fields, repeat=repeat), places, settings)
    positions = np.empty((frames, *places.shape))
    positions[0] = agents.positions
    agents.reorder()
    for frame in range(1, frames):
        agents.step(begin + (frame - 1) / rate, begin + frame / rate)
        agents.positions[agents.status != WALKABLE] = np.nan
        positions[frame, agents.ids] = agents.positions
    return Tracks(read_only(positions), rate, name=fields.name)


class Agents:
    """The state of all agents, absent ones included; :meth:`step` moves them.

    Attributes:
        positions: `(agents, 2)` metres; NaN for those who are absent.
        velocities: `(agents, 2)` m/s.
        avoidance_velocity: `(agents, 2)` m/s that avoiding others adds to the field's.
        status: `(agents,)`, what they stand on.
        ids: `(agents,)`.
        unseen: `(agents,)`, seconds since which the video shows no person where they are.
    """

    def __init__(self, flow: Flow, positions: Array, settings: AgentSettings) -> None:
        self.flow, self.settings = flow, settings
        self.positions = np.array(positions, dtype=np.float64, order="C")
        self.positions[flow.ground.under(self.positions) != WALKABLE] = np.nan
        self.velocities, self.avoidance_velocity = np.zeros((2, *positions.shape))
        self.status = np.full(len(positions), WALKABLE, dtype=np.uint8)
        self.ids, self.unseen = np.arange(len(positions)), np.zeros(len(positions))

    @property
    def present(self) -> Integers:
        """Places in the arrays of those who are not absent."""
        return np.flatnonzero(np.isfinite(self.positions[:, 0]))

    def step(self, start: float, end: float) -> None:
        """From `start` to `end` seconds, in pieces no longer than a frame of the field."""
        pieces = max(1, int(np.ceil((end - start) * self.flow.fields.frame_rate - 1e-6)))
        for before, after in itertools.pairwise(np.linspace(start, end, pieces + 1)):
            self._step(float(before), float(after))

    def reorder(self) -> None:
        """Neighbours in the image next to each other in memory, which makes reading fields twice as fast."""
        self._replace(self.flow.ground.order(self.positions))

    def grow(self) -> None:
        """Room for as many agents again, absent so far."""
        count = len(self.ids)
        self._replace(np.arange(2 * count) % count)
        self.positions[count:] = np.nan

    def _replace(self, order: Integers) -> None:
        for name in ("positions", "velocities", "avoidance_velocity", "status", "ids", "unseen"):
            setattr(self, name, getattr(self, name)[order])

    def _step(self, start: float, end: float) -> None:
        from marey.crowd.animation import _kernels

        fields = tuple(self.flow.at(seconds) for seconds in (start, 0.5 * (start + end), end))
        lag, seconds = self.settings.lag, end - start
        pull = 1.0 if lag == 0 else 1.0 - float(np.exp(-seconds / lag))
        motion = (fields, seconds, self.flow.fields.frame_rate, pull)
        state = (self.settings.radius, self.positions, self.velocities, self.status)

        def part(first: int, stop: int) -> None:
            _kernels.step(first, stop, *motion, self.flow.ground.arrays, *state)

        _work.spread(part, len(self.positions), least=LEAST_AGENTS)
