"""Agents carried by a velocity field: where they start, and classical Runge–Kutta steps on the ground.

Agents start evenly over the ground, as densely as the video shows, or where the field streams in (Courty &
Corpetti 2007, section 5.3, set the first density by hand and name it the weak point). Pixels are drawn by
weight, places within them evenly, and a place too near to one taken before is dropped (Poisson-disk sampling
by dart throwing). dx/dt = v(x, t) is integrated in metres, in steps no longer than a frame of the field
(Courty 2013, section 7.1); the velocity is read in the image (bilinear in space, mixed at the true time of
each stage) and brought to the ground through the camera's Jacobian (Courty & Corpetti 2007, section 4.1).
Cost: about 1 µs a dart, 0.15 µs an agent and step on each core.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import Array, BoolArray, FloatArray, Integers, checked, checked_rate, read_only
from marey.crowd import cameras
from marey.crowd.animation.ground import WALKABLE, Fields, Flow, WalkableGround
from marey.crowd.polygons import contains
from marey.crowd.simulation.pedestrians import mark_apart
from marey.crowd.tracks import Tracks, check_size
from marey.errors import InputError

MOST_AGENTS = 2_000_000


def poisson_disk_seeds(
    ground: WalkableGround,
    count: int,
    rng: np.random.Generator,
    *,
    foreground: FloatArray | None = None,
    polygon: Array | None = None,
    distance: float | None = None,
) -> Array:
    """Places `(count, 2)` metres, apart from each other as far as their number allows.

    Args:
        ground: Where agents can be.
        count: How many.
        rng: Where random numbers come from.
        foreground: `(rows, columns)`, 0 to 1: more agents where people are seen; None = evenly.
        polygon: `(corners, 2)` metres, only within.
        distance: Keep at least so far apart, metres, while there is room; None = as far as possible.

    >>> from marey.crowd import FieldSeries
    >>> ground = WalkableGround.of(FieldSeries(np.ones((1, 9, 9, 2)), 10, homography=cameras.orthographic(1)))
    >>> poisson_disk_seeds(ground, 40, np.random.default_rng(0)).shape
    (40, 2)
    """
    if not 1 <= count <= MOST_AGENTS:
        raise InputError(f"people: 1 to {MOST_AGENTS}, got {count}")
    weights = ground.cell_areas
    if foreground is not None:
        # A body covers pixels in proportion to the square of the image's scale.
        seen = np.where(ground.region == WALKABLE, foreground * ground.body_scales**2, 0.0)
        weights = seen if seen.sum() > 0 else weights
    if polygon is not None:
        weights = weights * _touched(ground, polygon)
    if not weights.sum() > 0:
        raise InputError("people: there is no walkable ground in the area given")
    darts = _darts(ground, weights, 12 * count + 200, rng, polygon)
    # Darts fill the ground to about 0.8 of a square lattice with 0.7 of its spacing.
    widest = 0.7 * float(np.sqrt(ground.cell_areas[weights > 0].sum() / count))
    distance = widest if distance is None else min(distance, widest)
    chosen = np.zeros(len(darts), dtype=np.bool_)
    for _ in range(14):
        distance = max(distance, float(np.ptp(darts, axis=0).max()) / 2000 + 1e-9)
        if mark_apart(darts, distance, count, chosen) >= count:
            break
        distance *= 0.8
    chosen[np.flatnonzero(~chosen)[: max(count - int(chosen.sum()), 0)]] = True
    return np.resize(darts[chosen], (count, 2))


def inflow_seeds(
    ground: WalkableGround,
    field: FloatArray,
    foreground: FloatArray | None,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """Places `(count, 2)` metres at the border of the image through which people stream in.

    The probability of a border pixel is the motion into the image there times how many people are there.
    `(0, 2)` where nothing streams in.

    Args:
        ground: Where agents can be.
        field: `(rows, columns, 2)` pixels per frame.
        foreground: `(rows, columns)`, 0 to 1; None = the same everywhere on the ground.
        count: How many.
        rng: Where random numbers come from.
    """
    pixels, inwards = ground.borders
    column, row = pixels.T
    expected = ground.cell_areas[row, column]
    if foreground is not None:
        # People may come in where none is seen yet, but seldom.
        expected = (foreground[row, column] + 1e-3) * ground.body_scales[row, column] ** 2
    inward = np.sum(field[row, column] * inwards, axis=1)
    flux = np.where(inward > 0.02, inward * expected, 0.0).astype(np.float64)
    if not flux.sum() > 0:
        return np.empty((0, 2))
    chosen = _drawn(flux, count, rng)
    along = rng.uniform(-0.49, 0.49, size=(count, 1))
    # Just within the edge of the pixel, anywhere along it.
    places = pixels[chosen] - 0.49 * inwards[chosen] + along * inwards[chosen][:, ::-1]
    return cameras.apply(ground.to_ground, places)


def _touched(ground: WalkableGround, polygon: Array) -> BoolArray:
    """Pixels `(rows, columns)` with a part in the polygon: a corner, or one of its corners."""
    rows, columns = ground.region.shape
    row, column = np.mgrid[: rows + 1, : columns + 1] - 0.5
    corners = contains(polygon, cameras.apply(ground.to_ground, np.stack([column, row], axis=-1)))
    touched = corners[:-1, :-1] | corners[1:, :-1] | corners[:-1, 1:] | corners[1:, 1:]
    seen = np.rint(cameras.apply(ground.to_pixel, polygon))
    for x, y in seen[np.isfinite(seen).all(axis=1)].astype(int):
        if 0 <= y < rows and 0 <= x < columns:
            touched[y, x] = True
    return np.asarray(touched)


def _darts(
    ground: WalkableGround, weights: Array, count: int, rng: np.random.Generator, polygon: Array | None
) -> Array:
    """Random places `(n, 2)` by pixel weight; fewer than `count` where a polygon cuts pixels."""
    row, column = np.divmod(_drawn(weights.ravel(), count, rng), weights.shape[1])
    pixels = np.stack([column, row], axis=1) + rng.uniform(-0.499, 0.499, size=(count, 2))
    darts = cameras.apply(ground.to_ground, pixels)
    if polygon is not None:
        darts = darts[contains(polygon, darts)]
    if len(darts) == 0:
        raise InputError("people: there is no walkable ground in the area given")
    return darts


def _drawn(weights: Array, count: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Indices `(count,)` drawn in proportion to weights `(n,)`."""
    cumulated = np.cumsum(weights)
    drawn = np.searchsorted(cumulated, rng.uniform(0, cumulated[-1], size=count), side="right")
    return np.minimum(drawn, len(weights) - 1)


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
        raise InputError("starts: there is no agent")
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
