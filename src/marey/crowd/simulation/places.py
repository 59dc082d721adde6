"""Where people come in and where they leave: goals and entrances of a simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import FloatArray, assign
from marey.crowd.simulation.people import polygon_of
from marey.errors import InputError


@dataclass(frozen=True, eq=False)
class Goal:
    """An area; whoever of its goal's people comes in leaves, or starts again.

    area: corners `(corners, 2)`, or a rectangle `(x, y, x, y)`
    back_to: area in which people start again as soon as there is room; None: they leave
    next_goal: the goal they have from then on; None: the same again, or, without `back_to`, none: they leave

    >>> Goal((9, 0, 10, 5)).leaves
    True
    """

    area: ArrayLike
    back_to: ArrayLike | None = None
    next_goal: int | None = None

    def __post_init__(self) -> None:
        assign(
            self,
            area=polygon_of(self.area),
            back_to=None if self.back_to is None else polygon_of(self.back_to),
        )

    @property
    def leaves(self) -> bool:
        """Whether people leave the simulation here."""
        return self.back_to is None and self.next_goal is None


@dataclass(frozen=True, eq=False)
class Entrance:
    """An area in which people appear while there is room; those who find none come later.

    area: corners `(corners, 2)`, or a rectangle `(x, y, x, y)`
    rate: people a second
    goal: of those who come
    speed_factor: of their desired speeds
    regular: at equal intervals instead of at random times
    start, stop: seconds
    kind: of people, as in `random_people`
    most: how many come in all
    """

    area: ArrayLike
    rate: float
    goal: int = 0
    speed_factor: float = 1.0
    regular: bool = False
    start: float = 0.0
    stop: float = np.inf
    most: int | None = None
    kind: str = "dataset"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate) and self.rate >= 0):
            raise InputError(f"rate: must be 0 people a second or more, got {self.rate}")
        assign(self, area=polygon_of(self.area))

    def arrivals(self, time: float, seconds: float, seed: list[int]) -> float:
        """People who arrive in the `seconds` after `time`."""
        share = max(0.0, min(time + seconds, self.stop) - max(time, self.start))
        if self.regular or share == 0.0:
            return self.rate * share
        return float(np.random.default_rng(seed).poisson(self.rate * share))


def spot_in(area: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A random place `(2,)` in a polygon."""
    from marey.crowd.simulation.people import contains

    tries = rng.uniform(area.min(axis=0), area.max(axis=0), (64, 2))
    within = contains(area, tries)
    return tries[int(np.argmax(within))] if within.any() else area.mean(axis=0)
