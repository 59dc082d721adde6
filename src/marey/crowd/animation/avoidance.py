"""People who do not walk through each other while the field stays what they want.

Courty & Corpetti 2007, section 5.3, carry people who collide, and say so. By contact, bodies that overlap
move apart after each step. By social force (Helbing, Farkas & Vicsek 2000), people feel each other before
they touch: the field carries everybody as before, and only the velocity beside it, which forces make and the
response time takes away, is added. Whoever meets nobody is carried exactly. Cost: 1 µs a person and frame by
contact, 2 µs by social force, at one person a square metre.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey.crowd.animation.walkers import FEWEST, Walkers
from marey.crowd.simulation.bodies import Bodies
from marey.crowd.simulation.parameters import Interaction, Parameters
from marey.crowd.simulation.people import RESPONSE_TIME, People

Array = NDArray[np.float64]
Avoid = Literal["none", "contact", "social"]
WAYS: tuple[Avoid, ...] = ("none", "contact", "social")

PASSES = 4
SHARE = 0.7
"""Of an overlap that a pass of moving apart takes away; more would make packed people tremble."""
FORCES = Parameters(
    people=Interaction(600.0, 0.08, 6e3),
    obstacles=Interaction(0.0, 0.3),
    perception=0.7,
    stumble=0.0,
    reluctance=0.0,
)
"""Strength and softness of the dataset (Courty 2013, table 1) at the short range of Helbing 2000, without
what only slows people down: captured motion knows its distances and its pace already. Longer ranges and
stronger forces drive people off the field and prevent no more collisions."""


def move_apart(walkers: Walkers, radius: float, seconds: float) -> None:
    """Bodies that overlap, away from each other; `seconds` is how long the step was that led there."""
    from marey.crowd.animation import _contact_kernels

    place = walkers.flow.place
    before = walkers.positions
    moved = before
    for _ in range(PASSES):
        now, moved = moved, moved.copy()
        cells = _contact_kernels.sort_into_cells(now, 2 * radius)

        def part(
            start: int, stop: int, now: Array = now, moved: Array = moved, cells: tuple[Array, ...] = cells
        ) -> None:
            _contact_kernels.move_apart(
                start, stop, *cells, 2 * radius, SHARE, place.to_pixel, place.region, now, moved
            )

        _work.spread(part, len(cells[0]), least=FEWEST)
    walkers.positions = moved
    walkers.velocities += np.nan_to_num(moved - before) / seconds
    walkers.look_under()


class SocialForces:
    """Forces between people whom a field carries."""

    def __init__(self, radius: float) -> None:
        self._radius = radius
        self._bodies: _Carried | None = None

    def walk(self, walkers: Walkers, before: Array, seconds: float) -> None:
        """Once the field has carried `walkers` from `before` `(people, 2)`: the same step among others."""
        from marey.crowd.animation import _kernels

        here = np.flatnonzero(np.isfinite(walkers.positions[:, 0]))
        if len(here) == 0:
            return
        carried = (walkers.positions[here] - before[here]) / seconds
        bodies = self._bodies
        if bodies is None or len(bodies.positions) != len(here):
            bodies = self._bodies = _Carried(before[here], self._radius)
        bodies.carry(before[here], carried, walkers.aside[here])
        bodies.walk(seconds)
        walkers.positions[here] = bodies.positions
        walkers.aside[here] = bodies.velocities - carried
        place = walkers.flow.place

        def part(start: int, stop: int) -> None:
            _kernels.stay_out(
                start, stop, before, place.to_pixel, place.region, *place.clearance, self._radius,
                walkers.positions, walkers.aside,
            )  # fmt: skip

        _work.spread(part, len(walkers.positions), least=FEWEST)
        walkers.look_under()


class _Carried(Bodies):
    """Bodies of a simulation whose wish is what the field does with them, the same during a step."""

    def __init__(self, positions: Array, radius: float) -> None:
        people = People(positions, radius=radius, response_time=RESPONSE_TIME)  # type: ignore[arg-type]
        super().__init__(people, np.zeros((0, 4)), [], FORCES, radii=0.0, threads=_work.cores())

    def carry(self, positions: Array, velocities: Array, aside: Array) -> None:
        """From these places on, with velocities `(people, 2)` by the field and beside it."""
        speeds = np.linalg.norm(velocities, axis=1)
        self.positions[:] = positions
        self.velocities[:] = velocities + aside
        self._traits[:, 3] = speeds
        self._wishes[:] = velocities / np.maximum(speeds, 1e-12)[:, None]

    def look(self) -> tuple[float, float, float, float]:
        """Bounds of all places; the wishes stay."""
        low, high = self.positions.min(axis=0), self.positions.max(axis=0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])
