"""A crowd that a velocity field keeps moving for ever: people come, are carried, step aside, leave.

Courty & Corpetti 2007, section 4, carry people who never meet nor end; there people walk through each other,
and the first placement decides on the density. Here bodies can move apart while the field stays what they
want (`avoid`), those who leave come in again where the field streams in, and the density can be that of the
video. Deterministic by seed. Cost: about 0.3 µs a person and frame, 2 µs with `avoid`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import IntArray, checked, checked_rate, read_only
from marey._progress import Progress, tracked
from marey.crowd import cameras
from marey.crowd.animation.advection import BODY_RADIUS
from marey.crowd.animation.avoidance import WAYS, Avoid, SocialForces, move_apart
from marey.crowd.animation.flow import Fields, Flow
from marey.crowd.animation.place import WALKABLE
from marey.crowd.animation.seeding import MOST_PEOPLE, entering, scattered
from marey.crowd.animation.walkers import Walkers
from marey.crowd.polygons import contains, polygon
from marey.crowd.track_tables import check_size
from marey.crowd.tracks import Tracks
from marey.errors import InputError

Array = NDArray[np.float64]

PATIENCE = 1.0
"""Seconds that somebody stays where the video shows nobody, if its density is kept."""
UNSEEN = 0.1
TRIES = 6
SORTED_EVERY = 60
"""Moments."""


@dataclass(frozen=True, eq=False)
class Entrance:
    """Where people come in: `area`, a polygon `(corners, 2)` metres, and `rate`, people per second."""

    area: Array
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "area", polygon("entrance", self.area))
        if not (np.isfinite(self.rate) and 0 <= self.rate <= 1e4):
            raise InputError(f"entrance: {self.rate:g} people per second makes no sense")


@dataclass(frozen=True)
class Manner:
    """How people take the field.

    radius: of a body, metres
    lag: seconds by which they follow late (first-order pursuit); 0 = exactly
    avoid: how bodies keep from walking through each other: "none", not at all; "contact", those that
        overlap move apart; "social", forces act before they touch
    again: people who leave come in again, as someone new, where the field streams in
    seen: people stand where the video shows people, at first and while it goes on
    """

    radius: float = BODY_RADIUS
    lag: float = 0.0
    avoid: Avoid = "none"
    again: bool = True
    seen: bool = False

    def __post_init__(self) -> None:
        if self.avoid not in WAYS:
            raise InputError(f"avoid {self.avoid!r}: one of {', '.join(WAYS)}")

    @property
    def avoids(self) -> bool:
        """Whether bodies keep apart at all."""
        return self.avoid != "none"


@dataclass(frozen=True, eq=False)
class Moment:
    """Who is where at one time: `seconds`, `ids` `(people,)`, `positions` `(people, 2)` metres."""

    seconds: float
    ids: IntArray
    positions: Array


class AnimatedCrowd:
    """People in a velocity field, one moment after the other.

    fields: a series, or its temporal coefficients
    people: how many, spread over the walkable ground; or `starts` `(people, 2)` metres
    frame_rate: moments per second
    area: polygon `(corners, 2)` metres in which people are spread at first
    entrances: people come in there at given rates, instead of at the border
    exits: polygons `(corners, 2)` metres; who is in one is gone
    rng: a generator, or a number: another number, another crowd
    repeat: begin the series again after its end

    >>> from marey.crowd import FieldSeries
    >>> from marey.crowd.cameras import orthographic
    >>> east = FieldSeries(np.full((3, 20, 60, 2), [2.0, 0.0]), 10, homography=orthographic(0.1))
    >>> crowd = AnimatedCrowd(east, people=5, frame_rate=10)
    >>> [len(moment.ids) for moment in crowd.frames(4)]
    [5, 5, 5, 5]
    """

    def __init__(
        self,
        fields: Fields,
        people: int | None = None,
        *,
        starts: ArrayLike | None = None,
        frame_rate: float = 60.0,
        manner: Manner | None = None,
        rng: np.random.Generator | int = 0,
        area: ArrayLike | None = None,
        entrances: Sequence[Entrance] = (),
        exits: Sequence[ArrayLike] = (),
        repeat: bool = True,
    ) -> None:
        self.frame_rate = checked_rate(frame_rate)
        self.manner = manner or Manner()
        self.flow = Flow.of(fields, repeat=repeat)
        self.entrances = tuple(entrances)
        self.exits = tuple(polygon("exit", one) for one in exits)
        if self.manner.seen and self.flow.fields.presence is None:
            raise InputError("the field does not tell where people are seen: capture it with presence")
        self._rng = np.random.default_rng(rng)
        places = self._starts(people, starts, area)
        self._walkers = Walkers(self.flow, places, lag=self.manner.lag, radius=self.manner.radius)
        self._forces = SocialForces(self.manner.radius)
        self.ids = np.arange(len(places))
        self._next_id = len(places)
        self._moments = 0
        self._unseen = np.zeros(len(places))
        self._waiting = 0

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return self._moments / self.frame_rate

    @property
    def moment(self) -> Moment:
        """Who is where now."""
        here = np.isfinite(self._walkers.positions[:, 0])
        return Moment(self.seconds, self.ids[here], self._walkers.positions[here])

    @property
    def walkers(self) -> Walkers:
        """Everybody's state, absent people included."""
        return self._walkers

    def frames(self, count: int | None = None) -> Iterator[Moment]:
        """This moment and those that follow: for ever, or `count`."""
        if count is not None:
            yield from islice(self.frames(), count)
            return
        while True:
            yield self.moment
            self.advance()

    def advance(self) -> None:
        """On to the next moment."""
        if self._moments % SORTED_EVERY == 0:
            self._sort()
        start = self.seconds
        self._moments += 1
        walkers = self._walkers
        before = walkers.positions.copy() if self.manner.avoid == "social" else walkers.positions
        walkers.step(start, self.seconds)
        if self.manner.avoid == "social":
            self._forces.walk(walkers, before, 1 / self.frame_rate)
        elif self.manner.avoid == "contact":
            move_apart(walkers, self.manner.radius, 1 / self.frame_rate)
        gone = np.isfinite(walkers.positions[:, 0]) & (walkers.status != WALKABLE)
        for area in self.exits:
            gone |= contains(area, walkers.positions)
        if self.manner.seen:
            gone |= self._not_seen()
        if gone.any():
            walkers.positions[gone] = np.nan
            self._waiting += int(gone.sum())
        if self.entrances:
            self._let_in()
        elif self.manner.again and self._waiting:
            self._bring_back()

    def _starts(self, people: int | None, starts: ArrayLike | None, area: ArrayLike | None) -> Array:
        if starts is not None:
            places = checked("starts", starts, (None, 2)).copy()
            if people is not None or len(places) == 0:
                raise InputError("starts: give places of people, or how many, not both nor none")
            places[self.flow.place.under(places) != WALKABLE] = np.nan
            return places
        if people is None:
            raise InputError("people: say how many, or where they start")
        if people == 0 and self.entrances:
            return np.full((1, 2), np.nan)
        presence = self.flow.presence(0.0) if self.manner.seen else None
        corners = None if area is None else polygon("area", area)
        apart = 2 * self.manner.radius if self.manner.seen else None
        return scattered(
            self.flow.place, people, self._rng, presence=presence, polygon=corners, distance=apart
        )

    def _sort(self) -> None:
        """Neighbours in the picture next to each other in memory, which makes looking up twice as fast."""
        walkers = self._walkers
        order = self.flow.place.order(walkers.positions)
        walkers.put_in(order)
        self._unseen, self.ids = self._unseen[order], self.ids[order]

    def _not_seen(self) -> NDArray[np.bool_]:
        """Who has been for too long where the video shows nobody."""

        presence = self.flow.presence(self.seconds)
        assert presence is not None
        positions = self._walkers.positions
        here = np.isfinite(positions[:, 0]) & (self._walkers.status == WALKABLE)
        pixels = np.rint(cameras.apply(self.flow.place.to_pixel, positions[here])).astype(int)
        rows, columns = presence.shape
        seen = presence[pixels[:, 1].clip(0, rows - 1), pixels[:, 0].clip(0, columns - 1)]
        self._unseen[here] = np.where(seen < UNSEEN, self._unseen[here] + 1 / self.frame_rate, 0.0)
        return np.asarray(here & (self._unseen > PATIENCE))

    def _bring_back(self) -> None:
        """Someone new for everyone who left: at the border, or where the video shows people."""
        presence = self.flow.presence(self.seconds)
        field = self.flow.at(self.seconds)
        tries = TRIES if self.manner.avoids else 1
        places = entering(self.flow.place, field, presence, tries * self._waiting, self._rng)
        if self.manner.seen:
            places = self._rng.permutation(
                scattered(self.flow.place, tries * self._waiting, self._rng, presence=presence)
            )
        self._enter(places, self._waiting)

    def _let_in(self) -> None:
        for entrance in self.entrances:
            count = int(self._rng.poisson(entrance.rate / self.frame_rate))
            if count:
                tries = TRIES if self.manner.avoids else 1
                places = scattered(self.flow.place, tries * count, self._rng, polygon=entrance.area)
                self._enter(self._rng.permutation(places), count)

    def _enter(self, places: Array, count: int) -> None:
        """At most `count` new people at the first of `places` that are free; the rest waits."""
        walkers = self._walkers
        if self.manner.avoids:
            places = self._free(places, count)
        places = places[:count]
        while (~np.isfinite(walkers.positions[:, 0])).sum() < len(places):
            self._grow()
        slots = np.flatnonzero(~np.isfinite(walkers.positions[:, 0]))[: len(places)]
        walkers.positions[slots] = places
        walkers.velocities[slots] = walkers.aside[slots] = 0.0
        self._unseen[slots] = 0.0
        self.ids[slots] = self._next_id + np.arange(len(slots))
        self._next_id += len(slots)
        self._waiting = max(self._waiting - len(slots), 0)

    def _free(self, places: Array, count: int) -> Array:
        """The first `count` of places `(n, 2)` at which a body fits, among those there and each other."""
        from marey.crowd.animation import _contact_kernels

        taken: list[Array] = []
        for place in places:
            if len(taken) == count:
                break
            for others in (self._walkers.positions, np.reshape(taken, (-1, 2))):
                if not _contact_kernels.is_free(others, place[0], place[1], 2 * self.manner.radius):
                    break
            else:
                taken.append(place)
        return np.reshape(taken, (-1, 2))

    def _grow(self) -> None:
        """Room for as many people again."""
        walkers, there = self._walkers, len(self.ids)
        if 2 * there > MOST_PEOPLE:
            raise InputError(f"more than {MOST_PEOPLE} people have come in and not left")
        walkers.add_room(there)
        self._unseen = np.concatenate([self._unseen, np.zeros(there)])
        self.ids = np.concatenate([self.ids, np.full(there, -1)])


def animate(
    crowd: AnimatedCrowd, seconds: float, *, name: str = "", progress: Progress | None = None
) -> Tracks:
    """The next seconds of a crowd as tracks; everyone who comes in is an agent of their own.

    >>> from marey.crowd import FieldSeries
    >>> from marey.crowd.cameras import orthographic
    >>> east = FieldSeries(np.full((3, 20, 60, 2), [2.0, 0.0]), 10, homography=orthographic(0.1))
    >>> animate(AnimatedCrowd(east, people=5, frame_rate=10), 2.0).frames
    21
    """
    if not (np.isfinite(seconds) and seconds >= 0):
        raise InputError(f"seconds: not negative and finite, got {seconds:g}")
    count = int(np.floor(seconds * crowd.frame_rate + 1e-9)) + 1
    check_size(count, len(crowd.ids), f"{count} frames")
    moments = list(tracked(crowd.frames(count), progress, count))
    ids: NDArray[np.int64] = np.unique(np.concatenate([moment.ids for moment in moments]))
    if len(ids) == 0:
        raise InputError("nobody is there: the entrances let nobody in, or all starts are off the ground")
    check_size(count, len(ids), f"{count} frames")
    positions = np.full((count, len(ids), 2), np.nan)
    for row, moment in zip(positions, moments, strict=True):
        row[np.searchsorted(ids, moment.ids)] = moment.positions
    return Tracks(read_only(positions), crowd.frame_rate, ids, name=name or crowd.flow.fields.name)
